"""The driver: directs the phases of a run, and holds only the words, the ledger and the tallies."""

from __future__ import annotations

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

from wordvec_ca.cluster.connection import connected
from wordvec_ca.cluster.counting import Counting
from wordvec_ca.cluster.fitness import Requirements
from wordvec_ca.cluster.lease import Lease, LeaseLost
from wordvec_ca.cluster.ledger import Ledger
from wordvec_ca.cluster.members import Member, Members
from wordvec_ca.cluster.progress import ProgressReporter
from wordvec_ca.cluster.record import cluster_record
from wordvec_ca.cluster.request import COUNTED, VOCAB, ClusterRequest
from wordvec_ca.cluster.round_checkpoints import BackgroundCall, Checkpointing
from wordvec_ca.cluster.rounds import Rounds
from wordvec_ca.cluster.run_state import RunState
from wordvec_ca.cluster.shard_placement import ShardPlacement
from wordvec_ca.cluster.silence import RaySilence
from wordvec_ca.cluster.watcher import reported_if_ended
from wordvec_ca.cluster.words import SharedWords, Words, text_of
from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage, replacing
from wordvec_ca.formats import MODEL_FILES
from wordvec_ca.models import Callback, EmbeddingModel, Progress, ResolvedConfig, read_config
from wordvec_ca.runs import REQUEST_FILE, ended_by_signals
from wordvec_ca.showable import showable_name
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.training import Checkpoints, parse_interval, quality_warning

FETCH_BYTES = 8 << 20
"""Bytes of the model that the driver fetches at a time, to write them to its disk."""


ENDED = "the driver was ended, most likely by Ray, whose processes on this machine have died"
"""The message that another process writes if this one is ended."""

