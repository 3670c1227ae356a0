"""Frozen trained vectors against random ones as the Contextualizer's input, as they are and at equal scale.

All vectors have 100 dimensions and are judged on the same stratified folds of film reviews (MR), with K = 5,
and once more with only a tenth of each training fold. The paper uses only random vectors, drawn from U(-1,
1). The vectors of our skip-gram are shorter, so one row of the table has them scaled to the size of random
ones.
"""

from __future__ import annotations

import sys
from typing import Any

import extra  # noqa: F401
import numpy as np
import torch
from contextualizer_tables import MeanVector, read
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from study import Page, data_files, interval, parser, progress

from wordvec_ca import TrainConfig, train
from wordvec_ca.nn import ContextualizerClassifier
from wordvec_ca.vectors import KeyedVectors

RANDOM_SIZE = 3**-0.5
"""Standard deviation of U(-1, 1)."""


def size(vectors: KeyedVectors, words: list[str]) -> float:
    """Return the root mean square of the components, averaged over the tokens of a text."""
    rows = vectors.vectors[[vectors.key_to_index[word] for word in words if word in vectors.key_to_index]]
    return float(np.sqrt(np.mean(rows**2)))


def main() -> None:
    import matplotlib.pyplot as plt

    options = parser(__doc__, "contextualizer-vectors", data=True, layers=True)
    options.add_argument("--folds", type=int, default=5, help="how many of the five folds")
    arguments = options.parse_args()
    torch.set_num_threads(arguments.threads)
    mr, corpus, glove = data_files(
        arguments.data,
        "sentences/mr/all.tsv",
        "corpora/wiki.30M.txt.xz",
        "vectors/glove.6B.100d.100k.txt.xz",
    )
    report = Page(arguments.page, "Contextualizer: trained and random vectors")
    texts, labels = read(mr)
    words = [word for text in texts for word in text.split()]
    print("training a skip-gram", file=sys.stderr, flush=True)
    epochs = 5 if arguments.full else 1
    own = train(
        corpus, TrainConfig(model="skipgram", vectors="input", epochs=epochs, workers=arguments.threads)
    ).vectors
    tables = {
        "cawv skip-gram": own,
        "cawv skip-gram, stretched": KeyedVectors(
            own.index_to_key, own.vectors * (RANDOM_SIZE / size(own, words))
        ),
        "GloVe 6B": KeyedVectors.load(glove),
    }
    plain = ContextualizerClassifier(
        tokenizer="whitespace",
        word_dim=own.vector_size,
        patience=None if arguments.full else 2,
        random_state=arguments.seed,
    )
    models: dict[str, Any] = {"random": plain}
    models |= {name: clone(plain).set_params(vectors=vectors) for name, vectors in tables.items()}
    models |= {f"mean of {name}, logistic regression": MeanVector(tables[name]) for name in list(tables)[::2]}
    folds = list(StratifiedKFold(5, shuffle=True, random_state=arguments.seed).split(texts, labels))
    rows, shown = [], {}
    for number, (name, model) in enumerate(models.items()):
        scores: dict[str, list[float]] = {"all": [], "tenth": []}
        for chosen, test in folds[: arguments.folds]:
            tenth, _ = train_test_split(
                chosen, train_size=0.1, stratify=labels[chosen], random_state=arguments.seed
            )
            for amount, part in (("all", chosen), ("tenth", tenth)):
                fitted = clone(model).fit(texts[part], labels[part])
                scores[amount].append(fitted.score(texts[test], labels[test]))
        spread = size(tables[name], words) if name in tables else RANDOM_SIZE
        cells = [interval(values, 1, 100) for values in scores.values()]
        rows.append((name, "" if "mean" in name else f"{spread:.2f}", *cells))
        shown[name] = scores
        progress(number + 1, len(models), f"{name}: {cells[0]}, with a tenth {cells[1]}")
    report.text(
        f"Accuracy in % on MR, mean ± 95 % interval over {arguments.folds} folds; K = 5, recurrent, random "
        "context, 10 % of the training texts choose the epoch, at most 10 epochs"
        f"{'' if arguments.full else ' (ended after 2 without progress)'}. Our skip-gram: {epochs} epoch(s) "
        "of 30 M words of Wikipedia. Words without a vector get a random one; words of fewer than 4 "
        "occurrences in the training texts are left out, in all rows of the Contextualizer."
    )
    columns = ["vectors, 100-d, frozen", "size of a component", "accuracy", "a tenth of the training texts"]
    report.table(columns, rows)
    figure, axis = plt.subplots(figsize=(7, 0.4 * len(rows) + 0.8))
    places = np.arange(len(rows))[::-1]
    for amount, color in (("all", "tab:blue"), ("tenth", "tab:orange")):
        for place, scores in zip(places, shown.values(), strict=True):
            axis.plot(100 * np.array(scores[amount]), [place] * arguments.folds, "o", color=color, ms=4)
    axis.set_yticks(places, list(shown), fontsize=7)
    axis.set_xlabel("accuracy, % (blue: all training texts, orange: a tenth)")
    report.figure(figure, "folds", "Accuracy of each fold")
    report.write()


if __name__ == "__main__":
    main()
