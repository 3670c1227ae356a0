"""The reference implementation of the training loop: specification, test oracle and second backend.

It does the same as ``sgns_loop.h``, with the same draws in the same order, in plain loops over arrays of
any float type, compiled by Numba. With float64 arrays it serves the gradient checks. It leaves out what
only speed needs: prefetching, padding, and private rows of threads. The file is long so that the whole
loop can be read from top to bottom.

Models and equations: docs/models.md. Sources: Mikolov et al. 2013 (cbow, skipgram), Ling et al.
2015a (ssg, cwindow), Ling et al. 2015, equations 2 and 3 (cbow-attn), Irsoy et al. 2021 (the
exact gradient of cbow), Morin and Bengio 2005 (hierarchical softmax).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from wordvec_ca.kernels._sgns import STATS
from wordvec_ca.kernels.huffman import Paths

COMPOSITIONS = PAIR, MEAN, ATTENTION, SIDE_BY_SIDE = 112, 109, 97, 115  # the letters p, m, a and s
EXAMPLES, LOSS, WORDS, CONTEXTS, CONCENTRATION, WEIGHED = map(
    STATS.index, ("examples", "loss", "words", "contexts", "concentration", "weighed")
)

GROUP = 4
"""Examples, from places far apart in the text, that take their step together."""

BLOCK = GROUP * GROUP
"""Examples in a batch of models that average: GROUP neighbouring ones from each of GROUP parts."""

BATCH = 8
"""Pairs in a batch of skip-gram: their logits are computed before any of them learns."""

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
    nodes: np.ndarray  # (n_words, out_width): N, the inner nodes of the Huffman tree
    documents: np.ndarray  # (n_documents, width): D
    document_logits: np.ndarray  # (n_documents,): what attention adds to the logit of the document's place


class Batch(NamedTuple):
    """At most BLOCK examples: a pair from each of BATCH parts of the text, or columns of GROUP examples.

    The k-th column has the k-th example of each of GROUP parts.
    """

    targets: np.ndarray  # (BLOCK,) the word to predict; -1 where there is no example
    places: np.ndarray  # (BLOCK,) its place in the text
    first: np.ndarray  # (BLOCK,) slot of its first context word; the others follow
    n: np.ndarray  # (BLOCK,) number of context words
    words: np.ndarray  # (BLOCK, 2 window) word by slot
    hidden: np.ndarray  # (BLOCK, out_width) x
    grad: np.ndarray  # (BLOCK, out_width) -alpha dL/dx
    logits: np.ndarray  # (BLOCK, drawn + 1) of the negatives, then of the target
    weights: np.ndarray  # (BLOCK, 2 window) x = sum weights[i] W_i
    grad_weights: np.ndarray  # (BLOCK, 2 window) W_i += grad_weights[i] grad
    n_tags: np.ndarray  # (BLOCK,) rows of D that the line has
    tags: np.ndarray  # (BLOCK, most_tags) which they are
    tag_weights: np.ndarray  # (BLOCK, most_tags) x += sum tag_weights[t] D_t
    tag_grad_weights: np.ndarray  # (BLOCK, most_tags) D_t += tag_grad_weights[t] grad


class Readers(NamedTuple):
    """The parts of the text that are read side by side, and the position of each reader."""

    at: np.ndarray  # (shared_by,) place of the target
    stop: np.ndarray  # (shared_by,) where the part ends
    reach: np.ndarray  # (shared_by,) words of the window on each side
    slot: np.ndarray  # (shared_by,) the next slot, for models that take one context word at a time
    tag: np.ndarray  # (shared_by,) the next tag of the document, for these models


NO_PATHS = Paths(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))


@njit(nogil=True, cache=True)
def pairwise(p: Any) -> bool:
    """Return whether the model predicts from one context word at a time."""
    return p.composition == PAIR


@njit(nogil=True, cache=True)
def neighbours(p: Any) -> int:
    """Return how many examples of a part are in a batch."""
    return 1 if p.composition == PAIR or p.composition == SIDE_BY_SIDE else GROUP


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

    The target is last and has label 1; the negatives have label 0, and weight 0 if they equal the target.
    """
    total = 0.0
    for t in range(len(logits)):
        positive = t == len(logits) - 1
        counts = positive or ids[t] != target
        g, loss = slope(logits[t], positive)
        total += counts * loss
        logits[t] = alpha * counts * g
    return total


