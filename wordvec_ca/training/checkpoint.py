"""Checkpoints: the state from which a run can continue, in one file that is written atomically.

A checkpoint is an uncompressed zip archive, as NumPy's .npz, of a run on one machine and on a cluster alike::

    state.json   the progress of the run, its options, and identifiers of its text
    vocab.tsv    word TAB count, as in a model directory
    *.npy        the parameters, padded as in memory

The archive's CRC-32 sums reveal damage. The last two checkpoints of a run are kept; an older one is removed
only when a newer one is on the disk.
"""

from __future__ import annotations

import json
import math
import re
import time
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np

from wordvec_ca.errors import DataError, Option, OptionError
from wordvec_ca.files import Storage, read_npy_header, write_npy
from wordvec_ca.showable import SECONDS, quantity
from wordvec_ca.training.document_journal import DocumentJournal, read_archive

if TYPE_CHECKING:
    from wordvec_ca.corpus import Vocab
    from wordvec_ca.models import EmbeddingModel

DEFAULT_INTERVAL = "10m"

_TOKENS = {"k": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Interval:
    """How often a checkpoint is written."""

    # A checkpoint is due after this many seconds or tokens, whichever comes first; infinity for never
    seconds: float = math.inf
    tokens: float = math.inf
    # Whether the time between two checkpoints may grow, so that writing them takes only a small share of it
    stretch: bool = False


def parse_interval(text: str) -> Interval | None:
    """Convert ``10m`` (s, m, h, d) or ``5M`` (tokens; k, M, G) to an interval; None for ``never``."""
    if text in ("never", "0"):
        return None
    found = quantity(text, "smhdkMG")
    if not found:
        raise OptionError(
            Option("checkpoint_every"),
            f" is {text!r}; it must be a time such as 30s, 10m, 2h, or a number of tokens "
            "such as 500k, 5M, 1G, or never",
        )
    number, unit = found
    if unit in _TOKENS:
        return Interval(tokens=max(1, round(number * _TOKENS[unit])))
    return Interval(seconds=number * SECONDS[unit], stretch=text == DEFAULT_INTERVAL)


# Version of checkpoints; to be increased when new code would continue a run differently. Version 2 has
# another order of negatives, 3 sums the contexts of a block in another order, 4 reads several parts of a
# chunk side by side.
CHECKPOINT_FORMAT = 4

# Format of the checkpoints of clusters, whose place is a round; also increased when nodes would merge
# differently: 6 seeds a part by epoch, replica and block.
CLUSTER_FORMAT = 6

# Largest size of state.json in bytes; a file with a larger one is not a checkpoint of this package.
LARGEST_STATE = 1 << 28

BLOCK_BYTES = 1 << 24
"""Number of bytes of parameters that are written or read at a time."""

# Largest share of the time that checkpoints take, unless the user has set the interval.
MOST_COST = 0.02

T = TypeVar("T")


@dataclass(frozen=True)
class State:
    """The progress of a run on one machine, between two chunks.

    Learning rate and random generators are not included: they are functions of the chunk
    (docs/decisions/003-chunks.md).
    """

    run: str  # Identifier of the run, as in ``run.json``
    config: dict[str, Any]  # The resolved ``TrainConfig`` of the run
    version: str  # Version of the program
    isa: str | None  # Instruction set; None for the Numba backend
    fingerprint: str  # Fingerprint of the encoded text and its vocabulary
    # Number of the epoch, from 1; number of its next chunk, from 0; token at which that chunk begins
    epoch: int
    index: int
    start: int
    fraction: float  # Share of the run that is done
    seconds: float  # Training time so far
    tallies: list[float]  # Tallies of the training loop, now and when the epoch began
    tallies_before_epoch: list[float]
    pools: list[int]  # Plan of the pools of negatives (`Negatives.plan`)
    losses: list[float] = field(default_factory=list)  # Losses of the finished epochs
    valid_losses: list[float] = field(default_factory=list)
    history: list[list[float]] = field(default_factory=list)  # The points of ``History``
    sessions: int = 1  # How often the run was started or continued
    # Options that were changed when the run was continued, and at which point
    changes: list[dict[str, Any]] = field(default_factory=list)
    valid_fingerprint: str | None = None  # Fingerprint of the held-out text

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> State:
        """Return the state in a checkpoint."""
        kinds = {f.name: f.type for f in fields(cls)}
        if set(record) != set(kinds):
            raise ValueError("its state.json does not have the expected content")
        for name, kind in kinds.items():
            if not isinstance(record[name], _KINDS[re.sub(r"\[.*\]", "", str(kind))]):
                raise ValueError(f"{name} in its state.json is {record[name]!r:.80}")
        return cls(**record)


_KINDS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "dict": dict,
    "list": list,
    "str | None": (str, type(None)),
}


