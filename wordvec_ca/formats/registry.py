"""Recognises formats of vectors by content for reading, and chooses them by name or suffix for writing."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError, Option, known_names
from wordvec_ca.files import compression_suffix, kind_of, open_by_content
from wordvec_ca.formats.csv_table import is_csv_table
from wordvec_ca.formats.zip_archive import unpacked
from wordvec_ca.specs.formats import (
    CARDS,
    FORMATS,
    READABLE,
    SMALLER,
    SUFFIXES,
    WRITABLE,
    VectorFormat,
    format_named,
)
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.tables import (
    CutOffError,
    VectorTable,
    check_unique,
    first_words,
    keep_first,
    show_word,
    warn_of_nonfinite,
)

ERRORS = ("strict", "surrogateescape", "replace", "ignore")


def detect_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file or folder, one of ``READABLE``, from its content alone.

    Raises
    ------
    DataError
        The path does not exist or has none of these formats. The message says what it seems to be.
    """
    from wordvec_ca.formats import text as text_format

    place = Path(path)
    if place.is_dir():
        return _folder_format(place)
    if not place.exists():
        raise DataError(f"{place} does not exist; give a model directory or a file of vectors")
    with open_by_content(place) as stream:
        head = stream.read(1 << 16)
        while b"\n" not in head[:-1] and len(head) < (1 << 22):  # a line with many dimensions is long
            more = stream.read(1 << 16)
            if not more:
                break
            head += more
    if not head:
        raise DataError(f"{place} is empty; expected vectors")
    if head[0] == 0x80 and 2 <= head[1] <= 5:
        return "gensim"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= place.stat().st_size - 8:
        return "safetensors"
    if head[6:9] == b"\0\0{":
        promised = int.from_bytes(head[:8], "little")
        raise CutOffError(
            f"{place}: it begins as a safetensors file with a header of {promised} bytes, but has only "
            f"{place.stat().st_size}; it is cut off"
        )
    for one in FORMATS:
        if one.magic and head.startswith(one.magic):
            return one.name
    kind = kind_of(head)
    if kind is not None and kind.as_vectors:
        raise DataError(f"{place} is {kind.name}; {kind.as_vectors}")
    if kind is not None and kind.encoding:
        code = kind.encoding.upper()
        raise DataError(f"{place} is in {code}; convert it: iconv -f {code} -t UTF-8 < OLD > NEW")
    text_format.check_line_ends(head, str(place))
    whole_head, head = head, text_format.without_comments(head)
    first, _, rest = head.partition(b"\n")
    if rest.startswith(text_format.BASE64) and not first.startswith(text_format.BASE64):
        return "word2vec"
    sizes = text_format.parse_header(first)
    if sizes is not None:
        line, newline, _ = rest.partition(b"\n")
        whole = bool(newline) or len(head) < (1 << 16)
        if sizes[0] == 0 or _is_text_line(line, sizes[1], whole) or text_format.is_printable(rest[:4096]):
            return "word2vec"
        return "word2vec-binary"
    if re.fullmatch(rb"(\d+ ){6}\S+ \S+\s*", first):
        raise DataError(
            f"{place} is a table of floret, with rows for any string and no list of words; spaCy reads it: "
            "spacy init vectors --mode floret"
        )
    first = first.removeprefix(text_format.BOM)
    if is_csv_table(head) or is_csv_table(whole_head):  # ";0;1;2" names columns; it is not a comment
        return "csv"
    n_numbers = text_format.numbers_in(first)
    if n_numbers > 1:
        return "glove"
    if strange := text_format.strangeness(first):
        raise DataError(f"{place}, line 1: {strange}")
    if n_numbers == 1:
        raise DataError(
            f"{place} has a word and one number in line 1, which looks like counts rather than vectors; if "
            "these are vectors of size 1, say so with format='glove' (cawv export --from glove)"
        )
    raise DataError(
        f"{place}: not vectors in any known format: the first line is {show_word(first[:200])}. Expected a "
        "header 'n_words vector_size' (word2vec), a word and numbers (GloVe), a gensim or safetensors file, "
        "or a model directory"
    )


def _folder_format(place: Path) -> str:
    """Return the format of a folder, one of ``READABLE``."""
    from wordvec_ca.formats.projector import is_projector_folder
    from wordvec_ca.formats.spacy_pipeline import is_spacy_folder
    from wordvec_ca.formats.static_embedding import is_static_folder, static_folder_library

    if is_projector_folder(place):
        return "projector"
    if (place / ModelFile.VECTORS).exists() or (place / ModelFile.VOCAB).exists():
        return "model"
    if is_static_folder(place):
        return static_folder_library(place) or "huggingface"
    if is_spacy_folder(place):
        return "spacy"
    if inside := sorted(path.name for path in place.glob("*.kv")):  # of cawv change --save-models
        raise DataError(f"{place} is a folder that holds {', '.join(inside[:10])}; give these")
    raise DataError(
        f"{place} is a folder but not a model directory: it has neither {ModelFile.VECTORS} nor "
        f"{ModelFile.VOCAB}"
    )


