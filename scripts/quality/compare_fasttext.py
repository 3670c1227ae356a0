r"""Quality beside fastText: the same tokens, the same options, several seeds; usual, rare and unknown words.

    python scripts/quality/compare_fasttext.py CORPUS --words 10000000 --pairs ws353.tsv mturk287.tsv

Needs the package fasttext. A random third of the words of the pairs is left as it is, a third is thinned out
to 8 occurrences (rare), and a third is taken out of the text (unknown: their vectors are made of n-grams). A
pair is unknown if one of its words is, else rare if one of its words is. There is a Spearman correlation for
each set and kind of pairs; the table has their means, weighted by the number of pairs. Each program has its
own learning rates and way of drawing negatives; nothing was chosen on these sets. "Rows" counts the rows of
words and n-grams.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, parser, table, tokens_of, write_section

from wordvec_ca.eval import evaluate, read_word_pairs
from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train
from wordvec_ca.vectors import KeyedVectors

KINDS = ("usual", "rare", "unknown")
KEPT = 8
"""Occurrences of a rare word."""

FEWEST = 12
"""Smallest number of pairs of a set and kind for which a correlation is computed."""

MODELS = ("skipgram", "cbow")

RATE = 0.05
"""fastText's learning rate."""


def thinned(corpus: str, n_words: int, kind_of: dict[str, str], path: Path) -> None:
    """Write the first words of the corpus as tokens, with rare words thinned out and without unknown ones."""
    lines = list(tokens_of(corpus, n_words))
    counts = Counter(token for line in lines for token in line if token in kind_of)
    rng = random.Random(1)
    kept = {
        word: set(rng.sample(range(counts[word]), min(KEPT, counts[word])) if kind == "rare" else ())
        for word, kind in sorted(kind_of.items())
        if kind != "usual"
    }
    seen: Counter[str] = Counter()
    with open(path, "w", encoding="utf-8") as out:
        for line in lines:
            tokens = []
            for token in line:
                if token in kept:
                    seen[token] += 1
                    if seen[token] - 1 not in kept[token]:
                        continue
                tokens.append(token)
            out.write(" ".join(tokens) + "\n")


def kinds_of(words: list[str]) -> dict[str, str]:
    """Assign each word to a kind at random."""
    words = sorted(set(words))
    random.Random(0).shuffle(words)
    return {word: KINDS[i % 3] for i, word in enumerate(words)}


def by_fasttext(path: Path, model: str, seed: int, epochs: int, **more: Any) -> Any:
    """Train fastText's model."""
    import fasttext

    fasttext.FastText.unsupervised_default["seed"] = seed  # its function has no argument for the seed
    options = {"dim": 100, "ws": 5, "neg": 5, "minCount": 5, "t": 1e-4, "minn": 3, "maxn": 6, "lr": RATE}
    return fasttext.train_unsupervised(
        str(path), model=model, epoch=epochs, verbose=0, **{**options, "thread": 1, **more}
    )


def by_cawv(path: Path, model: str, seed: int, epochs: int, **more: Any) -> Any:
    """Train our model."""
    options: dict[str, Any] = {"vector_size": 100, "window": 5, "negative": 5, "min_count": 5, "sample": 1e-4}
    options |= {"subwords": True, "workers": 1, **more}
    config = TrainConfig(
        vectors="input",
        model=model,
        epochs=epochs,
        seed=seed,
        tokenizer="whitespace",
        lowercase=False,
        **options,
    )
    return train(path, config)


def scores(
    vector_of: Callable[[str], np.ndarray], pairs: list[Any], kind_of: dict[str, str]
) -> dict[str, float]:
    """Return the mean Spearman correlation of each kind of pairs."""
    words = sorted(kind_of)
    kv = KeyedVectors(words, np.stack([vector_of(word) for word in words]).astype(np.float32))
    found: dict[str, list[tuple[float, int]]] = {kind: [] for kind in KINDS}
    for gold in pairs:
        for kind in KINDS:
            rows = [
                i
                for i, both in enumerate(zip(gold.first, gold.second, strict=True))
                if max((kind_of[word.lower()] for word in both), key=KINDS.index) == kind
            ]
            if len(rows) < FEWEST:
                continue
            chosen = type(gold)(
                gold.name,
                [gold.first[i].lower() for i in rows],
                [gold.second[i].lower() for i in rows],
                [gold.scores[i] for i in rows],
            )
            found[kind].append((evaluate(kv, chosen, seed=1).metrics["spearman"].value, len(rows)))
    return {kind: sum(r * n for r, n in of) / sum(n for _, n in of) for kind, of in found.items()}


