"""The training loop again, to be read: specification, test oracle and second backend.

The same as ``sgns_loop.h``, with the same draws in the same order, in plain loops over arrays of
any float type. With float64 arrays it serves the gradient checks. It differs from the compiled
loop in what only speed needs: no prefetching, no padding, and no private rows for several threads.

Models and equations: docs/models.md. Sources: Mikolov et al. 2013 (cbow, skipgram), Ling et al.
2015a (ssg, cwindow), Ling et al. 2015, equations 2 and 3 (cbow-attn), Irsoy et al. 2021 (the
exact gradient of cbow).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

CBOW, SKIPGRAM, SSG, CWINDOW, CBOW_ATTN = range(5)
EXAMPLES, LOSS, WORDS, CONTEXTS, CONCENTRATION, WEIGHED = range(6)

TOGETHER = 4
"""Examples, from places far apart in the text, that take their step at once."""

BLOCK = 8
"""Pairs whose logits are taken before any of them learns; of other models it is TOGETHER."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


class Parameters(NamedTuple):
    """The arrays that learn."""

    inputs: np.ndarray  # (n_words, width): W
    outputs: np.ndarray  # (n_words, bands * out_width): O
    word_logits: np.ndarray  # (n_words, word_stride): K
    slot_logits: np.ndarray  # (1, at least 2 window): s


class Block(NamedTuple):
    """At most BLOCK examples, each of another part of the text."""

    targets: np.ndarray  # (BLOCK,) the word to predict
    first: np.ndarray  # (BLOCK,) its context words stand in the slots first, first + 1, ..
    n: np.ndarray  # (BLOCK,) this many
    words: np.ndarray  # (BLOCK, 2 window) word by slot
    hidden: np.ndarray  # (BLOCK, out_width) x
    grad: np.ndarray  # (BLOCK, out_width) -alpha dL/dx
    logits: np.ndarray  # (BLOCK, drawn + 1) of the negatives, then of the target
    shares: np.ndarray  # (BLOCK, 2 window) x = sum shares[i] W_i
    steps: np.ndarray  # (BLOCK, 2 window) W_i += steps[i] grad


class Readers(NamedTuple):
    """The parts of the text that are read side by side, and where the reading of each stands."""

    at: np.ndarray  # (shared_by,) the place of the target
    stop: np.ndarray  # (shared_by,) where the part ends
    reach: np.ndarray  # (shared_by,) words of the window on each side
    slot: np.ndarray  # (shared_by,) the next slot, for models that take one context word at a time


@njit(nogil=True, cache=True)
def pairwise(p: Any) -> bool:
    """Return whether the model predicts from one context word at a time."""
    return p.model == SKIPGRAM or p.model == SSG


@njit(nogil=True, cache=True)
def draw(rng: np.ndarray) -> Any:
    """Return a uniform number on 0 .. 2^32 - 1: splitmix64 (Steele, Lea, Flood 2014), upper half."""
    rng[0] += GOLDEN
    z = rng[0]
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return (z ^ (z >> S31)) >> S32


@njit(nogil=True, cache=True)
def dot(x: np.ndarray, y: np.ndarray) -> Any:
    """Return x . y."""
    total = x[0] * y[0]
    for k in range(1, len(x)):
        total += x[k] * y[k]
    return total


@njit(nogil=True, cache=True)
def add(x: np.ndarray, weight: float, row: np.ndarray) -> None:
    """Add: x += weight row."""
    for k in range(len(x)):
        x[k] += weight * row[k]


@njit(nogil=True, cache=True)
def coefficients(logits: np.ndarray, ids: np.ndarray, target: int, alpha: float) -> float:
    """Turn logits into g = alpha * (label - sigmoid(logit)), in place, and return the loss.

    The target stands last, with label 1; the others have label 0, and count nothing if they are the
    target itself. The loss is the sum of -log sigmoid(logit if label else -logit).
    """
    total = 0.0
    for t in range(len(logits)):
        positive = t == len(logits) - 1
        counts = positive or ids[t] != target
        z = logits[t]
        e = math.exp(-abs(z))
        sigmoid = 1.0 / (1.0 + e) if z > 0.0 else e / (1.0 + e)
        total += counts * (max(-z if positive else z, 0.0) + math.log1p(e))
        logits[t] = alpha * counts * (positive - sigmoid)
    return total


@njit(nogil=True, cache=True)
def exchange(x: np.ndarray, row: np.ndarray, weight: float, total: np.ndarray) -> None:
    """Add weight row to the total, and weight x to the row."""
    for k in range(len(x)):
        old = row[k]
        total[k] += weight * old
        row[k] = old + weight * x[k]


