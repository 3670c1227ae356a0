// Start of the page: data, map, search, address.

const NEAREST = 20;
const VIEW = /((?:&(?:model|colour|region|lasso|sentence|target|tab|at)=[^&]*)*)$/; // the part of the address that a link adds

class Explorer {
  constructor() {
    this.about = takeJson("about");
    this.words = takeJson("words");
    this.n = this.words.length;
    const take = (name) => (this.about.types[name] ? takeArray(name, this.about.types[name]) : null);
    this.places = this.about.models.map((_, i) => Float32Array.from(take(`places${i}`), (value) => value / 65535));
    this.regions = this.about.models.map((model) => model.regions);
    this.regionOf = this.about.models.map((_, i) => take(`region${i}`));
    this.counts = take("counts");
    this.change = take("change"); // the share of neighbours that differ, of 255
    this.changed = take("changed"); // 1: cawv change calls the word changed
    this.order = this.change && this.byDifference(take("distance")); // rows, the most different first
    this.classes = take("classes");
    this.take = take;
    this.mapOf = 0;
    this.state = { kind: "none" };
    this.tab = "words";
    this.go = this.go.bind(this);
    this.select = this.select.bind(this);
    const at = (id) => document.getElementById(id);
    this.map = new PointMap(at("points"), at("labels"), at("hover"), this);
    this.useTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    this.makeColours();
    at("loading").remove();
    performance.mark("map");
    // the map is there; the vectors follow when it has been drawn
    requestAnimationFrame(() => setTimeout(() => this.finish(), 0));
  }

  finish() {
    this.vocabulary = new Vocabulary(this.words);
    this.models = this.about.models.map((told, i) => {
      const vectors = new Vectors(this.take(`upper${i}`), this.take(`lower${i}`), this.take(`scales${i}`), told.size);
      const attention = told.attention ? new Attention(told.attention, this.take(`logits${i}`), this.vocabulary) : null;
      const model = { name: told.name, vectors, attention, weights: this.take(`weights${i}`), nearest: this.take(`nearest${i}`) };
      if (told.resamples) {
        model.resamples = told.resamples;
        for (const name of ["rows", "low", "high", "again"]) model[name] = this.take(name + i);
      }
      return model;
    });
    const named = this.regions[0].filter(([level]) => level === 0).map(([, , , rows]) => rows[0]);
    this.examples = [...new Set(named.length ? named : this.words.slice(0, 8).keys())].slice(0, 10);
    this.panels = new Panels(this);
    this.panels.sentence = this.example = this.about.suggestions.sentence;
    this.address = ""; // address of the word that was shown last, and the content of the search box
    this.settled = "";
    this.makeTabs();
    this.listen();
    this.fromAddress();
    performance.mark("ready");
    document.documentElement.dataset.ready = "yes";
  }

  /** Rows by how many neighbours differ; among equals, by how differently the models place the word among them. */
  byDifference(distance) {
    const much = Float32Array.from(this.change, (share, row) =>
      share + Math.min(0.999, distance[row] / 2) + (this.changed?.[row] ? 1000 : 0));
    return Uint32Array.from(much.keys()).sort((a, b) => much[b] - much[a]);
  }

  // ---- colours

  useTheme(name) {
    this.themeName = name;
    document.documentElement.dataset.theme = name;
    this.map.theme = THEMES[name];
    this.colour();
  }

  get colourings() {
    const found = { region: "region", frequency: "frequency", length: "length of vector" };
    if (this.change) found.change = "difference";
    if (this.classes) found.class = "class";
    if (this.axis) found.axis = "two poles";
    return found;
  }

  makeColours(chosen) {
    const select = document.getElementById("colour");
    select.replaceChildren(...Object.entries(this.colourings).map(([value, text]) => el("option", { value }, text)));
    select.value = chosen ?? (this.classes ? "class" : this.change ? "change" : "region");
    select.onchange = () => this.colour();
    this.colour();
  }

