r"""Document vectors: quality for classifiers, inference, speed beside gensim's, attention to the document.

    python scripts/quality/documents.py --data DATA

IMDB: all 25,000 labelled training reviews are documents; a logistic regression learns from the trained
vectors of 20,000 and is judged on the other 5,000 (three splits for each seed, the same for gensim's models).
A second model is trained on only 20,000 reviews, and the vectors of the other 5,000 are inferred. TREC: the
model is trained on the training questions and judged on the test questions, whose vectors are inferred. SUBJ:
ten folds of trained vectors.
"""

from __future__ import annotations

import argparse
import functools
import json
import lzma
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Page, interval, parser, say

MODELS = ("pv-dbow", "pv-dm", "pv-dm-attn")
GENSIM: dict[str, dict[str, Any]] = {
    "gensim, dm=0": {"dm": 0, "alpha": 0.05},
    "gensim, dm=1": {"dm": 1, "window": 5, "alpha": 0.05},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "imdb": {"epochs": 10, "min_count": 2, "sample": 1e-4},
    "trec": {"epochs": 40, "min_count": 1, "sample": 1e-3},
    "subj": {"epochs": 40, "min_count": 1, "sample": 1e-3},
}
"""Settings, fixed before any result: those of gensim's figures for IMDB, more epochs for short texts."""

SEEDS = (1, 2, 3)
SPEED_WORDS = 1_500_000
"""Words of the text on which speed is compared."""

FUNCTION_WORDS = {
    *("the", "of", "and", "a", "to", "in", "that", "it", "is", "was", "for", "on", "with", "as", "at", "by"),
    *("this", "but", "from", "or", "an", "be", "are"),
}


