// A column -> how each row looks: hue and shape for classes, a scale for numbers.
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const N_SHADES = 48;
const MISSING = -1;

// Symbols in a box from -8 to 8.
const PATHS = {
  circle: "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0", "triangle-up": "M0,-7L7,5H-7Z",
  square: "M-6,-6H6V6H-6Z", diamond: "M0,-8L8,0L0,8L-8,0Z", "triangle-down": "M0,7L7,-5H-7Z",
  cross: "M-2.5,-7.5H2.5V-2.5H7.5V2.5H2.5V7.5H-2.5V2.5H-7.5V-2.5H-2.5Z",
  x: "M-7,-3.5L-3.5,-7L0,-3.5L3.5,-7L7,-3.5L3.5,0L7,3.5L3.5,7L0,3.5L-3.5,7L-7,3.5L-3.5,0Z",
  star: "M0,-8L2,-2.6L7.6,-2.5L3.1,1L4.7,6.5L0,3.2L-4.7,6.5L-3.1,1L-7.6,-2.5L-2,-2.6Z",
};

// The ends of the scale are too light on white and too dark on black.
const stops = () => (dark.matches ? VIRIDIS.slice(2) : VIRIDIS.slice(0, 9));

function shade(share) {
  const some = stops(), place = share * (some.length - 1);
  const low = Math.min(some.length - 2, Math.floor(place)), rest = place - low;
  const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
  const mix = [0, 1, 2].map((k) => Math.round(part(some[low], k) * (1 - rest) + part(some[low + 1], k) * rest));
  return `rgb(${mix.join(",")})`;
}

// Keys: one number a row that says its look; -1 is missing.
function lookOf(data, column) {
  const n = data.ids.length, names = Object.keys(data.symbols);
  const palette = dark.matches ? data.dark : data.light;
  if (!column) return { kind: "plain", keys: new Int16Array(n), color: () => palette[0], symbol: () => "circle" };
  if (column.kind === "category") {
    return {
      kind: "category", keys: Int16Array.from(column.codes),
      color: (key) => (key === column.grey ? style("--none") : palette[key % palette.length]), symbol: (key) => (key === column.grey ? "circle" : names[key % names.length]),
    };
  }
  const known = column.values.filter((value) => value !== null).sort((a, b) => a - b);
  const at = (share) => known[Math.min(known.length - 1, Math.floor(share * known.length))];
  let [low, high] = known.length ? [at(0.02), at(0.98)] : [0, 1];
  if (low === high) [low, high] = [known[0], known[known.length - 1]];
  if (column.top > low) high = column.top;
  const share = (value) => (high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5);
  return {
    kind: "number", low, high, below: known[0] < low, above: known[known.length - 1] > high,
    keys: Int16Array.from(column.values, (value) => (value === null ? MISSING : Math.round(share(value) * (N_SHADES - 1)))),
    color: (key) => (key === MISSING ? style("--none") : shade(key / (N_SHADES - 1))), symbol: () => "circle",
  };
}

function numberOf(column, value, digits) {
  if (!column.dates) return String(Number(value.toPrecision(digits)));
  const clock = new Date(Math.round(value * 86400) * 1000).toISOString();
  return column.dates === "day" ? clock.slice(0, 10) : clock.slice(0, 19).replace("T", " ");
}

function cellOf(column, i) {
  if (column.kind === "category") return column.levels[column.codes[i]];
  const value = column.values[i];
  if (value === null) return "missing";
  const inDigits = column.dates || (column.kind === "number" && !Number.isInteger(value));
  return inDigits ? numberOf(column, value, 5) : String(value);
}
