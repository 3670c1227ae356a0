"""Section on attention: how much attention each place, word and class of words gets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from wordvec_ca.errors import DataError
from wordvec_ca.models import TrainConfig, keep_probabilities, read_attention
from wordvec_ca.report.charts import Figure, Series, chart_figure, heat_map
from wordvec_ca.tables import offsets_of
from wordvec_ca.vectors import KeyedVectors

# Frequency ranks that separate the rows of the heat map; words up to the first are mostly function words.
BANDS = (50, 1_000, 10_000)

# Number of places on each side that the heat map shows.
MOST_PLACES = 25

UNIT = "1 is what an average word at an average place gets; words count as often as training meets them."


class Attention(NamedTuple):
    """How much attention words get, as a multiple of what an average word at an average place gets."""

    # shape (n_words, n_places), float64; The attention of each word at each place; one column if the
    # attention does not depend on the place.
    by_word: np.ndarray
    # shape (n_places,), float64; The mean over the words, weighted by how often training reads them.
    by_place: np.ndarray
    # shape (n_words,), float64; Relative frequency of each word in training, after sub-sampling.
    weights: np.ndarray


def relative_attention(folder: Path, counts: np.ndarray | None, config: TrainConfig) -> Attention:
    """Return how much attention the words of a cbow-attn model get at each place."""
    # The attention weights of a window are proportional to exp(K + s) and sum to 1 (docs/models.md). Here
    # they are divided by their mean over places and words, in which each word counts as often as training
    # reads it.
    words, slots = read_attention(folder)
    n_words, n_places = len(words), 2 * config.reach
    met = np.ones(n_words) if counts is None else np.maximum(counts.astype(np.float64), 1e-9)
    met = met * keep_probabilities(met, config.sample)
    weights = met / met.sum()
    logits = np.zeros((n_words, n_places if config.attention != "word" else 1))
    if config.attention != "word":
        logits += slots[:n_places].astype(np.float64)
    if words.shape[1]:
        logits += words
    strength = np.exp(np.clip(np.nan_to_num(logits), -config.attention_clip, config.attention_clip))
    by_place = weights @ strength
    mean = float(by_place.mean())
    return Attention(strength / mean, by_place / mean, weights)


def word_classes(words: Sequence[str]) -> list[tuple[str, np.ndarray]]:
    """Return named groups of words, as indices: punctuation, numbers, and other words by frequency."""
    kinds = np.array(
        [0 if not any(map(str.isalnum, w)) else 1 if not any(map(str.isalpha, w)) else 2 for w in words]
    )
    rank = np.arange(1, len(words) + 1)
    groups = [("punctuation", np.flatnonzero(kinds == 0)), ("numbers", np.flatnonzero(kinds == 1))]
    for low, high in zip((0, *BANDS), (*BANDS, len(words)), strict=True):
        name = f"words {low + 1:,} – {min(high, len(words)):,}"
        groups.append((name, np.flatnonzero((kinds == 2) & (rank > low) & (rank <= high))))
    return [(name, members) for name, members in groups if len(members)]


def attention(folder: Path, vectors: KeyedVectors, config: TrainConfig) -> dict[str, Any]:
    """Return the content of the section for a cbow-attn model."""
    found = relative_attention(folder, vectors.counts, config)
    if len(found.weights) != len(vectors):
        raise DataError(f"{str(folder)!r}: {len(vectors)} words, but attention for {len(found.weights)}")
    of_words = config.attention != "position"
    return {
        "by": "by word and place" if config.attention == "full" else f"by {config.attention}",
        "warmup": f"{config.attention_warmup:.0%}",
        "by_place": None if config.attention == "word" else _by_place(found),
        "favourites": _favourites(vectors, found) if of_words else None,
        "heat": _heat(vectors, found, config.attention != "word") if of_words else None,
    }


def _near(found: Attention) -> tuple[slice, list[int]]:
    """Return which places are shown, and their distances from the target."""
    half = len(found.by_place) // 2
    near = slice(max(0, half - MOST_PLACES), half + MOST_PLACES)
    return near, offsets_of(len(found.by_place))[near]


def _by_place(found: Attention) -> Figure:
    near, offsets = _near(found)
    n_places = len(offsets)
    best = offsets_of(len(found.by_place))[int(found.by_place.argmax())]
    what = f"Attention by place, all words together; most goes to {best:+d}. {UNIT}"
    shares = found.by_place[near].tolist()
    offsets.insert(n_places // 2, 0)  # the target, which gets no attention
    shares.insert(n_places // 2, math.nan)
    drawn = [Series("attention", offsets, shares, dots=n_places <= 4)]
    made = chart_figure("Attention by place", what, drawn, "place", "attention", zero=True)
    return made._replace(title="By place")


def _heat(vectors: KeyedVectors, found: Attention, has_places: bool) -> dict[str, Any]:
    """Return the heat map of attention by class of word and by place, and its numbers."""
    near, offsets = _near(found) if has_places else (slice(0, 1), [])
    classes = word_classes(vectors.index_to_key)
    names = [name for name, _ in classes]
    columns = [f"{offset:+d}" for offset in offsets] if has_places else ["any place"]
    values = [
        np.average(found.by_word[members], axis=0, weights=found.weights[members])[near].tolist()
        for _, members in classes
    ]
    half = len(found.by_place) // 2
    what = f"Punctuation, numbers, and all other words by rank of frequency. {UNIT}"
    if has_places and half > MOST_PLACES:
        what += f" The {MOST_PLACES} nearest of {half} places on each side."
    drawing = Markup(heat_map("Attention by class of word and place", what, names, columns, values))
    title = f"By class of word{' and place' if has_places else ''}"
    return {
        "figure": Figure(title, what, drawing),
        "columns": columns,
        "rows": [(name, [f"{value:.2f}" for value in row]) for name, row in zip(names, values, strict=True)],
    }


def _favourites(vectors: KeyedVectors, found: Attention) -> dict[str, Any]:
    """Return the frequent words that get most and least attention."""
    known = min(len(vectors), 5_000)
    mean = found.by_word[:known].mean(axis=1)
    order = np.argsort(mean, kind="stable")

    def listed(rows: Iterable[int]) -> list[tuple[str, str]]:
        return [(vectors.index_to_key[row], f"{mean[row]:.2g}") for row in rows]

    n = min(24, known // 2)
    return {
        "most": listed(order[::-1][:n].tolist()),
        "least": listed(order[:n].tolist()),
        "known": f"{known:,}",
    }
