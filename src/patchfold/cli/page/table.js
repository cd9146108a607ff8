// The table: columns of numbers or words, search, rows as CSV.

async function ask(name) {
    const answer = await fetch(name);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer;
}

async function numbers(name, Kind) {
    return new Kind(await (await ask(name)).arrayBuffer());
}

class Numbers {
    constructor(name, values) {
        Object.assign(this, { name, values, isNumbers: true });
    }

    text(row) {
        const value = this.values[row];
        return Number.isNaN(value) ? "" : String(value);
    }

    match(text, found) {
        const wanted = Number(text);
        if (text.trim() === "" || Number.isNaN(wanted)) return;
        for (let i = 0; i < found.length; i++)
            if (this.values[i] === wanted) found[i] = 1;
    }
}

class Words {
    constructor(name, codes, words) {
        Object.assign(this, { name, codes, words, isNumbers: false });
    }

    text(row) {
        return this.codes[row] < 0 ? "" : this.words[this.codes[row]];
    }

    match(text, found) {
        const part = text.toLowerCase();
        const fits = this.words.map((word) => word.toLowerCase().includes(part));
        for (let i = 0; i < found.length; i++)
            if (this.codes[i] >= 0 && fits[this.codes[i]]) found[i] = 1;
    }
}

async function read(column) {
    if (column.kind === "numbers")
        return new Numbers(column.name, await numbers(column.values, Float64Array));
    const words = await (await ask(column.words)).json();
    return new Words(column.name, await numbers(column.values, Int32Array), words);
}

export class Table {
    static async open() {
        const about = await (await ask("data/table.json")).json();
        const [x, y] = await Promise.all(
            about.coordinates.map((name) => numbers(name, Float64Array)));
        return new Table(about, x, y);
    }

    constructor(about, x, y) {
        Object.assign(this, { about, x, y, count: about.rows, columns: [] });
    }

    async load(onColumn) {
        for (const column of this.about.columns) {
            this.columns.push(await read(column));
            onColumn(this.columns.length, this.about.columns.length);
        }
    }

    // Rows of the nearest samples, and how far they are.
    async neighbors(row) {
        const { count, rows, distances } = this.about.neighbors;
        this.near ??= Promise.all([
            numbers(rows, Int32Array),
            numbers(distances, Float64Array),
        ]);
        const [all, far] = await this.near;
        return Array.from({ length: count }, (_, k) => ({
            row: all[row * count + k],
            distance: far[row * count + k],
        }));
    }

    // 1 for every row of which a cell contains a text, or is a number.
    search(text) {
        const found = new Uint8Array(this.count);
        for (const column of this.columns) column.match(text, found);
        return found;
    }

    csv(rows) {
        const quote = (cell) =>
            /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
        const line = (cells) => `${cells.map(quote).join(",")}\n`;
        const parts = [line(this.columns.map((column) => column.name))];
        for (const row of rows)
            parts.push(line(this.columns.map((column) => column.text(row))));
        return new Blob(parts, { type: "text/csv" });
    }
}
