"""All tasks on all data that can be found: what is there is run, what is missing is named.

The layout of a data folder is described in ``docs/data.md``.
"""

from __future__ import annotations

import importlib.util
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.eval.lines import name_of, numbered_lines
from wordvec_ca.eval.lookup import UncoveredError, Vectors
from wordvec_ca.eval.report import Report

Progress = Callable[[str], None]
Run = Callable[[Vectors, int, int, Progress], Report]


@dataclass(frozen=True)
class Job:
    """One task on one data set, ready to run.

    Attributes
    ----------
    task, dataset : str
    run : callable
        (vectors, seed, workers, progress) -> Report. Reads its files when called.
    """

    task: str
    dataset: str
    run: Run


@dataclass(frozen=True)
class Missing:
    """What does not run, and why, or which file it needs and where the public set is to be had."""

    task: str
    reason: str

    def __str__(self) -> str:
        return f"{self.task}: {self.reason}"


@dataclass(frozen=True)
class Task:
    """What a task looks for and where the data come from.

    Attributes
    ----------
    name, summary : str
    needs : str
        The files in words, relative to the data folder.
    source : str
        Where the public set is to be had.
    in_folder : callable
        Data folder -> jobs.
    of_files : callable
        Files given by the user -> jobs.
    files : str
        What files the user may give, for help texts.
    by_default : bool
        Whether it runs without being asked for.
    """

    name: str
    summary: str
    needs: str
    source: str
    in_folder: Callable[[Path], list[Job]]
    of_files: Callable[[Sequence[Path]], list[Job]]
    files: str
    by_default: bool = True


SKIPPED = {
    "brown": "its 472 tags and 1.2 M words would take hours to induce; give the file by option to run it",
    "conll2000": "its tags come from a tagger, not from people; give the files by option to use them",
}
"""Tagged corpora in a data folder that only run when asked for, and why."""


def _found(folder: Path, *patterns: str) -> list[Path]:
    """Files that match a pattern, compressed or not, in the order of their names."""
    paths: set[Path] = set()
    for pattern in patterns:
        for suffix in ("", ".gz", ".bz2", ".xz", ".zst"):
            paths.update(path for path in folder.glob(pattern + suffix) if path.is_file())
    return sorted(paths)


def _splits(paths: Sequence[Path]) -> dict[str, dict[str, Path]]:
    """Group ``NAME.train.tsv``, ``NAME.dev.tsv``, ``NAME.test.tsv`` by NAME; other files stand under ''."""
    groups: dict[str, dict[str, Path]] = {}
    for path in paths:
        name = name_of(path)
        match = re.fullmatch(r"(?:(.+)[.-])?(train|dev|test)", name)
        if match:
            groups.setdefault(match.group(1) or path.parent.name, {})[match.group(2)] = path
        else:
            groups.setdefault(name, {})[""] = path
    return groups


# ------------------------------------------------------------------ words


def _similarity(paths: Sequence[Path]) -> list[Job]:
    def job(path: Path) -> Job:
        def run(vectors: Vectors, seed: int, workers: int, progress: Progress) -> Report:
            from wordvec_ca.eval import similarity
            from wordvec_ca.eval.word_sets import read_word_pairs

            return similarity.evaluate(vectors, read_word_pairs(path), seed=seed)

        return Job("similarity", name_of(path), run)

    return [job(path) for path in paths]


def _analogy(paths: Sequence[Path]) -> list[Job]:
    def job(path: Path) -> Job:
        def run(vectors: Vectors, seed: int, workers: int, progress: Progress) -> Report:
            from wordvec_ca.eval import analogy
            from wordvec_ca.eval.word_sets import read_analogies

            return analogy.evaluate(vectors, read_analogies(path), seed=seed, workers=workers)

        return Job("analogy", name_of(path), run)

    return [job(path) for path in paths]


def _categorization(paths: Sequence[Path]) -> list[Job]:
    def job(path: Path) -> Job:
        def run(vectors: Vectors, seed: int, workers: int, progress: Progress) -> Report:
            from wordvec_ca.eval import categorization
            from wordvec_ca.eval.word_sets import read_categories

            return categorization.evaluate(vectors, read_categories(path), seed=seed)

        return Job("categorization", name_of(path), run)

    return [job(path) for path in paths]


# ------------------------------------------------------------------ tagged corpora


