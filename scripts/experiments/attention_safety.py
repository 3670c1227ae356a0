"""Do places of the window lose all attention, and is there a warning? cbow-attn over rates, seeds and texts.

    python scripts/experiments/attention_safety.py --data "$CAWV_DATA"

trains each setting on a short text, and measures the attention that each place gets in a part of the text
that the warning of `cawv train` does not use. A place is dead if it gets less than a twentieth of an equal
share. This limit is higher than that of the warning, so that the warning is judged by another rule than its
own.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
import study
from study import Runs, Setting, lines_of, table, write_section

from wordvec_ca.corpus import EncodedCorpus, TextOptions, encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.models import TrainConfig, weights_by_place
from wordvec_ca.runs import train

TITLE = "Do places of the window die?"
DEAD = 0.05
HELD_BACK = 40_000
"""Number of first tokens that are not used for the judgement; the warning uses the first 20,000."""

TEXTS = {"Wikipedia, first": 0, "Wikipedia, later": 20_000}
"""Number of the first line of each text."""

RATES = (0.4, 0.2, 0.6, 0.3, 0.1, 0.05)
PARTS = (None, "near:2,far")
COMMON: dict[str, Any] = {"model": "cbow-attn", "workers": 1}


def settings(seeds: int) -> Iterator[dict[str, Any]]:
    """Yield text, parts, rate, step and seed of each run; the most usual settings come first."""
    for seed in range(1, seeds + 1):
        for rate in RATES:
            for parts in PARTS:
                for text in TEXTS:
                    if parts is None or rate >= 0.2:
                        yield {"text": text, "parts": parts, "alpha": rate, "seed": seed, "options": {}}
    for seed in range(1, seeds + 1):
        for rate in (0.025, 0.05):
            yield {"text": "Wikipedia, first", "parts": None, "alpha": rate, "seed": seed,
                   "options": {"cbow_update": "word2vec"}}  # fmt: skip
        yield {"text": "Wikipedia, first", "parts": None, "alpha": 0.2, "seed": seed,
               "options": {"attention_warmup": 0.0}}  # fmt: skip
        yield {"text": "Wikipedia, first", "parts": None, "alpha": 0.2, "seed": seed,
               "options": {"sample": 0.0, "lowercase": False}}  # fmt: skip


def encoded(options: argparse.Namespace, name: str, lowercase: bool) -> EncodedCorpus:
    """Return one of the texts."""
    lines = list(lines_of(options.data / "corpora" / "wiki.30M.txt.xz", options.lines, TEXTS[name]))
    text = TextOptions(tokenizer="words", lowercase=lowercase, min_count=5, workers=1)
    return encode_corpus(iter(lines), text, cache_dir=tempfile.mkdtemp())


def look(text: EncodedCorpus, setting: dict[str, Any], size: dict[str, Any]) -> dict[str, Any]:
    """Train one setting and return the lowest share of a place, the dead places, and the warnings."""
    config = TrainConfig(
        **{**COMMON, **size, **setting["options"]},
        parts=setting["parts"],
        alpha=setting["alpha"],
        seed=setting["seed"],
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model = train(text, config)
        except DataError as error:
            return {"diverged": str(error)}
    told = [str(one.message) for one in said if "attention has collapsed" in str(one.message)]
    shares = weights_by_place(model, np.asarray(text.tokens[HELD_BACK : 2 * HELD_BACK]))
    dead = [
        f"{part.name}{offset:+d}"
        for part, by_place in shares
        for offset, share in zip(part.offsets, by_place, strict=True)
        if share < DEAD
    ]
    return {
        "lowest": float(min(by_place.min() for _, by_place in shares)),
        "nearest": float(min(shares[0][1][len(shares[0][1]) // 2 - 1 :][:2])),
        "dead": dead,
        "told": told,
        "loss": model.record["loss_by_epoch"][-1],
    }


def main() -> None:
    """Do the unfinished runs, then write the page."""
    parser = study.parser(__doc__, "attention-safety", log="attention-safety.jsonl", data=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--lines", type=int, default=15_600, help="of each text; 15,600 are a million words")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--vector-size", type=int, default=50)
    parser.add_argument("--report", action="store_true", help="only write the page")
    options = parser.parse_args()
    runs = Runs(options.log, options.minutes)
    size = {"vector_size": options.vector_size, "epochs": options.epochs}
    texts: dict[tuple[str, bool], EncodedCorpus] = {}

    def run(setting: Setting) -> dict[str, Any]:
        which = setting["text"], setting["options"].get("lowercase", True)
        if which not in texts:
            texts[which] = encoded(options, *which)
        return look(texts[which], setting, size)

    for setting in [] if options.report else settings(options.seeds):
        runs.outcome(setting, run)
    done = list(runs.done.values())
    write_section(options.page, TITLE, "places", text_of(done, options))


def lowest(runs: list[dict[str, Any]], what: str) -> float:
    """Return the lowest share over some runs."""
    return min((float(one[what]) for one in runs), default=float("nan"))


def text_of(done: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """Return the claims and the table."""
    alive = [one for one in done if "diverged" not in one]
    silent = [one for one in alive if one["dead"] and not one["told"]]
    false = [one for one in alive if one["told"] and not one["dead"]]
    usual = [one for one in alive if one["setting"]["alpha"] <= 0.2 and not one["setting"]["options"]]
    groups: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
    for one in done:
        setting = one["setting"]
        more = ", ".join(f"{name} {value}" for name, value in setting["options"].items())
        groups.setdefault((setting["parts"] or "", more, setting["alpha"]), []).append(one)
    rows = []
    for (parts, more, alpha), those in sorted(groups.items()):
        living = [one for one in those if "diverged" not in one]
        rows.append(
            [
                parts,
                more,
                f"{alpha:g}",
                len(those),
                len(those) - len(living),
                sum(bool(one["dead"]) for one in living),
                sum(bool(one["told"]) for one in living),
                f"{lowest(living, 'lowest'):.3f}",
                f"{lowest(living, 'nearest'):.2f}",
                ", ".join(sorted({place for one in living for place in one["dead"]})),
            ]
        )
    return "\n\n".join(
        [
            f"* {len(done)} runs; {len(done) - len(alive)} diverged, and stopped with an error.\n"
            f"* **In {len(silent)} runs a place died without a warning.** In {len(false)} there was a "
            "warning and no dead place.\n"
            f"* At rates up to 0.2, the default, with all else as it is by default: {len(usual)} runs, the "
            f"lowest share of any place {lowest(usual, 'lowest'):.3f} of "
            "an equal one.",
            f"{options.lines:,} lines of Wikipedia (15,600 are a million words), {options.vector_size} "
            f"dimensions, {options.epochs} epoch{'s' * (options.epochs > 1)}, window 20, all else by default "
            "(sub-sampling at 1e-3, lower case). "
            f"Shares: 1 is an equal share; a place is dead below {DEAD:g}.",
            table(
                ("parts", "options", "alpha", "runs", "diverged", "with dead places", "with a warning")
                + ("lowest share", "lowest next to the target", "dead"),
                rows,
            ),
        ]
    )


if __name__ == "__main__":
    main()
