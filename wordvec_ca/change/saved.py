"""A folder with the models of compared texts and the table of changes, for an explorer of two models."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from wordvec_ca.change.result import Changes
from wordvec_ca.errors import DataError
from wordvec_ca.files import replacing

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
    stems = [PurePath(text).name.split(".")[0] or "text" for text in texts]
    if len(set(stems)) < len(stems):
        stems = [f"{number}-{stem}" for number, stem in enumerate(stems, 1)]
    names = [f"{stem}.kv" for stem in stems]
    files = {TABLE, *names, *(f"{name}.vectors.npy" for name in names)}
    with replacing(folder, overwrite=overwrite, files=files) as place:
        for name, model in zip(names, found.models, strict=True):
            model.save(place / name)
        (place / TABLE).write_bytes((found.table() + "\n").encode("utf-8", "replace"))
    return [Path(folder) / name for name in names]


def saved_verdicts(*models: object) -> dict[str, bool] | None:
    """Return whether each judged word has changed between models that `save_changes` has written; None for
    models of other origin.
    """
    folders = {Path(model).parent for model in models if isinstance(model, str | os.PathLike)}
    if len(models) < 2 or len(folders) != 1 or not (table := folders.pop() / TABLE).is_file():
        return None
    try:
        with open(table, encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            return {row["word"]: row["changed"] == "True" for row in rows if row["state"] == "judged"}
    except (KeyError, ValueError, csv.Error) as error:
        raise DataError(f"{str(table)!r} is not a table of cawv change: {error}") from error
