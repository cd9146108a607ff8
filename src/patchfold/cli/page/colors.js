// Colours of a column: a class has one of its own, a number its place on a ramp.

export const MOST = 20; // classes that can be told apart; the rest share a colour
const STEPS = 256; // of the ramp
const OTHER = [128, 128, 128];
const CLASSES = [
    [0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [185, 122, 0],
    [86, 180, 233], [148, 52, 110], [120, 160, 40], [230, 85, 85], [90, 90, 190],
    [0, 150, 170], [160, 110, 70], [240, 160, 60], [110, 190, 150], [170, 130, 220],
    [60, 110, 60], [220, 120, 120], [70, 130, 200], [150, 150, 60], [200, 90, 200],
];
const RAMP = [
    [68, 1, 84], [70, 50, 127], [54, 92, 141], [39, 127, 142],
    [31, 161, 135], [74, 194, 109], [159, 218, 58], [253, 231, 37],
];

export function rampColor(part) {
    const at = Math.min(Math.max(part, 0), 1) * (RAMP.length - 1);
    const k = Math.min(Math.floor(at), RAMP.length - 2);
    return RAMP[k].map((low, c) => Math.round(low + (at - k) * (RAMP[k + 1][c] - low)));
}

// Groups of a column of words: the classes in their order, or the most frequent and
// one of all others; `group[code + 1]` is a code's group, missing cells are code -1.
export function groupsOf(column) {
    const counts = new Uint32Array(column.words.length + 1);
    for (const code of column.codes) counts[code + 1]++;
    let codes = [...column.words.keys()];
    const isCut = codes.length > MOST;
    if (isCut)
        codes = codes.sort((a, b) => counts[b + 1] - counts[a + 1]).slice(0, MOST - 1);
    const group = new Uint32Array(counts.length);
    const groups = codes.map((code, k) => {
        group[code + 1] = k;
        return { name: column.words[code], color: CLASSES[k], count: counts[code + 1] };
    });
    const rest = { name: isCut ? "all others" : "missing", color: OTHER, count: 0 };
    const named = new Set(codes);
    for (let code = -1; code < column.words.length; code++)
        if (!named.has(code)) {
            group[code + 1] = groups.length;
            rest.count += counts[code + 1];
        }
    if (rest.count) groups.push(rest);
    return { group, groups };
}

// The range that the ramp covers: without the outermost hundredth on either side.
export function rangeOf(values) {
    const sorted = values.filter(Number.isFinite).sort();
    if (!sorted.length) return [0, 1];
    const at = (part) => sorted[Math.round(part * (sorted.length - 1))];
    const [low, high] = [at(0.01), at(0.99)];
    return low < high ? [low, high] : [sorted[0], sorted[sorted.length - 1]];
}

// A colour as WebGL reads it: one number of 32 bits.
export function pack([red, green, blue], alpha) {
    return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

// The colours of the ramp, and last that of missing numbers.
export function rampPalette(alpha) {
    const steps = Array.from({ length: STEPS }, (_, k) => rampColor(k / (STEPS - 1)));
    return Uint32Array.from([...steps, OTHER], (color) => pack(color, alpha));
}

export function rampPlace(value, low, high) {
    if (Number.isNaN(value)) return STEPS;
    const part = high > low ? (value - low) / (high - low) : 0.5;
    return Math.round(Math.min(Math.max(part, 0), 1) * (STEPS - 1));
}
