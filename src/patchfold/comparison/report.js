// Draws the report: linked pictures, the legend, the lasso, the table, the curves.
// Text from the user's file goes into text nodes only.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B97A00", "#3B8FC4", "#4D4D4D"];
  const DARK = ["#4DA3DB", "#F08A4B", "#35C49A", "#E3A1C6", "#F0BC42", "#9AD0F5", "#C4C7CC"];
  const STEPS = 9999, PAD = 12, REACH = 14;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const n = data.ids.length;
  const labels = data.labels || new Array(n).fill(0);
  const hidden = new Set();
  let selection = null; // a Set of samples, or null
  let hovered = -1;
  let card = ""; // the colour behind the points, which outlines them

  const colors = () => (dark.matches ? DARK : LIGHT);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const visible = (i) => !hidden.has(labels[i]);
  const byId = (id) => document.getElementById(id);

  function make(tag, text, parent) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  // Eight shapes of about the same area: colour alone never tells classes apart.
  const polygon = (sides, turn, size) => (c, x, y, r) => {
    for (let k = 0; k < sides; k++) {
      const a = turn + (2 * Math.PI * k) / sides;
      c.lineTo(x + size * r * Math.cos(a), y + size * r * Math.sin(a));
    }
    c.closePath();
  };
  const cross = (turn) => (c, x, y, r) => {
    const w = 0.42 * r, l = 1.15 * r;
    const corners = [[w, l], [w, w], [l, w], [l, -w], [w, -w], [w, -l], [-w, -l],
      [-w, -w], [-l, -w], [-l, w], [-w, w], [-w, l]];
    for (const [u, v] of corners) {
      c.lineTo(x + u * Math.cos(turn) - v * Math.sin(turn), y + u * Math.sin(turn) + v * Math.cos(turn));
    }
    c.closePath();
  };
  const SHAPES = [
    (c, x, y, r) => c.arc(x, y, r, 0, 2 * Math.PI),
    polygon(3, -Math.PI / 2, 1.35),
    polygon(4, Math.PI / 4, 1.25),
    polygon(4, 0, 1.25),
    polygon(3, Math.PI / 2, 1.35),
    cross(0),
    cross(Math.PI / 4),
    (c, x, y, r) => {
      for (let k = 0; k < 10; k++) {
        const a = -Math.PI / 2 + (Math.PI * k) / 5, s = k % 2 ? 0.62 * r : 1.5 * r;
        c.lineTo(x + s * Math.cos(a), y + s * Math.sin(a));
      }
      c.closePath();
    },
  ];
  function mark(c, label, x, y, r) {
    c.beginPath();
    SHAPES[label % SHAPES.length](c, x, y, r);
  }

  // One panel: a canvas with the points, and above it one with the ring and the lasso.
  const panels = [...document.querySelectorAll(".plot")].map((box) => {
    const panel = { box, ...data.panels[Number(box.dataset.panel)], lasso: null };
    panel.points = make("canvas", undefined, box);
    panel.points.setAttribute("role", "img");
    panel.points.setAttribute("aria-label", `${panel.title}: ${n} samples in two dimensions`);
    panel.over = make("canvas", undefined, box);
    panel.farSet = new Set(panel.far);
    if (panel.far.length) {
      make("span", `${panel.far.length} far away, at the edge`, box).className = "far";
    }
    return panel;
  });
  const place = (panel, i) => [
    PAD + (panel.x[i] / STEPS) * (panel.size - 2 * PAD),
    PAD + (panel.y[i] / STEPS) * (panel.size - 2 * PAD),
  ];

  function fit(panel) {
    const scale = devicePixelRatio || 1;
    panel.size = panel.box.clientWidth;
    for (const canvas of [panel.points, panel.over]) {
      canvas.width = canvas.height = Math.round(panel.size * scale);
      canvas.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
    }
  }
  const radius = (panel) => Math.max(1.6, Math.min(4.5, (panel.size / 60) * Math.sqrt(180 / n)));

  function drawPoints(panel) {
    const c = panel.points.getContext("2d"), r = radius(panel), palette = colors();
    c.clearRect(0, 0, panel.size, panel.size);
    c.lineWidth = 0.15 * r + 0.2;
    for (const pass of selection ? [false, true] : [true]) {
      for (let i = 0; i < n; i++) {
        if (!visible(i) || (selection && selection.has(i) !== pass)) continue;
        const [x, y] = place(panel, i);
        c.globalAlpha = pass ? 0.85 : 0.12;
        c.fillStyle = c.strokeStyle = palette[labels[i] % palette.length];
        mark(c, labels[i], x, y, r);
        if (panel.farSet.has(i)) { c.stroke(); continue; }
        c.fill();
        if (pass) { c.strokeStyle = card; c.stroke(); }
      }
    }
    c.globalAlpha = 1;
  }
  function drawOver(panel) {
    const c = panel.over.getContext("2d");
    c.clearRect(0, 0, panel.size, panel.size);
    c.strokeStyle = css("--ink");
    if (hovered >= 0 && visible(hovered)) {
      const [x, y] = place(panel, hovered);
      c.lineWidth = 2;
      c.beginPath();
      c.arc(x, y, radius(panel) + 4, 0, 2 * Math.PI);
      c.stroke();
    }
    if (panel.lasso) {
      c.lineWidth = 1.5;
      c.setLineDash([5, 3]);
      c.beginPath();
      for (const [x, y] of panel.lasso) c.lineTo(x, y);
      c.closePath();
      c.stroke();
      c.setLineDash([]);
    }
  }
  function drawAll() {
    card = css("--card");
    panels.forEach((panel) => { drawPoints(panel); drawOver(panel); });
  }

  // Hover: the nearest visible sample, ringed in every panel.
  const tip = byId("tip");
  function nearest(panel, x, y) {
    let best = -1, least = REACH * REACH;
    for (let i = 0; i < n; i++) {
      if (!visible(i)) continue;
      const [u, v] = place(panel, i), gap = (u - x) ** 2 + (v - y) ** 2;
      if (gap < least) { least = gap; best = i; }
    }
    return best;
  }
  function hover(i, event) {
    if (i !== hovered) {
      hovered = i;
      panels.forEach(drawOver);
      tip.replaceChildren();
      tip.hidden = i < 0;
      if (i >= 0) {
        make("b", data.ids[i], tip);
        if (data.labels) make("span", ` ${data.classes[labels[i]]}`, tip);
        const list = make("dl", undefined, tip);
        data.columns.forEach((name, j) => {
          make("dt", name, list);
          make("dd", data.cells[j][i], list);
        });
        if (data.more) make("small", `and ${data.more} more columns`, tip);
      }
    }
    if (i >= 0) putTip(event);
  }
  function putTip(event) {
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - width - 6);
    const below = event.clientY + 16 + height < innerHeight;
    const top = below ? event.clientY + 16 : event.clientY - height - 12;
    tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  // Lasso: any drag of a mouse; with a finger only when the button is on, as a drag
  // otherwise scrolls the page.
  const lassoButton = byId("lasso");
  let byTouch = false;
  lassoButton.addEventListener("click", () => {
    byTouch = !byTouch;
    lassoButton.setAttribute("aria-pressed", String(byTouch));
    panels.forEach((p) => { p.box.style.touchAction = byTouch ? "none" : "pan-y"; });
  });
  function inside(path, x, y) {
    let odd = false;
    for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
      const [a, b] = path[i], [c, d] = path[j];
      if (b > y !== d > y && x < ((c - a) * (y - b)) / (d - b) + a) odd = !odd;
    }
    return odd;
  }
  function select(chosen) {
    selection = chosen;
    byId("clear").disabled = !chosen;
    let words = "";
    if (chosen) {
      const counts = new Map();
      for (const i of chosen) counts.set(labels[i], (counts.get(labels[i]) || 0) + 1);
      words = `${chosen.size} of ${n} selected`;
      if (data.labels) {
        const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6);
        words += `: ${parts.map(([k, count]) => `${data.classes[k]} ${count}`).join(", ")}`;
      }
    }
    byId("selected").textContent = words;
    drawAll();
  }
  byId("clear").addEventListener("click", () => select(null));
  addEventListener("keydown", (event) => { if (event.key === "Escape") select(null); });

  for (const panel of panels) {
    const at = (event) => {
      const box = panel.box.getBoundingClientRect();
      return [event.clientX - box.left - 1, event.clientY - box.top - 1];
    };
    panel.box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      if (event.pointerType === "touch" && !byTouch) { hover(nearest(panel, ...at(event)), event); return; }
      panel.lasso = [at(event)];
      panel.box.setPointerCapture(event.pointerId);
    });
    panel.box.addEventListener("pointermove", (event) => {
      if (!panel.lasso) { hover(nearest(panel, ...at(event)), event); return; }
      hover(-1);
      panel.lasso.push(at(event));
      drawOver(panel);
    });
    const finish = () => {
      const path = panel.lasso;
      panel.lasso = null;
      if (path && path.length > 2) {
        const chosen = new Set();
        for (let i = 0; i < n; i++) {
          if (visible(i) && inside(path, ...place(panel, i))) chosen.add(i);
        }
        select(chosen.size ? chosen : null);
      } else if (path && selection) {
        select(null);
      }
      drawOver(panel);
    };
    panel.box.addEventListener("pointerup", finish);
    panel.box.addEventListener("pointercancel", finish);
    panel.box.addEventListener("pointerleave", (event) => {
      if (!panel.lasso && event.pointerType !== "touch") hover(-1); // a finger always leaves
    });
  }

  // Legend: a button per class.
  function drawLegend() {
    const palette = colors();
    byId("legend").querySelectorAll("canvas").forEach((canvas, k) => {
      canvas.width = canvas.height = 32;
      const c = canvas.getContext("2d");
      c.fillStyle = palette[k % palette.length];
      mark(c, k, 16, 16, 9);
      c.fill();
    });
  }
  data.classes.forEach((name, k) => {
    const button = make("button", undefined, byId("legend"));
    button.setAttribute("aria-pressed", "true");
    button.title = "Hide or show; with Shift, show this one alone";
    make("canvas", undefined, button).setAttribute("aria-hidden", "true");
    make("span", name, button);
    button.addEventListener("click", (event) => {
      if (event.shiftKey) data.classes.forEach((_, other) => (other === k ? hidden.delete(other) : hidden.add(other)));
      else if (!hidden.delete(k)) hidden.add(k);
      [...byId("legend").children].forEach((b, j) => b.setAttribute("aria-pressed", String(!hidden.has(j))));
      drawAll();
    });
  });

  // Table: a press on a heading sorts, a second one the other way. Empty cells go last.
  const table = byId("scores-table"), heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending" && (column > 0 || head.getAttribute("aria-sort") === "ascending");
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.children[column].dataset.value;
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [u, v] = [value(a), value(b)];
        if (u === "" || v === "") return (u === "") - (v === "");
        const order = column ? Number(u) - Number(v) : u.localeCompare(v);
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
    });
  });

  // Curves: score against K, K on a logarithmic scale.
  const SVG = "http://www.w3.org/2000/svg";
  function shape(tag, attributes, parent) {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (parent) parent.append(element);
    return element;
  }
  const dots = [(x, y) => `M${x - 4},${y}a4,4 0 1,0 8,0a4,4 0 1,0 -8,0`,
    (x, y) => `M${x},${y - 5}l5,9h-10z`, (x, y) => `M${x - 4},${y - 4}h8v8h-8z`,
    (x, y) => `M${x},${y - 5}l5,5l-5,5l-5,-5z`, (x, y) => `M${x},${y + 5}l5,-9h-10z`];
  const stroke = (curve) => colors()[curve.color % LIGHT.length];
  const dash = (curve) => (curve.dashed ? "6 4" : "none");

  function drawCurves() {
    const box = byId("curves");
    if (!box || !data.curves.length) return;
    const width = box.clientWidth, height = Math.min(380, Math.max(240, width * 0.5));
    const left = 44, right = 12, top = 10, bottom = 40;
    const sizes = [...new Set(data.curves.flatMap((c) => c.sizes))].sort((a, b) => a - b);
    const ends = data.curves.flatMap((c) => c.means.flatMap((m, k) => [m - (c.errors[k] || 0), m + (c.errors[k] || 0)]));
    const low = Math.min(...ends), high = Math.max(...ends, low + 0.01);
    const [first, last] = [Math.log(sizes[0]), Math.log(Math.max(sizes[sizes.length - 1], sizes[0] + 1))];
    const x = (k) => left + ((Math.log(k) - first) / (last - first)) * (width - left - right);
    const y = (v) => top + ((high - v) / (high - low)) * (height - top - bottom);
    box.replaceChildren();
    const svg = shape("svg", { width, height, role: "img", "aria-label": `${box.dataset.what} against K` }, box);
    const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find((s) => (high - low) / s <= 6) || 0.5;
    for (let v = Math.ceil(low / step) * step; v <= high; v += step) {
      shape("line", { x1: left, x2: width - right, y1: y(v), y2: y(v), class: "grid" }, svg);
      shape("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, svg).textContent = v.toFixed(step < 0.01 ? 3 : 2);
    }
    let taken = -Infinity;
    for (const k of sizes) {
      if (x(k) - taken < 26) continue;
      taken = x(k);
      shape("text", { x: x(k), y: height - bottom + 18, "text-anchor": "middle" }, svg).textContent = k;
    }
    shape("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, svg).textContent = "K, the number of neighbours";
    data.curves.forEach((curve, number) => {
      const group = shape("g", { fill: "none", stroke: stroke(curve), "stroke-width": 2 }, svg);
      const points = curve.sizes.map((k, j) => [x(k), y(curve.means[j])]);
      shape("path", { d: `M${points.map((p) => p.join(",")).join("L")}`, "stroke-dasharray": dash(curve) }, group);
      points.forEach(([u, v], j) => {
        const error = curve.errors[j];
        if (error) shape("line", { x1: u, x2: u, y1: y(curve.means[j] - error), y2: y(curve.means[j] + error), "stroke-width": 1 }, group);
        const dot = shape("path", { d: dots[number % dots.length](u, v), fill: curve.dashed ? css("--page") : stroke(curve), tabindex: 0 }, group);
        const words = `${curve.title}, K = ${curve.sizes[j]}: ${curve.means[j].toFixed(3)}${error ? ` ± ${error.toFixed(3)}` : ""}`;
        dot.setAttribute("aria-label", words);
        dot.addEventListener("pointerenter", (event) => {
          tip.replaceChildren(words);
          tip.hidden = false;
          putTip(event);
        });
        dot.addEventListener("pointerleave", () => { tip.hidden = true; });
      });
    });
    const legend = byId("curve-legend");
    legend.replaceChildren();
    data.curves.forEach((curve, number) => {
      const item = make("li", undefined, legend);
      const sample = shape("svg", { width: 34, height: 14, "aria-hidden": "true" }, item);
      shape("path", { d: "M1,7H33", stroke: stroke(curve), "stroke-width": 2, "stroke-dasharray": dash(curve) }, sample);
      shape("path", { d: dots[number % dots.length](17, 7), stroke: stroke(curve), fill: curve.dashed ? css("--page") : stroke(curve) }, sample);
      make("span", curve.title, item);
    });
  }

  function draw() {
    panels.forEach(fit);
    drawLegend();
    drawAll();
    drawCurves();
  }
  let waiting = 0;
  addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); });
  dark.addEventListener("change", draw);
  draw();
})();
