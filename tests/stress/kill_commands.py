"""Interrupt commands at random moments, by kill -9 and by power cuts, and check their outputs.

    python tests/stress/kill_commands.py --kills 1000 --cuts 100

Each command of ``JOBS`` is interrupted one to four times, half of the times at a random moment and half right
after one of its changes of files, chosen at random; then it runs to its end. A power cut is a kill after
which data that were not flushed to the disk are there only in part (``power_cuts.py``). After each
interruption every file with the name of an output must be whole, either the old one or the new one, and
readable without an error. The next command must succeed, with the same result as an undisturbed run, bit for
bit, except for training with two workers.

The processes are forked from one that has the program loaded, so that most of their time is work. A command
ends itself after a chosen change of a file by ``file_events.c``, which is loaded into all of them.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import hashlib
import importlib.util
import os
import pkgutil
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from power_cuts import Disk, compile_recorder

from wordvec_ca import fasttext
from wordvec_ca.corpus import Phrases, Vocab
from wordvec_ca.gensim.models import Word2Vec
from wordvec_ca.models import EmbeddingModel
from wordvec_ca.sentences import SearchIndex
from wordvec_ca.vectors import ApproximateNeighbours, KeyedVectors

NOT_COMPARED = {"config.json", "history.tsv", "run.toml"}
"""Files of a folder that are not compared, as they record times and speeds."""


@dataclass(frozen=True)
class Job:
    """A command that is interrupted and run again until it succeeds.

    Attributes
    ----------
    name : str
    command : str
        Arguments of ``cawv``; ``{given}`` is the folder of the inputs. "python F" calls the function F of
        this module instead, with that folder.
    read : callable
        Reads an output as a user of it does; raises if it is damaged.
    outputs : tuple of str
        Its outputs, in the working folder.
    before : mapping of str to str
        Output -> the file of the inputs that is in its place before: it must stay until the new one is there.
    exact : bool
        Whether the result is the same bit for bit each time.
    several_files : bool
        Whether the outputs belong together: an old set must be removed before a new one comes.
    saves : bool
        Whether it first computes and then saves: then each of these two phases is interrupted often enough.
    """

    name: str
    command: str
    read: Callable[[Path], object]
    outputs: tuple[str, ...] = ("out",)
    before: Mapping[str, str] = field(default_factory=dict)
    exact: bool = True
    several_files: bool = False
    saves: bool = False

    @property
    def trains(self) -> bool:
        """Whether it is a training run, which is resumed."""
        return self.command.startswith("train ")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words of the command."""
        return tuple(self.command.split())


def _vectors(path: Path) -> object:
    return KeyedVectors.load(path).vectors.sum()


def _model(path: Path) -> object:
    return EmbeddingModel.load(path).inputs.sum()


def _neighbours(path: Path) -> object:
    vectors = KeyedVectors.load(os.environ["GIVEN"] + "/model")
    return ApproximateNeighbours.load(path, vectors.vectors, words=vectors.index_to_key).recall(queries=3)


def _sentences(path: Path) -> object:
    return SearchIndex.load(path, os.environ["GIVEN"] + "/model").search("w1 w2")


def _page(path: Path) -> object:
    text = path.read_text(encoding="utf-8")
    if not text.rstrip().endswith("</html>"):
        raise ValueError("the page is cut off")
    return len(text)


def _fasttext(path: Path) -> object:
    return fasttext.load_model(str(path)).predict("w1 w2")


def _drop_in(path: Path) -> object:
    return Word2Vec.load(str(path)).wv.vectors.sum()


def train_fasttext(given: str, size: str = "20") -> None:
    """Train a classifier and save it, with the drop-in for fastText's Python module."""
    options = {"epoch": 3, "thread": 1, "verbose": 0, "bucket": 5000, "wordNgrams": 2}
    model = fasttext.train_supervised(os.path.join(given, "labels.txt"), dim=int(size), **options)
    model.save_model("out")


def train_drop_in(given: str, size: str = "20") -> None:
    """Train and save with the drop-in for gensim's ``Word2Vec``."""
    corpus = os.path.join(given, "text.txt")
    model = Word2Vec(corpus_file=corpus, vector_size=int(size), epochs=1, workers=1, min_count=2)
    model.lifecycle_events, model.total_train_time = [], 0.0  # only these differ from run to run
    model.save("out")


