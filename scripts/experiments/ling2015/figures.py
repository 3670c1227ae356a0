"""Plots: the attention by place, and the V-measure of all recipes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from recipes import MAIN, Recipe, recipes
from tables import Found

from wordvec_ca.vectors import KeyedVectors


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
