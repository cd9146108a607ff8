// Points by WebGL: drawing, moving, the nearest to a place, those inside a line.

const VERTEX = `#version 300 es
in vec2 at;
in vec4 color;
uniform vec2 scale, shift;
uniform float size;
uniform bool dim;
out vec4 tint;
void main() {
    tint = color;
    bool drawn = (color.a < 0.5) == dim;
    gl_Position = drawn ? vec4(at * scale + shift, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = size;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint;
out vec4 pixel;
void main() {
    vec2 from = gl_PointCoord - 0.5;
    if (dot(from, from) > 0.25) discard;
    pixel = vec4(tint.rgb * tint.a, tint.a);
}`;
const CLOSEST = 1e5; // times the first view
const PER_CELL = 2;

function compile(gl) {
    const program = gl.createProgram();
    for (const [kind, source] of [
        [gl.VERTEX_SHADER, VERTEX],
        [gl.FRAGMENT_SHADER, FRAGMENT],
    ]) {
        const shader = gl.createShader(kind);
        gl.shaderSource(shader, source);
        gl.compileShader(shader);
        gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS))
        throw new Error(gl.getProgramInfoLog(program));
    return program;
}

function bounds(values) {
    let low = Infinity, high = -Infinity;
    for (const value of values) {
        if (value < low) low = value;
        if (value > high) high = value;
    }
    return [low, high];
}

export class Points {
    // `x` and `y` are the coordinates; `onView` is called when the view has moved.
    constructor(canvas, x, y, onView) {
        const gl = canvas.getContext("webgl2", { antialias: true });
        if (!gl) throw new Error("this browser has no WebGL 2");
        Object.assign(this, { canvas, gl, onView, count: x.length, shown: null });
        const [left, right] = bounds(x), [low, high] = bounds(y);
        const half = Math.max(right - left, high - low) / 2 || 1;
        this.extent = [(right - left) / half, (high - low) / half];
        this.at = new Float32Array(2 * this.count);
        for (let i = 0; i < this.count; i++) {
            this.at[2 * i] = (x[i] - (left + right) / 2) / half;
            this.at[2 * i + 1] = (y[i] - (low + high) / 2) / half;
        }
        this.sortIntoCells();
        this.start();
        canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
        canvas.addEventListener("webglcontextrestored", () => {
            this.start();
            this.paint(this.colors);
        });
        new ResizeObserver(() => this.resize()).observe(canvas);
        this.resize();
        this.showAll();
    }

