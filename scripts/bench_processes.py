"""Whole processes side by side: our command, gensim, and programs with word2vec.c's flags."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from study import measured, write_tokens

from wordvec_ca.corpus import count_corpus

LEAST_CPU = 5.0
"""Two runs differ in their epochs; the difference must be at least this many CPU seconds."""


@dataclass(frozen=True)
class Row:
    """A setting, with the ratio of speed that we want to reach (goal) and that we must reach (floor)."""

    model: str
    vector_size: int
    window: int
    negative: int
    goal: float | None = None
    floor: float | None = None
    rival: str = "cbow"

    @property
    def name(self) -> str:
        """Name of the setting in the table."""
        return f"{self.model} d{self.vector_size} w{self.window} n{self.negative}"

    def options(self, **more: Any) -> dict[str, Any]:
        """Return the options of a run without sub-sampling."""
        sizes = {"vector_size": self.vector_size, "window": self.window, "negative": self.negative}
        return {"model": self.model, **sizes, "sample": 0.0, "workers": 1, **more}


@dataclass(frozen=True)
class Text:
    """The part of a text that is trained on, and the vocabulary of the whole text."""

    slice: Path  # tokens split by spaces, lower-cased
    vocab: Path
    n_tokens: int


def prepare(corpus: str, into: Path, words: int) -> Text:
    """Write the first ``words`` words of the corpus as tokens, and the vocabulary of all of it."""
    name = Path(corpus).name
    tokens, vocab = into / f"{name}.{words}.txt", into / f"{name}.vocab.tsv"
    if not (tokens.exists() and vocab.exists()):
        count_corpus([corpus])[0].prune(5).save(vocab)
        write_tokens(corpus, tokens, words)
    return Text(tokens, vocab, sum(len(line.split()) for line in open(tokens, encoding="utf-8")))


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
    return [sys.executable, __file__, json.dumps(what), json.dumps(how)]


def train_gensim(text: str, settings: str) -> None:
    """Train gensim's Word2Vec; the command of ``gensim_command`` calls this."""
    from gensim.models import Word2Vec

    from wordvec_ca.corpus import Vocab

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
    """Return the command line of a program with the flags of word2vec.c, such as pWord2Vec."""
    flags = {
        "train": text.slice, "output": os.devnull, "size": row.vector_size, "window": row.window,
        "negative": row.negative, "sample": 0, "threads": 1, "min-count": 5, "iter": epochs, "hs": 0,
        "cbow": int(row.rival == "cbow"), "binary": 1,
    }  # fmt: skip
    return [path, *(part for name, value in flags.items() for part in (f"-{name}", str(value)))]


class Process:
    """A command for any number of epochs; a call returns words per CPU second of the additional epochs."""

    def __init__(self, command: Callable[[int], list[str]], n_tokens: int, fewest: int = 1) -> None:
        self._command, self._n_tokens, self._fewest = command, n_tokens, fewest
        self._more = 0

    def __call__(self) -> float:
        """Measure once."""
        seconds = 0.0
        if not self._more:  # find the number of epochs that takes long enough, with a margin for noise
            self._more = 1
            seconds = self._seconds()
            self._more = max(1, int(np.ceil(1.2 * LEAST_CPU / max(seconds, 0.05))))
        if seconds == 0.0 or self._more > 1:
            seconds = self._seconds()
        return self._more * self._n_tokens / seconds

    def _seconds(self) -> float:
        longer, shorter = self._command(self._fewest + self._more), self._command(self._fewest)
        return measured(longer)["cpu"] - measured(shorter)["cpu"]


if __name__ == "__main__":  # the command of ``gensim_command``
    train_gensim(*sys.argv[1:])
