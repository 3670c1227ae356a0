"""No entry point grows faster than its input: CPU seconds for input of one, two and four times a size.

Here are commands and functions whose work is meant to be linear. What grows faster by definition has input
that grows on one side alone: a classifier without a tree gives every line a score for every label (lines
times labels; fastText does the same, and ``loss="hs"`` goes down a tree instead), maps and ``change`` compare
words with words (words squared), and ``recommend -o`` compares all items with all. So the vocabulary of
``change`` stays the same here while its texts grow. ``demo`` has no input, and autotuning takes the seconds
that it is given: its row holds what is beside the trials.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca import KeyedVectors, SentenceVectorizer, TrainConfig, Vocab, fasttext, train
from wordvec_ca.formats import read_vectors
from wordvec_ca.gensim import models as gensim
from wordvec_ca.gensim.models import Doc2Vec
from wordvec_ca.gensim.models.doc2vec import TaggedDocument
from wordvec_ca.gensim.models.word2vec import LineSentence
from wordvec_ca.specs.formats import WRITABLE

SMALL = 5_000
"""Lines, words, labels or documents of the smallest input; four times as many show what is quadratic."""

MOST_TIMES = 7.0
"""Four times the input may take this many times as long: 4, what sorting adds, and noise; quadratic is 16."""

ROOM = 0.15
"""CPU seconds that do not count: below them, the clock and other programs are the result."""


class Input:
    """Input of one size: ``n`` lines of ten words, ``n`` distinct words, in a folder of its own."""

    def __init__(self, n: int, folder: Path) -> None:
        folder.mkdir()
        self.n, self.folder = n, folder
        draw = random.Random(1)
        self.words = [f"w{i}" for i in range(n)]
        self.lines = [[word, *draw.choices(self.words, k=9)] for word in self.words]
        self.text = self._file("text.txt", "\n".join(map(" ".join, self.lines)))
        self.one_line = self._file("line.txt", " ".join(word for line in self.lines for word in line))
        labelled = (f"__label__{i % (n // 4)} {' '.join(line)}" for i, line in enumerate(self.lines))
        self.labelled = self._file("labelled.txt", "\n".join(labelled))
        few = (f"__label__{i % 20} {' '.join(line)}" for i, line in enumerate(self.lines))
        self.few_labels = self._file("few.txt", "\n".join(few))
        self.documents = [TaggedDocument(line, [f"tag{i}", i % 9]) for i, line in enumerate(self.lines)]
        self.rows = np.random.default_rng(1).normal(size=(n, 8)).astype(np.float32)
        self.vectors = KeyedVectors(self.words, self.rows, np.arange(n, 0, -1))
        self.table = gensim.KeyedVectors(8)
        self.table.add_vectors(self.words, self.rows, {"count": np.arange(n, 0, -1)})

    def _file(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.write_text(content + "\n")
        return path


COMMON: dict[str, Any] = {"vector_size": 8, "min_count": 1, "workers": 1, "epochs": 1}
FASTTEXT: dict[str, Any] = {"minCount": 1, "dim": 8, "bucket": 1000, "epoch": 1, "thread": 1, "verbose": 0}


def cawv(*arguments: Any) -> None:
    """Run a command in this process."""
    from wordvec_ca.cli import main

    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert not stop.value.code, arguments


@cache
def made(given: Input, name: str = "model", **options: Any) -> Path:
    """Return the directory of a model that was trained on the text, only once."""
    train(given.text, TrainConfig(**COMMON, **options)).save(given.folder / name)
    return given.folder / name


word2vec_of = cache(lambda given: gensim.Word2Vec(given.lines, **COMMON))
classifier_of = cache(lambda given: fasttext.train_supervised(str(given.few_labels), **FASTTEXT))
doc2vec_of = cache(lambda given: Doc2Vec(given.documents, **COMMON))


def pairs(given: Input) -> Path:
    """Return a file of a fifth as many pairs of words with a score."""
    draw = random.Random(2)
    some = given.words[: given.n // 5]
    rows = (f"{one}\t{draw.choice(given.words)}\t{draw.random():.3f}\n" for one in some)
    path = given.folder / "pairs.tsv"
    path.write_text("".join(rows))
    return path


def classes(given: Input) -> Path:
    """Return a file of texts of two classes."""
    path = given.folder / "classes.tsv"
    path.write_text("".join(f"{i % 2}\t{' '.join(line)}\n" for i, line in enumerate(given.lines)))
    return path


def few_words(given: Input, seed: int) -> Path:
    """Return a text of 300 different words, as long as the input."""
    draw, path = random.Random(seed), given.folder / f"few.{seed}.txt"
    path.write_text("".join(" ".join(draw.choices(given.words[:300], k=10)) + "\n" for _ in given.lines))
    return path


def log(given: Input) -> Path:
    """Return a log of sessions of ten events."""
    path = given.folder / "log.csv"
    rows = (
        f"s{i},{60 * i + k},{word}\n" for i, line in enumerate(given.lines) for k, word in enumerate(line)
    )
    path.write_text("s,t,item\n" + "".join(rows))
    return path


def written(name: str) -> Callable[[Input], Any]:
    """Return a function that writes and reads vectors in a format."""

    def run(given: Input) -> Any:
        path = given.folder / f"vectors.{name}"
        given.vectors.save(path, format=name, overwrite=True)
        return read_vectors(path)

    return run


def update(given: Input) -> None:
    """Add words to a model, and train on."""
    model = gensim.Word2Vec(given.lines[::2], **COMMON)
    model.build_vocab(given.lines, update=True)
    model.train(given.lines, total_examples=given.n, epochs=1)


def phrases(given: Input) -> None:
    """Find, freeze, join and store phrases."""
    found = gensim.Phrases(given.lines, min_count=1, threshold=0.1)
    frozen = found.freeze()
    list(frozen[given.lines])
    frozen.save(given.folder / "phrases.json")
    gensim.Phrases.load(given.folder / "phrases.json")


ELSEWHERE = {"parquet": "pyarrow", "spacy": "spacy", "floret": "numpy"}
"""Formats that need n-grams or another package, and that package."""


def word2vec_format(given: Input, binary: bool) -> None:
    """Write and read a file of word2vec.c with gensim's functions."""
    path = given.folder / "w2v"
    given.table.save_word2vec_format(path, binary=binary)
    gensim.KeyedVectors.load_word2vec_format(path, binary=binary)


