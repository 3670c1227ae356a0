"""How much attention the words of a model get, from its logits."""

from __future__ import annotations

import numpy as np

from wordvec_ca.errors import DataError

# Approximate size in bytes of the blocks in which logits are read, since all logits may not fit into memory.
BLOCK_BYTES = 4 << 20


def offsets_of(n_places: int) -> list[int]:
    """Return the places of a window relative to the target, from left to right."""
    half = n_places // 2
    return [*range(-half, 0), *range(1, half + 1)]


def mean_attention(
    word_logits: np.ndarray, slot_logits: np.ndarray, counts: np.ndarray, clip: float
) -> np.ndarray:
    """Return how much attention each word draws, relative to an average word in the same place.

    ``g[w] = mean over the places i of exp(K[w,i] + s[i]) / sum_v p(v) exp(K[v,i] + s[i])``

    with p(v) the relative frequency of v. 1 is the attention of an average token: ``sum_w p(w) g[w] = 1``.
    In training the vector of a context is the sum of a_i W_i, so g[w] W_w, not W_w, is what the word
    contributes to a context on average.

    Notes
    -----
    The maximum of each place is subtracted before ``exp``, so that ``exp`` cannot overflow.

    References
    ----------
    The attention of Ling, Tsvetkov, Amir et al. 2015, eq. 4.
    """
    n_words, columns = word_logits.shape
    total = float(np.sum(counts, dtype=np.float64))
    if not total > 0:
        raise DataError("all counts are 0: the mean attention needs the frequencies of words")
    if not columns:
        return np.ones(n_words, np.float32)
    p = np.asarray(counts, np.float64) / total
    places = slot_logits.astype(np.float64)
    if not np.isfinite(places).all():
        raise DataError("the attention logits of places hold NaN or infinity: the training has diverged")
    step = max(1, BLOCK_BYTES // (8 * max(columns, len(places))))
    blocks = [slice(start, min(start + step, n_words)) for start in range(0, n_words, step)]

    def logits(rows: slice) -> np.ndarray:
        found = word_logits[rows] + places
        if not np.isfinite(found).all():
            raise DataError("the attention logits of words hold NaN or infinity: the training has diverged")
        return np.clip(found, -clip, clip)

    highest = np.max([logits(rows).max(axis=0) for rows in blocks], axis=0)
    average = np.zeros(len(places))
    for rows in blocks:
        average += p[rows] @ np.exp(logits(rows) - highest)
    weights = np.empty(n_words, np.float32)
    for rows in blocks:
        weights[rows] = (np.exp(logits(rows) - highest) / average).mean(axis=1)
    return weights
