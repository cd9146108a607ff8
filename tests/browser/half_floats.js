// WebGPU without half floats, for a page that insists on them. Embedding Atlas keeps its
// density in them and SwiftShader has none: here they are floats, twice as wide, and
// halves again where the page reads them back. What draws the points is left as it is.
(() => {
  if (!navigator.gpu) return;
  const HALF = "shader-f16";
  const { STORAGE, COPY_DST, MAP_READ } = GPUBufferUsage;
  const holdsHalves = (usage) => usage === STORAGE || usage === (COPY_DST | MAP_READ);
  const wrap = (kind, name, change) => {
    const was = kind.prototype[name];
    kind.prototype[name] = function (...given) {
      return change(was.bind(this), ...given);
    };
  };

  wrap(GPUSupportedFeatures, "has", (was, name) => name === HALF || was(name));
  wrap(GPUAdapter, "requestDevice", (was, asked) => {
    const requiredFeatures = asked.requiredFeatures.filter((name) => name !== HALF);
    return was({ ...asked, requiredFeatures });
  });
  wrap(GPUDevice, "createShaderModule", (was, asked) => {
    const code = asked.code.replace("enable f16;", "").replace(/\bf16\b/g, "f32");
    return was({ ...asked, code });
  });
  wrap(GPUDevice, "createBuffer", (was, asked) =>
    was({ ...asked, size: asked.size * (holdsHalves(asked.usage) ? 2 : 1) }));
  wrap(GPUCommandEncoder, "copyBufferToBuffer", (was, from, start, to, at, size) =>
    was(from, start, to, at, size * (holdsHalves(to.usage) ? 2 : 1)));
  wrap(GPUBuffer, "mapAsync", (was, mode) => was(mode));
  wrap(GPUBuffer, "getMappedRange", (was) =>
    new Float16Array(new Float32Array(was())).buffer);
})();
