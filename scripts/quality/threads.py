"""Threads: every model, with its traits and by every way in, learns as much with many threads as with one.

    python scripts/quality/threads.py --corpus WIKI.txt.xz --words 3 --threads 1,2,4,8,16,32
    python scripts/quality/threads.py --corpus WIKI.txt.xz --words 10 --threads 1,2,8,32 --only "n-grams|sum"

All options have their defaults, except for 50 dimensions and one epoch. Threads wait for each other before
and after each chunk or block, so that what one trains is as old as it can be for the others, with any number
of cores and on a busy machine. The loss is that of held-out lines; of documents it is that of training. A
run that is in --log is not done again; the record is written from the log.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, lines_of, parser, table, write_section

import wordvec_ca.gensim.models.fitting
from wordvec_ca.errors import DataError
from wordvec_ca.fasttext import train_unsupervised
from wordvec_ca.gensim.models import Doc2Vec, FastText, Word2Vec
from wordvec_ca.gensim.models.doc2vec import TaggedDocument
from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train
from wordvec_ca.training import trainer as training
from wordvec_ca.training.held_out import held_out_loss, mean
from wordvec_ca.training.replica import Replica

MODELS = ("cbow", "skipgram", "ssg", "cwindow", "cbow-attn")
TREES = ("cbow", "skipgram", "cwindow", "cbow-attn")
DOCUMENTS = ("pv-dm", "pv-dbow", "pv-dm-concat", "pv-dm-attn")
NGRAMS = {"subwords": True}

KINDS: dict[str, Setting] = {
    **{model: {"model": model} for model in MODELS},
    **{f"{model}, n-grams": {"model": model, **NGRAMS} for model in MODELS},
    **{f"{model}, --hs": {"model": model, "hs": True} for model in TREES},
    "cbow, sum": {"model": "cbow", "cbow_mean": False},
    "cbow, sum, window 20": {"model": "cbow", "cbow_mean": False, "window": 20},
    "cbow, sum, n-grams": {"model": "cbow", "cbow_mean": False, **NGRAMS},
    "cbow, sum, --hs": {"model": "cbow", "cbow_mean": False, "hs": True},
    "cbow, word2vec's step": {"model": "cbow", "cbow_update": "word2vec"},
    "cbow, word2vec's step, sum": {"model": "cbow", "cbow_update": "word2vec", "cbow_mean": False},
    "cbow, word2vec's step, n-grams": {"model": "cbow", "cbow_update": "word2vec", **NGRAMS},
    "cbow, n-grams, buckets": {"model": "cbow", "buckets": 200_000, **NGRAMS},
    "cbow, n-grams from 1 character": {"model": "cbow", "min_n": 1, **NGRAMS},
    "cbow, n-grams, --hs": {"model": "cbow", "hs": True, **NGRAMS},
    "cbow, lines of 5,000 words, n-grams": {"model": "cbow", "line": 5_000, **NGRAMS},
    "cbow, tree alone": {"model": "cbow", "hs": True, "negative": 0},
    "cbow, exact negatives": {"model": "cbow", "negatives": "exact"},
    "cbow, full windows": {"model": "cbow", "shrink_windows": False},
    "cbow, window 1": {"model": "cbow", "window": 1},
    "cbow-attn, by place": {"model": "cbow-attn", "attention": "position"},
    "cbow-attn, by word": {"model": "cbow-attn", "attention": "word"},
    "cbow-attn, by place, n-grams": {"model": "cbow-attn", "attention": "position", **NGRAMS},
    "cbow, items": {"model": "cbow", "window": "all", "line": 8},
    "skipgram, items": {"model": "skipgram", "window": "all", "line": 8},
    "cbow, items, n-grams": {"model": "cbow", "window": "all", "line": 8, **NGRAMS},
    **{model: {"model": model} for model in DOCUMENTS},
    "pv-dbow, words": {"model": "pv-dbow", "dbow_words": True},
    "pv-dm, sum": {"model": "pv-dm", "cbow_mean": False},
    "pv-dm, n-grams": {"model": "pv-dm", **NGRAMS},
    "pv-dm-attn, n-grams": {"model": "pv-dm-attn", **NGRAMS},
    **{f"{model}, --anchored": {"model": model, "anchored": True} for model in MODELS},
    "gensim Word2Vec": {"by": "Word2Vec"},
    "gensim Word2Vec, sum": {"by": "Word2Vec", "cbow_mean": 0},
    "gensim FastText": {"by": "FastText"},
    "gensim FastText, skip-gram": {"by": "FastText", "sg": 1},
    "gensim Doc2Vec": {"by": "Doc2Vec"},
    "gensim Doc2Vec, dbow": {"by": "Doc2Vec", "dm": 0},
    "gensim Doc2Vec, concat": {"by": "Doc2Vec", "dm_concat": 1},
    "fasttext, cbow": {"by": "fasttext", "model": "cbow"},
    "fasttext, skipgram": {"by": "fasttext", "model": "skipgram"},
}
"""Name of a row -> options of ``TrainConfig``; ``by`` names a drop-in, ``line`` the words of a line."""

WORDS_PER_LINE = 64.1

HELD_OUT = 1_000
"""Lines of held-out text."""

trained: list[training.Trainer] = []
"""The trainers of the present run: the drop-ins do not return theirs."""


class Together(Replica):
    """A replica whose threads wait for each other before and after each call of the training loop."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.barrier = threading.Barrier(getattr(self, "at_once", self.threads))
        self._alone, self.kernel = self.kernel, self._together
        self._inside = threading.local()

    def train_chunk(self, *given: Any, **more: Any) -> None:
        """Train a chunk."""
        self._inside.training = True
        try:
            super().train_chunk(*given, **more)
        finally:
            self._inside.training = False

    def _together(self, *given: Any) -> None:
        if not getattr(self._inside, "training", False):  # the loss of held-out text
            self._alone(*given)
            return
        self._wait()
        self._alone(*given)
        self._wait()

    def _wait(self) -> None:
        try:
            self.barrier.wait(5)
        except threading.BrokenBarrierError:  # a thread has no more chunks before the next pause
            pass