    start() {
        const gl = this.gl;
        this.program = compile(gl);
        gl.useProgram(this.program);
        this.buffers = {};
        for (const [name, size, type, isNormal] of [
            ["at", 2, gl.FLOAT, false],
            ["color", 4, gl.UNSIGNED_BYTE, true],
        ]) {
            const place = gl.getAttribLocation(this.program, name);
            this.buffers[name] = gl.createBuffer();
            gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
            gl.enableVertexAttribArray(place);
            gl.vertexAttribPointer(place, size, type, isNormal, 0, 0);
        }
        gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.at);
        gl.bufferData(gl.ARRAY_BUFFER, this.at, gl.STATIC_DRAW);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    }

    // Colours, 4 bytes a point: those with an alpha below 128 are drawn beneath.
    paint(colors) {
        const gl = this.gl;
        this.colors = colors;
        gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.color);
        gl.bufferData(gl.ARRAY_BUFFER, colors, gl.DYNAMIC_DRAW);
        this.draw();
    }

    resize() {
        const ratio = window.devicePixelRatio || 1;
        const { clientWidth: width, clientHeight: height } = this.canvas;
        const wasAll = this.unit && this.zoom === this.unit;
        Object.assign(this, { width, height });
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        const [across, up] = this.extent.map((size) => size || 1e-9);
        this.unit = 0.92 * Math.min(width / across, height / up);
        if (wasAll) this.showAll();
        else this.draw();
    }

    showAll() {
        this.middle = [0, 0];
        this.zoom = this.unit;
        this.draw();
    }

    // Move by pixels.
    move(right, down) {
        this.middle = [
            this.middle[0] - right / this.zoom,
            this.middle[1] + down / this.zoom,
        ];
        this.draw();
    }

    // Zoom, and keep what is at a pixel there.
    zoomAt(factor, left, top) {
        const zoom = Math.min(
            Math.max(this.zoom * factor, this.unit / 4), this.unit * CLOSEST);
        const [x, y] = this.placeOf(left, top);
        this.middle = [
            x - (left - this.width / 2) / zoom,
            y + (top - this.height / 2) / zoom,
        ];
        this.zoom = zoom;
        this.draw();
    }

    placeOf(left, top) {
        return [
            this.middle[0] + (left - this.width / 2) / this.zoom,
            this.middle[1] - (top - this.height / 2) / this.zoom,
        ];
    }

    // Where a point is on the canvas, in pixels.
    pixelOf(i) {
        return [
            this.width / 2 + (this.at[2 * i] - this.middle[0]) * this.zoom,
            this.height / 2 - (this.at[2 * i + 1] - this.middle[1]) * this.zoom,
        ];
    }

    draw() {
        if (this.waiting) return;
        this.waiting = requestAnimationFrame(() => {
            this.waiting = 0;
            this.drawNow();
        });
    }

    drawNow() {
        const { gl, program, canvas } = this;
        if (!this.colors) return;
        const set = (name) => gl.getUniformLocation(program, name);
        const scale = [(2 * this.zoom) / this.width, (2 * this.zoom) / this.height];
        const near = Math.min(4, Math.max(1, this.zoom / this.unit) ** 0.3);
        const size = Math.min(9, Math.max(1.8, 32 / this.count ** 0.2)) * near;
        gl.viewport(0, 0, canvas.width, canvas.height);
        gl.clear(gl.COLOR_BUFFER_BIT);
        gl.uniform2f(set("scale"), ...scale);
        gl.uniform2f(
            set("shift"), -this.middle[0] * scale[0], -this.middle[1] * scale[1]);
        gl.uniform1f(set("size"), size * (window.devicePixelRatio || 1));
        for (const dim of [1, 0]) {
            gl.uniform1i(set("dim"), dim);
            gl.drawArrays(gl.POINTS, 0, this.count);
        }
        this.onView();
    }

    // A grid over the points, so that the nearest is found among few.
    sortIntoCells() {
        const side = Math.ceil(Math.sqrt(this.count / PER_CELL));
        this.side = Math.min(Math.max(side, 1), 1024);
        const cells = new Uint32Array(this.count);
        this.first = new Uint32Array(this.side * this.side + 1);
        for (let i = 0; i < this.count; i++) {
            cells[i] =
                this.cellAlong(this.at[2 * i + 1]) * this.side +
                this.cellAlong(this.at[2 * i]);
            this.first[cells[i] + 1]++;
        }
        for (let c = 0; c < this.side * this.side; c++)
            this.first[c + 1] += this.first[c];
        const next = this.first.slice();
        this.sorted = new Uint32Array(this.count);
        for (let i = 0; i < this.count; i++) this.sorted[next[cells[i]]++] = i;
    }

    cellAlong(value) {
        const cell = Math.floor(((value + 1) / 2) * this.side);
        return Math.min(Math.max(cell, 0), this.side - 1);
    }

    // The nearest point that is shown, at most `within` pixels away; -1 if there is none.
    nearest(left, top, within) {
        const [x, y] = this.placeOf(left, top);
        const far = within / this.zoom;
        let best = -1, least = far * far;
        for (let row = this.cellAlong(y - far); row <= this.cellAlong(y + far); row++) {
            const start = row * this.side;
            const begin = this.first[start + this.cellAlong(x - far)];
            const end = this.first[start + this.cellAlong(x + far) + 1];
            for (let k = begin; k < end; k++) {
                const i = this.sorted[k];
                const gap =
                    (this.at[2 * i] - x) ** 2 + (this.at[2 * i + 1] - y) ** 2;
                if (gap <= least && (!this.shown || this.shown[i])) {
                    best = i;
                    least = gap;
                }
            }
        }
        return best;
    }

    // Which points lie inside a closed line of pixels.
    inside(line) {
        const corners = line.map(([left, top]) => this.placeOf(left, top));
        const [left, right] = bounds(corners.map(([x]) => x));
        const [low, high] = bounds(corners.map(([, y]) => y));
        const found = new Uint8Array(this.count);
        for (let i = 0; i < this.count; i++) {
            const x = this.at[2 * i], y = this.at[2 * i + 1];
            if (x < left || x > right || y < low || y > high) continue;
            let isIn = false;
            for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
                const [xa, ya] = corners[a], [xb, yb] = corners[b];
                if (ya > y !== yb > y && x < ((xb - xa) * (y - ya)) / (yb - ya) + xa)
                    isIn = !isIn;
            }
            found[i] = isIn;
        }
        return found;
    }
}