def save_model(given: str) -> None:
    """Save a model over another one."""
    EmbeddingModel.load(os.path.join(given, "model")).save("out", overwrite=True)


TRAIN = (
    "train {given}/text.txt -o out --epochs 4 --checkpoint-every 0.04s --quiet "
    "--vector-size 20 --window 5 --count-memory 1 "
)


def _export(name: str, form: str, outputs: tuple[str, ...] = ("out",)) -> Job:
    def read(path: Path) -> object:
        place = Path(str(path).removesuffix(outputs[0])) / "out"
        whole = path.match(outputs[0]) and all((place.parent / output).exists() for output in outputs)
        return _vectors(place) if whole else None

    before = {output: f"older.{form}{output.removeprefix('out')}" for output in outputs}
    command = f"export {{given}}/model -o out --format {form} --overwrite"
    return Job(name, command, read, outputs, before, several_files=len(outputs) > 1)


JOBS = (
    Job("training, 1 worker", f"{TRAIN} --model cbow-attn --workers 1", _model),
    Job("training, 2 workers", f"{TRAIN} --workers 2", _model, exact=False),
    Job(
        "training over an older model, with phrases, held-out text and a cache that is kept",
        f"{TRAIN} --workers 1 --overwrite --keep-cache --cache-dir cache --phrases {{given}}/phrases.tsv "
        "--valid {given}/short.txt",
        _model,
        before={"out": "older"},
    ),
    Job("resampled models", f"{TRAIN} --workers 1 --resamples 2", _model, saves=True),
    Job(
        "counting on disk",
        "vocab {given}/text.txt -o out --count-memory 1 --overwrite --quiet",
        Vocab.load,
        before={"out": "older.vocab"},
    ),
    Job(
        "phrases",
        "phrases {given}/text.txt -o out --count-memory 1 --threshold 5 --overwrite --quiet",
        Phrases.load,
        before={"out": "older.phrases"},
    ),
    _export("exporting text", "word2vec"),
    _export("exporting gensim's pair of files", "gensim", ("out", "out.vectors.npy")),
    _export("exporting the projector's pair of files", "projector", ("out/metadata.tsv", "out/vectors.tsv")),
    _export("exporting a folder", "huggingface"),
    Job(
        "aligning",
        "align {given}/model {given}/older -o out.safetensors --overwrite",
        _vectors,
        ("out.safetensors",),
        {"out.safetensors": "older.safetensors"},
    ),
    Job(
        "indexing vectors",
        "index {given}/model -o out --queries 1 --workers 1",
        _neighbours,
        before={"out": "older.neighbours"},
    ),
    Job(
        "indexing sentences",
        "search {given}/model {given}/short.txt w1 --index out --method sif --quiet",
        _sentences,
    ),
    Job(
        "embedding sentences",
        "embed {given}/model {given}/short.txt -o out.npy --method sif --overwrite --save-fit fit --quiet",
        lambda path: np.load(path).sum() if path.name == "out.npy" else None,
        ("out.npy", "fit/sentences.json"),
        {"out.npy": "older.npy"},
    ),
    Job(
        "a map in a page",
        "explore {given}/model -o out --overwrite --method pca --words 200 -q",
        _page,
        before={"out": "older.html"},
    ),
    Job(
        "a page about a model", "report {given}/model -o out --overwrite", _page, before={"out": "older.html"}
    ),
    Job(
        "a classifier of the drop-in for fastText",
        "python train_fasttext",
        _fasttext,
        before={"out": "older.ftz"},
        saves=True,
    ),
    Job(
        "the drop-in for gensim's Word2Vec",
        "python train_drop_in",
        _drop_in,
        before={"out": "older.w2v"},
        saves=True,
    ),
    Job("saving a model", "python save_model", _model, before={"out": "older"}),
    Job(
        "re-embedding",
        "reembed {given}/model {given}/short.txt -o out --overwrite --quiet --max-iter 3 --workers 1",
        _vectors,
        before={"out": "older"},
    ),
)


# ---- processes --------------------------------------------------------------------------------


