"""Does ``cawv compare`` call two seeds of one recipe different? Does it detect the gain from twice the text?

There are five recipes with four or five seeds each. All pairs of seeds are compared on all tasks of ``cawv
eval``, on small sets. Neither of two seeds is better, so a verdict that is not a tie is false. Then a model
of twice the text is compared with one of the text, on large sets. Writes docs/evidence/data/;
takes about ten minutes of one core. Models and results stay in ``--folder``, and a second run continues where
the first one ended.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, lines_of, parser, say, table, write_section

from wordvec_ca import KeyedVectors, TrainConfig, train
from wordvec_ca.corpus import EncodedCorpus, TextOptions, encode_corpus
from wordvec_ca.eval import Report, compare, holm, plan, reports_in, run

TITLE = "Two seeds of one recipe, and twice the text"

RECIPES = {"cbow": 5, "skipgram": 5, "ssg": 5, "cwindow": 4, "cbow-attn": 4}
"""Model -> number of its seeds: 42 pairs."""

TWICE = ("cbow", "skipgram")
"""Recipes that are also trained on twice the text."""

LINES_PER_MILLION = 15_608
LARGE = ("similarity/ws353", "analogy/questions-words", "sts/sts2012", "sentiment/trec")
"""The largest sets of the quick tasks."""


def main() -> None:
    """Train, judge, compare and write the page."""
    options = parser(__doc__, "two-seeds", data=True)
    options.add_argument("--folder", type=Path, default=Path("two-seeds"), help="what is finished")
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--only", help="judge this recipe and write no page, to share the work")
    given = options.parse_args()
    corpus, _ = data_files(given.data, "corpora/wiki.30M.txt.xz", "wordsim")
    small = small_sets(given.data, given.folder / "sets", corpus)
    began = time.process_time()

    @cache
    def text(million: int) -> EncodedCorpus:
        lines = lines_of(corpus, million * LINES_PER_MILLION)
        return encode_corpus(lines, TextOptions(), cache_dir=given.folder / f"text-{million}")

    def common() -> list[str]:
        return [word for word in text(1).vocab.words if word in text(2).vocab.index]

    of_recipe: dict[str, list[list[dict[str, Any]]]] = {}
    more: list[tuple[Report, Report]] = []
    for recipe, n_seeds in RECIPES.items():
        if given.only not in (None, recipe):
            continue
        judged = [
            reports(given.folder / f"{recipe}-{seed}.json", recipe, seed, partial(text, 1), small, given)
            for seed in range(1, n_seeds + 1)
        ]
        of_recipe[recipe] = verdicts(given.folder / f"{recipe}.verdicts", judged)
        if recipe not in TWICE:
            continue
        both = [
            reports(
                given.folder / f"{recipe}-{name}-text.json",
                recipe,
                1,
                partial(text, million),
                given.data,
                given,
                common,
            )
            for name, million in (("one", 1), ("two", 2))
        ]
        more += zip(*both, strict=True)
    if given.only is not None:
        return
    body = (
        f"{', '.join(f'{recipe} ({n} seeds)' for recipe, n in RECIPES.items())}; 1 M words of Wikipedia, "
        f"{given.epochs} epochs; all {sum(map(len, of_recipe.values()))} pairs of seeds of one recipe, which "
        "share models. Sets are small, and parts of the public ones where these are large. Not run: "
        "bilstm-tagging (PyTorch; hours).\n\n"
        + table(
            ("task", "sets", "comparisons", "p < .05", "not a tie, task alone", "not a tie, all tasks"),
            false_verdicts(of_recipe),
        )
        + "\n\n*p < .05* is before Holm's adjustment: chance gives 5 %; brackets are its 95 % interval if "
        "comparisons were independent. *Task alone*: `cawv compare --tasks TASK`, adjusted for the "
        "sets of the task; *all tasks*: one command with all of them.\n\n"
        f"Twice the text ({' and '.join(TWICE)}; 2 M words beside the first 1 M of them, same seed, adjusted "
        "for all comparisons of a recipe):\n\n"
        + table(("task", "set", "items", "mean difference", "better", "tie", "worse"), gains(more))
    )
    seconds = sum(float(path.read_text()) for path in given.folder.glob("*.seconds"))
    write_section(given.page, TITLE, "two-seeds", body, seconds + time.process_time() - began)


def small_sets(data: Path, folder: Path, corpus: Path) -> Path:
    """Write the sets of all tasks into a folder; of large sets only the beginning."""
    for part, limit in (
        ("wordsim/*.tsv", None),
        ("analogy/questions-words.txt", None),
        ("categorization/*.tsv", None),
        ("sentences/sick/trial.tsv", None),
        ("sentences/sts2013/OnWN.tsv", None),
        ("sentences/trec/test.tsv", None),
        ("sentences/trec/train.tsv", 600),
    ):
        for path in sorted(data.glob(part)):
            copy = folder / path.relative_to(data)
            if copy.exists():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_text("utf-8").splitlines(keepends=True)
            copy.write_text("".join(lines[:limit]), "utf-8")
    tagged = (data / "pos" / "ud_ewt.dev.tsv").read_text("utf-8").split("\n\n")[:700]
    (folder / "pos").mkdir(parents=True, exist_ok=True)
    (folder / "pos" / "ewt.tsv").write_text("\n\n".join(tagged) + "\n", "utf-8")
    held_out = lines_of(corpus, 60, 29 * LINES_PER_MILLION)
    (folder / "sequences").mkdir(exist_ok=True)
    sequences = [" ".join(line.lower().split()[:40]) + "\n" for line in held_out]
    (folder / "sequences" / "wiki.test.txt").write_text("".join(sequences), "utf-8")
    return folder


def reports(
    path: Path,
    recipe: str,
    seed: int,
    text: Callable[[], EncodedCorpus],
    data: Path,
    given: Any,
    common: Callable[[], list[str]] | None = None,
) -> list[Report]:
    """Return the reports on a model, from its file if that exists."""
    if not path.exists():
        began = time.process_time()
        config = TrainConfig(model=recipe, epochs=given.epochs, seed=seed, workers=1)  # type: ignore[arg-type]
        vectors: KeyedVectors = train(text(), config, progress=False).wv
        jobs, _ = plan(None, folder=data)
        if common is not None:
            jobs = [job for job in jobs if f"{job.task}/{job.dataset}" in LARGE]
        words = None if common is None else common()
        times = {"training": round(time.process_time() - began, 1)}
        found = []
        for job in jobs:
            start = time.process_time()
            found += run(vectors, [job], workers=1, name=path.stem, common=words, skipped=say_skipped)
            times[f"{job.task}/{job.dataset}"] = round(time.process_time() - start, 1)
        path.write_text("\n".join(report.to_json(items=True) for report in found), "utf-8")
        path.with_suffix(".seconds").write_text(f"{time.process_time() - began:.1f}")
        say(f"{path.stem}: {times}")
    return reports_in(path)


def say_skipped(entry: object) -> None:
    """Print the task that was skipped."""
    say(f"skipped: {str(entry)[:200]}")


def verdicts(path: Path, judged: list[list[Report]]) -> list[list[dict[str, Any]]]:
    """Return what ``compare`` finds for each pair of models, from its file if that exists."""
    if not path.exists():
        began = time.process_time()
        found = [
            [one.to_dict() for one in compare(first, [second])]
            for first, second in itertools.combinations(judged, 2)
        ]
        path.write_text(json.dumps(found), "utf-8")
        path.with_suffix(".seconds").write_text(f"{time.process_time() - began:.1f}")
    return json.loads(path.read_text("utf-8"))


def false_verdicts(of_recipe: dict[str, list[list[dict[str, Any]]]]) -> Iterable[list[Any]]:
    """Return a row for each task, and one for all."""
    sets: dict[str, set[str]] = defaultdict(set)
    low: dict[str, list[bool]] = defaultdict(list)
    alone: dict[str, int] = defaultdict(int)
    together: dict[str, int] = defaultdict(int)
    for pairs in of_recipe.values():
        for differences in pairs:
            of_task: dict[str, list[float]] = defaultdict(list)
            for one in differences:
                task = one["task"]
                sets[task].add(one["dataset"])
                of_task[task].append(one["p"])
                low[task].append(one["p"] < 0.05)
                together[task] += one["verdict"] in ("better", "worse")
                if one["p"] < 0.05:
                    names = (one[name] for name in ("baseline", "model", "task", "dataset"))
                    say(f"{' '.join(names)}: {one['difference']:+.3f}, p {one['p']:.4f}")
            for task, p in of_task.items():
                alone[task] += sum(adjusted < 0.05 for adjusted in holm(p))
    rows = [
        [task, len(sets[task]), len(low[task]), share(low[task]), alone[task], together[task]]
        for task in sets
    ]
    every = [one for those in low.values() for one in those]
    n_sets = sum(map(len, sets.values()))
    rows.append(["all", n_sets, len(every), share(every), sum(alone.values()), sum(together.values())])
    return rows


def share(outcomes: list[bool]) -> str:
    """Return a share with its 95 % interval."""
    found = binomtest(sum(outcomes), len(outcomes))
    interval = found.proportion_ci(method="wilson")
    return f"{found.statistic:.1%} [{interval.low:.1%}, {interval.high:.1%}]".replace("%", " %")


def gains(pairs: list[tuple[Report, Report]]) -> Iterable[list[Any]]:
    """Return a row for each set: how often the model of twice the text is better."""
    by_recipe: dict[str, list[tuple[Report, Report]]] = defaultdict(list)
    for pair in pairs:
        by_recipe[pair[0].model].append(pair)
    found = defaultdict(list)
    for these in by_recipe.values():
        less, more = zip(*these, strict=True)
        for one in compare(list(less), [list(more)]):
            found[one.task, one.dataset].append(one)
    for (task, dataset), those in found.items():
        verdicts = [one.verdict for one in those]
        mean = sum(one.difference for one in those) / len(those)
        numbers = [verdicts.count(name) for name in ("better", "tie", "worse")]
        yield [task, dataset, f"{those[0].n:,}", f"{mean:+.3f}", *numbers]


if __name__ == "__main__":
    main()
