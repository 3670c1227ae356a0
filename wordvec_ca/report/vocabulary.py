"""Section on the vocabulary: frequencies, coverage of the text and lengths of vectors, by rank."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from wordvec_ca.models import TrainConfig
from wordvec_ca.report.charts import Series
from wordvec_ca.report.figure import Figure, chart_figure
from wordvec_ca.vectors import KeyedVectors

MOST_FREQUENT = 45
"""Number of words listed."""


def vocabulary(vectors: KeyedVectors, record: dict[str, Any], config: TrainConfig) -> dict[str, Any]:
    """Return the content of the section on the vocabulary."""
    counts, figures = vectors.counts, []
    n = len(vectors)
    ranks = np.unique(np.geomspace(1, n, 160).astype(np.int64))
    about = f"{n:,} words"
    if counts is not None and int(counts.sum()) > 0:
        total = int(counts.sum())
        raw_types, raw_tokens = record.get("raw_types", 0), record.get("raw_tokens", 0)
        if raw_types and raw_tokens:
            about += f" of {raw_types:,} types; they cover {total / max(raw_tokens, total):.1%} of the text"
        about += f". The rarest occurs {int(counts.min()):,} times (min_count is {config.min_count:,})"
        figures = [_frequencies(ranks, counts), _coverage(ranks, counts)]
    figures.append(_lengths(vectors.norms))
    frequent = [
        (vectors.index_to_key[row], "" if counts is None else f"{int(counts[row]):,}")
        for row in range(min(n, MOST_FREQUENT))
    ]
    return {"about": f"{about}.", "figures": figures, "frequent": frequent}


def _frequencies(ranks: np.ndarray, counts: np.ndarray) -> Figure:
    of_ranks = counts[ranks - 1].astype(float)
    slope = _slope(ranks, of_ranks)
    what = f"Words by rank against how often they occur, {int(counts[0]):,} to {int(counts[-1]):,} times" + (
        f"; from the 10th on the slope is {slope:.2f} (Zipf: -1)." if slope is not None else "."
    )
    drawn = [Series("words", ranks.tolist(), of_ranks.tolist())]
    return chart_figure("Rank and frequency", what, drawn, "rank", "count", x_log=True, y_log=True)


def _slope(ranks: np.ndarray, counts: np.ndarray) -> float | None:
    far = (ranks >= 10) & (counts > 0)
    if far.sum() < 10:
        return None
    return float(np.polyfit(np.log(ranks[far]), np.log(counts[far]), 1)[0])


def _coverage(ranks: np.ndarray, counts: np.ndarray) -> Figure:
    running = np.cumsum(counts, dtype=np.float64)
    total = int(counts.sum())
    share = running[ranks - 1] / total
    half = int(np.searchsorted(running, total / 2)) + 1
    what = f"Share of the text that the most frequent words make up: half of it is {half:,} words."
    drawn = [Series("share", ranks.tolist(), share.tolist())]
    return chart_figure("Coverage", what, drawn, "most frequent words", "share", x_log=True, zero=True)


def _lengths(norms: np.ndarray) -> Figure:
    edges = np.unique(np.geomspace(1, len(norms) + 1, 60).astype(np.int64))
    middles = [float(math.sqrt(a * b)) for a, b in pairwise(edges)]
    lengths = [float(np.median(norms[a - 1 : b - 1])) for a, b in pairwise(edges)]
    what = "Median length of the vectors by the rank of their words; rare words have learnt less."
    drawn = [Series("length", middles, lengths)]
    return chart_figure("Length of vectors", what, drawn, "rank", "length", x_log=True, zero=True)
