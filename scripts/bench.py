"""How fast training is: beside gensim and other programs, beside the memory system, and with two workers.

    python scripts/bench.py CORPUS --into bench
    python scripts/bench.py CORPUS --parts peers --rows cbow,skipgram --peer word2vec=/path/to/word2vec

Every comparison alternates its two sides, five times, and prints the ratio of medians; speeds are words
of the text per CPU second of one thread, unless wall time is said. The parts:

peers     whole processes, ours (`cawv train`) and gensim's fast path (`corpus_file`), on the same tokens with
          the same vocabulary and options, no sub-sampling; the difference of two numbers of epochs, so that
          starting, counting and saving cancel out. Programs with word2vec.c's flags: --peer NAME=PATH.
ceiling   the loop beside itself without dot products, learning rate 0: the same rows read and written
widths    a vector size beside the next multiple of 16
isa       the instruction sets of this processor
workers   two workers beside one, wall time, with and without sub-sampling
numba     the Numba backend beside the compiled one
text      counting and encoding, MB of text per CPU second

The record is INTO/bench.json, the table is printed and written to INTO/bench.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from wordvec_ca import kernels
from wordvec_ca.atomic_file import atomic_file
from wordvec_ca.config import SHARED_BY, TrainConfig
from wordvec_ca.corpus import EncodedCorpus, count_corpus, encode_corpus, tokenize
from wordvec_ca.model import EmbeddingModel
from wordvec_ca.trainer import Trainer

PARTS = ("peers", "ceiling", "widths", "isa", "workers", "numba", "text")
LEAST_CPU = 5.0
"""Seconds of CPU that a difference of two numbers of epochs must take."""


@dataclass(frozen=True)
class Row:
    """A setting, and what we want to reach there."""

    model: str
    vector_size: int
    window: int
    negative: int
    goal: float | None = None
    floor: float | None = None
    rival: str = "cbow"

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.model} d{self.vector_size} w{self.window} n{self.negative}"

    def options(self, **more: Any) -> dict[str, Any]:
        """Return the options of a run without sub-sampling."""
        sizes = {"vector_size": self.vector_size, "window": self.window, "negative": self.negative}
        return {"model": self.model, **sizes, "sample": 0.0, "workers": 1, **more}


ROWS = (
    Row("cbow", 100, 5, 5, 9, 5.5),
    Row("cbow", 300, 5, 5, 5.5, 3.5),
    Row("cbow", 50, 20, 10, 13, 8),
    Row("skipgram", 100, 5, 5, 25, 15, "skipgram"),
    Row("skipgram", 300, 5, 5, 14, 9, "skipgram"),
    Row("cbow-attn", 50, 20, 10, 8, 4.5),
    Row("ssg", 50, 5, 5, None, None, "skipgram"),
    Row("cwindow", 50, 5, 5, None, None),
)
CEILING = {"ssg": (0.75, 0.6), "cwindow": (0.75, 0.6)}
WIDTHS = ((50, 64), (100, 112), (150, 160), (300, 304))


# ---- the text ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Text:
    """The slice that is trained on, and the vocabulary of the whole."""

    slice: Path  # tokens split by spaces, lower-cased
    vocab: Path
    n_tokens: int


def prepare(corpus: str, into: Path, words: int) -> Text:
    """Write the first so many words of the corpus as tokens, and the vocabulary of all of it."""
    from xopen import xopen

    name = Path(corpus).name
    tokens, vocab = into / f"{name}.{words}.txt", into / f"{name}.vocab.tsv"
    if not (tokens.exists() and vocab.exists()):
        count_corpus([corpus])[0].prune(5).save(vocab)
        n = 0
        with xopen(corpus, "rt", encoding="utf-8") as source, atomic_file(tokens) as out:
            for line in source:
                out.write((" ".join(tokenize(line)) + "\n").encode())
                n += len(line.split())
                if n >= words:
                    break
    return Text(tokens, vocab, sum(len(line.split()) for line in open(tokens, encoding="utf-8")))


# ---- whole processes ----------------------------------------------------------------------------


def cpu_seconds(command: Sequence[str]) -> float:
    """Run a command to its end and return the CPU time of it and its children, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def our_command(text: Text, row: Row, epochs: int, output: str, negatives: str) -> list[str]:
    """Return the command line of one of our runs."""
    options = row.options(epochs=epochs, seed=1, min_count=5, tokenizer="whitespace", negatives=negatives)
    flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    files = ["--read-vocab", str(text.vocab), "--output", output, "--overwrite"]
    return [sys.executable, "-m", "wordvec_ca", "train", str(text.slice), *flags, *files, "-q"]


