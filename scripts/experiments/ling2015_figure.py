"""Figure 1 of Ling et al. 2015: the attention around "south" in a sentence, at two learning rates.

    python scripts/experiments/ling2015_figure.py

The main recipe is trained with each seed at the program's default rate and at the one that was best on the
development text. Models that exist are not trained again.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from ling2015 import ATTENTION, COMMON, TITLE
from study import data_files, lines_of, study_parser, table, write_section

from wordvec_ca.models import TrainConfig, attention_weights
from wordvec_ca.runs import train

SENTENCE = "Antarctica has little rainfall with the south pole making it a continental desert"
"""The paper prints it in lower case, and misspells the name. The models keep capitals: in lower case the name
is unknown, and the sentence has one word less."""

CONTENT = {"Antarctica", "rainfall", "pole", "continental", "desert"}
FUNCTION = {"has", "with", "the", "it", "a"}
"""Function words: those that the paper names, and others of closed classes; fixed before any result."""

RATES = (0.2, 0.4)


def main() -> None:
    options = study_parser(__doc__, "ling2015").parse_args()
    corpus = options.corpus or data_files(options.data, "corpora/wiki.30M.txt.xz")[0]
    cells = list(itertools.product(RATES, range(1, options.seeds + 1)))
    folders = {cell: options.output / "figure" / "{}.{}".format(*cell) for cell in cells}
    for (rate, seed), folder in folders.items():
        if not folder.exists():
            config = TrainConfig(**{**COMMON, **ATTENTION, "alpha": rate, "seed": seed, "workers": 1})
            train(lines_of(corpus, options.lines), config, output=folder)
    words = SENTENCE.split()
    weights = {
        cell: {
            context.word: context.weight
            for context in attention_weights(folder, words, words.index("south"))
            if context.weight is not None
        }
        for cell, folder in folders.items()
    }
    rows = []
    for (rate, seed), found in weights.items():
        largest = sorted(found, key=found.__getitem__, reverse=True)[:4]
        content, function = ([w for word, w in found.items() if word in kind] for kind in (CONTENT, FUNCTION))
        rows.append(
            (f"rate {rate:g}", f"seed {seed}", ", ".join(f"{word} {found[word]:.2f}" for word in largest),
             f"{np.mean(content):.3f}", f"{np.mean(function):.3f}", f"{permutation_p(content, function):.3f}")
        )  # fmt: skip
    draw(weights, options.page.parents[1] / "figures" / "ling2015-attention.png")
    body = [
        "## Figure 1",
        f'Weights of the context of "south" in "{SENTENCE}" (attention w20, 30 M words); means over content '
        "and over function words; p: content over function words, exact permutation.",
        table(("rate", "seed", "largest weights", "content", "function", "p"), rows),
        "![Attention around south](figures/ling2015-attention.png)",
    ]
    write_section(options.page, TITLE, "figure 1", "\n\n".join(body))


def permutation_p(content: Sequence[float], function: Sequence[float]) -> float:
    """Return the exact one-sided p-value for a larger mean weight of the content words."""
    together = [*content, *function]
    observed = np.mean(content) - np.mean(function)
    gaps = [
        np.mean(chosen) - (sum(together) - sum(chosen)) / len(function)
        for chosen in itertools.combinations(together, len(content))
    ]
    return float(np.mean([gap >= observed - 1e-12 for gap in gaps]))


def draw(weights: dict[tuple[float, int], dict[str, float]], path: Path) -> None:
    """Draw a row of grey cells for each model, as the paper does."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(weights), 1, figsize=(9, 0.6 * len(weights) + 0.4), sharex=True)
    for (cell, found), panel in zip(weights.items(), axes, strict=True):
        panel.imshow([list(found.values())], cmap="Greys", aspect="auto", vmin=0)
        panel.set_yticks([0], ["{:g}, seed {}".format(*cell)], fontsize=7)
    axes[-1].set_xticks(range(len(found)), list(found), fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
