// The map: points written into the pixels of one canvas, names drawn on another above it.
//
// No WebGL: without a graphics card browsers refuse it or draw it in software, slower than this loop.

const MOST_PIXELS = 4e6; // most pixels of a canvas: a larger one is drawn coarser
const SLOW = 24; // ms of a frame: if frames take longer, rare words are drawn when the map rests

class PointMap {
  constructor(points, labels, hover, data) {
    Object.assign(this, { points, labels, hover, data });
    this.n = data.n;
    this.places = data.places[0]; // coordinates as drawn: x, y, x, y ...
    this.regions = data.regions[0];
    this.theme = THEMES.light;
    this.kind = new Uint8Array(this.n); // colour of each point
    this.colours = [THEMES.light.rest];
    this.chosen = null; // rows: lines join the first with the others
    this.sure = new Set(); // those of the chosen rows that most models of resampled text find
    this.marked = null; // a selection: 1 for each word in it
    this.outline = null; // outline of the lasso, in units of the map
    this.named = []; // the regions whose names are drawn: [box, region]
    this.most = this.n; // number of frequent words that are drawn while the map moves
    this.mode = "move";
    this.view = { x: 0.5, y: 0.5, scale: 1 }; // the middle, and how much larger than the whole map
    this.hovered = -1;
    this.describe = () => "";
    this.onpick = this.onlasso = this.onregion = () => {};
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(points.parentElement);
    this.resize();
    this.sort();
  }

  // ---- size and place

