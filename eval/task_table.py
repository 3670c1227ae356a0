"""The tasks: the name of each, how it gets its data sets, and the function that judges vectors by them.

A new task is one entry here and one in ``wordvec_ca/specs/tasks.py``, and a module in ``eval/tasks`` with
its ``evaluate`` and, if no reader in ``eval/data`` fits, its reader. The options of the command line, the
plan of a run and the words of every message follow from the entries. Two things are written by hand: its
row in ``docs/data.md``, and its words in the summary of a model, in ``eval/summary.py``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from wordvec_ca.eval.data.folders import Parts, found, splits
from wordvec_ca.eval.data.lines import name_of
from wordvec_ca.eval.data.sentence_sets import read_reviews, read_sentence_pairs, read_texts
from wordvec_ca.eval.data.sequences import ReadSequences, Sequences, read_sequences
from wordvec_ca.eval.data.treebanks import read_tagged
from wordvec_ca.eval.data.word_sets import (
    read_analogies,
    read_categories,
    read_word_pairs,
)
from wordvec_ca.eval.lookup import Infer, Vectors
from wordvec_ca.eval.report import Report
from wordvec_ca.eval.tasks import (
    analogy,
    bilstm_tagging,
    categorization,
    next_item,
    pos_induction,
    sentiment,
    similarity,
    sts,
    tagging,
)
from wordvec_ca.specs.tasks import TASK_SPECS, TaskSpec

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """The settings of a run: the seed of everything random, threads, and a function for lines of progress.

    ``method`` is the readout of sentences for the headline figure; None for the first readout of each task.
    ``phrases`` is the character between the words of a phrase, if words of sentences are joined to phrases of
    the vectors; else None. ``infer`` makes the vectors of texts with a model of documents; else None.
    ``read_sequences`` reads the items of a file.
    """

    seed: int = 1
    workers: int = 2
    progress: Progress = lambda line: None
    method: str | None = None
    phrases: str | None = None
    infer: Infer | None = None
    read_sequences: ReadSequences = read_sequences


@dataclass(frozen=True)
class DataSet:
    """A data set: its name, and a function that reads it, which is called only when the task runs."""

    name: str
    read: Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class Task(TaskSpec):
    """A task, with the functions that find its data sets and judge vectors by them."""

    in_folder: Callable[[Path], list[DataSet]]  # Data folder -> data sets
    of_files: Callable[[Sequence[Path]], list[DataSet]]  # Files given by the user -> data sets
    # (vectors, what the data set reads, settings) -> Report
    evaluate: Callable[[Vectors, Any, Settings], Report]
    by_default: bool = True  # Whether it runs without being named
    # Whether a smaller vocabulary makes the task easier: models are compared among the words that all have
    among_common_words: bool = False
    infers: bool = False  # Whether it judges vectors of texts, which a model of documents infers
    # Files in a data folder that run only when they are given by option, and why
    left_alone: Mapping[str, str] = field(default_factory=dict)


def _each(read: Callable[[Path], Any]) -> Callable[[Sequence[Path]], list[DataSet]]:
    """Return a function that makes a data set of every file."""
    return lambda paths: [DataSet(name_of(path), partial(read, path)) for path in paths]


# ---- tagged corpora ---------------------------------------------------------------------------------------


LEFT_ALONE = {
    "brown": "its 472 tags and 1.2 M words would take hours to induce; give the file by option to run it",
    "conll2000": "its tags come from a tagger, not from people; give the files by option to use them",
}


def _corpora(folder: Path) -> dict[str, Parts]:
    """Tagged corpora in a data folder, without those in ``left_alone``."""
    paths = found(folder, "pos/*.tsv", "pos/*.conllu", "pos/*.conll", "pos/*.txt", "pos/*.mrg", "pos/*.pos")
    return {name: parts for name, parts in splits(paths).items() if name not in LEFT_ALONE}


def _whole(groups: Mapping[str, Parts]) -> list[DataSet]:
    """Return one part of each corpus, the test part if there is one."""
    # Tags are not used in training, so any part could serve as the test.
    chosen = [next(parts[p] for p in ("", "test", "dev", "train") if p in parts) for parts in groups.values()]
    return _each(read_tagged)(chosen)


def _divided(groups: Mapping[str, Parts]) -> list[DataSet]:
    """Tagged corpora, each divided into training and test sentences."""

    def read(name: str, parts: Parts) -> tagging.TaggingData:
        if "" in parts:
            return tagging.folded(read_tagged(parts[""]))
        test = parts["test"] if "test" in parts else parts["dev"]
        return tagging.TaggingData(name, read_tagged(parts["train"]), read_tagged(test))

    return [
        DataSet(name, partial(read, name, parts))
        for name, parts in groups.items()
        if "" in parts or ("train" in parts and ("test" in parts or "dev" in parts))
    ]


def _with_torch(sets: Callable[[], list[DataSet]]) -> list[DataSet]:
    return sets() if importlib.util.find_spec("torch") is not None else []


# ---- sentences --------------------------------------------------------------------------------------------


def _texts(groups: Mapping[str, Parts]) -> list[DataSet]:
    def read(name: str, parts: Parts) -> sentiment.ClassificationData:
        if name == "imdb":
            return sentiment.ClassificationData(name, read_reviews(parts))
        of = {part: read_texts(path) for part, path in parts.items()}
        return sentiment.ClassificationData(name, of.get("train") or of[""], of.get("dev"), of.get("test"))

    return [
        DataSet(name, partial(read, name, parts))
        for name, parts in groups.items()
        if "" in parts or "train" in parts or name == "imdb"
    ]


def _labelled(folder: Path) -> dict[str, Parts]:
    """Labelled texts in a data folder: the binary SST in its parts, and whole sets for cross-validation."""
    groups: dict[str, Parts] = {}
    for parts in splits(found(folder, "sentences/sst/binary.*.tsv")).values():
        groups["sst-binary"] = parts
    if "sst-binary" not in groups:
        for parts in splits(found(folder, "sentences/sst/*.txt")).values():
            groups["sst-binary"] = {**groups.get("sst-binary", {}), **parts}
    for path in found(folder, "sentences/*/all.tsv"):
        groups[path.parent.name] = {"": path}
    if reviews := found(folder, "sentences/imdb/train.*.tsv*"):
        groups["imdb"] = {path.name.split(".")[1]: path for path in reviews}
    trec = splits(found(folder, "sentences/trec/*.tsv"))
    if trec:
        groups["trec"] = next(iter(trec.values()))
    return groups


def _scored(name: str, paths: Sequence[Path], background: Sequence[Path] = ()) -> DataSet:
    def read() -> sts.SimilaritySets:
        sets = [read_sentence_pairs(path) for path in paths]
        return sts.SimilaritySets(name, sets, [read_sentence_pairs(path) for path in background])

    return DataSet(name, read)


def _sts(folder: Path) -> list[DataSet]:
    years = {year.name: found(year, "*.tsv") for year in sorted(folder.glob("sentences/sts20??"))}
    sets = [_scored(name, paths) for name, paths in years.items() if paths]
    for name, parts in splits(found(folder, "sentences/stsb_by_year/*.tsv")).items():
        if "test" in parts:
            background = [parts["train"]] if "train" in parts else []
            sets.append(_scored(f"stsb-{name}", [parts["test"]], background))
    return sets


def _sick(folder: Path) -> list[DataSet]:
    sick = splits(found(folder, "sentences/sick/*.tsv", "sentences/sick/*.txt"))
    learnt = [parts["train"] for parts in sick.values() if "train" in parts][:1]
    sets = [_scored("sick", [parts["test"]], learnt) for parts in sick.values() if "test" in parts]
    return sets + [
        _scored("sick-trial", [path], learnt) for path in found(folder, "sentences/sick/trial.tsv")
    ]


def _judge_pairs(vectors: Vectors, data: sts.SimilaritySets, s: Settings) -> Report:
    return sts.evaluate(vectors, data, seed=s.seed, method=s.method, phrases=s.phrases, infer=s.infer)


# ---- sequences --------------------------------------------------------------------------------------------


def _sequences(groups: Mapping[str, Parts]) -> list[DataSet]:
    # read when they are judged: of a log, the model that is judged remembers the fields
    return [
        DataSet(name, lambda name=name, parts=parts: (name, parts))  # type: ignore[misc]
        for name, parts in groups.items()
        if "" in parts or "test" in parts
    ]


def _judge_next_items(vectors: Vectors, data: tuple[str, Parts], s: Settings) -> Report:
    name, parts = data
    train = parts.get("train")
    sequences = Sequences(
        name,
        list(s.read_sequences(parts[""] if "" in parts else parts["test"])),
        None if train is None else lambda: s.read_sequences(train),
    )
    return next_item.evaluate(vectors, sequences, seed=s.seed)


# ---- the table --------------------------------------------------------------------------------------------


def _task(name: str, **judging: Any) -> Task:
    """Return a task; its name and texts come from the table of specifications."""
    return Task(**vars(TASK_SPECS[name]), **judging)


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        _task(
            "similarity",
            in_folder=lambda folder: _each(read_word_pairs)(found(folder, "wordsim/*.tsv", "wordsim/*.txt")),
            of_files=_each(read_word_pairs),
            evaluate=lambda vectors, data, s: similarity.evaluate(vectors, data, seed=s.seed),
        ),
        _task(
            "analogy",
            in_folder=lambda folder: _each(read_analogies)(found(folder, "analogy/*.txt")),
            of_files=_each(read_analogies),
            evaluate=lambda vectors, data, s: analogy.evaluate(vectors, data, seed=s.seed, workers=s.workers),
            among_common_words=True,
        ),
        _task(
            "categorization",
            in_folder=lambda folder: _each(read_categories)(found(folder, "categorization/*.tsv")),
            of_files=_each(read_categories),
            evaluate=lambda vectors, data, s: categorization.evaluate(vectors, data, seed=s.seed),
            among_common_words=True,
        ),
        _task(
            "pos-induction",
            in_folder=lambda folder: _whole(_corpora(folder)),
            of_files=lambda paths: _whole(splits(paths)),
            evaluate=lambda vectors, data, s: pos_induction.evaluate(
                vectors, data, seed=s.seed, workers=s.workers, progress=s.progress
            ),
            among_common_words=True,
            left_alone=LEFT_ALONE,
        ),
        _task(
            "tagging",
            in_folder=lambda folder: _divided(_corpora(folder)),
            of_files=lambda paths: _divided(splits(paths)),
            evaluate=lambda vectors, data, s: tagging.evaluate(
                vectors, data, seed=s.seed, progress=s.progress
            ),
            left_alone=LEFT_ALONE,
        ),
        _task(
            "bilstm-tagging",
            in_folder=lambda folder: _with_torch(lambda: _divided(_corpora(folder))),
            of_files=lambda paths: _with_torch(lambda: _divided(splits(paths))),
            evaluate=lambda vectors, data, s: bilstm_tagging.evaluate(
                vectors, data, seed=s.seed, progress=s.progress
            ),
            by_default=False,
        ),
        _task(
            "sentiment",
            in_folder=lambda folder: _texts(_labelled(folder)),
            of_files=lambda paths: _texts(splits(paths)),
            evaluate=lambda vectors, data, s: sentiment.evaluate(
                vectors, data, seed=s.seed, phrases=s.phrases, infer=s.infer
            ),
            infers=True,
        ),
        _task(
            "sts",
            in_folder=_sts,
            of_files=lambda paths: [_scored(name_of(path), [path]) for path in paths],
            evaluate=_judge_pairs,
            infers=True,
        ),
        _task(
            "sick",
            in_folder=_sick,
            of_files=lambda paths: [_scored(name_of(path), [path]) for path in paths],
            evaluate=_judge_pairs,
            infers=True,
        ),
        _task(
            "next-item",
            in_folder=lambda folder: _sequences(splits(found(folder, "sequences/*.txt"))),
            of_files=lambda paths: _sequences(splits(paths)),
            evaluate=_judge_next_items,
            among_common_words=True,
        ),
    )
}
"""Name -> task, in the order in which they run."""
