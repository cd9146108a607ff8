// Which columns set the chosen rows apart from the others, as `describe_group` ranks them:
// Hedges' g for numbers, Cohen's h for the level of a category that differs most.
const SHOWN = 4;
const SMALL = 0.2; // below, an effect is called small: not told

function traitOf(column, chosen, n) {
  const mine = [], others = [];
  for (let i = 0; i < n; i += 1) {
    const value = column.kind === "category" ? column.codes[i] : column.values[i];
    if (value !== null && (column.kind !== "category" || value !== column.grey)) (chosen(i) ? mine : others).push(value);
  }
  if (mine.length < 2 || others.length < 2) return null;
  return column.kind === "category" ? levelTrait(column, mine, others) : meanTrait(column, mine, others);
}

function meanTrait(column, mine, others) {
  const moments = (values) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return [mean, values.reduce((sum, value) => sum + (value - mean) ** 2, 0)];
  };
  const [[a, ours], [b, theirs]] = [moments(mine), moments(others)];
  const freedom = mine.length + others.length - 2, spread = Math.sqrt((ours + theirs) / freedom);
  if (a === b) return null;
  const effect = spread > 0 ? (a - b) / spread * (1 - 3 / (4 * freedom - 1)) : Infinity;
  const words = (value) => numberOf(column, value, 3), [more, less] = column.dates ? ["later", "earlier"] : ["higher", "lower"];
  return { effect, name: column.name, words: `${a > b ? more : less} (mean ${words(a)}, others ${words(b)})` };
}

function levelTrait(column, mine, others) {
  const shares = (codes) => {
    const counts = column.levels.map(() => 0);
    codes.forEach((code) => { counts[code] += 1; });
    return counts.map((count) => count / codes.length);
  };
  const [p, q] = [shares(mine), shares(others)];
  const effects = p.map((share, k) => 2 * Math.asin(Math.sqrt(share)) - 2 * Math.asin(Math.sqrt(q[k])));
  const best = effects.reduce((most, effect, k) => (Math.abs(effect) > Math.abs(effects[most]) ? k : most), 0);
  const words = (share) => `${Math.round(100 * share)}%`;
  const more = effects[best] > 0 ? "more often" : "less often";
  return { effect: effects[best], name: `${column.name} “${column.levels[best]}”`, words: `${more} (${words(p[best])}, others ${words(q[best])})` };
}

function writeTraits(data, chosen, skipped, place, before = "") {
  const found = data.columns.filter((column) => column.kind !== "text" && column.top === undefined && column !== skipped)
    .map((column) => traitOf(column, chosen, data.ids.length)).filter((trait) => trait && Math.abs(trait.effect) >= SMALL)
    .sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect)).slice(0, SHOWN);
  make("span", found.length ? before : "No column sets them apart.", place);
  found.forEach((trait, k) => {
    make("b", trait.name, place);
    make("span", ` ${trait.words}${k + 1 < found.length ? "; " : "."}`, place);
  });
}

function showTraits(data, chosen, skipped, kind) {
  const place = byId("traits"), alone = kind === "category" ? ", or show one class alone," : "";
  place.replaceChildren();
  if (chosen) writeTraits(data, chosen, skipped, place, "What sets them apart: ");
  else place.textContent = `Select rows${alone} to see which columns set them apart.`;
}

// The same for every class of the colours, in a list that is made when it is opened.
function listTraits(data, look, column) {
  const fold = byId("apart"), list = fold.querySelector("dl");
  fold.hidden = look.kind !== "category";
  list.replaceChildren();
  if (fold.hidden || !fold.open) return;
  column.levels.forEach((name, key) => {
    make("dt", name, list);
    writeTraits(data, (i) => look.keys[i] === key, column, make("dd", undefined, list));
  });
}
