// Unpack the data, then let the parts work together.
async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function show(data) {
  const n = data.ids.length, select = byId("colour");
  const state = {
    look: null, hidden: new Set(), selection: null,
    drag: matchMedia("(pointer: coarse)").matches ? "" : "lasso",
    hides: (i) => state.hidden.size > 0 && state.hidden.has(state.look.keys[i]),
  };
  const pictures = makePictures(data, state);

  const column = () => data.columns[Number(select.value)];
  const recolour = () => {
    state.look = lookOf(data, column());
    showLegend(state, column(), () => {
      tell();
      pictures.draw();
    });
    tell();
    listTraits(data, state.look, column());
    pictures.restyle();
  };
  byId("apart").addEventListener("toggle", () => listTraits(data, state.look, column()));
  const nothing = make("option", "nothing", select);
  nothing.value = "-1";
  data.columns.forEach((each, number) => {
    if (each.kind !== "text") make("option", each.name, select).value = String(number);
  });
  select.value = String(data.colour);
  select.addEventListener("change", () => {
    state.hidden.clear();
    recolour();
  });

  function tell() {
    const { selection } = state;
    const visible = (i) => !state.hides(i);
    const few = selection ? (i) => selection.has(i) && visible(i) : state.hidden.size ? visible : null;
    showTraits(data, few, selection ? null : column(), state.look.kind);
    byId("clear").disabled = !selection;
    let words = "";
    if (selection) {
      words = `${selection.size} of ${n} selected`;
      if (state.look.kind === "category") {
        const counts = new Map();
        for (const i of selection) counts.set(state.look.keys[i], (counts.get(state.look.keys[i]) || 0) + 1);
        const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 5);
        words += `: ${parts.map(([key, count]) => `${column().levels[key]} ${count}`).join(", ")}`;
      }
    }
    byId("selected").textContent = words;
  }
  function choose(rows) {
    state.selection = rows && rows.size ? rows : null;
    tell();
    pictures.draw();
  }
  onDrag(pictures, state, (panel, shape) => {
    if (state.drag === "zoom") return zoomTo(pictures, panel, shape);
    const side = pictures.boxes[panel].clientWidth, rows = new Set();
    for (let i = 0; i < n; i += 1) if (!state.hides(i) && inside(shape, pictures.place(panel, i, side))) rows.add(i);
    return choose(rows);
  });
  byId("clear").addEventListener("click", () => choose(null));
  addEventListener("keydown", (event) => { if (event.key === "Escape") choose(null); });
  byId("export").addEventListener("click", () => {
    const rows = data.ids.map((_, i) => i).filter((i) => !state.hides(i) && (!state.selection || state.selection.has(i)));
    save("rows.csv", toCSV(data, rows));
  });

  const tools = [...document.querySelectorAll("button[data-drag]")];
  const press = () => {
    tools.forEach((tool) => tool.setAttribute("aria-pressed", String(tool.dataset.drag === state.drag)));
    pictures.boxes.forEach((box) => (state.drag ? box.setAttribute("data-drag", state.drag) : box.removeAttribute("data-drag")));
  };
  tools.forEach((tool) => tool.addEventListener("click", () => {
    state.drag = tool.dataset.drag === state.drag ? "" : tool.dataset.drag;
    press();
  }));
  press();
  recolour();
  dark.addEventListener("change", recolour);
  new ResizeObserver(pictures.draw).observe(byId("panels"));
}

// In a notebook the frame is as high as the page.
function fillFrame() {
  let frame = null;
  try { frame = window.frameElement; } catch { return; }
  if (!frame || !frame.hasAttribute("data-patchfold")) return;
  const fit = () => { frame.style.height = `${document.body.offsetTop + document.body.offsetHeight + 24}px`; };
  new ResizeObserver(fit).observe(document.body);
}

sortable(byId("scores-table"));
fillFrame();
if (byId("colour")) {
  byId("wait").hidden = false;
  unpack("data").then(show).then(() => { byId("wait").hidden = true; }).catch((error) => {
    const old = typeof DecompressionStream === "undefined";
    const why = old ? "this browser cannot unpack them; Chrome and Edge 80, Firefox 113, Safari 16.4 and later can" : error.message;
    byId("wait").textContent = `The pictures cannot be shown (${why}). The tables are complete.`;
    document.querySelectorAll(".bar, #panels").forEach((part) => { part.hidden = true; });
  });
}
