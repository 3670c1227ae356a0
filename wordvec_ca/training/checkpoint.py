"""Checkpoints: all that a run needs to go on from between two chunks, in one file that is whole or not there.

A checkpoint is an uncompressed zip archive, as NumPy's .npz::

    state.json   where the run stands, its options, and what it must be continued with
    vocab.tsv    word TAB count, as in a model directory
    *.npy        the parameters, padded as in memory

The archive's CRC-32 sums tell a whole file from a damaged one. Of a run's checkpoints the last two are kept,
and an older one goes only when a newer one is on the disk.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from wordvec_ca.errors import DataError, Option, OptionError
from wordvec_ca.files import atomic_file, read_npy_header, write_npy

if TYPE_CHECKING:
    from wordvec_ca.models import EmbeddingModel

CHECKPOINT_FORMAT = 4
"""Raised whenever another program could not go on as this one would: 2 has another order of negatives, 3 sums
the contexts of a block in another order, 4 reads several parts of a chunk side by side."""

LARGEST_STATE = 1 << 28
"""Bytes of state.json above which a file is no checkpoint of ours."""

BLOCK_BYTES = 1 << 24
"""Bytes of parameters written or read at a time."""

MOST_COST = 0.02
"""Share of the time that checkpoints may take, unless the interval was asked for."""


@dataclass(frozen=True)
class State:
    """Where a run stands between two chunks.

    Learning rate and generators are not here: they are functions of the chunk (docs/decisions/).

    Attributes
    ----------
    run : str
        Which run, as in ``run.json``.
    config : dict
        Its resolved ``TrainConfig``.
    version : str
        Of the program.
    isa : str or None
        Instruction set; None for the Numba backend.
    fingerprint : str
        Of the encoded text and its vocabulary.
    chunk_tokens : int
        Tokens per chunk.
    epoch, index, start : int
        Epoch, from 1; the next chunk of it, from 0; and the token where that begins.
    fraction : float
        Share of the run that is done.
    seconds : float
        Training time so far.
    tallies, tallies_before_epoch : list of float
        What the training loop has counted, now and when the epoch began.
    losses, valid_losses : list of float
        Of the epochs before.
    history : list of list
        The points of ``History``.
    sessions : int
        How often the run was started or continued.
    changes : list of dict
        Options that were changed when it was continued, and where.
    valid_fingerprint : str or None
        Of the held-out text.
    """

    run: str
    config: dict[str, Any]
    version: str
    isa: str | None
    fingerprint: str
    chunk_tokens: int
    epoch: int
    index: int
    start: int
    fraction: float
    seconds: float
    tallies: list[float]
    tallies_before_epoch: list[float]
    losses: list[float] = field(default_factory=list)
    valid_losses: list[float] = field(default_factory=list)
    history: list[list[float]] = field(default_factory=list)
    sessions: int = 1
    changes: list[dict[str, Any]] = field(default_factory=list)
    valid_fingerprint: str | None = None


@dataclass(frozen=True)
class Interval:
    """How often a checkpoint is written: every so many seconds, or tokens of text.

    Attributes
    ----------
    seconds : float or None
    tokens : int or None
    stretch : bool
        Whether the time between two may grow so that they take no more than ``MOST_COST`` of it.
    """

    seconds: float | None = None
    tokens: int | None = None
    stretch: bool = False


DEFAULT_INTERVAL = "10m"

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_TOKENS = {"k": 10**3, "M": 10**6, "G": 10**9}


def parse_interval(text: str) -> Interval | None:
    """Return the interval that ``10m`` (s, m, h, d) or ``5M`` (tokens; k, M, G) names; None for ``never``.

    Raises
    ------
    ValueError
        It is none.
    """
    if text in ("never", "0"):
        return None
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhdkMG])", text.strip())
    if not found or float(found[1]) == 0:
        raise OptionError(
            Option("checkpoint_every"),
            f" is {text!r}; it must be a time such as 30s, 10m, 2h, or a number of tokens "
            "such as 500k, 5M, 1G, or never",
        )
    number, unit = float(found[1]), found[2]
    if unit in _SECONDS:
        return Interval(seconds=number * _SECONDS[unit])
    return Interval(tokens=max(1, round(number * _TOKENS[unit])))


class Checkpoints:
    """The checkpoints of one run: ``000001.checkpoint``, ``000002.checkpoint``, ... in its folder.

    Parameters
    ----------
    folder : Path
        Where they are.
    interval : Interval
        How often one is written.
    """

    def __init__(self, folder: Path, interval: Interval) -> None:
        self.folder, self.interval = folder, interval
        self._last_time = time.monotonic()
        self._last_position = 0
        self._cost = 0.0

    def paths(self) -> list[Path]:
        """Return the files, newest first."""
        found = [p for p in self.folder.glob("*.checkpoint") if re.fullmatch(r"\d{6,9}", p.stem)]
        return sorted(found, key=lambda path: int(path.stem), reverse=True)

    def begin(self, position: int) -> None:
        """Start the clock, at a token counted through all epochs."""
        self._last_time, self._last_position = time.monotonic(), position

    def seconds_left(self) -> float | None:
        """Return in how many seconds the next one is due; None if tokens decide."""
        if self.interval.seconds is None:
            return None
        wanted = self.interval.seconds
        if self.interval.stretch:
            wanted = max(wanted, self._cost / MOST_COST)
        return self._last_time + wanted - time.monotonic()

    def next_position(self) -> int | None:
        """Return the token, counted through all epochs, at which the next is due; None if time decides."""
        return None if self.interval.tokens is None else self._last_position + self.interval.tokens

    def write(self, state: State, model: EmbeddingModel, position: int) -> bool:
        """Write a checkpoint and then drop all but the last two; return whether it was written.

        If the disk refuses, a warning says so, the older ones stay and the run can go on.
        """
        started = time.monotonic()
        before = self.paths()
        try:
            if len(before) > 1 and shutil.disk_usage(self.folder).free < 1.1 * model.n_bytes + (1 << 20):
                for path in before[1:]:
                    path.unlink(missing_ok=True)
            number = int(before[0].stem) + 1 if before else 1
            write_checkpoint(self.folder / f"{number:06}.checkpoint", state, model)
            for path in before[1:]:
                path.unlink(missing_ok=True)
        except (OSError, DataError) as error:
            kept = "the one before is kept" if before else "there is none yet"
            reason = getattr(error, "strerror", None) or error
            warnings.warn(
                f"no checkpoint could be written to {str(self.folder)!r}: {reason}; {kept}, "
                "and the run goes on",
                stacklevel=2,
            )
            return False
        finally:
            self._cost = time.monotonic() - started
            self.begin(position)
        return True

    def newest_state(self) -> State | None:
        """Return the state of the newest checkpoint whose state can be read, None if there is no file at all.

        Raises
        ------
        DataError
            There are files and none can be read.
        """
        reasons = []
        for path in self.paths():
            try:
                return read_state(path)
            except DataError as error:
                reasons.append(str(error))
        if reasons:
            raise DataError(f"no checkpoint can be read: {'; '.join(reasons)}")
        return None

    def load(self, model: EmbeddingModel) -> State:
        """Read the newest checkpoint that is whole into a model; a damaged newer one is said and passed over.

        Raises
        ------
        DataError
            None is whole.
        """
        reasons = []
        for path in self.paths():
            try:
                state = read_checkpoint(path, model)
            except DataError as error:
                reasons.append(str(error))
                continue
            for reason in reasons:
                warnings.warn(f"{reason}; the one before it is used", stacklevel=2)
            return state
        raise DataError(f"no checkpoint can be read: {'; '.join(reasons) or 'there is none'}")


def write_checkpoint(path: Path, state: State, model: EmbeddingModel) -> None:
    """Write a checkpoint; it appears whole, and on the disk, or not at all.

    Raises
    ------
    OSError
        The disk refuses.
    """
    record = {"format": CHECKPOINT_FORMAT, **asdict(state)}
    with (
        atomic_file(path, follow_links=False) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr("state.json", json.dumps(record, indent=1))
        with archive.open("vocab.tsv", "w", force_zip64=True) as member:
            for piece in model.vocab.lines():
                member.write(piece)
        for name, array in model.learnt.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_npy(member, array)


def read_state(path: str | os.PathLike[str]) -> State:
    """Read where a run stood.

    Raises
    ------
    DataError
        The file is no checkpoint, is damaged or of another version.
    """
    with _opened(path) as archive:
        return _state(path, archive)


def read_checkpoint(path: str | os.PathLike[str], model: EmbeddingModel) -> State:
    """Read where a run stood, and its parameters into a model of the same vocabulary and shape.

    Raises
    ------
    DataError
        As in ``read_state``, or the parameters do not fit the model. They may then be overwritten in part.
    """
    with _opened(path) as archive:
        state = _state(path, archive)
        for name, array in model.learnt.items():
            with _member(archive, f"{name}.npy") as member:
                _read_into(member, array, name)
    model.compose()
    return state


class _opened:
    """An archive whose every kind of damage becomes a DataError that names the file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)

    def __enter__(self) -> zipfile.ZipFile:
        try:
            self._archive = zipfile.ZipFile(self._path)
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError) as error:
            raise self._damaged(error) from error
        return self._archive

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._archive.close()
        damage = (OSError, zipfile.BadZipFile, zlib.error, KeyError, TypeError, ValueError, EOFError)
        if isinstance(error, (*damage, NotImplementedError, RuntimeError, OverflowError)):
            raise self._damaged(error) from error

    def _damaged(self, error: BaseException) -> DataError:
        return DataError(f"the checkpoint {self._path!r} cannot be used: {error}")


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"{name} is compressed, which no checkpoint of ours is")
    return archive.open(info)