def stored(model: Any, given: Input) -> None:
    """Save and load."""
    model.save(given.folder / "stored")
    type(model).load(given.folder / "stored")


def table(given: Input) -> None:
    """Fill, look up and reorder a table."""
    made = gensim.KeyedVectors(8, count=given.n)
    for word, row in zip(given.words, given.rows, strict=True):
        made.add_vector(word, row)
    made.set_vecattr("w1", "count", 3)
    made[given.words] = given.rows
    made.sort_by_descending_frequency()
    made.vectors_for_all(given.words)
    made.get_mean_vector(given.words)
    made.rank_by_centrality(given.words[:50])


def fasttext_files(given: Input) -> None:
    """Write and read a model of fastText, and use its words."""
    path = str(given.folder / "classifier.bin")
    classifier_of(given).save_model(path)
    model = fasttext.load_model(path)
    model.get_words(include_freq=True)
    model.get_labels()
    model.get_input_matrix()
    [model[word] for word in model.words]
    [model.get_word_id(word) for word in model.words]


ENTRY_POINTS: dict[str, Callable[[Input], Any]] = {
    "train": lambda x: train(x.text, TrainConfig(**COMMON)),
    "train, one line": lambda x: train(x.one_line, TrainConfig(**COMMON)),
    "train, subwords": lambda x: train(x.text, TrainConfig(subwords=True, **COMMON)),
    "train, documents": lambda x: train(x.text, TrainConfig(model="pv-dm", **COMMON)),
    "train, tree": lambda x: train(x.text, TrainConfig(hs=True, negative=0, **COMMON)),
    "Vocab": lambda x: Vocab(x.words, range(x.n, 0, -1)).save(x.folder / "vocab"),
    "sentences": lambda x: SentenceVectorizer(x.vectors).fit_transform([" ".join(line) for line in x.lines]),
    **{f"files: {name}": written(name) for name in WRITABLE if name not in ELSEWHERE},
    "Word2Vec": lambda x: gensim.Word2Vec(x.lines, **COMMON),
    "Word2Vec, tree": lambda x: gensim.Word2Vec(x.lines, hs=1, negative=0, **COMMON),
    "Word2Vec, file": lambda x: gensim.Word2Vec(corpus_file=x.text, **COMMON),
    "Word2Vec, one line": lambda x: gensim.Word2Vec(corpus_file=x.one_line, **COMMON),
    "Word2Vec, iterable": lambda x: gensim.Word2Vec(LineSentence(x.text), **COMMON),
    "Word2Vec, update": update,
    "Word2Vec, files": lambda x: stored(word2vec_of(x), x),
    "FastText": lambda x: gensim.FastText(x.lines, bucket=1000, **COMMON),
    "Doc2Vec": lambda x: Doc2Vec(x.documents, **COMMON),
    "Doc2Vec, file": lambda x: Doc2Vec(corpus_file=str(x.text), **COMMON),
    "Doc2Vec, files": lambda x: stored(doc2vec_of(x), x),
    "Doc2Vec, inference": lambda x: doc2vec_of(x).infer_vector(x.lines),
    "Doc2Vec, one by one": lambda x: [doc2vec_of(x).infer_vector(line) for line in x.lines[: x.n // 10]],
    "Phrases": phrases,
    "KeyedVectors": table,
    "KeyedVectors, files": lambda x: stored(x.table, x),
    "KeyedVectors, text": lambda x: word2vec_format(x, binary=False),
    "KeyedVectors, binary": lambda x: word2vec_format(x, binary=True),
    "skipgram of fastText": lambda x: fasttext.train_unsupervised(str(x.text), **FASTTEXT),
    "cbow of fastText": lambda x: fasttext.train_unsupervised(str(x.one_line), model="cbow", **FASTTEXT),
    "classifier": lambda x: fasttext.train_supervised(str(x.labelled), loss="ns", **FASTTEXT),
    "classifier, tree": lambda x: fasttext.train_supervised(str(x.labelled), loss="hs", **FASTTEXT),
    "classifier, test": lambda x: (
        classifier_of(x).test(str(x.few_labels)),
        classifier_of(x).test_label(str(x.few_labels)),
    ),
    "classifier, autotune": lambda x: fasttext.train_supervised(
        str(x.few_labels), autotuneValidationFile=str(x.few_labels), autotuneDuration=1, verbose=0
    ),
    "classifier, predict": lambda x: classifier_of(x).predict([" ".join(line) for line in x.lines]),
    "classifier, files": fasttext_files,
    "cawv train": lambda x: cawv(
        *("train", x.text, "--min-count", 1, "--vector-size", 8, "--epochs", 1, "--workers", 1),
        *("-o", x.folder / "trained", "--overwrite"),
    ),
    "cawv vocab": lambda x: cawv("vocab", x.text, "--min-count", 1, "-o", x.folder / "v", "--overwrite"),
    "cawv phrases": lambda x: cawv(
        *("phrases", x.text, "-o", x.folder / "p", "--overwrite", "--min-count", 1, "--threshold", 0.001)
    ),
    "cawv nn": lambda x: cawv("nn", made(x), *x.words[:20]),
    "cawv export": lambda x: cawv("export", made(x), "-o", x.folder / "e.txt", "--overwrite"),
    **{
        f"cawv export {name}": lambda x, name=name: cawv(
            *("export", made(x, "subwords", subwords=True), "-f", name),
            *("-o", x.folder / f"exported.{name}", "--overwrite"),
        )
        for name in ("floret", "parquet")
    },
    "cawv analogy": lambda x: cawv("analogy", made(x), "w1", "w2", "w3"),
    "cawv axis": lambda x: cawv("axis", made(x), "w1:w2", "w3:w4", "--words", ",".join(x.words[5:50])),
    "cawv axis, lists": lambda x: cawv(
        *("axis", made(x), "--targets", "w1,w2,w3", "w4,w5,w6", "--attributes", "w7,w8", "w9,w10"),
        *("--random-lists", 39),
    ),
    "cawv recommend": lambda x: cawv("recommend", made(x), "--basket", "w1,w2,w3"),
    "cawv attention": lambda x: cawv(
        "attention", made(x, "attends", model="cbow-attn"), "w1 w2 w3 w4", "--target", "w2"
    ),
    "cawv compare": lambda x: cawv(
        *("compare", made(x), made(x, "other", seed=2), "--similarity", pairs(x), "--no-runs", "-q")
    ),
    "cawv eval, texts": lambda x: cawv("eval", made(x), "--sentiment", classes(x), "--no-runs", "-q"),
    "cawv change, texts": lambda x: cawv(
        *("change", few_words(x, 1), few_words(x, 2), "--permutations", 20, "--repeats", 1, "-q"),
        *("--vector-size", 8, "--epochs", 1, "--workers", 1, "-o", x.folder / "c.tsv", "--overwrite"),
    ),
    "cawv explore, documents": lambda x: cawv(
        *("explore", made(x, "documents", model="pv-dbow"), "-o", x.folder / "d.html", "--overwrite"),
        *("--words", 500, "--method", "pca", "--no-cache", "-q"),
    ),
    "cawv train, a log": lambda x: cawv(
        *("train", log(x), "--for", "items", "--group-by", "s", "--order-by", "t", "--field", "item"),
        *("--test-last", "10%", "--vector-size", 8, "--epochs", 1, "--workers", 1),
        *("-o", x.folder / "shop", "--overwrite", "-q"),
    ),
    "cawv eval": lambda x: cawv("eval", made(x), "--similarity", pairs(x), "-q"),
    "cawv explore, 500 words": lambda x: cawv(
        *("explore", made(x), "-o", x.folder / "x.html", "--overwrite", "--words", 500),
        *("--method", "pca", "--no-cache", "-q"),
    ),
    "cawv index": lambda x: cawv("index", made(x), "-o", x.folder / "i"),
    "cawv embed": lambda x: cawv("embed", made(x), x.text, "-o", x.folder / "s.npy", "--overwrite"),
    "cawv search": lambda x: cawv("search", made(x), x.text, "w1 w2"),
    "cawv align": lambda x: cawv("align", made(x), made(x), "-o", x.folder / "a.txt", "--overwrite"),
    "cawv reembed": lambda x: cawv("reembed", made(x), x.text, "-o", x.folder / "re", "--overwrite"),
    "cawv publish": lambda x: cawv("publish", made(x), "--vectors", "input"),
    "cawv info": lambda x: cawv("info", made(x)),
    "cawv info --check": lambda x: cawv("info", made(x), "--check"),
    "cawv report": lambda x: cawv("report", made(x), "-o", x.folder / "r.html", "--overwrite"),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("growth")
    return [Input(SMALL * times, folder / str(times)) for times in (1, 2, 4)]


@pytest.mark.slow
@pytest.mark.xdist_group("growth")  # all on one worker: the inputs and models are made once
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_no_entry_point_grows_faster_than_its_input(name, inputs):
    if package := ELSEWHERE.get(name.removeprefix("cawv export ")):
        pytest.importorskip(package)
    run, seconds = ENTRY_POINTS[name], [0.0, 0.0, 0.0]
    for given in inputs:  # imports, compiled functions, models that are made once
        run(given)
    for attempt in range(3):  # again only if it looks too slow: others work on the machine, too
        for i, given in enumerate(inputs):
            begin = time.process_time()
            run(given)
            took = time.process_time() - begin
            seconds[i] = min(took, seconds[i]) if attempt else took
        if seconds[2] <= MOST_TIMES * max(seconds[0], ROOM / 2) + ROOM:
            break
    if shown := os.environ.get("CAWV_GROWTH"):  # the whole table: one line of seconds for each entry point
        with open(shown, "a") as file:
            file.write(f"{name}\t" + "\t".join(f"{each:.3f}" for each in seconds) + "\n")
    assert seconds[2] <= MOST_TIMES * max(seconds[0], ROOM / 2) + ROOM, seconds