def _is_text_line(line: bytes, vector_size: int, whole: bool) -> bool:
    """Return whether a line is a word and ``vector_size`` numbers, or the beginning of such a line."""
    fields = line.split()
    if not whole:
        fields = fields[:-1]  # the last one may be cut off
        if len(fields) < 2:
            return False
        fields = [*fields[:1], *fields[1 : vector_size + 1]]
    try:
        for field in fields[-vector_size:] if whole else fields[2:]:
            float(field)
    except ValueError:
        return False
    return not whole or len(fields) >= vector_size


def read_vectors(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002
    errors: str = "strict",
    duplicates: str = "refuse",
    vectors: str | None = None,
) -> VectorTable:
    """Read vectors in any format.

    Parameters
    ----------
    path : path-like
        A model directory, a file (the text formats and word2vec binary also compressed with gzip, bzip2, xz
        or zstd; all also as the one member of a zip archive, or as ``archive.zip:member``), or a folder with
        a projector pair, or for sentence-transformers, model2vec or the Hub.
    format : str
        ``'auto'`` to recognise the format by content, or one of ``READABLE``.
    errors : {'strict', 'surrogateescape', 'replace', 'ignore'}
        What to do with words that are not UTF-8, see ``read_text``.
    duplicates : {'refuse', 'first'}
        What to do with repeated words: raise an error, or keep the first occurrence and warn.
    vectors : str, optional
        For a model directory: the form of the vectors, one of ``VECTOR_FORMS``; by default the published one.

    Returns
    -------
    VectorTable

    Raises
    ------
    DataError
        The file is missing, damaged, or in none of the formats, or lacks the matrices of the form.
    ValueError
        An argument has an unknown value.

    Warns
    -----
    UserWarning
        Some vectors contain NaN or infinity (in memory-mapped formats, this warning comes only with the first
        similarity), or repeated words were left out.
    """
    if format not in ("auto", *READABLE):
        raise ValueError(f"format is {format!r}; known are 'auto', {known_names(format, READABLE, repr)}")
    if errors not in ERRORS:
        raise ValueError(f"errors is {errors!r}; known are {', '.join(map(repr, ERRORS))}")
    if duplicates not in ("refuse", "first"):
        raise ValueError(f"duplicates is {duplicates!r}; known are 'refuse' and 'first'")
    with unpacked(path) as place:
        if format == "auto" or not place.exists():
            format = detect_format(place)  # noqa: A001
        if (format == "model" or format_named(format).folder) != place.is_dir():
            kind = "folder" if place.is_dir() else "file"
            raise DataError(f"{place} is a {kind}, so it is not of the format {format!r}")
        if format == "model":
            from wordvec_ca.formats.model_directory import read_model_directory

            return read_model_directory(place, vectors)
        if vectors is not None:
            raise DataError(
                f"{place} holds vectors of one form ({format}): only a model directory gives others, ",
                Option("vectors", vectors),
            )
        one = format_named(format)
        assert one.read is not None
        table: VectorTable = _call(one.read, place, **one.read_given, errors=errors)
        if duplicates == "first":
            table = keep_first(table, str(place))
        else:
            check_unique(table.words, str(place), table.first_line or one.first_line)
        if not one.mapped:
            warn_of_nonfinite(table.words, table.vectors, str(place))
        return table


def _call(name: str, *args: Any, **options: Any) -> Any:
    """Import a module of this package, and call its ``MODULE.FUNCTION`` with those options that it has."""
    module, _, function = name.partition(".")
    called = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    known = inspect.signature(called).parameters
    return called(*args, **{option: value for option, value in options.items() if option in known})


def format_of_suffix(path: str | os.PathLike[str]) -> str:
    """Return the format that the suffix of an output file selects; a suffix such as ``.gz`` is ignored."""
    place = Path(path)
    suffix = (place.with_suffix("") if compression_suffix(place) else place).suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(f"{suffix} {name}" for suffix, name in SUFFIXES.items())
        raise ValueError(
            f"cannot tell the format from the name {str(path)!r}; use one of these suffixes: {known}"
        )
    return SUFFIXES[suffix]