  colour() {
    const by = document.getElementById("colour").value;
    const { theme, kind } = this.map;
    const key = document.getElementById("key");
    const scale = (stops, low, high) => {
      const strip = el("span", { class: "scale" });
      strip.style.background = `linear-gradient(to right, ${stops.join(",")})`;
      key.replaceChildren(el("bdi", {}, low), strip, el("bdi", {}, high));
      this.map.colours = ramp(stops);
    };
    const dots = (names, colours) => {
      key.replaceChildren(...names.map((name, i) => {
        const dot = el("span", { class: "dot" });
        dot.style.background = colours[i];
        return el("span", {}, dot, el("bdi", {}, shown(name, 24)));
      }));
    };
    key.replaceChildren(...(by === "region" ? [el("span", { class: "meaning" }, "near regions have like hues")] : []));
    if (by === "frequency") {
      scale(theme.ramp, "rare", "frequent");
      for (let row = 0; row < this.n; row++) kind[row] = 255 * (1 - Math.log(row + 1) / Math.log(this.n + 1));
    } else if (by === "length" && this.models) {
      const norms = Array.from({ length: this.n }, (_, row) => this.models[this.mapOf].vectors.norm(row));
      const sorted = [...norms].sort((a, b) => a - b);
      const [low, high] = [sorted[Math.floor(this.n * 0.02)], sorted[Math.floor(this.n * 0.98)]];
      scale(theme.ramp, low.toPrecision(2), high.toPrecision(2));
      for (let row = 0; row < this.n; row++) kind[row] = Math.max(0, Math.min(255, (255 * (norms[row] - low)) / (high - low || 1)));
    } else if (by === "change") {
      scale(theme.heat, "differ least", "differ most");
      this.order.forEach((row, place) => (kind[row] = 255 - (255 * place) / this.n));
    } else if (by === "axis" && this.axis) {
      scale(theme.poles, shown(this.words[this.axis.rows[0]], 16), shown(this.words[this.axis.rows[1]], 16));
      const reach = this.axis.reach || 1;
      for (let row = 0; row < this.n; row++) kind[row] = Math.max(0, Math.min(255, 127.5 + (127.5 * this.axis.line[row]) / reach));
    } else if (by === "class") {
      const colours = [...theme.kinds, theme.rest];
      for (let row = 0; row < this.n; row++) kind[row] = this.classes[row] < 0 ? theme.kinds.length : this.classes[row] % theme.kinds.length;
      this.map.colours = colours.map(rgb);
      dots([...this.about.classes.slice(0, 18), "none"], [...this.about.classes.slice(0, 18).map((_, i) => colours[i % theme.kinds.length]), theme.rest]);
    } else {
      // like hues for regions that are near each other, on the middle one of the three scales
      const level = this.regions[this.mapOf].some(([of]) => of === 1) ? 1 : 0;
      this.map.colours = Array.from({ length: 256 }, () => rgb(theme.between));
      for (const [of, x, y, , , label] of this.regions[this.mapOf]) if (of === level) this.map.colours[label] = colourOfPlace(x, y, theme.lightness);
      kind.set(this.regionOf[this.mapOf].subarray(level * this.n, (level + 1) * this.n));
    }
    this.map.redraw();
  }

  // ---- views

