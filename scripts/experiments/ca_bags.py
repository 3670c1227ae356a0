"""CA-BSFE against averaged embeddings and a linear bag of words (Zeng 2019, section 4.2, fig. 9 and 10).

Data are IMDB and SST; batches of 16, Adagrad 0.1, 5 dimensions, em_steps 0 (joint), 100 and 1000. The paper
reads its accuracies off test curves. Here the step is also chosen on held-out documents, as in practice.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from layers import STRENGTHS, bag_of_words, study_of_layers
from study import Page, data_files, interval, progress
from torch import Tensor, nn

from wordvec_ca.nn import BlockCoordinate, CAEmbeddingBag
from wordvec_ca.text import tokenize

Documents = list[list[str]]
Split = tuple[Documents, np.ndarray]


def read_sst(path: Path) -> Split:
    """Return words and 0/1 labels of a file of lines "label TAB sentence"."""
    with open(path, encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    return [row[1].lower().split() for row in rows], np.array([int(row[0]) for row in rows])


def read_imdb(negative: Path, positive: Path) -> Split:
    """Return words and 0/1 labels of the two files of lines "id TAB rating TAB text"."""
    documents: Documents = []
    labels = []
    for label, path in enumerate((negative, positive)):
        with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                documents.append(tokenize(line.rstrip("\n").split("\t", 2)[2].replace("<br />", " ")))
                labels.append(label)
    return documents, np.array(labels)


def part(data: Split, chosen: np.ndarray) -> Split:
    """Return some of the documents."""
    return [data[0][i] for i in chosen], data[1][chosen]


class Batches:
    """Documents as one array of word numbers, with the offset of each document."""

    def __init__(self, data: Split, index: dict[str, int]) -> None:
        rows = [np.array([index[w] for w in words if w in index], dtype=np.int64) for words in data[0]]
        self.starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        self.words = torch.from_numpy(np.concatenate(rows))
        self.labels = torch.from_numpy(data[1]).float()

    def take(self, chosen: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """Return words, offsets and labels of the chosen documents."""
        pieces = [self.words[self.starts[i] : self.starts[i + 1]] for i in chosen]
        ends = np.cumsum([len(piece) for piece in pieces])
        offsets = torch.from_numpy(np.concatenate([[0], ends[:-1]]))
        return torch.cat(pieces), offsets, self.labels[torch.from_numpy(chosen)]


@torch.no_grad()
def accuracy(network: nn.Module, head: nn.Module, batches: Batches) -> float:
    """Return the accuracy on a whole set."""
    logits = head(network(batches.words, torch.from_numpy(batches.starts[:-1]))).squeeze(-1)
    return ((logits > 0) == (batches.labels > 0.5)).double().mean().item()


def curve(
    kind: str, sets: dict[str, Batches], vocabulary: int, steps: int, every: int, seed: int
) -> np.ndarray:
    """Train one model; return rows of (step, train, dev and test accuracy)."""
    torch.manual_seed(seed)
    bag: Any
    if kind == "average":
        bag = nn.EmbeddingBag(vocabulary, 5, mode="mean", sparse=True)
        nn.init.normal_(bag.weight, std=5**-0.5)
    else:
        bag = CAEmbeddingBag(vocabulary, 5, sigma_dim=5, sparse=True)
    head = nn.Linear(5, 1)
    adagrad = torch.optim.Adagrad([*bag.parameters(), *head.parameters()], lr=0.1)
    optimizer: Any = adagrad
    if kind.startswith("em_steps"):
        optimizer = BlockCoordinate(adagrad, bag.blocks(), em_steps=int(kind.split()[-1]))
    generator = np.random.default_rng(seed)
    train = sets["train"]
    order = np.empty(0, dtype=np.int64)
    rows = []
    for step in range(1, steps + 1):
        if len(order) < 16:
            order = generator.permutation(len(train.labels))
        words, offsets, labels = train.take(order[:16])
        order = order[16:]
        optimizer.zero_grad()
        logits = head(bag(words, offsets)).squeeze(-1)
        nn.functional.binary_cross_entropy_with_logits(logits, labels).backward()
        optimizer.step()
        if step % every == 0:
            rows.append([step, *(accuracy(bag, head, sets[name]) for name in ("train", "dev", "test"))])
    return np.array(rows)


def linear(train: Split, dev: Split, test: Split) -> tuple[float, float]:
    """Return the C that is best on dev, and the test accuracy, of L2 logistic regression on bags of words."""
    options = {"analyzer": list}
    models = [(C, bag_of_words(C, **options).fit(train[0], train[1])) for C in STRENGTHS]
    best, model = max(models, key=lambda pair: pair[1].score(dev[0], dev[1]))
    return best, model.score(test[0], test[1])


def experiment(
    report: Page,
    name: str,
    splits: dict[str, Split],
    steps: int,
    seeds: range,
    paper: dict[str, str],
    only: str,
) -> None:
    """Train the kinds on one data set and report them."""
    kinds = ["average", "em_steps 0", "em_steps 100", "em_steps 1000"]
    if not (kinds := [kind for kind in kinds if re.search(only, f"{name}, {kind}")]):
        return
    counts = Counter(word for words in splits["train"][0] for word in words)
    index = {word: number for number, (word, _) in enumerate(counts.most_common())}
    sets = {key: Batches(split, index) for key, split in splits.items()}
    strength, linear_accuracy = linear(splits["train"], splits["dev"], splits["test"])
    rows = []
    for number, kind in enumerate(kinds):
        runs = [curve(kind, sets, len(index), steps, steps // 50, seed) for seed in seeds]
        at_best_dev = [run[run[:, 2].argmax(), 3] for run in runs]
        figures = (
            at_best_dev,
            [run[:, 3].max() for run in runs],
            *([run[-1, i] for run in runs] for i in (3, 1)),
        )
        shown = [interval(each, 3) for each in figures]
        name_of_kind = f"CA-BSFE, {kind}" if kind.startswith("em_steps") else kind
        rows.append((name_of_kind, *shown, paper.get(kind, "")))
        progress(
            number + 1, len(kinds), f"{name}, {kind}: test {shown[0]}, best of the test curve {shown[1]}"
        )
    linear_model = f"bag of words, L2 logistic regression (C = {strength:.2g})"
    rows.append((linear_model, f"{linear_accuracy:.3f}", "", "", "", ""))
    sizes = " / ".join(f"{len(split[0]):,}" for split in splits.values())
    report.text(
        f"**{name}**: {sizes} documents to train / choose / test, {len(index):,} words, {steps:,} steps "
        f"of 16, {len(seeds)} seeds."
    )
    columns = ("test at the best dev step", "best of the test curve", "test at the end", "train at the end")
    report.table(["model", *columns, "paper (test curve)"], rows)


def main() -> None:
    title = "CA-BSFE: bags of words"
    arguments, seeds, report = study_of_layers(__doc__, "ca-bags", title, few=2, many=5, data=True)
    names = ("sst/binary.train.tsv", "sst/binary.dev.tsv", "imdb/train.neg.tsv.xz", "imdb/train.pos.tsv.xz")
    files = data_files(arguments.data, *(f"sentences/{name}" for name in names))
    report.text(
        "A CA-BSFE with a logistic head is, whatever its gates, a linear function of word counts (one number "
        "for each word; `tests/nn/test_bag.py` checks it to 1e-12). So what block-coordinate updates "
        "can gain is regularisation, and the baseline to beat is an L2 logistic regression on words."
    )
    generator = np.random.default_rng(arguments.seed)
    sst = read_sst(files[0])
    order = generator.permutation(len(sst[0]))
    splits = {"train": part(sst, order[692:]), "dev": part(sst, order[:692]), "test": read_sst(files[1])}
    steps, paper = 1_000_000 if arguments.full else 10_000, {"em_steps 100": "0.82"}
    experiment(report, "SST", splits, steps, seeds, paper, arguments.only)
    imdb = read_imdb(files[2], files[3])
    order = generator.permutation(len(imdb[0]))
    ranges = {"train": order[5000:], "dev": order[:2500], "test": order[2500:5000]}
    splits = {name: part(imdb, chosen) for name, chosen in ranges.items()}
    steps, paper = 6_000_000 if arguments.full else 8_000, {"average": "0.88", "em_steps 100": "0.91"}
    experiment(report, "IMDB", splits, steps, seeds, paper, arguments.only)
    report.text(
        "SST here are the 6,920 sentences of its binary task (the paper's 67,349 phrases are not available), "
        "tested on its dev set. IMDB is split from its training half; the paper tests on the other half."
    )
    report.write()


if __name__ == "__main__":
    main()