@njit(nogil=True, cache=True)
def attend(p: Any, b: int, block: Block, params: Parameters, stats: np.ndarray) -> float:
    """Set shares[i] = exp(e_i - max e), e_i = K[w_i, i] + s[i], and return their sum (eq. 3)."""
    shares, top = block.shares[b], -p.attention_clip
    for i in range(block.n[b]):
        slot = block.first[b] + i
        logit = params.slot_logits[0, slot] if p.use_slots else 0.0
        if p.word_stride:
            logit += params.word_logits[block.words[b, slot], slot if p.word_slots else 0]
        shares[i] = min(max(logit, -p.attention_clip), p.attention_clip)
        top = max(top, shares[i])
    total, squares = 0.0, 0.0
    for i in range(block.n[b]):
        shares[i] = math.exp(shares[i] - top)
        total += shares[i]
        squares += shares[i] ** 2
    if block.n[b] > 1:  # there was a choice
        stats[CONCENTRATION] += squares / total**2
        stats[WEIGHED] += 1
    return total


@njit(nogil=True, cache=True)
def learn_attention(p: Any, b: int, block: Block, params: Parameters) -> None:
    """Move K and s along -dL/de_i = a_i (w_i . grad - x . grad), from the rows before the step."""
    grad = block.grad[b]
    along = dot(grad, block.hidden[b])
    for i in range(block.n[b]):
        slot = block.first[b] + i
        word = block.words[b, slot]
        delta = p.attention_rate * block.shares[b, i] * (dot(grad, params.inputs[word]) - along)
        if p.word_stride:
            params.word_logits[word, slot if p.word_slots else 0] += delta
        if p.use_slots:
            params.slot_logits[0, slot] += delta


@njit(nogil=True, cache=True)
def compose(p: Any, b: int, block: Block, params: Parameters, stats: np.ndarray) -> None:
    """Make the hidden vector x of an example, and the factors that take its gradient back.

    skipgram, ssg: the row of its one context word; cbow: the mean of the rows; cbow-attn: their
    mean weighted by attention; cwindow: the rows side by side, zeros where there is no word.
    """
    hidden, n = block.hidden[b], block.n[b]
    hidden[:] = 0.0
    if p.model == CWINDOW:
        for slot in range(block.first[b], block.first[b] + n):
            hidden[slot * p.width : (slot + 1) * p.width] = params.inputs[block.words[b, slot]]
        return
    shares, steps = block.shares[b], block.steps[b]
    if p.model == CBOW_ATTN:
        total = attend(p, b, block, params, stats)
    else:
        total = float(n)
        shares[:n] = 1.0
    # exact: W_i moves by a_i grad;  word2vec: by n a_i grad, for a plain mean by grad itself
    scale = n / total if p.word2vec_update else 1.0 / total
    for i in range(n):
        steps[i] = shares[i] * scale
        shares[i] /= total
        add(hidden, shares[i], params.inputs[block.words[b, block.first[b] + i]])


@njit(nogil=True, cache=True)
def spread(p: Any, b: int, block: Block, params: Parameters) -> None:
    """Take the gradient of x back to the rows that it was composed of."""
    for i in range(block.n[b]):
        slot = block.first[b] + i
        row = params.inputs[block.words[b, slot]]
        if p.model == CWINDOW:
            add(row, 1.0, block.grad[b, slot * p.width : (slot + 1) * p.width])
        else:
            add(row, block.steps[b, i], block.grad[b])


@njit(nogil=True, cache=True)
def output_row(p: Any, params: Parameters, word: int, band: int) -> np.ndarray:
    """Return the row of O that a word shows to the contexts of a slot."""
    return params.outputs[word, band * p.out_width : (band + 1) * p.out_width]


@njit(nogil=True, cache=True)
def step(
    p: Any,
    size: int,
    first: int,
    end: int,
    block: Block,
    params: Parameters,
    negatives: np.ndarray,
    band: int,
) -> None:
    """Take the step of the examples from first to end; the row of W that is the x of a pair learns with it.

    A row that is met again, as it stands twice in the tuple or is a target, too, is met as the first
    time has left it.
    """
    if pairwise(p):  # x as those before have left it
        for b in range(first, end):
            block.hidden[b] = params.inputs[block.words[b, block.first[b]]]
    block.grad[first:end] = 0.0
    if size == 1:
        for t in range(p.drawn):
            row = output_row(p, params, negatives[t], band)
            exchange(block.hidden[0], row, block.logits[0, t], block.grad[0])
    for b in range(first, end):
        row = output_row(p, params, block.targets[b], band)
        exchange(block.hidden[b], row, block.logits[b, p.drawn], block.grad[b])
    if size > 1:
        for t in range(p.drawn):
            row = output_row(p, params, negatives[t], band)
            for b in range(first, end):
                add(block.grad[b], block.logits[b, t], row)
            for b in range(first, end):
                add(row, block.logits[b, t], block.hidden[b])
    if pairwise(p):
        for b in range(first, end):
            spread(p, b, block, params)


