// The panel beside the map: each tab is a function that returns its elements. Words are always inserted as text.

const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
const counted = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

function bar(share, other = false) {
  const made = el("div", { class: other ? "bar other" : "bar", "aria-hidden": "true" });
  made.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return made;
}

/** The text and options that a model was trained with, as far as its record has them. */
function madeOf({ size, of, made }, noun) {
  const facts = [made?.kind, counted(of, noun), counted(size, "dimension")];
  if (made?.text) facts.push(made.tokens ? `${made.text} (${counted(made.tokens, "token")})` : made.text);
  if (made) facts.push(`seed ${made.seed}`);
  return facts.filter(Boolean).join(" · ");
}

class Panels {
  constructor(explorer) {
    this.explorer = explorer;
    this.sentence = "";
    this.target = -1; // the word that was chosen, by its place in the sentence
    this.selection = null;
    this.region = "";
  }

  get tabs() {
    const differences = this.explorer.change ? { differences: "Differences" } : {};
    const sentence = this.explorer.about.noun === "word" ? { sentence: "Sentence" } : {}; // of items and documents there are none
    return { words: this.said("Words"), ...differences, ...sentence, selection: "Selection", about: "About" };
  }

  /** A text of the page, in which words are called what the model has: items, or documents. */
  said(text) {
    const { noun } = this.explorer.about;
    const an = noun === "item" ? text.replaceAll("a word", "an item") : text;
    return an.replaceAll("word", noun).replaceAll("Word", noun[0].toUpperCase() + noun.slice(1));
  }

  /** A word as a link. */
  word(row, title) {
    const { words, go } = this.explorer;
    const full = words[row];
    const hint = title ?? (full.length > 30 ? shown(full, 200) : null);
    return el("button", { class: "word", type: "button", title: hint, onclick: () => go({ word: row }) }, el("bdi", {}, shown(full)));
  }

  chips(rows) {
    const { words, go } = this.explorer;
    const one = (row) => el("li", {}, el("button", { type: "button", onclick: () => go({ word: row }) }, el("bdi", {}, shown(words[row], 30))));
    return el("ul", { class: "words" }, ...rows.map(one));
  }

