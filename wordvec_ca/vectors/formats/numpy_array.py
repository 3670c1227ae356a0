"""A bare NumPy array, for faiss, hnswlib and whatever takes one, with the words in a file beside it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from wordvec_ca.files import check_files, replacing_files, save_npy
from wordvec_ca.vectors.formats.text import encode_words
from wordvec_ca.vectors.table import VectorTable


def write_numpy(
    table: VectorTable, path: str | os.PathLike[str], *, errors: str = "strict", overwrite: bool = True
) -> None:
    """Write ``v.npy``, float32, and ``v.words.txt``, a word for each row.

    Raises
    ------
    DataError
        A word does not fit on a line, or the folder does not exist.
    OutputExistsError
        One of the files exists and ``overwrite`` is false.
    """
    target = Path(path)
    words = target.with_name(f"{target.stem}.words.txt")
    lines = b"".join(word + b"\n" for word in encode_words(table.words, errors, "NumPy's array"))
    check_files(target, words, overwrite=overwrite)
    with replacing_files(target.parent, last=target.name) as made:
        save_npy(made / target.name, table.vectors, np.float32)
        (made / words.name).write_bytes(lines)
