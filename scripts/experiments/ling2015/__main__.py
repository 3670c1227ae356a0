"""Ling et al. 2015, Table 1: is attention worth it, for syntax and for semantics?

    python scripts/experiments/ling2015 --data "$CAWV_DATA" --output ling2015

trains every recipe with every seed, judges it, and writes docs/evidence/data/ling2015.json. Finished runs are
skipped, so the command can be stopped and started again; after ``--minutes`` it starts no run, and
``--report`` only writes the tables from the finished runs. OUTPUT has models/ (the model directories),
reports/ (one gzipped JSON file per recipe and seed, with the outcome of every item) and results.jsonl (one
line for each).

Learning rates are chosen first, one for each model and gradient, by part-of-speech induction on UD
English-EWT dev with a third of the text and one seed. Nothing is chosen on the sets of the tables.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
from cells import run_all
from figures import plot, profile
from recipes import ATTENTION, COMMON, TUNE_LINES, TUNE_RESTARTS, TUNED, recipes
from study import parsed_study, parser, say, write_section
from tables import collect, differences_table, results_table
from tuning import Tuning

TITLE = "Attention-CBOW and its rivals (Ling et al. 2015)"


def write_results(options: argparse.Namespace) -> None:
    """Write the page: tables and plots."""
    tuning = Tuning(options, -math.inf)
    alphas = tuning.alphas()
    known = recipes(tuning.attention(alphas["attention"]) if "attention" in alphas else None)
    found = collect(options, known)
    if not found:
        say("there are no results yet")
        return
    figures = options.page.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    plot(found, known, figures)
    places = profile(options, figures)
    settings = list(tuning.done.values())
    text = [
        "## The tables",
        "",
        f"Wikipedia, {'30 M words' if options.lines is None else f'the first {options.lines:,} lines'}, "
        f"cased, punctuation split off; {COMMON['vector_size']} dimensions, {COMMON['negative']} negatives, "
        f"{COMMON['epochs']} epoch, no sub-sampling, words that occur {COMMON['min_count']} times. "
        f"{len(settings)} settings were tried on 10 M words and UD English-EWT dev, none on the other "
        "sets. Every seed trains anew and starts the induction anew.",
        "",
        *results_table(found, known, "main"),
        "",
        "Mean ± standard deviation over the seeds. V: V-measure of part-of-speech induction, the most likely "
        "of 10 restarts; tagging: accuracy of the linear window probe; SST: accuracy on dev, C by "
        "cross-validation on train; ws353, mturk287: Spearman.",
        "",
        "## Differences",
        "",
        *differences_table(found, known),
        "",
        *(differences_table(found, known, TUNED) if TUNED in found else []),
        "",
        "95 % intervals from seeds and sentences together (Student's t); ties after Holm's correction over "
        "each table.",
        "",
        "![V-measure of all recipes](figures/ling2015-v.png)",
        "",
        "## What of it is attention",
        "",
        *results_table(found, known, "ablation"),
        "",
        "word2vec and exact: what the context rows are moved by; fixed and reduced: the window; full, "
        "position, word: what the attention depends on.",
        "",
        "## More training",
        "",
        *results_table(found, known, "longer"),
        "",
        "Three epochs instead of one; d100 n5: 100 dimensions and 5 negatives; alpha 0.05: the usual "
        "rate, which those in lower case have too; as usual: lower case and sub-sampling at 1e-3.",
        "",
    ]
    if places:
        text += ["## Attention by place", "", "![Attention by place](figures/ling2015-places.png)", ""]
        text += [*[f"* {line}" for line in places], ""]
    text += [f"## The {len(settings)} settings tried", ""]
    text += ["| family | alpha | what else was varied | V, EWT dev |", "|---|---|---|---|"]
    for tried in settings:
        varied = ""
        if tried["family"] == "attention, search":
            varied = f"logits' rate x {tried['attention_alpha'] / tried['alpha']:g}"
            for name in ("attention_warmup", "shrink_windows", "attention", "sample"):
                if name in tried and tried[name] != ATTENTION.get(name):
                    varied += f", {name} {tried[name]}"
        v = "diverged" if "failed" in tried else f"{tried['v']:.3f}"
        text.append(f"| {tried['family']} | {tried['alpha']:g} | {varied} | {v} |")
    text += [
        "",
        "10 M words, one seed; V is the mean over "
        f"{TUNE_RESTARTS} restarts, which is steadier than the best.",
    ]
    write_section(options.page, TITLE, "ling2015", "\n".join(text))


def main() -> None:
    """Do the runs that are not finished, then write the results."""
    arguments = parser(__doc__, "ling2015", data=True)
    arguments.add_argument("--ablation-seeds", type=int, default=1, help="so many seeds for the ablations")
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--minutes", type=float, default=math.inf, help="start nothing new after this")
    arguments.add_argument("--tune-lines", type=int, default=TUNE_LINES)
    options = parsed_study(arguments, "ling2015", seeds="1,2,3")
    left = 0 if options.report else run_all(options)
    if left:
        sys.exit(f"{left} or more runs are left: give the command again")
    write_results(options)


if __name__ == "__main__":
    main()
