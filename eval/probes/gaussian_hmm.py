"""A hidden Markov model whose states emit word vectors from Gaussians of one fixed variance.

Lin, Ammar, Dyer, Levin 2015, "Unsupervised POS Induction with Word Embeddings" (NAACL), §2.1 and §3.1: the
multinomial emissions of a classical HMM are replaced by a Gaussian over the vector of the word's type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wordvec_ca.eval.probes.hmm_recursions import FLOOR, best_states, expectations

# Tokens whose state probabilities are held at a time.
BLOCK = 8_192

# Expectation maximisation stops after so many steps, or when a step gains fewer nats per token.
MOST_STEPS, TOLERANCE = 50, 1e-4


@dataclass
class GaussianHMM:
    """Parameters of the model."""

    start: np.ndarray  # (n_states,), float64
    transition: np.ndarray  # (n_states, n_states), float64
    means: np.ndarray  # (n_states, dim), float64
    variance: float  # Variance of every dimension in every state; not learned


@dataclass(frozen=True)
class EncodedText:
    """Sentences as numbers of types."""

    vectors: np.ndarray  # (n_types, dim), float64: One row per type that has a vector
    tokens: np.ndarray  # (n_tokens,), int32: Type of each token; ``n_types`` for a token without a vector
    offsets: np.ndarray  # (n_sentences + 1,), int64: Where each sentence starts; no sentence is empty


def k_means_plus_plus(
    text: EncodedText, n_states: int, variance: float, rng: np.random.Generator
) -> GaussianHMM:
    """Return a model with means drawn by k-means++ from the tokens, and nearly equal random transitions."""
    # Arthur and Vassilvitskii 2007: each further mean is the vector of a token drawn with a probability
    # proportional to its squared distance to the nearest mean so far.
    counts = np.bincount(text.tokens, minlength=len(text.vectors) + 1)[:-1].astype(np.float64)
    vectors = text.vectors
    chosen = [int(rng.choice(len(vectors), p=counts / counts.sum()))]
    nearest = ((vectors - vectors[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n_states:
        mass = counts * nearest
        total = mass.sum()
        pick = int(rng.choice(len(vectors), p=mass / total if total > 0 else counts / counts.sum()))
        chosen.append(pick)
        nearest = np.minimum(nearest, ((vectors - vectors[pick]) ** 2).sum(axis=1))
    transition = 1 + 0.1 * rng.random((n_states, n_states))
    return GaussianHMM(
        start=np.full(n_states, 1 / n_states),
        transition=transition / transition.sum(axis=1, keepdims=True),
        means=vectors[chosen].copy(),
        variance=variance,
    )


def train(
    model: GaussianHMM, text: EncodedText, *, iterations: int = MOST_STEPS, tolerance: float = TOLERANCE
) -> tuple[GaussianHMM, list[float]]:
    """Raise the likelihood of the text by expectation maximisation."""
    likelihoods: list[float] = []
    blocks = list(_blocks(text))
    for _ in range(iterations):
        improved, likelihood = _step(model, text, blocks)
        likelihoods.append(likelihood)
        if len(likelihoods) > 1 and likelihood - likelihoods[-2] < tolerance * len(text.tokens):
            return model, likelihoods
        model = improved
    likelihoods.append(_step(model, text, blocks)[1])
    return model, likelihoods


def decode(model: GaussianHMM, text: EncodedText) -> np.ndarray:
    """Return the state of each token in the most probable sequences: ndarray of shape (n_tokens,), int32."""
    emission, _ = _emissions(model, text.vectors)
    states = np.empty(len(text.tokens), dtype=np.int32)
    with np.errstate(divide="ignore"):
        best_states(
            np.log(model.start), np.log(model.transition), np.log(emission), text.tokens, text.offsets, states
        )
    return states


def _emissions(model: GaussianHMM, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scaled emission densities and the logarithms of their scales; the last row is for unknown
    words.
    """
    # An unknown word is missing data and is summed out: every state emits it with probability 1.
    n_types, dim = vectors.shape
    density = np.empty((n_types + 1, len(model.means)))
    exponent = density[:-1]
    np.matmul(vectors, model.means.T, out=exponent)
    exponent -= (model.means**2).sum(axis=1) / 2
    exponent /= model.variance
    top = exponent.max(axis=1)
    exponent -= top[:, None]
    np.maximum(np.exp(exponent, out=exponent), FLOOR, out=exponent)
    density[-1] = 1.0
    shift = np.zeros(n_types + 1)
    shift[:-1] = top - (vectors**2).sum(axis=1) / (2 * model.variance)
    shift[:-1] -= dim / 2 * np.log(2 * np.pi * model.variance)
    return density, shift


# Tokens of some sentences of similar length, (n_tokens,), int32: the first tokens of all sentences, then the
# second tokens of those that have one, and so on, the longest sentence always first; and where each of these
# places starts, (longest + 1,), int64.
Block = tuple[np.ndarray, np.ndarray]


def _step(model: GaussianHMM, text: EncodedText, blocks: Sequence[Block]) -> tuple[GaussianHMM, float]:
    """Return the model after one step of EM, and the log-likelihood before it."""
    n_states = len(model.start)
    emission, shift = _emissions(model, text.vectors)
    of_first = np.zeros(n_states)
    of_type = np.zeros((len(text.vectors) + 1, n_states))
    of_pair = np.zeros((n_states, n_states))
    likelihood = 0.0
    start, transition = np.maximum(model.start, FLOOR), np.maximum(model.transition, FLOOR)
    most = max(len(tokens) for tokens, _ in blocks)
    forward, weights = np.empty((most, n_states)), np.empty((most, n_states))
    for tokens, steps in blocks:
        likelihood += expectations(
            start, transition, emission, shift, tokens, steps, forward, weights, of_first, of_type, of_pair
        )
    of_pair *= transition
    from_state = of_pair.sum(axis=1, keepdims=True)
    mass = of_type[:-1].sum(axis=0)[:, None]
    known = mass > FLOOR
    means = of_type[:-1].T @ text.vectors
    np.divide(means, mass, out=means, where=known)
    improved = GaussianHMM(
        start=of_first / of_first.sum(),
        transition=np.where(from_state > FLOOR, of_pair / np.maximum(from_state, FLOOR), model.transition),
        means=np.where(known, means, model.means),
        variance=model.variance,
    )
    return improved, likelihood


def _blocks(text: EncodedText) -> Iterator[Block]:
    """Yield whole sentences of about ``BLOCK`` tokens, the longest sentences first."""
    lengths = np.diff(text.offsets)
    order = np.argsort(-lengths, kind="stable")
    ends = np.cumsum(lengths[order])
    first = 0
    while first < len(order):
        limit = BLOCK + (ends[first - 1] if first else 0)
        last = max(int(np.searchsorted(ends, limit, side="right")), first + 1)
        starts, sizes = text.offsets[order[first:last]], lengths[order[first:last]]
        places = [starts[: np.count_nonzero(sizes > t)] + t for t in range(sizes[0])]
        steps = np.concatenate([[0], np.cumsum([len(place) for place in places])])
        yield text.tokens[np.concatenate(places)], steps.astype(np.int64)
        first = last
