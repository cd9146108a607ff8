// Lasso and zoom by dragging, and the selected rows as a CSV file.
const ENOUGH = 6; // pixels: a shorter drag is a press

function inside(polygon, [x, y]) {
  let is = false;
  for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a, a += 1) {
    const [u, v] = polygon[a], [s, t] = polygon[b];
    if (v > y !== t > y && x < ((s - u) * (y - v)) / (t - v) + u) is = !is;
  }
  return is;
}

function onDrag(pictures, state, finish) {
  pictures.boxes.forEach((box, panel) => {
    let path = null, outline = null;
    const spot = (event) => {
      const { left, top } = box.getBoundingClientRect();
      return [event.clientX - left - box.clientLeft, event.clientY - top - box.clientTop];
    };
    const corners = () => {
      const [[a, b], [c, d]] = [path[0], path[path.length - 1]];
      return [[a, b], [c, b], [c, d], [a, d]];
    };
    const end = () => {
      outline?.remove();
      path = outline = null;
    };
    box.addEventListener("pointerdown", (event) => {
      if (event.button || !state.drag) return;
      path = [spot(event)];
      box.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    box.addEventListener("pointermove", (event) => {
      if (!path) {
        if (event.pointerType !== "touch") pictures.hover(panel, pictures.nearest(panel, ...spot(event)));
        return;
      }
      path.push(spot(event));
      if (!outline) {
        outline = document.createElementNS(SVG, "svg");
        outline.setAttribute("class", "outline");
        outline.append(document.createElementNS(SVG, "polygon"));
        box.append(outline);
      }
      outline.firstChild.setAttribute("points", (state.drag === "zoom" ? corners() : path).join(" "));
    });
    box.addEventListener("pointerup", (event) => {
      const drawn = path && path.some(([x, y]) => Math.hypot(x - path[0][0], y - path[0][1]) > ENOUGH) ? path : null;
      const shape = drawn && (state.drag === "zoom" ? corners() : drawn);
      end();
      if (shape) finish(panel, shape);
      else pictures.hover(panel, pictures.nearest(panel, ...spot(event))); // a tap
    });
    box.addEventListener("pointercancel", end);
    box.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") pictures.hover(panel, -1); });
    box.addEventListener("dblclick", () => {
      pictures.views[panel] = pictures.home();
      pictures.draw();
    });
  });
}

// A zoom keeps one scale for both axes: a box that is no square is made one.
function zoomTo(pictures, panel, shape) {
  const side = pictures.boxes[panel].clientWidth, view = pictures.views[panel];
  const [xs, ys] = [0, 1].map((axis) => shape.map((corner) => corner[axis]));
  const span = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) / side * view.side;
  const middle = (values) => (Math.max(...values) + Math.min(...values)) / 2 / side;
  pictures.views[panel] = {
    x: view.x + middle(xs) * view.side - span / 2, y: view.y + (1 - middle(ys)) * view.side - span / 2, side: span,
  };
  pictures.draw();
}

function toCSV(data, rows) {
  const quote = (cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const exact = (column, i) => {
    if (column.kind === "category") return column.levels[column.codes[i]];
    if (column.values[i] === null) return "";
    return column.dates ? numberOf(column, column.values[i]) : String(column.values[i]);
  };
  const lines = [["row", ...data.columns.map((column) => column.name)]];
  rows.forEach((i) => lines.push([data.ids[i], ...data.columns.map((column) => exact(column, i))]));
  return `${lines.map((line) => line.map(quote).join(",")).join("\n")}\n`;
}

function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
