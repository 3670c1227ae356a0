"""The recipes of the tables, and the settings among which some of their options are chosen."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

from wordvec_ca.models import TrainConfig
from wordvec_ca.specs.models import ATTENTION_KINDS

COMMON: dict[str, Any] = {
    "vectors": "input",
    "vector_size": 50,
    "window": 20,
    "negative": 10,
    "negatives": "exact",
    "epochs": 1,
    "sample": 0.0,
    "min_count": 20,
    "tokenizer": "words",
    "lowercase": False,
}
"""Window, dimensions and negatives are the paper's. Its vocabulary has words of more than 40 occurrences in
530 M tokens, and its learning rate is fixed: see fixed_rate.py. It does not mention epochs and sub-sampling.
Sub-sampling is off, as it would remove the neighbours that syntax depends on; the ablations have it."""

TUNE_LINES = 156_003
"""Lines of the corpus for choosing settings: 10 M words."""

TUNE_RESTARTS = 5
"""Number of restarts of the induction for choosing settings; the mean over them is the criterion."""

CBOW: dict[str, Any] = {"model": "cbow", "cbow_update": "word2vec", "shrink_windows": True}
ATTENTION: dict[str, Any] = {"model": "cbow-attn", "cbow_update": "exact", "attention_warmup": 0.1}
SKIPGRAM: dict[str, Any] = {"model": "skipgram"}
STRUCTURED: dict[str, Any] = {"model": "ssg"}

GRIDS: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "attention": (ATTENTION, (0.2, 0.4, 0.8)),
    "CBOW": (CBOW, (0.025, 0.05)),
    "CBOW, small window": ({**CBOW, "window": 2}, (0.025, 0.05, 0.1, 0.2)),
    "CBOW, exact": ({**CBOW, "cbow_update": "exact"}, (0.2, 0.4, 0.8)),
    "attention, word2vec": ({**ATTENTION, "cbow_update": "word2vec"}, (0.0125, 0.025, 0.05)),
    "skip-gram": (SKIPGRAM, (0.025,)),
    "structured skip-gram": ({**STRUCTURED, "window": 5}, (0.025, 0.05)),
}
"""Options and learning rates that are tried for each family of recipes."""

SEARCH: tuple[tuple[float, dict[str, Any]], ...] = (
    (1.0, {}),
    (1.0, {"attention_warmup": 0.0}),
    (1.0, {"attention_warmup": 0.3}),
    (0.3, {}),
    (3.0, {}),
    (10.0, {}),
    (1.0, {"shrink_windows": True}),
    (3.0, {"shrink_windows": True}),
    (1.0, {"attention": "position"}),
    (1.0, {"sample": 1e-3}),
)
"""Settings that are tried for attention at its learning rate: the logits' rate relative to that of the
vectors, and other options. The best one is the recipe named "tuned"."""

MAIN = "attention w20"
"""The recipe that the others are compared with: a rate that falls, and a warm-up."""

PAPER = "attention w20, no warm-up"

REFERENCES = (MAIN, PAPER, "CBOW w20", "CBOW w20, exact, reduced")
"""Recipes of the main table that are also in the other tables."""

TUNED = "attention w20, tuned"

LONGER: dict[str, Any] = {"epochs": 3}
PLAIN: dict[str, Any] = {"alpha": 0.05, "lowercase": True}
USUAL: dict[str, Any] = {**PLAIN, "sample": 1e-3}
D100: dict[str, Any] = {"vector_size": 100, "negative": 5}


@dataclass(frozen=True)
class Recipe:
    """A way to train, under the name it has in the tables.

    Attributes
    ----------
    name : str
    options : dict
    table : {'main', 'ablation', 'longer'}
    family : str
        Name in ``GRIDS``; recipes of one family have the same learning rate.
    """

    name: str
    options: dict[str, Any]
    table: str
    family: str

    def config(self, seed: int, workers: int, alpha: float) -> TrainConfig:
        """Return the complete configuration."""
        options = {**COMMON, "alpha": alpha, **self.options, "seed": seed, "workers": workers}
        return TrainConfig(**options)

    @property
    def slug(self) -> str:
        """Return the name as it can be written in a file name."""
        return re.sub(r"[^a-z0-9.]+", "-", self.name.lower()).strip("-")


def recipes(tuned: dict[str, Any] | None = None) -> list[Recipe]:
    """Return all recipes, the most important ones first; with ``tuned``, also the recipe of these options."""

    def cbow(name: str, table: str = "main", **more: Any) -> Recipe:
        family = "CBOW, small window" if more.get("window", 20) <= 5 else "CBOW"
        if more.get("cbow_update") == "exact":
            family = "CBOW, exact"
        return Recipe(name, {**CBOW, **more}, table, family)

    def attention(name: str, table: str = "main", **more: Any) -> Recipe:
        family = "attention, word2vec" if more.get("cbow_update") == "word2vec" else "attention"
        return Recipe(name, {**ATTENTION, **more}, table, family)

    found = [
        attention(MAIN),
        cbow("CBOW w20"),
        cbow("CBOW w1", window=1),
        cbow("CBOW w2", window=2),
        cbow("CBOW w5", window=5),
        attention(PAPER, attention_warmup=0.0),
        cbow("CBOW w20, exact, reduced", cbow_update="exact"),
        Recipe("skip-gram w20", SKIPGRAM, "main", "skip-gram"),
        Recipe("structured skip-gram w5", {**STRUCTURED, "window": 5}, "main", "structured skip-gram"),
        cbow("CBOW w1, d100 n5, alpha 0.05", "longer", **{**LONGER, **D100}, window=1, alpha=0.05),
        cbow("CBOW w20, alpha 0.05", "longer", **LONGER, alpha=0.05),
        cbow("CBOW w1, d100 n5, lower case", "longer", **{**LONGER, **D100}, window=1, **PLAIN),
        cbow("CBOW w20, lower case", "longer", **LONGER, **PLAIN),
        cbow("CBOW w1, d100 n5, as usual", "longer", **{**LONGER, **D100}, window=1, **USUAL),
        cbow("CBOW w20, as usual", "longer", **LONGER, **USUAL),
        cbow("CBOW w20, fixed, as usual", "longer", **LONGER, **USUAL, shrink_windows=False),
        Recipe("structured skip-gram w20", STRUCTURED, "main", "structured skip-gram"),
    ]
    if tuned is not None:
        found.insert(1, attention(TUNED, **tuned))
    for update, shrink in itertools.product(("exact", "word2vec"), (False, True)):
        window = "reduced" if shrink else "fixed"
        if not shrink:
            name = f"CBOW w20, {update}, {window}"
            found.append(cbow(name, "ablation", cbow_update=update, shrink_windows=shrink))
        for kind in ATTENTION_KINDS:
            if (update, shrink, kind) != ("exact", False, "full"):
                name = f"attention w20, {update}, {window}, {kind}"
                options = {"cbow_update": update, "shrink_windows": shrink, "attention": kind}
                found.append(attention(name, "ablation", **options))
    found += [
        attention("attention w20, alpha 0.2", "ablation", alpha=0.2),
        attention("attention w20, position, alpha 0.2", "ablation", attention="position", alpha=0.2),
        attention("attention w20, 3 epochs", "ablation", **LONGER),
        cbow("CBOW w1, 3 epochs", "ablation", window=1, **LONGER),
        attention("attention w5", "ablation", window=5),
        attention("attention w2", "ablation", window=2),
        attention("attention w20, sample 1e-3", "ablation", sample=1e-3),
        cbow("CBOW w20, sample 1e-3", "ablation", sample=1e-3),
        cbow("CBOW w1, sample 1e-3", "ablation", window=1, sample=1e-3),
    ]
    return found
