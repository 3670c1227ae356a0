// The table of words: searched, sorted, and shown a hundred rows at a time.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const about = read("about"), words = read("words"), judged = read("judged");
const undecided = read("undecided"), only = read("only");
const STEP = 100;
const tested = about.permutations > 0, several = about.texts.length > 2;

const finite = (values) => values.filter((value) => value !== null);
const range = (values) => finite(values).reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [0, 0]);
const scale = tested ? range([...judged.low, ...judged.high]) : range(judged.distance);
const farthest = range([...judged.trajectory.flat(), ...judged.band.flat()])[1] || 1;
const total = (counts) => counts.reduce((sum, count) => sum + count, 0);
const isSure = (row) => tested && Boolean(judged.changed[row]);
const digits = (value) =>
  value === null ? "–" : value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(0) : value.toFixed(3);

const kinds = [{ name: "all judged words", rows: words.map((_, row) => row) }];
if (tested) {
  kinds.unshift({ name: `changed more than is typical, fdr up to ${about.rate}`, rows: kinds[0].rows.filter(isSure) });
}
kinds.push({ name: "undecided, too rare", listed: undecided });
about.texts.forEach((name, text) => {
  const counts = (count) => about.texts.map((_, i) => (i === text ? count : 0));
  kinds.push({ name: `only in ${shown(name, 30)}`, listed: only[text].map(([word, n]) => [word, counts(n)]) });
});

const pShown = (row) => (judged.p[row] !== null && judged.p[row] <= judged.smallest_p[row] * 1.001 ? "≤ " : "") + digits(judged.p[row]);
const orders = [
  ...(tested ? [{ name: "changed first", key: (row) => row }] : []),
  { name: "farthest first (distance)", key: (row) => -judged.distance[row] },
  ...(tested ? [{ name: "most changed contexts", key: (row) => -judged.change[row] }] : []),
  { name: "most neighbours exchanged", key: (row) => -judged.turnover[row] },
  { name: "most frequent", key: (row) => -total(judged.counts[row]) },
  { name: "A to Z", key: (row) => words[row] },
];

const [query, kind, order, more, said] = ["query", "kind", "order", "more", "said"].map((id) =>
  document.getElementById(id),
);
const [head, body] = document.getElementById("table").children;
let rows = [], next = 0;

function sorted(found) {
  const { key } = orders[order.value];
  const keys = new Map(found.map((row) => [row, key(row)]));
  const less = (a, b) => (keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : a - b);
  return found.sort(less);
}

/** Rows of a kind whose word has the text: the word itself, then words that begin so, then others. */
function matching(list, word) {
  const wanted = query.value.trim().toLowerCase();
  if (!wanted) return list;
  const rank = (item) => {
    const lower = word(item).toLowerCase();
    return lower === wanted ? 0 : lower.startsWith(wanted) ? 1 : lower.includes(wanted) ? 2 : 3;
  };
  const groups = [[], [], []];
  for (const item of list) groups[rank(item)]?.push(item);
  return groups.flat();
}

function show() {
  const chosen = kinds[kind.value];
  const list = chosen.rows ? sorted([...chosen.rows]) : chosen.listed;
  rows = matching(list, chosen.rows ? (row) => words[row] : ([word]) => word);
  order.disabled = !chosen.rows;
  const names = chosen.rows
    ? [["word"], [tested ? "change" : "distance"], ...(tested ? [["excess"], ["distance"], ["p"], ["fdr"]] : [["turnover"]]), ["counts"],
       ...(several ? [["from the first text"]] : []), ["neighbours lost"], ["neighbours gained"]]
    : [["word"], ...about.texts.map((name) => [`in ${shown(name, 30)}`])];
  head.replaceChildren(el("tr", {}, ...names.map(([name]) => el("th", { scope: "col" }, name))));
  body.replaceChildren();
  next = 0;
  append();
  say();
}

/** Say how many words are shown, and where a word is that is searched for and not among them. */
function say() {
  const wanted = query.value.trim().toLowerCase();
  const count = `${rows.length.toLocaleString("en")} word${rows.length === 1 ? "" : "s"}`;
  if (rows.length || !wanted) {
    said.textContent = rows.length ? count : "There is no such word.";
    return;
  }
  const has = (one) =>
    one.rows ? one.rows.some((row) => words[row].toLowerCase() === wanted) : one.listed.some(([word]) => word.toLowerCase() === wanted);
  const place = kinds.find(has);
  said.textContent = place ? `Not here; but this word is in “${place.name}”.` : "No text has this word often enough, or the page is too small for it.";
}

function append() {
  const chosen = kinds[kind.value];
  for (const item of rows.slice(next, next + STEP)) body.append(chosen.rows ? judgedRow(item) : listedRow(item));
  next = Math.min(rows.length, next + STEP);
  more.hidden = next >= rows.length;
  more.textContent = `More (${(rows.length - next).toLocaleString("en")})`;
}

function listedRow([word, counts]) {
  const cells = counts.map((n) => el("td", {}, n.toLocaleString("en")));
  return el("tr", {}, el("td", { class: "name" }, el("bdi", {}, shown(word))), ...cells);
}

const labelled = (name) => el("span", { class: "kind" }, name);

function near(name, list) {
  const buttons = list.slice(0, 4).map((row) => {
    if (typeof row === "string") return el("span", { class: "near" }, el("bdi", {}, shown(row, 30))); // not judged
    const visit = () => {
      query.value = words[row];
      kind.value = String(kinds.findIndex((one) => one.rows?.length === words.length));
      show();
      query.scrollIntoView({ block: "center" });
    };
    return el("button", { class: "near", type: "button", onclick: visit }, el("bdi", {}, shown(words[row], 30)));
  });
  return el("td", { class: "near-words" }, labelled(name), ...(buttons.length ? buttons : [el("span", { class: "soft" }, "–")]));
}

