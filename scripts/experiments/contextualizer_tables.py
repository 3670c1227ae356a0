"""The Contextualizer on sentence classification (Maupomé & Meurs 2021, tables 2 to 4).

Models are judged by stratified 5-fold cross-validation with the same folds for all; the epoch is chosen on 10
% of each training fold. One model is a logistic regression on bags of words, a baseline that the paper does
not have. Frozen vectors of our own skip-gram, trained here, are compared with random ones of the same size.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from layers import bag_of_words, study_of_layers
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from study import Page, data_files, interval, progress

from wordvec_ca import TrainConfig, train
from wordvec_ca.nn import ContextualizerClassifier
from wordvec_ca.vectors import KeyedVectors


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return texts and labels of a file of lines "label TAB text"."""
    with open(path, encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    return np.array([row[1] for row in rows], dtype=object), np.array([row[0] for row in rows])


def without_duplicates(texts: np.ndarray) -> np.ndarray:
    """Return the positions of texts whose words (case and punctuation aside) did not occur before."""
    seen: dict[str, int] = {}
    for number, text in enumerate(texts):
        seen.setdefault(" ".join(re.findall(r"\w+", text.lower())), number)
    return np.array(list(seen.values()))


class MeanVector(BaseEstimator):
    """Mean of the vectors of a document's words, then logistic regression."""

    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    def means(self, texts: np.ndarray) -> np.ndarray:
        """Return one row for each text, zeros if no word of it has a vector."""
        rows = []
        for text in texts:
            found = [
                self.vectors.key_to_index[w] for w in text.lower().split() if w in self.vectors.key_to_index
            ]
            rows.append(self.vectors.vectors[found].mean(0) if found else np.zeros(self.vectors.vector_size))
        return np.array(rows)

    def fit(self, texts: np.ndarray, labels: np.ndarray) -> MeanVector:
        """Train the regression."""
        self.model_ = LogisticRegression(C=10.0, max_iter=1000).fit(self.means(texts), labels)
        return self

    def score(self, texts: np.ndarray, labels: np.ndarray) -> float:
        """Return the accuracy."""
        return self.model_.score(self.means(texts), labels)


def cross_validate(
    model: Any, texts: np.ndarray, labels: np.ndarray, seed: int, folds: int = 5
) -> tuple[list[float], str]:
    """Return the accuracies on the first ``folds`` of five folds; with a random context, also those if a new
    one is drawn for each test document.
    """
    scores, redrawn = [], []
    splits = StratifiedKFold(5, shuffle=True, random_state=seed).split(texts, labels)
    for chosen, test in itertools.islice(splits, folds):
        fitted = clone(model).fit(texts[chosen], labels[chosen])
        scores.append(fitted.score(texts[test], labels[test]))
        if getattr(model, "default_context", None) == "random":
            redrawn.append(np.mean(redrawn_predictions(fitted, texts[test]) == labels[test]))
    return scores, interval(redrawn, 1, 100) if redrawn else "-"


def redrawn_predictions(model: ContextualizerClassifier, texts: np.ndarray) -> np.ndarray:
    """Return predictions from a new random context for each document, as in training."""
    torch.manual_seed(0)
    encode = model.module_.encoder.forward
    model.module_.encoder.forward = lambda tokens, mask: encode(
        tokens, mask, torch.rand(len(tokens), tokens.shape[-1]) * 2 - 1
    )
    predictions = model.predict(texts)
    del model.module_.encoder.forward
    return predictions


def publish(report: Page, rows: list[tuple[str, ...]], models: int, options: Any, sentences: int) -> None:
    """Write the results so far, so that a run that is stopped keeps the models that it has finished."""
    report.parts.clear()
    report.text(
        "Accuracy in %, mean ± 95 % interval over five folds (the folds share training data: the interval "
        "is a rough one). MR here is without the sentences of SST's test set: "
        f"{sentences:,} of 10,662. Random word vectors of 500 and positions of 20 unless said, "
        "words of 4 or more occurrences, Adam at 0.001, at most 10 epochs"
        f"{'' if options.full else ' (ended after 2 without progress)'}. "
        "A random default context is redrawn for each document in training and fixed in testing; “context "
        "redrawn”: in testing as well, as in the paper. "
        "“De-duplicated”: without texts that repeat another's words."
    )
    report.table(["set", "model", "accuracy", "context redrawn", "de-duplicated", "paper"], rows)
    report.write(len(rows) == models)


def more_options(asked: argparse.ArgumentParser) -> None:
    what = "vectors, frozen [a skip-gram trained here on the text of --data]"
    asked.add_argument("--vectors", type=Path, help=what)


def main() -> None:
    title = "Contextualizer: sentence classification"
    arguments, _, report = study_of_layers(__doc__, "contextualizer", title, add=more_options, data=True)
    mr, subj = data_files(arguments.data, "sentences/mr/all.tsv", "sentences/subj/all.tsv")
    # not in the usual data: label TAB text, made of custrev.all and mpqa.all of harvardnlp/sent-conv-torch
    more = {"CR": mr.parents[1] / "custrev.tsv", "MPQA": mr.parents[1] / "mpqa.tsv"}
    if arguments.vectors:
        keyed, origin = KeyedVectors.load(arguments.vectors), arguments.vectors.name
    else:
        (corpus,) = data_files(arguments.data, "corpora/wiki.30M.txt.xz")
        print("training a skip-gram", file=sys.stderr, flush=True)
        config = TrainConfig(model="skipgram", epochs=1, workers=arguments.threads)
        keyed, origin = train(corpus, config).vectors, "cawv skip-gram"
    # Two epochs without progress end a run. With --full, as in the paper, ten are run and the best is kept.
    plain = ContextualizerClassifier(
        tokenizer="whitespace", patience=None if arguments.full else 2, random_state=arguments.seed
    )
    learned = clone(plain).set_params(word_dim=250, train_vectors=True)
    paper = {
        ("random", True): {1: "57.9", 5: "72.4", 10: "72.8", 20: "72.3"},
        ("random", False): {1: "57.8", 5: "70.7", 10: "72.1", 20: "71.4"},
        ("ones", True): {1: "73.1", 5: "71.2"},
        ("learned", True): {1: "73.5", 5: "72.2"},
    }

    def contextualizer(k: int, recurrent: bool, context: str, *how: Any) -> tuple[Any, ...]:
        model = clone(plain).set_params(num_steps=k, recurrent=recurrent, default_context=context)
        name = f"K={k}, {'recurrent' if recurrent else 'regular'}, {context} context"
        return ("MR", name, model, paper[context, recurrent][k], *how)

    def with_words(data: str, target: str, *how: Any) -> list[tuple[Any, ...]]:
        name = "bag of words, L2 logistic regression"
        return [
            (data, name, bag_of_words(), "", 5, True),
            (data, "K=5, vectors of 250 learned", learned, target, *how),
        ]

    size, few = f"{keyed.vector_size}-d", 5 if arguments.full else 1
    frozen, random = (
        clone(plain).set_params(vectors=keyed),
        clone(plain).set_params(word_dim=keyed.vector_size),
    )
    # set, name, model, the paper's accuracy, folds (5), whether to run it without duplicates too
    rows_asked: list[tuple[Any, ...]] = [
        *with_words("MR", "76.6"),
        contextualizer(1, True, "random", 5, True),
        contextualizer(5, True, "random"),
        ("MR", f"K=5, {origin}, {size}, frozen", frozen, "", 5, True),
        ("MR", f"K=5, random vectors, {size}", random, ""),
        ("MR", f"mean of the {origin} vectors, logistic regression", MeanVector(keyed), "", 5, True),
        *with_words("SUBJ", "91.2"),
        contextualizer(1, True, "ones"),
        contextualizer(1, True, "learned"),
        *(contextualizer(5, True, context, few) for context in ("ones", "learned")),
        *(contextualizer(k, True, "random", few) for k in (10, 20)),
        *(contextualizer(k, False, "random", few) for k in (1, 5, 10, 20)),
    ]
    for data, target in (("CR", "79.0"), ("MPQA", "85.3")):
        rows_asked += with_words(data, target, few) if more[data].exists() else []
    usual = (5, arguments.full)
    jobs = [(*job, *usual[len(job) - 4 :]) for job in rows_asked]
    jobs = [job for job in jobs if re.search(arguments.only, f"{job[0]}, {job[1]}")]
    sets = {name: read(path) for name, path in {"MR": mr, "SUBJ": subj, **more}.items() if path.exists()}
    rows = []
    for number, (data, name, model, target, folds, twice) in enumerate(jobs):
        texts, labels = sets[data]
        scores, redrawn = cross_validate(model, texts, labels, arguments.seed, folds)
        kept = without_duplicates(texts)
        again = f"not run ({len(texts) - len(kept)} texts fewer)" if len(kept) < len(texts) else "same"
        if twice and len(kept) < len(texts):
            again = interval(
                cross_validate(model, texts[kept], labels[kept], arguments.seed, folds)[0], 1, 100
            )
        accuracy = interval(scores, 1, 100) + (" (one fold)" if folds == 1 else "")
        rows.append((data, name, accuracy, redrawn, again, target))
        publish(report, rows, len(jobs), arguments, len(sets["MR"][0]))
        progress(number + 1, len(jobs), f"{data}, {name}: {accuracy} (paper {target or '-'})")


if __name__ == "__main__":
    main()