def _state(path: str | os.PathLike[str], archive: zipfile.ZipFile) -> State:
    with _member(archive, "state.json") as member:
        text = member.read(LARGEST_STATE + 1)
    if len(text) > LARGEST_STATE:
        raise ValueError("its state.json is far too long")
    record = json.loads(text)
    if not isinstance(record, dict) or record.pop("format", None) != CHECKPOINT_FORMAT:
        raise ValueError("it has a format that this version does not know; use the version that wrote it")
    kinds = {f.name: f.type for f in fields(State)}
    if set(record) != set(kinds):
        raise ValueError("its state.json does not hold what it should")
    for name, kind in kinds.items():
        if not isinstance(record[name], _KINDS[str(kind).partition("[")[0]]):
            raise ValueError(f"{name} in its state.json is {record[name]!r:.80}")
    return State(**record)


_KINDS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "dict": dict,
    "list": list,
    "str | None": (str, type(None)),
}


def _read_into(member: IO[bytes], array: np.ndarray, name: str) -> None:
    """Fill an array from an .npy; reading to the end also compares the checksum."""
    shape, fortran, dtype = read_npy_header(member)
    if shape != array.shape or fortran or dtype != np.dtype("<f4"):
        raise ValueError(f"{name} has shape {shape} and type {dtype}; expected {array.shape}, float32")
    flat = array.reshape(-1)
    for start in range(0, len(flat), BLOCK_BYTES // 4):
        part = flat[start : start + BLOCK_BYTES // 4]
        data = member.read(part.nbytes)
        if len(data) != part.nbytes:
            raise EOFError(f"{name} is cut off")
        part[:] = np.frombuffer(data, "<f4")
    if member.read(1):
        raise ValueError(f"{name} is longer than its header says")


def tallies(numbers: Sequence[float], n: int) -> np.ndarray:
    """Return tallies read from a state as an array.

    Raises
    ------
    DataError
        They are not n numbers.
    """
    if len(numbers) != n:
        raise DataError(f"the checkpoint counts {len(numbers)} quantities; this version counts {n}")
    try:
        return np.array([float(number) for number in numbers])
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"what the checkpoint has counted cannot be used: {error}") from error
