"""Quantises rows (Joulin et al. 2016, FastText.zip): keeps the longest rows, and replaces each part of a row
by the nearest of 256 centroids.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordvec_ca.fasttext.dictionary import END_OF_LINE, Dictionary, encoded
from wordvec_ca.fasttext.model import Model
from wordvec_ca.fasttext.settings import LARGEST, whole_number
from wordvec_ca.fasttext.training import Text, fit
from wordvec_ca.formats import MOST_PLACES, QuantisedRows
from wordvec_ca.kernels import aligned_zeros, padded

CENTROIDS = 256
# Number of rows from which centroids are computed.
MOST_POINTS = 1 << 16

ROUNDS, SEED = 25, 1234


def quantised_model(model: Model, options: dict[str, Any]) -> Model:
    """Return a quantised model."""
    if not model.supervised:
        raise ValueError("For now we only support quantization of supervised models")
    if model.quantised:
        raise ValueError("the model is quantised already")
    for name, least in (("dsub", 1), ("cutoff", 0)):
        options[name] = whole_number(name, options[name], least, LARGEST)
    if model.options.bucket > MOST_PLACES:
        raise ValueError(
            f"the model has {model.options.bucket} buckets; a quantised one can have {MOST_PLACES} at most"
        )
    dictionary, inputs, outputs = model.dictionary, model.inputs, np.asarray(model.outputs)
    n_rows = model.all_inputs().shape[0]
    if 0 < options["cutoff"] < n_rows or (dictionary.places is not None and not dictionary.pruned):
        kept = _longest(model, min(options["cutoff"] or n_rows, len(inputs)))
        dictionary, rows = _pruned(dictionary, kept, bool(options["cutoff"]))
        inputs = np.array(inputs[rows], np.float32)
        if options["retrain"] and options["cutoff"]:
            inputs, outputs = _trained(dictionary, inputs, outputs, options)
    codes = quantised(inputs, options["dsub"], options["qnorm"])
    coded = quantised(outputs, 2, options["qnorm"]) if options["qout"] else outputs
    return Model(dictionary, codes, coded, model.n_tokens, model.version)


def _longest(model: Model, n: int) -> np.ndarray:
    """Return the numbers of the n longest rows, with the end of a line first."""
    lengths = np.linalg.norm(model.inputs, axis=1)
    number = model.dictionary.number(END_OF_LINE)
    if number >= 0:
        lengths[number] = np.inf
    return np.argsort(-lengths, kind="stable")[:n]


def _pruned(dictionary: Dictionary, kept: np.ndarray, prune_words: bool) -> tuple[Dictionary, np.ndarray]:
    """Return a dictionary of the kept rows, and the numbers of these rows: of words, then of buckets."""
    d = dictionary
    words = np.sort(kept[kept < d.n_words]) if prune_words else np.arange(d.n_words)
    buckets = kept[kept >= d.n_words]
    places = np.full(max(0, d.options.bucket), -1, np.int32)
    numbers = buckets - d.n_words
    if d.places is not None:  # `places` maps buckets to rows: invert it
        bucket_of = np.full(len(places) + 1, -1, np.int64)
        in_use = np.flatnonzero(d.places >= 0)
        bucket_of[d.places[in_use]] = in_use
        numbers = bucket_of[numbers]
    places[numbers] = np.arange(len(numbers))
    entries = [*words.tolist(), *range(d.n_words, len(d.words))]
    made = Dictionary(
        d.options,
        [d.words[i] for i in entries],
        d.counts[entries],
        len(words),
        places=places,
        pruned=True,
        label=d.label,
    )
    return made, np.concatenate([words, buckets])


def _trained(
    dictionary: Dictionary, inputs: np.ndarray, outputs: np.ndarray, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kept rows after further training."""
    dim = inputs.shape[1]
    text = Text(*encoded(options["input"]))
    moved, learnt = (aligned_zeros((len(rows), padded(dim))) for rows in (inputs, outputs))
    moved[:, :dim], learnt[:, :dim] = inputs, outputs
    settings = {"neg": dictionary.options.neg, "seed": 0, **options}
    fit(dictionary, text, dictionary.type_rows(text.types), moved, learnt, settings)
    return moved[:, :dim], learnt[:, :dim]


def quantised(rows: np.ndarray, part: int, norms: bool) -> QuantisedRows:
    """Return rows as codes."""
    n, dim = rows.shape
    rng = np.random.default_rng(SEED)
    some = np.sort(rng.choice(n, MOST_POINTS, replace=False)) if n > MOST_POINTS else np.arange(n)
    lengths = np.linalg.norm(rows, axis=1).astype(np.float32) if norms else np.ones(1, np.float32)
    scale = 1 / np.where(lengths > 0, lengths, 1)[:, None]
    codes, centroids = [], []
    for begin in range(0, dim, part):
        points = np.ascontiguousarray(rows[:, begin : begin + part] * scale, np.float32)
        found, numbers = _clusters(points, some)
        centroids.append(found.ravel())
        codes.append(numbers)
    made = QuantisedRows(np.stack(codes, axis=1), np.concatenate(centroids), dim, part)
    if norms:
        found, made.norm_codes = _clusters(lengths[:, None], some)
        made.norms = found.ravel()
    return made


def _clusters(points: np.ndarray, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return 256 centroids of some of the points, and the nearest to each point."""
    import warnings

    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # scikit-learn warns of fewer than 256 centroids if points are equal
        n = min(CENTROIDS, len(some))  # with fewer rows, each is a centroid; others are never used
        means = KMeans(n, init="random", n_init=1, max_iter=ROUNDS, random_state=SEED).fit(points[some])
    centroids = np.zeros((CENTROIDS, points.shape[1]), np.float32)
    centroids[:n] = means.cluster_centers_
    return centroids, means.predict(points).astype(np.uint8)
