"""The driver: a loop over versions, which can be killed at any time and begun again from a checkpoint."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.cluster import tasks
from wordvec_ca.cluster.checkpointing import Checkpointing
from wordvec_ca.cluster.connection import connected, watched
from wordvec_ca.cluster.engine import Engine, Lost, Stopped
from wordvec_ca.cluster.lock import Lock, LockLost, check_lock
from wordvec_ca.cluster.preparation import count_words, encode_text
from wordvec_ca.cluster.request import COUNTED, VOCAB, ClusterRequest
from wordvec_ca.cluster.rounds import Rounds, RunState, plan_of_replicas, slices_of
from wordvec_ca.cluster.shards import Shard, Words, text_of
from wordvec_ca.cluster.tasks import Common
from wordvec_ca.corpus import CorpusStats, Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage, replacing
from wordvec_ca.formats import MODEL_FILES
from wordvec_ca.models import Callback, EmbeddingModel, Progress, ResolvedConfig, read_config
from wordvec_ca.runs import ended_by_signals
from wordvec_ca.showable import duration, showable_name
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.training import Checkpoints, parse_interval, quality_warning, recorded

LINE_EVERY = 10.0
"""Seconds between two lines that say what the nodes do."""

ENDED = "Error: Ray has died or does not answer, or the driver was killed; "
"""The message that another process writes if this one is ended, with one of the following."""

NOTHING = "nothing had been done: give the command again"
RESUME = "cawv train --resume {} goes on from what the run has kept"
SAVED = "the model had been saved in {}"


@dataclass(frozen=True)
class FinishedRun:
    """The result of a run on a cluster.

    Attributes
    ----------
    directory : str
        The model directory.
    record : dict
        What ``config.json`` says of the run.
    documents : None
        Always None: models of documents are trained on one machine.
    """

    directory: str
    record: dict[str, Any]
    documents: None = None

    @property
    def config(self) -> ResolvedConfig:
        """The options, read from the model directory."""
        return read_config(Path(self.directory))

    @property
    def vocab(self) -> Vocab:
        """The words, read from the model directory."""
        return Vocab.load(Path(self.directory) / ModelFile.VOCAB)

    def load(self) -> EmbeddingModel:
        """Load the model; it must fit into the memory of this machine."""
        return EmbeddingModel.load(self.directory)


class Driver:
    """Runs a request; it holds references of text and parameters, and neither of them."""

    def __init__(
        self,
        request: ClusterRequest,
        callbacks: Sequence[Callback],
        lock: Lock,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self.request, self.callbacks, self.lock = request, list(callbacks), lock
        self.storage = Storage(request.storage, request.storage_patience)
        self.notice = notice or (lambda text: warnings.warn(text, stacklevel=4))
        self.checkpoints = Checkpoints(self.storage)
        self.state = RunState(request.run)
        self.interrupted = self.stopped = False
        self.started = time.time()
        self._collapsed = False
        self._last_line, self._last_record = time.monotonic(), 0.0

    def interrupt(self) -> None:
        """End the run in order: the round under way is dropped."""
        self.interrupted = True

    def run(self, vocab: Vocab | None, *, resumed: bool = False) -> FinishedRun:
        """Run the request."""
        request = self.request
        if (warning := quality_warning(request.config, request.nodes)) is not None:
            self.notice(warning)
        resume = ENDED + RESUME.format(showable_name(self.storage.place))
        with ExitStack() as stack:
            self.tell = stack.enter_context(watched(resume if resumed else ENDED + NOTHING))
            ray = stack.enter_context(
                connected(request.cluster, request.nodes, request.config.workers, self.tell)
            )
            if not resumed:
                request.write()
                self.tell("message", resume)
            self._begin(ray, vocab, resumed)
            # until here there is nothing to save, and Ctrl-C ends the run at once
            with ended_by_signals(self):
                while True:
                    try:
                        self._train()
                        return self._save()
                    except Lost:
                        self.notice("every copy of the parameters is lost")
                        self._version(resumed=True)

    # ---- before training ---------------------------------------------------------------------------------

    def _begin(self, ray: Any, vocab: Vocab | None, resumed: bool) -> None:
        """Find nodes, words and text, and the version from which to train."""
        request, config = self.request, self.request.config
        interval = parse_interval(request.checkpoint_every)
        place = None if interval is None else self.storage.place
        required = [*request.files, *request.valid], place, request.cache_dir
        self.engine = Engine(ray, config, required, self.notice, request.patience)
        self.engine.watch = self._line
        nodes = self.engine.assemble(request.nodes)
        former = self.checkpoints.newest(self.checkpoints.record) if resumed else None
        if former is not None:
            self.state = RunState.from_record(former, request.run)
            self.state.sessions += 1
        else:
            self.state.threads = config.workers or min(node.cpus for node in nodes)
        self.engine.config = config = replace(config, workers=self.state.threads)
        common = Common(request.run, config, Words(0, 0, 0), 1, request.cache_dir, request.storage_patience)
        words, text = self._words(common, vocab, resumed)
        common = replace(common, words=words, slices=slices_of(config, words.n_words, request.nodes))
        began = time.monotonic()
        texts, self.encoded = encode_text(self.engine, common, text, request.shards, request.nodes)
        total = sum(text.tokens for text in texts)
        if not total:
            raise DataError(f"none of the {words.n_words:,} words occurs in the corpus")
        self._valid = None
        if request.valid:
            held_out = [Shard(0, request.valid, 0)]
            (valid,), _ = encode_text(self.engine, common, text, held_out, 1)
            if not valid.tokens:
                raise DataError(f"held-out text: none of the {words.n_words:,} words occurs in it")
            self._valid = valid.blocks[0]
        self._check_text([found.fingerprint for found in self.encoded])
        self.state.phase_took("encoding", began)
        # alone, a replica has as many rounds as two would have
        plan, of_two = (
            plan_of_replicas(config, words.n_words, total, replicas, self.state.threads)
            for replicas in (request.nodes, 2)
        )
        every = plan.merges_per_epoch or of_two.merges_per_epoch
        self.rounds = Rounds(self.engine, common, text, texts, self.state, plan, every)
        self.rounds.stopping = self._stopping
        self._version(resumed)
        self.checkpointing = Checkpointing(
            self.engine, self.rounds, self.storage, self.lock, interval, request.storage_patience
        )
        self.rounds.before_merge = self.checkpointing.settle
        self.state.start_clock()

    def _words(self, common: Common, vocab: Vocab | None, resumed: bool) -> tuple[Words, Any]:
        """Return the words and the reference to their text: given, counted before, or counted now."""
        began, storage = time.monotonic(), self.storage
        note = storage.read(COUNTED) if resumed else None
        lines = None if note is None else storage.read(VOCAB)
        if note is not None and lines is not None:
            try:
                words = Words(lines.count(b"\n"), *json.loads(note)["raw"])
            except (KeyError, TypeError, ValueError) as error:
                raise DataError(f"{COUNTED} in {storage.place!r} cannot be used: {error}") from error
            return words, self.engine.put(np.frombuffer(lines, np.uint8))
        if vocab is None:
            words, text, _ = count_words(self.engine, common, self.request.shards)
        else:
            words, text = Words.of(vocab), self.engine.put(text_of(vocab))
        self.state.phase_took("counting", began)
        storage.write(VOCAB, memoryview(self.engine.get(text)))
        # the note last: a resumed run trusts the words only if it finds it, and counts again otherwise
        storage.write(COUNTED, json.dumps({"raw": [words.raw_tokens, words.raw_types]}).encode())
        return words, text

    def _check_text(self, fingerprints: list[str]) -> None:
        for shard, now, before in zip(
            self.request.shards, fingerprints, self.state.fingerprints or fingerprints, strict=True
        ):
            if now != before:
                raise DataError(
                    f"the text of {', '.join(shard.files[:2])} has changed since the run began; put the old "
                    "one back, or start a new run"
                )
        self.state.fingerprints = fingerprints

    def _version(self, resumed: bool) -> None:
        """Make the slices of the newest checkpoint, or those of the beginning."""
        rounds, state, record = self.rounds, self.state.begin_again(), None
        if resumed:
            record = self.checkpoints.newest(lambda name: rounds.begin(tasks.load, self.storage, name))
        if record is None:
            rounds.begin(tasks.initial)
        else:
            state = RunState.from_record(record, self.request.run)
            state.sessions = self.state.sessions
            self.notice(f"training continues from the checkpoint of version {state.version}")
        self.state = rounds.state = state

    # ---- training ----------------------------------------------------------------------------------------

    def _train(self) -> None:
        """Train the rest of the run."""
        rounds = self.rounds
        while not rounds.finished and not self._stopping():
            self.checkpointing.step()
            before = dict(self.state.tallies)
            try:
                rounds.round()
                self._end_epoch(before) if rounds.epoch_ended else self._record(before)
            except Stopped:
                break
        self.checkpointing.finish()

    def _stopping(self) -> bool:
        return self.interrupted or self.stopped

    def _line(self, doing: str) -> None:
        """Say what the nodes do, if it is time to."""
        if time.monotonic() - self._last_line < LINE_EVERY:
            return
        self._last_line = time.monotonic()
        away = self.checkpointing.away if hasattr(self, "checkpointing") else 0.0
        self.notice(doing + (f"; no checkpoint could be written for {duration(away)}" if away >= 1 else ""))

    def _end_epoch(self, before: dict[str, float]) -> None:
        state, rounds = self.state, self.rounds
        epoch_loss, valid_loss = state.mean("loss", "examples", state.before_epoch), None
        if self._valid is not None:
            began = time.monotonic()
            *_, valid_loss = rounds.alone(tasks.held_out, rounds.total, self._valid)
            state.valid_losses.append(valid_loss)
            state.phase_took("held-out", began)
        if rounds.common.config.spec.attends and not self._collapsed:
            concentration = state.mean("concentration", "weighed", before)
            block = next(text.blocks[0] for text in rounds.texts if text.tokens)
            *_, warning = rounds.alone(tasks.collapse, rounds.total, concentration, block)
            if warning is not None:
                self.notice(warning)
                self._collapsed = True
        state.losses.append(epoch_loss)
        self._record(before, ended=True, valid_loss=valid_loss)
        state.before_epoch = dict(state.tallies)
        state.epoch, state.round = state.epoch + 1, 0

    def _record(
        self, before: dict[str, float], *, ended: bool = False, valid_loss: float | None = None
    ) -> None:
        state, rounds = self.state, self.rounds
        concentration = state.mean("concentration", "weighed", before)
        record = Progress.now(
            epoch=state.epoch,
            epochs=rounds.common.config.epochs,
            epoch_ended=ended,
            fraction=rounds.fraction,
            words=state.tallies.get("words", 0.0),
            seconds=state.seconds,
            alpha=rounds.schedule.alpha(rounds.position),
            loss=state.mean("loss", "examples", before),
            epoch_loss=state.mean("loss", "examples", state.before_epoch),
            valid_loss=valid_loss,
            attention_concentration=None if math.isnan(concentration) else concentration,
        )
        state.history.add(record)
        if ended or time.monotonic() - self._last_record >= 1.0:
            self._last_record = time.monotonic()
            for callback in self.callbacks:
                self.stopped |= bool(callback(record))

    # ---- the model ---------------------------------------------------------------------------------------

    def _save(self) -> FinishedRun:
        """Write the model that a node makes, and drop the run if it is finished."""
        request, began = self.request, time.monotonic()
        try:
            check_lock(self.storage, self.lock.token)
        except LockLost:
            raise
        except DataError as error:
            # storage is not needed to save: the model goes to this machine's disk
            self.notice(f"{error}; the model is saved all the same")
        with replacing(
            request.output, overwrite=request.overwrite, files=MODEL_FILES, mark=request.run
        ) as folder:
            record = self._as_record()
            while not self._fetch(record, folder):
                for path in folder.iterdir():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.tell("message", ENDED + SAVED.format(request.output))
        self.state.phase_took("saving", began)
        if self.rounds.finished:
            try:
                request.clear()
            except DataError as error:
                self.notice(
                    f"{error}; the model is saved, and the files that the run has left there can be removed"
                )
        return FinishedRun(request.output, record)

    def _fetch(self, record: dict[str, Any], folder: Path) -> bool:
        """Write the model into a folder; return False if the node that makes it died meanwhile."""
        rounds, engine = self.rounds, self.engine
        node = rounds.nodes()[0]
        given = rounds.common, rounds.text, record, self.state.history.points, *rounds.copy_for(node)
        pieces = engine.stream(tasks.save, *given, node=node)
        try:
            while True:
                if not engine.wait([pieces]):
                    engine.nodes()
                    continue
                name, piece = engine.get(next(pieces))
                if name in MODEL_FILES:
                    with open(folder / name, "ab") as file:
                        file.write(piece)
        except StopIteration:
            return True
        except engine.ray.exceptions.RayError:
            return False

    def _as_record(self) -> dict[str, Any]:
        """Return the ``config.json`` of the run, with ``cluster``."""
        request, state, rounds = self.request, self.state, self.rounds
        words = rounds.common.words
        stats = replace(
            CorpusStats.total(found.stats for found in self.encoded),
            raw_types=words.raw_types,
            files=len(request.files),
        )
        fingerprint = hashlib.blake2b("".join(state.fingerprints).encode(), digest_size=16)
        return {
            "command": request.command,
            "settings": None if request.settings is None else dict(request.settings),
            "changes": [],
            **recorded(
                request.config,
                fingerprint=fingerprint.hexdigest(),
                stats=stats,
                loop=rounds.loop,
                tallies=state.tallies,
                losses=state.losses,
                valid_losses=state.valid_losses,
                started=self.started,
                seconds=state.seconds,
                reading=state.took.get("counting", 0.0) + state.took.get("encoding", 0.0),
                fraction=rounds.fraction,
                interrupted=not rounds.finished,
            ),
            "run": request.run,
            "sessions": state.sessions,
            "cluster": {
                "nodes": [{"name": node.name, "words": int(node.words)} for node in self.engine.all],
                "workers": state.threads,
                "left_out": list(self.engine.left_out.values()),
                "merging": rounds.plan.as_record(),
                "merges": state.merges,
                "shards": len(request.shards),
                "bytes_moved": state.bytes_moved,
                "seconds": {name: round(value, 3) for name, value in state.took.items()},
            },
        }
