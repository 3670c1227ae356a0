"""The tasks of a run: functions of their arguments alone, so that Ray may run one again, on any node.

A version of the parameters is a list of slices, each with some rows of every trained array. A task keeps
nothing between two calls but what it would make again from its arguments (`_remembered`).
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordvec_ca._version import __version__
from wordvec_ca.cluster.lock import check_lock
from wordvec_ca.cluster.shards import Encoded, Shard, Text, Words, text_of
from wordvec_ca.corpus import (
    CorpusStats,
    NoWords,
    Vocab,
    count_in_parts,
    encode_corpus,
    gathered_vocab,
    merge_types,
    types_by_count,
)
from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage, is_transient, is_url
from wordvec_ca.machine import free_memory
from wordvec_ca.models import EmbeddingModel, History, Point, ResolvedConfig, memory_bytes
from wordvec_ca.runs import measured_speed
from wordvec_ca.showable import size
from wordvec_ca.text import set_retry_timeout, url_identity
from wordvec_ca.training import (
    Checkpoints,
    Delta,
    MergePlan,
    Replica,
    TokenRange,
    TrainingDiverged,
    collapse_warning,
    end_of_line,
    expected_touches,
    held_out_loss,
    isa_in_use,
    loop_settings,
    read_checkpoint,
    sign_of_divergence,
    write_checkpoint,
)

T = TypeVar("T")

Slice = dict[str, NDArray[np.float32]]
"""Some rows of each trained array, by its name."""

BLOCK_ROWS = 4_096
"""Rows that a thread merges at a time; the delta of a slice is a list of such blocks."""

GROUPS = 16
"""Groups into which the parts of counts are put: each is added up by one task."""

PIECE_BYTES = 8 << 20
"""Bytes of the model that the driver writes to its disk at a time."""

SECONDS_TO_OPEN = 5.0
"""For how long a node that is examined tries to open a URL."""


@dataclass(frozen=True)
class Common:
    """What the tasks of a run have in common."""

    run: str
    # With the number of threads of a training task.
    config: ResolvedConfig
    words: Words
    # Number of slices of a version.
    slices: int
    # Where a node puts temporary files.
    directory: str | None
    # Seconds for which the text may be out of reach.
    patience: float

    @property
    def folder(self) -> Path:
        """The folder for temporary files."""
        return Path(self.directory or tempfile.gettempdir())


@dataclass(frozen=True)
class Part:
    """What a replica trains between two merges."""

    replica: int
    epoch: int
    # Tokens trained before by all replicas, in all epochs.
    position: int
    # Factor of the learning rate.
    rate: float
    # Number of a block of its text, and where in it the part begins and ends: at the end of the line there.
    ranges: tuple[tuple[int, int, int], ...]


def rows_of(part: int, parts: int, n_rows: int) -> slice:
    """Return which rows of an array are in one of so many slices."""
    return slice(part * n_rows // parts, (part + 1) * n_rows // parts)


# ---- whether a node can take part ------------------------------------------------------------------------


def examine(
    version: str, config: ResolvedConfig, files: Sequence[str], storage: str | None, directory: str | None
) -> tuple[str | None, str | None]:
    """Return why this node cannot take part, or None, and the instruction set that it trains with.

    It must have this version, reach at most four of the files, from the first to the last, the storage of
    checkpoints if there are any, and a directory for temporary files.
    A server that does not answer at the moment raises a DataError.
    """
    if version != __version__:
        here = f"it has version {__version__} of wordvec-ca, and the driver {version}"
        return f"{here}: install the same one everywhere", None
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
        for file in files[:: -(-len(files) // 4) or 1]:
            if is_url(file):
                url_identity(file, SECONDS_TO_OPEN)
            else:
                with open(file, "rb"):
                    pass
        if storage is not None and not Storage(storage, SECONDS_TO_OPEN).names():
            return (
                f"it does not see {storage!r}, where checkpoints are kept: name a folder that all nodes "
                "share, or a URL (s3://...), or let no checkpoints be written",
                None,
            )
    except (DataError, OSError) as error:
        if is_transient(error.__cause__):
            raise
        named = f"{error.filename!r}: {error.strerror}" if isinstance(error, OSError) else str(error)
        return named, None
    return None, isa_in_use(config)


# ---- words and text --------------------------------------------------------------------------------------


def count(common: Common, shard: Shard) -> Iterator[Any]:
    """Yield what was found in a shard, then its types and their counts in ``GROUPS`` groups of parts."""
    set_retry_timeout(common.patience)
    corpus, options = shard.text(common.config.text_options())
    with tempfile.TemporaryFile(dir=common.folder) as file:
        try:
            ends, stats = count_in_parts(corpus, options, file, directory=common.folder)
        except NoWords:
            ends, stats = [], CorpusStats()
        yield stats
        bounds = list(zip([0, *ends], ends, strict=False))
        for group in range(GROUPS):
            pieces = []
            for begin, end in bounds[group * len(bounds) // GROUPS : (group + 1) * len(bounds) // GROUPS]:
                file.seek(begin)
                pieces.append(file.read(end - begin))
            yield pieces


def total(*of_shards: list[bytes]) -> Iterator[Any]:
    """Yield how many types have each count in a group of parts, then these parts, added up."""
    having = [pieces for pieces in of_shards if pieces]  # a shard without words has no parts
    merged = [merge_types(same) for same in zip(*having, strict=True)]
    yield [types_by_count(records) for records in merged]
    yield merged


def gather(least: int, *groups: list[bytes]) -> Text:
    """Return the words that occur at least this often, as text."""
    kept = (merge_types([records], least) for group in groups for records in group)
    return text_of(gathered_vocab(kept, 0, 0))


def encode(common: Common, text: Text, shard: Shard, blocks: int) -> Iterator[Any]:
    """Yield what was found in a shard, then its tokens in so many blocks of whole lines."""
    set_retry_timeout(common.patience)
    corpus, options = shard.text(common.config.text_options())
    try:
        encoded = encode_corpus(corpus, options, vocab=_vocab(common, text), cache_dir=common.folder)
        tokens, stats, fingerprint = encoded.tokens, encoded.stats, encoded.fingerprint
        assert isinstance(tokens, np.ndarray)
    except NoWords:
        tokens, stats, fingerprint = np.empty(0, np.int32), CorpusStats(), ""
    ends = [end_of_line(tokens, i * len(tokens) // blocks) for i in range(blocks + 1)]
    lengths = np.diff(ends).tolist()
    yield Encoded(stats, fingerprint, lengths)
    for begin, end in pairwise(ends):
        yield np.array(tokens[begin:end])


# ---- parameters ------------------------------------------------------------------------------------------

_memory: dict[str, tuple[Any, Any]] = {}


def _remembered(kind: str, key: Any, make: Callable[[], T]) -> T:
    """Return what this process has made of the same key before, or make it and forget that of another."""
    known, found = _memory.get(kind, (None, None))
    if known != key:
        _memory.pop(kind, None)
        found = make()
        _memory[kind] = key, found
    return found  # type: ignore[no-any-return]


def _vocab(common: Common, text: Text) -> Vocab:
    return _remembered("vocab", common.run, lambda: common.words.read(text))


def _replica(common: Common, text: Text, n_tokens: int) -> Replica:
    """Return a replica whose parameters are to be filled in.

    Its arrays stay in memory between two tasks: to get them anew from the system takes longer than to train.
    """
    return _remembered(
        "replica",
        (common.run, n_tokens),
        lambda: Replica(EmbeddingModel(common.config, _vocab(common, text)), n_tokens),
    )


def _filled(replica: Replica, slices: Sequence[Slice]) -> EmbeddingModel:
    """Copy a version into the arrays of a replica; return its model."""
    for part, rows in enumerate(slices):
        for name, array in replica.parameters.items():
            array[rows_of(part, len(slices), len(array))] = rows[name]
    return replica.model


def _sliced(arrays: Mapping[str, NDArray[Any]], parts: int) -> Iterator[dict[str, NDArray[Any]]]:
    for part in range(parts):
        yield {name: array[rows_of(part, parts, len(array))] for name, array in arrays.items()}


def _blocks(rows: Mapping[str, NDArray[Any]]) -> list[tuple[str, slice]]:
    return [
        (name, slice(begin, begin + BLOCK_ROWS))
        for name, array in rows.items()
        for begin in range(0, len(array), BLOCK_ROWS)
    ]


def _in_threads(common: Common, work: Callable[..., T], *of_blocks: Iterable[Any]) -> list[T]:
    with ThreadPoolExecutor(common.config.threads) as pool:
        return list(pool.map(work, *of_blocks))


def initial(common: Common, text: Text) -> Iterator[Any]:
    """Yield None, then the slices of version 0."""
    needed, free = 2 * memory_bytes(common.config, common.words.n_words), free_memory()
    if needed > free:  # before it is taken: the system would end the process, and nobody would know why
        raise DataError(
            f"the parameters of {common.words.n_words:,} words, twice, take {size(needed)}, and "
            f"{size(free)} of a node's memory are free: lower vector_size, window or max_final_vocab, raise "
            "min_count, or take machines with more"
        )
    model = EmbeddingModel(common.config, _vocab(common, text))
    model.initialise()
    yield None
    yield from _sliced(model.learnt, common.slices)


def touches(common: Common, text: Text, n_tokens: int) -> Iterator[Any]:
    """Yield how the training loop is set, then how often the rows of each slice are touched per token."""
    replica = _replica(common, text, n_tokens)
    yield loop_settings(common.config, replica.hyper)
    yield from _sliced(expected_touches(replica.model, replica.keep), common.slices)


def train(common: Common, text: Text, n_tokens: int, part: Part, alone: bool, *objects: Any) -> Iterator[Any]:
    """Yield the tallies of a part, then the delta of each slice; ``alone``, the slices of the new version.

    ``objects`` are the slices of a version, and the blocks that the ranges of the part are in.
    """
    slices, texts = objects[: common.slices], objects[common.slices :]
    replica = _replica(common, text, n_tokens)
    model = _filled(replica, slices)
    replica.rate = part.rate
    for worker in replica.workers:  # what is left of the part before, which another process may have trained
        worker.stats[:] = 0
        for own, array in zip(worker.private, model.shared, strict=True):
            own[:] = array[: own.shape[1]]
    position, tallies = part.position, dict[str, float]()
    for tokens, (number, begin, end) in zip(texts, part.ranges, strict=True):
        # the part before ends, and the part after begins, by the same rule
        begin, end = end_of_line(tokens, begin), end_of_line(tokens, end)
        seeds = part.epoch, part.replica, number, begin
        for name, value in replica.train(tokens, [TokenRange(begin, end, position, seeds)]).items():
            tallies[name] = tallies.get(name, 0.0) + value
        position += end - begin
    if (fault := sign_of_divergence(model, sample=True)) is not None:
        raise TrainingDiverged(f"training diverged: {fault}. Lower alpha (now {common.config.alpha:g})")
    yield tallies
    for before, after in zip(slices, _sliced(replica.parameters, common.slices), strict=True):
        if alone:
            yield after
        else:
            of_blocks = [(after[name][rows], before[name][rows]) for name, rows in _blocks(after)]
            yield _in_threads(common, Delta.of, *zip(*of_blocks, strict=True))


def reduce(
    common: Common, plan: MergePlan, tokens: float, alpha: float, touched: Any, *deltas: list[Delta]
) -> Iterator[Any]:
    """Yield the sizes of the deltas and of the result, then the result.

    The order of the deltas is that of the replicas: sums of floats depend on it.
    """

    def merged(name: str, rows: slice, *of_each: Delta) -> Delta:
        return Delta.total(of_each, plan.factors(touched, name, tokens, alpha, rows), of_each[0].width)

    found = _in_threads(common, merged, *zip(*_blocks(touched), strict=True), *deltas)
    yield [sum(delta.nbytes for delta in each) for each in (*deltas, found)]
    yield found


def apply(common: Common, *objects: Any) -> Iterator[Any]:
    """Yield None, then some slices of the new version from merged deltas and the old."""
    n = len(objects) // 2
    yield None
    for deltas, old in zip(objects[:n], objects[n:], strict=True):
        new = {name: np.array(rows) for name, rows in old.items()}
        of_blocks = [new[name][rows] for name, rows in _blocks(new)]
        _in_threads(common, Delta.add_to, deltas, of_blocks)
        yield new


def held_out(common: Common, text: Text, n_tokens: int, tokens: NDArray[np.int32], *slices: Slice) -> float:
    """Return the loss of a version on the held-out text."""
    replica = _replica(common, text, n_tokens)
    _filled(replica, slices).compose()
    return held_out_loss(replica, tokens)


def collapse(
    common: Common,
    text: Text,
    n_tokens: int,
    concentration: float,
    tokens: NDArray[np.int32],
    *slices: Slice,
) -> str | None:
    """Return a warning if attention has collapsed, judged on some text."""
    model = _filled(_replica(common, text, n_tokens), slices)
    return collapse_warning(model, tokens, concentration) if len(tokens) else None


# ---- what is kept ----------------------------------------------------------------------------------------


class _Whole(Mapping[str, NDArray[np.float32]]):
    """The arrays of a version, each put together from the slices only when it is asked for."""

    def __init__(self, slices: Sequence[Slice]) -> None:
        self._slices = slices

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        return np.concatenate([rows[name] for rows in self._slices])

    def __iter__(self) -> Iterator[str]:
        return iter(self._slices[0])

    def __len__(self) -> int:
        return len(self._slices[0])


def keep(
    common: Common, text: Text, storage: Storage, token: str, state: dict[str, Any], *slices: Slice
) -> None:
    """Write a checkpoint, if the driver that asks for it still has the run; two are kept."""
    check_lock(storage, token)
    checkpoints = Checkpoints(storage)
    name = checkpoints.next_name()
    write_checkpoint(storage, name, state, _Whole(slices), _vocab(common, text))
    checkpoints.drop_old()


def load(common: Common, text: Text, storage: Storage, name: str) -> Iterator[Any]:
    """Yield the state in a checkpoint, then the slices of its version."""
    _memory.pop("replica", None)  # its arrays: there may be no room for both
    model = EmbeddingModel(common.config, _vocab(common, text))
    yield read_checkpoint(storage, name, dict, model.learnt)
    yield from _sliced(model.learnt, common.slices)


def save(
    common: Common, text: Text, record: dict[str, Any], points: Sequence[Point], *slices: Slice
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the model directory, piece by piece."""
    _memory.pop("replica", None)
    model = EmbeddingModel(common.config, _vocab(common, text))
    for part, rows in enumerate(slices):
        for name, array in model.learnt.items():
            array[rows_of(part, len(slices), len(array))] = rows[name]
    model.compose()
    if (fault := sign_of_divergence(model)) is not None:
        raise TrainingDiverged(f"training diverged: {fault}. Lower alpha (now {common.config.alpha:g})")
    model.record, model.history = record, History(list(points))
    for left in common.folder.glob(f"cawv-{common.run}-*"):  # by a process that was killed here
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"cawv-{common.run}-", dir=common.folder) as folder:
        model.save(Path(folder) / "model")
        for path in sorted((Path(folder) / "model").iterdir()):
            with open(path, "rb") as file:
                while piece := file.read(PIECE_BYTES):
                    yield path.name, piece


