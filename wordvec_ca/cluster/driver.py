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
from wordvec_ca.cluster.connection import connected
from wordvec_ca.cluster.engine import Engine, Requirements
from wordvec_ca.cluster.lock import Lock, LockLost, check_lock
from wordvec_ca.cluster.preparation import count_words, encode_text
from wordvec_ca.cluster.request import COUNTED, VOCAB, ClusterRequest
from wordvec_ca.cluster.rounds import Rounds, Stopped, plan_of_replicas, slices_of
from wordvec_ca.cluster.run_state import RunState
from wordvec_ca.cluster.tasks import Common
from wordvec_ca.cluster.watcher import watched
from wordvec_ca.cluster.words import SharedWords, Words, text_of
from wordvec_ca.corpus import CorpusStats, Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage, replacing
from wordvec_ca.formats import MODEL_FILES
from wordvec_ca.models import Callback, EmbeddingModel, Progress, ResolvedConfig, read_config
from wordvec_ca.runs import ended_by_signals
from wordvec_ca.showable import showable_name
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.specs.quantities import duration
from wordvec_ca.training import Checkpoints, parse_interval, quality_warning, recorded

LINE_EVERY = 10.0
"""Seconds between two lines that say what the nodes do."""

ENDED = "Error: Ray has died or does not answer, or the driver was killed; "
"""The message that another process writes if this one is ended, with one of the following."""