  table(caption, found, { common = new Set(), other = false, named = "cosine" } = {}) {
    const top = found[0]?.score ?? 1;
    const low = Math.min(...found.map(({ score }) => score));
    const base = low > 0 ? Math.max(0, low - 0.3 * (top - low)) : 0; // so that differences can be seen
    const bars = base ? `bars from ${base.toFixed(2)}` : "";
    const judged = found.some(({ again }) => again !== undefined);
    const sure = ({ low, high, again, resamples }) =>
      !judged ? [] : [el("td", { class: "interval" }, again === undefined ? "" : `${low.toFixed(2)} – ${high.toFixed(2)}`.replaceAll("-", "−")),
        el("td", { class: "number" }, again === undefined ? "" : `${again}/${resamples}`)];
    const row = (one) =>
      el("tr", { class: common.has(one.row) ? "both" : null },
        el("td", {}, this.word(one.row, common.has(one.row) ? "a neighbour in both models" : undefined)),
        el("td", { class: "bars" }, bar((one.score - base) / (top - base || 1), other)),
        el("td", { class: "number" }, one.score.toFixed(3)),
        ...sure(one));
    const heads = [["number", named], ...(judged ? [["interval", "one run"], ["number", "found in"]] : [])];
    return el("table", { class: judged ? "judged" : null },
      el("caption", {}, ...[caption].flat()),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, this.said("word")), el("th", { class: "bars" }, bars), ...heads.map(([kind, text]) => el("th", { scope: "col", class: kind }, text)))),
      el("tbody", {}, ...found.map(row)));
  }

  // ---- Words

  showWords(state) {
    if (state.kind === "word") return this.showWord(state);
    if (state.kind === "sum") return this.showSum(state);
    if (state.kind === "axis") return this.showAxis(state);
    if (state.kind === "unknown") {
      return [el("h2", {}, el("bdi", {}, shown(state.word))), el("p", {}, this.said("This word is not in the page. Words that are spelled like it:")),
        this.chips(state.near)];
    }
    const examples = this.explorer.examples;
    return [
      el("p", {}, this.said("Type a word, or click on one in the map, to see the words nearest to it.")),
      this.chips(examples),
      ...this.moreToType(),
      el("p", { class: "soft" }, "Nearness is always that of the vectors. The map is a picture of it: ",
        this.said(`it keeps ${percent(this.explorer.about.models[0].kept)} of the 20 nearest words.`)),
    ];
  }

  /** Sums that clearly work in this model, and poles. */
  moreToType() {
    const { about, words, go } = this.explorer;
    const { sums, poles } = about.suggestions;
    const ready = (query) => el("button", { type: "button", onclick: () => go({ query }) }, query);
    const lines = sums.map(([a, b, c, d]) => [ready(`${words[a]} - ${words[b]} + ${words[c]}`), el("span", {}, "= ", el("bdi", {}, shown(words[d], 30)))]);
    if (!sums.length) lines.push([el("kbd", {}, "a - b + c"), this.said("words as sums; none of the tried ones is clear in this model")]);
    lines.push([poles ? ready(poles.map((row) => words[row]).join(" … ")) : el("kbd", {}, "a … b"), this.said("all words between two poles")]);
    return [el("h3", {}, "More to type"), el("dl", {}, ...lines.flatMap(([text, what]) => [el("dt", {}, text), el("dd", {}, what)]))];
  }

  facts(row) {
    const { counts, models, change } = this.explorer;
    const text = this.explorer.about.snippets?.[row];
    if (text) return el("p", {}, el("bdi", {}, shown(text, 160)), " …");
    const facts = [this.said(`word ${(row + 1).toLocaleString("en")} by frequency`)];
    if (counts) facts.push(`${counts[row].toLocaleString("en")} times in the text`);
    facts.push(`length ${models[0].vectors.norm(row).toPrecision(3)}`);
    if (change) facts.push(`${percent(change[row] / 255)} of its neighbours differ`);
    return el("p", { class: "soft" }, facts.join(" · "));
  }

  showWord({ row, found }) {
    const { words, models, about } = this.explorer;
    const head = [el("h2", {}, el("bdi", {}, shown(words[row], 120))), this.facts(row)];
    if (models.length === 1) {
      const n = found[0][0]?.resamples;
      const what = n ? [el("p", { class: "soft" }, `“One run”: the range of the cosine, 9 times in 10, in one run on other text (${about.coverage} of such ranges held it; fewest for frequent words in short texts). “Found in”: how many of ${n} models of resampled text have the word among the nearest ${NEAREST}.`)] : [];
      return [...head, ...this.nearDocuments(row), this.table(about.near[row] ? "Nearest on the map" : this.said("Nearest words"), found[0]), ...what];
    }
    const rows = found.map((one) => new Set(one.map(({ row }) => row)));
    const common = new Set([...rows[0]].filter((one) => rows[1].has(one)));
    const tables = found.map((one, i) =>
      this.table([el("span", { class: "soft" }, el("bdi", {}, about.models[i].name))], one, { common, other: i === 1 }));
    return [...head, el("p", {}, `${common.size} of ${found[0].length} nearest words are the same in both models`, common.size ? " (●)." : "."),
      el("div", { class: "two" }, ...tables)];
  }

  /** The nearest of all documents, if the page shows only some; a link if the page has it. */
  nearDocuments(row) {
    const { about, vocabulary } = this.explorer;
    const near = about.near[row];
    if (!near) return [];
    const one = ([number, cosine]) => {
      const [name, text] = about.others[number];
      const known = vocabulary.rows.get(name);
      return el("tr", {},
        el("td", { class: "document" }, known === undefined ? el("bdi", {}, shown(name)) : this.word(known), el("p", { class: "soft" }, el("bdi", {}, text), text ? " …" : "")),
        el("td", { class: "number" }, cosine.toFixed(3)));
    };
    return [el("table", { class: "documents" }, el("caption", {}, "Nearest of all documents"), el("tbody", {}, ...near.map(one)))];
  }

  showSum({ query, found }) {
    const { about } = this.explorer;
    const tables = found.map((one, i) => this.table(found.length > 1 ? [el("bdi", {}, about.models[i].name)] : this.said("Nearest words"), one, { other: i === 1 }));
    return [el("h2", {}, el("bdi", {}, shown(query, 120))), found.length > 1 ? el("div", { class: "two" }, ...tables) : tables[0]];
  }

  showAxis({ rows, ends }) {
    const { words } = this.explorer;
    const [one, other] = rows.map((row) => shown(words[row], 40));
    return [
      el("h2", {}, el("bdi", {}, one), " … ", el("bdi", {}, other)),
      el("p", { class: "soft" }, "All words projected on the axis between the two, as by cawv axis: the map shows it in colour; here its ends, among the 20,000 most frequent words."),
      el("div", { class: "two" }, ...ends.map((end, i) => this.table([el("bdi", {}, [one, other][i])], end, { other: i === 1, named: "projection" }))),
    ];
  }

  // ---- Sentence

  showSentence() {
    const attends = this.explorer.models.some((model) => model.attention);
    const input = el("textarea", { id: "sentence", "aria-label": "A sentence", placeholder: "Type a sentence" });
    input.value = this.sentence;
    const result = el("div");
    const renew = () => {
      this.sentence = input.value;
      result.replaceChildren(...this.sentenceResult(renew));
    };
    input.addEventListener("input", renew);
    input.onclick = () => { if (input.value === this.explorer.example) input.select(); }; // to be replaced
    renew();
    const what = attends
      ? "What does the model look at when it predicts a word from those around it?"
      : "The words nearest to a sentence, the mean of its words; frequent ones count less.";
    return [el("p", {}, what), input, result];
  }

  sentenceResult(renew) {
    const { models, vocabulary } = this.explorer;
    const attending = models.find((model) => model.attention)?.attention;
    const { tokenizer = "words", lowercase = true } = attending ?? {};
    const list = tokens(this.sentence, tokenizer, lowercase).slice(0, 200);
    if (!list.length) return [];
    const parts = [];
    if (attending) {
      if (this.target >= list.length) this.target = -1;
      const target = this.target < 0 ? this.rarest(list) : this.target;
      const unknown = list.some((token) => !vocabulary.rows.has(token));
      parts.push(el("h3", {}, "Choose the word whose context is looked at"), this.targets(list, target, vocabulary, renew),
        unknown ? el("p", { class: "soft" }, "Struck out: unknown words; the model leaves them out before it counts places.") : null);
      for (const model of models) if (model.attention) parts.unshift(this.allPlaces(model, list));
      for (const model of models) if (model.attention) parts.push(this.attentionOf(model, list, target));
    }
    for (const model of models) parts.push(this.nearSentence(model, list));
    return parts.filter(Boolean);
  }

  /** The place of the rarest known word, which says more than a word like "the". */
  rarest(list) {
    const rows = list.map((token) => this.explorer.vocabulary.rows.get(token) ?? -1);
    return Math.max(...rows) < 0 ? Math.floor(list.length / 2) : rows.indexOf(Math.max(...rows));
  }

  targets(list, target, vocabulary, renew) {
    const one = (token, i) =>
      el("li", {}, el("button", {
        type: "button", "aria-pressed": String(i === target), class: vocabulary.rows.has(token) ? null : "unknown",
        title: vocabulary.rows.has(token) ? null : "has no vector",
        onclick: () => { this.target = i; renew(); },
      }, el("bdi", {}, shown(token, 30))));
    return el("ul", { class: "words", id: "targets" }, ...list.map(one));
  }

  attentionOf(model, list, target) {
    const name = this.explorer.models.length > 1 ? [" in ", el("bdi", {}, model.name)] : [];
    const { weights, offsets } = model.attention.weights(list, target);
    const most = Math.max(0.0001, ...weights.map((weight) => weight ?? 0));
    const rows = list.map((token, i) => ({ token, weight: weights[i], offset: offsets[i] })).filter(({ weight }) => weight !== null);
    return el("table", { class: "attention" },
      el("caption", {}, "Attention", ...name),
      el("tbody", {}, ...rows.map(({ token, weight, offset }) =>
        el("tr", {},
          el("td", { class: "place" }, offset > 0 ? `+${offset}` : `−${-offset}`),
          el("td", {}, el("bdi", {}, shown(token, 30))),
          el("td", { class: "bars" }, bar(weight / most)),
          el("td", { class: "number", "data-weight": weight }, percent(weight))))));
  }

  /** The weights around every word, as a table that is also a picture. */
  allPlaces(model, list) {
    if (list.length > 40) return null;
    const rows = list.map((_, target) => model.attention.weights(list, target).weights);
    const most = Math.max(0.0001, ...rows.flat().map((weight) => weight ?? 0));
    const cell = (weight) => {
      const made = el("td", {}, weight === null ? "" : weight.toFixed(2).replace(/^0/, ""));
      if (weight !== null) made.style.background = `color-mix(in srgb, var(--bar) ${Math.round((100 * weight) / most)}%, transparent)`;
      return made;
    };
    const head = (token) => el("th", { scope: "col" }, el("bdi", {}, shown(token, 12)));
    const grid = el("div", { class: "grid", tabindex: "0" }, el("table", {},
      el("thead", {}, el("tr", {}, el("th", {}, "target"), ...list.map(head))),
      el("tbody", {}, ...rows.map((weights, i) =>
        el("tr", {}, el("th", { scope: "row" }, el("bdi", {}, shown(list[i], 12))), ...weights.map(cell))))));
    const hint = el("p", { class: "soft", hidden: true }, "Scroll sideways to see all words →");
    const made = el("details", { open: true }, el("summary", {}, "What counts for each word", ...(this.explorer.models.length > 1 ? [" in ", el("bdi", {}, model.name)] : [])), hint, grid);
    made.addEventListener("toggle", () => { hint.hidden = grid.scrollWidth <= grid.clientWidth; }); // also when it is first shown
    return made;
  }

  nearSentence(model, list) {
    const { vocabulary, models } = this.explorer;
    const rows = list.map((token) => vocabulary.find(token)).filter((row) => row >= 0);
    if (!rows.length) return el("p", { class: "soft" }, "None of these words has a vector.");
    const sum = model.vectors.zero();
    for (const row of rows) model.vectors.add(sum, row, model.weights ? model.weights[row] : 1, false);
    const name = models.length > 1 ? [" in ", el("bdi", {}, model.name)] : [];
    return this.table(["Words nearest to the sentence", ...name], model.vectors.nearest(sum, 10, new Set(rows)));
  }

  // ---- Selection

  showSelection() {
    const { explorer } = this;
    const { select } = explorer;
    const inView = el("button", { type: "button", onclick: () => explorer.selectWithin(explorer.map.inView()) }, this.said("Words in view"));
    if (!this.selection) {
      return [el("p", {}, this.said("Draw around words: press "), el("kbd", {}, "Lasso"), " on the map, or hold ", el("kbd", {}, "Shift"), " and drag. Or click on the name of a region."),
        el("div", { class: "actions" }, inView), ...this.regions()];
    }
    const rows = this.selection;
    const { words, models } = this.explorer;
    const list = el("tbody", {}, ...rows.slice(0, 200).map((row) => el("tr", {}, el("td", {}, this.word(row)))));
    return [
      el("h2", {}, this.region ? el("bdi", {}, this.region) : counted(rows.length, explorer.about.noun)),
      this.region ? el("p", { class: "soft" }, `A region of ${counted(rows.length, explorer.about.noun)}.`) : null,
      el("div", { class: "actions" },
        el("button", { type: "button", onclick: (event) => copy(rows.map((row) => words[row]).join("\n"), event.target) }, "Copy"),
        el("button", { type: "button", id: "csv", onclick: () => saveCsv(this.explorer, rows) }, "Save as CSV"),
        inView,
        el("button", { type: "button", onclick: () => select(null) }, "Clear")),
      rows.length ? this.table(this.said("Most typical: nearer to these words than to all"), typicalOf(models[0].vectors, rows, 8), { named: "by" }) : null,
      ...this.regions(),
      el("table", { id: "selected" }, el("caption", {}, rows.length > 200 ? "The 200 most frequent" : "All, most frequent first"), list),
    ].filter(Boolean);
  }

  /** The names of the regions; each selects its words. */
  regions() {
    const { explorer } = this;
    const named = explorer.regions[explorer.mapOf].filter(([level]) => level === 0).sort((a, b) => b[4] - a[4]);
    if (!named.length) return [];
    const one = (region) => el("li", {}, el("button", { type: "button", onclick: () => explorer.selectRegion(region) },
      el("bdi", {}, explorer.wordsOf(region, 18).join(" · "))));
    return [el("h3", {}, "Regions"), el("p", { class: "soft" }, this.said("Where words are dense on the map, named by the frequent words that are nearer to them than to all words.")),
      el("ul", { class: "words regions" }, ...named.map(one))];
  }

  // ---- Differences

  showDifferences() {
    const { change, changed, about, models, order, words } = this.explorer;
    const frequent = order.filter((row) => row < 5000 && /\p{L}/u.test(words[row]));
    const same = (row) => String(Math.round(NEAREST * (1 - change[row] / 255)));
    const nearest = ({ nearest, vectors }, row) => {
      const word = words[nearest[row]];
      return [el("td", { title: shown(word, 200) }, el("bdi", {}, shown(word, 30))),
        el("td", { class: "number" }, vectors.cosine(row, nearest[row]).toFixed(2).replace("-", "−"))];
    };
    const table = (caption, rows) =>
      el("table", { class: "differences" }, el("caption", {}, caption),
        el("colgroup", {}, el("col"), ...models.flatMap(() => [el("col"), el("col", { class: "cosine" })]), el("col", { class: "same" })),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "word"),
          ...about.models.flatMap(({ name }) => [el("th", { scope: "colgroup", colspan: 2, title: `nearest in ${name}, with its cosine` }, el("bdi", {}, shown(name, 30)))]),
          el("th", { scope: "col", class: "number" }, "same"))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, el("td", {}, this.word(row, shown(words[row], 200))),
          ...models.flatMap((model) => nearest(model, row)),
          el("td", { class: "number" }, same(row))))));
    const mean = change.reduce((sum, one) => sum + one, 0) / change.length / 255;
    return [
      el("p", {}, "Of the 20 nearest words of a word, ", el("b", {}, percent(mean)), " differ on average between ",
        el("bdi", {}, about.models[0].name), " and ", el("bdi", {}, about.models[1].name), ", among the ", counted(change.length, "word"), " of both."),
      el("p", { id: "chance" }, changed
        ? `cawv change calls ${counted(changed.reduce((sum, one) => sum + one, 0), "word")} changed, at a false-discovery rate of 5 %: they come first.`
        : "Two trainings of one text differ, too; this page cannot tell change from chance. cawv change TEXTS --save-models can."),
      el("dl", { id: "made" }, ...about.models.flatMap((model) => [el("dt", {}, el("bdi", {}, model.name)), el("dd", {}, madeOf(model, about.noun))])),
      el("p", { class: "soft" }, "Of the 5,000 most frequent words: the nearest word in either model with its cosine, and how many of the 20 nearest are the same. ",
        "Among words with equally many neighbours in common, those whose cosines differ more come first."),
      table("Words that differ most", [...frequent.slice(0, 40)]),
      table("Words that differ least, the least first", [...frequent.slice(-20).reverse()]),
    ];
  }

  // ---- About

  showAbout() {
    const { about } = this.explorer;
    const facts = [[this.said("words"), about.words < about.all[0] ? `${about.words.toLocaleString("en")} of ${about.all[0].toLocaleString("en")}` : about.words.toLocaleString("en")],
      ...about.models.map((model) => ["vectors", `${model.name}: ${madeOf(model, about.noun)}`]),
      ["map", about.method === "tsne" ? "t-SNE, started from PCA" : this.said("PCA: the two directions in which the words vary most")],
      ["faithful", about.models.map((model) => this.said(`${percent(model.kept)} of the 20 nearest words of a word are among its 20 nearest on the map`)).join("; ")],
      ["seed of the map", String(about.seed)], ["made by", `cawv ${about.version}`]];
    const keys = [["/", "search"], ["← → ↑ ↓", "move the map"], ["+ −", "zoom"], ["0", "whole map"], ["L", "lasso"], ["Esc", "clear"]];
    const list = (pairs, tag) => el("dl", {}, ...pairs.flatMap(([a, b]) => [el("dt", {}, tag ? el(tag, {}, a) : a), el("dd", {}, b)]));
    return [
      list(facts),
      el("p", { class: "soft" }, "Neighbours, sums and attention are computed here from the vectors, never from the map. The page loads nothing and sends nothing."),
      el("h3", {}, "Keys"), list(keys, "kbd"),
    ];
  }
}

async function copy(text, button, done = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = done;
}

/** Quote a cell; one that a spreadsheet would take for a formula becomes text. */
function csvCell(value) {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}

function saveCsv({ words, counts, places }, rows) {
  const line = (row) => [csvCell(words[row]), counts ? counts[row] : "", places[0][2 * row].toFixed(5), places[0][2 * row + 1].toFixed(5)].join(",");
  const text = ["word,count,x,y", ...rows.map(line)].join("\r\n") + "\r\n";
  const link = el("a", { download: "words.csv" });
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
