// Words: how they are shown, put into elements, found and read from a text.

// What acts instead of being shown: controls, marks of direction, separators, lone surrogates.
const ACTING =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}\ud800-\udfff]/gu;

function escaped(character) {
  const code = character.codePointAt(0);
  const hex = code.toString(16);
  if (code < 256) return "\\x" + hex.padStart(2, "0");
  return code < 65536 ? "\\u" + hex.padStart(4, "0") : "\\U" + hex.padStart(8, "0");
}

/** A word that is safe to show, cut after this many characters. */
function shown(word, most = 60) {
  let visible = word.slice(0, 4 * most).replace(ACTING, escaped).replace(/(\p{M}{3})\p{M}+/gu, "$1");
  const characters = [...visible];
  if (characters.length > most || word.length > 4 * most) visible = characters.slice(0, most - 1).join("") + "…";
  return visible || "(empty)";
}

/** Make an element; what is given as text stays text. */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick" || name === "oninput") element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

class Vocabulary {
  constructor(words) {
    this.words = words;
    this.lower = words.map((word) => word.slice(0, 200).toLowerCase());
    this.rows = new Map();
    this.folded = new Map();
    for (let row = words.length - 1; row >= 0; row--) {
      this.rows.set(words[row], row);
      this.folded.set(this.lower[row], row); // the most frequent of those that differ in case alone
    }
  }

  /** The row of a word as it is written, or in another case; -1 if there is none. */
  find(word) {
    return this.rows.get(word) ?? this.folded.get(word.toLowerCase()) ?? -1;
  }

  /** Whether some word begins with a text. */
  begins(text) {
    const wanted = text.toLowerCase();
    return this.lower.some((word) => word.startsWith(wanted));
  }

  /** Rows of words that begin with a text, frequent ones first; then of those that contain it. */
  suggest(text, topn) {
    const wanted = text.toLowerCase();
    const exact = this.find(text);
    const first = exact >= 0 ? [exact] : [];
    const within = [];
    for (let row = 0; row < this.lower.length && first.length < topn; row++) {
      if (row === exact) continue;
      const at = this.lower[row].indexOf(wanted);
      if (at === 0) first.push(row);
      else if (at > 0 && within.length < topn) within.push(row);
    }
    return [...first, ...within].slice(0, topn);
  }
}

// Tokens as the tokenizer "words" makes them: letters, marks, numbers and _ in runs, with hyphens and apostrophes
// within; separators between digits; everything else by itself.
const LETTER = "[\\p{L}\\p{M}\\p{N}_]";
const TOKEN = new RegExp(
  `${LETTER}(?:${LETTER}|[\\u200c\\u200d](?=${LETTER})|[-'’·‐‑](?=[\\p{L}\\p{N}_])|(?<=\\p{Nd})[.,٫٬](?=\\p{Nd}))*` +
    "|[^\\p{L}\\p{M}\\p{N}_\\p{Z}\\p{Cc}\\p{Cf}\\s]\\p{M}*",
  "gu",
);

function tokens(text, tokenizer, lowercase) {
  const lowered = lowercase ? [...text].map((c) => (c.toLowerCase().length === c.length ? c.toLowerCase() : c)).join("") : text;
  if (tokenizer === "words") return lowered.replace(/\u00ad/g, "").match(TOKEN) ?? [];
  return lowered.split(/[ \t\n\v\f\r]+/).filter((token) => token);
}

/** What is asked for: a word, words with signs, or two poles. */
function parseQuery(text, vocabulary) {
  const query = text.trim();
  if (!query) return null;
  const row = vocabulary.find(query);
  if (row >= 0) return { kind: "word", row };
  const poles = query.split(/\s*(?:…|\.\.\.)\s*/);
  if (poles.length === 2 && poles[0] && poles[1]) {
    const rows = poles.map((pole) => vocabulary.find(pole));
    const unknown = poles.find((_, i) => rows[i] < 0);
    return unknown === undefined ? { kind: "axis", rows, query } : { kind: "unknown", word: unknown, query };
  }
  const terms = [];
  let sign = 1;
  for (const part of query.split(/\s+/)) {
    if (part === "+" || part === "-" || part === "−" || part === "–") {
      sign = part === "+" ? 1 : -1;
      continue;
    }
    const found = vocabulary.find(part);
    if (found < 0) return { kind: "unknown", word: part, query };
    terms.push({ row: found, sign });
    sign = 1;
  }
  return terms.length ? { kind: "sum", terms, query } : null;
}
