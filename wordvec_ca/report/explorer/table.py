"""Words, coordinates and neighbours as a Parquet table, which embedding-atlas and others read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from wordvec_ca.errors import install_extra
from wordvec_ca.report.explorer.contents import Contents


def write_table(contents: Contents, file: BinaryIO) -> None:
    """Write a row for each word: ``word``, ``x``, ``y``, ``neighbors`` and other columns.

    ``neighbors`` has ``ids``, the numbers of rows from 0, and ``distances``, one minus the cosines; the
    nearest comes first. The names of a second model's columns end in ``_other``. Characters of a word that
    UTF-8 cannot encode are written as escapes.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"a Parquet table needs pyarrow: {install_extra('parquet')}") from error
    parquet.write_table(pyarrow.table(dict(_columns(contents, pyarrow))), file, compression="zstd")


def _columns(contents: Contents, pyarrow: Any) -> Iterator[tuple[str, Any]]:
    arrays = contents.arrays
    words = [word.encode("utf-8", "backslashreplace").decode("utf-8") for word in contents.words]
    yield "word", words
    if "counts" in arrays:
        yield "count", arrays["counts"]
    for number, (made, found) in enumerate(zip(contents.maps, contents.regions, strict=True)):
        end = "_other" if number else ""
        yield f"x{end}", made.places[:, 0]
        yield f"y{end}", made.places[:, 1]
        names = [" · ".join(words[row] for row in region.rows) for region in found if region.level == 0]
        labels = arrays[f"region{number}"][0].tolist() if names else [0] * len(words)
        of_words = [names[label] if label < len(names) else None for label in labels]
        yield f"region{end}", pyarrow.array(of_words, pyarrow.string())  # all null if there is no region
        n_words, topn = made.graph.rows.shape
        ends = (
            np.arange(0, n_words * topn + 1, topn, dtype=np.int32)
            if topn
            else np.zeros(n_words + 1, np.int32)
        )
        lists = [made.graph.rows.ravel(), 1 - made.graph.cosines.ravel()]
        yield (
            f"neighbors{end}",
            pyarrow.StructArray.from_arrays(
                [pyarrow.ListArray.from_arrays(ends, pyarrow.array(values)) for values in lists],
                names=["ids", "distances"],
            ),
        )
    if "change" in arrays:
        yield "change", arrays["change"] / np.float32(255)
    if "classes" in arrays:
        names = contents.about["classes"]
        yield "class", [names[kind] if kind >= 0 else None for kind in arrays["classes"].tolist()]
