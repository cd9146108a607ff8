// What the colours mean: a button for each class, or a scale for numbers.
const SVG = "http://www.w3.org/2000/svg";

function symbolOf(look, key) {
  const picture = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  picture.setAttribute("viewBox", "-8 -8 16 16");
  picture.setAttribute("aria-hidden", "true");
  path.setAttribute("d", PATHS[look.symbol(key)]);
  picture.append(path);
  picture.style.setProperty("--look", look.color(key));
  return picture;
}

function showLegend(state, column, draw) {
  const legend = byId("legend"), { look, hidden } = state;
  legend.replaceChildren();
  if (look.kind === "number") showScale(legend, look, column);
  if (look.kind !== "category") return;
  const counts = column.levels.map(() => 0);
  look.keys.forEach((key) => { counts[key] += 1; });
  const buttons = column.levels.map((name, key) => {
    const button = make("button", undefined, legend);
    button.title = "Hide or show; twice or with Shift: this one alone, or all again";
    button.append(symbolOf(look, key));
    make("span", name, button);
    make("span", counts[key].toLocaleString("en"), button).className = "count";
    const alone = () => {
      const is = !hidden.has(key) && hidden.size === column.levels.length - 1;
      column.levels.forEach((_, other) => (is || other === key ? hidden.delete(other) : hidden.add(other)));
    };
    button.addEventListener("click", (event) => {
      if (event.shiftKey) alone();
      else if (!hidden.delete(key)) hidden.add(key);
      press();
      draw();
    });
    button.addEventListener("dblclick", (event) => { // after two clicks, which undid each other
      if (event.shiftKey) return;
      alone();
      press();
      draw();
    });
    return button;
  });
  const press = () => buttons.forEach((button, key) => button.setAttribute("aria-pressed", String(!hidden.has(key))));
  press();
}

function showScale(legend, look, column) {
  const scale = make("div", undefined, legend);
  scale.className = "scale";
  const words = (value) => numberOf(column, value, 4);
  make("span", `${look.below ? "≤ " : ""}${words(look.low)}`, scale);
  make("i", undefined, scale).style.background = `linear-gradient(to right, ${stops().join(",")})`;
  make("span", `${look.above ? "≥ " : ""}${words(look.high)}`, scale);
  if (look.keys.includes(MISSING)) make("span", "grey: missing", scale);
}
