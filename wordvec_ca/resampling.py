"""Models of resampled text: K trainings on bootstrap samples of one encoded text, and their mean.

Each model has its own seed and its own sample of lines or of whole documents. Checkpoints are saved of each
model, so a run can resume in the middle of any of them. At the end all models are rotated into one space
(generalised Procrustes). Their mean is published, and the rotated models are stored beside it;
`wordvec_ca.vectors` computes intervals from them.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.corpus import EncodedCorpus, likeness_of_neighbours
from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import Storage, scratch_array
from wordvec_ca.kernels import STATS, padded
from wordvec_ca.machine import free_memory
from wordvec_ca.models import (
    PROCESS_BYTES,
    Callback,
    EmbeddingModel,
    History,
    Progress,
    ResolvedConfig,
    logits_of,
    memory_bytes,
)
from wordvec_ca.showable import counted
from wordvec_ca.tables import EightBit, Resamples, one_blas_thread
from wordvec_ca.training import (
    Checkpoints,
    CheckpointSchedule,
    CollapseWatch,
    Interval,
    LineSample,
    State,
    Trainer,
    end_of_line,
    run_record,
)
from wordvec_ca.vectors import directions, mean_space

# Rotations are fitted on this number of most frequent words, whose vectors have the least noise.
FITTED = 5_000

# Number of rows rotated at a time.
BLOCK_ROWS = 2_048

# Largest number of threads that train one model; further threads train another model at the same time.
THREADS = 8

# Smallest number of documents that may be resampled. With fewer, a sample has little information and may be
# empty; with 10 documents one of 20,000 samples is empty.
LEAST_DOCUMENTS = 10

# Neighbouring lines are compared within this number of tokens at the beginning of the text.
LOOKED_AT = 20_000_000

# Lines are compared by this number of most frequent words, since a copy of all vectors would take too much
# memory.
FAMILIAR = 50_000

# Additional memory that models trained in parallel may take, as a share of the memory of one run.
MORE_MEMORY = 0.25


def folder_of_model(folder: Path, number: int) -> Path:
    """Return the folder, within the folder of a run, for the checkpoints of one model of resampled text; the
    first model has number 0.
    """
    return folder / "resamples" / f"{number + 1:03}"


def model_config(config: ResolvedConfig, number: int, workers: int) -> ResolvedConfig:
    """Return the configuration of one of the models, with its own seed and its share of the threads."""
    state = np.random.SeedSequence([config.seed, 0x72657361, number]).generate_state(1, np.uint64)
    seed = int(state[0] >> np.uint64(1))
    return dataclasses.replace(config, resamples=None, group_by=None, seed=seed, workers=workers)


def side_by_side(config: ResolvedConfig, n_words: int) -> tuple[int, int]:
    """Return how many models are trained at a time, and the threads of each."""
    # Training one model after the other takes the least memory, and with up to 8 threads it is nearly as
    # fast as training several at once. So models are trained in parallel only if they are small, or if
    # there are more threads.
    assert config.resamples is not None
    one = memory_bytes(dataclasses.replace(config, workers=1, replicas=None), n_words)
    small = 1 + int(MORE_MEMORY * (PROCESS_BYTES + one) / one)
    at_once = max(min(small, config.threads), -(-config.threads // THREADS))
    at_once = max(1, min(at_once, config.resamples, int(0.8 * free_memory() / one)))
    return at_once, max(1, config.threads // at_once)


class ResampledModels:
    """Trains models of resampled text one after the other, or several in parallel, and publishes their mean.

    It is a context manager. It has the attributes of a trainer that a run needs: ``model``, ``interrupt``
    and ``cut_short``.

    Parameters
    ----------
    config : ResolvedConfig
        A resolved configuration with ``resamples``.
    encoded : EncodedCorpus
        The text.
    held_out : EncodedCorpus or None
        The held-out text.
    folder : Path, optional
        Folder of the run, to which checkpoints are written; by default a temporary folder.
    interval : Interval, optional
        How often checkpoints are written.
    mark : str, optional
        Identifier of the run, as in ``run.json``.
    """

    def __init__(
        self,
        config: ResolvedConfig,
        encoded: EncodedCorpus,
        held_out: EncodedCorpus | None,
        folder: Path | None = None,
        interval: Interval | None = None,
        mark: str = "",
    ) -> None:
        assert config.resamples is not None
        if encoded.starts is not None and (n := encoded.starts.n) < LEAST_DOCUMENTS:
            raise DataError(
                f"the text has {counted(n, 'documents')}, and ",
                Option("resamples"),
                f" needs {LEAST_DOCUMENTS} or more to sample from: say with ",
                Option("group_by"),
                " what smaller ones are, as lines:100",
            )
        self.config, self._encoded, self._held_out = config, encoded, held_out
        self.interrupted = self._stopping = False
        self._number = config.resamples
        self._at_once, self._threads = side_by_side(config, len(encoded.vocab))
        self._temporary = Path(tempfile.mkdtemp(prefix="cawv-")) if folder is None else None
        self._folder = folder or self._temporary or Path()
        self._interval, self._mark = interval or Interval(), mark
        self._at_work: dict[int, Trainer] = {}
        self._last: Trainer | None = None
        self._states: list[State | None] = [self._checkpoints(k).newest_state() for k in range(self._number)]

    def __enter__(self) -> ResampledModels:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    @property
    def model(self) -> EmbeddingModel:
        """The model that is published."""
        assert self._last is not None
        return self._last.model

    @property
    def finished(self) -> list[int]:
        """The numbers of the models whose training is finished."""
        return [k for k, s in enumerate(self._states) if s is not None and s.epoch > self.config.epochs]

    @property
    def cut_short(self) -> bool:
        """Whether an interruption ended the run before its last model was trained."""
        return self.interrupted and len(self.finished) < self._number

    def interrupt(self) -> None:
        """End after the current chunks; may be called from a signal handler or another thread."""
        self.interrupted = True
        self._stop()

    def _stop(self) -> None:
        self._stopping = True
        for trainer in list(self._at_work.values()):
            trainer.interrupt()

    def _checkpoints(self, number: int) -> Checkpoints:
        return Checkpoints(Storage(folder_of_model(self._folder, number)), self._interval)

    def train(self, callbacks: Sequence[Callback] = ()) -> None:
        """Train the remaining models.

        Parameters
        ----------
        callbacks : sequence of callable
            Each is called with a ``Progress`` of all models together; a true result ends the run.

        Raises
        ------
        DataError
            The training of a model diverged.
        """
        progress = CombinedProgress(self._number, self.config.epochs, self._states, callbacks)
        finished = self.finished
        left = [number for number in range(self._number) if number not in finished]
        with ThreadPoolExecutor(self._at_once) as pool:
            try:
                waiting = {pool.submit(self._train_model, number, progress) for number in left}
                while waiting:  # a short wait, so that signals are handled meanwhile
                    done, waiting = wait(waiting, 0.2, FIRST_COMPLETED)
                    for job in done:
                        job.result()
            except BaseException:
                self._stop()
                raise
        self.history = progress.history

    def _train_model(self, number: int, progress: CombinedProgress) -> None:
        """Train one model, from its checkpoint if there is one, and save it."""
        if self._stopping:
            return
        self._last = None  # the memory of the model before
        config = model_config(self.config, number, self._threads)
        checkpoints = self._checkpoints(number)
        model, former = EmbeddingModel(config, self._encoded.vocab), self._states[number]
        if former is None:
            model.initialise()
        else:
            former = checkpoints.load(model)
        held_out = None if self._held_out is None else self._held_out.tokens
        sample = LineSample(config.seed, self._encoded.starts)
        trainer = Trainer(model, self._encoded.tokens, held_out, sample=sample)
        if former is not None:
            trainer.restore(former)
        self._at_work[number] = trainer
        # `_stop` may have looked through `_at_work` just before this trainer was added to it
        if self._stopping:
            trainer.interrupt()
        writing = CheckpointSchedule(checkpoints, self._mark, self._encoded, self._held_out, former)

        def tell(record: Progress) -> bool:
            if progress.of(number, record):
                self._stop()
            return self._stopping

        trainer.run([tell, CollapseWatch(trainer)], writing)
        if trainer.finished:
            # K models take much space: keep only the last checkpoint, the finished model that `publish` reads
            writing.write(trainer)
            checkpoints.drop_old(kept=1)
        self._states[number] = checkpoints.newest_state()
        del self._at_work[number]
        self._last = trainer

    def publish(self, started: float) -> None:
        """Compute the mean of the trained models, and its record; with fewer than two, publish what there is.

        Parameters
        ----------
        started : float
            The time when this process began to work on the run.
        """
        finished = self.finished
        trainer = self._last
        if trainer is None:  # all models were trained by earlier processes
            config = model_config(self.config, 0, self._threads)
            trainer = self._last = Trainer(EmbeddingModel(config, self._encoded.vocab), self._encoded.tokens)
        model = trainer.model
        if len(finished) > 1:
            place = folder_of_model(self._folder, 0).with_name("mean")
            shutil.rmtree(place, ignore_errors=True)  # left by a process that was killed at this point
            place.mkdir(parents=True)
            try:
                self._mean(model, finished, place)
            finally:
                shutil.rmtree(place, ignore_errors=True)
            if self._encoded.starts is None:
                self._warn_of_dependent_lines(model)
        model.config = self.config
        model.record = self._record(trainer, started)
        model.history = self.history

    def _warn_of_dependent_lines(self, model: EmbeddingModel) -> None:
        """Warn if lines that follow each other are more alike than lines far apart."""
        tokens = self._encoded.tokens
        if not isinstance(tokens, np.ndarray):
            return
        tokens = tokens[: end_of_line(tokens, min(LOOKED_AT, len(tokens)))]
        tokens = tokens[tokens < FAMILIAR]
        counts = model.vocab.counts[:FAMILIAR]
        n_lines = np.count_nonzero(tokens < 0)
        found = likeness_of_neighbours(
            tokens,
            np.arange(n_lines),
            np.zeros(n_lines, np.int64),
            directions(model.inputs[: len(counts), : self.config.vector_size]),
            counts,
            self.config.seed,
        )
        if found.dependent:
            warnings.warn(found.caution("Intervals over runs are too narrow"), stacklevel=6)

    @one_blas_thread
    def _mean(self, model: EmbeddingModel, finished: list[int], place: Path) -> None:
        """Read all models, one after the other; store their mean in ``model``, and the rotated models in
        ``resamples``.
        """
        d, n_words = self.config.vector_size, len(model.vocab)
        heads = scratch_array(place / "heads", np.float32, (len(finished), min(FITTED, n_words), d))
        for number, head in zip(finished, heads, strict=True):
            self._checkpoints(number).load(model)
            head[:] = directions(model.inputs[: len(head), :d])
        turns = [np.asarray(turn, np.float32) for turn in mean_space(list(heads))[1]]
        del heads, head
        sums = {
            name: scratch_array(place / name, np.float32, array.shape) for name, array in model.learnt.items()
        }
        for number, turn in zip(finished, turns, strict=True):
            self._load_turned(model, number, turn)
            for name, array in model.learnt.items():
                sums[name] += array
        self._take_mean(model, sums, len(finished))
        form = None if model.form == "input" else model.fitted_form()
        attends = self.config.spec.attends
        slots, of_word = logits_of(self.config) if attends else (0, 0)
        n_columns = d if form is None else form.n_columns
        codes = EightBit.empty(len(finished), n_words, n_columns, self._beside("vectors"))
        logits = EightBit.empty(len(finished), n_words, of_word, self._beside("logits"))
        of_places = np.zeros((len(finished), slots), np.float32)
        for i, (number, turn) in enumerate(zip(finished, turns, strict=True)):
            self._load_turned(model, number, turn)
            # the components are those of the mean model, so that all models are in one space; the subtracted
            # mean rows are each model's own, as in a single run
            blocks = (
                (model.inputs[start : start + BLOCK_ROWS, :d] for start in range(0, n_words, BLOCK_ROWS))
                if form is None
                else form.with_means_of(model.halves).blocks(model.halves)
            )
            start = 0
            for block in blocks:
                codes.put(i, start, block)
                start += len(block)
            for start in range(0, n_words if of_word else 0, BLOCK_ROWS):
                logits.put(i, start, model.word_logits[start : start + BLOCK_ROWS, :of_word])
            of_places[i] = model.slot_logits[0, :slots]
        self._take_mean(model, sums, len(finished))
        model.resamples = Resamples(codes, logits, of_places) if attends else Resamples(codes)

    def _load_turned(self, model: EmbeddingModel, number: int, turn: np.ndarray) -> None:
        """Read one of the models into ``model``, rotated into the common space."""
        self._checkpoints(number).load(model)
        turned = {*model.of_output, "inputs"}
        for name, array in model.learnt.items():
            if name in turned:
                turn_rows(array, turn)
        model.compose()

    @staticmethod
    def _take_mean(model: EmbeddingModel, sums: dict[str, np.ndarray], number: int) -> None:
        for name, array in model.learnt.items():
            np.divide(sums[name], np.float32(number), out=array)
        model.compose()

    def _beside(self, name: str) -> Path | None:
        """Return the path for the rounded models until the model is saved; None if they stay in memory."""
        return None if self._temporary is not None else folder_of_model(self._folder, 0).with_name(name)

    def _record(self, trainer: Trainer, started: float) -> dict[str, Any]:
        """Return the record of the published model, which covers all models together."""
        states = [state for state in self._states if state is not None]
        starts = self._encoded.starts
        record = run_record(trainer, self._encoded, started, interrupted=self.cut_short)
        seconds, words = sum(state.seconds for state in states), _counted("words", states)
        return {
            **record,
            "trained_fraction": sum(state.fraction for state in states) / self._number,
            "loss_by_epoch": _means([state.losses for state in states]),
            "valid_loss_by_epoch": _means([state.valid_losses for state in states]),
            "predictions": _counted("examples", states),
            "timings": {
                **record["timings"],
                "training_seconds": round(seconds, 3),
                "words_per_second": round(words / seconds) if seconds else None,
            },
            "resamples": {
                "models": len(self.finished) if len(self.finished) > 1 else 0,
                "unit": "lines" if starts is None else "documents",
                "units": self._encoded.stats.sentences if starts is None else starts.n,
                "wanted": self._number,
                "side_by_side": self._at_once,
                "threads": self._threads,
            },
        }


def turn_rows(array: np.ndarray, turn: np.ndarray) -> None:
    """Rotate the vectors in an array of parameters, in place."""
    d = len(turn)
    vectors = array.reshape(-1, padded(d))
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = vectors[start : start + BLOCK_ROWS, :d]
        block[:] = block @ turn


def _counted(name: str, states: Sequence[State | None]) -> int:
    """Return the sum of a tally over all models; see ``kernels.STATS`` for the names of tallies."""
    return int(sum(state.tallies[STATS.index(name)] for state in states if state is not None))


def _means(losses: Sequence[Sequence[float]]) -> list[float | None]:
    """Return the mean loss of each epoch, over the models that have finished it."""
    longest = max(map(len, losses), default=0)
    found = []
    for epoch in range(longest):
        known = [one[epoch] for one in losses if len(one) > epoch and not math.isnan(one[epoch])]
        found.append(sum(known) / len(known) if known else None)
    return found


class CombinedProgress:
    """The progress of all models as that of one run, whose epochs are those of all models in sequence."""

    def __init__(
        self, number: int, epochs: int, states: Sequence[State | None], callbacks: Sequence[Callback]
    ) -> None:
        self._number, self._epochs, self._callbacks = number, epochs, callbacks
        self._fractions = [0.0 if state is None else state.fraction for state in states]
        self._words = [_counted("words", [state]) for state in states]
        self._words_before = sum(self._words)
        self._done = [0 if state is None else state.epoch - 1 for state in states]
        self._before = sum(0.0 if state is None else state.seconds for state in states)
        self._first = sum(self._fractions) / number
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self.history = History()

    def of(self, number: int, record: Progress) -> bool:
        """Receive a record of one model, pass on the combined record, and return whether to end the run."""
        with self._lock:
            self._fractions[number], self._words[number] = record.fraction, record.words
            self._done[number] = record.epoch - (not record.epoch_ended)
            ended = record.epoch_ended and record.epoch == self._epochs
            fraction, words = sum(self._fractions) / self._number, sum(self._words)
            seconds = time.monotonic() - self._began
            done = fraction - self._first
            together = dataclasses.replace(
                record,
                epoch=min(self._number * self._epochs, sum(self._done) + (not ended)),
                epochs=self._number * self._epochs,
                epoch_ended=ended,
                fraction=fraction,
                words=words,
                words_per_second=(words - self._words_before) / seconds if seconds > 0 else 0.0,
                seconds=self._before + seconds,
                eta=seconds * (1 - fraction) / done if done > 0 else math.nan,
            )
            self.history.add(together)
            return sum(bool(callback(together)) for callback in self._callbacks) > 0