def gensim_command(text: Text, row: Row, epochs: int) -> list[str]:
    """Return the command line that trains gensim's model with the same options."""
    what = [str(text.slice), str(text.vocab), text.n_tokens]
    how = [row.rival, row.vector_size, row.window, row.negative, epochs]
    return [sys.executable, __file__, "--gensim", json.dumps(what), json.dumps(how)]


def train_gensim(text: str, settings: str) -> None:
    """Train gensim's Word2Vec: what the command of ``gensim_command`` does."""
    from gensim.models import Word2Vec

    from wordvec_ca.vocab import Vocab

    tokens, vocab_file, n_tokens = json.loads(text)
    model, vector_size, window, negative, epochs = json.loads(settings)
    vocab = Vocab.load(vocab_file)
    word2vec = Word2Vec(
        vector_size=vector_size, window=window, negative=negative, sample=0, min_count=5, workers=1, seed=1,
        sg=int(model == "skipgram"), alpha=0.05,
    )  # fmt: skip
    word2vec.build_vocab_from_freq(dict(zip(vocab.words, vocab.counts.tolist(), strict=True)))
    if epochs:
        word2vec.train(corpus_file=tokens, total_words=n_tokens, epochs=epochs)


def peer_command(path: str, text: Text, row: Row, epochs: int) -> list[str]:
    """Return the command line of a program with the flags of word2vec.c (pWord2Vec knows them too)."""
    flags = {
        "train": text.slice, "output": os.devnull, "size": row.vector_size, "window": row.window,
        "negative": row.negative, "sample": 0, "threads": 1, "min-count": 5, "iter": epochs, "hs": 0,
        "cbow": int(row.rival == "cbow"), "binary": 1,
    }  # fmt: skip
    return [path, *(part for name, value in flags.items() for part in (f"-{name}", str(value)))]


class Process:
    """A command for any number of epochs, as words per CPU second of what more epochs take.

    Parameters
    ----------
    command : callable
        Returns the command line for so many epochs.
    n_tokens : int
        Words of an epoch.
    fewest : int
        Epochs of the short run: 0 where the program can prepare everything and not train, which spares a slow
        one two of three epochs.
    """

    def __init__(self, command: Callable[[int], list[str]], n_tokens: int, fewest: int = 1) -> None:
        self._command, self._n_tokens, self._fewest = command, n_tokens, fewest
        self._more = 0

    def __call__(self) -> float:
        """Measure once."""
        seconds = 0.0
        if not self._more:  # as many epochs as take long enough, with a margin for noise
            self._more = 1
            seconds = self._seconds()
            self._more = max(1, int(np.ceil(1.2 * LEAST_CPU / max(seconds, 0.05))))
        if seconds == 0.0 or self._more > 1:
            seconds = self._seconds()
        return self._more * self._n_tokens / seconds

    def _seconds(self) -> float:
        longer, shorter = self._command(self._fewest + self._more), self._command(self._fewest)
        return cpu_seconds(longer) - cpu_seconds(shorter)