class Checkpoints:
    """The checkpoints of one run: ``000001.checkpoint``, ``000002.checkpoint``, ... in its storage."""

    def __init__(self, storage: Storage, interval: Interval | None = None) -> None:
        self.storage, self.interval = storage, interval or Interval()
        self.rejected: dict[str, str] = {}
        self.journal: DocumentJournal | None = None
        self._last_time = time.monotonic()
        self._last_position = 0
        self._cost = 0.0

    def names(self) -> list[str]:
        """Return the names of the files, newest first."""
        found = [name for name in self.storage.names() if re.fullmatch(r"\d{6,9}\.checkpoint", name)]
        return sorted(found, key=lambda name: int(name.partition(".")[0]), reverse=True)

    def next_name(self) -> str:
        """Return the name of the next checkpoint."""
        newest = next(iter(self.names()), "0.")
        return f"{int(newest.partition('.')[0]) + 1:06}.checkpoint"

    def drop_old(self, kept: int = 2) -> None:
        """Remove all but the newest ``kept``, after moving rows of documents in removed ones to the base
        file.
        """
        for name in reversed(self.names()[kept:]):
            try:
                if self.journal is not None:
                    self.journal.fold(name)
            except DataError as error:
                warnings.warn(f"older checkpoints are not removed: {error}", stacklevel=3)
                return
            self.storage.remove(name)

    # ---- when one is due -----------------------------------------------------------------------------------

    def begin(self, position: int) -> None:
        """Start the clock; ``position`` is the next token, counted through all epochs."""
        self._last_time, self._last_position = time.monotonic(), position

    def seconds_left(self) -> float:
        """Return in how many seconds the next checkpoint is due; infinity if the interval is in tokens."""
        wanted = self.interval.seconds
        if self.interval.stretch:
            wanted = max(wanted, self._cost / MOST_COST)
        return self._last_time + wanted - time.monotonic()

    def next_position(self) -> float:
        """Return the token, counted through all epochs, at which the next checkpoint is due; infinity for
        never.
        """
        return self._last_position + self.interval.tokens

    def are_due(self, position: int) -> bool:
        """Return whether a checkpoint is due at a token, counted through all epochs."""
        return self.seconds_left() <= 0 or position >= self.next_position()

    # ---- writing and reading -------------------------------------------------------------------------------

    def write(self, state: State, model: EmbeddingModel, position: int) -> bool:
        """Write a checkpoint, then remove all but the last two; return whether the checkpoint was written."""
        # If writing fails, a warning is given, older checkpoints are kept and the run can continue.
        started = time.monotonic()
        journal, name = self._journal_of(model), self.next_name()
        n_bytes = model.n_bytes if journal is None else model.n_bytes - journal.untouched_bytes
        try:
            # Until the new checkpoint is complete, old and new ones need space together. If that is too
            # little, a recent checkpoint is worth more than a second old one.
            if self.storage.free_bytes() < 1.1 * n_bytes + (1 << 20):
                self.drop_old(kept=1)
            write_checkpoint(self.storage, name, asdict(state), model.resumed, model.vocab, journal)
            if journal is not None:
                journal.was_written(name)
            self.drop_old()
        except DataError as error:
            kept = "the one before is kept" if self.names() else "there is none yet"
            warnings.warn(
                f"no checkpoint could be written: {error}; {kept}, and the run goes on", stacklevel=2
            )
            return False
        finally:
            self._cost = time.monotonic() - started
            self.begin(position)
        return True

    def newest(self, use: Callable[[str], T], *, quiet: bool = False) -> T | None:
        """Return the result of ``use`` for the newest undamaged checkpoint; None if there are no files."""
        # Damaged newer checkpoints are skipped with a warning.
        reasons = []
        for name in self.names():
            try:
                if name in self.rejected:
                    raise DataError(self.rejected[name])
                found = use(name)
            except DataError as error:
                reasons.append(str(error))
                continue
            for reason in () if quiet else reasons:
                warnings.warn(f"{reason}; the one before it is used", stacklevel=2)
            return found
        if reasons:
            raise DataError(f"no checkpoint can be read: {'; '.join(reasons)}")
        return None

    def newest_state(self) -> State | None:
        """Return the state of the newest checkpoint whose state can be read, as `newest` does."""
        return self.newest(self.state, quiet=True)

    def state(self, name: str) -> State:
        """Return the state in a checkpoint."""
        return read_checkpoint(self.storage, name, State.from_record)

    def record(self, name: str) -> dict[str, Any]:
        """Return the state in a checkpoint of a cluster, as values for JSON."""
        return read_checkpoint(self.storage, name, dict)

    def load(self, model: EmbeddingModel) -> State:
        """Read the newest undamaged checkpoint into a model of the same vocabulary and shape."""
        journal = self._journal_of(model)

        def use(name: str) -> State:
            found = read_checkpoint(self.storage, name, State.from_record, model.resumed)
            if journal is not None:
                journal.restore(name)
            return found

        state = self.newest(use)
        if state is None:
            raise DataError("there is no checkpoint to read")
        model.compose()
        return state

    def _journal_of(self, model: EmbeddingModel) -> DocumentJournal | None:
        """Return the journal of the documents of a model, if they are in a file of the run."""
        documents = model.documents
        if documents is not None and documents.touched_blocks is not None and self.journal is None:
            self.journal = DocumentJournal(self.storage, documents)
        return self.journal


