"""The report of a run: one HTML page that explains a model directory and loads nothing from elsewhere.

Each section is a function that returns its content as plain data; ``page.html`` turns that into HTML, and
``style.css`` sets colours and layout. Words and names may contain markup, so Jinja escapes every string that
is not ``Markup``. Before that, control characters are made visible.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.models import History, read_config, read_record
from wordvec_ca.report.attention import attention
from wordvec_ca.report.facts import details, reproduction
from wordvec_ca.report.neighbours import document_table, neighbour_tables
from wordvec_ca.report.run import summary, training_figures
from wordvec_ca.report.vocabulary import vocabulary
from wordvec_ca.report.wording import visible
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.vectors import COVERAGE, KeyedVectors


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
    templates = Environment(
        loader=PackageLoader("wordvec_ca.report", ""),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    source, _, _ = templates.loader.get_source(templates, "style.css")  # type: ignore[union-attr]
    return templates.get_template("page.html").render(
        name=folder.resolve().name,
        explorer=_explorer(folder, place),
        version=__version__,
        style=Markup(source),
        config=config,
        summary=summary(record, config, len(vectors)),
        training=training_figures(History.load(folder / ModelFile.HISTORY)),
        vocabulary=vocabulary(vectors, record, config),
        attention=attention(folder, vectors, config) if config.spec.attends else None,
        coverage="" if vectors.resamples is None else f"{COVERAGE[0]:.0%} to {COVERAGE[1]:.0%}",
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