def alternate(sides: dict[str, Callable[[], float]], repeat: int) -> dict[str, list[float]]:
    """Measure each side in turn, so many times."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeat):
        for name, measure in sides.items():
            found[name].append(measure())
    return found


# ---- the loop alone -----------------------------------------------------------------------------


class Loop:
    """The training loop on encoded text in this process; calling it returns words per CPU second."""

    def __init__(
        self, encoded: EncodedCorpus, options: dict[str, Any], isa: str | None = None, null: bool = False
    ) -> None:
        config = TrainConfig(**{"workers": 1, **options}).resolved()
        model = EmbeddingModel(config, encoded.vocab)
        model.initialise()
        for array in model.shared:
            array += 0  # memory comes at the first touch, and takes its time
        self._trainer = Trainer(model, encoded.tokens)
        self._worker = self._trainer.workers[0]
        self._worker.hyper["alpha_begin"] = self._worker.hyper["alpha_end"] = 0 if null else 0.01
        self._worker.hyper["attention_rate"] = float(config.model == "cbow-attn")
        self._worker.hyper["skip_dots"] = null
        if isa is not None:
            from wordvec_ca.kernels import _sgns

            self._trainer.train_chunk = partial(_sgns.train_chunk, isa=isa)
        self._least = 0.6

    def __call__(self) -> float:
        """Measure once."""
        trainer, worker, words = self._trainer, self._worker, 0
        size = trainer.chunk_tokens
        started, last = time.thread_time(), 0.0
        for begin in itertools.cycle(range(0, len(trainer.tokens), size)):
            tokens = trainer.tokens[begin : begin + size]
            trainer.train_chunk(
                worker.hyper, tokens, trainer.keep, trainer.pool, trainer.model.shared, worker.private,
                trainer.lock, worker.rng, worker.stats,
            )  # fmt: skip
            words += int(np.count_nonzero(tokens >= 0))
            last = time.thread_time() - started
            if last >= self._least:
                break
        return words / last


class Run:
    """Training for an epoch in this process, of one model or of several at once that have nothing in common;
    calling it returns words per second of wall time, of all together.
    """

    def __init__(self, encoded: EncodedCorpus, options: dict[str, Any], models: int = 1) -> None:
        self._encoded, self._config = encoded, TrainConfig(**options, epochs=1).resolved()
        self._models = models

    def __call__(self) -> float:
        """Measure once."""
        trainers = [self._trainer() for _ in range(self._models)]
        with ThreadPoolExecutor(len(trainers)) as pool:
            list(pool.map(Trainer.run, trainers))
        words = len(trainers) * float(np.count_nonzero(self._encoded.tokens >= 0))
        return words / max(trainer.seconds for trainer in trainers)

    def _trainer(self) -> Trainer:
        model = EmbeddingModel(self._config, self._encoded.vocab)
        model.initialise()
        return Trainer(model, self._encoded.tokens)


# ---- the parts ----------------------------------------------------------------------------------


class Bench:
    """Runs the parts asked for and keeps every measurement."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.text = prepare(options.corpus, options.into, options.words)
        self.encoded = self._encode(self.text.slice)
        self.records: list[dict[str, Any]] = []
        self._started = time.monotonic()

    def _encode(self, path: Path) -> EncodedCorpus:
        return encode_corpus(path, tokenizer="whitespace", lowercase=False, vocab=self.text.vocab, workers=1,
                             cache_dir=self.folder)  # fmt: skip

    def rows(self) -> list[Row]:
        """Return the settings asked for."""
        wanted = self.options.rows.split(",") if self.options.rows else None
        return [row for row in ROWS if wanted is None or row.model in wanted or row.name in wanted]

    def rows_and_modes(self) -> Iterator[tuple[Row, str]]:
        """Yield the settings asked for, with each way of drawing negatives."""
        for row in self.rows():
            for negatives in self.modes(row):
                yield row, negatives

    def modes(self, row: Row) -> tuple[str, ...]:
        """Return the ways of drawing negatives that are measured, the default last: what has a goal."""
        if row.model not in SHARED_BY:
            return ("exact",)
        return ("exact", "shared") if self.options.exact else ("shared",)

    def compare(
        self, part: str, name: str, sides: dict[str, Callable[[], float]], goal: float | None = None,
        floor: float | None = None, unit: str = "M words/CPU s", judged: str | None = None,
    ) -> None:  # fmt: skip
        """Measure two or more sides; every other side is compared with the first, and judged, or only one."""
        found = alternate(sides, self.options.repeat)
        (against, base), *others = found.items()
        for other, values in others:
            record = {
                "part": part, "row": name, "side": other, "against": against, "unit": unit,
                "speed": median(values) / 1e6, "speed_against": median(base) / 1e6,
                "ratio": median(values) / median(base),
                "goal": goal if judged in (None, other) else None,
                "floor": floor if judged in (None, other) else None,
                "speeds": values, "speeds_against": base,
            }  # fmt: skip
            self.keep(record)

    def keep(self, record: dict[str, Any]) -> None:
        """Show a measurement, and write the record and the table of all so far: a bench may be cut short."""
        self.records.append(record)
        print(table_line(record), file=sys.stderr, flush=True)
        everything = {
            "command": sys.argv, "minutes": self.minutes(), "processor": processor(), "isa": kernels.isa(),
            "python": platform.python_version(), "tokens": self.text.n_tokens, "measurements": self.records,
        }  # fmt: skip
        for name, content in (("bench.json", json.dumps(everything, indent=1)), ("bench.md", self.table())):
            with atomic_file(self.options.into / name) as file:
                file.write(f"{content}\n".encode())

    def minutes(self) -> float:
        """Return how long it has taken."""
        return (time.monotonic() - self._started) / 60

    def table(self) -> str:
        """Return all measurements as a table."""
        return "\n".join([HEAD, *map(table_line, self.records)])

    def peers(self) -> None:
        """Measure whole processes."""
        for row in self.rows():
            sides = {"gensim": Process(partial(gensim_command, self.text, row), self.text.n_tokens, fewest=0)}
            for peer in self.options.peer:
                name, _, path = peer.partition("=")
                sides[name] = Process(partial(peer_command, path, self.text, row), self.text.n_tokens)
            modes = self.modes(row)
            for negatives in modes:
                sides[f"cawv, {negatives}"] = Process(partial(self._ours, row, negatives), self.text.n_tokens)
            self.compare("peers", row.name, sides, row.goal, row.floor, judged=f"cawv, {modes[-1]}")

    def _ours(self, row: Row, negatives: str, epochs: int) -> list[str]:
        return our_command(self.text, row, epochs, str(self.folder / "model"), negatives)

    def ceiling(self) -> None:
        """Measure the loop beside its null kernel."""
        for row, negatives in self.rows_and_modes():
            options = row.options(negatives=negatives)
            sides = {
                "null kernel": Loop(self.encoded, options, null=True),
                "loop": Loop(self.encoded, options),
            }
            self.compare("ceiling", f"{row.name} {negatives}", sides, *CEILING.get(row.model, (None, None)))

    def widths(self) -> None:
        """Measure vector sizes beside the next multiple of 16."""
        for model in ("cbow", "skipgram"):
            for size, wider in WIDTHS:
                options = [Row(model, d, 5, 5).options(negatives="shared") for d in (wider, size)]
                sides = {
                    f"d{wider}": Loop(self.encoded, options[0]),
                    f"d{size}": Loop(self.encoded, options[1]),
                }
                self.compare("widths", f"{model} d{size}", sides, None, 0.95)

    def isa(self) -> None:
        """Measure the instruction sets."""
        from wordvec_ca.kernels import _sgns

        for row, negatives in self.rows_and_modes():
            options = row.options(negatives=negatives)
            sides = {name: Loop(self.encoded, options, isa=name) for name in _sgns.isas()}
            floor = 0.7 if "avx512" in sides else None
            self.compare("isa", f"{row.name} {negatives}", sides, None, floor)

    def workers(self) -> None:
        """Measure two workers beside one, and what two cores do at that time that have nothing in common."""
        settings = [Row("cbow", 100, 5, 5), Row("skipgram", 100, 5, 5), Row("cbow-attn", 50, 20, 10)]
        for row in settings:
            for negatives in self.modes(row):
                for sample in (0.0, 1e-3):
                    options = row.options(negatives=negatives, sample=sample)
                    sides = {
                        f"{n} worker{'s' * (n > 1)}": Run(self.encoded, {**options, "workers": n})
                        for n in (1, 2)
                    }
                    sides["2 models, 1 worker each"] = Run(self.encoded, {**options, "workers": 1}, models=2)
                    name = f"{row.name} {negatives}, sample {sample:g}"
                    self.compare("workers", name, sides, 1.9, 1.5, unit="M words/s", judged="2 workers")

    def numba(self) -> None:
        """Measure the Numba backend."""
        for row, negatives in self.rows_and_modes():
            options = row.options(negatives=negatives)
            sides = {
                "cython": Loop(self.encoded, options),
                "numba": Loop(self.encoded, {**options, "backend": "numba"}),
            }
            sides["numba"]()  # compiles
            self.compare("numba", f"{row.name} {negatives}", sides)

    def text_speed(self) -> None:
        """Measure counting and encoding."""
        plain = self.folder / "plain.txt"
        plain.write_text(self.text.slice.read_text(encoding="utf-8").capitalize() * 4, encoding="utf-8")
        floors = {"words": 20.0, "whitespace": 60.0}
        for tokenizer, floor in floors.items():
            found = []
            for _ in range(self.options.repeat):
                started = time.process_time()
                encode_corpus(plain, tokenizer=tokenizer, workers=1, cache_dir=self.folder).close()
                found.append(plain.stat().st_size / (time.process_time() - started) / 1e6)
            record = {
                "part": "text", "row": f"counting and encoding, {tokenizer}", "side": "cawv", "against": "",
                "unit": "MB/CPU s", "speed": median(found), "speed_against": None, "ratio": median(found),
                "goal": None, "floor": floor, "speeds": found,
            }  # fmt: skip
            self.keep(record)

    def run(self) -> None:
        """Run the parts asked for."""
        for part in self.options.parts.split(","):
            (self.text_speed if part == "text" else getattr(self, part))()