def write_checkpoint(
    storage: Storage,
    name: str,
    state: Mapping[str, Any],
    parameters: Mapping[str, np.ndarray],
    vocab: Vocab,
    journal: DocumentJournal | None = None,
) -> None:
    """Write a checkpoint atomically, flushed to the disk."""

    def put(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("state.json", json.dumps({"format": _format(state), **state}, indent=1))
            with archive.open("vocab.tsv", "w", force_zip64=True) as member:
                for piece in vocab.lines():
                    member.write(piece)
            for key, array in parameters.items():
                with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                    write_npy(member, array)
            if journal is not None:
                journal.write(archive)

    storage.write(name, put)


def read_checkpoint(
    storage: Storage,
    name: str,
    state: Callable[[dict[str, Any]], T],
    parameters: Mapping[str, np.ndarray] | None = None,
) -> T:
    """Read the progress of a run, and its parameters."""

    def read(archive: zipfile.ZipFile) -> T:
        found = state(_record(archive))
        for key, array in (parameters or {}).items():
            with _member(archive, f"{key}.npy") as member:
                _read_into(member, array, key)
        return found

    return read_archive(storage, name, read)


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"{name} is compressed; checkpoints of cawv never are")
    return archive.open(info)


def _format(state: Mapping[str, Any]) -> int:
    return CLUSTER_FORMAT if "round" in state else CHECKPOINT_FORMAT


def _record(archive: zipfile.ZipFile) -> dict[str, Any]:
    with _member(archive, "state.json") as member:
        text = member.read(LARGEST_STATE + 1)
    if len(text) > LARGEST_STATE:
        raise ValueError("its state.json is far too long")
    record = json.loads(text)
    found = record.pop("format", None) if isinstance(record, dict) else None
    if not isinstance(record, dict) or found != _format(record):
        raise ValueError("it has a format that this version does not know; use the version that wrote it")
    return record


def _read_into(member: IO[bytes], array: np.ndarray, name: str) -> None:
    """Fill an array from an .npy; reading it to the end also verifies the checksum."""
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
    """Return tallies read from a state as an array."""
    if len(numbers) != n:
        raise DataError(f"the checkpoint counts {len(numbers)} quantities; this version counts {n}")
    try:
        return np.array([float(number) for number in numbers])
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"the tallies of the checkpoint cannot be used: {error}") from error