@functools.cache
def texts_of(data: Path, name: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return labels and texts of each part of a set."""
    from wordvec_ca.text import tokenize

    def tokens(text: str) -> str:
        return " ".join(tokenize(text.replace("<br />", " "), "words", lowercase=True))

    folder, found = data / "sentences" / name, {}
    if name == "imdb":
        labels, texts = [], []
        for label in ("neg", "pos"):
            with lzma.open(folder / f"train.{label}.tsv.xz", "rt", encoding="utf-8", newline="\n") as file:
                for line in file:
                    labels.append(label)
                    texts.append(tokens(line.rstrip("\n").split("\t")[-1]))
        order = np.random.default_rng(0).permutation(len(labels))
        return {"train": ([labels[i] for i in order], [texts[i] for i in order])}
    parts = {"train": "train.tsv", "test": "test.tsv"} if name == "trec" else {"train": "all.tsv"}
    for part, file_name in parts.items():
        lines = (folder / file_name).read_text("utf-8").split("\n")
        pairs = [line.split("\t", 1) for line in lines if line]
        order = np.random.default_rng(0).permutation(len(pairs))
        found[part] = [pairs[i][0] for i in order], [tokens(pairs[i][1]) for i in order]
    return found


def classifier() -> Any:
    """Return a logistic regression on standardised vectors."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))


def accuracy(rows: np.ndarray, labels: list[str], seed: int, name: str) -> float:
    """Return the accuracy of a classifier on trained vectors: three splits of 80 to 20, or ten folds."""
    from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score

    kind = ShuffleSplit if name == "imdb" else KFold
    how = {"n_splits": 3, "test_size": 0.2} if name == "imdb" else {"n_splits": 10, "shuffle": True}
    folds = kind(random_state=seed, **how)
    return float(cross_val_score(classifier(), rows, np.array(labels), cv=folds).mean())


def cosines(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean cosine of rows."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(((a * b).sum(1)[lengths > 0] / lengths[lengths > 0]).mean())


def judged(data: Path, name: str, model: str, seed: int, folder: Path) -> dict[str, float]:
    """Train a model and return its figures."""
    from wordvec_ca import TrainConfig, train
    from wordvec_ca.documents import DocumentVectorizer

    parts = texts_of(data, name)
    labels, texts = parts["train"]
    path = folder / f"{name}.txt"
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    options = {"vector_size": 100, "workers": 1, "seed": seed, "tokenizer": "whitespace", **SETTINGS[name]}
    made = train(path, TrainConfig(model=model, **options))
    assert made.documents is not None
    rows = np.array(made.documents.rows[:, :100])
    found: dict[str, float] = {}
    vectorizer = DocumentVectorizer(made, threads=1)
    some = texts[:500]
    began = time.process_time()
    inferred = vectorizer.transform(some)
    found["inferred a second"] = len(some) / (time.process_time() - began)
    found["cosine"] = cosines(inferred, rows[: len(some)])
    if "test" in parts:
        fitted = classifier().fit(rows, labels)
        found["accuracy"] = float(fitted.score(vectorizer.transform(parts["test"][1]), parts["test"][0]))
        also = classifier().fit(vectorizer.transform(texts), labels)
        found["accuracy, all inferred"] = float(
            also.score(vectorizer.transform(parts["test"][1]), parts["test"][0])
        )
    else:
        found["accuracy"] = accuracy(rows, labels, seed, name)
    if name == "imdb":
        n = len(texts) * 4 // 5
        path = folder / "some.txt"
        path.write_text("".join(f"{text}\n" for text in texts[:n]), encoding="utf-8")
        of_some = train(path, TrainConfig(model=model, **options))
        assert of_some.documents is not None
        fitted = classifier().fit(np.array(of_some.documents.rows[:, :100]), labels[:n])
        unseen = DocumentVectorizer(of_some, threads=1).transform(texts[n:])
        found["accuracy, inferred"] = float(fitted.score(unseen, labels[n:]))
    if model == "pv-dm-attn" and seed == SEEDS[0]:
        made.save(folder / f"{name}-attn", overwrite=True)
    return found


def judged_gensim(data: Path, model: str, seed: int, folder: Path) -> dict[str, float]:
    """Train a model of gensim's on IMDB and return its figures."""
    from gensim.models.doc2vec import Doc2Vec

    labels, texts = texts_of(data, "imdb")["train"]
    path = folder / "imdb.txt"
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    made = Doc2Vec(
        corpus_file=str(path), vector_size=100, workers=1, seed=seed, **SETTINGS["imdb"], **GENSIM[model]
    )
    some = [text.split() for text in texts[:500]]
    began = time.process_time()
    inferred = np.array([made.infer_vector(words) for words in some])
    return {
        "inferred a second": len(some) / (time.process_time() - began),
        "cosine": cosines(inferred, made.dv.vectors[: len(some)]),
        "accuracy": accuracy(made.dv.vectors, labels, seed, "imdb"),
    }


def weights_of_document(
    folder: Path, path: Path, n_lines: int = 400
) -> tuple[list[tuple[str, int, float]], np.ndarray]:
    """Return count and mean weight of the document for each frequent target, and mean weights of places."""
    from wordvec_ca.models import EmbeddingModel

    model = EmbeddingModel.load(folder)
    config, index = model.config, model.vocab.index
    assert model.documents is not None
    window, logits, slots = int(config.window or 10), model.word_logits, model.slot_logits[0]
    sums: dict[int, list[float]] = {}
    places = np.zeros(2 * window + 1)
    n = 0
    for number, line in enumerate(path.read_text("utf-8").split("\n")[:n_lines]):
        ids = np.array([index[word] for word in line.split() if word in index], np.int64)
        for target in range(len(ids)):
            offsets = np.array(
                [o for o in (*range(-window, 0), *range(1, window + 1)) if 0 <= target + o < len(ids)], int
            )
            slot = offsets + window - (offsets > 0)
            e = np.append(
                logits[ids[target + offsets], slot] + slots[slot],
                slots[2 * window] + model.documents.logits[number],
            )
            shares = np.exp(np.clip(e, -10, 10))
            shares /= shares.sum()
            sums.setdefault(int(ids[target]), []).append(float(shares[-1]))
            places[np.append(slot, 2 * window)] += shares
            n += 1
    words = [
        (model.vocab.words[row], len(found), float(np.mean(found)))
        for row, found in sums.items()
        if len(found) >= 20
    ]
    return sorted(words, key=lambda one: one[2]), places / n


def drawn(words: list[tuple[str, int, float]], places: np.ndarray) -> Any:
    """Return a figure of the weight of the document, by target, and of the weights of the window's places."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    window = len(places) // 2
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    offsets = [*range(-window, 0), *range(1, window + 1)]
    left.bar(offsets, places[:-1], color="#4477aa", label="words around the target")
    left.bar([window + 2], places[-1:], color="#228833", label="document")
    left.set_xlabel("place")
    left.set_ylabel("mean attention weight")
    left.legend(frameon=False)
    colours = ("#4477aa", "#ee6677")
    for (name, group), colour in zip(groups_of(words).items(), colours, strict=True):
        right.scatter([one[1] for one in group], [one[2] for one in group], s=8, color=colour, label=name)
    right.set_xscale("log")
    right.set_xlabel("occurrences of the target in 400 reviews")
    right.set_ylabel("mean weight of the document")
    right.set_ylim(0, 1)
    right.legend(frameon=False)
    return figure


def speeds(data: Path, folder: Path, rounds: int) -> Iterator[tuple[str, str, float, float]]:
    """Yield the model, what was measured, and the figures of ours and of gensim, in alternation."""
    from gensim.models.doc2vec import Doc2Vec as Theirs

    from wordvec_ca.gensim.models.doc2vec import Doc2Vec as Ours

    _, texts = texts_of(data, "imdb")["train"]
    kept, n_words = [], 0
    for text in texts:
        kept.append(text)
        n_words += len(text.split())
        if n_words > SPEED_WORDS:
            break
    path = folder / "speed.txt"
    path.write_text("".join(f"{text}\n" for text in kept), encoding="utf-8")
    some = [text.split() for text in texts[-200:]]
    for model, kind in (("pv-dbow", {"dm": 0}), ("pv-dm", {"dm": 1, "window": 5})):
        figures: dict[str, list[list[float]]] = {"training": [[], []], "inference": [[], []]}
        for _ in range(rounds):
            for which, owner in enumerate((Ours, Theirs)):
                options = {
                    "vector_size": 100,
                    "workers": 1,
                    "min_count": 2,
                    "sample": 0,
                    "negative": 5,
                    "epochs": 2,
                }
                made = owner(**options, **kind)
                made.build_vocab(corpus_file=str(path))
                began = time.process_time()
                made.train(
                    corpus_file=str(path),
                    total_words=made.corpus_total_words,
                    total_examples=len(kept),
                    epochs=2,
                )
                figures["training"][which].append(2 * n_words / (time.process_time() - began))
                began = time.process_time()
                if owner is Ours:
                    made.infer_vector(some, epochs=10)
                else:
                    for words in some:
                        made.infer_vector(words, epochs=10)
                figures["inference"][which].append(len(some) / (time.process_time() - began))
        for what, (ours, theirs) in figures.items():
            yield model, what, statistics.median(ours), statistics.median(theirs)


def main() -> None:
    """Measure."""
    asked = parser(__doc__, "documents")
    asked.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    asked.add_argument("--rounds", type=int, default=3, help="of the comparison of speed")
    asked.add_argument("--seeds", type=int, default=len(SEEDS), help="how many seeds")
    asked.add_argument(
        "--log", type=Path, default=Path("build/documents.json"), help="what was measured so far"
    )
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    options.log.parent.mkdir(parents=True, exist_ok=True)
    log: dict[str, Any] = json.loads(options.log.read_text()) if options.log.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "speed" not in log:
            log["speed"] = [list(one) for one in speeds(options.data, folder, options.rounds)]
            options.log.write_text(json.dumps(log, indent=1))
        for seed in SEEDS[: options.seeds]:
            for data_set in ("trec", "subj", "imdb"):
                for model in MODELS:
                    key = f"{data_set} {model} {seed}"
                    if key not in log:
                        log[key] = judged(options.data, data_set, model, seed, folder)
                        say(f"{key}: {log[key]}")
                        if model == "pv-dm-attn" and seed == 1:
                            words, places = weights_of_document(
                                folder / f"{data_set}-attn", folder / f"{data_set}.txt"
                            )
                            log[f"weights {data_set}"] = {"words": words, "places": places.tolist()}
                        options.log.write_text(json.dumps(log, indent=1))
            for model in GENSIM:
                key = f"imdb {model} {seed}"
                if key not in log:
                    log[key] = judged_gensim(options.data, model, seed, folder)
                    say(f"{key}: {log[key]}")
                    options.log.write_text(json.dumps(log, indent=1))
    write(options, log)


def groups_of(words: list[tuple[str, int, float]]) -> dict[str, list[tuple[str, int, float]]]:
    """Return the targets that are function words, and those of four letters or more that are not."""
    return {
        "function words": [one for one in words if one[0] in FUNCTION_WORDS],
        "other words of four letters or more": [
            one for one in words if one[0] not in FUNCTION_WORDS and one[0].isalpha() and len(one[0]) > 3
        ],
    }


def write(options: argparse.Namespace, log: dict[str, Any]) -> None:
    """Write the page and the picture."""
    page = Page(options.page, "Vectors of documents")
    page.text(
        "100 dimensions, 5 negatives, one thread; IMDB: 10 epochs, `min_count` 2, `sample` 1e-4; TREC and "
        "SUBJ: 40 epochs, `min_count` 1, `sample` 1e-3. Mean and 95 % interval over seeds; gensim 4.4 with "
        "these settings and `alpha` .05. *Inferred*: trained on 20,000 reviews, the accuracy on 5,000 whose "
        "vectors are inferred; of TREC all test questions are. Inference: as many passes as training has, "
        "one thread; the cosine is that of a training text's inferred and trained vectors."
    )
    rows = []
    for data_set in SETTINGS:
        for model in (*MODELS, *GENSIM):
            found = [
                log[f"{data_set} {model} {seed}"] for seed in SEEDS if f"{data_set} {model} {seed}" in log
            ]
            if found:
                of_inferred = "accuracy" if data_set == "trec" else "accuracy, inferred"
                cells = [
                    interval([one["accuracy"] for one in found], 3),
                    interval([one[of_inferred] for one in found], 3) if of_inferred in found[0] else "",
                    interval([one["cosine"] for one in found], 3),
                ]
                speed = statistics.median(one["inferred a second"] for one in found)
                rows.append([data_set.upper(), model, len(found), *cells, f"{speed:,.0f}"])
    page.table(("set", "model", "seeds", "accuracy", "inferred", "cosine", "inferred a CPU second"), rows)
    page.text(
        "Speed beside gensim, one thread, in alternation, median of rounds, processor seconds: training on "
        f"{SPEED_WORDS:,} words of reviews, `sample` 0, 5 negatives, and inference of 200 reviews with 10 "
        "passes. Both through gensim's names."
    )
    page.table(
        ("model", "what", "ours", "gensim", "ratio"),
        [
            [model, f"{what}, {'words' if what == 'training' else 'documents'} a second"]
            + [f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f}"]
            for model, what, ours, theirs in log["speed"]
        ],
    )
    for data_set in SETTINGS:
        if f"weights {data_set}" not in log:
            continue
        words, places = log[f"weights {data_set}"]["words"], np.array(log[f"weights {data_set}"]["places"])
        page.text(f"Attention to the document in `pv-dm-attn` on {data_set.upper()}, 400 documents, seed 1:")
        rows = []
        for name, group in groups_of(words).items():
            total = sum(one[1] for one in group)
            if total:
                mean = sum(one[1] * one[2] for one in group) / total
                shown = ", ".join(f"{one[0]} {one[2]:.3f}" for one in (group[-1:-6:-1]))
                rows.append([name, len(group), f"{mean:.4f}", shown])
        page.table(("targets", "n", "mean weight of the document", "highest"), rows)
        if data_set == "imdb":
            caption = "Weight of the document beside the places of the window, and by target, in 400 reviews"
            page.figure(drawn(words, places), "weight", caption)
    page.write()


if __name__ == "__main__":
    main()
