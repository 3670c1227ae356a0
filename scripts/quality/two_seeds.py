"""How much do two seeds of one recipe differ on full sets, and does ``cawv compare`` call them different?

    python scripts/quality/two_seeds.py --data "$CAWV_DATA" --folder two-seeds

Some seeds measure what training adds to the variance over items, for ``DEVIATIONS`` in
eval/statistics/training.py. Neither of two other seeds is better, so a verdict on them that is not a tie is
false. Then recipes that differ are compared. All sets of DATA are used in full size, and files of STS by
themselves, too. Models and results stay in ``--folder``; one core needs some hours, and a second run
continues where the first one ended.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, norm

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, lines_of, parser, say, table, write_section

from wordvec_ca import KeyedVectors, TrainConfig, train
from wordvec_ca.eval import Difference, Report, compare, holm, plan, run

TITLE = "Two seeds of one recipe, and recipes that differ"

LINES = {"1M": 15_608, "3M": 46_863, "10M": 156_003}
"""Size of text -> its lines."""

RECIPES = ("cbow.1M.100", "cbow.3M.100", "cbow.10M.100", "cbow-attn.1M.100", "skipgram.1M.100")
"""Model, size of text, dimensions."""

MEASURED, JUDGED = (*range(1, 9), *range(101, 113)), tuple(range(201, 221))
"""Seeds that measure, and seeds that judge; of larger models not all are trained."""

UNEQUAL = {
    "attention less CBOW": ("cbow.1M.100", "cbow-attn.1M.100"),
    "skip-gram less CBOW": ("cbow.1M.100", "skipgram.1M.100"),
    "3 M words less 1 M": ("cbow.1M.100", "cbow.3M.100"),
    "10 M words less 3 M": ("cbow.3M.100", "cbow.10M.100"),
    "100 dimensions less 50": ("cbow.1M.50", "cbow.1M.100"),
}
CALLED = 0.05

Reports = dict[tuple[str, str], Report]


def main() -> None:
    """Train and judge what is missing, compare, and write the record."""
    asked = parser(__doc__, "two-seeds", data=True)
    asked.add_argument("--folder", type=Path, default=Path("two-seeds"), help="what is finished")
    asked.add_argument("--report", action="store_true", help="only write the tables")
    given = asked.parse_args()
    (corpus,) = data_files(given.data, "corpora/wiki.30M.txt.xz")
    if not given.report:
        for seed in (*MEASURED, *JUDGED):
            for recipe in (*RECIPES, "cbow.1M.50"):
                judge(given, corpus, f"{recipe}.{seed}")

    @cache
    def of(recipe: str, seeds: tuple[int, ...]) -> list[Reports]:
        paths = (given.folder / f"{recipe}.{seed}.json.gz" for seed in seeds)
        return [read(path) for path in paths if path.exists()]

    measured = {recipe: of(recipe, MEASURED) for recipe in RECIPES}
    judged = {recipe: of(recipe, JUDGED) for recipe in (*RECIPES, "cbow.1M.50")}
    trained = ", ".join(f"{len(runs)} seeds of {name}" for name, runs in measured.items())
    parts = [
        "Wikipedia, 3 epochs; names are model, words of text and dimensions. SICK's test part was not at "
        "hand: its trial and training parts are used. Not all models were judged by sentiment, tagging and "
        "induction.",
        f"What trainings add, from {trained}: σ is the root of (mean D² − mean SE²) / 2, where D is the "
        "difference of two seeds and SE its standard error over items; it is negative where that is. The "
        "last two columns are over all recipes.",
        table(("task", "set", "items", *RECIPES, "σ", "SE"), spreads(measured)),
        "Verdicts on pairs of seeds that did not measure, which are false if they are not ties; brackets are "
        "exact 95 % intervals. *Items alone* is without what trainings add.",
        table(("commands", "n", "false", "share", "items alone"), false_verdicts(judged.values())),
        "Recipes that differ, the same seeds; verdicts of commands with all sets that both have among the "
        "same words.",
        table(("difference", "task", "better", "tie", "worse", "mean"), gains(judged)),
    ]
    body = "\n\n".join(parts)
    print(body)
    write_section(given.page, TITLE, "two-seeds", body)


def judge(given: Any, corpus: Path, name: str) -> None:
    """Train a model and write the reports on it, unless they are there."""
    path = given.folder / f"{name}.json.gz"
    if path.exists():
        return
    say(name)
    model, size, dimensions, seed = name.split(".")
    config = TrainConfig(model=model, vector_size=int(dimensions), epochs=3, workers=1, seed=int(seed))  # type: ignore[arg-type]
    vectors: KeyedVectors = train(lines_of(corpus, LINES[size]), config, progress=False).wv
    found = []
    for dataset, job in jobs(given.data):
        for report in run(vectors, [job], name=name, workers=1):
            report.dataset = dataset
            found.append(report.to_dict(items=True))
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path.with_suffix(".part"), "wt", encoding="utf-8") as stream:
        json.dump(found, stream)
    os.replace(path.with_suffix(".part"), path)


@cache
def jobs(data: Path) -> list[tuple[str, Any]]:
    """Return all jobs, and each file of STS and of SICK by itself, as people give them."""
    found = [(job.dataset, job) for job in plan(None, folder=data)[0]]
    for path in sorted(data.glob("sentences/sts20*/*.tsv")):
        found += [(f"{path.parent.name}-{path.stem}", job) for job in plan(["sts"], files={"sts": [path]})[0]]
    sick = plan(["sick"], files={"sick": [data / "sentences" / "sick" / "train.tsv"]})[0]
    return found + [("sick-train", job) for job in sick]


def read(path: Path) -> Reports:
    """Return the reports of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        reports = map(Report.from_dict, json.load(stream))
        return {(report.task, report.dataset): report for report in reports}


