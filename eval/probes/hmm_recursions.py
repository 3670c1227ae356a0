"""Forward-backward and Viterbi of a first-order hidden Markov model over sentences of types.

A token is the number of its type, and the emission probabilities of a type are computed once, however often
it occurs. They are divided by their maximum over the states, whose logarithm is kept separately, and the
forward probabilities are divided by their sum at each token. So products of probabilities stay within the
range of float64 and no logarithm of a sum is needed (Rabiner 1989, §V.A). The results are those of the same
recursions in the log domain as long as every scaled emission and every transition is at least ``FLOOR``: then
nothing underflows, not even to the slow subnormal numbers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Least scaled emission and least transition probability.
FLOOR = 1e-100

# Lets LLVM reorder and fuse sums, so that it can vectorise them; NaN and infinity keep their meaning.
REORDER = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=REORDER)
def expectations(
    start: np.ndarray,
    transition: np.ndarray,
    emission: np.ndarray,
    shift: np.ndarray,
    tokens: np.ndarray,
    steps: np.ndarray,
    forward: np.ndarray,
    weights: np.ndarray,
    of_first: np.ndarray,
    of_type: np.ndarray,
    of_pair: np.ndarray,
) -> float:
    """Add the expected counts of some sentences, given the model, and return their log-likelihood."""
    # The sentences advance together, the longest first: their first tokens come first, then their second
    # tokens, and so on, so that a step of all of them is one matrix product over neighbouring rows.
    n_states = len(start)
    inverse = np.empty(len(tokens))
    likelihood = 0.0
    for t in range(len(steps) - 1):
        begin, end = steps[t], steps[t + 1]
        if t == 0:
            forward[begin:end] = start
        else:
            before = steps[t - 1]
            np.dot(forward[before : before + end - begin], transition, forward[begin:end])
        for i in range(begin, end):
            row, seen = forward[i], emission[tokens[i]]
            total = 0.0
            for k in range(n_states):
                row[k] *= seen[k]
                total += row[k]
            scale = 1.0 / total
            for k in range(n_states):
                row[k] *= scale
            inverse[i] = scale
            likelihood += np.log(total) + shift[tokens[i]]
    transposed = np.ascontiguousarray(transition.T)
    backward = np.ones((steps[1], n_states))
    pairs = np.empty((n_states, n_states))
    for t in range(len(steps) - 2, -1, -1):
        begin, end = steps[t], steps[t + 1]
        for i in range(begin, end):
            row, after = forward[i], backward[i - begin]
            seen, expected, weight = emission[tokens[i]], of_type[tokens[i]], weights[i]
            scale = inverse[i]
            for k in range(n_states):
                expected[k] += row[k] * after[k]
                weight[k] = seen[k] * after[k] * scale
        if t == 0:
            for i in range(begin, end):
                for k in range(n_states):
                    of_first[k] += forward[i, k] * backward[i - begin, k]
        else:
            before = steps[t - 1]
            np.dot(forward[before : before + end - begin].T, weights[begin:end], pairs)
            of_pair += pairs
            # Sentences that ended at the previous place keep the value 1.
            np.dot(weights[begin:end], transposed, backward[: end - begin])
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
    """Find the most probable sequence of states of each sentence (Viterbi); the lowest state wins a tie."""
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
