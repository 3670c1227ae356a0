"""Quality beside gensim: the same tokens, the same settings, several seeds.

    python scripts/quality/compare_gensim.py --lines 156003

Sub-sampling, window, negatives and epochs are equal, and learning rates but for the rows "as it comes", which
have our own rates, step of CBOW and way of drawing negatives. gensim counts and trains on the same tokens.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Setting, Table, run_study

COMMON = {"vector_size": 100, "window": 5, "negative": 5, "min_count": 5, "sample": 1e-3, "epochs": 3}
OURS = {"workers": 1, "vectors": "input"}
EXACT = {**OURS, "negatives": "exact", "cbow_update": "word2vec"}
COLUMNS = {("similarity", name): name for name in ("ws353", "rg65", "mturk287")}


def by_gensim(tokens: Path, setting: Setting) -> Any:
    """Train gensim's Word2Vec and return its vectors."""
    from gensim.models import Word2Vec

    sg = int(setting.pop("model") == "skipgram")
    return Word2Vec(corpus_file=str(tokens), sg=sg, workers=1, **setting).wv


TABLES = {
    model: Table(
        {
            f"{name}{rate}": {"model": model, "alpha": rate, **recipe}
            for rate in (0.025, 0.05)
            for name, recipe in {"gensim, ": {"by": "gensim"}, "cawv, ": EXACT}.items()
        }
        | {"cawv, as it comes": {"model": model, **OURS}},
        COLUMNS,
        less="cawv, as it comes",
    )
    for model in ("cbow", "skipgram")
}

if __name__ == "__main__":
    title = "Quality beside gensim"
    run_study(__doc__, "compare-gensim", title, COMMON, TABLES, by={"gensim": by_gensim})