def _writable(word: str, one: VectorFormat, errors: str) -> bool:
    """Return whether a word can be written in a format."""
    from wordvec_ca.formats.text import encode_words

    if one.words == "any":
        return True
    if any(piece in word if piece else not word for piece in one.no_words):
        return False
    try:
        if one.words == "UTF-8":
            word.encode("utf-8")
        else:
            escaped = "x" + _SPACE.sub("", word) if one.words == "escaped line" else word
            encode_words([escaped], errors, one.name)
    except (DataError, UnicodeEncodeError):
        return False
    return True


_SPACE = re.compile(r"[ \t\n\r\v\f]")


def write_vectors(
    table: VectorTable,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    errors: str = "strict",
    unwritable: str = "refuse",
    dtype: str = "float32",
    max_words: int | None = None,
    evaluation: list[dict[str, Any]] | None = None,
    overwrite: bool = True,
) -> int:
    """Write vectors block by block, completely or not at all.

    Parameters
    ----------
    table : VectorTable
    path : path-like
        The file, or the folder; for gensim the array goes to ``path + ".vectors.npy"``.
        Text and word2vec binary are compressed if the path ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    format : str, optional
        One of ``WRITABLE``; by the suffix of ``path`` if not given.
    errors : {'strict', 'surrogateescape', 'replace', 'ignore'}
        What to do with words that contain lone surrogates, in the formats that store words as UTF-8: raise an
        error, restore the original bytes (of words read with ``errors='surrogateescape'``), or replace or
        drop the surrogates.
    unwritable : {'refuse', 'skip'}
        What to do with words that the format cannot store (in text and binary: empty words and words with
        white space; also words that ``errors`` refuses): write nothing, or leave them out and warn.
    dtype : {'float32', 'float16', 'int8'}
        Type of the stored vectors, in the formats of ``SMALLER``.
    max_words : int, optional
        Write only the first words, which by convention are the most frequent.
    evaluation : list of dict, optional
        Reports for the model card, in the formats of ``CARDS``, as ``cawv eval --json`` writes them.
    overwrite : bool
        Whether existing files may be replaced.

    Returns
    -------
    int
        Number of words written.

    Raises
    ------
    DataError
        A word cannot be written in the format, or the path cannot be written.
    ImportError
        The format is gensim's or spaCy's, which is not installed.
    ValueError
        An argument has an unknown value.

    Warns
    -----
    UserWarning
        Words were left out.
    """
    chosen = format or format_of_suffix(path)
    if chosen not in WRITABLE:
        raise ValueError(f"format is {chosen!r}; known are {known_names(chosen, WRITABLE, repr)}")
    if errors not in ERRORS:
        raise ValueError(f"errors is {errors!r}; known are {', '.join(map(repr, ERRORS))}")
    if unwritable not in ("refuse", "skip"):
        raise ValueError(f"unwritable is {unwritable!r}; known are 'refuse' and 'skip'")
    one = format_named(chosen)
    if compression_suffix(path) and not one.compressible:
        raise DataError(
            f"{path}: the format {chosen} cannot be compressed; choose a name without this suffix"
        )
    if dtype != "float32" and dtype not in one.dtypes:
        holders = [name for name, dtypes in SMALLER.items() if dtype in dtypes]
        if not holders:
            raise ValueError(f"dtype is {dtype!r}; known are 'float32', 'float16' and 'int8'")
        raise DataError(f"the format {chosen} does not hold {dtype}; these do: {', '.join(holders)}")
    if evaluation is not None and not one.card:
        raise DataError(
            f"the format {chosen} has no model card for an evaluation; these have: {', '.join(CARDS)}"
        )
    if max_words is not None:
        table = first_words(table, max_words)
    if unwritable == "skip":
        table = _only_writable(table, one, errors)
    assert one.write is not None
    place = Path(path) if one.folder else path
    given = {"errors": errors, "dtype": dtype, "evaluation": evaluation, "overwrite": overwrite}
    _call(one.write, table, place, **one.write_given, **given)
    return len(table.words)


def _only_writable(table: VectorTable, one: VectorFormat, errors: str) -> VectorTable:
    """Return the table without the words that a format cannot store, and warn how many they are."""
    kept = np.array([row for row, word in enumerate(table.words) if _writable(word, one, errors)], np.int64)
    n_left_out = len(table.words) - len(kept)
    if not n_left_out:
        return table
    first = next(word for word in table.words if not _writable(word, one, errors))
    warnings.warn(
        f"{n_left_out} of {len(table.words)} words left out, which the format {one.name} cannot hold (the "
        f"first is {show_word(first)})",
        stacklevel=3,
    )
    return table.rows(kept)
