"""The formats that vectors come in: recognised by content when read, chosen by name or suffix when "
"written.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

from wordvec_ca.compressed_file import compression_suffix, open_by_content
from wordvec_ca.errors import DataError
from wordvec_ca.vector_table import (
    VectorTable,
    check_unique,
    keep_first,
    show_word,
    warn_of_nonfinite,
)

READABLE = ("model", "word2vec", "word2vec-binary", "glove", "gensim", "safetensors", "projector")
WRITABLE = ("word2vec", "word2vec-binary", "glove", "gensim", "safetensors", "projector")
SUFFIXES = {
    ".txt": "word2vec",
    ".vec": "word2vec",
    ".w2v": "word2vec",
    ".bin": "word2vec-binary",
    ".glove": "glove",
    ".kv": "gensim",
    ".safetensors": "safetensors",
    ".projector": "projector",
}
ERRORS = ("strict", "surrogateescape", "replace", "ignore")


def detect_format(path: str | os.PathLike[str]) -> str:
    """Return which of ``READABLE`` a file or folder is, from its content alone.

    Raises
    ------
    DataError
        It does not exist or is none of them; the message says what it looks like instead.
    """
    from wordvec_ca import model_directory, projector_format, text_format

    place = Path(path)
    if place.is_dir():
        if projector_format.is_projector_folder(place):
            return "projector"
        if (place / model_directory.VECTORS).exists() or (place / model_directory.VOCAB).exists():
            return "model"
        raise DataError(
            f"{place} is a folder but not a model directory: it has neither {model_directory.VECTORS} nor "
            f"{model_directory.VOCAB}"
        )
    if not place.exists():
        raise DataError(f"{place} does not exist; give a model directory or a file of vectors")
    with open_by_content(place) as stream:
        head = stream.read(1 << 16)
        while b"\n" not in head[:-1] and len(head) < (1 << 22):  # a line of many dimensions can be long
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
    for magic, what in _STRANGERS.items():
        if head.startswith(magic):
            raise DataError(f"{place} is {what}")
    first, _, rest = head.partition(b"\n")
    sizes = text_format.parse_header(first)
    if sizes is not None:
        line, newline, _ = rest.partition(b"\n")
        whole = bool(newline) or len(head) < (1 << 16)
        if sizes[0] == 0 or _is_text_line(line, sizes[1], whole):
            return "word2vec"
        return "word2vec-binary"
    n_numbers = text_format.numbers_in(first)
    if n_numbers > 1:
        return "glove"
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


_STRANGERS = {
    b"\x93NUMPY": "a bare NumPy array without words; give the model directory or .kv file it belongs to",
    b"PK\x03\x04": "a zip archive (or a PyTorch file); unpack it and give the file of vectors within",
    b"\xba\x16\x4f\x2f": "a fastText .bin model; give the .vec file that fastText writes beside it",
    b"\x89HDF": "an HDF5 file; convert the vectors to word2vec text or safetensors first",
}


def _is_text_line(line: bytes, vector_size: int, whole: bool) -> bool:
    """Return whether a line is a word and ``vector_size`` numbers (or their beginning, if not whole)."""
    fields = line.split()
    if not whole:
        fields = fields[:-1]  # the last one may be cut
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
) -> VectorTable:
    """Read vectors in any format.

    Parameters
    ----------
    path : path-like
        A model directory, a file (the text formats and word2vec binary also compressed with gzip, bzip2, xz
        or zstd) or a folder with a projector pair.
    format : str
        ``'auto'`` to look at the content, or one of ``READABLE``.
    errors : {'strict', 'surrogateescape', 'replace', 'ignore'}
        What to do with words that are not UTF-8, see ``read_text``.
    duplicates : {'refuse', 'first'}
        What to do with repeated words: refuse the file, or keep the first of each and warn.

    Returns
    -------
    VectorTable

    Raises
    ------
    DataError
        The file is missing, damaged, or in none of the formats.
    ValueError
        An argument has an unknown value.

    Warns
    -----
    UserWarning
        Some vectors hold NaN or infinity (for formats that are memory-mapped this comes with the first
        similarity instead), or repeated words were left out.
    """
    if format not in ("auto", *READABLE):
        raise ValueError(f"format is {format!r}; known are 'auto', {', '.join(map(repr, READABLE))}")
    if errors not in ERRORS:
        raise ValueError(f"errors is {errors!r}; known are {', '.join(map(repr, ERRORS))}")
    if duplicates not in ("refuse", "first"):
        raise ValueError(f"duplicates is {duplicates!r}; known are 'refuse' and 'first'")
    place = Path(path)
    if format == "auto" or not place.exists():
        format = detect_format(place)  # noqa: A001
    if (format in ("model", "projector")) != place.is_dir():
        raise DataError(
            f"{place} is a {'folder' if place.is_dir() else 'file'}, so it is not of the format {format!r}"
        )
    first_line = None
    if format == "model":
        from wordvec_ca.model_directory import read_model_directory

        return read_model_directory(place)
    if format == "gensim":
        from wordvec_ca.gensim_format import read_gensim

        table = read_gensim(place)
    elif format == "safetensors":
        from wordvec_ca.safetensors_format import read_safetensors

        table = read_safetensors(place)
    elif format == "projector":
        from wordvec_ca.projector_format import read_projector

        table = read_projector(place, errors=errors)
        first_line = 1 + (table.counts is not None)
    elif format == "word2vec-binary":
        from wordvec_ca.binary_format import read_binary

        table = read_binary(place, errors=errors)
    else:
        from wordvec_ca.text_format import read_text

        table = read_text(place, header=format == "word2vec", errors=errors)
        first_line = 2 if format == "word2vec" else 1
    if duplicates == "first":
        table = keep_first(table, str(place))
    else:
        check_unique(table.words, str(place), first_line)
    if format not in ("gensim", "safetensors"):
        warn_of_nonfinite(table.words, table.vectors, str(place))
    return table


def format_of_suffix(path: str | os.PathLike[str]) -> str:
    """Return the format that the name of an output file asks for; a last ``.gz`` or the like is passed over.

    Raises
    ------
    ValueError
        The suffix is not known.
    """
    place = Path(path)
    suffix = (place.with_suffix("") if compression_suffix(place) else place).suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(f"{suffix} {name}" for suffix, name in SUFFIXES.items())
        raise ValueError(
            f"cannot tell the format from the name {str(path)!r}; say which one (--format), or use a suffix: "
            f"{known}"
        )
    return SUFFIXES[suffix]


def _writable(word: str, format: str, errors: str) -> bool:  # noqa: A002
    """Return whether a word can stand in a format."""
    from wordvec_ca.text_format import encode_words

    if format in ("gensim", "safetensors"):
        return True
    try:
        # the projector escapes white space and takes the empty word; only the encoding can fail
        encode_words(["x" + _SPACE.sub("", word) if format == "projector" else word], errors, format)
    except DataError:
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
    overwrite: bool = True,
) -> int:
    """Write vectors, block by block and all or nothing.

    Parameters
    ----------
    table : VectorTable
    path : path-like
        The file; for the format projector, a folder; for gensim the array goes to ``path + ".vectors.npy"``.
        Text and word2vec binary are compressed if the path ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
    format : str, optional
        One of ``WRITABLE``; by the suffix of ``path`` if not given.
    errors : {'strict', 'surrogateescape', 'replace', 'ignore'}
        What to do with words that hold lone surrogates, in the formats that keep words as UTF-8: refuse
        them, turn those made by ``errors='surrogateescape'`` in reading back into the original bytes, or
        spoil them.
    unwritable : {'refuse', 'skip'}
        What to do with words that the format cannot hold (white space or nothing at all in text and binary;
        what ``errors`` refuses): write nothing, or leave them out and warn.
    overwrite : bool
        Whether existing files may be replaced.

    Returns
    -------
    int
        How many words were written.

    Raises
    ------
    DataError
        A word cannot stand in the format, or the path cannot be written.
    ImportError
        The format is gensim, which is not installed.
    ValueError
        An argument has an unknown value.

    Warns
    -----
    UserWarning
        Words were left out.
    """
    chosen = format or format_of_suffix(path)
    if chosen not in WRITABLE:
        raise ValueError(f"format is {chosen!r}; known are {', '.join(map(repr, WRITABLE))}")
    if errors not in ERRORS:
        raise ValueError(f"errors is {errors!r}; known are {', '.join(map(repr, ERRORS))}")
    if unwritable not in ("refuse", "skip"):
        raise ValueError(f"unwritable is {unwritable!r}; known are 'refuse' and 'skip'")
    if compression_suffix(path) and chosen not in ("word2vec", "word2vec-binary", "glove"):
        raise DataError(
            f"{path}: the format {chosen} cannot be compressed; choose a name without this suffix"
        )
    if unwritable == "skip":
        table = _only_writable(table, chosen, errors)
    if chosen in ("word2vec", "glove"):
        from wordvec_ca.text_format import write_text

        write_text(table, path, header=chosen == "word2vec", errors=errors, overwrite=overwrite)
    elif chosen == "word2vec-binary":
        from wordvec_ca.binary_format import write_binary

        write_binary(table, path, errors=errors, overwrite=overwrite)
    elif chosen == "gensim":
        from wordvec_ca.gensim_index import write_gensim

        write_gensim(table, path, overwrite=overwrite)
    elif chosen == "safetensors":
        from wordvec_ca.safetensors_format import write_safetensors

        write_safetensors(table, path, overwrite=overwrite)
    else:
        from wordvec_ca.projector_format import write_projector

        write_projector(table, path, errors=errors, overwrite=overwrite)
    return len(table.words)


def _only_writable(table: VectorTable, format: str, errors: str) -> VectorTable:  # noqa: A002
    """Return the table without the words that a format cannot hold, with a warning that counts them."""
    kept = [row for row, word in enumerate(table.words) if _writable(word, format, errors)]
    n_left_out = len(table.words) - len(kept)
    if not n_left_out:
        return table
    first = next(word for word in table.words if not _writable(word, format, errors))
    warnings.warn(
        f"{n_left_out} of {len(table.words)} words left out, which the format {format} cannot hold (the "
        f"first is {show_word(first)})",
        stacklevel=3,
    )
    counts = None if table.counts is None else table.counts[kept]
    return VectorTable([table.words[row] for row in kept], table.vectors[kept], counts, table.metadata)
