// Shows the report: linked pictures, the legend, the lasso, the table, the curves.
// Text from the user's file goes into text nodes only.
(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const CONFIG = { displayModeBar: false, doubleClick: "reset", showAxisDragHandles: false, showAxisRangeEntryBoxes: false };
  const LARGEST = 8192; // pixels: a taller WebGL canvas is cut by some phones

  function make(tag, text, parent) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

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

  // What is packed in the page: Plotly's script, and the data.
  const toBytes = (base64) => Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  function unpack(id) {
    const packed = new Blob([toBytes(byId(id).textContent)]);
    return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }
  async function start() {
    byId("wait").hidden = false;
    const [script, text] = await Promise.all([unpack("plotly"), unpack("data")]);
    make("script", script, document.head);
    const data = JSON.parse(text);
    await showPoints(data);
    await showCurves(data);
    byId("wait").hidden = true;
  }
  start().catch((error) => {
    const old = typeof DecompressionStream === "undefined";
    byId("wait").textContent = `The pictures cannot be shown: ${old ? "this browser cannot unpack them. "
      + "Chrome and Edge from 80, Firefox from 113 and Safari from 16.4 can" : error.message}. The tables are whole.`;
    document.querySelectorAll(".bar, #panels, #curves").forEach((part) => { part.hidden = true; });
    if (byId("numbers")) byId("numbers").open = true;
  });

  // The tip beside the point that the mouse is over, or that was tapped.
  const tip = byId("tip");
  function putTip(plot, { x, y, xaxis, yaxis }) {
    tip.hidden = false;
    const box = plot.getBoundingClientRect(), { width, height } = tip.getBoundingClientRect();
    const across = box.left + xaxis._offset + xaxis.d2p(x), down = box.top + yaxis._offset + yaxis.d2p(y);
    const left = Math.min(across + 14, innerWidth - width - 6);
    const top = down + 16 + height < innerHeight ? down + 16 : down - height - 12;
    tip.style.transform = `translate(${scrollX + Math.max(4, left)}px, ${scrollY + Math.max(4, top)}px)`;
  }
  function onPoint(plot, enter, leave) {
    const show = ({ points }) => { enter(points[0].customdata); putTip(plot, points[0]); };
    plot.on("plotly_hover", show);
    plot.on("plotly_click", show); // a tap is no hover
    plot.on("plotly_unhover", leave);
  }

  // A drawing is made again, from what is known then, when the page changes.
  function keepDrawn(draw) {
    let waiting = 0, width = innerWidth;
    const soon = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); };
    addEventListener("resize", () => {
      if (innerWidth !== width) soon(); // a phone's bars come and go with the height
      width = innerWidth;
    });
    dark.addEventListener("change", soon);
    return draw();
  }

  // How many pixels of a WebGL canvas one of the page may take; 0: draw as SVG.
  function measureWebGL() {
    const gl = document.createElement("canvas").getContext("webgl");
    if (!gl || !gl.getExtension("ANGLE_instanced_arrays") || !gl.getExtension("OES_element_index_uint")) return () => 0;
    const largest = Math.min(LARGEST, ...gl.getParameter(gl.MAX_VIEWPORT_DIMS));
    gl.getExtension("WEBGL_lose_context")?.loseContext();
    return (height) => {
      const ratio = Math.min(2, devicePixelRatio, largest / height);
      return ratio < 0.75 ? 0 : ratio;
    };
  }

  function showPoints(data) {
    const plot = byId("points"), boxes = [...document.querySelectorAll(".plot")];
    const { data: traces, layout } = data.points;
    const n = data.ids.length, labels = data.labels || new Array(n).fill(0);
    const members = Array.from({ length: data.classes.length || 1 }, () => []);
    const rank = labels.map((label, i) => members[label].push(i) - 1);
    const axis = (letter, panel) => layout[`${letter}axis${panel ? panel + 1 : ""}`];
    const traceOf = (panel, label) => traces[panel * members.length + label];
    const pixels = measureWebGL();
    const hidden = new Set();
    let selection = null; // a Set of samples, or null
    let hovered = -1;
    const light = traces.map((trace) => trace.marker.color);
    traces.forEach((trace) => {
      for (const letter of "xy") trace[letter] = new Int16Array(toBytes(trace[letter].bdata).buffer);
    });
    Object.assign(layout, { margin: { l: 0, r: 0, t: 0, b: 0 }, paper_bgcolor: "transparent", plot_bgcolor: "transparent" });
    layout.dragmode = matchMedia("(pointer: coarse)").matches ? false : "lasso";

    // Draw all that is known: sizes, colours, hidden classes, the selection.
    async function draw() {
      const area = byId("panels").getBoundingClientRect();
      const ratio = pixels(area.height);
      Object.assign(layout, { width: area.width, height: area.height, selections: [] });
      boxes.forEach((box, panel) => {
        const { left, right, top, bottom } = box.getBoundingClientRect(), border = box.clientLeft;
        axis("x", panel).domain = [left + border, right - border].map((x) => (x - area.left) / area.width);
        axis("y", panel).domain = [bottom - border, top + border].map((y) => (area.bottom - y) / area.height);
      });
      const chosen = members.map((samples) => selection && samples.flatMap((i, k) => (selection.has(i) ? k : [])));
      const card = css("--card");
      traces.forEach((trace, number) => {
        const label = number % members.length;
        trace.type = ratio ? "scattergl" : "scatter";
        trace.visible = !hidden.has(label);
        trace.selectedpoints = chosen[label];
        trace.marker.color = dark.matches ? data.dark[light[number]] : light[number];
        trace.marker.line.color = card;
      });
      drawLegend();
      await Plotly.react(plot, traces, layout, { ...CONFIG, plotGlPixelRatio: ratio || 2 });
      ring();
    }

    // Hover: the sample in words, and ringed in every panel.
    function ring() {
      boxes.forEach((box, panel) => {
        const mark = box.querySelector(".ring");
        mark.hidden = hovered < 0 || hidden.has(labels[hovered]);
        if (mark.hidden) return;
        const { x, y } = traceOf(panel, labels[hovered]), k = rank[hovered];
        const share = (letter, value) => {
          const [low, high] = axis(letter, panel).range;
          return (100 * (value - low)) / (high - low);
        };
        mark.style.left = `${share("x", x[k])}%`;
        mark.style.bottom = `${share("y", y[k])}%`;
      });
    }
    function hover(i) {
      hovered = i;
      ring();
      tip.hidden = i < 0;
      if (i < 0) return;
      tip.replaceChildren();
      make("b", data.ids[i], tip);
      if (data.labels) make("span", ` ${data.classes[labels[i]]}`, tip);
      const list = make("dl", undefined, tip);
      data.columns.forEach((name, j) => {
        make("dt", name, list);
        make("dd", data.cells[j][i], list);
      });
      if (data.more) make("small", `and ${data.more} more columns`, tip);
    }

    // Lasso: what is selected in one panel is selected in all.
    function select(chosen) {
      selection = chosen && chosen.size ? chosen : null;
      byId("clear").disabled = !selection;
      let words = "";
      if (selection) {
        words = `${selection.size} of ${n} selected`;
        if (data.labels) {
          const counts = new Map();
          for (const i of selection) counts.set(labels[i], (counts.get(labels[i]) || 0) + 1);
          const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6);
          words += `: ${parts.map(([k, count]) => `${data.classes[k]} ${count}`).join(", ")}`;
        }
      }
      byId("selected").textContent = words;
      return draw();
    }
    byId("clear").addEventListener("click", () => select(null));
    addEventListener("keydown", (event) => { if (event.key === "Escape" && selection) select(null); });

    // What a drag does. Without a button pressed it scrolls the page on a touch screen.
    const tools = [...document.querySelectorAll("[data-drag]")];
    const showTools = () => tools.forEach((tool) => tool.setAttribute("aria-pressed", String(tool.dataset.drag === layout.dragmode)));
    tools.forEach((tool) => tool.addEventListener("click", () => {
      layout.dragmode = tool.dataset.drag === layout.dragmode ? false : tool.dataset.drag;
      showTools();
      draw();
    }));
    showTools();

    // A zoom keeps one scale for both axes: a box that is no square is made one.
    function square() {
      boxes.forEach((_, panel) => {
        const axes = [axis("x", panel), axis("y", panel)];
        const side = Math.max(...axes.map(({ range: [low, high] }) => high - low));
        axes.forEach((each) => {
          const middle = (each.range[0] + each.range[1]) / 2;
          each.range = [middle - side / 2, middle + side / 2];
        });
      });
      return draw();
    }

    // Legend: a button per class. The symbols are Plotly's, in a box from -8 to 8.
    const PATHS = {
      circle: "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0", "triangle-up": "M0,-7L7,5H-7Z",
      square: "M-6,-6H6V6H-6Z", diamond: "M0,-8L8,0L0,8L-8,0Z", "triangle-down": "M0,7L7,-5H-7Z",
      cross: "M-2.5,-7.5H2.5V-2.5H7.5V2.5H2.5V7.5H-2.5V2.5H-7.5V-2.5H-2.5Z",
      x: "M-7,-3.5L-3.5,-7L0,-3.5L3.5,-7L7,-3.5L3.5,0L7,3.5L3.5,7L0,3.5L-3.5,7L-7,3.5L-3.5,0Z",
      star: "M0,-8L2,-2.6L7.6,-2.5L3.1,1L4.7,6.5L0,3.2L-4.7,6.5L-3.1,1L-7.6,-2.5L-2,-2.6Z",
    };
    const SVG = "http://www.w3.org/2000/svg";
    const buttons = data.classes.map((name, label) => {
      const button = make("button", undefined, byId("legend"));
      button.title = "Hide or show; with Shift, show this one alone";
      const picture = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
      picture.setAttribute("viewBox", "-8 -8 16 16");
      picture.setAttribute("aria-hidden", "true");
      path.setAttribute("d", PATHS[symbolOf(label)]);
      picture.append(path);
      button.append(picture);
      make("span", name, button);
      button.addEventListener("click", (event) => {
        if (event.shiftKey) members.forEach((_, other) => (other === label ? hidden.delete(other) : hidden.add(other)));
        else if (!hidden.delete(label)) hidden.add(label);
        draw();
      });
      return button;
    });
    function symbolOf(label) {
      const { symbol } = traces[label].marker;
      return (Array.isArray(symbol) ? symbol[0] : symbol).replace("-open", "");
    }
    function drawLegend() {
      buttons.forEach((button, label) => {
        button.setAttribute("aria-pressed", String(!hidden.has(label)));
        button.style.setProperty("--look", traces[label].marker.color);
      });
    }

    const drawn = keepDrawn(draw);
    onPoint(plot, hover, () => hover(-1));
    plot.on("plotly_selected", (event) => {
      if (!event || !event.lassoPoints) return; // it is also said of what we select
      const chosen = new Set(event.points.map((point) => point.customdata));
      setTimeout(() => select(chosen)); // Plotly keeps the line of the lasso after this, which we take away
    });
    plot.on("plotly_deselect", () => select(null));
    plot.on("plotly_relayout", (change) => { if (Object.keys(change).some((key) => key.includes("range"))) square(); });
    return drawn;
  }

  // Curves: score against K, in Plotly's words: those of the methods are our own.
  function showCurves(data) {
    const plot = byId("curves"), { data: traces, layout } = data.curves;
    if (!plot) return undefined;
    const light = traces.map((trace) => trace.marker.color);
    const drawn = keepDrawn(() => {
      const width = plot.clientWidth, narrow = width < 600;
      const colors = { color: css("--soft"), gridcolor: css("--line"), linecolor: css("--line"), fixedrange: true };
      Object.assign(layout, {
        width, height: narrow ? 480 : 420, dragmode: false, paper_bgcolor: "transparent", plot_bgcolor: "transparent",
        font: { family: "system-ui, sans-serif", size: 12, color: css("--ink") },
        margin: { l: 44, r: 10, t: 10, b: 50 },
        legend: {
          orientation: "h", y: narrow ? -0.2 : -0.17, font: { size: narrow ? 11 : 13 },
          ...(narrow ? { entrywidth: 0.48, entrywidthmode: "fraction" } : {}),
        },
      });
      Object.assign(layout.xaxis, colors);
      Object.assign(layout.yaxis, colors);
      traces.forEach((trace, number) => {
        const color = dark.matches ? data.dark[light[number]] : light[number];
        for (const part of [trace.marker, trace.line, trace.error_y]) part.color = color;
      });
      return Plotly.react(plot, traces, layout, CONFIG);
    });
    onPoint(plot, (words) => tip.replaceChildren(words), () => { tip.hidden = true; });
    return drawn;
  }
})();
