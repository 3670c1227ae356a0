"""The driver: goes through the phases of a run, and holds the words, the ledger and the tallies, no more."""

from __future__ import annotations

import json
import math
import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.corpus import CorpusStats, Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.files import replacing
from wordvec_ca.models import Callback, EmbeddingModel, Point
from wordvec_ca.training.checkpoint import parse_interval
from wordvec_ca.training.cluster.checkpointing import Checkpointing
from wordvec_ca.training.cluster.checkpoints import CheckpointStorage
from wordvec_ca.training.cluster.connection import connected
from wordvec_ca.training.cluster.counting import Counting
from wordvec_ca.training.cluster.custody import Custody
from wordvec_ca.training.cluster.fitness import Requirements
from wordvec_ca.training.cluster.lease import Lease, LeaseLost
from wordvec_ca.training.cluster.ledger import Ledger
from wordvec_ca.training.cluster.members import Member, Members
from wordvec_ca.training.cluster.progress import NodeHistory, Speedometer, progress_record
from wordvec_ca.training.cluster.record import cluster_record
from wordvec_ca.training.cluster.request import REQUEST_FILE, ClusterRequest
from wordvec_ca.training.cluster.rounds import Rounds, Totals
from wordvec_ca.training.cluster.shards import Encoded
from wordvec_ca.training.cluster.words import SharedWords, Words, text_of
from wordvec_ca.training.interrupts import ended_by_signals
from wordvec_ca.training.merge_plan import beyond_measured
from wordvec_ca.vectors import MODEL_FILES

FETCH_BYTES = 8 << 20
"""Bytes of the model that the driver fetches at a time, to write them to its disk."""


@dataclass(frozen=True)
class FinishedRun:
    """What a run on a cluster has made.

    Attributes
    ----------
    directory : str
        The model directory.
    record : dict
        What ``config.json`` says of the run.
    """

    directory: str
    record: dict[str, Any]

    @property
    def vocab(self) -> Vocab:
        """The words, read from the model directory."""
        return Vocab.load(Path(self.directory) / "vocab.tsv")

    def load(self) -> EmbeddingModel:
        """Load the model; it must fit into the memory of this machine."""
        return EmbeddingModel.load(self.directory)


