// The attention of a model on the words of a sentence (Ling et al. 2015, eq. 4).

class Attention {
  constructor(told, logits, vocabulary) {
    Object.assign(this, told);
    this.logits = logits;
    this.vocabulary = vocabulary;
  }

  /** The row of a token; as in training, the spelling must match exactly. */
  row(token) {
    return this.vocabulary.rows.get(token) ?? -1;
  }

  /**
   * The weights around one target, one for each token: null for the target, for words without a vector and those
   * outside the window; and the tokens' offsets from the target.
   */
  weights(sentence, target) {
    const rows = sentence.map((token) => this.row(token));
    const offsets = sentence.map(() => 0);
    for (let i = target - 1, k = -1; i >= 0; i--) if (rows[i] >= 0) offsets[i] = k--;
    for (let i = target + 1, k = 1; i < rows.length; i++) if (rows[i] >= 0) offsets[i] = k++;
    const logits = sentence.map((_, i) => {
      const place = offsets[i] ? this.offsets.indexOf(offsets[i]) : -1;
      if (place < 0) return null;
      let logit = this.slots[place];
      if (this.width) logit += this.logits[rows[i] * this.width + (this.kind === "full" ? place : 0)] * this.step;
      return Math.max(-this.clip, Math.min(this.clip, logit));
    });
    const top = Math.max(...logits.filter((logit) => logit !== null));
    const shares = logits.map((logit) => (logit === null ? null : Math.exp(logit - top)));
    const sum = shares.reduce((total, share) => total + (share ?? 0), 0);
    return { weights: shares.map((share) => (share === null ? null : share / sum)), offsets };
  }
}
