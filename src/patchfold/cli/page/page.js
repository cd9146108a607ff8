// The page of `patchfold view`: what is shown, selected, searched, coloured and saved.
// Names and cells come from the user's file: they become text nodes, never HTML.

import {
    groupsOf, pack, rampColor, rampPalette, rampPlace, rangeOf,
} from "./colors.js";
import { Points } from "./points.js";
import { Table } from "./table.js";

const $ = (id) => document.getElementById(id);
const REACH = 14; // pixels from the pointer to a sample
const DIM = pack([150, 150, 150], 50);
const BRIGHT = 230;
const PLAIN = { palette: [pack([0, 114, 178], BRIGHT)], place: () => 0, passes: () => true };
const TIP_COLUMNS = 12;
const SAVED = "selection.csv";

let table, points;
let coloring = PLAIN; // which colour a row has, and whether the legend lets it pass
let found = null, chosen = null; // rows of the search, and of the lasso: all if null
let kept = -1, near = [], pointed = -1;

function make(tag, text, parent, attributes = {}) {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [name, value] of Object.entries(attributes))
        element.setAttribute(name, value);
    parent?.append(element);
    return element;
}

function byNumbers({ name, values }) {
    const [low, high] = rangeOf(values);
    const limits = { from: null, to: null };
    const passes = (row) =>
        (limits.from === null || values[row] >= limits.from) &&
        (limits.to === null || values[row] <= limits.to);
    const place = (row) => rampPlace(values[row], low, high);
    return { name, low, high, limits, passes, place, palette: rampPalette(BRIGHT) };
}

function byWords(column) {
    const { group, groups } = groupsOf(column);
    const place = (row) => group[column.codes[row] + 1];
    const palette = groups.map(({ color }) => pack(color, BRIGHT));
    return { groups, place, palette, passes: (row) => !groups[place(row)].isHidden };
}

function update() {
    const shown = new Uint8Array(table.count);
    const colors = new Uint32Array(table.count).fill(DIM);
    const { palette, place, passes } = coloring;
    let count = 0;
    for (let i = 0; i < table.count; i++)
        if ((!found || found[i]) && (!chosen || chosen[i]) && passes(i)) {
            colors[i] = palette[place(i)];
            shown[i] = 1;
            count++;
        }
    points.shown = shown;
    points.paint(colors);
    const all = table.count.toLocaleString("en");
    $("count").textContent = `${count.toLocaleString("en")} of ${all} samples`;
    $("clear").disabled = !chosen;
    $("save").disabled = !count || table.columns.length < table.about.columns.length;
}

function placeRings() {
    const rows = kept >= 0 ? [kept, ...near.map(({ row }) => row)] : [];
    if (pointed >= 0 && !rows.includes(pointed)) rows.push(pointed);
    $("rings").replaceChildren(
        ...rows.map((row) => {
            const ring = make("i", "");
            const [left, top] = points.pixelOf(row);
            if (row === kept) ring.className = "first";
            ring.style.left = `${left}px`;
            ring.style.top = `${top}px`;
            return ring;
        }));
}

function cells(row, most = Infinity) {
    const list = make("dl", "");
    for (const column of table.columns.slice(0, most)) {
        make("dt", column.name, list);
        make("dd", column.text(row) || "missing", list);
    }
    return list;
}

function showTip(row, left, top) {
    pointed = row;
    const tip = $("tip");
    tip.hidden = row < 0;
    placeRings();
    if (row < 0) return;
    tip.replaceChildren(cells(row, TIP_COLUMNS));
    const more = table.columns.length - TIP_COLUMNS;
    if (more > 0) make("p", `and ${more} more: click`, tip);
    tip.style.left = `${Math.max(0, Math.min(left + 16, points.width - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, Math.min(top + 16, points.height - tip.offsetHeight))}px`;
}

async function keep(row) {
    kept = row;
    near = [];
    placeRings();
    const detail = $("detail");
    if (row < 0) return detail.replaceChildren();
    detail.replaceChildren(make("h2", `Row ${row + 1}`), cells(row));
    const neighbors = await table.neighbors(row);
    if (kept !== row) return;
    near = neighbors;
    make("h2", "Nearest samples", detail);
    const list = make("ol", "", detail);
    for (const { row: other, distance } of near) {
        const name = table.columns.find((column) => !column.isNumbers)?.text(other);
        const words = `row ${other + 1}${name ? `, ${name}` : ""} (${distance.toPrecision(3)})`;
        const button = make("button", words, make("li", "", list));
        button.addEventListener("click", () => keep(other));
    }
    placeRings();
}

function showClasses(legend) {
    for (const group of coloring.groups) {
        const button = make("button", "", legend, { "aria-pressed": "true" });
        make("span", "", button, { class: "swatch" }).style.background =
            `rgb(${group.color})`;
        make("span", group.name, button, { class: "name" });
        make("span", group.count.toLocaleString("en"), button);
        button.addEventListener("click", () => {
            group.isHidden = !group.isHidden;
            button.setAttribute("aria-pressed", String(!group.isHidden));
            update();
        });
    }
}

