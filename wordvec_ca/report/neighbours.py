"""Section on neighbours: the nearest neighbours of some frequent, medium and rare words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.models import document_vectors
from wordvec_ca.vectors import KeyedVectors, Neighbour, Neighbours, shown_interval

NEAREST = 6
"""Number of neighbours of each word or document."""

SHOWN_DOCUMENTS = 8
LONGEST_TAG = 60
"""Number of characters of a tag that are shown at most."""


def chosen_words(words: Sequence[str]) -> dict[str, list[int]]:
    """Return rows of some frequent, medium and rare words, always the same ones."""
    long = [row for row, word in enumerate(words) if len(word) > 2 and word.isalpha()]
    usable = long if len(long) >= 30 else list(range(len(words)))
    n = len(usable)
    begin = min(100, n // 20)
    spans = {
        "frequent": (begin, max(begin + 5, n // 50)),
        "medium": (n // 5, n // 2),
        "rare": (max(0, n - max(5, n // 10)), n),
    }
    found = {}
    for name, (low, high) in spans.items():
        places = np.linspace(low, max(low, high - 1), 5).astype(int).tolist()
        found[name] = sorted({usable[min(place, n - 1)] for place in places})
    return found


def neighbour_tables(vectors: KeyedVectors) -> list[dict[str, Any]]:
    """Return tables of neighbours."""
    tables = []
    for name, rows in chosen_words(vectors.index_to_key).items():
        lines = []
        for row in rows:
            word = vectors.index_to_key[row]
            try:
                nearest = vectors.neighbours(word, NEAREST)
            except DataError:  # its vector is zero or not finite
                nearest = Neighbours([], 0)
            count = "" if vectors.counts is None else f"{int(vectors.counts[row]):,}"
            lines.append((word, count, [(one.word, _shown(one, nearest.models)) for one in nearest]))
        tables.append({"title": f"{name.capitalize()} words", "rows": lines})
    return tables


def document_table(folder: Path) -> dict[str, Any]:
    """Return a table, like those of `neighbour_tables`, of some documents and the documents nearest to
    them.
    """
    documents, _ = document_vectors(folder)
    rows = np.unique(np.linspace(0, len(documents) - 1, SHOWN_DOCUMENTS).astype(int)).tolist()
    lines = []
    for row in rows if len(documents) > 1 else []:
        try:
            nearest = documents.neighbours(documents.index_to_key[row], NEAREST)
        except DataError:  # its vector is zero
            nearest = Neighbours([], 0)
        name = documents.index_to_key[row][:LONGEST_TAG]
        lines.append((name, "", [(one.word[:LONGEST_TAG], _shown(one, 0)) for one in nearest]))
    return {"title": f"{len(documents):,} documents, some of them by their tags", "rows": lines}


def _shown(one: Neighbour, models: int) -> str:
    """Return as text a neighbour's cosine and, if known, how sure the neighbour is."""
    sure = f" {shown_interval(one.low, one.high)} {one.agreement}/{models}" if models else ""
    return f"{one.score:.2f}{sure}"