class Driver:
    """Runs a request; holds the words, the ledger and the tallies, but no text and no parameters.

    Parameters
    ----------
    request : ClusterRequest
        What to do.
    callbacks : sequence of callable
        Receive each ``Progress``.
    lease : Lease
        Of the run, held.
    notice : callable or None
        Receives lines about nodes; by default they are warnings.
    """

    def __init__(
        self,
        request: ClusterRequest,
        callbacks: Sequence[Callback],
        lease: Lease,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self.request, self.config, self.lease = request, request.config, lease
        self.storage = CheckpointStorage(request.storage, request.storage_patience)
        self.notice = notice or (lambda text: warnings.warn(text, stacklevel=4))
        self.speedometer = Speedometer(callbacks, self.notice)
        self.interval = parse_interval(request.checkpoint_every)
        self.interrupted = False
        self.started = time.time()
        self.totals = Totals()
        self.history = NodeHistory()
        self.losses: list[float] = []
        self.valid_losses: list[float] = []
        self.sessions = 1
        self.seconds_before = 0.0
        self._valid_at: Member | None = None
        self._valid_fingerprint: str | None = None
        self._unusable: dict[str, str] = {}
        self._begun = time.monotonic()
        self.phase = "starting"

    def interrupt(self) -> None:
        """End the run in order, after the round under way."""
        self.interrupted = True

    @property
    def seconds(self) -> float:
        """Training time over all sessions."""
        return self.seconds_before + time.monotonic() - self._begun

    def run(self, vocab: Vocab | None, *, resumed: bool = False) -> FinishedRun:
        """Do what was asked for.

        Parameters
        ----------
        vocab : Vocab or None
            The words, if they were given.
        resumed : bool
            Whether the run began before.
        """
        request = self.request
        if (warning := beyond_measured(self.config, request.nodes)) is not None:
            self.notice(warning)
        with ExitStack() as stack:
            ray = stack.enter_context(connected(request.cluster, request.nodes, request.workers))
            if not resumed:
                request.write()
            self.members = Members(
                ray,
                self.config,
                request.nodes,
                workers=request.workers,
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
                self._state,
            )
            self.members.on_status = self._on_status
            self.phase = "starting"
            self.members.assemble()
            former = self.storage.newest() if resumed else None
            if former is not None:
                self._take_up(former[1], resumed=True)
            self.words, counted = self._words(vocab, resumed)
            known = {} if former is None else _known(former[1])
            self._prepare(known)  # which may take hours, and leaves nothing to save: Ctrl-C ends it at once
            with ended_by_signals(self):
                self._train(None if former is None else former[1])
                return self._save(counted)

    # ---- before training -----------------------------------------------------------------------------------

    def _required(self) -> Requirements:
        """Return what a node must see: the text, and what was asked for, beside which checkpoints go."""
        texts = Requirements.of_text([*self.request.files, *self.request.valid])
        if self.interval is None:
            return texts
        return replace(texts, place=self.storage.path(REQUEST_FILE), content=self.storage.read(REQUEST_FILE))

    def _words(self, vocab: Vocab | None, resumed: bool) -> tuple[SharedWords, CorpusStats | None]:
        """Return the words: given, counted before, or counted now."""
        began, ray = time.monotonic(), self.members.ray
        note = self.storage.read("counted.json") if resumed else None
        if note is not None and (lines := self.storage.read("vocab.tsv")) is not None:
            try:
                found = json.loads(note)
                words = Words(found["n_words"], *found["raw"])
                counted = None if found["stats"] is None else CorpusStats(**found["stats"])
                return SharedWords(words, ray.put(np.frombuffer(lines, np.uint8))), counted
            except (KeyError, TypeError, ValueError) as error:
                raise DataError(f"counted.json in {self.storage.place!r} cannot be used: {error}") from error
        counted = None
        if vocab is None:
            self.phase = "counting"
            shared, counted = Counting(self.members, self.request.shards, self.config.text_options()).run()
        else:
            shared = SharedWords(Words.of(vocab), ray.put(text_of(vocab)))
        self.totals.took("counting", began)
        self.storage.write("vocab.tsv", memoryview(ray.get(shared.text)))
        words = shared.words
        record = {"n_words": words.n_words, "raw": [words.raw_tokens, words.raw_types]}
        stats = None if counted is None else counted.as_dict()
        self.storage.write("counted.json", json.dumps({**record, "stats": stats}).encode())
        return shared, counted

    def _prepare(self, known: dict[int, Encoded]) -> None:
        """Encode all shards on the nodes."""
        self.phase = "encoding"
        began = time.monotonic()
        self.custody = Custody(self.members, self.request.shards, self.words, known)
        self.custody.wait_for_all()
        self.totals.took("encoding", began)
        if not sum(found.tokens for found in self.custody.known.values()):
            raise DataError(f"none of the {self.words.words.n_words:,} words occurs in the corpus")

    # ---- training ------------------------------------------------------------------------------------------

    def _train(self, former: dict[str, Any] | None) -> None:
        """Train what is left of the run."""
        tokens = [self.custody.known[shard.number].tokens for shard in self.request.shards]
        ledger = Ledger(self.config.epochs, tokens)
        self.ledger = ledger
        self.rounds = Rounds(
            self.members,
            self.custody,
            ledger,
            self.config,
            self.request.merging,
            self.totals,
            self.words.words.n_words,
        )
        self.rounds.storage = self.storage
        self.rounds.restore, self.rounds.reject = self._restore, self._reject
        self.rounds.before_merge = self.checkpointing.settle
        if former is not None:
            self.rounds.version = int(former["version"])
            ledger.__dict__.update(Ledger.from_dict(former["ledger"]).__dict__)
        self.phase = "training"
        self._begun = time.monotonic()
        self.checkpointing.begin(ledger.position)
        while True:
            ready = self.rounds.ready()  # it may go back to a checkpoint: then the run is not finished
            if ledger.finished or self._stopping():
                break
            before = dict(self.totals.tallies)
            self.checkpointing.step(ledger.position, self.rounds.version)
            self.lease.check()
            self.rounds.round(ready, self._stopping)
            if ledger.epoch_ended:
                self._end_epoch(before)
            else:
                self._record(before, ledger.epoch)
        self.phase = "saving"
        self.checkpointing.finish(self.rounds.version)
        if self.checkpointing.seconds:
            taken = self.totals.seconds.get("checkpoints", 0.0)
            self.totals.seconds["checkpoints"] = taken + self.checkpointing.seconds

    def _stopping(self) -> bool:
        return self.interrupted or self.speedometer.stopped

    def _on_status(self) -> None:
        """Tell between two merges how far the nodes are."""
        self.speedometer.nodes(self.members.living, self.checkpointing.away())

    def _end_epoch(self, before: dict[str, float]) -> None:
        epoch = self.ledger.epoch
        self.losses.append(self.totals.mean("loss", "examples", self.totals.before_epoch))
        valid_loss = None
        if self.request.valid:
            began = time.monotonic()
            valid_loss = self._held_out_loss()
            self.valid_losses.append(valid_loss)
            self.totals.took("held-out", began)
        self._record(before, epoch, ended=True, valid_loss=valid_loss)
        self.totals.before_epoch = dict(self.totals.tallies)
        self.ledger.next_epoch()

    def _held_out_loss(self) -> float:
        """Return the loss on the held-out text, from whichever node lives long enough."""
        while True:
            for member in [m for m in self.rounds.ready() if m.version == self.rounds.version]:
                if self._valid_at is not member:
                    encoded = self.members.results(
                        {member: member.actor.encode_valid.remote(self.request.valid)}
                    )
                    if member not in encoded:
                        continue
                    self._valid_at, self._valid_fingerprint = member, encoded[member]
                found = self.members.results({member: member.actor.held_out.remote()})
                if member in found:
                    return float(found[member])

    def _record(
        self, before: dict[str, float], epoch: int, *, ended: bool = False, valid_loss: float | None = None
    ) -> None:
        totals, position = self.totals, self.ledger.position
        record = progress_record(
            epoch=epoch,
            epochs=self.ledger.epochs,
            ended=ended,
            fraction=self.rounds.fraction,
            words=totals.tallies.get("words", 0.0),
            seconds=self.seconds,
            alpha=self.rounds.schedule.alpha(position),
            means={
                "loss": totals.mean("loss", "examples", before),
                "epoch_loss": totals.mean("loss", "examples", totals.before_epoch),
                "concentration": totals.mean("concentration", "weighed", before),
            },
            valid_loss=valid_loss,
        )
        self.history.add_nodes(record, self.members.all)
        self.speedometer.tell(record)

    # ---- checkpoints ---------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """Return what a run needs to go on from here, besides the parameters."""
        return {
            "run": self.request.run,
            "version": self.rounds.version,
            "ledger": self.ledger.as_dict(),
            "totals": asdict(self.totals),
            "losses": self.losses,
            "valid_losses": self.valid_losses,
            "history": [list(point) for point in self.history.points],
            "words_by_node": self.history.words,
            "seconds": self.seconds,
            "sessions": self.sessions,
            "encoded": {
                str(number): [found.tokens, found.stats.as_dict(), found.fingerprint]
                for number, found in self.custody.known.items()
            },
        }

    def _take_up(self, state: dict[str, Any], *, resumed: bool = False) -> None:
        """Go on from the state of a checkpoint, of this run."""
        if state.get("run") != self.request.run:
            raise DataError(f"the checkpoints in {self.storage.place!r} are of another run")
        try:
            self.totals.__dict__.update(Totals(**state["totals"]).__dict__)
            self.history = NodeHistory(
                [Point.of([math.nan if v is None else v for v in p]) for p in state["history"]],
                state["words_by_node"],
            )
            self.losses = [float(loss) for loss in state["losses"]]
            self.valid_losses = [float(loss) for loss in state["valid_losses"]]
            self.seconds_before = float(state["seconds"])
            self.sessions = max(self.sessions, int(state["sessions"]) + resumed)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the checkpoint in {self.storage.place!r} cannot be used: {error}") from error
        self._begun = time.monotonic()

    def _restore(self) -> tuple[str, int, Ledger, Totals] | None:
        """Return the newest checkpoint for nodes of which none has the parameters, having gone back to it."""
        self.checkpointing.forget()
        found = self.storage.newest(self._unusable)
        if found is None:
            self.losses, self.valid_losses, self.history = [], [], NodeHistory()
            return None
        name, state = found
        self._take_up(state)
        totals = Totals(**state["totals"])
        return name, int(state["version"]), Ledger.from_dict(state["ledger"]), totals

    def _reject(self, name: str, why: str) -> None:
        """Take a checkpoint for damaged; the next one to go back to is the one before it."""
        self._unusable[name] = why

    # ---- the model -----------------------------------------------------------------------------------------

    def _save(self, counted: CorpusStats | None) -> FinishedRun:
        """Let a node write the model, fetch it, and drop the run if it is finished."""
        request = self.request
        try:
            self.lease.check(now=True)
        except LeaseLost:
            raise
        except DataError as error:  # the model goes to this machine's disk, whoever else cannot be asked
            self.notice(f"{error}; the model is saved all the same")
        interrupted = not self.ledger.finished
        began = time.monotonic()
        record = cluster_record(
            request,
            self.rounds,
            self.words.words,
            started=self.started,
            seconds=self.seconds,
            sessions=self.sessions,
            losses=self.losses,
            valid_losses=self.valid_losses,
        )
        with replacing(
            request.output,
            overwrite=request.overwrite,
            files=MODEL_FILES,
            mark=request.run,
        ) as folder:
            while True:
                member = self._with_parameters()
                files = self.members.results(
                    {member: member.actor.save.remote(request.run, record, self.history)}
                )
                if member in files and self._fetch(member, files[member], folder):
                    self.members.results({member: member.actor.tidy.remote(request.run)})
                    break
        self.totals.took("saving", began)
        if not interrupted:
            try:
                request.clear()
            except DataError as error:
                self.notice(f"{error}; the model is saved, and what the run has left there may be removed")
        return FinishedRun(request.output, record)

    def _with_parameters(self) -> Member:
        while True:
            for member in self.members.living:
                if member.version == self.rounds.version:
                    return member
            self.rounds.ready()

    def _fetch(self, member: Member, files: Sequence[tuple[str, int]], folder: Path) -> bool:
        """Copy the model from a node's disk; return whether it lived so long."""
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


def _known(state: dict[str, Any]) -> dict[int, Encoded]:
    """Return what shards held when a checkpoint was written."""
    return {
        int(number): Encoded(tokens, CorpusStats(**stats), fingerprint)
        for number, (tokens, stats, fingerprint) in state["encoded"].items()
    }
