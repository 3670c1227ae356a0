"""Ling et al. 2015, Table 1, and quality by the size of the window: is attention worth it, and for what?

    python scripts/experiments/ling2015.py --only "tables|ablation"
    python scripts/experiments/ling2015.py --lines 156003 --only "windows|taggers|fixed" --output ling2015-10M

Learning rates were chosen on UD English-EWT dev with 10 M words, among the settings that the record lists;
nothing was chosen on the sets of the tables. The taggers need PyTorch, and half an hour each.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Table, run_study

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
    "workers": 2,
}
"""Window, dimensions and negatives are the paper's. It does not mention epochs and sub-sampling, which would
remove the neighbours that syntax depends on."""

CBOW: dict[str, Any] = {"model": "cbow", "cbow_update": "word2vec", "shrink_windows": True, "alpha": 0.025}
EXACT: dict[str, Any] = {**CBOW, "cbow_update": "exact", "alpha": 0.4}
SMALL: dict[str, Any] = {**CBOW, "alpha": 0.2}
ATTENTION: dict[str, Any] = {
    "model": "cbow-attn",
    "cbow_update": "exact",
    "attention_warmup": 0.1,
    "alpha": 0.4,
}
STRUCTURED: dict[str, Any] = {"model": "ssg", "alpha": 0.025}
SKIPGRAM: dict[str, Any] = {**STRUCTURED, "model": "skipgram"}
TUNED: dict[str, Any] = {**ATTENTION, "shrink_windows": True}

SYNTAX = {("pos-induction", "wsj_sample"): "V, WSJ", ("pos-induction", "ud_ewt.test"): "V, EWT test"}
WORDS = {("similarity", "ws353"): "ws353"}
TAGGING = {("tagging", "wsj_sample"): "tagging, WSJ"}
COLUMNS = {
    **SYNTAX,
    **TAGGING,
    ("sentiment", "sst-binary"): "SST dev",
    **WORDS,
    ("similarity", "mturk287"): "mturk287",
}

MAIN = {
    "attention w20": ATTENTION,
    "attention w20, tuned": TUNED,
    "CBOW w20": CBOW,
    **{f"CBOW w{window}": {**SMALL, "window": window} for window in (1, 2, 5)},
    "attention w20, no warm-up": {**ATTENTION, "attention_warmup": 0.0},
    "CBOW w20, exact, reduced": EXACT,
    "skip-gram w20": SKIPGRAM,
    "structured skip-gram w5": {**STRUCTURED, "window": 5},
    "structured skip-gram w20": STRUCTURED,
}
ABLATION = {
    "CBOW w20, exact, fixed": {**EXACT, "shrink_windows": False},
    "CBOW w20, word2vec, fixed": {**CBOW, "shrink_windows": False},
    **{
        f"attention w20, {update}, {'reduced' if shrink else 'fixed'}, {kind}": {
            **ATTENTION,
            "cbow_update": update,
            "alpha": 0.4 if update == "exact" else 0.0125,
            "shrink_windows": shrink,
            "attention": kind,
        }
        for update, shrink, kind in itertools.product(
            ("exact", "word2vec"), (False, True), ("full", "position", "word")
        )
    },
    "attention w20, alpha 0.2": {**ATTENTION, "alpha": 0.2},
    "attention w20, position, alpha 0.2": {**ATTENTION, "alpha": 0.2, "attention": "position"},
}
WINDOWS = {
    **{
        f"CBOW w{w}": {**(SMALL if w < 5 else {**EXACT, "shrink_windows": False}), "window": w}
        for w in (1, 2, 5, 10, 20)
    },
    **{
        f"attention w{w}": {**ATTENTION, "alpha": 0.2 if w == 1 else 0.4, "window": w}
        for w in (1, 2, 5, 10, 20)
    },
    **{f"structured skip-gram w{w}": {**STRUCTURED, "window": w} for w in (1, 2, 5, 10, 20)},
    **{f"skip-gram w{w}": {**SKIPGRAM, "window": w} for w in (1, 2, 5, 10, 20)},
}
PAPER = {"min_count": 41, "cbow_update": "exact", "shrink_windows": False}
FIXED = {
    f"{name}, {kind} {rate}": {
        **model,
        **PAPER,
        "alpha": rate,
        **({"min_alpha": rate} if kind == "fixed" else {}),
    }
    for name, model in {"attention": {**ATTENTION, "attention_warmup": 0.0}, "CBOW": EXACT}.items()
    for kind, rate in [
        ("fixed", 0.05),
        ("fixed", 0.1),
        ("fixed", 0.2),
        ("fixed", 0.4),
        ("fixed", 0.6),
        ("fixed", 0.8),
        ("falling", 0.2),
    ]
}

TABLES = {
    "tables": Table(MAIN, COLUMNS, less="attention w20"),
    "ablation": Table(
        ABLATION,
        COLUMNS,
        "What moves the rows, whether windows are reduced at random, and what attention sees.",
    ),
    "windows": Table(WINDOWS, {**SYNTAX, **TAGGING, **WORDS}),
    "taggers": Table(
        {name: WINDOWS[name] for name in ("CBOW w1", "CBOW w20", "attention w20", "structured skip-gram w5")},
        {("bilstm-tagging", "wsj_sample"): "tagging with the LSTM, WSJ"},
    ),
    "fixed-rate": Table(
        FIXED,
        {
            ("pos-induction", "ud_ewt.dev"): "V, EWT dev",
            ("pos-induction", "wsj_sample"): "V, WSJ",
            **WORDS,
        },
        "The paper's fixed rate and vocabulary; rates are chosen by EWT dev.",
    ),
}

TITLE = "Attention-CBOW and its rivals (Ling et al. 2015)"
NOTE = (
    "Wikipedia, cased, 50 dimensions, 10 negatives, one epoch, no sub-sampling. V: V-measure of "
    "part-of-speech induction, the most likely of 10 restarts; tagging: accuracy of the linear window probe; "
    "SST: accuracy on dev; ws353, mturk287: Spearman. Mean ± standard deviation over the seeds."
)

if __name__ == "__main__":
    run_study(__doc__, "ling2015", TITLE, COMMON, TABLES, note=NOTE)
