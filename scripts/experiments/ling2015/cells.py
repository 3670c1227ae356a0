"""Trains and judges cells; a cell is a recipe with a seed, and one of several processes does it, once."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack

from recipes import COMMON, TUNED, Recipe, recipes
from records import append_line, claimed, report_path
from study import lines_of, say
from tables import DATASETS
from tuning import Tuning, encoded

from wordvec_ca.corpus import EncodedCorpus
from wordvec_ca.eval import Report, plan, run
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.runs import train
from wordvec_ca.vectors import KeyedVectors


def run_all(options: argparse.Namespace) -> int:
    """Train and judge the cells that are not finished: the main recipes, seed by seed, then the others.

    Several processes may do this at the same time.

    Returns
    -------
    int
        Number of cells that are still not finished.
    """
    deadline = time.monotonic() + 60 * options.minutes
    tuning = Tuning(options, deadline)
    alphas = tuning.alphas()
    left = run_cells([r for r in recipes() if r.table == "main"], alphas, options, deadline)
    left += run_cells([r for r in recipes() if r.table == "longer"], alphas, options, deadline)
    tuned = tuning.attention(alphas["attention"]) if "attention" in alphas else None
    known = recipes(tuned)
    left += run_cells([r for r in known if r.name == TUNED], alphas, options, deadline)
    left += run_cells([r for r in known if r.table == "ablation"], alphas, options, deadline)
    return left + (tuned is None)


def run_cells(
    chosen: Sequence[Recipe], alphas: dict[str, float], options: argparse.Namespace, deadline: float
) -> int:
    """Run some recipes, all with the first seed before the second; return how many cells are not finished."""
    cells = [
        (recipe, seed)
        for seed in options.seeds
        for recipe in chosen
        if re.search(options.only, recipe.name)
        and (recipe.table != "ablation" or seed in options.seeds[: options.ablation_seeds])
        and not report_path(options, recipe, seed).exists()
    ]
    left = len(cells)
    if not cells or time.monotonic() > deadline:
        return left
    texts: dict[bool, EncodedCorpus] = {}
    with ExitStack() as stack:
        for recipe, seed in cells:
            if time.monotonic() > deadline:
                break
            if recipe.family not in alphas:  # another process is still choosing its learning rate
                continue
            with claimed(report_path(options, recipe, seed)) as free:
                if free:
                    lower = recipe.options.get("lowercase", COMMON["lowercase"])
                    if lower not in texts:
                        lines = options.lines
                        corpus = options.corpus if lines is None else lines_of(options.corpus, lines)
                        text = encoded(corpus, options, "lower" if lower else "all", lower)
                        texts[lower] = stack.enter_context(text)
                    run_cell(texts[lower], recipe, seed, alphas[recipe.family], options)
                    left -= 1
    return left


def run_cell(
    text: EncodedCorpus, recipe: Recipe, seed: int, alpha: float, options: argparse.Namespace
) -> None:
    """Train one recipe with one seed, judge it, and write the report."""
    say(f"{recipe.name}, seed {seed}")
    folder = options.output / "models" / f"{recipe.slug}.{seed}"
    config = recipe.config(seed, options.workers, alpha)
    if not (folder / "config.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        trained = train(text, config, output=folder, overwrite=True)
        if trained.record["interrupted"]:
            raise KeyboardInterrupt
    started = time.monotonic()
    reports = evaluate(KeyedVectors.load(folder), options, seed)
    record = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    line = {
        "recipe": recipe.name,
        "seed": seed,
        "alpha": ResolvedConfig.of(config).alpha,
        "words_per_second": record["timings"].get("words_per_second"),
        "attention_concentration": record.get("attention_concentration"),
        "evaluation_seconds": round(time.monotonic() - started, 1),
        **{f"{r.task} {r.dataset}": r.value for r in reports},
    }
    path = report_path(options, recipe, seed)
    content = {"line": line, "reports": [report.to_dict(items=True) for report in reports]}
    partial = path.with_suffix(".partial")
    with gzip.open(partial, "wt", encoding="utf-8") as stream:
        json.dump(content, stream)
    os.replace(partial, path)
    append_line(options.output / "results.jsonl", line)


def evaluate(vectors: KeyedVectors, options: argparse.Namespace, seed: int) -> list[Report]:
    """Judge vectors on the data sets of the tables."""
    tasks = list(dict.fromkeys(task for task, _ in DATASETS))
    jobs, _ = plan(tasks, folder=options.data)
    jobs = [job for job in jobs if (job.task, job.dataset) in DATASETS]
    return list(run(vectors, jobs, seed=seed, workers=options.workers))