class Watched(training.Trainer):
    """A trainer that can be asked for the loss of its model."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        trained.append(self)

    def _train_chunks(self, *given: Any) -> Any:
        for replica in self.replicas.all:
            replica.barrier.reset()  # type: ignore[attr-defined]
        return super()._train_chunks(*given)

    def _work(self, worker: Any, *given: Any) -> None:
        super()._work(worker, *given)
        worker.replica.barrier.abort()


@contextmanager
def threads_together() -> Iterator[None]:
    """Let all trainers be watched, and the threads of their replicas work together."""
    with ExitStack() as stack:
        for module in [m for name, m in sys.modules.items() if name.startswith("wordvec_ca")]:
            for former, present in ((Watched.__base__, Watched), (Replica, Together)):
                if former is not None and getattr(module, former.__name__, None) is former:
                    stack.enter_context(patch.object(module, former.__name__, present))
        # gensim's workers are at most as many as there are cores
        stack.enter_context(patch.object(wordvec_ca.gensim.models.fitting, "usable_cpus", lambda: 1_000))
        yield


def loss_of(trainer: training.Trainer, lines: list[list[str]]) -> float:
    """Return the loss of held-out lines, or, of documents, that of training."""
    if trainer.model.documents is not None:
        return mean(trainer.totals(), "loss", "examples")
    number = {word: i for i, word in enumerate(trainer.model.vocab.words)}
    known = [[number[word] for word in line if word in number] + [-1] for line in lines]
    trainer.model.compose()
    return held_out_loss(trainer.replica, np.array([i for line in known for i in line], np.int32))


def run(setting: Setting, text: list[list[str]], valid: list[list[str]], folder: Path) -> dict[str, Any]:
    """Train once; return the loss."""
    options = {key: value for key, value in KINDS[setting["kind"]].items() if key not in ("by", "line")}
    by, length = KINDS[setting["kind"]].get("by"), KINDS[setting["kind"]].get("line")
    threads, seed = setting["threads"], setting["seed"]
    if length:
        words = [word for line in text for word in line]
        text = [words[at : at + length] for at in range(0, len(words), length)]
        words = [word for line in valid for word in line]
        valid = [words[at : at + length] for at in range(0, len(words), length)]
    trained.clear()
    common = {"vector_size": 50, "epochs": 1, "seed": seed, "workers": threads}
    make: Callable[[], Any]
    if by == "fasttext":
        path = folder / "text"
        if not path.exists():
            path.write_text("\n".join(map(" ".join, text)), "utf-8")
        make = partial(
            train_unsupervised, str(path), dim=50, epoch=1, thread=threads, seed=seed, verbose=0, **options
        )
    elif by == "Doc2Vec":
        make = partial(
            Doc2Vec, [TaggedDocument(line, [i]) for i, line in enumerate(text)], **common, **options
        )
    elif by is not None:
        make = partial({"Word2Vec": Word2Vec, "FastText": FastText}[by], text, **common, **options)
    else:
        base = None
        if options.get("anchored"):
            base = folder / f"{setting['kind']} {seed}"
            first = {**common, "workers": 1, "model": options["model"]}
            if not base.exists():
                train(text[: len(text) // 2], TrainConfig(**first), output=base, progress=False)
            text = text[len(text) // 2 :]
        make = partial(train, text, TrainConfig(**common, **options), continue_from=base, progress=False)
    try:
        make()
    except DataError as error:
        return {"error": str(error)}
    return {"loss": round(loss_of(trained[-1], valid), 4)}


def rows_of(runs: Runs, words: float, threads: list[int]) -> list[list[str]]:
    """Return a row for each kind: the loss of one thread, and what more threads differ from it."""
    rows = []
    done = [{**run["setting"], **run} for run in runs.done.values() if run["setting"]["words"] == words]
    for kind in KINDS:
        found: dict[int, list[dict[str, Any]]] = {}
        for one in (one for one in done if one["kind"] == kind):
            found.setdefault(one["threads"], []).append(one)
        if not found.get(1):
            continue
        alone = {one["seed"]: one.get("loss", float("nan")) for one in found[1]}
        cells = []
        for n in threads:
            if n == 1:
                continue
            beside = [one["loss"] - alone[one["seed"]] for one in found.get(n, []) if "loss" in one]
            failed = sum("error" in one for one in found.get(n, []))
            told = [f"{statistics.fmean(beside):+.3f}"] if beside else []
            cells.append("; ".join([*told, *([f"{failed} diverged"] if failed else [])]))
        spread = max(alone.values()) - min(alone.values())
        seeds = f" ({len(alone)} seeds, {spread:.3f} apart)" if len(alone) > 1 else ""
        rows.append([kind, f"{statistics.fmean(alone.values()):.3f}{seeds}", *cells])
    return rows


def main() -> None:
    """Do the runs that are not in the log, then write the record."""
    asked = parser(__doc__, "replicas", log="threads.jsonl")
    asked.add_argument("--corpus", required=True)
    asked.add_argument("--words", type=float, default=3, help="millions of words")
    asked.add_argument("--threads", default="1,2,4,8,16,32")
    asked.add_argument("--only", default="", metavar="REGEX", help="only rows whose name matches")
    asked.add_argument("--seeds", type=int, default=1)
    options = asked.parse_args()
    threads = [int(n) for n in options.threads.split(",")]
    lines = [
        line.lower().split()
        for line in lines_of(options.corpus, int(options.words * 1e6 / WORDS_PER_LINE) + HELD_OUT)
    ]
    runs = Runs(options.log, options.minutes)
    with tempfile.TemporaryDirectory() as folder, threads_together():
        for seed in range(1, options.seeds + 1):
            for kind in (kind for kind in KINDS if re.search(options.only, kind)):
                for n in threads:
                    runs.outcome(
                        {"words": options.words, "kind": kind, "threads": n, "seed": seed},
                        partial(run, text=lines[:-HELD_OUT], valid=lines[-HELD_OUT:], folder=Path(folder)),
                    )
    note = (
        "Held-out loss (of documents: of training) of one thread, and the difference from it with more "
        "threads that begin every chunk together. 50 dimensions, one epoch; all else has its default."
    )
    heads = ("model", "one thread", *(f"{n} threads" for n in threads if n > 1))
    body = f"{note}\n\n{table(heads, rows_of(runs, options.words, threads))}"
    write_section(options.page, "Many threads: replicas", f"threads, {options.words:g} M words", body)


if __name__ == "__main__":
    main()