def _tag_column(path: Path) -> int | None:
    """Penn Treebank tags stand third in the three-column files of Universal Dependencies."""
    return 3 if name_of(path).startswith("ud_") and path.name.removesuffix(".xz").endswith(".tsv") else None


def _pos_induction(groups: Mapping[str, Mapping[str, Path]]) -> list[Job]:
    def job(name: str, path: Path) -> Job:
        def run(vectors: Vectors, seed: int, workers: int, progress: Progress) -> Report:
            from wordvec_ca.eval import pos_induction
            from wordvec_ca.eval.treebanks import read_tagged

            corpus = read_tagged(path, tag_column=_tag_column(path))
            return pos_induction.evaluate(vectors, corpus, seed=seed, workers=workers, progress=progress)

        return Job("pos-induction", name, run)

    # The tags are not learned from, so the test part is as good as any; it is the one that nobody tunes on.
    jobs = []
    for parts in groups.values():
        path = next(parts[part] for part in ("", "test", "dev", "train") if part in parts)
        jobs.append(job(name_of(path), path))
    return jobs


def _tagging(groups: Mapping[str, Mapping[str, Path]], task: str = "tagging") -> list[Job]:
    def job(name: str, parts: Mapping[str, Path]) -> Job:
        def run(vectors: Vectors, seed: int, workers: int, progress: Progress) -> Report:
            from wordvec_ca.eval import tagging
            from wordvec_ca.eval.treebanks import read_tagged

            if "" in parts:
                data = tagging.divided(read_tagged(parts[""], tag_column=_tag_column(parts[""])))
            else:
                train, test = parts["train"], parts.get("test", parts.get("dev"))
                assert test is not None
                data = tagging.TaggingData(
                    name,
                    read_tagged(train, tag_column=_tag_column(train)),
                    read_tagged(test, tag_column=_tag_column(test)),
                )
            if task == "tagging":
                return tagging.evaluate(vectors, data, seed=seed, progress=progress)
            from wordvec_ca.eval import bilstm_tagging

            return bilstm_tagging.evaluate(vectors, data, seed=seed, progress=progress)

        return Job(task, name, run)

    usable = {n: p for n, p in groups.items() if "" in p or ("train" in p and ("test" in p or "dev" in p))}
    return [job(name, parts) for name, parts in usable.items()]


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _tagged(folder: Path) -> dict[str, dict[str, Path]]:
    """Tagged corpora in a data folder without those that only run when asked for."""
    found = _found(folder, "pos/*.tsv", "pos/*.conllu", "pos/*.conll", "pos/*.txt", "pos/*.mrg", "pos/*.pos")
    return {name: parts for name, parts in _splits(found).items() if name not in SKIPPED}


# ------------------------------------------------------------------ sentences


def _sentiment(groups: Mapping[str, Mapping[str, Path]]) -> list[Job]:
    def job(name: str, parts: Mapping[str, Path]) -> Job:
        def run(vectors: Vectors, seed: int, workers: int, progress: Progress) -> Report:
            from wordvec_ca.eval import sentiment
            from wordvec_ca.eval.sentence_sets import LabelledSentences, read_labelled, read_sst_trees

            def read(part: str) -> LabelledSentences | None:
                path = parts.get(part)
                if path is None:
                    return None
                first = next(line for _, line in numbered_lines(path))
                return read_sst_trees(path) if first.lstrip().startswith("(") else read_labelled(path)

            train = read("train") or read("")
            assert train is not None
            data = sentiment.ClassificationData(name, train, read("dev"), read("test"))
            return sentiment.evaluate(vectors, data, seed=seed)

        return Job("sentiment", name, run)

    return [job(name, parts) for name, parts in groups.items() if "" in parts or "train" in parts]


def _labelled(folder: Path) -> dict[str, dict[str, Path]]:
    """Labelled texts in a data folder: the binary SST in its parts, and whole sets for cross-validation."""
    groups: dict[str, dict[str, Path]] = {}
    for parts in _splits(_found(folder, "sentences/sst/binary.*.tsv")).values():
        groups["sst-binary"] = parts
    if "sst-binary" not in groups:
        for parts in _splits(_found(folder, "sentences/sst/*.txt")).values():
            groups["sst-binary"] = {**groups.get("sst-binary", {}), **parts}
    for path in _found(folder, "sentences/*/all.tsv"):
        groups[path.parent.name] = {"": path}
    trec = _splits(_found(folder, "sentences/trec/*.tsv"))
    if trec:
        groups["trec"] = next(iter(trec.values()))
    return groups


