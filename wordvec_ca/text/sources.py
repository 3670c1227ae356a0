"""Finds the files of a corpus from paths, directories, patterns, URLs and saved datasets."""

from __future__ import annotations

import glob
import io
import json
import os
import stat
import warnings
from collections.abc import Collection, Iterable
from itertools import chain
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.files import is_read_once, is_url, kind_of, nearest_name, open_by_content
from wordvec_ca.showable import showable_name
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.text.blocks import ReadText
from wordvec_ca.text.remote import expand_url

# Names of files that identify the folders that cawv writes: models, encoded texts, search indexes,
# unfinished runs.
_OURS = ({ModelFile.VECTORS}, {"tokens.i32"}, {"offsets.npy", "text.bin"}, {"run.json", "lock"})

# Number of bytes at the beginning of a file that are examined.
_HEAD = 4096


def find_files(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files that paths, globs and directories refer to.

    Parameters
    ----------
    paths : iterable of path
        Files are returned as they are. For a directory: all files below it in sorted order, without hidden
        ones and, with a warning, without files that are not text or that cawv made. A name
        with ``* ? [`` (``**`` for any depth) is a pattern if no file has that name. ``-`` is standard input,
        at most once. URLs (``s3://bucket/key``) can also be those of directories and patterns. For a
        directory in which Hugging Face ``datasets`` saved a dataset: the files with its rows; if it has
        several splits, the path must name one. If a file is given twice, a warning names it.

    Returns
    -------
    list of str
        At least one.

    Raises
    ------
    DataError
        A path does not exist or cannot be reached, a directory has no files, or a pattern matches nothing.
    """
    given = [os.fspath(path) for path in paths]
    if not given:
        raise DataError("no corpus: give one or more files, directories or patterns, or - for standard input")
    once = [path for path in given if is_read_once(path)]
    if len(set(once)) < len(once):
        raise ValueError("standard input (-) and pipes can be read only once")
    files = [file for path in given for file in _expand(path)]
    seen: set[str] = set()
    for file in files:
        if (whole := file if is_url(file) else os.path.realpath(file)) in seen:
            warnings.warn(
                f"{showable_name(file)!r} is given twice: it is read twice, and its words count twice",
                stacklevel=2,
            )
            break
        seen.add(whole)
    return files


def _expand(path: str) -> list[str]:
    if path == "-":
        return [path]
    if is_url(path) and not os.path.exists(path):
        return expand_url(path)
    try:
        os.stat(path)
    except FileNotFoundError as error:
        if glob.has_magic(path):
            found = sorted(glob.glob(path, recursive=True))
            below = (_files_below(match) if os.path.isdir(match) else [match] for match in found)
            files = list(
                dict.fromkeys(chain.from_iterable(below))
            )  # ** matches both a folder and the files in it
            if files:
                return files
            raise DataError(f"no file matches the pattern {path!r}") from error
        if any(character.isspace() for character in path):
            hint = "; a list of str is a list of paths: to train on lines of text, pass iter(lines)"
        else:
            hint = f".{nearest_name(path)}"
        raise DataError(f"there is no file {path!r}{hint}") from error
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}") from error
    if not os.path.isdir(path):
        return [path]
    files = _files_below(path)
    if not files:
        raise DataError(
            f"the directory {path!r} has no files (hidden ones, and models and caches of cawv, are not read)"
        )
    return files


def _files_below(directory: str) -> list[str]:
    """Return all files in and below a directory, sorted. Links are followed, but each directory is visited
    once.
    """

    def unreadable(error: OSError) -> None:
        raise DataError(f"cannot read the directory {error.filename!r}: {error.strerror}") from error

    files = []
    seen = set()
    n_ours = 0
    for folder, folders, names in os.walk(directory, onerror=unreadable, followlinks=True):
        seen.add(os.path.realpath(folder))
        if _is_ours(names):
            n_ours += 1
            folders.clear()
            continue
        if "dataset_dict.json" in names:
            folders[:] = _splits(folder, names)
            continue
        if {"state.json", "dataset_info.json"} <= set(names) and (rows := _rows_of_dataset(folder)):
            folders.clear()
            files += rows
            continue
        folders[:] = [
            name
            for name in sorted(folders)
            if not name.startswith(".") and os.path.realpath(os.path.join(folder, name)) not in seen
        ]
        files += [os.path.join(folder, name) for name in names if not name.startswith(".")]
    return _without_foreign(directory, sorted(files, key=lambda file: file.split(os.sep)), n_ours)


def _splits(folder: str, names: list[str]) -> list[str]:
    """Return the split of a saved ``DatasetDict``, if it has only one."""
    record = _read_json(os.path.join(folder, "dataset_dict.json"))
    splits = [str(split) for split in record.get("splits", [])]
    if len(splits) != 1:
        raise DataError(
            f"{folder!r} is a DatasetDict with the splits {', '.join(splits)}; give those to read: "
            f"{os.path.join(folder, splits[0] if splits else 'train')}"
        )
    return splits


def _rows_of_dataset(folder: str) -> list[str]:
    """Return the files with the rows of a dataset that ``datasets`` saved, in their order."""
    record = _read_json(os.path.join(folder, "state.json"))
    found = [file.get("filename") for file in record.get("_data_files") or [] if isinstance(file, dict)]
    rows = [os.path.join(folder, os.path.basename(name)) for name in found if isinstance(name, str)]
    for file in rows:
        if not os.path.exists(file):
            raise DataError(
                f"the dataset {folder!r} has no file {file!r}, which its state.json names; save it again"
            )
    return rows


def _read_json(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, RecursionError, ValueError) as error:
        raise DataError(f"cannot read {path!r}: {error}") from error
    return record if isinstance(record, dict) else {}


def is_stream(corpus: object) -> bool:
    """Return True for an open binary file and for `ReadText`."""
    return isinstance(corpus, (io.RawIOBase, io.BufferedIOBase, ReadText))


def _is_ours(names: Collection[str]) -> bool:
    """Return whether a folder with files of these names was made by cawv."""
    return any(marks <= set(names) for marks in _OURS)


def _is_no_text(path: str) -> bool:
    """Return whether a file is certainly not text; the reader reports a file that cannot be opened."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return True  # a pipe or a device would be read for ever
        with open_by_content(path) as stream:
            head = stream.read(_HEAD)
    except (DataError, OSError, ImportError):
        return False
    kind = kind_of(head)
    return b"\0" in head if kind is None else not kind.is_text


def _without_foreign(directory: str, files: list[str], n_ours: int) -> list[str]:
    """Return the files of a folder that may be text, with a warning that counts the others."""
    foreign = [file for file in files if _is_no_text(file)]
    others = set(foreign)
    kept = [file for file in files if file not in others]
    if not kept:
        foreign, kept = [], files
    left_out = [f"{len(foreign):,} files that are not text, the first {foreign[0]!r}"] if foreign else []
    left_out += [f"{n_ours:,} folders that cawv made"] if n_ours else []
    if left_out:
        warnings.warn(f"{directory!r}: left out {' and '.join(left_out)}", stacklevel=2)
    return kept
