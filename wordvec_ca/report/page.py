"""The report of a run: one HTML page that explains a model directory and loads nothing from elsewhere; its
sections on the vocabulary and on neighbours.

Each section is a function that returns its content as plain data; ``page.html`` turns that into HTML, and
``style.css`` sets colours and layout. Words and names may contain markup, so Jinja escapes every string that
is not ``Markup``. Before that, control characters are made visible.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.models import History, TrainConfig, document_vectors, read_config, read_record
from wordvec_ca.report.attention import attention
from wordvec_ca.report.charts import Figure, Series, chart_figure
from wordvec_ca.report.run import details, reproduction, summary, training_figures
from wordvec_ca.report.single_file import page_templates, source_of, visible
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.vectors import SHOWN_COVERAGE, KeyedVectors, Neighbour, Neighbours, shown_interval

# Number of words listed, a paragraph.
MOST_FREQUENT = 45

# Number of neighbours of each word or document.
NEAREST = 6

SHOWN_DOCUMENTS = 8

# Number of characters of a tag that are shown at most.
LONGEST_TAG = 60


def render(directory: str | os.PathLike[str], *, place: str | os.PathLike[str] | None = None) -> str:
    """Return an HTML page about a model directory: its training, its vocabulary and what it learnt.

    The page is complete in itself: it has no scripts and loads nothing.

    Parameters
    ----------
    directory : path
        Model directory.
    place : path, optional
        File that the page will be written to; from it follows the address of the map in the model directory.

    Returns
    -------
    str
        HTML, to be written in UTF-8.

    Raises
    ------
    DataError
        ``directory`` is not a complete model directory.
    """
    folder = Path(directory)
    record, config = read_record(folder), read_config(folder)
    vectors = KeyedVectors.load(folder, format="model")
    if len(vectors) == 0:
        raise DataError(f"{str(folder)!r} has no words: there is nothing to report")
    tables_of_documents = [document_table(folder)] if config.spec.documents else []
    templates = page_templates().overlay(finalize=_visible)
    return templates.get_template("report/page.html").render(
        name=folder.resolve().name,
        explorer=_explorer(folder, place),
        version=__version__,
        style=Markup(source_of(templates, "report/style.css")),
        config=config,
        summary=summary(record, config, len(vectors)),
        training=training_figures(History.load(folder / ModelFile.HISTORY)),
        vocabulary=vocabulary(vectors, record, config),
        attention=attention(folder, vectors, config) if config.spec.attends else None,
        coverage="" if vectors.resamples is None else SHOWN_COVERAGE,
        neighbours=[*tables_of_documents, *(neighbour_tables(vectors) if config.learns_words else [])],
        reproduction=reproduction(record, config),
        details=details(record, config),
    )


def _explorer(folder: Path, place: str | os.PathLike[str] | None) -> str | None:
    """Return the address, relative to the page, of the map made by `cawv explore`; None if there is none."""
    made = folder / ModelFile.WORDS_PAGE
    if place is None or not made.is_file():
        return None
    return quote(Path(os.path.relpath(made, Path(place).parent)).as_posix())


def _visible(value: Any) -> Any:
    """Make control characters visible in text that is not markup, before it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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
    if config.learns_words:
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
