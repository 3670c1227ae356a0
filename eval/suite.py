"""Run all tasks on all data that can be found, and report which data are missing.

The layout of a data folder is described in ``docs/data.md``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.eval.controls import cut_to
from wordvec_ca.eval.data.folders import found, shipped_with_gensim, splits
from wordvec_ca.eval.data.sequences import ReadSequences, read_sequences
from wordvec_ca.eval.lookup import Infer, UncoveredError, Vectors, other_language, with_ngrams
from wordvec_ca.eval.report import Report, digest_of
from wordvec_ca.eval.task_table import TASKS, DataSet, Progress, Settings
from wordvec_ca.vectors import KeyedVectors, NoWordVectorsError, check_trained, words_are_trained

__all__ = ["TASKS", "Job", "Missing", "plan", "run", "shipped_with_gensim"]


@dataclass(frozen=True)
class Job:
    """One task on one data set, ready to run."""

    task: str
    data: DataSet

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self.data.name


@dataclass(frozen=True)
class Missing:
    """A task that does not run. The reason says why, or which file it needs and where to get the public set.

    Attributes
    ----------
    task, reason : str
    failed : bool
        Whether it should have run: its file cannot be read, or the vectors cannot be used.
    """

    task: str
    reason: str
    failed: bool = False

    def __str__(self) -> str:
        return f"{self.task}: {self.reason}"


def plan(
    tasks: Sequence[str] | None = None,
    *,
    folder: Path | None = None,
    files: Mapping[str, Sequence[Path]] | None = None,
) -> tuple[list[Job], list[Missing]]:
    """Return what can be run and what is missing.

    Parameters
    ----------
    tasks : sequence of str, optional
        Names in ``TASKS``. By default the tasks with entries in ``files`` or, without files, all tasks that
        do not take long.
    folder : Path, optional
        Data folder in the layout of ``docs/data.md``. Without it (and without files for the task) the sets
        inside gensim are used.
    files : mapping of str to sequence of Path, optional
        Files for a task; they replace what the folder has for it.

    Returns
    -------
    jobs : list of Job
    missing : list of Missing

    Raises
    ------
    DataError
        There is no such folder, or the files that were given are not enough for their task.
    ValueError
        A task is unknown.
    """
    files = {name: list(paths) for name, paths in (files or {}).items() if paths}
    if tasks is None and folder is None and files:
        tasks = [name for name in TASKS if name in files]
    names = [name for name, task in TASKS.items() if task.by_default] if tasks is None else list(tasks)
    unknown = [name for name in [*names, *files] if name not in TASKS]
    if unknown:
        raise ValueError(f"unknown task {unknown[0]!r}; the tasks are {', '.join(TASKS)}")
    if folder is not None and not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    shipped = shipped_with_gensim()
    jobs: list[Job] = []
    missing: list[Missing] = []
    for name in names:
        task = TASKS[name]
        if name in files:
            sets = task.of_files(files[name])
            if not sets:
                raise DataError(f"{files[name][0]}: not enough for {name}, which needs {task.files}")
        elif folder is not None:
            sets = task.in_folder(folder)
            there = splits(found(folder, "pos/*.tsv")) if task.left_alone else {}
            left = {corpus: why for corpus, why in task.left_alone.items() if corpus in there}
            missing += [Missing(name, f"{corpus}: {why}") for corpus, why in left.items()]
        else:
            sets = task.of_files(shipped.get(name, []))
        jobs += [Job(name, data) for data in sets]
        if not sets:
            missing.append(Missing(name, f"needs {task.needs}; {task.source}"))
    return jobs, missing


def run(
    vectors: Vectors,
    jobs: Sequence[Job],
    *,
    seed: int = 1,
    workers: int = 2,
    name: str = "",
    progress: Progress = lambda line: None,
    skipped: Callable[[Missing], None] | None = None,
    common: Sequence[str] | None = None,
    method: str | None = None,
    phrases: str | None = None,
    runs: bool = True,
    infer: Infer | None = None,
    read_sequences: ReadSequences = read_sequences,
) -> Iterator[Report]:
    """Run the jobs one after the other and yield their reports.

    Parameters
    ----------
    vectors : KeyedVectors
    jobs : sequence of Job
    seed : int
    workers : int
        Threads for the tasks that use them.
    name : str
        Name of the vectors, written into the reports.
    progress : callable
        Called with a line of text before each job, and with more lines during long jobs.
    skipped : callable, optional
        Called with each job for which the vectors know too few words, whose files cannot be read, or for
        which the vectors cannot be used (the last two are ``failed``); without it the error is raised.
    common : sequence of str, optional
        The words that all compared models have. Tasks that a smaller vocabulary makes easier are run among
        these words.
    method : str, optional
        For similarity of sentences: the readout that is the headline, one of ``SENTENCE_METHODS``.
    phrases : str, optional
        For sentences: join words to phrases of the vectors; this character is between the words of a phrase.
    runs : bool
        Whether to compute the headline figure for each resampled model too, if the vectors have any.
    infer : callable, optional
        For a model of documents: makes the vectors of texts for the tasks sentiment, sts and sick.
    read_sequences : callable, optional
        Reads the files of next-item; by default each line has the items of a sequence.

    Raises
    ------
    DataError
        A file is malformed; the vectors have NaN.
    """
    settings = Settings(seed, workers, progress, method, phrases, infer, read_sequences)
    among_common: Vectors | None = None
    words: Vectors | None = None  # those of a model of documents whose vectors of words were not trained
    if isinstance(vectors, KeyedVectors) and not words_are_trained(vectors.metadata):
        words = KeyedVectors(vectors.index_to_key, np.empty((len(vectors), 0)), vectors.counts)
    resampled = runs and isinstance(vectors, KeyedVectors) and vectors.resamples
    n_runs = len(resampled) if resampled else 0
    for i, job in enumerate(jobs, 1):
        progress(f"[{i}/{len(jobs)}] {job.task} {job.dataset}")
        started = time.perf_counter()
        try:
            inferred = infer is not None and method is None and TASKS[job.task].infers
            used = words if words is not None and inferred else with_ngrams(vectors)
            if words is not None and not inferred and isinstance(vectors, KeyedVectors):
                check_trained(vectors.metadata, name or "this model")
            if common is not None and TASKS[job.task].among_common_words:
                among_common = used = cut_to(vectors, common) if among_common is None else among_common
            data = job.data.read()
            report = TASKS[job.task].evaluate(used, data, settings)
            for number in range(n_runs):
                progress(f"[{i}/{len(jobs)}] {job.task} {job.dataset}, resampled model {number + 1}")
                assert isinstance(vectors, KeyedVectors)
                model: Vectors = vectors.resampled(number)
                if used is among_common and common is not None:
                    model = cut_to(model, common)
                report.runs.append(TASKS[job.task].evaluate(model, data, settings).value)
        except (DataError, OSError, ImportError, MemoryError) as error:
            if skipped is None:
                raise
            reason = str(error) or type(error).__name__
            cannot = isinstance(error, UncoveredError | NoWordVectorsError)
            skipped(Missing(job.task, reason, failed=not cannot))
            continue
        if n_added := getattr(used, "n_added", 0):
            report.details["words_from_ngrams"] = n_added
            report.notes.append(f"{n_added} words have no vector of their own: it is made of their n-grams")
        warning = other_language(vectors, job.dataset)
        if warning is not None:
            report.notes.insert(0, warning)
            report.details["language"] = warning
        if report.runs and isinstance(vectors, KeyedVectors):
            report.run_unit = vectors.metadata.get("resamples", {}).get("unit", "")
        report.task = job.task  # two names may share a function, as sts and sick do
        report.seconds = time.perf_counter() - started
        report.model = name
        report.trained = _trained(vectors)
        yield report


def _trained(vectors: Vectors) -> str:
    """Return a digest of a training's record, without the form in which its vectors are published."""
    record = vectors.metadata if isinstance(vectors, KeyedVectors) else {}
    if "started" not in record:
        return ""
    config = {**record.get("config", {}), "vectors": None}
    return digest_of([record["started"], sorted(config.items()), record.get("raw_tokens")])
