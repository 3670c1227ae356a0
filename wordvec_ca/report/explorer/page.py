"""The page: words, coordinates, neighbours and attention in one HTML file that loads nothing else.

Its template is ``page.html``, and its style sheet is ``style.css``. Its scripts are included in the order of
``SCRIPTS``.
"""

from __future__ import annotations

import base64
import functools
import html
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from markupsafe import Markup

from wordvec_ca.errors import install_extra
from wordvec_ca.files import atomic_file
from wordvec_ca.report.explorer.coordinates import WordMap
from wordvec_ca.report.explorer.regions import Region
from wordvec_ca.report.single_file import json_markup, scripted_page

SCRIPTS = (
    "vectors.js",
    "words.js",
    "attention.js",
    "colours.js",
    "map.js",
    "panels.js",
    "search.js",
    "start.js",
)


def base64_of(array: np.ndarray) -> str:
    """Return the bytes of an array, little-endian, as base64."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return base64.b64encode(little.tobytes()).decode("ascii")


class Contents(NamedTuple):
    """The words of an explorer, with all that the page shows about them."""

    # The names of the models, for the title of the page.
    title: str
    # Most frequent first.
    words: list[str]
    # One for each model.
    maps: list[WordMap]
    # The regions of each map.
    regions: list[list[Region]]
    # Facts for the page.
    about: dict[str, Any]
    # Data of each word for the page.
    arrays: dict[str, np.ndarray]


class Explorer:
    """A map of words, which a notebook displays.

    Attributes
    ----------
    n_words : int
    kept : float
        The share of a word's 20 nearest words that are also among its 20 nearest on the map.
    method : str
        How the map was made: ``'tsne'`` or ``'pca'``.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.n_words = len(contents.words)
        self.kept, self.method = contents.maps[0].kept, contents.maps[0].method

    @property
    def shown_kept(self) -> str:
        """How much of the neighbourhoods the map keeps, and what is usual, for people."""
        # both measured with this project's t-SNE: the text of `cawv demo`, and 12 million words of Wikipedia
        return (
            f"keeps {self.kept:.1%} of the 20 nearest words of a word; a plane has no room for all: usual "
            "are 30 % among 12,000 words, 16 % among 65,000"
        )

    @functools.cached_property
    def html(self) -> str:
        """The page, to be written in UTF-8."""
        return _page(self._contents)

    @property
    def shown_method(self) -> str:
        """How the map was made: the method's usual spelling."""
        return {"tsne": "t-SNE", "pca": "PCA"}[self.method]

    def __repr__(self) -> str:
        made = f"map by {self.shown_method}, keeps {self.kept:.1%} of neighbours"
        return f"Explorer({self.n_words:,} words, {made})"

    def _repr_html_(self) -> str:
        """Return the page in a sandboxed frame, which cannot access the notebook."""
        return (
            '<iframe style="width:100%;height:720px;border:1px solid #8884;border-radius:8px" '
            'sandbox="allow-scripts allow-downloads" title="words" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def save(
        self, path: str | os.PathLike[str], *, overwrite: bool = True, follow_links: bool = True
    ) -> None:
        """Write the page to a file, atomically, or a table if the file's name ends in ``.parquet``.

        The table has a row for each word: ``word``, ``count``, ``x``, ``y``, ``region``, ``neighbors``
        (``ids``, rows from 0, and ``distances``, one minus the cosines); for a second model the same columns
        with the suffix ``_other``, and ``change``, the share of neighbours that differ. embedding-atlas and
        others read it.

        Parameters
        ----------
        path : path-like
        overwrite : bool
        follow_links : bool
            Whether a symbolic link of that name is followed; if not, the file replaces the link.

        Raises
        ------
        OutputExistsError
            The file exists and ``overwrite`` is false.
        ImportError
            A table is to be written, but pyarrow is not installed.
        """
        with atomic_file(path, overwrite=overwrite, follow_links=follow_links) as file:
            if Path(path).suffix == ".parquet":
                write_table(self._contents, file)
            else:
                file.write(self.html.encode("utf-8"))


def _page(contents: Contents) -> str:
    return scripted_page(
        "report/explorer/page.html",
        scripts=[f"report/explorer/{name}" for name in SCRIPTS],
        styles=["report/explorer/style.css"],
        title=contents.title,
        noun=contents.about["noun"],
        about=json_markup(contents.about),
        words=json_markup(contents.words),
        arrays={name: Markup(base64_of(array)) for name, array in contents.arrays.items()},
    )


def write_table(contents: Contents, file: BinaryIO) -> None:
    """Write a row for each word: ``word``, ``x``, ``y``, ``neighbors`` and other columns."""
    # ``neighbors`` has ``ids``, the numbers of rows from 0, and ``distances``, one minus the cosines; the
    # nearest comes first. The names of a second model's columns end in ``_other``. Characters of a word
    # that UTF-8 cannot encode are written as escapes.
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
