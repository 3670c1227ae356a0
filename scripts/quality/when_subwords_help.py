r"""When subwords help: runs with and without them, on usual, rare and unknown words and on analogies.

    python scripts/quality/when_subwords_help.py CORPUS --pairs ws353.tsv yp130.tsv --analogies questions.txt

Words are thinned out as in compare_fasttext.py; all options except sample, 1e-4, have the program's defaults.
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from compare_fasttext import KINDS, MODELS, by_cawv, kinds_of, scores, thinned
from study import parser, table, write_section

from wordvec_ca.eval import evaluate, plan, read_word_pairs, run


def judged(vectors: Any, pairs: list[Any], kind_of: dict[str, str], analogies: Path) -> dict[str, float]:
    """Return the figures of one model; words without a vector get zeros."""
    zero = np.zeros(vectors.vector_size, np.float32)
    known = {word: vectors[word] for word in kind_of if word in vectors}
    found = scores(lambda word: known.get(word, zero), pairs, kind_of)
    metrics = evaluate(vectors, pairs[0], seed=1).metrics
    found[pairs[0].name] = metrics["spearman"].value
    jobs, _ = plan(["analogy"], files={"analogy": [analogies]})
    answers = next(iter(run(vectors, jobs))).metrics
    return {**found, "semantic": answers["semantic"].value, "syntactic": answers["syntactic"].value}


def main() -> None:
    """Run the comparison."""
    asked = parser(__doc__, "subwords")
    asked.add_argument("corpus")
    asked.add_argument("--words", type=int, default=10_000_000)
    asked.add_argument("--seeds", type=int, default=2)
    asked.add_argument("--epochs", type=int, default=2)
    asked.add_argument("--pairs", nargs="+", required=True)
    asked.add_argument("--analogies", type=Path, required=True)
    options = asked.parse_args()
    pairs = [read_word_pairs(path) for path in options.pairs]
    kind_of = kinds_of([word.lower() for gold in pairs for word in (*gold.first, *gold.second)])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens.txt"
        thinned(options.corpus, options.words, kind_of, path)
        for model in MODELS:
            for subwords in (False, True):
                found = [
                    judged(
                        by_cawv(path, model, seed, options.epochs, subwords=subwords).vectors,
                        pairs,
                        kind_of,
                        options.analogies,
                    )
                    for seed in range(1, options.seeds + 1)
                ]
                means = [statistics.mean(one[name] for one in found) for name in found[0]]
                cells = ["–" if math.isnan(mean) else f"{mean:.3f}" for mean in means]
                rows.append([model, "n-grams" if subwords else "words", *cells])
                print(rows[-1], flush=True)
    head = ("model", "made of", *KINDS, f"all of {pairs[0].name}", "semantic", "syntactic")
    write_section(options.page, "When subwords help", f"{options.words:,} words", table(head, rows))


if __name__ == "__main__":
    main()