function judgedRow(row) {
  const value = (tested ? judged.change : judged.distance)[row];
  const name = el("button", { class: "word", type: "button", "aria-expanded": "false" }, el("bdi", {}, shown(words[row])));
  const title = tested ? `90 %: ${digits(judged.low[row])} to ${digits(judged.high[row])}` : "";
  const made = el(
    "tr",
    { class: isSure(row) ? "sure" : "" },
    el("td", { class: "name" }, name),
    el("td", { class: "value", title }, digits(value), value === null ? null : intervalBar(value, judged.low[row], judged.high[row], scale)),
    ...(tested ? ["excess", "distance", "p", "fdr"] : ["turnover"]).map((one) =>
      el("td", { class: "value" }, labelled(one), one === "p" ? pShown(row) : digits(judged[one][row]))),
    el("td", { class: "counts" }, labelled("counts"), judged.counts[row].join(" ")),
    ...(several ? [el("td", { class: "line" }, trajectory(judged.trajectory[row], judged.band[row], about.texts, farthest, false))] : []),
    near("lost", judged.lost[row]),
    near("gained", judged.gained[row]),
  );
  name.onclick = () => {
    const open = name.getAttribute("aria-expanded") === "true";
    name.setAttribute("aria-expanded", String(!open));
    if (open) made.nextSibling.remove();
    else made.after(detail(row));
  };
  return made;
}

/** A word within the words around it, of which there may be none on one side. */
const sentence = (left, word, right) =>
  el("bdi", {}, left && `${shown(left, 200)} `, el("b", {}, shown(word, 60)), right && ` ${shown(right, 200)}`);

/** All that is known of a word. */
function detail(row) {
  const facts = about.texts.map((name, text) => [`count in ${name}`, judged.counts[row][text].toLocaleString("en")]);
  const among = (rank) => (rank === null ? "" : `, more than ${Math.floor(100 * rank)} % of the words of its frequency`);
  facts.push(
    [tested ? "cosine distance between models" : "cosine distance", digits(judged.distance[row]) + among(judged.distance_rank[row])],
    ["neighbours exchanged", `${Math.round(100 * judged.turnover[row])} %${among(judged.turnover_rank[row])}`],
  );
  if (tested) {
    facts.push(["change, 90 %", `${digits(judged.low[row])} to ${digits(judged.high[row])}`]);
    facts.push(["change of most words of like frequency", digits(judged.typical[row])]);
  }
  for (const [name, list] of [["lost", judged.lost[row]], ["gained", judged.gained[row]]])
    facts.push([`neighbours ${name}`, list.map((other) => shown(words[other] ?? other, 30)).join(", ") || "–"]);
  const parts = [el("dl", {}, ...facts.map(([name, text]) => el("div", {}, el("dt", {}, shown(name, 80)), el("dd", {}, text))))];
  for (const [text, kind, source, left, word, right] of judged.examples[row])
    parts.push(
      el("p", { class: "example" },
        el("span", { class: "soft" }, `${shown(about.texts[text], 40)}, ${kind === "typical" ? "typical" : "most different"} (${shown(source, 60)}): `),
        sentence(left, word, right)),
    );
  const ranks = [judged.distance_rank[row], judged.turnover_rank[row]];
  if (isSure(row) && ranks.every((rank) => rank !== null && rank < 0.5))
    parts.push(el("p", { class: "soft" }, "Its contexts differ, but it moved less than most words of its frequency: look at the neighbours."));
  if (several) {
    parts.push(trajectory(judged.trajectory[row], judged.band[row], about.texts, farthest, true));
    const what = judged.band[row].length ? "; dashed: 95 % of permuted texts stay below" : "";
    parts.push(el("p", { class: "soft" }, `Distance ${tested ? "of the contexts " : ""}from ${shown(about.texts[0], 60)}${what}.`));
  }
  return el("tr", { class: "detail" }, el("td", { colspan: 11 }, ...parts));
}

/** A word at the head of the page: from which words to which, and two sentences of each text. */
function card(row) {
  const names = (list) => list.slice(0, 5).map((other) => shown(words[other] ?? other, 30)).join(", ") || "–";
  const sentences = about.texts.flatMap((name, text) =>
    judged.examples[row].filter((example) => example[0] === text).slice(0, 2).map(([, , , left, word, right], i) =>
      el("p", { class: "example" }, ...(i ? [] : [el("span", { class: "soft" }, `${shown(name, 40)}: `)]),
        sentence(left, word, right))));
  return el("article", { class: "card" }, el("h3", {}, el("bdi", {}, shown(words[row], 60))),
    el("p", {}, el("span", { class: "soft" }, "from "), el("bdi", {}, names(judged.lost[row])),
      el("span", { class: "soft" }, " to "), el("bdi", {}, names(judged.gained[row]))), ...sentences);
}

const CARDS = 6;
const first = (tested ? kinds[0].rows : words.map((_, row) => row)).slice(0, CARDS);
document.getElementById("first").hidden = !first.length;
document.getElementById("cards").append(...first.map(card));

kinds.forEach((one, i) => {
  const size = (one.rows ?? one.listed).length;
  kind.append(el("option", { value: i }, `${one.name} (${size.toLocaleString("en")})`));
});
orders.forEach((one, i) => order.append(el("option", { value: i }, one.name)));
if (!kinds[0].rows.length) kind.value = "1";
query.addEventListener("input", show);
kind.addEventListener("change", show);
order.addEventListener("change", show);
more.addEventListener("click", append);
document.getElementById("tools").addEventListener("submit", (event) => event.preventDefault());
show();
