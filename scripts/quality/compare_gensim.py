r"""Quality beside gensim: the same tokens, the same settings, several seeds, word similarity.

    python scripts/quality/compare_gensim.py CORPUS --words 10000000 --seeds 2 \
        --pairs ws353.tsv rg65.tsv mturk287.tsv

Prints the means and writes them to docs/evidence/data/compare-gensim.json; a run that is in --log is not done
again. Sub-sampling, window, negatives, learning rates and the number of epochs are equal; gensim counts and
trains on the same tokens. "cawv, as it comes" has our own learning rates, step of cbow and way of drawing
negatives instead of gensim's.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, parser, spearman, table, write_section, write_tokens

from wordvec_ca.eval import read_word_pairs
from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train
from wordvec_ca.vectors import KeyedVectors

NOT_OF_A_RUN = {"seeds", "models", "negatives", "updates", "log", "page"}
"""Options that choose the runs, or name a path."""


def by_gensim(path: Path, model: str, seed: int, options: argparse.Namespace) -> Any:
    """Train gensim's Word2Vec and return its vectors."""
    from gensim.models import Word2Vec

    return Word2Vec(
        corpus_file=str(path),
        vector_size=options.vector_size,
        window=options.window,
        negative=options.negative,
        min_count=5,
        sample=options.sample,
        alpha=options.alpha[model],
        sg=int(model == "skipgram"),
        epochs=options.epochs,
        workers=1,
        seed=seed,
    ).wv


def by_cawv(path: Path, model: str, seed: int, options: argparse.Namespace, **more: Any) -> KeyedVectors:
    """Train our model and return its vectors."""
    more = {"alpha": options.alpha[model], **more}
    config = TrainConfig(
        vectors="input",
        model=model,
        vector_size=options.vector_size,
        window=options.window,
        negative=options.negative,
        min_count=5,
        sample=options.sample,
        epochs=options.epochs,
        workers=1,
        seed=seed,
        tokenizer="whitespace",
        lowercase=False,
        **more,
    )
    return train(path, config).vectors


def trainings(options: argparse.Namespace) -> Iterator[tuple[str, str, Any]]:
    """Yield model, implementation and how to train it."""
    for model in options.models:
        yield model, "gensim", by_gensim
        yield model, "cawv, as it comes", partial(by_cawv, alpha=None)
        for negatives in options.negatives:
            updates = ["word2vec", "exact"] if model == "cbow" and options.updates else ["word2vec"]
            for update in updates:

                def ours(
                    path: Path, model: str, seed: int, o: Any, n: str = negatives, u: str = update
                ) -> Any:
                    return by_cawv(path, model, seed, o, negatives=n, cbow_update=u)

                yield model, f"cawv {negatives} {update}" if model == "cbow" else f"cawv {negatives}", ours


def main() -> None:
    """Run the comparison."""
    asked = parser(__doc__, "compare-gensim")
    asked.add_argument("corpus")
    asked.add_argument("--words", type=int, default=10_000_000)
    asked.add_argument("--seeds", type=int, default=2)
    asked.add_argument("--models", nargs="+", default=["cbow", "skipgram"])
    asked.add_argument("--negatives", nargs="+", default=["exact"])
    asked.add_argument("--updates", action="store_true", help="both --cbow-update values")
    asked.add_argument("--pairs", nargs="+", required=True)
    asked.add_argument("--vector-size", type=int, default=100)
    asked.add_argument("--window", type=int, default=5)
    asked.add_argument("--negative", type=int, default=5)
    asked.add_argument("--sample", type=float, default=1e-3)
    asked.add_argument("--epochs", type=int, default=3)
    asked.add_argument("--alpha-cbow", type=float, default=0.025)
    asked.add_argument("--alpha-skipgram", type=float, default=0.025)
    asked.add_argument("--log", type=Path)
    options = asked.parse_args()
    options.alpha = {"cbow": options.alpha_cbow, "skipgram": options.alpha_skipgram}
    pairs = [read_word_pairs(path) for path in options.pairs]
    runs = Runs(options.log)
    told = {name: value for name, value in vars(options).items() if name not in NOT_OF_A_RUN}
    found: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = write_tokens(options.corpus, Path(folder) / "tokens.txt", options.words)
        for seed in range(1, options.seeds + 1):
            for model, name, training in trainings(options):

                def run(setting: Setting, training: Any = training) -> dict[str, Any]:
                    vectors = training(path, setting["model"], setting["seed"], options)
                    scores = spearman(vectors, pairs)
                    return {"mean": statistics.mean(scores.values()), **scores}

                row = runs.outcome({"model": model, "by": name, "seed": seed, "options": told}, run)
                assert row is not None  # these Runs have no time limit
                found.setdefault((model, name), []).append(row["mean"])
    rows = [
        (model, name, f"{statistics.mean(means):.4f}", " ".join(f"{m:.4f}" for m in means))
        for (model, name), means in found.items()
    ]
    result = table(("model", "by", "mean Spearman", "each seed"), rows)
    print(result)
    write_section(options.page, "Quality beside gensim", f"{options.words:,} words", result)


if __name__ == "__main__":
    main()