@njit(nogil=True, cache=True)
def slope(z: float, label: float) -> tuple[float, float]:
    """Return label - sigmoid(z), and the loss, -log sigmoid(z if label else -z)."""
    e = math.exp(-abs(z))
    sigmoid = 1.0 / (1.0 + e) if z > 0.0 else e / (1.0 + e)
    return label - sigmoid, max(-z if label else z, 0.0) + math.log1p(e)


@njit(nogil=True, cache=True)
def exchange(x: np.ndarray, row: np.ndarray, weight: float, total: np.ndarray) -> None:
    """Add weight row to the total, and weight x to the row."""
    for k in range(len(x)):
        old = row[k]
        total[k] += weight * old
        row[k] = old + weight * x[k]


@njit(nogil=True, cache=True)
def attend(p: Any, b: int, batch: Batch, params: Parameters) -> float:
    """Set weights[i] = exp(e_i - max e), e_i = K[w_i, i] + s[i], and return their sum (eq. 3).

    The tags of a document share one place, which comes after the slots; each tag also has its own logit.
    """
    weights, top = batch.weights[b], -p.attention_clip
    for i in range(batch.n[b]):
        slot = batch.first[b] + i
        logit = params.slot_logits[0, slot] if p.use_slots else 0.0
        if p.word_stride:
            logit += params.word_logits[batch.words[b, slot], slot if p.word_slots else 0]
        weights[i] = min(max(logit, -p.attention_clip), p.attention_clip)
        top = max(top, weights[i])
    of_tags = batch.tag_weights[b]
    for t in range(batch.n_tags[b]):
        logit = params.slot_logits[0, 2 * p.window] if p.use_slots else 0.0
        if p.word_stride:
            logit += params.document_logits[batch.tags[b, t]]
        of_tags[t] = min(max(logit, -p.attention_clip), p.attention_clip)
        top = max(top, of_tags[t])
    total = 0.0
    for t in range(batch.n_tags[b]):
        of_tags[t] = math.exp(of_tags[t] - top)
        total += of_tags[t]
    for i in range(batch.n[b]):
        weights[i] = math.exp(weights[i] - top)
        total += weights[i]
    return total


@njit(nogil=True, cache=True)
def exists(b: int, batch: Batch) -> bool:
    """Return whether there is an example of this number in the batch."""
    return b < len(batch.n) and batch.targets[b] >= 0


@njit(nogil=True, cache=True)
def neighbour_before(b: int, d: int, batch: Batch) -> int:
    """Return the example in the batch whose target is d places before that of example b, or -1."""
    before = b - d * GROUP
    if before < 0 or not exists(before, batch) or batch.places[b] - batch.places[before] != d:
        return -1
    return before


@njit(nogil=True, cache=True)
def weight_at(p: Any, b: int, place: int, batch: Batch) -> float:
    """Return the factor with which the word at a place takes the gradient of an example, 0 out of reach."""
    offset = place - batch.places[b]
    i = offset + p.window - (offset > 0) - batch.first[b]
    return batch.grad_weights[b, i] if offset != 0 and 0 <= i < batch.n[b] else 0.0


@njit(nogil=True, cache=True)
def place_of(p: Any, b: int, i: int, batch: Batch) -> int:
    """Return the place of the i-th context word of an example."""
    slot = batch.first[b] + i
    return batch.places[b] + slot - p.window + (slot >= p.window)


@njit(nogil=True, cache=True)
def follow(p: Any, b: int, batch: Batch) -> None:
    """Move x by what the steps of the targets before it, in its part of the text, change in its words' rows.

    So neighbours learn one after the other, although x was made of rows that none of them had moved. A word
    that occurs at two places is treated as two words.
    """
    for d in range(1, GROUP):
        before = neighbour_before(b, d, batch)
        if before < 0:
            break
        overlap = 0.0
        for i in range(batch.n[b]):
            overlap += batch.weights[b, i] * weight_at(p, before, place_of(p, b, i, batch), batch)
        for t in range(batch.n_tags[b]):
            overlap += batch.tag_weights[b, t] * batch.tag_grad_weights[before, t]
        add(batch.hidden[b], overlap, batch.grad[before])


