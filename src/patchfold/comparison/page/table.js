// Small helpers, and the table: a press on a heading sorts, a second one the other way.
const byId = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Text from the user's file goes into text nodes only.
function make(tag, text, parent) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function sortable(table) {
  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const now = head.getAttribute("aria-sort");
    const down = now !== "descending" && (column > 0 || now === "ascending");
    heads.forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.children[column].dataset.value;
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [u, v] = [value(a), value(b)];
      if (u === "" || v === "") return (u === "") - (v === ""); // empty cells stay last
      const order = column ? Number(u) - Number(v) : u.localeCompare(v);
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows);
  }));
}