# ---- what a run will cost --------------------------------------------------------------------------------


def measure(common: Common, text: Text, n_tokens: int) -> tuple[float, float]:
    """Return the words per second of this node's training, and the seconds of its work in a merge of two."""
    speed = measured_speed(common.config, _vocab(common, text), n_tokens)
    replica = _replica(common, text, n_tokens)
    touched = list(_sliced(expected_touches(replica.model, replica.keep), common.slices))
    plan, taken = MergePlan.of(common.config, n_tokens, 2), 0.0
    before = {name: array.copy() for name, array in replica.parameters.items()}
    for _ in range(2):  # the first is slow: its memory is new
        for array in replica.parameters.values():
            array += 1e-4  # all rows, so that a merge is as large as one of a long text
        began = time.monotonic()
        for old, new, often in zip(
            _sliced(before, common.slices), _sliced(replica.parameters, common.slices), touched, strict=True
        ):
            delta = [Delta.of(new[name][rows], old[name][rows]) for name, rows in _blocks(new)]
            found = list(reduce(common, plan, 1.0, 0.1, often, delta, delta))[1]
            list(apply(common, found, old))
        # a node makes all its deltas, reduces a slice of them, and applies all: two nodes share the middle
        taken = time.monotonic() - began
    return speed, taken


def payload(n_bytes: int) -> NDArray[np.uint8]:
    """Return bytes that another node is to fetch."""
    return np.random.default_rng(1).integers(0, 256, n_bytes, np.uint8)


def fetched(data: NDArray[np.uint8]) -> int:
    """Return the size of what Ray has brought here."""
    return len(data)
