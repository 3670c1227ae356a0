"""Changed words as one page of HTML; its template is ``page.html``, and ``table.js`` draws its table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from wordvec_ca._version import __version__
from wordvec_ca.change.result import Changes
from wordvec_ca.report import json_markup, scripted_page, visible
from wordvec_ca.showable import showable_name

RATE = 0.05
"""The page calls words changed up to this rate of false discoveries."""

MOST = 20_000
"""Limit on a page for the undecided words, and for the words of one text; the most frequent are shown."""


def changes_page(found: Changes, texts: Sequence[str]) -> str:
    """Return a page with the words that have changed, as one complete file that loads nothing else.

    Parameters
    ----------
    found : Changes
        Result of `wordvec_ca.changes` or `wordvec_ca.changes_of_models`.
    texts : sequence of str
        Names of the texts or models, in the order of comparison; only the last part of a path is shown.

    Returns
    -------
    str
        HTML, to be written in UTF-8.
    """
    texts = [showable_name(name) for name in texts]
    short = [PurePath(name).name for name in texts]
    names = [visible(name) for name in (short if len(set(short)) == len(texts) else texts)]
    rows = {one.word: row for row, one in enumerate(found.words)}
    measures = (
        "change", "low", "high", "excess", "typical", "p", "smallest_p", "fdr", "distance", "turnover",
        "distance_rank", "turnover_rank",
    )  # fmt: skip
    judged = {
        **{name: [_short(getattr(one, name)) for one in found.words] for name in measures},
        "counts": [one.counts for one in found.words],
        "changed": [one.changed for one in found.words],
        "examples": [
            [
                [e.text, e.kind, f"{PurePath(e.source).name}:{e.line}", e.left, e.word, e.right]
                for e in one.examples
            ]
            for one in found.words
        ],
        "lost": [_near(one.lost, rows) for one in found.words],
        "gained": [_near(one.gained, rows) for one in found.words],
        "trajectory": [[_short(value) for value in one.trajectory] for one in found.words],
        "band": [[_short(value) for value in one.band] for one in found.words],
    }
    undecided = sorted(found.undecided, key=lambda pair: -sum(pair[1]))[:MOST]
    only = [sorted(words, key=lambda pair: -pair[1])[:MOST] for words in found.only]
    return scripted_page(
        "change/page.html",
        scripts=["report/explorer/words.js", "change/chart.js", "change/table.js"],
        styles=["report/style.css", "change/style.css"],
        title=" → ".join(names),
        tiles=list(_tiles(found, names)),
        permutations=found.permutations,
        throughout=found.differ_throughout,
        n_texts=len(names),
        version=__version__,
        about=json_markup({"texts": names, "permutations": found.permutations, "rate": RATE}),
        words=json_markup([one.word for one in found.words]),
        judged=json_markup(judged),
        undecided=json_markup(undecided),
        only=json_markup(only),
    )


def _tiles(found: Changes, names: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Yield the figures at the head of the page."""
    if found.permutations:
        yield "changed more than is typical", f"{sum(bool(one.changed) for one in found.words):,}"
    yield "words judged", f"{len(found.words):,}"
    yield "undecided, too rare", f"{len(found.undecided):,}"
    for name, words in zip(names, found.only, strict=True):
        yield f"only in {name}", f"{len(words):,}"


def _near(words: Sequence[str], rows: Mapping[str, int]) -> list[int | str]:
    """Return the row of each neighbour; a neighbour that was not judged has none, and stays a word."""
    return [rows.get(word, word) for word in words]


def _short(value: Any) -> float | None:
    """Return a number in few digits; None for nan."""
    return float(f"{value:.4g}") if math.isfinite(value) else None