def load_program() -> None:
    """Import what the commands need, so that forked processes have it."""
    import warnings

    warnings.simplefilter("ignore")
    for package in (
        "cli",
        "kernels",
        "training",
        "vectors",
        "sentences",
        "models",
        "corpus",
        "text",
        "files",
    ):
        whole = importlib.import_module(f"wordvec_ca.{package}")
        for module in pkgutil.walk_packages(whole.__path__, f"{whole.__name__}."):
            if not module.name.endswith("__main__"):
                with contextlib.suppress(ImportError):  # if a library is not installed
                    importlib.import_module(module.name)
    for name in ("gensim.models.keyedvectors", "sklearn.cluster", "charset_normalizer"):
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
    n_threads = len(os.listdir("/proc/self/task"))
    assert n_threads == 1, f"{n_threads} threads: such a process cannot be forked"


@dataclass
class Notes:
    """Where a process records its changes of files, and after how many events or seconds it ends itself."""

    log: Path
    copies: Path
    end_after: int = 0
    seconds: float = -1


def fork(
    action: Callable[[], object], said: Path, root: Path | None = None, notes: Notes | None = None
) -> int:
    """Run an action in a process of its own; its exit status is that of a command."""
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        with open(said, "wb") as file:
            os.dup2(file.fileno(), 2)
            os.dup2(file.fileno(), 1)
        if root is not None:
            os.chdir(root)
        if notes is not None:
            record = ctypes.CDLL(None).record_file_events
            record.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_long, ctypes.c_double]
            record(*map(os.fsencode, (str(root), notes.log, notes.copies)), notes.end_after, notes.seconds)
        action()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def status_of(pid: int) -> int:
    """Wait for a process; negative if a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# ---- a place to work in ----------------------------------------------------------------------


class Workshop:
    """Texts and models that the commands read, and the result of each without an interruption."""

    def __init__(self, folder: Path, n_tokens: int) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.given = self.folder / "given"
        self.given.mkdir()
        (self.folder / "tmp").mkdir()
        tempfile.tempdir = os.environ["TMPDIR"] = str(self.folder / "tmp")
        os.environ["GIVEN"] = str(self.given)
        self.said = self.folder / "said"
        self.seconds: dict[str, float] = {}
        self.events: dict[str, int] = {}
        self.digests: dict[str, dict[str, str]] = {}
        self._prepare(n_tokens)

    def _prepare(self, n_tokens: int) -> None:
        rng = random.Random(1)
        frequent = [f"w{int(rng.paretovariate(0.5)) % 2000}" for _ in range(n_tokens)]
        words = [word if rng.random() < 0.8 else f"rare{rng.randrange(10**7):07}" for word in frequent]
        pairs = ["new york" if rng.random() < 0.01 else word for word in words]
        lines = [" ".join(pairs[i : i + 20]) + "\n" for i in range(0, n_tokens, 20)]
        (self.given / "text.txt").write_text("".join(lines))
        (self.given / "short.txt").write_text("".join(lines[: max(100, n_tokens // 400)]))
        small = "--vector-size 20 --epochs 1 --workers 1 --quiet"
        forms = ("word2vec", "gensim", "projector", "huggingface", "safetensors")
        for command in (
            "phrases text.txt -o phrases.tsv --threshold 5 --quiet",
            "phrases short.txt -o older.phrases --threshold 1 --min-count 2 --quiet",
            "vocab short.txt -o older.vocab --quiet",
            f"train text.txt -o model {small}",
            f"train short.txt -o older --min-count 2 {small}",
            *(f"export older -o older.{form} --format {form}" for form in forms),
            "index model -o older.neighbours --queries 1 --probes 4",
            "embed older short.txt -o older.npy --method mean --quiet",
            "explore older -o older.html --method pca --words 200 --quiet",
        ):
            self.must(tuple(command.split()), self.given)
        labels = "".join(f"__label__{i % 3} {line}" for i, line in enumerate(lines[:2000]))
        (self.given / "labels.txt").write_text(labels)
        for function, older in (("train_fasttext", "older.ftz"), ("train_drop_in", "older.w2v")):
            self.must(("python", function, "10"), self.given)
            (self.given / "out").rename(self.given / older)

    def must(self, arguments: tuple[str, ...], root: Path) -> None:
        """Run a command that has to succeed."""
        if status := status_of(self.start(arguments, root)):
            raise RuntimeError(f"cawv {' '.join(arguments)} ended with {status}: {self.last_words()}")

    def last_words(self) -> str:
        """Return what the last command printed."""
        return self.said.read_text(errors="replace")[-2000:]

    def start(self, arguments: tuple[str, ...], root: Path, notes: Notes | None = None) -> int:
        """Start a command."""

        def command() -> None:
            if arguments[0] == "python":
                globals()[arguments[1]](str(self.given), *arguments[2:])
                return
            from wordvec_ca import cli

            sys.argv = ["cawv", *(part.format(given=self.given) for part in arguments)]
            cli.main()

        return fork(command, self.said, root, notes)

    def fresh(self, job: Job) -> Path:
        """Return a new working folder with what lies there before."""
        root = Path(tempfile.mkdtemp(prefix="work-", dir=self.folder))
        for output, older in job.before.items():
            source = self.given / older
            if source.is_dir():
                shutil.copytree(source, root / output)
            else:
                (root / output).parent.mkdir(exist_ok=True)
                shutil.copyfile(source, root / output)
        return root

    def measure(self, job: Job) -> None:
        """Run a job without an interruption; record its time, its number of events and its result."""
        root = self.fresh(job)
        log = self.folder / "log"
        copies = self.folder / "copies"
        copies.mkdir(exist_ok=True)
        old = {output: digest(root / output) for output in job.before}
        began = time.monotonic()
        self.must(job.arguments, root)
        self.seconds[job.name] = time.monotonic() - began
        self.digests[job.name] = {output: digest(root / output) for output in job.outputs}
        for output, before in old.items():
            assert before != self.digests[job.name][output], (
                f"{job.name}: the older {output} is as the new one"
            )
        shutil.rmtree(root)
        root = self.fresh(job)
        status = status_of(self.start(job.arguments, root, Notes(log, copies)))
        assert status == 0, self.last_words()
        self.events[job.name] = len(log.read_text("utf-8", "surrogateescape").splitlines())
        shutil.rmtree(root)

    def next_command(self, job: Job, root: Path) -> tuple[str, ...] | None:
        """Return the command that a user would type now, or None if the result is complete."""
        if not job.trains:
            return job.arguments
        if (root / "out.run" / "run.json").exists():
            return ("train", "--resume", "out", "--quiet")
        new = (root / "out").exists() and not self.is_older(job, root)
        return None if new else job.arguments

    def is_older(self, job: Job, root: Path) -> bool:
        """Return whether the outputs are still those from before."""
        return "out" in job.before and digest(root / "out") == digest(self.given / job.before["out"])

    def faults(self, job: Job, root: Path, *, finished: bool = False) -> list[str]:
        """Return what is wrong with the outputs: damaged, mixed, lost."""
        found = []
        older = job.before
        there = {output: digest(root / output) for output in job.outputs if (root / output).exists()}
        allowed = [set(), set()]
        for output in job.outputs:
            new = self.digests[job.name][output]
            if output not in there:
                if finished or (output in older and not job.several_files):
                    found.append(f"{output} is lost")
                continue
            is_old = output in older and there[output] == digest(self.given / older[output])
            is_new = there[output] == new if job.exact else not is_old
            if not (is_new or (is_old and not finished)):
                found.append(f"{output} is neither the older one nor the new one: corrupt")
            allowed[0].add(is_old)
            if status_of(fork(lambda path=root / output: job.read(path), self.said)):
                last = self.last_words().strip().splitlines()[-1]
                found.append(f"{output} is corrupt: {last}")
        if job.several_files and len(allowed[0]) > 1:
            found.append("the outputs are a mixture of older and new ones: corrupt")
        return found


def digest(path: Path) -> str:
    """Return a digest of a file, or of the files of a folder that do not record times."""
    total = hashlib.blake2b(digest_size=16)
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    for file in files:
        if file.name not in NOT_COMPARED or file == path:
            total.update(f"{file.relative_to(path)}\0".encode())
            total.update(_checksums_compared(file) if file.name == "SHA256SUMS" else file.read_bytes())
    return total.hexdigest()


def _checksums_compared(file: Path) -> bytes:
    """Return the checksums of the files that do not record times; reading the model compares all of them."""
    lines = file.read_bytes().splitlines(keepends=True)
    return b"".join(line for line in lines if line.split(b"  ", 1)[-1].decode().strip() not in NOT_COMPARED)


# ---- interruptions ---------------------------------------------------------------------------


class Interruptions:
    """Interrupts jobs, and counts what happened: interruptions of each job, and faults."""

    def __init__(self, shop: Workshop, rng: random.Random, *, cuts: bool) -> None:
        self.shop, self.rng, self.cuts = shop, rng, cuts
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []
        self._notes = Notes(shop.folder / "log0", shop.folder / "copies0")

    def interrupt(self, job: Job, root: Path, command: tuple[str, ...], disk: Disk | None) -> None:
        """Start a command, interrupt it, and check its outputs."""
        rng, shop, hidden = self.rng, self.shop, set(root.glob(".*"))
        shutil.rmtree(self._notes.copies, ignore_errors=True)
        self._notes.copies.mkdir()
        if rng.random() < 0.5:
            notes = replace(self._notes, end_after=rng.randrange(1, shop.events[job.name] + 1))
        else:
            notes = replace(self._notes, seconds=rng.uniform(0, shop.seconds[job.name]))
        status = status_of(shop.start(command, root, notes))
        if status == -signal.SIGKILL:
            phase = "saving" if job.saves and set(root.glob(".*")) - hidden else "at work"
            self.counts[f"{job.name}: {phase}"] += 1
        elif status:
            self.faults.append(f"{job.name}: {' '.join(command)} ended with {status}: {shop.last_words()}")
        if disk is not None and status in (0, -signal.SIGKILL):
            disk.replay(self._notes.log, self._notes.copies)
            if status:
                disk.cut(rng)
        self.faults += [f"{job.name}: {fault}" for fault in shop.faults(job, root)]

    def case(self, job: Job) -> None:
        """Interrupt a job some times, then run it to its end."""
        root = self.shop.fresh(job)
        disk = Disk(root) if self.cuts else None
        for _ in range(self.rng.randrange(1, 5)):
            command = self.shop.next_command(job, root)
            if command is None:
                break
            self.interrupt(job, root, command, disk)
        while (command := self.shop.next_command(job, root)) is not None:
            if status_of(self.shop.start(command, root)):
                self.faults.append(
                    f"{job.name}: {' '.join(command)} failed in the end: {self.shop.last_words()}"
                )
                break
            if not job.trains:
                break
        self.faults += [
            f"{job.name}, at the end: {fault}" for fault in self.shop.faults(job, root, finished=True)
        ]
        shutil.rmtree(root)

    def run(self, n: int, jobs: list[Job]) -> None:
        """Interrupt all jobs in turn until each phase of each was interrupted its share of ``n`` times."""
        share, waiting = -(-n // len(jobs)), jobs if n else []
        while waiting:
            for job in waiting:
                self.case(job)
            waiting = [
                job
                for job in waiting
                for phase in ("at work", *(["saving"] if job.saves else []))
                if self.counts[f"{job.name}: {phase}"] < share
            ]
            waiting = [job for job in jobs if job in waiting]


def under_recorder(library: Path) -> None:
    """Start this script again with the recorder loaded."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "RECORDER": str(library.parent)}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # a process with threads cannot be forked
        environment[name] = "1"
    environment["JE_ARROW_MALLOC_CONF"] = "background_thread:false"  # pyarrow, where it is installed
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def main() -> None:
    """Interrupt, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how many at least")
    parser.add_argument("--cuts", type=int, default=100, help="how many at least")
    parser.add_argument("--tokens", type=int, default=150_000, help="of the text")
    parser.add_argument("--only", default="", help="jobs whose name holds this")
    parser.add_argument("--without", help="jobs whose name does not hold this")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    options = parser.parse_args()
    if "RECORDER" not in os.environ:
        under_recorder(compile_recorder(Path(tempfile.mkdtemp(prefix="cawv-recorder-"))))
    shutil.rmtree(os.environ.pop("RECORDER"))
    os.environ.pop("LD_PRELOAD")
    load_program()
    jobs = [job for job in JOBS if options.only in job.name]
    jobs = [job for job in jobs if not options.without or options.without not in job.name]
    faults = []
    with tempfile.TemporaryDirectory(prefix="cawv-interrupted-") as folder:
        shop = Workshop(Path(folder), options.tokens)
        for job in jobs:
            shop.measure(job)
        for cuts, n in ((True, options.cuts), (False, options.kills)):
            found = Interruptions(shop, random.Random(f"{options.seed} {cuts}"), cuts=cuts)
            found.run(n, jobs)
            print("power cuts" if cuts else "kill -9", found.counts.total())
            print(*(f"  {n:>6}  {name}" for name, n in sorted(found.counts.items())), sep="\n")
            print(*(f"  {n} x {fault}" for fault, n in collections.Counter(found.faults).items()), sep="\n")
            faults += found.faults
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