def _sts_job(name: str, paths: Sequence[Path], background: Sequence[Path] = (), task: str = "sts") -> Job:
    def run(vectors: Vectors, seed: int, workers: int, progress: Progress) -> Report:
        from wordvec_ca.eval import sts
        from wordvec_ca.eval.sentence_sets import read_sentence_pairs

        sets = [read_sentence_pairs(path) for path in paths]
        others = [read_sentence_pairs(path) for path in background]
        report = sts.evaluate(vectors, sts.SimilaritySets(name, sets, others), seed=seed)
        report.task = task
        return report

    return Job(task, name, run)


def _sts(folder: Path) -> list[Job]:
    jobs = []
    for year in sorted(folder.glob("sentences/sts20??")):
        paths = _found(year, "*.tsv")
        if paths:
            jobs.append(_sts_job(year.name, paths))
    for name, parts in _splits(_found(folder, "sentences/stsb_by_year/*.tsv")).items():
        if "test" in parts:
            background = [parts["train"]] if "train" in parts else []
            jobs.append(_sts_job(f"stsb-{name}", [parts["test"]], background))
    return jobs


def _sick(folder: Path) -> list[Job]:
    jobs = []
    sick = _splits(_found(folder, "sentences/sick/*.tsv", "sentences/sick/*.txt"))
    learnt = [parts["train"] for parts in sick.values() if "train" in parts][:1]
    for parts in sick.values():
        if "test" in parts:
            jobs.append(_sts_job("sick", [parts["test"]], learnt, "sick"))
    for path in _found(folder, "sentences/sick/trial.tsv"):
        jobs.append(_sts_job("sick-trial", [path], learnt, "sick"))
    return jobs


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            "similarity",
            "rank pairs of words as people do (Spearman, Pearson)",
            "wordsim/*.tsv (word TAB word TAB score)",
            "WordSim-353 and SimLex-999 come with gensim; RG-65, MC-30, MTurk-287 and others are in "
            "github.com/mfaruqui/eval-word-vectors",
            lambda folder: _similarity(_found(folder, "wordsim/*.tsv", "wordsim/*.txt")),
            _similarity,
            "word TAB word TAB score",
        ),
        Task(
            "analogy",
            "a is to b as c is to ? (3CosAdd, 3CosMul)",
            "analogy/*.txt (questions-words format)",
            "questions-words.txt comes with gensim and with word2vec (github.com/tmikolov/word2vec)",
            lambda folder: _analogy(_found(folder, "analogy/*.txt")),
            _analogy,
            "questions-words format",
        ),
        Task(
            "categorization",
            "cluster words into classes (purity, V-measure)",
            "categorization/*.tsv (word TAB class)",
            "Almuhareb-Poesio and ESSLLI 2008 are in github.com/vecto-ai/word-benchmarks",
            lambda folder: _categorization(_found(folder, "categorization/*.tsv")),
            _categorization,
            "word TAB class",
        ),
        Task(
            "pos-induction",
            "induce parts of speech with a Gaussian HMM (V-measure, many-to-one)",
            "pos/*.tsv or *.conllu (a tagged corpus)",
            "the Penn Treebank sample comes with NLTK (nltk.download('treebank')), UD English-EWT is in "
            "github.com/UniversalDependencies/UD_English-EWT",
            lambda folder: _pos_induction(_tagged(folder)),
            lambda paths: _pos_induction(_splits(paths)),
            "a tagged corpus: CoNLL-U, columns, word_TAG, Penn Treebank .mrg or .pos",
        ),
        Task(
            "tagging",
            "tag parts of speech from the vectors of a window (accuracy)",
            "pos/NAME.train.tsv and pos/NAME.test.tsv, or one tagged corpus",
            "as for pos-induction",
            lambda folder: _tagging(_tagged(folder)),
            lambda paths: _tagging(_splits(paths)),
            "NAME.train.* and NAME.test.*, or one tagged corpus",
        ),
        Task(
            "bilstm-tagging",
            "tag parts of speech with an LSTM that trains the vectors further (accuracy)",
            "PyTorch (pip install 'wordvec-ca[torch]') and the files of tagging",
            "as for pos-induction",
            lambda folder: _tagging(_tagged(folder), "bilstm-tagging") if _has_torch() else [],
            lambda paths: _tagging(_splits(paths), "bilstm-tagging") if _has_torch() else [],
            "PyTorch (pip install 'wordvec-ca[torch]'); NAME.train.* and NAME.test.*, or one tagged corpus",
            by_default=False,
        ),
        Task(
            "sentiment",
            "classify texts by the mean of their vectors (accuracy)",
            "sentences/sst/binary.{train,dev,test}.tsv, sentences/NAME/all.tsv (label TAB text)",
            "SST is at nlp.stanford.edu/sentiment, MR and Subj at "
            "www.cs.cornell.edu/people/pabo/movie-review-data",
            lambda folder: _sentiment(_labelled(folder)),
            lambda paths: _sentiment(_splits(paths)),
            "label TAB text, or SST trees; NAME.train.*, NAME.dev.*, NAME.test.*, or one file",
        ),
        Task(
            "sts",
            "score sentence pairs by SIF, the mean, uSIF and CA-SEM (Pearson)",
            "sentences/sts20YY/*.tsv, sentences/stsb_by_year/*.tsv (score TAB sentence TAB sentence)",
            "STS 2012-2017 and the STS benchmark are at ixa2.si.ehu.eus/stswiki",
            _sts,
            lambda paths: [_sts_job(name_of(path), [path]) for path in paths],
            "score TAB sentence TAB sentence, or STS benchmark files",
        ),
        Task(
            "sick",
            "the same on the pairs of SICK",
            "sentences/sick/test.tsv or trial.tsv (score TAB sentence TAB sentence, or SICK's own columns)",
            "SICK is at zenodo.org/record/2787612",
            _sick,
            lambda paths: [_sts_job(name_of(path), [path], task="sick") for path in paths],
            "score TAB sentence TAB sentence, or SICK's own columns with their header",
        ),
    )
}
"""Name -> task, in the order in which they run."""


