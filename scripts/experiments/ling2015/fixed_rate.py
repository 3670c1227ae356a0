"""The protocol of the paper: a fixed learning rate, and a vocabulary of words with more than 40 occurrences.

    python scripts/experiments/ling2015/fixed_rate.py --data "$CAWV_DATA" --output fixed-rate --lines 156003

Attention (without the warm-up, which the paper does not have) and CBOW, both with window 20, are trained at
fixed rates and at one falling rate, with every seed. Finished cells are skipped. The rule was written down
before the runs: the table has a row for each model and rate; all are shown, none is chosen.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))
from recipes import ATTENTION, CBOW, COMMON, TUNE_RESTARTS
from records import append_line, read_lines
from study import lines_of, parsed_study, parser, say, table, write_section

from wordvec_ca.corpus import TextOptions, encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.eval import plan, pos_induction, read_tagged, run
from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train

TITLE = "Attention-CBOW and its rivals (Ling et al. 2015)"

MORE_THAN = 40
"""Words of the paper's vocabulary occur more often than this."""

MODELS: dict[str, dict[str, Any]] = {
    "attention": {**ATTENTION, "attention_warmup": 0.0},
    "CBOW": {**CBOW, "cbow_update": "exact", "shrink_windows": False},
}

RATES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)

FALLING = 0.2
"""The default of both models, from which the rate falls to nearly 0."""

COLUMNS = ("V, EWT dev", "V, WSJ", "ws353")
"""Rates are chosen by the first; the others judge."""


def main() -> None:
    """Train and judge the models that are not finished, then write the section."""
    arguments = parser(__doc__, "ling2015", data=True)
    arguments.add_argument("--workers", type=int, default=1)
    options = parsed_study(arguments, "fixed-rate", seeds="1,2,3")
    log = options.output / "fixed_rate.jsonl"
    cells = [
        (model, rate, falls, seed)
        for seed in options.seeds
        for model in MODELS
        for rate in RATES
        for falls in (False, True)
        if not falls or rate == FALLING
    ]
    done = {tuple(line["cell"]): line["values"] for line in read_lines(log)}
    if any(cell not in done for cell in cells):
        config = TextOptions(
            tokenizer=COMMON["tokenizer"], lowercase=False, min_count=MORE_THAN + 1, workers=options.workers
        )
        folder = options.output / "text"
        with encode_corpus(lines_of(options.corpus, options.lines), config, cache_dir=folder) as text:
            for cell in cells:
                if cell not in done:
                    say(f"{cell}")
                    done[cell] = judged(text, cell, options)
                    append_line(log, {"cell": list(cell), "values": done[cell]})
    rows = []
    for model in MODELS:
        for falls, rate in sorted({(falls, rate) for _, rate, falls, _ in cells}):
            found = [done[model, rate, falls, seed] for seed in options.seeds]
            shown = [
                "diverged" if None in found else _spread([values[name] for values in found])
                for name in COLUMNS
            ]
            rows.append([model, "falls" if falls else "fixed", f"{rate:g}", *shown])
    body = [
        "## The paper's fixed learning rate",
        f"Wikipedia, the first {options.lines:,} lines, words of more than {MORE_THAN} occurrences, "
        f"{COMMON['vector_size']} dimensions, window {COMMON['window']}, {COMMON['negative']} negatives, one "
        f"epoch, exact step, windows of one size, no warm-up; seeds: {len(options.seeds)} (mean ± standard "
        f"deviation where there are several); V is the mean of {TUNE_RESTARTS} restarts. The paper "
        "has 530 M tokens, a fixed rate that it does not give, and no other detail of the step.",
        table(("model", "rate", "alpha", *COLUMNS), rows),
    ]
    write_section(options.page, TITLE, "fixed-rate", "\n\n".join(body))


def judged(text: Any, cell: tuple[str, float, bool, int], options: Any) -> dict[str, float] | None:
    """Train a cell and return its figures by column; None if training diverged."""
    model, rate, falls, seed = cell
    chosen = {**COMMON, **MODELS[model], "alpha": rate, "min_count": MORE_THAN + 1, "seed": seed}
    if not falls:
        chosen["min_alpha"] = rate
    try:
        trained = train(text, TrainConfig(**chosen, workers=options.workers))
    except DataError:
        return None
    induced = [
        pos_induction.evaluate(
            trained.vectors,
            read_tagged(options.data / "pos" / f"{name}.tsv"),
            seed=seed,
            restarts=TUNE_RESTARTS,
            workers=options.workers,
        ).value
        for name in ("ud_ewt.dev", "wsj_sample")
    ]
    jobs, _ = plan(["similarity"], folder=options.data)
    similar = next(iter(run(trained.vectors, [job for job in jobs if job.dataset == "ws353"], seed=seed)))
    return dict(zip(COLUMNS, (*induced, similar.value), strict=True))


def _spread(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"


if __name__ == "__main__":
    main()
