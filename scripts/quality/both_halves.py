"""Which vectors should a model publish: those made of its input rows W, its output rows O, or both?

    python scripts/quality/both_halves.py wiki.30M.txt --data "$CAWV_DATA" --log both.jsonl --minutes 60

trains every cell (words, dimensions, model, seed) once, makes its vectors in every form, judges them, and
writes docs/evidence/data/. Runs in --log are not done again, so the command can be stopped and
started again; --report only writes the page. RULE has the rule of the choice, written before any figure.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Page, Runs, Setting, lines_of, parser, values

from wordvec_ca.corpus import EncodedCorpus, TextOptions, Vocab, encode_corpus
from wordvec_ca.eval import plan, pos_induction, read_tagged
from wordvec_ca.eval.tasks import tagging
from wordvec_ca.eval.tasks.sts import evaluate as judge_sentences
from wordvec_ca.formats import read_fasttext_model
from wordvec_ca.models import EmbeddingModel, TrainConfig
from wordvec_ca.runs import train
from wordvec_ca.tables.published import FITTED, FittedForm, Halves, unit
from wordvec_ca.text import tokenize
from wordvec_ca.vectors import KeyedVectors

TITLE = "Both matrices"

RULE = """
The rule, written before any figure below: a form is **level** in a family if, in the mean over CBOW,
skip-gram and attention and over the seeds (10 M words, 100 dimensions), it is not below W by more than .005.
The default must be level in every family. Of those that are, with as many numbers as W, the one with the
highest mean over the families is taken; a simpler one (in the order input, output, both, both with norms) is
taken instead if it is within .003 of that. The families of the choice: similarity (ws353-sim, rg65, mturk287,
yp130), analogies (Google's, 3CosAdd), categories (ap, purity), tagging (WSJ sample, linear probe), induction
(WSJ sample, V-measure, mean of 3 restarts; these two with one seed), sentiment (SST, SUBJ) and sentences (STS
2012 and 2013, SIF). Held out until the choice was made, and judged only in some forms: ws353-rel,
verb143, essli-2008, MR, TREC, STS 2014 and induction on UD EWT test.
"""

FRONTIER = """
CPU seconds of training alone, one thread, 10 M words, five epochs: text is counted and encoded before, and
vectors are published after. gensim reads the same tokens from a file (`corpus_file`); both of its models have
their best learning rate, .05 ([quality beside gensim](compare-gensim.md)). V: the mean over three restarts,
seed 1.
"""

BIAS = """
A bias learnt in training: input rows have one number more, which begins at 1, beside values of at most
1 / (2 · dimensions); the number of an output row beside it is then a bias of its word, with the learning
rate of all others. It is left out of the vectors. The question was whether output rows as they are then
need no mean taken away, and whether input rows gain.
"""

UNKNOWN = """
Models with n-grams of 3 M words, whose vocabulary leaves out words that occur fewer times than the table
says: pairs of five sets (ws353, rg65, mturk287, yp130, verb143) of which a word is left out, and is made of
n-grams. Scores of people are standardised in each set; Spearman over all pairs together.
"""

MODELS: dict[str, dict[str, Any]] = {
    "cbow": {"model": "cbow"},
    "skipgram": {"model": "skipgram"},
    "cbow-attn": {"model": "cbow-attn"},
    "ssg": {"model": "ssg"},
    "cwindow": {"model": "cwindow"},
    "cbow-attn, parts": {"model": "cbow-attn", "parts": "near:2,far"},
    "cbow, n-grams": {"model": "cbow", "subwords": True},
    "skipgram, n-grams": {"model": "skipgram", "subwords": True},
    "cbow-attn, n-grams": {"model": "cbow-attn", "subwords": True},
    "cbow, learnt bias": {"model": "cbow"},
    "cbow-attn, learnt bias": {"model": "cbow-attn"},
}
GENSIM: dict[str, dict[str, Any]] = {
    "gensim, CBOW": {"sg": 0, "alpha": 0.05},
    "gensim, skip-gram": {"sg": 1, "alpha": 0.05},
}
FASTTEXT = {"fastText, CBOW": "cbow", "fastText, skip-gram": "skipgram"}
"""Models of the program fasttext, with its n-grams -> the program's name for them."""

GLOVE = "GloVe"
"""The published vectors, W + O, of 6,000 M words; the two matrices themselves are not published."""

USUAL = ("cbow", "skipgram", "cbow-attn")

LINES = {1: 15_608, 3: 46_800, 10: 156_003, 30: None}
"""Million words -> lines of the text."""


# ---- the forms ----------------------------------------------------------------------------------------


def components(rows: np.ndarray, size: int) -> np.ndarray:
    """Return the first principal components of rows, fitted on the most frequent words."""
    fitted = rows[:FITTED].astype(np.float64)
    mean = fitted.mean(axis=0)
    vectors = np.linalg.eigh(np.cov(fitted, rowvar=False))[1][:, ::-1][:, :size]
    return ((rows - mean) @ vectors).astype(np.float32)


def centred(rows: np.ndarray) -> np.ndarray:
    """Return rows minus the mean of the most frequent words' rows."""
    return rows - rows[:FITTED].mean(axis=0)


def scaled(rows: np.ndarray) -> np.ndarray:
    """Return centred rows, scaled to mean length one, so that relative norms are kept."""
    rows = centred(rows)
    return rows / np.linalg.norm(rows[:FITTED], axis=1).mean()


def with_norms(vectors: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return vectors multiplied by the lengths of input rows."""
    return vectors * np.linalg.norm(inputs, axis=1, keepdims=True)


def of_library(form: str) -> Callable[[Halves], np.ndarray]:
    """Return the function that makes a form of ``cawv train --vectors``."""
    return lambda halves: FittedForm(form, halves).matrix(halves)


def of_both(weight: float) -> Callable[[Halves], np.ndarray]:
    """Return principal components with another weight of the output rows."""
    return lambda h: components(
        np.hstack([unit(h.inputs), weight * unit(h.outputs.mean(axis=1))]), h.inputs.shape[1]
    )


def bands_beside(halves: Halves) -> np.ndarray:
    """Return components of W and the output rows of all places, each at unit length."""
    bands = [unit(halves.outputs[:, b]) for b in range(halves.outputs.shape[1])]
    weight = 2 / np.sqrt(len(bands))
    return components(
        np.hstack([unit(halves.inputs), *(weight * band for band in bands)]), halves.inputs.shape[1]
    )


def next_bands(halves: Halves) -> Halves:
    """Return W and the output rows of the two places beside the word."""
    middle = halves.outputs.shape[1] // 2
    return Halves(halves.inputs, halves.outputs[:, middle - 1 : middle + 1])


FORMS: dict[str, Callable[[Halves], np.ndarray]] = {
    "input": of_library("input"),
    "output": of_library("output"),
    "both": of_library("both"),
    "output as it is": lambda h: h.outputs.mean(axis=1),
    "input, components": lambda h: components(unit(h.inputs), h.inputs.shape[1]),
    "both, weight 1": of_both(1.0),
    "both, centred before": lambda h: components(
        np.hstack([unit(centred(h.inputs)), 2 * unit(centred(h.outputs.mean(axis=1)))]), h.inputs.shape[1]
    ),
    "both, norms": lambda h: components(
        np.hstack([scaled(h.inputs), 2 * scaled(h.outputs.mean(axis=1))]), h.inputs.shape[1]
    ),
    "both, norms of W": lambda h: with_norms(of_library("both")(h), h.inputs),
    "both, half": lambda h: of_library("both")(h)[:, : h.inputs.shape[1] // 2],
    "both, all places": bands_beside,
    "output, next places": lambda h: of_library("output")(next_bands(h)),
    "both, next places": lambda h: of_library("both")(next_bands(h)),
}
OF_PLACES = ("both, all places", "output, next places", "both, next places")
FIRST = [form for form in FORMS if form not in (*OF_PLACES, "output as it is")]
NEAR_FIRST = ("input", "output", "both", "both, norms", "both, weight 1", "input, components")
FINALISTS = ("input", "output", "both", "input, components")


# ---- cells --------------------------------------------------------------------------------------------


def cells() -> Iterable[tuple[Setting, Sequence[str], bool]]:
    """Yield the cells, the forms that are judged, and whether tagging and induction are judged."""
    yield cell(3, 100, "cbow", 1), FIRST, False
    yield cell(3, 100, "cbow-attn", 1), NEAR_FIRST, False
    yield cell(3, 100, "skipgram", 1), NEAR_FIRST, False
    for model in USUAL:
        yield cell(10, 100, model, 1), FINALISTS, False
    yield cell(10, 100, "cbow-attn", 1), FINALISTS, True
    for seed, model in itertools.product((2, 3), USUAL):
        yield cell(10, 100, model, seed), FINALISTS, False
    for model in ("ssg", "cwindow"):
        yield cell(3, 100, model, 1), ["input", "output", "both", *OF_PLACES], False
    for model in ("cbow", "skipgram"):
        yield cell(10, 100, model, 1), FINALISTS, True
    yield cell(3, 100, "cbow-attn, parts", 1), ["input", "output", "both"], False
    yield cell(30, 100, "cbow-attn", 1), FINALISTS, False
    for size in (50, 300):
        yield cell(10, size, "cbow-attn", 1), FINALISTS, False
    for model in ("cbow", "skipgram"):
        yield cell(10, 50, model, 1), ["input", "both"], False
    yield cell(10, 200, "cbow-attn", 1), ["input", "both"], False
    for seed, model in itertools.product((2, 3), USUAL):
        yield cell(3, 100, model, seed), ["input", "both"], False
    for base in ("cbow", "cbow-attn"):
        for model in (base, f"{base}, learnt bias"):
            yield cell(3, 100, model, 1), ["input", "output", "both", "output as it is"], False
    for size, model in itertools.product((50, 100, 200), USUAL):
        yield cell(10, size, model, 1), ["input", "both"], False
        yield cell(10, size, model, 1), ["input", "both"], True
    for seed in (1, 2, 3):
        yield cell(10, 100, "gensim, CBOW", seed), ["input", "both"], False
    yield cell(10, 100, "gensim, CBOW", 1), ["input", "both"], True
    yield cell(10, 100, "gensim, skip-gram", 1), ["input", "both"], False
    yield cell(10, 100, "gensim, skip-gram", 1), ["input", "both"], True
    for model in MODELS:
        if "n-grams" in model:
            yield cell(3, 100, model, 1), ["input", "output", "both"], False
    yield cell(10, 100, "cbow, n-grams", 1), ["input", "both"], False
    for model in FASTTEXT:
        yield cell(3, 100, model, 1), ["input", "both"], False
    for syntax in (False, True):
        yield cell(6_000, 100, GLOVE, 1), ["input"], syntax
    for model in ("cbow", "skipgram"):
        yield cell(30, 100, model, 1), ["input", "both"], False
    for seed, model in itertools.product((2, 3), USUAL):
        yield cell(30, 100, model, seed), ["input", "both"], False


def cell(words: int, size: int, model: str, seed: int) -> Setting:
    """Return the settings that identify a training."""
    return {"words": words, "size": size, "model": model, "seed": seed}


class Judge:
    """Judges vectors on the sets of the choice, or on those held out.

    Parameters
    ----------
    data : Path
        The folder of evaluation sets.
    """

    def __init__(self, data: Path) -> None:
        names = ["similarity", "analogy", "categorization", "sentiment", "sts"]
        self.jobs = {(job.task, job.dataset): job for job in plan(names, folder=data)[0]}
        self.data = data

    def value(self, vectors: KeyedVectors, task: str, dataset: str) -> float:
        """Return the headline of one set."""
        from wordvec_ca.eval import run

        return float(next(iter(run(vectors, [self.jobs[task, dataset]], workers=1))).value)

    def mean_of(self, vectors: KeyedVectors, task: str, *datasets: str) -> float:
        """Return the mean over some sets of a task."""
        return statistics.mean(self.value(vectors, task, dataset) for dataset in datasets)

    def sentences(self, vectors: KeyedVectors, *datasets: str) -> dict[str, float]:
        """Return Pearson's r of sentence pairs, for SIF and for plain means."""
        readouts = {
            "SIF": {"method": "sif", "attention": False},
            "mean": {"method": "mean", "attention": False},
        }
        reports = [
            judge_sentences(vectors, self.jobs["sts", name].data.read(), readouts=readouts)
            for name in datasets
        ]
        return {name: statistics.mean(one.metrics[name].value for one in reports) for name in readouts}

    def induction(self, vectors: KeyedVectors, name: str, column: int) -> float:
        """Return the mean V-measure of three restarts."""
        corpus = read_tagged(self.data / "pos" / name, tag_column=column)
        induced = pos_induction.evaluate(vectors, corpus, restarts=3, workers=1)
        return statistics.mean(one["v_measure"] for one in induced.details["restarts"])

    def of_choice(self, vectors: KeyedVectors, syntax: bool) -> dict[str, float]:
        """Return the figures for the choice: those of syntax, which take long, or the others."""
        if syntax:
            corpus = tagging.divided(read_tagged(self.data / "pos" / "wsj_sample.tsv", tag_column=2))
            return {
                "tagging": tagging.evaluate(vectors, corpus, sizes=()).value,
                "induction": self.induction(vectors, "wsj_sample.tsv", 2),
            }
        sentences = self.sentences(vectors, "sts2012", "sts2013")
        return {
            "similarity": self.mean_of(vectors, "similarity", "ws353_sim", "rg65", "mturk287", "yp130"),
            "analogies": self.value(vectors, "analogy", "questions-words"),
            "categories": self.value(vectors, "categorization", "ap"),
            "sentiment": self.mean_of(vectors, "sentiment", "sst-binary", "subj"),
            "sentences": sentences["SIF"],
            "sentences, mean": sentences["mean"],
        }

    def held_out(self, vectors: KeyedVectors, syntax: bool) -> dict[str, float]:
        """Return the figures on the sets that the choice did not use."""
        if syntax:
            return {
                "V, EWT test": self.induction(vectors, "ud_ewt.test.tsv", 3),
                "TREC": self.value(vectors, "sentiment", "trec"),
            }
        return {
            "ws353-rel": self.value(vectors, "similarity", "ws353_rel"),
            "verb143": self.value(vectors, "similarity", "verb143"),
            "essli-2008": self.value(vectors, "categorization", "essli-2008"),
            "MR": self.value(vectors, "sentiment", "mr"),
            "STS 2014": self.sentences(vectors, "sts2014")["SIF"],
        }


class Study:
    """Trains cells, each once, and judges their forms.

    Parameters
    ----------
    corpus : Path
    folder : Path
        Where models are kept.
    judge : Judge
    runs : Runs
    """

    def __init__(self, corpus: Path, folder: Path, judge: Judge, runs: Runs) -> None:
        self.corpus, self.folder, self.judge, self.runs = corpus, folder, judge, runs
        self._texts: dict[int, EncodedCorpus] = {}

    def text(self, words: int) -> EncodedCorpus:
        """Return the first words of the text, encoded."""
        if words not in self._texts:
            self._texts.clear()
            self._texts[words] = encode_corpus(
                lines_of(self.corpus, LINES[words]), TextOptions(workers=1), cache_dir=self.folder, keep=True
            )
        return self._texts[words]

    def place(self, setting: Setting) -> Path:
        """Return where the model of a cell is, or will be."""
        words, size, model, seed = (setting[name] for name in ("words", "size", "model", "seed"))
        return self.folder / f"{words}M.{size}.{model.replace(', ', '-').replace(' ', '-')}.{seed}"

    def timed(self, setting: Setting, run: Callable[[], object]) -> None:
        """Train a cell; the log keeps the CPU seconds of the first time."""
        key = {**setting, "form": "", "sets": "training", "syntax": False}

        def trained(_key: Setting) -> dict[str, float]:
            run()
            return {}

        if self.runs.get(key):
            run()
        else:
            self.runs.outcome(key, trained)

    def model(self, setting: Setting) -> EmbeddingModel:
        """Train a cell, or read it."""
        place = self.place(setting)
        if not (place / "config.json").exists():
            options = {**MODELS[setting["model"]], "vector_size": setting["size"], "seed": setting["seed"]}
            text, first = self.text(setting["words"]), None
            if "learnt bias" in setting["model"]:
                options["vector_size"] += 1
                first = place.with_name(f"{place.name}.first.kv")
                self.with_a_one(text.vocab, setting).save(first)
            config = TrainConfig(workers=1, **options)
            self.timed(setting, lambda: train(text, config, output=place, overwrite=True, init_vectors=first))
        return EmbeddingModel.load(place)

    @staticmethod
    def with_a_one(vocab: Vocab, setting: Setting) -> KeyedVectors:
        """Return random input rows, like those with which training begins, with a column of ones."""
        size = setting["size"]
        rows = np.random.default_rng(setting["seed"]).uniform(-0.5 / size, 0.5 / size, (len(vocab), size + 1))
        rows[:, size] = 1
        return KeyedVectors(vocab.words, rows.astype(np.float32), vocab.counts)

    def tokens(self, words: int) -> Path:
        """Return the first words of the text as a file that other programs read."""
        path = self.folder / f"{words}M.tokens.txt"
        if not path.exists():
            lines = lines_of(self.corpus, LINES[words])
            path.write_text("".join(f"{' '.join(tokenize(line))}\n" for line in lines), encoding="utf-8")
        return path

    def of_fasttext(self, setting: Setting) -> tuple[Vocab, Halves]:
        """Train the program fasttext on the same tokens, or read the model that it trained before."""
        place = self.place(setting)
        path = place.with_name(f"{place.name}.bin")
        if not path.exists():
            options = {"dim": setting["size"], "ws": 5, "neg": 5, "epoch": 5, "minCount": 5, "thread": 1}
            command = ["fasttext", FASTTEXT[setting["model"]], "-input", str(self.tokens(setting["words"]))]
            command += ["-output", str(place), "-seed", str(setting["seed"]), "-verbose", "0"]
            command += [text for name, value in options.items() for text in (f"-{name}", str(value))]
            self.timed(setting, lambda: subprocess.run(command, check=True))
        model, vectors = read_fasttext_model(path), KeyedVectors.load(path)
        row_of = {word.decode(): row for row, word in enumerate(model.words)}
        words = [word for word in vectors.index_to_key if word != "</s>"]  # fastText's word for a line's end
        vocab = Vocab(words, model.counts[[row_of[word] for word in words]])
        return vocab, Halves(
            vectors.vectors[[vectors.key_to_index[word] for word in vocab.words]],
            np.asarray(model.outputs)[[row_of[word] for word in vocab.words]][:, None, :],
        )

    def of_gensim(self, setting: Setting) -> tuple[Vocab, Halves]:
        """Train gensim on the same tokens, or read the model that it trained before."""
        from gensim.models import Word2Vec

        place = self.place(setting)
        place = place.with_name(f"{place.name}.npz")
        if not place.exists():
            text = self.tokens(setting["words"])
            options = {**GENSIM[setting["model"]], "vector_size": setting["size"], "seed": setting["seed"]}
            model = Word2Vec(workers=1, window=5, min_count=5, **options)
            model.build_vocab(corpus_file=str(text))

            of_text = {"total_examples": model.corpus_count, "total_words": model.corpus_total_words}
            self.timed(setting, lambda: model.train(corpus_file=str(text), epochs=5, **of_text))
            wv = model.wv
            counts = [wv.get_vecattr(word, "count") for word in wv.index_to_key]
            np.savez(place, words=wv.index_to_key, counts=counts, W=wv.vectors, O=model.syn1neg)
        kept = np.load(place)
        words = kept["words"].tolist()
        vocab = Vocab(words, kept["counts"])
        place_of = {word: row for row, word in enumerate(words)}
        rows = [place_of[word] for word in vocab.words]  # words of equal counts are in another order
        return vocab, Halves(kept["W"][rows], kept["O"][rows][:, None, :])

    def halves(self, setting: Setting) -> tuple[Vocab, Halves, Sequence[Any] | None]:
        """Return the words of a cell, both matrices, and the parts of vectors if there are several."""
        if setting["model"] in GENSIM:
            return *self.of_gensim(setting), None
        if setting["model"] in FASTTEXT:
            return *self.of_fasttext(setting), None
        if setting["model"] == GLOVE:
            glove = KeyedVectors.load(self.judge.data / "vectors" / "glove.6B.100d.100k.txt.xz")
            counts = np.arange(len(glove), 0, -1)  # the file has no counts, but is sorted by them
            return Vocab(glove.index_to_key, counts), Halves(glove.vectors, glove.vectors[:, None]), None
        model = self.model(setting)
        size = setting["size"]
        outputs = model.outputs.reshape(len(model.vocab), -1, model.inputs.shape[1])[:, :, :size]
        rings = None if model.config.parts is None else model.config.rings()
        return model.vocab, Halves(model.inputs[:, :size], outputs), rings

    def judge_cell(self, setting: Setting, forms: Sequence[str], syntax: bool, sets: str) -> None:
        """Judge the forms of a cell that are not in the log."""
        keys = [{**setting, "form": form, "sets": sets, "syntax": syntax} for form in forms]
        if all(self.runs.get(key) for key in keys) or time.monotonic() > self.runs.deadline:
            return
        in_form = self.vectors(setting)
        judge = self.judge.of_choice if sets == "choice" else self.judge.held_out
        for key in keys:
            self.runs.outcome(key, lambda key: judge(in_form(key["form"]), syntax))

    def vectors(self, setting: Setting) -> Callable[[str], KeyedVectors]:
        """Return a function that makes the vectors of a cell in a form."""
        if MODELS.get(setting["model"], {}).get("subwords"):  # only the library makes unknown words
            self.model(setting)
            return lambda form: KeyedVectors.load(self.place(setting), vectors=form)
        vocab, halves, rings = self.halves(setting)
        return lambda form: KeyedVectors(vocab.words, self.made(halves, form, rings), vocab.counts)

    @staticmethod
    def made(halves: Halves, form: str, rings: Sequence[Any] | None) -> np.ndarray:
        """Return the vectors of a form; for a model in parts, the form of each part."""
        if rings is None:
            return FORMS[form](halves)
        return np.hstack([FORMS[form](halves.columns(part.columns)) for part in rings])


def time_training(study: Study, runs: Runs) -> None:
    """Train the cells of the table of costs whose time is not in the log."""
    for model, size in itertools.product(USUAL, (50, 100, 200)):
        setting = cell(10, size, model, 1)
        if not runs.get({**setting, "form": "", "sets": "training", "syntax": False}):
            study.model(setting)


# ---- why ----------------------------------------------------------------------------------------------


def reasons(model: EmbeddingModel) -> dict[str, float]:
    """Return what the two matrices of a model have in common, over the most frequent words."""
    inputs, outputs = (
        rows[:FITTED].astype(np.float64) for rows in (model.halves.inputs, model.halves.outputs[:, 0])
    )

    def common(rows: np.ndarray) -> float:
        """Return the length of the mean row, as a share of the mean length of rows."""
        return float(np.linalg.norm(rows.mean(axis=0)) / np.linalg.norm(rows, axis=1).mean())

    def whitened(rows: np.ndarray) -> np.ndarray:
        left: np.ndarray = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[0]
        return left

    of_pairs = np.linalg.svd(whitened(unit(inputs)).T @ whitened(unit(outputs)), compute_uv=False)
    centre = outputs.mean(axis=0)
    return {
        "mean of W": common(inputs),
        "mean of O": common(outputs),
        "product with the mean of O": float((inputs @ centre).mean()),
        "canonical correlation, first": float(of_pairs[0]),
        "canonical correlation, median": float(np.median(of_pairs)),
        "canonical correlation, last": float(of_pairs[-1]),
    }


def judge_reasons(study: Study, runs: Runs) -> None:
    """Measure what the two matrices of the models of 10 M words have in common."""
    for model in USUAL:
        key = {**cell(10, 100, model, 1), "form": "input", "sets": "why", "syntax": False}
        runs.outcome(key, lambda key: reasons(study.model(key)))


# ---- unknown words ------------------------------------------------------------------------------------


def judge_unknown(study: Study, options: Any, runs: Runs) -> None:
    """Judge pairs with one or both words taken out of the vocabulary, so that n-grams make their vectors."""
    from scipy.stats import spearmanr

    names = ("ws353", "rg65", "mturk287", "yp130", "verb143")
    text = study.text(3)

    def run(key: Setting) -> dict[str, float]:
        place = study.folder / f"unknown.{key['model']}.{key['least']}"
        if not (place / "config.json").exists():
            words = [
                word for word, n in zip(text.vocab.words, text.vocab.counts, strict=True) if n >= key["least"]
            ]
            vocab = Vocab(words, text.vocab.counts[: len(words)])
            config = TrainConfig(model=key["model"], subwords=True, workers=1)
            train(lines_of(study.corpus, LINES[3]), config, vocab=vocab, output=place, overwrite=True)
        vectors = KeyedVectors.load(place, vectors=key["form"])
        people: list[float] = []
        cosines: list[float] = []
        for name in names:
            pairs = [line.split("\t") for line in lines_of(options.data / "wordsim" / f"{name}.tsv")]
            rows = [(a.lower(), b.lower(), float(score)) for a, b, score in pairs]
            spread = [score for _, _, score in rows]
            for a, b, score in rows:
                unknown = a not in vectors.key_to_index or b not in vectors.key_to_index
                if unknown and a in vectors and b in vectors:
                    people.append((score - statistics.mean(spread)) / statistics.stdev(spread))
                    cosines.append(vectors.similarity(a, b))
        return {"pairs": len(people), "Spearman": float(spearmanr(people, cosines).statistic)}

    for model, least in itertools.product(("cbow", "skipgram"), (100, 30)):
        for form in ("input", "output", "both"):
            key = {**cell(3, 100, model, 1), "least": least, "form": form, "sets": "unknown", "syntax": False}
            runs.outcome(key, run)


# ---- the page -----------------------------------------------------------------------------------------


def found(runs: Runs, sets: str, **facts: Any) -> dict[str, dict[str, list[float]]]:
    """Return form -> family -> values, for the runs with these settings."""
    result: dict[str, dict[str, list[float]]] = {}
    for record in runs.done.values():
        setting = record["setting"]
        if setting["sets"] == sets and all(
            setting[name] in value if isinstance(value, tuple) else setting[name] == value
            for name, value in facts.items()
        ):
            for name, value in record.items():
                if name not in ("setting", "seconds", "cpu_seconds"):
                    result.setdefault(setting["form"], {}).setdefault(name, []).append(value)
    return result


def add_table(page: Page, title: str, runs: Runs, sets: str, **facts: Any) -> None:
    """Add a table with a row for each form, the mean of the runs in each cell."""
    rows = found(runs, sets, **facts)
    if not rows:
        return
    most = {form: max(map(len, of_form.values())) for form, of_form in rows.items()}
    if isinstance(facts["model"], tuple):  # means over different models are not comparable
        rows = {form: of_form for form, of_form in rows.items() if most[form] == max(most.values())}
    names = list(dict.fromkeys(name for of_form in rows.values() for name in of_form))
    body = []
    for form in [form for form in FORMS if form in rows]:
        of_form = rows[form]
        figures = [f"{statistics.mean(of_form[name]):.3f}" if name in of_form else "" for name in names]
        body.append([form, most[form], *figures])
    page.text(f"### {title}")
    page.table(["vectors", "runs", *names], body)


def frontier(runs: Runs) -> tuple[list[str], list[list[Any]]]:
    """Return head and rows of the table of costs: recipes on 10 M words, with both kinds of vectors."""
    families = ("similarity", "analogies", "sentences", "tagging", "induction")
    rows = []
    for model, size in itertools.product((*USUAL, *GENSIM), (50, 100, 200)):
        setting = cell(10, size, model, 1)
        training = runs.get({**setting, "form": "", "sets": "training", "syntax": False})
        for form in ("input", "both"):
            figures: dict[str, float] = {}
            for syntax in (False, True):
                figures |= runs.get({**setting, "form": form, "sets": "choice", "syntax": syntax}) or {}
            if training and figures:
                values = [f"{figures[name]:.3f}" if name in figures else "" for name in families]
                rows.append([model, size, form, f"{training['cpu_seconds']:.0f}", *values])
    return ["model", "dimensions", "vectors", "CPU s", *families[:-1], "V"], rows


def write(page: Page, runs: Runs) -> None:
    """Write the page."""
    page.text(RULE.strip().replace("\n", " "), runs.summary())
    for sets, heading in (("choice", "## The choice"), ("held out", "## Held out")):
        page.text(heading)
        for words, size in ((3, 100), (10, 100), (10, 50), (10, 200), (10, 300), (30, 100), (6_000, 100)):
            several = {"words": words, "size": size}
            of_text = f"{words} M words, {size} dimensions"
            add_table(page, f"{of_text}: CBOW, skip-gram, attention", runs, sets, model=USUAL, **several)
            for model in (*MODELS, *GENSIM, *FASTTEXT, GLOVE):
                add_table(page, f"{of_text}: {model}", runs, sets, model=model, **several)
    page.text("## What training costs, and what it gives", FRONTIER.strip().replace("\n", " "))
    page.table(*frontier(runs))
    page.text("## A learnt bias", BIAS.strip().replace("\n", " "))
    page.text("Its tables are those named *learnt bias* above.")
    page.text("## What the matrices have in common")
    for model in USUAL:
        add_table(
            page, f"10 M words, 100 dimensions, the 20,000 most frequent: {model}", runs, "why", model=model
        )
    rows = [
        (
            r["setting"]["model"],
            r["setting"]["least"],
            r["setting"]["form"],
            r["pairs"],
            f"{r['Spearman']:.3f}",
        )
        for r in runs.done.values()
        if r["setting"]["sets"] == "unknown"
    ]
    if rows:
        page.text("## Unknown words", UNKNOWN)
        page.table(("model", "known words occur", "vectors", "pairs", "Spearman"), rows)
    page.write()


def main() -> None:
    """Do the runs that are not finished, then write the page."""
    arguments = parser(__doc__, "both-halves", log="both-halves.jsonl", data=True)
    arguments.add_argument("corpus", type=Path, nargs="?", help="wiki.30M.txt")
    arguments.add_argument("--folder", type=Path, default=Path("both-halves"), help="for models")
    arguments.add_argument("--words", default="3,10,30", help="million words, comma-separated")
    arguments.add_argument(
        "--held-out", action="store_true", help="judge the sets that the choice does not see"
    )
    arguments.add_argument(
        "--others", action="store_true", help="unknown words, and what the matrices have in common"
    )
    arguments.add_argument("--report", action="store_true", help="only write the page")
    options = arguments.parse_args()
    runs = Runs(options.log, options.minutes)
    if not options.report:
        options.folder.mkdir(parents=True, exist_ok=True)
        study = Study(options.corpus, options.folder, Judge(options.data), runs)
        if options.others:
            judge_reasons(study, runs)
            judge_unknown(study, options, runs)
        if 10 in values(options.words, int) and not options.others:
            time_training(study, runs)
        for setting, forms, syntax in [] if options.others else cells():
            if setting["words"] in values(options.words, int):
                if options.held_out:
                    if setting["words"] == 10 and setting["size"] == 100:
                        study.judge_cell(setting, ["input", "both"], syntax, "held out")
                else:
                    study.judge_cell(setting, forms, syntax, "choice")
    write(Page(options.page, TITLE), runs)


if __name__ == "__main__":
    main()