@njit(nogil=True, cache=True)
def train_block(
    p: Any,
    size: int,
    alpha: float,
    block: Block,
    params: Parameters,
    pool: np.ndarray,
    rng: np.ndarray,
    stats: np.ndarray,
) -> None:
    """Take one negative-sampling step of the block's examples.

    Each example meets its own target, and all meet one tuple of negatives. Logits are those before
    the step; it is taken TOGETHER at a time, and each meets rows as those before it have left them.
    """
    negatives, drawn = pool[np.int64(rng[1])], p.drawn
    band = block.first[0] if p.model == SSG else 0
    for b in range(size):
        compose(p, b, block, params, stats)
    for b in range(size):
        for t in range(drawn):
            block.logits[b, t] = dot(block.hidden[b], output_row(p, params, negatives[t], band))
        block.logits[b, drawn] = dot(block.hidden[b], output_row(p, params, block.targets[b], band))
        stats[LOSS] += coefficients(block.logits[b], negatives, block.targets[b], alpha)
    for first in range(0, size, TOGETHER):
        step(p, size, first, min(first + TOGETHER, size), block, params, negatives, band)
    if p.model == CBOW_ATTN and p.attention_rate != 0.0:
        for b in range(size):
            learn_attention(p, b, block, params)
    for b in range(size):
        if not pairwise(p):
            spread(p, b, block, params)
        stats[CONTEXTS] += block.n[b]
    stats[EXAMPLES] += size


@njit(nogil=True, cache=True)
def subsample(tokens: np.ndarray, keep: np.ndarray, rng: np.ndarray, stats: np.ndarray) -> np.ndarray:
    """Return the tokens that sub-sampling keeps, and every line end."""
    line = np.empty(len(tokens), dtype=np.int32)
    n = 0
    for word in tokens:
        stats[WORDS] += word >= 0
        if word < 0 or len(keep) == 0 or draw(rng) <= keep[word]:
            line[n] = word
            n += 1
    return line[:n]


@njit(nogil=True, cache=True)
def next_example(
    p: Any, r: int, readers: Readers, tokens: np.ndarray, b: int, block: Block, rng: np.ndarray
) -> tuple[bool, int]:
    """Make block[b] the next example of part r; return whether there was one, and the tokens read for it."""
    n, window, pairs = len(tokens), p.window, pairwise(p)
    read = 0
    while True:
        i = readers.at[r]
        if readers.slot[r] >= 2 * window:  # on to the next target
            i = readers.at[r] = i + 1
            if i >= readers.stop[r]:
                return False, read
            read += 1
            readers.slot[r] = 0
            readers.reach[r] = window
            if p.shrink_windows:
                readers.reach[r] = 1 + np.int64((draw(rng) * np.uint64(window)) >> S32)
        left = right = 0
        if tokens[i] >= 0:
            while left < readers.reach[r] and i - left > 0 and tokens[i - left - 1] >= 0:
                left += 1
            while right < readers.reach[r] and i + right + 1 < n and tokens[i + right + 1] >= 0:
                right += 1
        # slots are the places around the target, left to right: 0 .. 2 window - 1
        first, last = max(readers.slot[r], window - left), window + right
        readers.slot[r] = first + 1 if pairs and first < last else 2 * window
        if first < last:
            break
    block.targets[b], block.first[b] = tokens[i], first
    block.n[b] = 1 if pairs else last - first
    for slot in range(first, first + block.n[b]):
        block.words[b, slot] = tokens[i + slot - window + (slot >= window)]
    return True, read


