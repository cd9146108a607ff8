// Rows in every picture: drawn on a canvas each, found under the pointer.
const NEAR = 14; // pixels: a pointer this near to a row is over it
const FAINT = 0.1;

function makePictures(data, state) {
  const boxes = [...document.querySelectorAll(".plot")];
  const edge = data.steps / 25, n = data.ids.length;
  const home = () => ({ x: -edge, y: -edge, side: data.steps + 2 * edge });
  const far = data.panels.map((panel) => new Set(panel.far));
  const views = boxes.map(home);
  const size = Math.min(9, Math.max(4.5, 10 * Math.sqrt(180 / n)));
  let sprites = new Map();

  // A marker is drawn once for each look, then copied.
  function sprite(look, key, open, ratio) {
    const name = `${key} ${open} ${ratio}`;
    if (sprites.has(name)) return sprites.get(name);
    const symbol = look.symbol(key), across = size * data.symbols[symbol], canvas = document.createElement("canvas");
    const room = across + 4;
    canvas.width = canvas.height = Math.ceil(room * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, canvas.width / 2, canvas.height / 2);
    pen.scale(across / 16 * 1.33, across / 16 * 1.33);
    const path = new Path2D(PATHS[symbol]);
    if (open) {
      pen.strokeStyle = look.color(key);
      pen.lineWidth = 3;
      pen.stroke(path);
    } else {
      pen.fillStyle = look.color(key);
      pen.strokeStyle = style("--card");
      pen.lineWidth = 1.5;
      pen.fill(path);
      pen.stroke(path);
    }
    const made = { canvas, side: canvas.width / ratio };
    sprites.set(name, made);
    return made;
  }

  const place = (panel, i, side) => {
    const { x, y } = data.panels[panel], view = views[panel];
    return [(x[i] - view.x) / view.side * side, (1 - (y[i] - view.y) / view.side) * side];
  };

  function drawPanel(panel) {
    const box = boxes[panel], canvas = box.querySelector("canvas");
    const side = box.clientWidth, ratio = Math.min(2, devicePixelRatio || 1);
    if (!side) return;
    canvas.width = canvas.height = Math.round(side * ratio);
    box.dataset.view = [views[panel].x, views[panel].y, views[panel].side].join(" ");
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const passes = state.selection ? [false, true] : [null];
    for (const chosen of passes) {
      pen.globalAlpha = chosen === false ? FAINT : 0.85;
      for (let i = 0; i < n; i += 1) {
        if (state.hides(i) || (chosen !== null && state.selection.has(i) !== chosen)) continue;
        const [across, down] = place(panel, i, side);
        const mark = sprite(state.look, state.look.keys[i], far[panel].has(i), ratio);
        pen.drawImage(mark.canvas, across - mark.side / 2, down - mark.side / 2, mark.side, mark.side);
      }
    }
  }

  let waiting = 0;
  function draw() {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      boxes.forEach((_, panel) => drawPanel(panel));
      ring();
    });
  }
  function restyle() {
    sprites = new Map();
    draw();
  }

  // The row under the pointer: in words, and ringed in every picture.
  let hovered = -1;
  function ring() {
    boxes.forEach((box, panel) => {
      const mark = box.querySelector(".ring");
      mark.hidden = hovered < 0 || state.hides(hovered);
      if (mark.hidden) return;
      const [across, down] = place(panel, hovered, box.clientWidth);
      mark.style.left = `${across}px`;
      mark.style.top = `${down}px`;
    });
  }
  function nearest(panel, left, top) {
    const side = boxes[panel].clientWidth;
    let best = -1, least = NEAR * NEAR;
    for (let i = 0; i < n; i += 1) {
      if (state.hides(i)) continue;
      const [across, down] = place(panel, i, side);
      const gap = (across - left) ** 2 + (down - top) ** 2;
      if (gap < least) [best, least] = [i, gap];
    }
    return best;
  }
  const tip = byId("tip");
  function hover(panel, i) {
    hovered = i;
    ring();
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren();
    make("b", data.ids[i], tip);
    const list = make("dl", undefined, tip);
    data.columns.slice(0, 14).forEach((column) => {
      make("dt", column.name, list);
      make("dd", cellOf(column, i), list);
    });
    const more = data.more + Math.max(0, data.columns.length - 14);
    if (more) make("small", `and ${more} more columns`, tip);
    const box = boxes[panel].getBoundingClientRect(), [across, down] = place(panel, i, boxes[panel].clientWidth);
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(box.left + across + 16, document.documentElement.clientWidth - width - 6);
    const below = box.top + down + 18;
    const top = below + height < innerHeight ? below : Math.max(4, box.top + down - height - 14);
    tip.style.transform = `translate(${scrollX + Math.max(4, left)}px, ${scrollY + top}px)`;
  }

  return { boxes, views, home, place, nearest, hover, draw, restyle };
}