@njit(nogil=True, cache=True)
def learn_attention(p: Any, b: int, total: float, batch: Batch, params: Parameters) -> None:
    """Move K and s along -dL/de_i = a_i (w_i . grad - sum_j a_j w_j . grad), from the rows before the step.

    The rows are those that the neighbours before have moved; a = weights / total.
    """
    grad = batch.grad[b]
    slopes, along, n_tags = np.zeros(batch.n[b]), 0.0, batch.n_tags[b]
    of_tags = np.zeros(n_tags)
    for i in range(batch.n[b]):
        slopes[i] = dot(grad, params.inputs[batch.words[b, batch.first[b] + i]])
    for t in range(n_tags):
        of_tags[t] = dot(grad, params.documents[batch.tags[b, t]])
    for d in range(1, GROUP):
        before = neighbour_before(b, d, batch)
        if before < 0:
            break
        product = dot(grad, batch.grad[before])
        for i in range(batch.n[b]):
            slopes[i] += weight_at(p, before, place_of(p, b, i, batch), batch) * product
        for t in range(n_tags):
            of_tags[t] += batch.tag_grad_weights[before, t] * product
    for t in range(n_tags):
        along += batch.tag_weights[b, t] * of_tags[t]
    for i in range(batch.n[b]):
        along += batch.weights[b, i] * slopes[i]
    for i in range(batch.n[b]):
        slot = batch.first[b] + i
        delta = p.attention_rate * batch.weights[b, i] / total * (slopes[i] - along / total)
        if p.word_stride:
            params.word_logits[batch.words[b, slot], slot if p.word_slots else 0] += delta
        if p.use_slots:
            params.slot_logits[0, slot] += delta
    for t in range(n_tags):
        delta = p.attention_rate * batch.tag_weights[b, t] / total * (of_tags[t] - along / total)
        if p.word_stride:
            params.document_logits[batch.tags[b, t]] += delta
        if p.use_slots:
            params.slot_logits[0, 2 * p.window] += delta


@njit(nogil=True, cache=True)
def learn_attention_of_reader(p: Any, reader: int, batch: Batch, params: Parameters) -> None:
    """Move K and s for the examples of a part of the text, those of neighbouring targets at once.

    The weights are computed again, after the steps of K and s that came before. With the weights that x was
    made with, logits that many examples share would keep falling long after their weight is zero.
    """
    totals = np.zeros(GROUP)
    for first in range(GROUP):
        if not exists(first * GROUP + reader, batch):
            break
        if neighbour_before(first * GROUP + reader, 1, batch) >= 0:
            continue
        end = first
        for k in range(first, GROUP):
            b = k * GROUP + reader
            if not exists(b, batch) or (k > first and neighbour_before(b, 1, batch) < 0):
                break
            totals[k] = attend(p, b, batch, params)
            end = k + 1
        for k in range(first, end):
            if totals[k] > 0.0:
                learn_attention(p, k * GROUP + reader, totals[k], batch, params)


