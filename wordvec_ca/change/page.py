"""Changed words as one page of HTML (its template is ``page.html``, and ``table.js`` draws its table), and as
a folder of models for an explorer of two.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from wordvec_ca._version import __version__
from wordvec_ca.change.result import FALSE_DISCOVERIES, Changes
from wordvec_ca.errors import DataError
from wordvec_ca.files import check_output, replacing
from wordvec_ca.report import json_markup, scripted_page, visible
from wordvec_ca.showable import showable_name
from wordvec_ca.specs.model_files import INDEX_SUFFIX, MAPS_SUFFIX

# Limit on a page for the undecided words, and for the words of one text; the most frequent are shown.
MOST = 20_000


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
        limits=found.limits,
        n_texts=len(names),
        version=__version__,
        about=json_markup({"texts": names, "permutations": found.permutations, "rate": FALSE_DISCOVERIES}),
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


TABLE = "changes.tsv"


def save_changes(
    found: Changes, texts: Sequence[str], folder: str | os.PathLike[str], *, overwrite: bool = False
) -> list[Path]:
    """Write the first model of each text and the table of all words to a folder.

    Parameters
    ----------
    found : Changes
        Result of `wordvec_ca.changes`.
    texts : sequence of str
        The names of the texts, which name the models.
    folder : path
        Folder to create.
    overwrite : bool, default False
        Replace a folder that this function has written.

    Returns
    -------
    list of Path
        The models: files that `KeyedVectors.load` reads.
    """
    names = _model_names(texts)
    with replacing(folder, overwrite=overwrite, files=_own_files(names)) as place:
        for name, model in zip(names, found.models, strict=True):
            model.save(place / name)
        (place / TABLE).write_bytes(found.table().encode("utf-8", "replace"))
    return [Path(folder) / name for name in names]


def check_changes_output(texts: Sequence[str], folder: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise a DataError before training if `save_changes` could not write to a folder."""
    check_output(folder, overwrite=overwrite, files=_own_files(_model_names(texts)))


def _model_names(texts: Sequence[str]) -> list[str]:
    stems = [PurePath(text).name.split(".")[0] or "text" for text in texts]
    if len(set(stems)) < len(stems):
        stems = [f"{number}-{stem}" for number, stem in enumerate(stems, 1)]
    return [f"{stem}.kv" for stem in stems]


# What a saved model consists of, and what cawv explore and cawv index put beside it.
MODEL_SUFFIXES = ("", ".vectors.npy", MAPS_SUFFIX, INDEX_SUFFIX)


def _own_files(names: list[str]) -> set[str]:
    """Return the files that may be replaced; others beside them are somebody's."""
    return {TABLE, *(name + suffix for name in names for suffix in MODEL_SUFFIXES)}


def saved_verdicts(*models: object) -> dict[str, bool] | None:
    """Return whether each judged word has changed between models that `save_changes` has written; None for
    models of other origin.
    """
    folders = {Path(model).parent for model in models if isinstance(model, str | os.PathLike)}
    if len(models) < 2 or len(folders) != 1 or not (table := folders.pop() / TABLE).is_file():
        return None
    try:
        with open(table, encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t")
            return {row["word"]: row["changed"] == "True" for row in rows if row["state"] == "judged"}
    except (KeyError, ValueError, csv.Error) as error:
        raise DataError(f"{str(table)!r} is not a table of cawv change: {error}") from error
