"""Stores an encoded corpus on disk, and uses it again if nothing has changed.

A cache directory contains ``tokens.i32`` (int32 ids in native byte order, -1 after each line), ``vocab.tsv``
and ``rare.tsv``, and ``cache.json``, which records what the ids were made from. A cache is used only if it is
complete: each file is complete before it gets its name, and ``cache.json`` is written last. Before a cache is
used, sizes and digests are compared: first digests of both ends of each file, then of its whole content.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus.documents import DocumentStarts, DocumentTags
from wordvec_ca.corpus.options import TextOptions
from wordvec_ca.corpus.sentence_file import MAX_SENTENCE
from wordvec_ca.corpus.stats import CorpusStats, Encoding, begin_fingerprint, digest_vocab
from wordvec_ca.corpus.vocab import Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, is_url, save_json, take_lock, withdraw
from wordvec_ca.kernels import UNICODE_VERSION
from wordvec_ca.showable import has_secrets, showable_name
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.text import (
    TextFiles,
    find_files,
    is_segmenter,
    markup_version,
    segmenter_version,
    url_identity,
)

TOKENS, RECORD = "tokens.i32", "cache.json"

# File with the tags of each document, as JSON, if the records have tags.
TAGS = "documents.tags"

# File with the beginnings of documents of several lines, and then their numbers (int64).
STARTS = "documents.i64"

T = TypeVar("T")

# Version of the ids; to be increased when new code computes other ids for the same text.
CACHE_FORMAT = 4


# Number of attempts to create a folder, since other runs may remove it while it is empty.
ATTEMPTS = 20


def recipe(files: TextFiles | None, options: TextOptions, vocab: Vocab | None) -> dict[str, Any]:
    """Return everything that determines the ids, as JSON values."""
    # The options are listed by hand: some do not affect the ids, and for others a digest or a version is
    # needed.
    phrases = options.loaded_phrases()
    return {
        "format": CACHE_FORMAT,
        "byteorder": sys.byteorder,
        "options": {
            "tokenizer": options.tokenizer,
            "lowercase": bool(options.lowercase),
            "normalize": options.normalize,
            "unicode": UNICODE_VERSION,
            "max_sentence": None if options.documents else MAX_SENTENCE,
            "min_count": options.min_count if vocab is None else None,
            "max_final_vocab": options.max_final_vocab if vocab is None else None,
            "vocab": None if vocab is None else digest_vocab(vocab).hexdigest(),
            "field": list(options.field) if isinstance(options.field, tuple) else options.field,
            "encoding": options.encoding,
            "segmenter": segmenter_version(options.tokenizer) if is_segmenter(options.tokenizer) else None,
            "phrases": None if phrases is None else phrases.digest,
            "markup": markup_version(),
            "documents": [options.tag_field] if options.documents else None,
            "group_by": options.group_by,
            "sessions": [options.order_by, options.test_last] if options.makes_sessions else None,
        },
        "files": identities(files),
    }


def identities(files: TextFiles | None) -> list[dict[str, Any]] | None:
    """Return an identifier of each file of a corpus; None if the files cannot be recognised."""
    if files is None or files.bytes_total is None:
        return None
    return [identity_of(str(file)) for file in files.files]


def difference(before: list[dict[str, Any]] | None, now: list[dict[str, Any]] | None) -> str | None:
    """Return the first file of a corpus that has changed, or None."""
    if before == now:
        return None
    changed = [file["path"] for file in now or [] if file not in (before or [])]
    return f"{changed[0]} has changed or is new" if changed else "the list of files has changed"


# Exceptions that a damaged record raises.
_DAMAGE = (
    *(AttributeError, DataError, KeyError, IndexError, OSError, OverflowError),
    *(RecursionError, TypeError, ValueError),
)


def find(directory: Path, wanted: dict[str, Any]) -> Encoding | str:
    """Return a cached encoding if it is complete and has this recipe; otherwise why it cannot be used."""
    return _read(directory, lambda record: _difference(record["recipe"], wanted) or _whole(directory, record))


def reopen(directory: Path, corpus: Any = None) -> tuple[Encoding, str | None] | str:
    """Return a complete cache and a description of changes in its corpus, or why it cannot be used."""

    def opened(record: dict[str, Any]) -> tuple[Encoding, str | None] | str:
        if record["recipe"]["format"] != CACHE_FORMAT or record["recipe"]["byteorder"] != sys.byteorder:
            return f"the cache in {directory} was made by another version or machine"
        found = _whole(directory, record)
        return found if isinstance(found, str) else (found, _change(record["recipe"]["files"] or [], corpus))

    return _read(directory, opened)


def _read(directory: Path, use: Callable[[dict[str, Any]], T | str]) -> T | str:
    """Return what a function makes of the record of a cache, or why the cache cannot be used."""
    try:
        return use(json.loads((directory / RECORD).read_text("utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no cache in {directory}"
    except _DAMAGE as error:
        return f"the cache in {directory} is damaged: {error}"


def _change(files: list[dict[str, Any]], corpus: Any) -> str | None:
    whole: dict[str, str] | None = None
    for file in files:
        if _is_remote(file["path"]):
            try:
                whole = _whole_names(corpus) if whole is None else whole
                now = identity_of(whole.get(file["path"], file["path"]))
                if any(now[name] != file[name] for name in ("path", "size", "mark")):
                    return f"{file['path']!r} has changed"
            except DataError as error:
                warnings.warn(f"{error}; its text is used as it was read before", stacklevel=2)
            continue
        if not os.path.exists(file["path"]):
            return f"{file['path']!r} has vanished"
        if identity_of(file["path"]) != file:
            return f"{file['path']!r} has changed"
    return None


def _whole_names(corpus: Any) -> dict[str, str]:
    """Return a dict from names in the cache, which omit secrets such as passwords, to full names of files."""
    given = corpus if isinstance(corpus, list | tuple) else [corpus]
    names = [name for name in given if isinstance(name, str) and has_secrets([name])]
    return {showable_name(file): file for file in find_files(names)} if names else {}


def _difference(made: dict[str, Any], wanted: dict[str, Any]) -> str | None:
    if wanted["files"] is None:
        return "the corpus is not made of files that can be recognised"
    for key in ("format", "byteorder"):
        if made[key] != wanted[key]:
            return f"the {key} of the cache was {made[key]!r} and is {wanted[key]!r}"
    for key, value in wanted["options"].items():
        if (was := made["options"].get(key)) != value:
            return f"{key} was {was!r} and is {value!r}"
    return difference(made["files"], wanted["files"])


def _whole(directory: Path, record: dict[str, Any]) -> Encoding | str:
    if _parts(directory) != record["parts"]:
        return f"the cache in {directory} is damaged: its files are not those that were written"
    vocab = Vocab.load_all(directory, *record["raw"])
    options = record["recipe"]["options"]
    digest = begin_fingerprint(vocab, options["tokenizer"], lowercase=options["lowercase"])
    ids = tokens(directory)
    for start in range(0, len(ids), 1 << 22):
        digest.update(ids[start : start + (1 << 22)].data)
    if digest.hexdigest() != record["fingerprint"]:
        return f"the cache in {directory} is damaged: its words or ids are not those that were written"
    stats, starts = CorpusStats(**record["stats"]), None
    if record.get("starts") is not None:
        starts = DocumentStarts(*np.fromfile(directory / STARTS, np.int64).reshape(2, -1))
        if starts.digest != record["starts"]:
            return f"the cache in {directory} is damaged: {STARTS} is not what was written"
    tags = _tags(directory, options.get("documents"), stats.sentences)
    return Encoding(vocab, stats, record["fingerprint"], tags, starts)


def tokens(directory: Path) -> NDArray[np.int32]:
    """Memory-map the ids of a cache."""
    return np.memmap(directory / TOKENS, dtype=np.int32, mode="r")


def _tags(directory: Path, fields: list[str | None] | None, n: int) -> DocumentTags | None:
    """Return the tags of the n documents in a cache; None if its lines are not documents."""
    if fields is None:
        return None
    if fields == [None]:
        return DocumentTags(n)
    with open(directory / TAGS, encoding="utf-8") as file:
        found = DocumentTags.of(json.loads(line) for line in file)
    if found.n_lines != n:
        raise DataError(f"{TAGS} has tags for {found.n_lines} of {n} documents")
    return found


def invalidate(directory: Path) -> None:
    """Invalidate an old cache before one of its files is replaced."""
    withdraw(directory / RECORD)


def complete(
    directory: Path,
    made: dict[str, Any],
    encoding: Encoding,
    tags: Iterable[Any] | None = None,
) -> None:
    """Write the other files of a new cache, whose ``tokens.i32`` exists already."""
    if tags is not None:
        with atomic_file(directory / TAGS, follow_links=False) as file:
            file.writelines(json.dumps(of_line).encode() + b"\n" for of_line in tags)
    if (starts := encoding.starts) is not None:
        with atomic_file(directory / STARTS, follow_links=False) as file:
            file.write(np.concatenate([starts.starts, starts.numbers]).data)
    encoding.vocab.save_all(directory)
    record = {
        "recipe": made,
        "stats": encoding.stats.as_dict(),
        "raw": [encoding.vocab.raw_tokens, encoding.vocab.raw_types],
        "fingerprint": encoding.fingerprint,
        "parts": _parts(directory),
        "starts": None if starts is None else starts.digest,
    }
    save_json(directory / RECORD, record)


def _parts(directory: Path) -> list[dict[str, Any]]:
    """Return identifiers of the two large files. They stay the same if the directory is copied or moved."""
    parts = [identity_of(os.fspath(directory / name)) for name in (TOKENS, ModelFile.VOCAB)]
    return [{key: part[key] for key in ("size", "ends")} for part in parts]


def identity_of(path: str) -> dict[str, Any]:
    """Return values that change when a file changes: its size, its time and a digest of both ends."""
    # For a remote file, return the identifier from its server.
    if _is_remote(path):
        return url_identity(path)
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            ends = file.read(1 << 16)
            file.seek(max(0, status.st_size - (1 << 16)))
            ends += file.read(1 << 16)
    except OSError as error:
        raise DataError(f"cannot read {path!r}: {error.strerror or error}") from error
    return {
        "path": os.path.abspath(path),
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "ends": hashlib.blake2b(ends, digest_size=16).hexdigest(),
    }


def _is_remote(path: str) -> bool:
    return is_url(path) and not os.path.exists(path)


def nameless_file(directory: Path) -> IO[bytes]:
    """Open a temporary file that the system removes when the process ends, even if it is killed."""
    # The folder is created if necessary, since another run that uses the same folder may just have removed
    # it.
    for attempt in range(ATTEMPTS):
        try:
            directory.mkdir(parents=True, exist_ok=True)
            return tempfile.TemporaryFile(dir=directory)
        except (FileNotFoundError, FileExistsError):  # another run removed the folder
            if attempt == ATTEMPTS - 1 or directory.exists():
                raise
    raise AssertionError("the last attempt raises")


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Wait until no other process has locked a cache, then lock it: several runs may use one directory."""
    # The lock is held until the tokens are mapped. If another run replaces the files later, the map stays
    # valid.
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:  # Windows opens no folders, and has no such locks
        yield
        return
    try:
        began, told = time.monotonic(), False
        while take_lock(descriptor) is False:
            if not told and time.monotonic() - began > 2.0:
                told = True
                warnings.warn(f"another run is using the cache in {str(directory)!r}: waiting", stacklevel=3)
            time.sleep(0.05)
        if os.fstat(descriptor).st_nlink == 0:  # removed before it was locked: lock a new folder
            directory.mkdir(parents=True, exist_ok=True)
            with locked(directory):
                yield
        else:
            yield
    finally:
        os.close(descriptor)