@njit(nogil=True, cache=True)
def compose(p: Any, b: int, batch: Batch, params: Parameters, stats: np.ndarray) -> None:
    """Make the hidden vector x of an example, and the factors that take its gradient back.

    skipgram, ssg: the row of its one context word; cbow: the mean of the rows; cbow-attn: their
    mean weighted by attention; cwindow: the rows side by side, zeros where there is no word. Tags of a
    document are further rows.
    """
    hidden, n = batch.hidden[b], batch.n[b]
    hidden[:] = 0.0
    if p.composition == SIDE_BY_SIDE:
        for slot in range(batch.first[b], batch.first[b] + n):
            hidden[slot * p.width : (slot + 1) * p.width] = params.inputs[batch.words[b, slot]]
        for t in range(tags_beside(p, b, batch)):
            slot = 2 * p.window + t
            hidden[slot * p.width : (slot + 1) * p.width] = params.documents[batch.tags[b, t]]
        return
    if p.composition == PAIR:
        hidden[:] = row_of_pair(b, batch, params)
        return
    weights, members = batch.weights[b], n + batch.n_tags[b]
    weights[:n] = 1.0
    batch.tag_weights[b] = 1.0
    total = float(members)
    if p.composition == ATTENTION:
        total, squares = attend(p, b, batch, params), 0.0
        for i in range(n):
            squares += weights[i] ** 2
        for t in range(batch.n_tags[b]):
            squares += batch.tag_weights[b, t] ** 2
        if members > 1:  # there was a choice
            stats[CONCENTRATION] += squares / total**2
            stats[WEIGHED] += 1
    # exact: W_i moves by a_i grad;  word2vec: by n a_i grad, for a plain mean by grad itself
    # for a sum, exact is grad itself, and word2vec grad / n
    scale = members / total if p.word2vec_update != p.sum_rows else 1.0 / total
    for i in range(n):
        batch.grad_weights[b, i] = weights[i] * scale
        if not p.sum_rows:
            weights[i] /= total
        add(hidden, weights[i], params.inputs[batch.words[b, batch.first[b] + i]])
    for t in range(batch.n_tags[b]):
        batch.tag_grad_weights[b, t] = batch.tag_weights[b, t] * scale
        if not p.sum_rows:
            batch.tag_weights[b, t] /= total
        add(hidden, batch.tag_weights[b, t], params.documents[batch.tags[b, t]])