KEPT = {
    "nothing": "nothing had been done: give the command again",
    "before": "what the run had kept is still there: cawv train --resume {place} goes on",
    "run": "no checkpoint had been written: cawv train --resume {place} begins the training again",
    "checkpoint": "the last checkpoint is kept: cawv train --resume {place} continues the run from there",
    "model": "the model had been saved in {output}",
}


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
        kept = "before" if resumed else "nothing"
        with ExitStack() as stack:
            self.watcher = stack.enter_context(watched(self._message(kept)))
            ray = stack.enter_context(
                connected(request.cluster, request.nodes, request.config.workers, self.watcher)
            )
            if not resumed:
                request.write()
                self._is_kept("run")
            self._begin(ray, vocab, resumed)
            # until here there is nothing to save, and Ctrl-C ends the run at once
            with ended_by_signals(self):
                self._train()
                return self._save()

    def _is_kept(self, what: str) -> None:
        self.watcher.message(self._message(what))

    def _message(self, kept: str) -> str:
        places = {"place": showable_name(self.storage.place), "output": self.request.output}
        return ENDED + KEPT[kept].format(**places)

    # ---- before training ---------------------------------------------------------------------------------

    def _begin(self, ray: Any, vocab: Vocab | None, resumed: bool) -> None:
        """Find nodes, words and text, and the version from which to train."""
        request, config = self.request, self.request.config
        interval = parse_interval(request.checkpoint_every)
        required = Requirements.of(
            [*request.files, *request.valid],
            None if interval is None else self.storage.place,
            request.cache_dir,
        )
        self.engine = Engine(ray, config, required, self.notice, request.patience)
        nodes = self.engine.assemble(request.nodes)
        former = self.checkpoints.newest(self.checkpoints.record) if resumed else None
        if former is not None:
            self._is_kept("checkpoint")
            self.state = RunState.from_record(former, request.run)
            self.state.sessions += 1
        else:
            self.state.threads = config.workers or min(node.cpus for node in nodes)
        self.engine.config = config = replace(config, workers=self.state.threads)
        common = Common(request.run, config, Words(0, 0, 0), 1, request.cache_dir, request.storage_patience)
        words = self._words(common, vocab, resumed)
        common = replace(
            common, words=words.words, slices=slices_of(config, words.words.n_words, request.nodes)
        )
        began = time.monotonic()
        texts, self.encoded = encode_text(
            self.engine, common, words.text, request.shards, request.nodes, lambda: self._line("encoding")
        )
        total = sum(text.tokens for text in texts)
        if not total:
            raise DataError(f"none of the {words.words.n_words:,} words occurs in the corpus")
        self._check_text([found.fingerprint for found in self.encoded])
        self.state.phase_took("encoding", began)
        plans = [
            plan_of_replicas(
                config, words.words.n_words, total, replicas, self.state.threads, request.merging
            )
            for replicas in (request.nodes, 2)  # alone, it has as many rounds as two would have
        ]
        every = plans[0].merges_per_epoch or plans[1].merges_per_epoch
        self.rounds = Rounds(self.engine, common, words.text, texts, self.state, plans[0], every)
        self.rounds.watch, self.rounds.stopping = self._line, self._stopping
        self._version(resumed)
        self.checkpointing = Checkpointing(
            self.engine,
            self.rounds,
            self.storage,
            self.lock,
            interval,
            request.storage_patience,
            lambda: self._is_kept("checkpoint"),
        )
        self.rounds.before_merge = self.checkpointing.settle
        self._valid = (
            None
            if not request.valid
            else self.engine.call(
                tasks.encode_valid,
                common,
                words.text,
                request.valid,
                node=self.engine.some()[0],
                retries=20,
            )
        )
        self.state.start_clock()

    def _words(self, common: Common, vocab: Vocab | None, resumed: bool) -> SharedWords:
        """Return the words: given, counted before, or counted now."""
        began, storage = time.monotonic(), self.storage
        note = storage.read(COUNTED) if resumed else None
        lines = None if note is None else storage.read(VOCAB)
        if note is not None and lines is not None:
            try:
                words = Words(lines.count(b"\n"), *json.loads(note)["raw"])
            except (KeyError, TypeError, ValueError) as error:
                raise DataError(f"{COUNTED} in {storage.place!r} cannot be used: {error}") from error
            return SharedWords(words, self.engine.put(np.frombuffer(lines, np.uint8)))
        if vocab is None:
            shared, _ = count_words(self.engine, common, self.request.shards, lambda: self._line("counting"))
        else:
            shared = SharedWords(Words.of(vocab), self.engine.put(text_of(vocab)))
        self.state.phase_took("counting", began)
        storage.write(VOCAB, memoryview(self.engine.get(shared.text)))
        # the note last: a resumed run trusts the words only if it finds it, and counts again otherwise
        record = {"raw": [shared.words.raw_tokens, shared.words.raw_types]}
        storage.write(COUNTED, json.dumps(record).encode())
        return shared

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
        engine, rounds = self.engine, self.rounds
        common, text = rounds.common, rounds.text

        def begun(function: Callable[..., Any], *args: Any) -> Any:
            for attempt in range(4):
                node = engine.some()[attempt % len(engine.some())]
                refs = engine.call(function, common, text, *args, node=node, returns=1 + common.slices)
                while not engine.wait(refs[-1:]):
                    engine.nodes()
                try:
                    found = engine.get(refs[0])
                except engine.ray.exceptions.RayError:
                    continue
                rounds.copies = {node.key: refs[1:]}
                return found
            raise DataError("the parameters could not be made: four processes in a row died")

        record = None
        if resumed or self.state.version:
            record = self.checkpoints.newest(
                lambda name: begun(tasks.load, Storage(self.storage.place, self.storage.patience), name)
            )
        if record is not None:
            state = RunState.from_record(record, self.request.run)
            state.sessions = self.state.sessions
            self.notice(f"training continues from the checkpoint of version {state.version}")
        else:
            begun(tasks.initial)
            state = self.state.begin_again()
        self.state = rounds.state = state

    # ---- training ----------------------------------------------------------------------------------------

    def _train(self) -> None:
        """Train the rest of the run."""
        rounds = self.rounds
        while not rounds.finished and not self._stopping():
            self.checkpointing.step()
            before = dict(self.state.tallies)
            try:
                done = rounds.round()
                if done and rounds.epoch_ended:
                    done = self._end_epoch(before)
                elif done:
                    self._record(before)
            except Stopped:
                break
            if not done:
                self.notice("every copy of the parameters is lost")
                self._version(resumed=True)
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

    def _end_epoch(self, before: dict[str, float]) -> bool:
        state, rounds = self.state, self.rounds
        epoch_loss, valid_loss = state.mean("loss", "examples", state.before_epoch), None
        if self._valid is not None:
            began = time.monotonic()
            valid_loss = self._of_version(tasks.held_out, rounds.total, self._valid)
            if valid_loss is None:
                return False
            state.phase_took("held-out", began)
        if rounds.common.config.spec.attends and not self._collapsed:
            concentration = state.mean("concentration", "weighed", before)
            block = next(text.blocks[0] for text in rounds.texts if text.tokens)
            warning = self._of_version(tasks.collapse, rounds.total, concentration, block)
            if warning is not None:
                self.notice(warning)
                self._collapsed = True
        state.losses.append(epoch_loss)
        if valid_loss is not None:
            state.valid_losses.append(valid_loss)
        self._record(before, ended=True, valid_loss=valid_loss)
        state.before_epoch = dict(state.tallies)
        state.epoch, state.round = state.epoch + 1, 0
        return True

    def _of_version(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return a task's result for the version of now; None if every copy is lost."""
        rounds, engine = self.rounds, self.engine
        while True:
            nodes = rounds.nodes()
            if not rounds.copies:
                return None
            ref = engine.call(
                function, rounds.common, rounds.text, *args, *rounds.copy_for(nodes[0]), node=nodes[0]
            )
            while not engine.wait([ref]):
                engine.nodes()
            try:
                return engine.get(ref)
            except engine.ray.exceptions.RayError:
                time.sleep(0.2)

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
            while True:
                record = self._as_record()
                if self._fetch(record, folder):
                    break
                for path in folder.iterdir():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                if not self.rounds.copies:
                    self._version(resumed=True)
                    self._train()
        self._is_kept("model")
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
        nodes = rounds.nodes()
        if not rounds.copies:
            return False
        pieces = engine.call(
            tasks.save,
            rounds.common,
            rounds.text,
            record,
            self.state.history.points,
            *rounds.copy_for(nodes[0]),
            node=nodes[0],
            returns="streaming",
        )
        try:
            while True:
                if not engine.wait([pieces]):
                    engine.nodes()
                    continue
                try:
                    ref = next(pieces)
                except StopIteration:
                    return True
                name, piece = engine.get(ref)
                if name in MODEL_FILES:
                    with open(folder / name, "ab") as file:
                        file.write(piece)
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
                "nodes": [
                    {
                        "name": node.name,
                        "workers": state.threads,
                        "words": int(node.words),
                        "seconds": round(node.seconds, 3),
                        "processor_seconds_training": round(node.training, 3),
                        "processor_seconds": round(node.processor, 3),
                    }
                    for node in self.engine.all
                ],
                "lost": self.engine.lost,
                "left_out": list(self.engine.left_out.values()),
                "merging": rounds.plan.as_record(),
                "merges": state.merges,
                "shards": len(request.shards),
                "bytes_moved": state.bytes_moved,
                "seconds": {name: round(value, 3) for name, value in state.took.items()},
            },
        }
