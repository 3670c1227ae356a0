"""Plots: figure 1 of the paper, the attention by place, and the V-measure of all recipes."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from recipes import MAIN, Recipe, recipes
from tables import Found

from wordvec_ca.vectors import KeyedVectors

SENTENCES = (
    "Antartica has little rainfall with the south pole making it a continental desert",
    "Antarctica has little rainfall with the south pole making it a continental desert",
)
"""The sentence of the paper, first with its spelling mistake, then without it.

The paper prints it in lower case. The models keep capitals, so that the name is known only with its own.
"""

CONTENT = {"Antartica", "Antarctica", "rainfall", "pole", "continental", "desert"}
FUNCTION = {"has", "with", "the", "it", "a"}
"""Function words: those that the paper names, and others of closed classes; fixed before any result."""


def figure1(options: argparse.Namespace, figures: Path) -> list[str]:
    """Draw the attention of the first seed's main recipe, and return its numbers as text."""
    from wordvec_ca.models import attention_weights

    recipe = next(r for r in recipes() if r.name == MAIN)
    seeds = [
        s
        for s in options.seeds
        if (options.output / "models" / f"{recipe.slug}.{s}" / "config.json").exists()
    ]
    if not seeds:
        return []
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = ["| seed | sentence | largest weight | content | function | p |", "|---|---|---|---|---|---|"]
    fig, axes = pyplot.subplots(len(seeds), 1, figsize=(9, 1.3 * len(seeds)), squeeze=False)
    for seed, ax in zip(seeds, axes[:, 0], strict=True):
        folder = options.output / "models" / f"{recipe.slug}.{seed}"
        for sentence in SENTENCES:
            words = sentence.split()
            found = [
                w for w in attention_weights(folder, words, words.index("south")) if w.weight is not None
            ]
            top = max(found, key=lambda w: w.weight or 0.0)
            content = [w.weight for w in found if w.word in CONTENT and w.weight is not None]
            function = [w.weight for w in found if w.word in FUNCTION and w.weight is not None]
            if not content or not function:  # the vocabulary is too small for a comparison
                continue
            p = permutation_p(content, function)
            lines.append(
                f"| {seed} | {words[0]} ... | {top.word} ({top.weight:.2f}) | {np.mean(content):.3f} | "
                f"{np.mean(function):.3f} | {p:.3f} |"
            )
        ax.imshow([[w.weight for w in found]], cmap="Greys", aspect="auto", vmin=0)
        ax.set_xticks(range(len(found)), [f"{w.word}\n{w.offset:+d}" for w in found], fontsize=7)
        ax.set_yticks([0], [f"seed {seed}"], fontsize=7)
    fig.tight_layout()
    fig.savefig(figures / "ling2015-attention.png", dpi=120)
    pyplot.close(fig)
    return lines


def permutation_p(content: Sequence[float], function: Sequence[float]) -> float:
    """Return the exact one-sided p-value for a larger mean weight of the content words."""
    together = [*content, *function]
    observed = np.mean(content) - np.mean(function)
    n, total, beyond, tried = len(content), sum(together), 0, 0
    for chosen in itertools.combinations(together, n):
        inside = sum(chosen)
        gap = inside / n - (total - inside) / (len(together) - n)
        beyond += gap >= observed - 1e-12
        tried += 1
    return beyond / tried


def profile(options: argparse.Namespace, figures: Path) -> list[str]:
    """Draw the mean attention of each place in the window, over words by their frequency."""
    from matplotlib import pyplot

    from wordvec_ca.models import read_attention

    recipe = next(r for r in recipes() if r.name == MAIN)
    fig, ax = pyplot.subplots(figsize=(6, 2.6))
    lines = []
    for seed in options.seeds:
        folder = options.output / "models" / f"{recipe.slug}.{seed}"
        if not (folder / "config.json").exists():
            continue
        word_logits, slot_logits = read_attention(folder)
        counts = KeyedVectors.load(folder).counts
        assert counts is not None
        share = counts / counts.sum()
        weights = share @ np.exp(np.clip(np.asarray(word_logits) + np.asarray(slot_logits), -10, 10))
        weights /= weights.sum()
        b = len(weights) // 2
        places = [*range(-b, 0), *range(1, b + 1)]
        ax.plot(places, weights, marker=".", label=f"seed {seed}")
        near = weights[b - 1] + weights[b]
        lines.append(f"seed {seed}: the two neighbours get {near:.2f} of the window's mean weight")
    ax.set_xlabel("place relative to the predicted word")
    ax.set_ylabel("mean weight")
    ax.legend(fontsize=7)
    fig.tight_layout()
    fig.savefig(figures / "ling2015-places.png", dpi=120)
    pyplot.close(fig)
    return lines


def plot(found: Found, known: Sequence[Recipe], figures: Path) -> None:
    """Draw V-measure on the WSJ sample of all recipes, each seed a point."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    key = ("pos-induction", "wsj_sample")
    names = [r.name for r in known if r.name in found and key in found[r.name]][::-1]
    fig, ax = pyplot.subplots(figsize=(7, 0.6 + 0.24 * len(names)))
    for y, name in enumerate(names):
        column = found[name][key]
        ax.plot(column.values, [y] * len(column.values), "o", color="0.6", markersize=3)
        ax.errorbar(
            column.mean, y, xerr=1.96 * column.item_error, fmt="|", color="C3" if name == MAIN else "C0"
        )
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_xlabel("V-measure on the WSJ sample (points: seeds; bars: 95 % from the sentences)")
    fig.tight_layout()
    fig.savefig(figures / "ling2015-v.png", dpi=120)
    pyplot.close(fig)