@njit(nogil=True, cache=True)
def tags_beside(p: Any, b: int, batch: Batch) -> int:
    """Return how many tags of a document join the words of cwindow: at most as many as there are places."""
    return min(batch.n_tags[b], p.out_width // p.width - 2 * p.window)


@njit(nogil=True, cache=True)
def row_of_pair(b: int, batch: Batch, params: Parameters) -> np.ndarray:
    """Return the row from which a pair's target is predicted: of its word, or of its document."""
    if batch.n[b] == 0:
        return params.documents[batch.tags[b, 0]]
    return params.inputs[batch.words[b, batch.first[b]]]


@njit(nogil=True, cache=True)
def spread(p: Any, b: int, batch: Batch, params: Parameters) -> None:
    """Take the gradient of x back to the rows that it was composed of."""
    if p.composition == PAIR:
        add(row_of_pair(b, batch, params), 1.0, batch.grad[b])
        return
    if p.composition == SIDE_BY_SIDE:
        for t in range(tags_beside(p, b, batch)):
            slot = 2 * p.window + t
            row = params.documents[batch.tags[b, t]]
            add(row, 1.0, batch.grad[b, slot * p.width : (slot + 1) * p.width])
    else:
        for t in range(batch.n_tags[b]):
            add(params.documents[batch.tags[b, t]], batch.tag_grad_weights[b, t], batch.grad[b])
    if p.frozen:
        return
    for i in range(batch.n[b]):
        slot = batch.first[b] + i
        row = params.inputs[batch.words[b, slot]]
        if p.composition == SIDE_BY_SIDE:
            add(row, 1.0, batch.grad[b, slot * p.width : (slot + 1) * p.width])
        else:
            add(row, batch.grad_weights[b, i], batch.grad[b])


@njit(nogil=True, cache=True)
def output_row(p: Any, params: Parameters, word: int, band: int) -> np.ndarray:
    """Return the row of O of a word for contexts of a slot."""
    return params.outputs[word, band * p.out_width : (band + 1) * p.out_width]


@njit(nogil=True, cache=True)
def step(
    p: Any,
    size: int,
    group: np.ndarray,
    batch: Batch,
    params: Parameters,
    negatives: np.ndarray,
    band: int,
) -> None:
    """Take the step of a group of examples; the row of W that is the x of a pair learns with it.

    A row that occurs twice, in the tuple or as a target too, is read the second time after its first step.
    """
    if pairwise(p):  # x after the steps of the group before
        for b in group:
            batch.hidden[b] = row_of_pair(b, batch, params)
    if size == 1 and not p.frozen:
        for b in group:
            for t in range(p.drawn):
                row = output_row(p, params, negatives[t], band)
                exchange(batch.hidden[b], row, batch.logits[b, t], batch.grad[b])
    for b in group:
        row = output_row(p, params, batch.targets[b], band)
        if p.frozen:
            add(batch.grad[b], batch.logits[b, p.drawn], row)
        else:
            exchange(batch.hidden[b], row, batch.logits[b, p.drawn], batch.grad[b])
    if p.frozen:
        for t in range(p.drawn):
            for b in group:
                add(batch.grad[b], batch.logits[b, t], output_row(p, params, negatives[t], band))
    elif size > 1:
        for t in range(p.drawn):
            row = output_row(p, params, negatives[t], band)
            for b in group:
                add(batch.grad[b], batch.logits[b, t], row)
            for b in group:
                add(row, batch.logits[b, t], batch.hidden[b])
    if pairwise(p):
        for b in group:
            spread(p, b, batch, params)


@njit(nogil=True, cache=True)
def step_paths(
    p: Any, column: np.ndarray, alpha: float, batch: Batch, params: Parameters, paths: Paths
) -> float:
    """Take the step of the examples of a column along the paths of their targets; return the loss.

    All logits are computed before the step; then each example sees the rows as the one before it left them.
    """
    total = 0.0
    logits = np.zeros((BLOCK, len(params.nodes)), params.nodes.dtype)
    for b in column:
        begin, end = paths.ends[batch.targets[b]], paths.ends[batch.targets[b] + 1]
        for k in range(end - begin):
            logits[b, k] = dot(batch.hidden[b], params.nodes[paths.nodes[begin + k]])
    for b in column:
        begin, end = paths.ends[batch.targets[b]], paths.ends[batch.targets[b] + 1]
        for k in range(end - begin):
            g, loss = slope(logits[b, k], paths.labels[begin + k])
            total += loss
            node = params.nodes[paths.nodes[begin + k]]
            if p.frozen:
                add(batch.grad[b], alpha * g, node)
            else:
                exchange(batch.hidden[b], node, alpha * g, batch.grad[b])
    return total


@njit(nogil=True, cache=True)
def step_path_of_target(
    p: Any, target: int, words: np.ndarray, tags: np.ndarray, alpha: float, params: Parameters, paths: Paths
) -> float:
    """Take the step of the pairs of a target along its path; return the loss.

    The context words, and then the tags of the document, take it a GROUP at a time. The logits of a group are
    computed before its step, and each node moves by the sum of the group's steps.
    """
    begin, end = paths.ends[target], paths.ends[target + 1]
    nodes, total = paths.nodes[begin:end], 0.0
    n = len(words) + len(tags)
    for first in range(0, n, GROUP):
        group = np.arange(first, min(first + GROUP, n))
        xs = np.zeros((len(group), params.inputs.shape[1]), params.inputs.dtype)
        for b, k in enumerate(group):
            xs[b] = params.inputs[words[k]] if k < len(words) else params.documents[tags[k - len(words)]]
        grads = np.zeros_like(xs)
        for i in range(len(nodes)):
            before = params.nodes[nodes[i]].copy()
            for b in range(len(group)):
                g, loss = slope(dot(xs[b], before), paths.labels[begin + i])
                total += loss
                add(grads[b], alpha * g, before)
                if not p.frozen:
                    add(params.nodes[nodes[i]], alpha * g, xs[b])
        for b, k in enumerate(group):
            row = params.inputs[words[k]] if k < len(words) else params.documents[tags[k - len(words)]]
            add(row, 1.0, grads[b])
    return total


@njit(nogil=True, cache=True)
def train_batch(
    p: Any,
    size: int,
    alpha: float,
    batch: Batch,
    params: Parameters,
    pool: np.ndarray,
    paths: Paths,
    rng: np.ndarray,
    stats: np.ndarray,
) -> None:
    """Take the step of a batch, which has examples from ``size`` parts of the text, column by column.

    In a column, each example has its own target, and all share one tuple of negatives. Negative sampling
    comes first, then hierarchical softmax. The logits of a column are computed before its step. The step is
    taken a GROUP at a time, and each group sees the rows as the group before it left them; along the paths
    of the targets it is taken one example at a time. All x are made of W, K and s as they are before the
    batch, and these learn after it. But each x follows the steps of the neighbours before it, and attention
    learns from the weights that K and s give when it learns.
    """
    drawn, band = p.drawn, batch.first[0] if p.bands > 1 else 0
    examples: Any = np.flatnonzero(batch.targets >= 0)
    for b in examples:
        compose(p, b, batch, params, stats)
    batch.grad[:] = 0.0
    for k in range(neighbours(p)):
        column = examples[(examples >= k * GROUP) & (examples < k * GROUP + size)]
        negatives = pool[(np.int64(rng[1]) + k) % len(pool)]
        if k:
            for b in column:
                follow(p, b, batch)
        if drawn:
            for b in column:
                for t in range(drawn):
                    batch.logits[b, t] = dot(batch.hidden[b], output_row(p, params, negatives[t], band))
                batch.logits[b, drawn] = dot(batch.hidden[b], output_row(p, params, batch.targets[b], band))
                stats[LOSS] += coefficients(batch.logits[b], negatives, batch.targets[b], alpha)
            for first in range(0, len(column), GROUP):
                step(p, size, column[first : first + GROUP], batch, params, negatives, band)
        if p.longest_path and not pairwise(p):
            stats[LOSS] += step_paths(p, column, alpha, batch, params, paths)
    if p.composition == ATTENTION and p.attention_rate != 0.0:
        for reader in range(size):
            learn_attention_of_reader(p, reader, batch, params)
    for b in examples:
        if not pairwise(p):
            spread(p, b, batch, params)
        stats[CONTEXTS] += batch.n[b]
    stats[EXAMPLES] += len(examples)


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
def tags_of(p: Any, at: int, tokens: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the rows of D for the line of a place: those at its end (-1) and at the marks (-2) behind."""
    end = at
    while end < len(tokens) and tokens[end] >= 0:
        end += 1
    begin = end
    while (
        p.most_tags and end < len(tokens) and rows[end] >= 0 and tokens[end] == (-1 if end == begin else -2)
    ):
        end += 1
    return rows[begin:end]


@njit(nogil=True, cache=True)
def next_example(
    p: Any,
    r: int,
    readers: Readers,
    tokens: np.ndarray,
    rows: np.ndarray,
    b: int,
    batch: Batch,
    rng: np.ndarray,
) -> tuple[bool, int]:
    """Make batch[b] the next example of part r; return whether there was one, and the tokens read for it.

    If tokens were read, the target is a new one.
    """
    n, window, pairs = len(tokens), p.window, pairwise(p)
    read = 0
    while True:
        i = readers.at[r]
        tags = tags_of(p, i, tokens, rows) if 0 <= i < readers.stop[r] and tokens[i] >= 0 else rows[:0]
        if readers.slot[r] >= 2 * window and readers.tag[r] >= len(tags):  # on to the next target
            i = readers.at[r] = i + 1
            if i >= readers.stop[r]:
                return False, read
            read += 1
            readers.slot[r] = readers.tag[r] = 0
            tags = tags_of(p, i, tokens, rows) if tokens[i] >= 0 else rows[:0]
            readers.reach[r] = 0 if p.only_documents else window
            if p.shrink_windows and not p.only_documents:
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
        of_document = pairs and first >= last and readers.tag[r] < len(tags)
        if first < last or of_document or (not pairs and len(tags)):
            break
        readers.tag[r] = len(tags)
    batch.targets[b], batch.places[b], batch.first[b] = tokens[i], i, first
    batch.n[b] = min(1, last - first) if pairs else last - first
    if of_document:
        batch.n[b], batch.n_tags[b] = 0, 1
        batch.tags[b, 0] = tags[readers.tag[r]]
        readers.tag[r] += 1
        return True, read
    if not pairs:
        batch.n_tags[b] = readers.tag[r] = len(tags)
        batch.tags[b, : len(tags)] = tags
    for slot in range(first, first + batch.n[b]):
        batch.words[b, slot] = tokens[i + slot - window + (slot >= window)]
    return True, read


@njit(nogil=True, cache=True)
def context_words(tokens: np.ndarray, at: int, reach: int) -> np.ndarray:
    """Return the context words of the target at a place, from left to right."""
    first, last = at, at
    while first > 0 and at - first < reach and tokens[first - 1] >= 0:
        first -= 1
    while last + 1 < len(tokens) and last - at < reach and tokens[last + 1] >= 0:
        last += 1
    return np.concatenate((tokens[first:at], tokens[at + 1 : last + 1]))


@njit(nogil=True, cache=True)
def train_tokens(
    p: Any,
    tokens: np.ndarray,
    rows: np.ndarray,
    readers: Readers,
    batch: Batch,
    params: Parameters,
    pool: np.ndarray,
    paths: Paths,
    rng: np.ndarray,
    stats: np.ndarray,
) -> None:
    """Read the text in ``shared_by`` parts side by side: an example from each in turn, or a few neighbours.

    So the examples that share a tuple of negatives come from places far apart. A reader at the end of its
    part is dropped, and the last reader takes its number.
    """
    n, read, n_readers = len(tokens), 0, p.shared_by
    most = BATCH if pairwise(p) else GROUP
    for r in range(n_readers):
        readers.at[r], readers.stop[r] = n * r // p.shared_by - 1, n * (r + 1) // p.shared_by
        readers.slot[r], readers.tag[r] = 2 * p.window, p.most_tags
    while n_readers:
        columns = 0
        for first in range(0, p.shared_by, most):
            size: Any = np.int64(0)  # a literal 0 would have next_example compiled once more, for itself
            batch.targets[:] = -1
            batch.n_tags[:] = 0
            while size < most and first + size < n_readers:
                one, more = next_example(p, first + size, readers, tokens, rows, size, batch, rng)
                read += more
                if one and more and pairwise(p) and p.longest_path:
                    alpha = p.alpha_begin + (p.alpha_end - p.alpha_begin) / n * read
                    at = readers.at[first + size]
                    words = context_words(tokens, at, readers.reach[first + size])
                    tags = tags_of(p, at, tokens, rows)
                    target = batch.targets[size]
                    stats[LOSS] += step_path_of_target(p, target, words, tags, alpha, params, paths)
                    if not p.drawn:  # the pairs of this target have no other step
                        readers.slot[first + size], readers.tag[first + size] = 2 * p.window, len(tags)
                        stats[EXAMPLES] += len(words) + len(tags) - 1
                        stats[CONTEXTS] += len(words) - batch.n[size]
                examples = 0 + one
                while 0 < examples < neighbours(p) and one:
                    b = examples * GROUP + size
                    one, more = next_example(p, first + size, readers, tokens, rows, b, batch, rng)
                    read += more
                    examples += one
                columns = max(columns, examples)
                size += examples > 0
                if not examples:
                    batch.targets[size] = -1
                    n_readers -= 1
                    for state in readers:
                        state[first + size] = state[n_readers]
            if size:
                alpha = p.alpha_begin + (p.alpha_end - p.alpha_begin) / n * read
                train_batch(p, size, alpha, batch, params, pool, paths, rng, stats)
        if n_readers:
            rng[1] = np.uint64((np.int64(rng[1]) + columns) % len(pool))


@njit(nogil=True, cache=True)
def _train_chunk(
    hyper: np.ndarray,
    tokens: np.ndarray,
    keep: np.ndarray,
    pool: np.ndarray,
    params: Parameters,
    paths: Paths,
    tags: np.ndarray,
    rng: np.ndarray,
    stats: np.ndarray,
) -> None:
    p = hyper[0]
    slots, dtype = 2 * p.window, params.inputs.dtype
    batch = Batch(
        np.full(BLOCK, -1, np.int64),
        np.zeros(BLOCK, np.int64),
        np.zeros(BLOCK, np.int64),
        np.zeros(BLOCK, np.int64),
        np.zeros((BLOCK, slots), np.int64),
        np.zeros((BLOCK, p.out_width), dtype),
        np.zeros((BLOCK, p.out_width), dtype),
        np.zeros((BLOCK, p.drawn + 1), dtype),
        np.zeros((BLOCK, slots), dtype),
        np.zeros((BLOCK, slots), dtype),
        np.zeros(BLOCK, np.int64),
        np.zeros((BLOCK, p.most_tags), np.int64),
        np.zeros((BLOCK, p.most_tags), dtype),
        np.zeros((BLOCK, p.most_tags), dtype),
    )
    readers = Readers(
        np.zeros(p.shared_by, np.int64),
        np.zeros(p.shared_by, np.int64),
        np.zeros(p.shared_by, np.int64),
        np.zeros(p.shared_by, np.int64),
        np.zeros(p.shared_by, np.int64),
    )
    kept = subsample(tokens, keep, rng, stats)
    rows = np.full(len(kept), -1, np.int64)
    if p.most_tags:
        rows[kept < 0] = tags
    train_tokens(p, kept, rows, readers, batch, params, pool, paths, rng, stats)


def train_chunk(
    hyper: np.ndarray,
    tokens: np.ndarray,
    keep: np.ndarray,
    pool: np.ndarray,
    shared: tuple[np.ndarray, ...],
    rng: np.ndarray,
    stats: np.ndarray,
    paths: tuple[np.ndarray, ...] | None = None,
    private: tuple[np.ndarray, ...] | None = None,
    lock: np.ndarray | None = None,
    documents: tuple[np.ndarray, ...] | None = None,
) -> None:
    """Train on one chunk of encoded text; every parameter array is updated in place.

    Parameters
    ----------
    hyper : ndarray of shape (1,), ``HYPER_DTYPE``
        Hyper-parameters; each field is explained in sgns.h.
    tokens : ndarray of shape (n_tokens,), int32
        Word ids in the order of the text, -1 after each line, and -2 for each further tag of the line.
    keep : ndarray of shape (n_words,), uint32, or empty
        A token is kept if a uniform 32-bit draw is at most this; empty keeps all.
    pool : ndarray of shape (n_tuples, drawn), int32
        Negatives, see ``noise_pool``.
    shared : tuple of four or five float ndarrays, C-contiguous, updated in place
        inputs W (n_words, width); outputs O (n_words, bands * out_width), of any shape if drawn is 0;
        word logits K (n_words, word_stride); slot logits s (1, at least 2 * window, then that of the
        document); and with hierarchical softmax nodes N (n_words, out_width), the last of which is not used.
    rng : ndarray of shape (2,), uint64, updated in place
        State of the generator; the next tuple of negatives.
    stats : ndarray of shape (6,), float64, updated in place
        Added to; ``kernels.STATS`` names them, sgns.h explains them.
    paths : huffman.Paths, optional
        For hierarchical softmax.
    private : tuple of as many float ndarrays as ``shared``, of shape (2, n_private, stride), optional
        This thread's private rows of the most frequent words, and what they were after the last
        merge. Compiled loop only; with ``n_private`` 0 they may be left out.
    lock : ndarray of shape (1,), int32, optional
        Held by a thread while it merges private rows.
    documents : tuple of ndarrays, optional
        If lines are documents: their rows D (n_documents, width) and attention logits (n_documents,), of the
        float type of ``shared``, updated in place; and the row of each line end among the tokens, int64, -1
        for none.

    Raises
    ------
    ValueError
        If the composition is unknown, if a token is not a word of the vocabulary, if ``n_private`` is not
        0, or if a model cannot share negatives and ``shared_by`` is not 1.
    """
    if hyper["composition"][0] not in COMPOSITIONS:
        raise ValueError("the training loop does not know this composition of a hidden vector")
    if hyper["shared_by"][0] > 1 and (hyper["bands"][0] > 1 or hyper["out_width"][0] > hyper["width"][0]):
        raise ValueError("ssg and cwindow share no negatives: set shared_by to 1")
    if hyper["n_private"][0]:
        raise ValueError("the numba backend has no private rows: set n_private to 0")
    if len(tokens) and tokens.max() >= len(shared[0]):
        raise ValueError("the encoded corpus holds a word id outside the vocabulary: the cache is damaged")
    nodes = shared[4] if paths is not None else np.zeros((0, 0), shared[0].dtype)
    along = NO_PATHS if paths is None else Paths(*paths)
    rows, logits, tags = documents or (nodes[:0], np.zeros(0, shared[0].dtype), np.zeros(0, np.int64))
    if len(tags) != (np.count_nonzero(tokens < 0) if hyper["most_tags"][0] else 0):
        raise ValueError("the documents do not fit the tokens and the hyper-parameters")
    params = Parameters(shared[0], shared[1], shared[2], shared[3], nodes, rows, logits)
    _train_chunk(hyper, tokens, keep, pool, params, along, tags, rng, stats)