def shipped_with_gensim() -> dict[str, list[Path]]:
    """Return the evaluation sets inside the installed gensim by task; empty without gensim.

    gensim itself is not imported.
    """
    try:
        spec = importlib.util.find_spec("gensim")
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        return {}
    folder = Path(next(iter(spec.submodule_search_locations))) / "test" / "test_data"
    wanted = {"similarity": ("wordsim353.tsv", "simlex999.txt"), "analogy": ("questions-words.txt",)}
    found = {
        task: [folder / name for name in names if (folder / name).is_file()] for task, names in wanted.items()
    }
    return {task: paths for task, paths in found.items() if paths}


def plan(
    tasks: Sequence[str] | None = None,
    *,
    folder: Path | None = None,
    files: Mapping[str, Sequence[Path]] | None = None,
) -> tuple[list[Job], list[Missing]]:
    """Say what can be run and what is missing.

    Parameters
    ----------
    tasks : sequence of str, optional
        Names in ``TASKS``. By default those that files are given for or, without files, all but those that
        take long.
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
        There is no such folder, or nothing can be made of the files that were given.
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
        raise DataError(f"{folder}: there is no such folder; docs/data.md says how a data folder is laid out")
    shipped = shipped_with_gensim()
    jobs: list[Job] = []
    missing: list[Missing] = []
    for name in names:
        task = TASKS[name]
        if name in files:
            found = task.of_files(files[name])
            if not found:
                raise DataError(f"{files[name][0]}: not enough for {name}, which needs {task.files}")
        elif folder is not None:
            found = task.in_folder(folder)
            if name in ("pos-induction", "tagging"):
                there = _splits(_found(folder, "pos/*.tsv"))
                missing += [Missing(name, f"{left}: {why}") for left, why in SKIPPED.items() if left in there]
        else:
            found = task.of_files(shipped.get(name, []))
        jobs += found
        if not found:
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
        Of the vectors, written into the reports.
    progress : callable
        Gets a line of text before each job, and others in the course of long ones.
    skipped : callable, optional
        Gets the jobs for which the vectors know too few words; without it the error is raised.

    Raises
    ------
    DataError
        A file is malformed; the vectors have NaN.
    """
    for i, job in enumerate(jobs, 1):
        progress(f"[{i}/{len(jobs)}] {job.task} {job.dataset}")
        started = time.perf_counter()
        try:
            report = job.run(vectors, seed, workers, progress)
        except UncoveredError as error:
            if skipped is None:
                raise
            skipped(Missing(job.task, str(error)))
            continue
        report.seconds = time.perf_counter() - started
        report.model = name
        yield report