function showRamp(legend) {
    const { low, high, limits } = coloring;
    const stops = Array.from({ length: 9 }, (_, k) => `rgb(${rampColor(k / 8)})`);
    make("span", "", legend, { class: "ramp" }).style.background =
        `linear-gradient(to right, ${stops})`;
    const range = make("div", "", legend, { class: "range" });
    for (const [side, value] of [["from", low], ["to", high]]) {
        const input = make("input", "", range, {
            type: "number", step: "any", placeholder: `${side} ${value.toPrecision(4)}`,
            "aria-label": `${coloring.name}: ${side}`,
        });
        input.addEventListener("input", () => {
            limits[side] = input.value === "" ? null : Number(input.value);
            update();
        });
    }
}

function chooseColor() {
    const column = table.columns[$("color").value];
    coloring = PLAIN;
    $("legend").replaceChildren();
    if (column?.isNumbers) {
        coloring = byNumbers(column);
        showRamp($("legend"));
    } else if (column) {
        coloring = byWords(column);
        showClasses($("legend"));
    }
    update();
}

function save() {
    const rows = [];
    for (let i = 0; i < table.count; i++) if (points.shown[i]) rows.push(i);
    const link = make("a", "", null, { download: SAVED });
    link.href = URL.createObjectURL(table.csv(rows));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function listenToPointer(canvas) {
    const held = new Map();
    let line = null, moved = 0;
    const place = (event) => [event.offsetX, event.offsetY];
    const drawLine = () =>
        $("outline").firstElementChild.setAttribute("points", (line ?? []).join(" "));
    canvas.addEventListener("pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        held.set(event.pointerId, place(event));
        moved = 0;
        const selects = event.shiftKey || $("lasso").ariaPressed === "true";
        line = selects && held.size === 1 ? [place(event)] : null;
    });
    canvas.addEventListener("pointermove", (event) => {
        const [left, top] = place(event), before = held.get(event.pointerId);
        if (!before) return showTip(points.nearest(left, top, REACH), left, top);
        showTip(-1);
        moved += Math.hypot(left - before[0], top - before[1]);
        const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
        held.set(event.pointerId, [left, top]);
        if (line) {
            line.push([left, top]);
            drawLine();
        } else if (other) {
            const gap = ([x, y]) => Math.hypot(x - other[0], y - other[1]) || 1;
            points.zoomAt(gap([left, top]) / gap(before), ...other);
        } else points.move(left - before[0], top - before[1]);
    });
    const release = (event) => {
        if (!held.delete(event.pointerId)) return;
        if (moved < 4) keep(points.nearest(...place(event), REACH));
        else if (line?.length > 2) {
            chosen = points.inside(line);
            update();
        }
        line = null;
        drawLine();
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", (event) => held.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => showTip(-1));
    canvas.addEventListener("wheel", (event) => {
        event.preventDefault();
        points.zoomAt(1.0015 ** -event.deltaY, ...place(event));
    }, { passive: false });
}

const KEYS = {
    ArrowLeft: () => points.move(60, 0),
    ArrowRight: () => points.move(-60, 0),
    ArrowUp: () => points.move(0, 60),
    ArrowDown: () => points.move(0, -60),
    "+": () => points.zoomAt(1.4, points.width / 2, points.height / 2),
    "-": () => points.zoomAt(1 / 1.4, points.width / 2, points.height / 2),
    0: () => points.showAll(),
};

function listen() {
    const canvas = $("points");
    listenToPointer(canvas);
    canvas.addEventListener("keydown", (event) => {
        if (!KEYS[event.key]) return;
        event.preventDefault();
        KEYS[event.key]();
    });
    $("whole").addEventListener("click", () => points.showAll());
    $("lasso").addEventListener("click", () => {
        const isOn = $("lasso").ariaPressed !== "true";
        $("lasso").ariaPressed = String(isOn);
        canvas.classList.toggle("selecting", isOn);
    });
    $("clear").addEventListener("click", () => {
        chosen = null;
        update();
    });
    $("save").addEventListener("click", save);
    $("color").addEventListener("change", chooseColor);
    let waiting;
    $("search").addEventListener("input", () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => {
            const text = $("search").value;
            found = text ? table.search(text) : null;
            update();
        }, 150);
    });
}

async function main() {
    table = await Table.open();
    $("title").textContent = document.title = table.about.title;
    points = new Points($("points"), table.x, table.y, placeRings);
    update();
    listen();
    await table.load((done, all) => {
        $("status").textContent = `Loading column ${done} of ${all} …`;
    });
    for (const [place, column] of table.columns.entries())
        make("option", column.name, $("color"), { value: place });
    $("color").disabled = $("search").disabled = false;
    $("status").textContent = "";
    update();
}

main().catch((error) => {
    $("status").textContent = `The page cannot be shown: ${error.message}.`;
});