def compared(first: Reports, second: Reports, resamples: int = 400) -> list[Difference]:
    """Return all differences of a pair of models; other words are not compared."""
    return compare(
        list(first.values()), [list(second.values())], resamples=resamples, refused=lambda error: None
    )


def spreads(measured: dict[str, list[Reports]]) -> Iterator[list[Any]]:
    """Yield a row for each set."""
    for task, dataset in dict.fromkeys(key for runs in measured.values() for one in runs for key in one):
        cells, all_squares, n = [], [], 0
        for runs in measured.values():
            having = [one[task, dataset] for one in runs if (task, dataset) in one]
            if len(having) < 3:
                cells.append("")
                continue
            n = having[0].n
            pairs = zip(having, having[1:] + having[:1], strict=True)
            found = [compare([one], [[other]], resamples=200)[0] for one, other in pairs]
            half = norm.ppf(0.975)
            error = np.mean([((d.high - d.low) / 2 / half) ** 2 - d.training**2 for d in found])
            square = float(np.var([report.value for report in having], ddof=1) - error / 2)
            all_squares.append((len(having) - 1, square, error))
            cells.append(signed_root(square))
        weights, squares, errors = np.array(all_squares).T
        total, error = np.average(squares, weights=weights), np.average(errors, weights=weights)
        yield [task, dataset, f"{n:,}", *cells, signed_root(total), f"{error**0.5:.4f}"]


def signed_root(square: float) -> str:
    """Return the root of a variance, with the sign of the variance."""
    return f"{np.sign(square) * abs(square) ** 0.5:+.4f}"


def false_verdicts(judged: Iterable[list[Reports]]) -> Iterator[list[Any]]:
    """Yield a row for commands with one set of each task, with the sets of a task, and with all."""
    outcomes: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for runs in judged:
        for first, second in zip(runs[::2], runs[1::2], strict=False):  # no seed is used twice
            differences = compared(first, second)
            groups = defaultdict(list, {"all tasks": differences})
            for one in differences:
                outcomes[f"one set of {one.task}"].append((one.p < CALLED, one.p_of_items < CALLED))
                groups[f"all sets of {one.task}"].append(one)
            for name, those in groups.items():
                called = [
                    min(holm(p)) < CALLED for p in ([d.p for d in those], [d.p_of_items for d in those])
                ]
                outcomes[name].append((called[0], called[1]))
    outcomes["one set, all tasks"] = [
        x for name, those in outcomes.items() if "one set" in name for x in those
    ]
    for name in sorted(outcomes, key=lambda name: (name == "all tasks", "all tasks" in name, name)):
        found, alone = (sum(each) for each in zip(*outcomes[name], strict=True))
        n = len(outcomes[name])
        exact = binomtest(found, n).proportion_ci(method="exact")
        share = f"{found / n:.1%} [{exact.low:.1%}, {exact.high:.1%}]".replace("%", " %")
        yield [name, n, found, share, alone]


def gains(judged: dict[str, list[Reports]]) -> Iterator[list[Any]]:
    """Yield a row for each pair of recipes and task."""
    for name, (less, more) in UNEQUAL.items():
        of_task: dict[str, list[Difference]] = defaultdict(list)
        for first, second in zip(judged[less][:4], judged[more][:4], strict=False):
            for one in compared(first, second):
                of_task[one.task].append(one)
        for task, those in of_task.items():
            verdicts = [one.verdict for one in those]
            numbers = [sum(v == kind for v in verdicts) for kind in ("better", "tie", "worse")]
            yield [name, task, *numbers, f"{np.mean([one.difference for one in those]):+.3f}"]


if __name__ == "__main__":
    main()
