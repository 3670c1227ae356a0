"""Forward-backward and Viterbi of a first-order hidden Markov model over sentences of types.

A token is the number of its type, and the emission probabilities of a type are computed once however often
it occurs. They come scaled by their maximum over the states, with the logarithm of the scale beside them, and
the forward probabilities are divided by their sum at each token, so that products of probabilities never
leave the range of float64 and no logarithm of a sum is needed (Rabiner 1989, §V.A). The results are those of
the same recursions in the log domain as long as every scaled emission and every transition is at least
``FLOOR``: then nothing underflows, not even to the slow subnormal numbers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FLOOR = 1e-100
"""Least scaled emission and least transition probability."""

REORDER = {"reassoc", "contract", "nsz"}
"""Sums may be reordered and fused, so that they are vectorised; NaN and infinity keep their meaning."""


@njit(nogil=True, cache=True, fastmath=REORDER)
def expectations(
    start: np.ndarray,
    transition: np.ndarray,
    emission: np.ndarray,
    shift: np.ndarray,
    tokens: np.ndarray,
    offsets: np.ndarray,
    forward: np.ndarray,
    weights: np.ndarray,
    of_first: np.ndarray,
    of_type: np.ndarray,
) -> float:
    """Add the expected counts of some sentences, given the model, and return their log-likelihood.

    Parameters
    ----------
    start : ndarray of shape (n_states,), float64
        Probability of the first state.
    transition : ndarray of shape (n_states, n_states), float64
        From the row's to the column's state.
    emission : ndarray of shape (n_types, n_states), float64
        Probability (density) of a type in each state, divided by the largest of them.
    shift : ndarray of shape (n_types,), float64
        Logarithm of what ``emission`` was divided by.
    tokens : ndarray of shape (n_tokens,), int32
    offsets : ndarray of shape (n_sentences + 1,), int64
        Where each sentence starts in ``tokens``; no sentence is empty.
    forward : ndarray of shape (n_tokens, n_states), float64, output
        ``P(state_t | tokens up to t)``.
    weights : ndarray of shape (n_tokens, n_states), float64, output
        ``emission_t backward_t / P(token_t | tokens before t)``; 0 at the first token of a sentence. The
        expected number of transitions is ``transition * sum_t outer(forward[t - 1], weights[t])``.
    of_first : ndarray of shape (n_states,), float64, added to
        Expected number of sentences that start in each state.
    of_type : ndarray of shape (n_types, n_states), float64, added to
        Expected number of times that a state emitted a type.

    Returns
    -------
    float
        Sum over the sentences of ``ln P(tokens)``.
    """
    n_states = len(start)
    backward = np.empty(n_states)
    spread = np.empty(n_states)
    transposed = np.ascontiguousarray(transition.T)
    likelihood = 0.0
    for s in range(len(offsets) - 1):
        begin, end = offsets[s], offsets[s + 1]
        longest = end - begin
        scale = np.empty(longest)
        for t in range(begin, end):
            row, seen = forward[t], emission[tokens[t]]
            if t == begin:
                for k in range(n_states):
                    row[k] = start[k]
            else:
                before = forward[t - 1]
                for k in range(n_states):
                    row[k] = 0.0
                for j in range(n_states):
                    p, out = before[j], transition[j]
                    for k in range(n_states):
                        row[k] += p * out[k]
            total = 0.0
            for k in range(n_states):
                row[k] *= seen[k]
                total += row[k]
            inverse = 1.0 / total
            for k in range(n_states):
                row[k] *= inverse
            scale[t - begin] = inverse
            likelihood += np.log(total) + shift[tokens[t]]
        for k in range(n_states):
            backward[k] = 1.0
        for t in range(end - 1, begin - 1, -1):
            row, seen, expected, weight = forward[t], emission[tokens[t]], of_type[tokens[t]], weights[t]
            for k in range(n_states):
                expected[k] += row[k] * backward[k]
            if t == begin:
                for k in range(n_states):
                    of_first[k] += row[k] * backward[k]
                    weight[k] = 0.0
                break
            for k in range(n_states):
                weight[k] = seen[k] * backward[k] * scale[t - begin]
                spread[k] = 0.0
            for k in range(n_states):
                p, into = weight[k], transposed[k]
                for j in range(n_states):
                    spread[j] += p * into[j]
            for j in range(n_states):
                backward[j] = spread[j]
    return likelihood


@njit(nogil=True, cache=True)
def best_states(
    log_start: np.ndarray,
    log_transition: np.ndarray,
    log_emission: np.ndarray,
    tokens: np.ndarray,
    offsets: np.ndarray,
    states: np.ndarray,
) -> None:
    """Find the most probable sequence of states of each sentence (Viterbi); the lowest state wins a tie.

    Parameters
    ----------
    log_start : ndarray of shape (n_states,), float64
    log_transition : ndarray of shape (n_states, n_states), float64
    log_emission : ndarray of shape (n_types, n_states), float64
        Up to a constant per type.
    tokens, offsets
        As for ``expectations``.
    states : ndarray of shape (n_tokens,), int32, output
    """
    n_states = len(log_start)
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    came_from = np.empty((longest, n_states), np.int32)
    score, better = np.empty(n_states), np.empty(n_states)
    for s in range(len(offsets) - 1):
        begin, end = offsets[s], offsets[s + 1]
        for k in range(n_states):
            score[k] = log_start[k] + log_emission[tokens[begin], k]
        for t in range(begin + 1, end):
            origin, seen = came_from[t - begin], log_emission[tokens[t]]
            for k in range(n_states):
                better[k] = score[0] + log_transition[0, k]
                origin[k] = 0
            for j in range(1, n_states):
                for k in range(n_states):
                    through = score[j] + log_transition[j, k]
                    if through > better[k]:
                        better[k] = through
                        origin[k] = j
            for k in range(n_states):
                score[k] = better[k] + seen[k]
        best = 0
        for k in range(1, n_states):
            if score[k] > score[best]:
                best = k
        for t in range(end - 1, begin - 1, -1):
            states[t] = best
            if t > begin:
                best = came_from[t - begin, best]
