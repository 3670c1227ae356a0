// Words: showing them, putting them into elements, finding them, and reading them from a text.

// Characters that act instead of being shown: controls, marks of direction, separators, lone surrogates.
const ACTING =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}\ud800-\udfff]/gu;

function escaped(character) {
  const code = character.codePointAt(0);
  const hex = code.toString(16);
  if (code < 256) return "\\x" + hex.padStart(2, "0");
  return code < 65536 ? "\\u" + hex.padStart(4, "0") : "\\U" + hex.padStart(8, "0");
}

/** A word made safe to show, cut after `most` characters. */
function shown(word, most = 60) {
  let visible = word.slice(0, 4 * most).replace(ACTING, escaped).replace(/(\p{M}{3})\p{M}+/gu, "$1");
  const characters = [...visible];
  if (characters.length > most || word.length > 4 * most) visible = characters.slice(0, most - 1).join("") + "…";
  return visible || "(empty)";
}

/** Make an element; strings are inserted as text, never as markup. */
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
      this.folded.set(this.lower[row], row); // the most frequent of the words that differ only in case
    }
  }

  /** The row of a word as it is spelt, or else in another case; -1 if there is none. */
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
const LETTER = "[\\p{L}\\p{M}\\p{N}_׳]";
const TOKEN = new RegExp(
  `${LETTER}(?:${LETTER}|[\\u200c\\u200d](?=${LETTER})|[-'’·״‐‑](?=[\\p{L}\\p{N}_׳])|(?<=\\p{Nd})[.,٫٬](?=\\p{Nd}))*` +
    "|[^\\p{L}\\p{M}\\p{N}_׳\\p{Z}\\p{Cc}\\p{Cf}\\s]\\p{M}*",
  "gu",
);

function tokens(text, tokenizer, lowercase) {
  const lowered = lowercase ? [...text].map((c) => (c.toLowerCase().length === c.length ? c.toLowerCase() : c)).join("") : text;
  if (tokenizer === "words") return lowered.replace(/\u00ad/g, "").match(TOKEN) ?? [];
  return lowered.split(/[ \t\n\v\f\r]+/).filter((token) => token);
}

/** Parse a query: a word, words with signs, or two poles. */
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
  const typed = sumTerms(query, (word) => vocabulary.find(word) >= 0);
  const terms = typed.map(({ word, sign }) => ({ row: vocabulary.find(word), sign }));
  const unknown = terms.findIndex(({ row: found }) => found < 0);
  return unknown < 0 ? { kind: "sum", terms, query } : { kind: "unknown", word: typed[unknown].word, query };
}

/** The terms of a sum of words, or the text as the only term: the rules of wordvec_ca/vectors/word_sums.py. */
function sumTerms(text, isKnown) {
  const whole = [{ word: text.trim(), sign: 1 }];
  if (isKnown(text.trim()) || !/[+−–]|\s-|-\s/.test(text.trim())) return whole;
  const value = (sign) => (sign === "+" ? 1 : -1);
  const isSign = (character) => /^[+−–-]$/.test(character);
  const terms = [];
  let sign = 1;
  for (let part of text.trim().split(/\s+/)) {
    if (isSign(part)) {
      sign = value(part);
      continue;
    }
    let following = 1;
    if (!isKnown(part)) { // a sign may touch only one of the words beside it: "king -man", "king- man"
      if (isSign(part[0])) [sign, part] = [value(part[0]), part.slice(1)];
      if (part.length > 1 && isSign(part.at(-1)) && !isKnown(part)) [following, part] = [value(part.at(-1)), part.slice(0, -1)];
    }
    for (const { word, join } of splitAtSigns(part, isKnown)) terms.push({ word, sign: join ? value(join) : sign });
    sign = following;
  }
  return !terms.length || (terms.length === 1 && terms[0].sign > 0 && !isKnown(terms[0].word)) ? whole : terms;
}

/** Split a part without spaces into words, with the fewest characters of unknown words, then the fewest words, then the longest first. */
function splitAtSigns(part, isKnown) {
  const ends = [...[...part.matchAll(/[+−–-]/g)].map(({ index }) => index).slice(0, 200), part.length];
  const best = new Map([[part.length + 1, { unknown: 0, n: 0, cuts: [] }]]); // the best split from each position
  for (const begin of [0, ...ends.slice(0, -1).map((end) => end + 1)].reverse()) {
    for (const end of [...ends].reverse()) {
      const rest = end > begin && best.get(end + 1);
      if (!rest) continue;
      const found = { unknown: rest.unknown + (isKnown(part.slice(begin, end)) ? 0 : end - begin), n: rest.n + 1, cuts: [end, ...rest.cuts] };
      const old = best.get(begin);
      if (!old || found.unknown < old.unknown || (found.unknown === old.unknown && found.n < old.n)) best.set(begin, found);
    }
  }
  let begin = 0;
  return (best.get(0)?.cuts ?? [part.length]).map((end) => {
    const word = { word: part.slice(begin, end), join: begin ? part[begin - 1] : "" };
    begin = end + 1;
    return word;
  });
}
