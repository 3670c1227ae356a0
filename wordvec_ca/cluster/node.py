"""The work of one node: it counts, encodes and trains its shards, reduces its slice of a merge, and saves the
model.

A `Node` holds all parameters and the encoded text of its shards, and does not use Ray: the driver calls it
through an actor (see ``members``). Encoded text and counts are temporary files without a name, which the
system removes however the process ends.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.cluster.fitness import (
    SECONDS_TO_OPEN,
    UnfitNode,
    as_fault_of_node,
    cannot_open,
    cannot_write,
)
from wordvec_ca.cluster.ledger import Segment
from wordvec_ca.cluster.shards import Encoded, Shard
from wordvec_ca.cluster.words import Text, Words, text_of
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
from wordvec_ca.files import Storage, is_transient, seconds_away
from wordvec_ca.machine import free_memory
from wordvec_ca.models import EmbeddingModel, ResolvedConfig, memory_bytes
from wordvec_ca.runs import measured_speed
from wordvec_ca.specs.quantities import size
from wordvec_ca.text import set_retry_timeout
from wordvec_ca.training import (
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

PIECE_CHUNKS = 8
"""Chunks for each thread between two checks whether to stop: about a second at most."""

BLOCK_ROWS = 4_096
"""Rows that a thread merges at a time."""

Slice = list[Delta]
"""Deltas of some rows of all trained arrays, in the blocks of `Node._blocks`."""


@dataclass(frozen=True)
class Trained:
    """What a node has trained since the last merge: whole segments or their beginnings, and the tallies."""

    segments: list[Segment]
    tallies: dict[str, float]
    seconds: float
    processor: float


def rows_of(part: int, parts: int, n_rows: int) -> slice:
    """Return which rows of an array are in one of so many slices."""
    return slice(part * n_rows // parts, (part + 1) * n_rows // parts)


def bytes_of(part: Slice) -> int:
    """Return the size of a slice."""
    return sum(delta.nbytes for delta in part)


class Node:
    """The work of one node."""

    def __init__(
        self, config: ResolvedConfig, directory: str | None = None, patience: float | None = None
    ) -> None:
        if patience is not None:
            set_retry_timeout(patience)
        self.config = config
        self.options = self.config.text_options()
        self.directory = Path(directory or tempfile.gettempdir())
        self.version = -1
        self._stop_at = -1
        self._trained = 0
        self._bytes_read = self._written = self._changes_of_base = self._sent = 0
        self._activity = "idle"
        self._counts: dict[int, tuple[IO[bytes], list[int]]] = {}
        self._texts: dict[int, NDArray[np.int32]] = {}
        self._valid: NDArray[np.int32] | None = None
        self._vocab = Vocab([], [])
        self._saved: Path | None = None

    # ---- what is asked at any time -------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Return the phase and the progress of the node."""
        return {
            "pid": os.getpid(),
            "version": self.version,
            "activity": self._activity,
            "trained": self._trained,
            "bytes_read": self._bytes_read,
            "written": self._written,
            "storage_away": seconds_away(),
            "processor": time.process_time(),
        }

    def examine(self, files: Sequence[str], place: str | None) -> dict[str, Any]:
        """Return the facts by which `unfit_reason` judges this machine."""
        found = {"clock": time.time(), "isa": isa_in_use(self.config), "disk": cannot_write(self.directory)}
        try:
            folder, _, name = (place or "").rpartition("/")
            content = None if place is None else Storage(folder, SECONDS_TO_OPEN).read(name)
            return {**found, "text": cannot_open(files), "storage": content}
        except DataError as error:
            if not is_transient(error.__cause__):
                return {**found, "text": None, "storage": None}
            return {**found, "text": None, "storage": None, "away": str(error)}

    def stop(self, version: int) -> None:
        """End the training that began with this version soon; what is trained by then counts."""
        self._stop_at = version

    # ---- counting ------------------------------------------------------------------------------------------

    def count(self, shard: Shard) -> tuple[list[int], CorpusStats]:
        """Count the words of a shard; return where the parts end in bytes, and what was found."""
        self._activity = "counting"
        try:
            corpus, options = shard.text(self.options)
            file = tempfile.TemporaryFile(dir=self.directory)  # noqa: SIM115
            ends, stats = count_in_parts(
                corpus, options, file, directory=self.directory, progress=self._progress()
            )
        except NoWords:
            ends, stats = [], CorpusStats()
        except (DataError, OSError, MemoryError) as error:
            raise as_fault_of_node(error) from error
        self._counts[shard.number] = file, ends
        return ends, stats

    def parts_of(self, shards: Sequence[int], begin: int, end: int) -> list[bytes]:
        """Return the types of some parts, merged over some of this node's shards."""
        merged = []
        for part in range(begin, end):
            pieces = []
            for shard in shards:
                file, ends = self._counts[shard]
                if ends:
                    start = ends[part - 1] if part else 0
                    file.seek(start)
                    pieces.append(file.read(ends[part] - start))
            merged.append(merge_types(pieces))
        return merged

    def reduce_parts(self, *of_nodes: list[bytes]) -> tuple[list[tuple[Any, Any]], list[bytes]]:
        """Merge the same parts of several nodes; return how many types have each count, and the types."""
        merged = [merge_types(same) for same in zip(*of_nodes, strict=True)]
        return [types_by_count(records) for records in merged], merged

    def frequent(self, least: int, parts: list[bytes]) -> list[bytes]:
        """Return the types of merged parts that occur at least this often."""
        return [merge_types([records], least) for records in parts]

    def gather(self, *parts: list[bytes]) -> tuple[int, Text]:
        """Return how many words there are in all parts, and the words as text."""
        vocab = gathered_vocab((records for some in parts for records in some), 0, 0)
        return len(vocab), text_of(vocab)

    # ---- encoding ------------------------------------------------------------------------------------------

    def take_vocab(self, words: Words, text: Text) -> None:
        """Take the words of the run; counts of shards are not needed any more."""
        self._vocab = words.read(text)
        for file, _ in self._counts.values():
            file.close()
        self._counts.clear()

    def encode(self, shard: Shard) -> Encoded:
        """Encode a shard on this node's disk."""
        self._activity = "encoding"
        try:
            corpus, options = shard.text(self.options)
            encoded = encode_corpus(
                corpus, options, vocab=self._vocab, cache_dir=self.directory, progress=self._progress()
            )
        except NoWords:
            self._texts[shard.number] = np.empty(0, np.int32)
            return Encoded(0, CorpusStats(), "")
        except (DataError, OSError, MemoryError) as error:
            raise as_fault_of_node(error) from error
        assert isinstance(encoded.tokens, np.ndarray)
        self._texts[shard.number] = encoded.tokens
        return Encoded(len(encoded.tokens), encoded.stats, encoded.fingerprint)

    def encode_valid(self, files: Sequence[str]) -> bool:
        """Encode the held-out text; return True."""
        try:
            encoded = encode_corpus(list(files), self.options, vocab=self._vocab, cache_dir=self.directory)
        except (DataError, OSError, MemoryError) as error:
            told = DataError(f"held-out text: {error}")
            told.__cause__ = error
            raise as_fault_of_node(told) from error
        assert isinstance(encoded.tokens, np.ndarray)
        self._valid = encoded.tokens
        return True

    def drop(self, shard: int) -> None:
        """Drop a shard that another node has now."""
        self._texts.pop(shard, None)

    def _progress(self) -> Any:
        def progress(done: int, total: int | None, tokens: int) -> None:
            self._bytes_read = done

        return progress

    # ---- training ------------------------------------------------------------------------------------------

    def begin(self, n_tokens: int, told: None = None) -> dict[str, Any]:
        """Make the parameters as every node does, version 0; return how the training loop is set."""
        # before memory is taken: the system would end the process, and the node would only seem to have died
        self._check_room(len(self._vocab))
        model = EmbeddingModel(self.config, self._vocab)
        model.initialise()
        self.replica = Replica(model, n_tokens)
        self.replica.mark()
        self._touches = expected_touches(model, self.replica.keep)
        self.version = 0
        return loop_settings(self.config, self.replica.hyper)

    def _check_room(self, n_words: int) -> None:
        """Raise an UnfitNode if the parameters of the run and their base do not fit into memory."""
        needed, free = 2 * memory_bytes(self.config, n_words), free_memory()
        if needed > free:
            raise UnfitNode(
                f"the parameters of {n_words:,} words and their base take {size(needed)}, and {size(free)} "
                "of its memory are free: lower vector_size, window or max_final_vocab, raise min_count, or "
                "take machines with more"
            )

    def train(
        self, version: int, segments: Sequence[Segment], position: int, epoch: int, rate: float
    ) -> Trained:
        """Train segments of this node's shards, from the parameters of a version."""
        assert version == self.version, f"version {version} is to be trained, and {self.version} is here"
        self._activity, self._trained = "training", 0
        self.replica.rate = rate
        started, began = time.monotonic(), time.process_time()
        done, tallies = [], dict[str, float]()
        piece = PIECE_CHUNKS * self.replica.chunk_tokens * self.replica.threads
        for shard, begin, end in segments:
            tokens, at = self._texts[shard], begin
            while at < end and self._stop_at != version:
                # at the end of a line, since windows do not cross lines
                stop = end_of_line(tokens, min(at + piece, end))
                found = self.replica.train(
                    tokens, [TokenRange(at, stop, position + self._trained, (epoch, shard, at))]
                )
                for name, value in found.items():
                    tallies[name] = tallies.get(name, 0.0) + value
                self._trained += stop - at
                at = stop
            done.append(Segment(shard, begin, at))
        self._activity = "waiting"
        return Trained(done, tallies, time.monotonic() - started, time.process_time() - began)

    def back(self) -> None:
        """Forget what was trained since the last merge."""
        for name, array in self.replica.parameters.items():
            array[:] = self.replica.base[name]
        self.replica.model.compose()

    # ---- merging -------------------------------------------------------------------------------------------

    def _blocks(self, part: int, parts: int) -> list[tuple[str, slice]]:
        """Return the name of an array and the rows of each block of a slice."""
        return [
            (name, slice(begin, min(begin + BLOCK_ROWS, rows.stop)))
            for name, array in self.replica.parameters.items()
            for rows in [rows_of(part, parts, len(array))]
            for begin in range(rows.start, rows.stop, BLOCK_ROWS)
        ]

    def _in_threads(self, work: Callable[..., T], *of_blocks: Iterable[Any]) -> list[T]:
        """Return what a function makes of each block, in order; its threads have no other work in a merge."""
        with ThreadPoolExecutor(self.config.threads) as pool:
            return list(pool.map(work, *of_blocks))

    def slices(self, begin: int, end: int, parts: int) -> Iterator[Slice]:
        """Yield some of the slices of the deltas since the last merge, one for each node.

        A generator, so that Ray stores one after another, and they are not all in memory twice.
        """
        for part in range(begin, end):
            found = self._in_threads(self.replica.delta, *zip(*self._blocks(part, parts), strict=True))
            self._sent += bytes_of(found)
            yield found

    def reduce(
        self, part: int, parts: int, plan: MergePlan, tokens: float, alpha: float, *of_nodes: Slice
    ) -> Slice:
        """Merge the same slice of all nodes."""

        def total(name: str, rows: slice, *deltas: Delta) -> Delta:
            factors = plan.factors(self._touches, name, tokens, alpha, rows)
            return Delta.total(deltas, factors, self.replica.parameters[name].shape[1])

        merged = self._in_threads(total, *zip(*self._blocks(part, parts), strict=True), *of_nodes)
        others = len(of_nodes) - 1
        self._sent += others * bytes_of(merged) - bytes_of(of_nodes[part % len(of_nodes)])  # its own stays
        return merged

    def apply(self, version: int, *merged: Slice) -> int:
        """Add the merged deltas to the parameters of the last merge; the result is the new version."""
        self._changes_of_base += 1
        blocks = [block for part in range(len(merged)) for block in self._blocks(part, len(merged))]
        if merged:
            self._in_threads(
                self.replica.apply, *zip(*blocks, strict=True), [d for each in merged for d in each]
            )
        else:  # a run with one node: its own parameters are the new version
            self.replica.mark()
        self._made(version)
        sent, self._sent = self._sent, 0
        return sent

    def _made(self, version: int) -> None:
        self.replica.model.compose()
        self.version = version
        fault = sign_of_divergence(self.replica.model, sample=True)
        if fault:
            raise TrainingDiverged(f"training diverged: {fault}. Lower alpha (now {self.config.alpha:g})")

    def measure(self, n_tokens: int) -> tuple[float, float]:
        """Return the words per second of this node's training, and the seconds of its work in a merge."""
        self._check_room(len(self._vocab))
        speed = measured_speed(self.config, self._vocab, n_tokens)
        self.begin(n_tokens)
        plan = MergePlan.of(self.config, n_tokens, 2)
        for _ in range(2):  # the first is slow: its memory is new
            self.disturb()
            began = time.monotonic()
            mine = list(self.slices(0, 2, 2))
            merged = self.reduce(0, 2, plan, 1.0, 0.1, mine[0], mine[0])
            self.apply(1, merged, mine[1])
        return speed, time.monotonic() - began

    def disturb(self) -> None:
        """Change all rows a little: a merge that is only measured sends as much as one of a long text."""
        for array in self.replica.parameters.values():
            array += 1e-4

    # ---- parameters for others -----------------------------------------------------------------------------

    def base_rows(self, name: str, begin: int, end: int) -> NDArray[np.float32]:
        """Return some rows of the parameters exactly as they were after the last merge."""
        return self.replica.base[name][begin:end]

    def shapes(self) -> dict[str, tuple[int, int]]:
        """Return the shape of each trained array."""
        return {name: (array.shape[0], array.shape[1]) for name, array in self.replica.parameters.items()}

    def take_rows(self, name: str, begin: int, rows: NDArray[np.float32]) -> None:
        """Copy rows from a peer's parameters."""
        self._changes_of_base += 1
        self.replica.base[name][begin : begin + len(rows)] = rows
        self.replica.parameters[name][begin : begin + len(rows)] = rows

    def taken(self, version: int) -> None:
        """Continue training from the rows copied from a peer, which are of this version."""
        self._made(version)

    def digest(self) -> str:
        """Return a digest of the parameters after the last merge: equal on all nodes."""
        import hashlib

        digest = hashlib.blake2b(digest_size=16)
        for name, array in sorted(self.replica.parameters.items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    # ---- what is kept --------------------------------------------------------------------------------------

    def write_checkpoint(self, storage: Storage, name: str, state: dict[str, Any]) -> None:
        """Write a checkpoint of the parameters after the last merge to shared storage."""
        before = self._changes_of_base

        def written(n_bytes: int) -> None:
            self._written += n_bytes
            if self._changes_of_base != before:
                raise DataError(
                    f"the checkpoint {name!r} was abandoned: the next merge began before it was complete"
                )

        write_checkpoint(storage, name, state, self.replica.base, self._vocab, written)

    def read_checkpoint(self, storage: Storage, name: str) -> None:
        """Continue from a checkpoint."""
        self._changes_of_base += 1
        state = read_checkpoint(storage, name, dict, self.replica.base)
        self.back()
        self._made(int(state["version"]))

    def collapse_warning(self, concentration: float) -> str | None:
        """Return a warning if attention has collapsed, judged on this node's text; None if it has not."""
        tokens = next((text for text in self._texts.values() if len(text)), None)
        return None if tokens is None else collapse_warning(self.replica.model, tokens, concentration)

    def held_out(self) -> float:
        """Return the loss on the held-out text."""
        assert self._valid is not None
        return held_out_loss(self.replica, self._valid)

    def save(self, run: str, record: dict[str, Any], history: Any) -> list[tuple[str, int]]:
        """Write the model directory on this node's disk; return its files, with their sizes."""
        fault = sign_of_divergence(self.replica.model)
        if fault:
            raise TrainingDiverged(f"training diverged: {fault}. Lower alpha (now {self.config.alpha:g})")
        model = self.replica.model
        model.record, model.history = record, history
        # with the process: two nodes may share a disk
        self._saved = self.directory / f"cawv-{run}-{os.getpid()}"
        model.save(self._saved, overwrite=True)
        return [(path.name, path.stat().st_size) for path in sorted(self._saved.iterdir())]

    def read_saved(self, name: str, begin: int, size: int) -> bytes:
        """Return bytes of a file of the model directory."""
        assert self._saved is not None
        with open(self._saved / name, "rb") as file:
            file.seek(begin)
            return file.read(size)

    def tidy(self, run: str) -> None:
        """Remove what this run has left on this node's disk."""
        for path in self.directory.glob(f"cawv-{run}-*"):
            shutil.rmtree(path, ignore_errors=True)
