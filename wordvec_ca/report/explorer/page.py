"""The page: words, coordinates, neighbours and attention in one HTML file that loads nothing else.

Its template is ``page.html``, and its style sheet is ``style.css``. Its scripts are included in the order of
``SCRIPTS``.
"""

from __future__ import annotations

import functools
import html
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from markupsafe import Markup

from wordvec_ca.errors import install_extra
from wordvec_ca.files import atomic_file
from wordvec_ca.report.explorer.contents import Contents, Model, gather
from wordvec_ca.report.explorer.coordinates import Method
from wordvec_ca.report.explorer.quantised import base64_of
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

WORDS = 100_000
"""Default limit for the number of words on a page."""


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


def explore(
    model: Model,
    other: Model | None = None,
    *,
    words: int = WORDS,
    documents: int | None = None,
    max_megabytes: float | None = None,
    method: Method = "auto",
    seed: int = 1,
    classes: Mapping[str, str] | None = None,
    changed: Mapping[str, bool] | None = None,
    texts: Mapping[str, str] | None = None,
    cache: bool = True,
    vectors: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> Explorer:
    """Return a page with a map of words, their neighbours and attention, for browsers and notebooks.

    Parameters
    ----------
    model : KeyedVectors or path
        The vectors; attention on sentences needs the directory of an attention model.
    other : KeyedVectors or path, optional
        Second model to compare with, on the words that both have.
    words : int
        Show at most this number of words, the most frequent.
    documents : int, optional
        For a model of documents: number of documents to show, evenly spaced; by default 2,000. They are shown
        together with the words, or alone if no vectors of words were trained. Their names are their tags with
        the prefix ``*dt_``.
    max_megabytes : float, optional
        Largest size of the page; fewer words are shown to stay below it.
    method : {'auto', 'tsne', 'pca'}
        Method of the map; 'auto': t-SNE if openTSNE is installed (``pip install 'wordvec-ca[map]'``), or PCA.
    seed : int
        The same seed gives the same map.
    classes : mapping of str to str, optional
        Classes of some words; the map can be coloured by them.
    changed : mapping of str to bool, optional
        For two models: whether each word has changed (`wordvec_ca.change.saved_verdicts`). Without it the
        page shows which neighbours differ, which is also due to chance.
    texts : mapping of str to str, optional
        For a model of documents: the text of each tag. A document is shown with its beginning, and regions
        are named by their typical words.
    cache : bool
        Keep the map for the next time in ``MODEL.cawv-maps``, next to ``model``, if that is a path.
    vectors : str, optional
        For model directories: the form of the vectors, see ``KeyedVectors.load``.
    tell : callable, optional
        Receives lines of progress.

    Returns
    -------
    Explorer

    Raises
    ------
    DataError
        There are fewer than two words with a direction, or a file is damaged.
    ImportError
        The method is t-SNE, but openTSNE is not installed.
    """
    return Explorer(
        gather(
            model,
            other,
            words=words,
            documents=documents,
            max_megabytes=max_megabytes,
            method=method,
            seed=seed,
            classes=classes,
            changed=changed,
            texts=texts,
            cache=cache,
            form=vectors,
            tell=tell,
        )
    )


def _page(contents: Contents) -> str:
    return scripted_page(
        "report/explorer/page.html",
        scripts=[f"report/explorer/{name}" for name in SCRIPTS],
        styles=["report/explorer/style.css"],
        title=contents.title,
        about=json_markup(contents.about),
        words=json_markup(contents.words),
        arrays={name: Markup(base64_of(array)) for name, array in contents.arrays.items()},
    )


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
