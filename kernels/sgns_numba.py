"""The training loop again, to be read: specification, test oracle and second backend.

Function for function the same as ``sgns_loop.h``, with the same draws in the same order, in
plain loops over arrays of any float type. With float64 arrays it serves the gradient checks.
It differs from the compiled loop in what only speed needs: no prefetching, no padding, and no
private rows for several threads.

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
    """The examples that share a tuple of negatives; ``size`` of them are in use."""

    targets: np.ndarray  # (shared_by,) the word to predict
    first: np.ndarray  # (shared_by,) its context words stand in the slots first, first + 1, ..
    n: np.ndarray  # (shared_by,) this many
    words: np.ndarray  # (shared_by, 2 window) word by slot
    hidden: np.ndarray  # (shared_by, out_width) x
    grad: np.ndarray  # (shared_by, out_width) -alpha dL/dx
    logits: np.ndarray  # (shared_by, drawn + 1) of the negatives, then of the target
    shares: np.ndarray  # (shared_by, 2 window) x = sum shares[i] W_i
    steps: np.ndarray  # (shared_by, 2 window) W_i += steps[i] grad


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
def coefficients(
    logits: np.ndarray, ids: np.ndarray, target: int, negative_weight: float, alpha: float
) -> float:
    """Turn logits into g = alpha * weight * (label - sigmoid(logit)), in place, and return the loss.

    The loss is the sum of weight * -log sigmoid(logit if label else -logit). The target stands
    last, with label and weight 1; the others have label 0 and the negatives' weight, except that
    a negative that is the target itself counts nothing.
    """
    loss = 0.0
    for t in range(len(logits)):
        positive = t == len(logits) - 1
        weight = 1.0 if positive else 0.0 if ids[t] == target else negative_weight
        e = math.exp(-abs(logits[t]))
        sigmoid = 1.0 / (1.0 + e) if logits[t] > 0.0 else e / (1.0 + e)
        against = -logits[t] if positive else logits[t]
        loss += weight * (max(against, 0.0) + math.log1p(e))
        logits[t] = alpha * weight * ((1.0 if positive else 0.0) - sigmoid)
    return loss


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
    """Take one negative-sampling step of the block's examples, all from the parameters before it.

    Each example meets its own target, and all meet one tuple of negatives.
    """
    cursor = np.int64(rng[1])
    negatives, drawn = pool[cursor], p.drawn
    band = block.first[0] if p.model == SSG else 0
    for b in range(size):
        compose(p, b, block, params, stats)
    for b in range(size):
        for t in range(drawn):
            block.logits[b, t] = dot(block.hidden[b], output_row(p, params, negatives[t], band))
        block.logits[b, drawn] = dot(block.hidden[b], output_row(p, params, block.targets[b], band))
        stats[LOSS] += coefficients(block.logits[b], negatives, block.targets[b], p.negative_weight, alpha)
    for b in range(size):
        block.grad[b, :] = 0.0
        for t in range(drawn):
            add(block.grad[b], block.logits[b, t], output_row(p, params, negatives[t], band))
        add(block.grad[b], block.logits[b, drawn], output_row(p, params, block.targets[b], band))
        if p.model == CBOW_ATTN and p.attention_rate != 0.0:
            learn_attention(p, b, block, params)
    for b in range(size):
        for t in range(drawn):
            add(output_row(p, params, negatives[t], band), block.logits[b, t], block.hidden[b])
        add(output_row(p, params, block.targets[b], band), block.logits[b, drawn], block.hidden[b])
    for b in range(size):
        spread(p, b, block, params)
        stats[CONTEXTS] += block.n[b]
    stats[EXAMPLES] += size
    rng[1] = np.uint64((cursor + 1) % len(pool))


@njit(nogil=True, cache=True)
def train_pairs(
    p: Any,
    size: int,
    alpha: float,
    block: Block,
    params: Parameters,
    pool: np.ndarray,
    rng: np.ndarray,
    stats: np.ndarray,
) -> None:
    """Take the same step for skip-gram: each context word of each target is an example.

    The loss is the sum over the examples, each against its own target and the block's tuple of
    negatives. (The compiled loop meets a word of the text with the negatives once, with the weight of
    all its examples, which is the same gradient.)
    """
    cursor = np.int64(rng[1])
    negatives, drawn = pool[cursor], p.drawn
    inputs, outputs, width = params.inputs, params.outputs, p.width
    n = block.n[:size].sum()
    words, grads = np.empty(n, np.int64), np.zeros((n, width), inputs.dtype)
    negative_grads = np.zeros((drawn, width), inputs.dtype)
    logits = np.empty(drawn + 1, inputs.dtype)
    e = 0
    for b in range(size):
        target = block.targets[b]
        block.grad[b, :] = 0.0
        for slot in range(block.first[b], block.first[b] + block.n[b]):
            words[e] = block.words[b, slot]
            x = inputs[words[e]]
            for t in range(drawn):
                logits[t] = dot(x, outputs[negatives[t]])
            logits[drawn] = dot(x, outputs[target])
            stats[LOSS] += coefficients(logits, negatives, target, p.negative_weight, alpha)
            for t in range(drawn):
                add(grads[e], logits[t], outputs[negatives[t]])
                add(negative_grads[t], logits[t], x)
            add(grads[e], logits[drawn], outputs[target])
            add(block.grad[b], logits[drawn], x)
            e += 1
    for e in range(n):
        add(inputs[words[e]], 1.0, grads[e])
    for b in range(size):
        add(outputs[block.targets[b]], 1.0, block.grad[b])
    for t in range(drawn):
        add(outputs[negatives[t]], 1.0, negative_grads[t])
    stats[EXAMPLES] += n
    stats[CONTEXTS] += n
    rng[1] = np.uint64((cursor + 1) % len(pool))


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
def train_tokens(
    p: Any,
    tokens: np.ndarray,
    block: Block,
    params: Parameters,
    pool: np.ndarray,
    rng: np.ndarray,
    stats: np.ndarray,
) -> None:
    """Go through the text, ``shared_by`` positions at a time."""
    together = p.model == SKIPGRAM and p.shared_by > 1
    pairs = p.model in (SKIPGRAM, SSG) and not together
    n, window = len(tokens), p.window
    begin, end = 0, -1  # the line is tokens[begin .. end)
    for start in range(0, n, p.shared_by):
        reach = window
        if p.shrink_windows:
            reach = 1 + np.int64((draw(rng) * np.uint64(window)) >> S32)
        alpha = p.alpha_begin + (p.alpha_end - p.alpha_begin) / n * start
        size = 0
        for i in range(start, min(start + p.shared_by, n)):
            if tokens[i] < 0:
                begin = i + 1
                continue
            if end < begin:
                end = i
                while end < n and tokens[end] >= 0:
                    end += 1
            left, right = min(i - begin, reach), min(end - 1 - i, reach)
            if left + right == 0:
                continue
            block.targets[size] = tokens[i]
            block.first[size] = window - left
            block.n[size] = left + right
            for j in range(i - left, i + right + 1):
                if j != i:
                    slot = j - i + window - (j > i)  # place in the window, left to right: 0 .. 2 window - 1
                    block.words[size, slot] = tokens[j]
            size += 1
            if pairs:
                block.n[0] = size = 1
                for slot in range(window - left, window + right):
                    block.first[0] = slot
                    train_block(p, 1, alpha, block, params, pool, rng, stats)
                size = 0
        if size and together:
            train_pairs(p, size, alpha, block, params, pool, rng, stats)
        elif size:
            train_block(p, size, alpha, block, params, pool, rng, stats)


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
    size, slots = p.shared_by, 2 * p.window
    dtype = params.inputs.dtype
    block = Block(
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros((size, slots), np.int64),
        np.zeros((size, p.out_width), dtype),
        np.zeros((size, p.out_width), dtype),
        np.zeros((size, p.drawn + 1), dtype),
        np.zeros((size, slots), dtype),
        np.zeros((size, slots), dtype),
    )
    train_tokens(p, subsample(tokens, keep, rng, stats), block, params, pool, rng, stats)


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
        If a token is no word of the vocabulary, or private rows are asked of this backend.
    """
    if hyper["n_private"][0]:
        raise ValueError("the numba backend has no private rows: set n_private to 0")
    if len(tokens) and tokens.max() >= len(shared[0]):
        raise ValueError("the encoded corpus holds a word id outside the vocabulary: the cache is damaged")
    _train_chunk(hyper, tokens, keep, pool, Parameters(*shared), rng, stats)