def main() -> None:
    """Run the comparison."""
    asked = parser(__doc__, "compare-fasttext")
    asked.add_argument("corpus")
    asked.add_argument("--words", type=int, default=10_000_000)
    asked.add_argument("--seeds", type=int, default=3)
    asked.add_argument("--epochs", type=int, default=1)
    asked.add_argument("--pairs", nargs="+", required=True)
    asked.add_argument("--log", type=Path, help="JSON lines; runs that it has are not done again")
    options = asked.parse_args()
    pairs = [read_word_pairs(path) for path in options.pairs]
    kind_of = kinds_of([word.lower() for gold in pairs for word in (*gold.first, *gold.second)])
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    runs = Runs(options.log)
    told = {"words": options.words, "epochs": options.epochs, "pairs": [gold.name for gold in pairs]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens.txt"

        def run(setting: Setting) -> dict[str, Any]:
            if not path.exists():
                thinned(options.corpus, options.words, kind_of, path)
            name, model, seed = setting["by"], setting["model"], setting["seed"]
            return measured(name, path, model, seed, options.epochs, pairs, kind_of)

        for seed in range(1, options.seeds + 1):
            for model in MODELS:
                for name in ("fastText", "cawv"):
                    row = runs.outcome({"model": model, "by": name, "seed": seed, "options": told}, run)
                    assert row is not None  # these Runs have no time limit
                    found.setdefault((model, name), []).append(row)
    result = table(
        ("model", "by", *KINDS, "all", "rows, MB"), [line(key, rows) for key, rows in found.items()]
    )
    result += "\n\nMeans of the seeds, and below each seed's difference, cawv less fastText.\n\n"
    result += table(("model", *KINDS), [differences(model, found) for model in MODELS])
    result += (
        "\n\nProcessor seconds from the text to vectors, one thread, in alternation: vocabulary included.\n\n"
    )
    result += table(("model", "fastText", "cawv", "ratios", "median"), [seconds(m, found) for m in MODELS])
    print(result)
    write_section(options.page, "Beside fastText", f"quality, {options.words:,} words", result)


def measured(
    name: str, path: Path, model: str, seed: int, epochs: int, pairs: list[Any], kind_of: dict[str, str]
) -> dict[str, Any]:
    """Train one model; return its figures."""
    started = time.process_time()
    made = (by_fasttext if name == "fastText" else by_cawv)(path, model, seed, epochs)
    seconds = time.process_time() - started
    if name == "fastText":
        vector_of, n_rows = made.get_word_vector, made.get_input_matrix().shape[0]
    else:
        n_rows, vectors, zero = len(made.subwords.rows), made.vectors, np.zeros(100, np.float32)

        def vector_of(word: str) -> np.ndarray:
            if word not in vectors:  # none of its n-grams is known
                return zero
            return vectors[word]

    found = scores(vector_of, pairs, kind_of)
    return {**found, "training_seconds": seconds, "megabytes": n_rows * 100 * 4 / 1e6}


def line(key: tuple[str, str], rows: list[dict[str, float]]) -> list[str]:
    """Return a line of the table of means."""
    means = {kind: statistics.mean(row[kind] for row in rows) for kind in KINDS}
    every = statistics.mean(means.values())
    cells = [f"{means[kind]:.3f}" for kind in KINDS]
    return [*key, *cells, f"{every:.3f}", f"{rows[0]['megabytes']:.0f}"]


def differences(model: str, found: dict[tuple[str, str], list[dict[str, float]]]) -> list[str]:
    """Return a line of the table of differences."""
    both = list(zip(found[model, "cawv"], found[model, "fastText"], strict=True))
    return [
        model,
        *(" ".join(f"{ours[kind] - theirs[kind]:+.3f}" for ours, theirs in both) for kind in KINDS),
    ]


def seconds(model: str, found: dict[tuple[str, str], list[dict[str, float]]]) -> list[str]:
    """Return a line of the table of processor seconds."""
    theirs, ours = ([row["training_seconds"] for row in found[model, by]] for by in ("fastText", "cawv"))
    ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
    cells = [" ".join(f"{value:.1f}" for value in values) for values in (theirs, ours, ratios)]
    return [model, *cells, f"**{statistics.median(ratios):.1f} ×**"]


if __name__ == "__main__":
    main()