# ---- the table ----------------------------------------------------------------------------------

HEAD = "| part | setting | who | speed | beside | its speed | ratio | goal | floor |\n" + "|---" * 9 + "|"


def table_line(record: dict[str, Any]) -> str:
    """Return a record as a line of the table; a missed floor is marked."""

    def shown(value: float | None, digits: str = ".2f") -> str:
        return "" if value is None else format(value, digits)

    missed = (
        record["floor"] is not None and record["ratio"] < record["floor"] and record["side"] != "baseline"
    )
    ratio = f"**{record['ratio']:.2f}** missed" if missed else f"{record['ratio']:.2f}"
    cells = [
        record["part"], record["row"], record["side"], f"{record['speed']:.2f} {record['unit']}",
        record["against"], shown(record["speed_against"]), ratio, shown(record["goal"], "g"),
        shown(record["floor"], "g"),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure, print and record."""
    if sys.argv[1:2] == ["--gensim"]:
        train_gensim(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument(
        "--into", type=Path, default=Path("bench"), help="folder of the record (default: bench)"
    )
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated (default: all)")
    parser.add_argument("--rows", help="models or settings, comma-separated (default: all)")
    parser.add_argument("--words", type=int, default=2_500_000, help="words of the corpus to train on")
    parser.add_argument(
        "--exact", action="store_true", help="exact negatives, too, where shared ones are the default"
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PATH")
    options = parser.parse_args()
    unknown = set(options.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--parts: no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    options.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.into) as folder:
        bench = Bench(options, Path(folder))
        bench.run()
        bench.encoded.close()
    print(bench.table())
    print(f"\n{bench.minutes():.1f} minutes; {processor()}, {kernels.isa()}", file=sys.stderr)


def processor() -> str:
    """Return the name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    main()