  resize() {
    const box = this.points.parentElement.getBoundingClientRect();
    this.width = Math.max(1, box.width);
    this.height = Math.max(1, box.height);
    this.ratio = Math.min(devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (this.width * this.height)));
    for (const canvas of [this.points, this.labels]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
    this.brush = this.points.getContext("2d", { alpha: false });
    this.pen = this.labels.getContext("2d");
    this.image = this.brush.createImageData(this.points.width, this.points.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.redraw();
  }

  /** CSS pixels of one unit of the map. */
  get unit() {
    return Math.min(this.width, this.height) * 0.94 * this.view.scale;
  }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.view.x) * this.unit, this.height / 2 - (y - this.view.y) * this.unit];
  }

  toMap(left, top) {
    return [this.view.x + (left - this.width / 2) / this.unit, this.view.y - (top - this.height / 2) / this.unit];
  }

  setView(view) {
    const scale = Math.max(0.6, Math.min(400, view.scale));
    const within = (value) => Math.max(-0.1, Math.min(1.1, value));
    this.view = { x: within(view.x), y: within(view.y), scale };
    this.moving = true;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.moving = false;
      if (this.most < this.n) this.redraw();
    }, 150);
    this.redraw();
  }

  zoom(factor, left = this.width / 2, top = this.height / 2) {
    const [x, y] = this.toMap(left, top);
    const scale = Math.max(0.6, Math.min(400, this.view.scale * factor));
    const by = this.view.scale / scale;
    this.hover.hidden = true; // it names a word that moves away
    this.setView({ x: x + (this.view.x - x) * by, y: y + (this.view.y - y) * by, scale });
  }

  pan(left, top) {
    this.setView({ ...this.view, x: this.view.x - left / this.unit, y: this.view.y + top / this.unit });
  }

  /** Move to another view in steps, unless the reader wants no motion. */
  fly(goal) {
    const from = { ...this.view };
    this.animate(500, (t) => {
      if (t === 1) return this.setView(goal);
      const scale = from.scale * (goal.scale / from.scale) ** t;
      this.setView({ x: from.x + (goal.x - from.x) * t, y: from.y + (goal.y - from.y) * t, scale });
    });
  }

  animate(milliseconds, step) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const began = performance.now();
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const tick = (now) => {
      if (turn !== this.turn) return; // another animation began
      const t = still || !milliseconds ? 1 : Math.min(1, Math.max(0, (now - began) / milliseconds));
      step(t * t * (3 - 2 * t));
      if (t < 1) requestAnimationFrame(tick);
    };
    tick(began + (still ? milliseconds : 0));
  }

  /** Show all of some words, with room for their names. */
  showRows(rows) {
    const xs = rows.map((row) => this.places[2 * row]);
    const ys = rows.map((row) => this.places[2 * row + 1]);
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [low, high] = [Math.min(...ys), Math.max(...ys)];
    const whole = Math.min(this.width, this.height) * 0.94; // pixels of the map at scale 1
    const room = Math.min(Math.max(80, this.width - 220) / (right - left || 1e-9), Math.max(80, this.height - 130) / (high - low || 1e-9));
    this.fly({ x: (left + right) / 2, y: (low + high) / 2, scale: Math.max(0.8, Math.min(60, room / whole)) });
  }

  /** Draw other coordinates, moving all points there. */
  setPlaces(places, regions, milliseconds = 700) {
    const from = this.places;
    const between = new Float32Array(places.length);
    this.regions = [];
    this.animate(milliseconds, (t) => {
      if (t === 1) {
        this.places = places;
        this.regions = regions;
        this.sort();
      } else {
        for (let i = 0; i < places.length; i++) between[i] = from[i] + (places[i] - from[i]) * t;
        this.places = between;
      }
      this.redraw();
    });
  }

  /** Put the words into the cells of a grid, so that the one under the pointer is found at once. */
  sort() {
    const side = (this.side = 256);
    const cell = new Uint32Array(this.n);
    this.first = new Uint32Array(side * side + 1);
    for (let row = 0; row < this.n; row++) {
      const x = Math.min(side - 1, (this.places[2 * row] * side) | 0);
      const y = Math.min(side - 1, (this.places[2 * row + 1] * side) | 0);
      cell[row] = y * side + x;
      this.first[cell[row] + 1]++;
    }
    for (let i = 0; i < side * side; i++) this.first[i + 1] += this.first[i];
    const next = this.first.slice();
    this.sorted = new Uint32Array(this.n);
    for (let row = 0; row < this.n; row++) this.sorted[next[cell[row]]++] = row;
  }

  /** The word nearest to a point of the window, within some CSS pixels; -1 if there is none. */
  at(left, top, within = 14) {
    const [x, y] = this.toMap(left, top);
    const reach = within / this.unit;
    const cellOf = (value) => Math.max(0, Math.min(this.side - 1, Math.floor(value * this.side)));
    let [best, found] = [reach * reach, -1];
    for (let j = cellOf(y - reach); j <= cellOf(y + reach); j++) {
      const from = this.first[j * this.side + cellOf(x - reach)];
      const to = this.first[j * this.side + cellOf(x + reach) + 1];
      for (let i = from; i < to; i++) {
        const row = this.sorted[i];
        const distance = (this.places[2 * row] - x) ** 2 + (this.places[2 * row + 1] - y) ** 2;
        if (distance < best) [best, found] = [distance, row];
      }
    }
    return found;
  }

  /** The region whose name is drawn at a point of the window. */
  regionAt(left, top) {
    const found = this.named.find(([[west, north, east, south]]) => left >= west && left <= east && top >= north && top <= south);
    return found?.[1];
  }

  /** The outline of the part of the map in view. */
  inView() {
    const { width, height } = this;
    return [[0, 0], [width, 0], [width, height], [0, height]].map(([left, top]) => this.toMap(left, top));
  }

  // ---- drawing

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const began = performance.now();
      this.drawPoints();
      this.drawLabels();
      const took = performance.now() - began;
      if (this.moving && took > SLOW) this.most = Math.max(30000, this.most / 2);
      else if (this.moving && took < SLOW / 4) this.most = Math.min(this.n, this.most * 2);
    });
  }

  /** The pixels of a point: their offsets from its middle, and the share of its colour in each, out of 256. */
  stamp(radius, alpha) {
    const reach = Math.ceil(radius);
    const stamp = [];
    for (let y = -reach; y <= reach; y++) {
      for (let x = -reach; x <= reach; x++) {
        const covered = Math.max(0, Math.min(1, radius + 0.5 - Math.hypot(x, y)));
        if (covered > 0.05) stamp.push([y * this.points.width + x, Math.round(256 * covered * alpha)]);
      }
    }
    return { where: Int32Array.from(stamp, ([at]) => at), shares: Int32Array.from(stamp, ([, share]) => share) };
  }

  drawPoints() {
    const { pixels, places, kind, marked } = this;
    const [width, height] = [this.points.width, this.points.height];
    const unit = this.unit * this.ratio;
    const left = width / 2 - this.view.x * unit;
    const top = height / 2 + this.view.y * unit;
    pixels.fill(packed(rgb(this.theme.back)));
    const palette = Uint32Array.from(this.colours.map((colour) => packed(colour)));
    const faint = packed(rgb(this.theme.rest));
    // smaller and fainter where many share a pixel
    const crowd = this.n / Math.max(1, unit * unit * 0.35);
    const alpha = Math.min(0.9, Math.max(0.25, this.theme.alpha * (0.05 / crowd) ** 0.25));
    const radius = this.ratio * Math.max(crowd > 1 ? 0.6 : 0.9, Math.min(4, 0.4 / Math.sqrt(crowd)));
    const stamps = [1, 1.5, 2].map((factor) => this.stamp(Math.max(0.5, radius * factor), alpha));
    const margin = Math.ceil(2 * radius) + 1;
    const [large, larger] = [this.n / 20, this.n / 400];
    for (let row = (this.moving ? Math.floor(this.most) : this.n) - 1; row >= 0; row--) {
      const x = (left + places[2 * row] * unit) | 0;
      const y = (top - places[2 * row + 1] * unit) | 0;
      if (x < margin || y < margin || x >= width - margin || y >= height - margin) continue;
      const colour = marked && !marked[row] ? faint : palette[kind[row]];
      const { where, shares } = stamps[row < larger ? 2 : row < large ? 1 : 0];
      const redBlue = colour & 0xff00ff;
      const green = colour & 0x00ff00;
      const at = y * width + x;
      for (let k = 0; k < where.length; k++) {
        const i = at + where[k];
        const much = shares[k];
        const old = pixels[i];
        const a = (Math.imul(old & 0xff00ff, 256 - much) + Math.imul(redBlue, much)) >>> 8;
        const b = (Math.imul(old & 0x00ff00, 256 - much) + Math.imul(green, much)) >>> 8;
        pixels[i] = 0xff000000 | (a & 0xff00ff) | (b & 0x00ff00);
      }
    }
    this.brush.putImageData(this.image, 0, 0);
  }

  drawLabels() {
    const pen = this.pen;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    pen.lineJoin = "round";
    pen.textBaseline = "middle";
    const edge = this.points.getBoundingClientRect();
    const boxes = [...this.points.parentElement.querySelectorAll("#tools,#colours,#unselect:not([hidden])")].map((element) => {
      const box = element.getBoundingClientRect(); // names stay clear of the buttons
      return [box.left - edge.left, box.top - edge.top, box.right - edge.left, box.bottom - edge.top];
    });
    this.drawChosen(boxes);
    this.drawRegions(boxes);
    this.drawWords(boxes);
    if (this.outline && this.outline.length > 1) {
      pen.beginPath();
      this.outline.forEach(([x, y], i) => pen[i ? "lineTo" : "moveTo"](...this.toScreen(x, y)));
      if (this.mode !== "drawing") pen.closePath();
      pen.strokeStyle = this.theme.mark;
      pen.lineWidth = 1.5;
      pen.setLineDash([5, 4]);
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  /** Draw a text if nothing is there yet; return its box if it was drawn. */
  label(text, x, y, boxes, { font, colour, centred = false, always = false, size = 13, side = 1 }) {
    const pen = this.pen;
    pen.font = font;
    const width = Math.min(420, pen.measureText(text).width);
    let left = x + 6;
    if (side < 0) left = x - 6 - width;
    if (centred) left = x < 0 || x > this.width ? x - width / 2 : Math.max(4, Math.min(this.width - width - 4, x - width / 2));
    const box = [left - 4, y - size * 0.75, left + width + 4, y + size * 0.75];
    const outside = box[2] < 0 || box[0] > this.width || box[3] < 0 || box[1] > this.height;
    if (outside) return false;
    const hit = (b) => box[0] < b[2] && box[2] > b[0] && box[1] < b[3] && box[3] > b[1];
    if (!always && boxes.some(hit)) return false;
    boxes.push(box);
    pen.save();
    pen.beginPath();
    pen.rect(box[0] - 2, box[1] - 3, box[2] - box[0] + 4, box[3] - box[1] + 6); // stacked marks stay within
    pen.clip();
    pen.textAlign = "left";
    pen.direction = "ltr";
    pen.strokeStyle = this.theme.back;
    pen.lineWidth = 3.5;
    pen.strokeText(text, left, y);
    pen.fillStyle = colour;
    pen.fillText(text, left, y);
    pen.restore();
    return box;
  }

  drawChosen(boxes) {
    if (!this.chosen) return;
    const pen = this.pen;
    const places = this.chosen.map((row) => this.toScreen(this.places[2 * row], this.places[2 * row + 1]));
    pen.strokeStyle = this.theme.line;
    pen.lineWidth = 1;
    for (const place of places.slice(1)) {
      pen.beginPath();
      pen.moveTo(...places[0]);
      pen.lineTo(...place);
      pen.stroke();
    }
    places.forEach(([x, y], i) => {
      pen.beginPath();
      pen.arc(x, y, i ? 3 : 5, 0, 7);
      pen.fillStyle = i && !this.sure.has(this.chosen[i]) ? this.theme.back : this.theme.mark;
      pen.fill();
      pen.strokeStyle = this.theme.mark;
      pen.lineWidth = 2;
      pen.stroke();
    });
    places.forEach(([x, y], i) => {
      const font = `${i ? 500 : 700} ${i ? 13 : 16}px system-ui, sans-serif`;
      const style = { font, colour: i ? this.theme.ink : this.theme.mark, always: !i, size: i ? 13 : 16 };
      const text = shown(this.data.words[this.chosen[i]], 32);
      [[1, 0], [-1, 0], [1, 12], [1, -12], [-1, 12], [-1, -12]].some(([side, down]) => this.label(text, x, y + down, boxes, { ...style, side }));
    });
  }

  /** The names of regions above them, large ones for the coarse scale, those of finer scales where there is room. */
  drawRegions(boxes) {
    this.named = [];
    const { scale } = this.view;
    const small = this.width < 500;
    const levels = scale > 24 ? [] : scale >= 7 ? [2] : scale >= 2.6 ? [1, 2] : [0, 1];
    for (const level of levels) {
      const first = level === levels[0];
      const regions = this.regions.filter(([of]) => of === level).sort((a, b) => b[4] - a[4]);
      const most = regions[0]?.[4] ?? 1;
      for (const region of regions) {
        const [, x, y, , size, , top] = region;
        const pixels = first ? Math.round((small ? 12 : 14 - level) + (5 - 2 * level) * Math.sqrt(size / most)) : small ? 10 : 11.5;
        const name = this.data.wordsOf(region, 18).slice(0, first && !small ? 3 : 2).join(" · ");
        const [red, green, blue] = colourOfPlace(x, y, this.theme.lightness);
        const colour = first ? this.theme.ink : `color-mix(in srgb, rgb(${red} ${green} ${blue}) 45%, ${this.theme.ink})`;
        const style = { font: `${first ? 700 : 500} ${pixels}px system-ui, sans-serif`, colour, centred: true, size: pixels };
        const [left, above] = this.toScreen(x, top);
        if (left < 0 || left > this.width) continue;
        for (const step of first ? [-0.7, -1.8, 0.6, 1.8, -3] : [-0.5, 0.8]) {
          const box = this.label(name, left, Math.max(this.toScreen(x, y)[1] < 0 ? -99 : pixels, above + step * pixels), boxes, style);
          if (!box) continue;
          this.named.push([box, region]);
          break;
        }
      }
    }
  }

  drawWords(boxes) {
    if (this.view.scale < 1.6) return;
    const [left, bottom] = this.toMap(0, this.height);
    const [right, top] = this.toMap(this.width, 0);
    const most = Math.min(140, (this.width * this.height) / 6500);
    const style = { font: "12px system-ui, sans-serif", colour: this.theme.soft, size: 12 };
    let [drawn, tried] = [0, 0];
    for (let row = 0; row < this.n && drawn < most && tried < 600; row++) {
      const x = this.places[2 * row];
      const y = this.places[2 * row + 1];
      if (x < left || x > right || y < bottom || y > top || (this.marked && !this.marked[row])) continue;
      tried++;
      if (this.label(shown(this.data.words[row], 32), ...this.toScreen(x, y), boxes, style)) drawn++;
    }
  }

  // ---- pointer and keys

  listen() {
    const canvas = this.points;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.hover.hidden = true;
      this.pointers.set(event.pointerId, place(event));
      this.moved = 0;
      this.turn = (this.turn ?? 0) + 1;
      if (this.pointers.size === 1 && (this.mode === "lasso" || event.shiftKey)) {
        this.mode = "drawing";
        this.outline = [this.toMap(...place(event))];
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      const [left, top] = place(event);
      const before = this.pointers.get(event.pointerId);
      if (!before) {
        this.showHover(left, top);
        return;
      }
      this.moved += Math.hypot(left - before[0], top - before[1]);
      if (this.mode === "drawing") {
        this.outline.push(this.toMap(left, top));
        this.redraw();
      } else if (this.pointers.size === 2) {
        const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, where]) => where);
        const [old, now] = [before, [left, top]].map(([x, y]) => Math.hypot(x - other[0], y - other[1]));
        this.zoom(now / (old || 1), (left + other[0]) / 2, (top + other[1]) / 2);
        this.pan((left - before[0]) / 2, (top - before[1]) / 2);
      } else if (this.moved > 3) {
        this.pan(left - before[0], top - before[1]);
      }
      this.pointers.set(event.pointerId, [left, top]);
    });
    const up = (event) => {
      if (!this.pointers.delete(event.pointerId)) return;
      const [left, top] = place(event);
      if (this.mode === "drawing") {
        this.mode = "lasso";
        if (this.outline.length > 2) this.onlasso(this.outline);
      } else if (event.type === "pointerup" && this.moved < 5) {
        const region = this.regionAt(left, top);
        const row = this.at(left, top, event.pointerType === "touch" ? 24 : 14);
        if (region) this.onregion(region);
        else if (row >= 0) this.onpick(row);
      }
      this.redraw();
    };
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, up);
    canvas.addEventListener("pointerleave", () => (this.hover.hidden = true));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const lines = event.deltaMode === 1 ? 30 : 1;
        this.zoom(Math.exp(-Math.max(-240, Math.min(240, event.deltaY * lines)) / 400), ...place(event));
        this.showHover(...place(event)); // the word below the pointer now, not the former one
      },
      { passive: false },
    );
    canvas.addEventListener("dblclick", (event) => this.zoom(2, ...place(event)));
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (steps[event.key]) this.pan(...steps[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.5);
      else if (event.key === "-") this.zoom(1 / 1.5);
      else return;
      event.preventDefault();
    });
  }

  showHover(left, top) {
    const named = this.regionAt(left, top);
    this.points.classList.toggle("named", Boolean(named));
    const row = named ? -1 : this.at(left, top);
    this.hover.hidden = row < 0;
    if (row < 0) return;
    if (row !== this.hovered) {
      this.hovered = row;
      clearTimeout(this.describing);
      const facts = el("div");
      this.hover.replaceChildren(el("b", {}, shown(this.data.words[row], 40)), facts);
      this.describing = setTimeout(() => (facts.textContent = this.describe(row)), 120); // when the pointer rests
    }
    const [x, y] = this.toScreen(this.places[2 * row], this.places[2 * row + 1]);
    this.hover.style.left = `${Math.max(4, Math.min(x + 12, this.width - 310))}px`;
    this.hover.style.top = y > 110 ? "" : `${y + 14}px`;
    this.hover.style.bottom = y > 110 ? `${this.height - y + 12}px` : "";
  }

  /** Rows of the words within an outline (even-odd rule). */
  within(outline) {
    const xs = Float64Array.from(outline, ([x]) => x);
    const ys = Float64Array.from(outline, ([, y]) => y);
    const rows = [];
    for (let row = 0; row < this.n; row++) {
      const x = this.places[2 * row];
      const y = this.places[2 * row + 1];
      let inside = false;
      for (let i = 0, j = xs.length - 1; i < xs.length; j = i++) {
        if (ys[i] > y !== ys[j] > y && x < ((xs[j] - xs[i]) * (y - ys[i])) / (ys[j] - ys[i]) + xs[i]) inside = !inside;
      }
      if (inside) rows.push(row);
    }
    return rows;
  }
}