  makeTabs() {
    const tabs = document.getElementById("tabs");
    tabs.replaceChildren(...Object.entries(this.panels.tabs).map(([name, text]) =>
      el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "content", "aria-selected": "false", onclick: () => this.show(name) }, text)));
    tabs.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const all = [...tabs.children];
      const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
      next.focus();
      next.click();
    };
  }

  show(tab) {
    this.tab = tab;
    for (const button of document.getElementById("tabs").children) {
      const chosen = button.id === `tab-${tab}`;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1; // arrows lead to the others
    }
    const content = document.getElementById("content");
    content.setAttribute("aria-labelledby", `tab-${tab}`);
    const name = tab[0].toUpperCase() + tab.slice(1);
    content.replaceChildren(...this.panels[`show${name}`](this.state));
    content.scrollTop = 0;
  }

  say(text) {
    document.getElementById("said").textContent = text;
  }

  /** Go to a word or to the input; the address keeps it, so that back and forward work. */
  go(wanted) {
    let address = "";
    if (wanted.word !== undefined) {
      try {
        address = `word=${encodeURIComponent(this.words[wanted.word])}`;
        if (address.length > 500) throw new URIError();
      } catch {
        address = `row=${wanted.word}`; // too long, or no valid text
      }
    } else if (wanted.query) {
      try {
        address = `find=${encodeURIComponent(wanted.query.slice(0, 1000))}`;
      } catch {
        return;
      }
    }
    if (location.hash.slice(1) === address) this.fromAddress();
    else location.hash = address;
  }

  fromAddress() {
    const [view] = VIEW.exec(location.hash);
    const [, name, value] = /^#?(?:(word|row|find)=(.*))?$/s.exec(location.hash.slice(0, location.hash.length - view.length)) ?? [];
    let text = value;
    try {
      text = value === undefined ? "" : decodeURIComponent(value);
    } catch {
      text = value;
    }
    const row = name === "row" ? Number(text) : name === "word" ? this.vocabulary.find(text) : -1;
    const known = Number.isInteger(row) && row >= 0 && row < this.n;
    const asked = known ? { kind: "word", row } : parseQuery(text, this.vocabulary);
    this.answer(asked ?? { kind: "none" });
    if (view) this.restoreView(new URLSearchParams(view));
  }

  /** The address for sharing, which adds: map, colour, selection, sentence, tab, and the part in view. */
  link() {
    const { map, panels, mapOf, tab } = this;
    const { x, y, scale } = map.view;
    const region = this.regions[mapOf].findIndex((one) => panels.region && this.nameOf(one) === panels.region);
    const shows = {
      model: mapOf || null,
      colour: document.getElementById("colour").value,
      region: region < 0 ? null : region,
      lasso: this.marked && map.outline ? map.outline.flat().map((value) => Math.round(value * 1e6)).join(",") : null,
      sentence: panels.sentence === this.example ? null : new URLSearchParams({ "": panels.sentence.slice(0, 2000) }).toString().slice(1),
      target: panels.target < 0 ? null : panels.target,
      tab,
      at: [x, y, scale].map((value) => value.toFixed(4)).join(","),
    };
    const view = Object.entries(shows).filter(([, value]) => value !== null).map(([name, value]) => `&${name}=${value}`);
    return `${location.href.split("#")[0]}#${location.hash.replace(/^#/, "").replace(VIEW, "")}${view.join("")}`;
  }

  restoreView(asked) {
    const numbers = (name) => (asked.get(name) ?? "").split(",").map(Number);
    const number = asked.get("model") ?? this.mapOf;
    if (number in this.models && Number(number) !== this.mapOf) this.showMapOf(Number(number), 0);
    const colour = asked.get("colour");
    if (colour in this.colourings) this.makeColours(colour);
    const region = this.regions[this.mapOf][asked.get("region") ?? -1];
    const outline = numbers("lasso").map((value) => value / 1e6);
    if (region) this.selectRegion(region);
    else if (outline.length >= 6 && outline.every(Number.isFinite)) {
      this.selectWithin(Array.from({ length: outline.length >> 1 }, (_, i) => [outline[2 * i], outline[2 * i + 1]]));
    }
    if (asked.has("sentence")) this.panels.sentence = asked.get("sentence");
    if (asked.has("target")) this.panels.target = Math.max(-1, Math.trunc(Number(asked.get("target"))) || 0);
    if (asked.get("tab") in this.panels.tabs) this.show(asked.get("tab"));
    const [x, y, scale] = numbers("at");
    if (asked.has("at") && [x, y, scale].every(Number.isFinite)) this.map.animate(0, () => this.map.setView({ x, y, scale }));
  }

  nameOf(region) {
    return this.wordsOf(region, 18).join(" · ");
  }

  answer(asked) {
    performance.mark("asked");
    const input = document.getElementById("query");
    this.state = asked;
    this.map.chosen = null;
    this.map.sure = new Set();
    if (asked.kind === "word") {
      asked.found = this.models.map((model) => {
        const sure = this.sureness(model, asked.row);
        return model.vectors.neighbours(asked.row, NEAREST).map((one) => ({ ...one, ...sure.get(one.row) }));
      });
      this.map.sure = new Set(asked.found[this.mapOf].filter(({ again, resamples }) => again >= 0.8 * resamples).map(({ row }) => row));
      this.showOnMap([asked.row, ...asked.found[this.mapOf].map(({ row }) => row)]);
      this.say(`${this.panels.said(`${asked.found[0].length} words nearest to`)} ${shown(this.words[asked.row])}`);
    } else if (asked.kind === "sum") {
      const leftOut = new Set(asked.terms.map(({ row }) => row));
      asked.found = this.models.map(({ vectors }) => {
        const sum = vectors.zero();
        for (const { row, sign } of asked.terms) vectors.add(sum, row, sign, true);
        return vectors.nearest(sum, NEAREST, leftOut);
      });
      this.showOnMap(asked.found[this.mapOf].map(({ row }) => row));
    } else if (asked.kind === "axis") {
      this.findAxis(asked);
    } else if (asked.kind === "unknown") {
      asked.near = this.spelledLike(asked.word);
      this.say(this.panels.said("unknown word"));
    }
    input.value = asked.kind === "word" ? shown(this.words[asked.row], 200) : (asked.query ?? "");
    if (document.activeElement === input) {
      if (asked.kind === "unknown") input.select();
      else this.map.points.focus({ preventScroll: true }); // so that the map's keys work
    }
    if (asked.kind !== "unknown") [this.settled, this.address] = [input.value, location.hash];
    if (asked.kind !== "axis" && this.axis) {
      this.axis = null;
      this.makeColours();
    }
    if (this.marked && asked.kind === "axis") this.select(null, { quiet: true }); // its colours are those of all words
    this.show(asked.kind === "none" && this.change ? "differences" : "words");
    this.map.redraw();
    performance.measure("answer", "asked");
  }

  /** How sure the neighbours of a word are, by their rows; empty without models of resampled text. */
  sureness({ rows, low, high, again, resamples }, row) {
    const found = new Map();
    if (!resamples) return found;
    const per = Math.min(NEAREST, this.n - 1);
    for (let i = row * per; i < Math.min(rows.length, (row + 1) * per); i++) {
      found.set(rows[i], { low: low[i] / 100, high: high[i] / 100, again: again[i], resamples });
    }
    return found;
  }

  /** Facts about the word under the pointer: how often it occurs, and its nearest words. */
  describe(row) {
    const near = this.models[this.mapOf].vectors.neighbours(row, 5).map((one) => shown(this.words[one.row], 24));
    const count = this.counts ? `${this.counts[row].toLocaleString("en")} times · ` : "";
    const text = this.about.snippets?.[row];
    return text ? shown(text, 160) : `${count}${near.join(", ")}`;
  }

  /** The words that name a region: of documents, typical words of their texts. */
  wordsOf([, , , rows, , , , typical], longest) {
    return (typical?.length ? typical : rows.map((row) => this.words[row])).map((word) => shown(word, longest));
  }

  showOnMap(rows) {
    this.map.chosen = rows;
    if (rows.length) this.map.showRows(rows);
  }

  findAxis(asked) {
    const { vectors } = this.models[0];
    const axis = vectors.add(vectors.direction(asked.rows[1]), asked.rows[0], -1, true);
    const line = vectors.cosines(axis); // projections on an axis of length 1, as cawv axis prints them
    const frequent = line.subarray(0, Math.min(this.n, 20000));
    const leftOut = new Set(asked.rows);
    asked.ends = [highest(frequent.map((value) => -value), 15, leftOut), highest(frequent, 15, leftOut)];
    const sorted = Float32Array.from(line, Math.abs).sort();
    this.axis = { rows: asked.rows, line, reach: sorted[Math.floor(this.n * 0.98)] };
    this.map.chosen = asked.rows;
    this.map.fly({ x: 0.5, y: 0.5, scale: 1 });
    this.makeColours("axis");
  }

  /** Words that share the most pairs of letters with an unknown word. */
  spelledLike(word) {
    const pairs = (text) => new Set([...text.slice(0, 40).toLowerCase()].map((c, i, all) => c + (all[i + 1] ?? "$")));
    const wanted = pairs(word);
    const scores = Float32Array.from(this.vocabulary.lower, (text) => {
      const found = pairs(text);
      let common = 0;
      for (const pair of found) if (wanted.has(pair)) common++;
      return (2 * common) / (found.size + wanted.size);
    });
    return highest(scores, 8).map(({ row }) => row);
  }

  /** Mark words and list them; `name` is the name of their region, if they are one. */
  select(rows, { quiet = false, name = "" } = {}) {
    const chip = document.getElementById("unselect");
    chip.hidden = !rows;
    if (rows) chip.textContent = `${name || counted(rows.length, this.about.noun)} ✕`;
    chip.title = chip.ariaLabel = rows ? `${counted(rows.length, this.about.noun)} selected: clear the selection` : "";
    this.panels.selection = rows;
    this.panels.region = name;
    this.marked = this.map.marked = rows ? new Uint8Array(this.n) : null;
    if (rows) for (const row of rows) this.marked[row] = 1;
    else this.map.outline = null;
    this.map.redraw();
    if (quiet || (!rows && this.tab !== "selection")) return;
    this.show("selection");
    if (rows) this.say(counted(rows.length, this.about.noun) + " selected");
  }

  /** The words of a region of the map that is shown. */
  selectRegion(region) {
    const [level, , , , , label] = region;
    const labels = this.regionOf[this.mapOf].subarray(level * this.n, (level + 1) * this.n);
    const rows = [];
    for (let row = 0; row < this.n; row++) if (labels[row] === label) rows.push(row);
    this.map.outline = null;
    this.select(rows, { name: this.nameOf(region) });
  }

  /** The words within an outline on the map; the outline is kept with few enough points for a link. */
  selectWithin(outline) {
    const step = Math.ceil(outline.length / 60);
    this.map.outline = outline.filter((_, i) => i % step === 0).map((place) => place.map((value) => Math.round(value * 1e6) / 1e6));
    this.select(this.map.within(this.map.outline));
  }

  showMapOf(number, milliseconds) {
    this.mapOf = number;
    document.getElementById("model").value = number;
    this.map.outline = null; // it was drawn on the other map
    this.map.setPlaces(this.places[number], this.regions[number], milliseconds);
    const { kind, row, found } = this.state;
    if (kind === "word" || kind === "sum") {
      this.map.chosen = found[number].map((one) => one.row);
      if (kind === "word") this.map.chosen.unshift(row);
    }
    this.colour();
    this.show(this.tab);
  }

  // ---- keys and buttons

  listen() {
    const at = (id) => document.getElementById(id);
    const lasso = () => {
      this.map.mode = this.map.mode === "move" ? "lasso" : "move";
      at("lasso").setAttribute("aria-pressed", String(this.map.mode !== "move"));
      at("points").classList.toggle("drawing", this.map.mode !== "move");
    };
    at("closer").onclick = () => this.map.zoom(1.6);
    at("farther").onclick = () => this.map.zoom(1 / 1.6);
    at("whole").onclick = () => this.map.fly({ x: 0.5, y: 0.5, scale: 1 });
    at("lasso").onclick = lasso;
    at("unselect").onclick = () => this.select(null);
    at("share").hidden = location.protocol === "about:"; // in a notebook there is no address
    at("share").onclick = (event) => copy(this.link(), event.currentTarget, "✓");
    at("theme").onclick = () => this.useTheme(this.themeName === "dark" ? "light" : "dark");
    at("whose").hidden = this.models.length < 2;
    at("model").replaceChildren(...this.models.map(({ name }, value) => el("option", { value }, name)));
    at("model").onchange = () => this.showMapOf(Number(at("model").value));
    this.map.describe = (row) => this.describe(row);
    this.map.onregion = (region) => this.selectRegion(region);
    this.map.onpick = (row) => this.go({ word: row });
    this.map.onlasso = (outline) => {
      if (this.map.mode !== "move") lasso();
      this.selectWithin(outline);
    };
    addEventListener("hashchange", () => this.fromAddress());
    addEventListener("keydown", (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
      if (event.key === "Escape") {
        if (this.map.mode !== "move") lasso();
        if (this.marked) this.select(null);
        else if (this.axis) this.go({});
        return;
      }
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") {
        event.preventDefault();
        at("query").focus();
      } else if (event.key.toLowerCase() === "l") lasso();
      else if (event.key === "0") this.map.fly({ x: 0.5, y: 0.5, scale: 1 });
    });
    listenToSearch(this, at("query"), at("suggestions"));
  }
}

const explorer = new Explorer();