def _remove_empty(directory: Path) -> None:
    """Remove an empty folder, unless another run has locked it in order to write there."""
    with suppress(OSError), ExitStack() as stack:
        with suppress(OSError):  # Windows opens no folders, and has no such locks
            descriptor = os.open(directory, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            if take_lock(descriptor) is False:
                return
        directory.rmdir()


@contextmanager
def directory_for(path: Path) -> Iterator[Path]:
    """Create a directory if necessary; remove it at the end if it is empty."""
    made = not path.is_dir()
    try:
        nameless_file(path).close()
    except OSError as error:
        raise DataError(
            f"cannot write to the cache directory {str(path)!r}: {error.strerror or error}"
        ) from error
    try:
        yield path
    finally:
        if made:
            _remove_empty(path)


@contextmanager
def explaining_full_disk(directory: Path, bytes_needed: Callable[[], int | None]) -> Iterator[None]:
    """Replace the error of a full disk by one that says how much space is needed."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        needed = bytes_needed()
        about = f"about {needed:,} bytes are needed" if needed else "up to 8 bytes a token are needed"
        raise DataError(
            f"cannot write the encoded corpus to {str(directory)!r}: {error.strerror}; {about} and "
            f"{shutil.disk_usage(directory).free:,} are free there; make room or set another cache directory"
        ) from error
