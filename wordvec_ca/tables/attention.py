"""Computes one weight for each word of an attention model: its mean attention over all places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.tables.parts import Part

LogitsByPart = list[tuple[Part, np.ndarray, np.ndarray]]
"""List of (part, its logits K of shape (n_words, columns), its logits s of shape (n_places,))."""

BLOCK_BYTES = 4 << 20
"""Approximate size in bytes of the blocks in which logits are read, since all logits may not fit into memory.
"""


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


def logits_by_part(
    word_logits: np.ndarray, slot_logits: np.ndarray, kind: str, parts: Sequence[Part]
) -> LogitsByPart:
    """Return the attention logits of each part, as views."""
    found, start = [], 0
    for number, part in enumerate(parts):
        places = slice(start, start + len(part.offsets))
        start = places.stop
        columns = {"full": places, "word": slice(number, number + 1), "position": slice(0, 0)}[kind]
        slots = slot_logits[places]
        found.append((part, word_logits[:, columns], slots if kind != "word" else np.zeros_like(slots)))
    return found


def attention_of_words(
    by_part: LogitsByPart, counts: np.ndarray, clip: float, part: str | None = None
) -> np.ndarray:
    """Return ``mean_attention`` of one part, or the mean over all parts, weighted by their dimensions."""
    if part is not None:
        by_part = [one for one in by_part if one[0].name == part]
    found = [mean_attention(words, slots, counts, clip) for _, words, slots in by_part]
    if len(found) == 1:
        return found[0]
    return np.average(found, axis=0, weights=[one.size for one, _, _ in by_part]).astype(np.float32)