@njit(nogil=True, cache=True)
def train_tokens(
    p: Any,
    tokens: np.ndarray,
    readers: Readers,
    block: Block,
    params: Parameters,
    pool: np.ndarray,
    rng: np.ndarray,
    stats: np.ndarray,
) -> None:
    """Read the text in ``shared_by`` parts at a time, an example of each after the other.

    Those that share a tuple of negatives come from places far apart. They meet it TOGETHER at a time, pairs a
    BLOCK. The last reader takes the place of one that is at its end.
    """
    n, read, n_readers = len(tokens), 0, p.shared_by
    most = BLOCK if pairwise(p) else TOGETHER
    for r in range(n_readers):
        readers.at[r], readers.stop[r] = n * r // p.shared_by - 1, n * (r + 1) // p.shared_by
        readers.slot[r] = 2 * p.window
    while n_readers:
        for first in range(0, p.shared_by, most):
            size = 0
            while size < most and first + size < n_readers:
                one, more = next_example(p, first + size, readers, tokens, size, block, rng)
                size += one
                read += more
                if not one:
                    n_readers -= 1
                    for state in readers:
                        state[first + size] = state[n_readers]
            if size:
                alpha = p.alpha_begin + (p.alpha_end - p.alpha_begin) / n * read
                train_block(p, size, alpha, block, params, pool, rng, stats)
        if n_readers:
            rng[1] = np.uint64((np.int64(rng[1]) + 1) % len(pool))


@njit(nogil=True, cache=True)
def _train_chunk(
    hyper: np.ndarray,
    tokens: np.ndarray,
    keep: np.ndarray,
    pool: np.ndarray,
    params: Parameters,
    rng: np.ndarray,
    stats: np.ndarray,
) -> None:
    p = hyper[0]
    slots, dtype = 2 * p.window, params.inputs.dtype
    block = Block(
        np.zeros(BLOCK, np.int64),
        np.zeros(BLOCK, np.int64),
        np.zeros(BLOCK, np.int64),
        np.zeros((BLOCK, slots), np.int64),
        np.zeros((BLOCK, p.out_width), dtype),
        np.zeros((BLOCK, p.out_width), dtype),
        np.zeros((BLOCK, p.drawn + 1), dtype),
        np.zeros((BLOCK, slots), dtype),
        np.zeros((BLOCK, slots), dtype),
    )
    readers = Readers(
        np.zeros(p.shared_by, np.int64),
        np.zeros(p.shared_by, np.int64),
        np.zeros(p.shared_by, np.int64),
        np.zeros(p.shared_by, np.int64),
    )
    kept = subsample(tokens, keep, rng, stats)
    train_tokens(p, kept, readers, block, params, pool, rng, stats)


def train_chunk(
    hyper: np.ndarray,
    tokens: np.ndarray,
    keep: np.ndarray,
    pool: np.ndarray,
    shared: tuple[np.ndarray, ...],
    private: tuple[np.ndarray, ...],
    lock: np.ndarray,
    rng: np.ndarray,
    stats: np.ndarray,
) -> None:
    """Train on one chunk of encoded text; every parameter array is updated in place.

    Parameters
    ----------
    hyper : ndarray of shape (1,), ``HYPER_DTYPE``
        Hyper-parameters; each field is explained there.
    tokens : ndarray of shape (n_tokens,), int32
        Word ids in the order of the text, -1 after each line.
    keep : ndarray of shape (n_words,), uint32, or empty
        A token is kept if a uniform 32-bit draw is at most this; empty keeps all.
    pool : ndarray of shape (n_tuples, drawn), int32
        Negatives, see ``noise_pool``.
    shared : tuple of four float ndarrays, C-contiguous, updated in place
        inputs W (n_words, width); outputs O (n_words, bands * out_width); word logits K
        (n_words, word_stride); slot logits s (1, at least 2 * window).
    private : tuple of four float ndarrays of shape (2, n_private, stride)
        This thread's own rows of the most frequent words and what they were at the last merge.
        Compiled loop only.
    lock : ndarray of shape (1,), int32
        Held by a thread that merges.
    rng : ndarray of shape (2,), uint64, updated in place
        State of the generator; the next tuple of negatives.
    stats : ndarray of shape (6,), float64, updated in place
        Added to; see ``STATS``.

    Raises
    ------
    ValueError
        If a token is no word of the vocabulary, or private rows are asked of this backend, or a model is to
        share negatives that cannot.
    """
    if hyper["shared_by"][0] > 1 and hyper["model"][0] in (SSG, CWINDOW):
        raise ValueError("ssg and cwindow share no negatives: set shared_by to 1")
    if hyper["n_private"][0]:
        raise ValueError("the numba backend has no private rows: set n_private to 0")
    if len(tokens) and tokens.max() >= len(shared[0]):
        raise ValueError("the encoded corpus holds a word id outside the vocabulary: the cache is damaged")
    _train_chunk(hyper, tokens, keep, pool, Parameters(*shared), rng, stats)
