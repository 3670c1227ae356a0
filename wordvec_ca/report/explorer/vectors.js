// The data of the page, and the arithmetic of vectors.

const TYPES = {
  int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array,
};

/** Take an array out of the page, and remove its text, which is no longer needed. */
function takeArray(name, type) {
  const element = document.getElementById("array-" + name);
  if (!element) return null;
  const text = element.textContent;
  element.remove();
  let bytes;
  if (Uint8Array.fromBase64) {
    bytes = Uint8Array.fromBase64(text);
  } else {
    const binary = atob(text);
    bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  }
  return new TYPES[type](bytes.buffer, bytes.byteOffset, bytes.byteLength / TYPES[type].BYTES_PER_ELEMENT);
}

function takeJson(id) {
  const element = document.getElementById(id);
  const value = JSON.parse(element.textContent);
  element.remove();
  return value;
}

/** The vectors of a model: whole numbers of ten bits, each row with a scale. */
class Vectors {
  constructor(upper, lower, scales, size) {
    this.n = scales.length;
    this.size = size;
    this.scales = scales;
    this.numbers = new Int16Array(this.n * size);
    for (let i = 0; i < this.numbers.length; i++) {
      this.numbers[i] = upper[i] * 4 + ((lower[i >> 2] >> (2 * (i & 3))) & 3);
    }
    this.lengths = new Float32Array(this.n); // of the whole numbers
    for (let row = 0, i = 0; row < this.n; row++) {
      let sum = 0;
      for (let j = 0; j < size; j++, i++) sum += this.numbers[i] * this.numbers[i];
      this.lengths[row] = Math.sqrt(sum) || 1;
    }
  }

  norm(row) {
    return this.lengths[row] * this.scales[row];
  }

  /** Add a multiple of a row's vector, or of its direction. */
  add(sum, row, factor, direction) {
    const by = factor * (direction ? 1 / this.lengths[row] : this.scales[row]);
    const start = row * this.size;
    for (let j = 0; j < this.size; j++) sum[j] += by * this.numbers[start + j];
    return sum;
  }

  zero() {
    return new Float32Array(this.size);
  }

  direction(row) {
    return this.add(this.zero(), row, 1, true);
  }

  /** The cosine of two rows. */
  cosine(row, other) {
    const direction = this.direction(other);
    let sum = 0;
    for (let j = 0; j < this.size; j++) sum += direction[j] * this.numbers[row * this.size + j];
    return sum / this.lengths[row];
  }

  /** The cosines of all words with a vector. */
  cosines(vector) {
    const { n, size, numbers, lengths } = this;
    // the query as whole numbers too, as large as sums of 32 bits allow: browsers multiply them faster
    const total = vector.reduce((sum, value) => sum + Math.abs(value), 0);
    const wanted = Int32Array.from(vector, (value) => (value / (total || 1)) * (2 ** 31 / 512 - size));
    const length = Math.hypot(...wanted) || 1;
    const found = new Float32Array(n);
    for (let row = 0, i = 0; row < n; row++) {
      let sum = 0;
      for (let j = 0; j < size; j++, i++) sum = (sum + Math.imul(wanted[j], numbers[i])) | 0;
      found[row] = sum / (lengths[row] * length);
    }
    return found;
  }

  nearest(vector, topn, leftOut) {
    return highest(this.cosines(vector), topn, leftOut);
  }

  neighbours(row, topn) {
    return this.nearest(this.direction(row), topn, new Set([row]));
  }
}

/** The highest scores as {row, score}, best first; among equal scores the lower row comes first. */
function highest(scores, topn, leftOut = new Set()) {
  const best = [];
  let threshold = -Infinity;
  for (let row = 0; row < scores.length; row++) {
    const score = scores[row];
    if (!(score > threshold) || leftOut.has(row)) continue;
    let k = best.length < topn ? best.length : topn - 1;
    for (; k > 0 && best[k - 1].score < score; k--) best[k] = best[k - 1];
    best[k] = { row, score };
    if (best.length === topn) threshold = best[topn - 1].score;
  }
  return best;
}

/** The words that characterise a set: those much nearer to its mean direction than to that of all words. */
function typicalOf(vectors, rows, topn) {
  const [mean, all] = [vectors.zero(), vectors.zero()];
  for (const row of rows) vectors.add(mean, row, 1, true);
  for (let row = 0; row < vectors.n; row++) vectors.add(all, row, 1, true);
  const [near, everywhere] = [vectors.cosines(mean), vectors.cosines(all)];
  const lift = (row) => near[row] - everywhere[row];
  const frequent = rows.length > 40 ? [...rows].sort((a, b) => a - b).slice(0, Math.max(40, rows.length / 2)) : [...rows];
  return frequent.sort((a, b) => lift(b) - lift(a)).slice(0, topn).map((row) => ({ row, score: lift(row) }));
}