KEPT = {
    "nothing": "nothing had been done: give the command again",
    "before": "what the run had kept is still there: cawv train --resume {place} goes on",
    "run": "no checkpoint had been written: cawv train --resume {place} begins the training again",
    "checkpoint": "the last checkpoint is kept: cawv train --resume {place} continues the run from there",
    "model": "the model had been saved in {output}",
}
"""The message on what is kept of a run whose driver was ended, and how to resume it."""


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
    """Runs a request; holds the words, the ledger and the tallies, but no text and no parameters."""

    def __init__(
        self,
        request: ClusterRequest,
        callbacks: Sequence[Callback],
        lease: Lease,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self.request, self.config, self.lease = request, request.config, lease
        self.storage = Storage(request.storage, request.storage_patience)
        self.notice = notice or (lambda text: warnings.warn(text, stacklevel=4))
        self.reporter = ProgressReporter(callbacks, self.notice)
        self.interval = parse_interval(request.checkpoint_every)
        self.checkpoints = Checkpoints(self.storage)
        self.state = RunState(request.run, self.config.epochs)
        self.interrupted = False
        self.started = time.time()
        self._valid_at: Member | None = None
        self._collapsed = False
        self._kept = "nothing"
        self._keep_message: Callable[[str], None] = lambda message: None
        self.phase = "starting"

    def interrupt(self) -> None:
        """End the run in order, after the round under way."""
        self.interrupted = True

    def run(self, vocab: Vocab | None, *, resumed: bool = False) -> FinishedRun:
        """Run the request."""
        request = self.request
        if (warning := quality_warning(self.config, request.nodes)) is not None:
            self.notice(warning)
        if resumed:
            self._kept = "before"
        with ExitStack() as stack:
            self._keep_message = stack.enter_context(reported_if_ended(self._last_words()))
            silence = RaySilence(
                self.notice, lambda why: self._keep_message(self._last_words(why)), request.patience
            )
            stack.enter_context(silence.watched())
            ray = stack.enter_context(
                connected(request.cluster, request.nodes, request.config.workers, silence)
            )
            if not resumed:
                request.write()
                self._is_kept("run")
            self.members = Members(
                ray,
                self.config,
                request.nodes,
                directory=request.cache_dir,
                notice=self.notice,
                patience=request.patience,
                required=self._required(),
                storage_patience=request.storage_patience,
            )
            stack.callback(self.members.dismiss, request.run)
            self.checkpointing = Checkpointing(
                self.storage,
                self.interval,
                self.lease,
                self.members,
                request.storage_patience,
                self.state.as_record,
                on_written=lambda: self._is_kept("checkpoint"),
            )
            self.members.on_status = self._on_status
            self.members.on_beat, self.members.on_death = silence.beat, silence.is_dead
            self.phase = "starting"
            self.members.assemble()
            newest = BackgroundCall(
                lambda: self.checkpoints.newest(self.checkpoints.record) if resumed else None
            )
            if (former := newest.wait(self.members.ask)) is not None:
                self._is_kept("checkpoint")
                self.state.go_back(former)
                self.state.sessions += 1
            self.words = self._words(vocab, resumed)
            self._prepare()  # which may take hours, and leaves nothing to save: Ctrl-C ends it at once
            with ended_by_signals(self):
                self._begin_training()
                self._train()
                return self._save()

    def _is_kept(self, what: str) -> None:
        """Set the message that is written if this process is ended from now on."""
        self._kept = what
        self._keep_message(self._last_words())

    def _last_words(self, why: str = ENDED) -> str:
        places = {"place": showable_name(self.storage.place), "output": self.request.output}
        return f"Error: {why}; {KEPT[self._kept].format(**places)}"

    # ---- before training -----------------------------------------------------------------------------------

    def _required(self) -> Requirements:
        """Return the requirements of a node: access to the text and to the folder for checkpoints."""
        texts = Requirements.of_text([*self.request.files, *self.request.valid])
        if self.interval is None:
            return texts
        return replace(texts, place=self.storage.path(REQUEST_FILE), content=self.storage.read(REQUEST_FILE))

    def _words(self, vocab: Vocab | None, resumed: bool) -> SharedWords:
        """Return the words: given, counted before, or counted now."""
        began, ray, storage = time.monotonic(), self.members.ray, self.storage

        def kept() -> tuple[bytes | None, bytes | None]:
            note = storage.read(COUNTED) if resumed else None
            return note, None if note is None else storage.read(VOCAB)

        note, lines = BackgroundCall(kept).wait(self.members.ask)
        if note is not None and lines is not None:
            try:
                found = json.loads(note)
                words = Words(lines.count(b"\n"), *found["raw"])
                return SharedWords(words, ray.put(np.frombuffer(lines, np.uint8)))
            except (KeyError, TypeError, ValueError) as error:
                raise DataError(f"{COUNTED} in {self.storage.place!r} cannot be used: {error}") from error
        if vocab is None:
            self.phase = "counting"
            shared, _ = Counting(self.members, self.request.shards, self.config.text_options()).run()
        else:
            shared = SharedWords(Words.of(vocab), ray.put(text_of(vocab)))
        self.state.totals.took("counting", began)
        words, text = shared.words, memoryview(ray.get(shared.text))
        record = {"raw": [words.raw_tokens, words.raw_types]}

        # the note last: a resumed run trusts the words only if it finds it, and counts again otherwise
        def keep() -> None:
            storage.write(VOCAB, text)
            storage.write(COUNTED, json.dumps(record).encode())

        BackgroundCall(keep).wait(self.members.ask)
        return shared

    def _prepare(self) -> None:
        """Encode all shards on the nodes."""
        self.phase = "encoding"
        began = time.monotonic()
        self.placement = ShardPlacement(self.members, self.request.shards, self.words, self.state.encoded)
        self.placement.wait_for_all()
        self.state.totals.took("encoding", began)
        if not sum(found.tokens for found in self.state.encoded.values()):
            raise DataError(f"none of the {self.words.words.n_words:,} words occurs in the corpus")

    # ---- training ------------------------------------------------------------------------------------------

    def _begin_training(self) -> None:
        """Set up the training of the rest of the run."""
        state = self.state
        if not state.ledger.tokens:
            state.ledger = Ledger(
                self.config.epochs, [state.encoded[shard.number].tokens for shard in self.request.shards]
            )
        self.rounds = Rounds(
            self.members,
            self.placement,
            state,
            self.config,
            self.request.merging,
            self.checkpoints,
            self.words.words.n_words,
        )
        self.rounds.stopping = self._stopping
        self.rounds.before_merge = self.checkpointing.settle
        self.rounds.before_going_back = self.checkpointing.forget
        state.start_clock()

    def _train(self) -> None:
        """Train the rest of the run."""
        state = self.state
        self.phase = "training"
        self.checkpointing.begin(state.ledger.position)
        while True:
            ready = self.rounds.ready()  # it may go back to a checkpoint: then the run is not finished
            if state.ledger.finished or self._stopping():
                break
            before = dict(state.totals.tallies)
            self.checkpointing.step(state.ledger.position, state.version)
            # before each round: a driver that has lost the run must not train on beside the one that has it
            self.lease.check()
            self.rounds.round(ready, self._stopping)
            if state.ledger.epoch_ended:
                self._end_epoch(before)
            else:
                self._record(before, state.ledger.epoch)
        self.phase = "saving"
        self.checkpointing.finish(state.version)
        if self.checkpointing.seconds:
            taken = state.totals.seconds.get("checkpoints", 0.0)
            state.totals.seconds["checkpoints"] = taken + self.checkpointing.seconds

    def _stopping(self) -> bool:
        return self.interrupted or self.reporter.stopped

    def _on_status(self) -> None:
        """Report the progress of the nodes between two merges."""
        self.reporter.report_nodes(self.members.present, self.checkpointing.away())

    def _end_epoch(self, before: dict[str, float]) -> None:
        epoch = self.state.ledger.epoch
        self.state.losses.append(self.state.totals.mean("loss", "examples", self.state.totals.before_epoch))
        valid_loss = None
        if self.request.valid:
            began = time.monotonic()
            version = self.state.version
            valid_loss = self._held_out_loss()
            if self.state.version != version:  # all nodes were lost: this epoch has not ended any more
                return
            self.state.valid_losses.append(valid_loss)
            self.state.totals.took("held-out", began)
        self._record(before, epoch, ended=True, valid_loss=valid_loss)
        self._watch_attention(before)
        self.state.totals.before_epoch = dict(self.state.totals.tallies)
        self.state.ledger.next_epoch()

    def _watch_attention(self, before: dict[str, float]) -> None:
        """Report once that attention has collapsed, as `CollapseWatch` does on one machine."""
        if not self.config.spec.attends or self._collapsed:
            return
        concentration = self.state.totals.mean("concentration", "weighed", before)
        for member in [m for m in self.members.living if m.version == self.state.version]:
            found = self.members.results({member: member.actor.collapse_warning.remote(concentration)})
            if member in found:  # any node will do: all have the same parameters
                if found[member] is not None:
                    self.notice(found[member])
                    self._collapsed = True
                return

    def _held_out_loss(self) -> float:
        """Return the loss on the held-out text, from the first node that lives long enough."""
        while True:
            for member in [m for m in self.rounds.ready() if m.version == self.state.version]:
                if self._valid_at is not member:
                    encoded = self.members.results(
                        {member: member.actor.encode_valid.remote(self.request.valid)}
                    )
                    if member not in encoded:
                        continue
                    self._valid_at = member
                found = self.members.results({member: member.actor.held_out.remote()})
                if member in found:
                    return float(found[member])

    def _record(
        self, before: dict[str, float], epoch: int, *, ended: bool = False, valid_loss: float | None = None
    ) -> None:
        state, totals = self.state, self.state.totals
        concentration = totals.mean("concentration", "weighed", before)
        record = Progress.now(
            epoch=epoch,
            epochs=state.ledger.epochs,
            epoch_ended=ended,
            fraction=state.fraction,
            words=totals.tallies.get("words", 0.0),
            seconds=state.seconds,
            alpha=self.rounds.schedule.alpha(state.ledger.position),
            loss=totals.mean("loss", "examples", before),
            epoch_loss=totals.mean("loss", "examples", totals.before_epoch),
            valid_loss=valid_loss,
            attention_concentration=None if math.isnan(concentration) else concentration,
        )
        state.history.add_nodes(record, [(m.number, m.words) for m in self.members.all])
        self.reporter.report(record)

    # ---- the model -----------------------------------------------------------------------------------------

    def _save(self) -> FinishedRun:
        """Let a node write the model, fetch it, and drop the run if it is finished."""
        request = self.request
        try:
            BackgroundCall(lambda: self.lease.check(now=True)).wait(self._on_status)
        except LeaseLost:
            raise
        except DataError as error:
            # storage is not needed to save: the model goes to this machine's disk
            self.notice(f"{error}; the model is saved all the same")
        began = time.monotonic()
        with replacing(
            request.output,
            overwrite=request.overwrite,
            files=MODEL_FILES,
            mark=request.run,
        ) as folder:
            while True:
                member = self._with_parameters()
                if not (self.state.ledger.finished or self._stopping()):
                    self._train()  # all nodes were lost, and the run has made no progress since
                    continue
                record = cluster_record(request, self.rounds, self.words.words, started=self.started)
                files = self.members.results(
                    {member: member.actor.save.remote(request.run, record, self.state.history)}
                )
                if member in files and self._fetch(member, files[member], folder):
                    self.members.results({member: member.actor.tidy.remote(request.run)})
                    break
        self._is_kept("model")
        self.state.totals.took("saving", began)
        if self.state.ledger.finished:
            try:
                BackgroundCall(request.clear).wait(self._on_status)
            except DataError as error:
                self.notice(
                    f"{error}; the model is saved, and the files that the run has left there can be removed"
                )
        return FinishedRun(request.output, record)

    def _with_parameters(self) -> Member:
        """Return a node that has the parameters; those of an earlier version if all were lost."""
        while True:
            for member in self.members.living:
                if member.version == self.state.version:
                    return member
            self.rounds.ready()

    def _fetch(self, member: Member, files: Sequence[tuple[str, int]], folder: Path) -> bool:
        """Copy the model from a node's disk; return False if the node died meanwhile."""
        for name, size in files:
            if name not in MODEL_FILES:
                continue
            with open(folder / name, "wb") as file:
                for begin in range(0, size, FETCH_BYTES):
                    ref = member.actor.read_saved.remote(name, begin, min(FETCH_BYTES, size - begin))
                    data = self.members.results({member: ref}).get(member)
                    if data is None:
                        for path in folder.iterdir():
                            shutil.rmtree(path) if path.is_dir() else path.unlink()
                        return False
                    file.write(data)
        return True
