"""Graded change of meaning: Spearman with people's judgements, on the samples of SemEval-2020 task 1.

Writes two sections of docs/measurements/changed-words.md: rank correlations, and how often rules for calling
a word changed agree with people's yes or no. The models of the two texts have different seeds. It takes about
ten seconds of one core for each pair of models.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from scipy.stats import spearmanr
from study import Runs, Setting, data_files, parser, table, values, write_section

from wordvec_ca.change import Changes, harmonic_mean_count
from wordvec_ca.change.result import FALSE_DISCOVERIES
from wordvec_ca.change.statistics import LIKE, strata, typical
from wordvec_ca.change.texts import PERMUTATIONS, REPEATS, Slices
from wordvec_ca.models import ResolvedConfig, TrainConfig

MEASURES = ("distance", "turnover", "both", "change")
TEXTS = {"english": ("ccoha1.txt", "ccoha2.txt"), "german": ("dta.txt", "bznd.txt")}

TITLE = "Are the p-values of `cawv change` right?"

ROBUST = 1.4826
"""Times this, the median absolute deviation of a normal distribution is its standard deviation."""


def main() -> None:
    """Train, compare and write the page."""
    options = parser(__doc__, "changed-words", data=True, log="semantic-change.jsonl")
    options.add_argument("--models", default="skipgram", help="which models, with commas between them")
    options.add_argument("--repeats", type=int, default=5, help="pairs of models for each text")
    options.add_argument("--epochs", type=int, default=10, help="passes over each text")
    options.add_argument("--verdicts", action="store_true", help="only rules for yes or no")
    given = options.parse_args()
    verdicts(given.page, given.data, Runs(given.log, given.minutes))
    if given.verdicts:
        return
    runs, rows = Runs(given.log, given.minutes), []
    for language in TEXTS:
        (truth,) = data_files(given.data, f"change/{language}/truth/graded.txt")
        gold = dict(line.split("\t") for line in truth.read_text(encoding="utf-8").splitlines())
        for model in values(given.models):
            setting = {"language": language, "model": model, "epochs": given.epochs}
            measure_targets = functools.partial(measured, data=given.data, targets=list(gold))
            found = [
                runs.outcome(setting | {"seed": seed}, measure_targets)
                for seed in range(1, given.repeats + 1)
            ]
            if None in found:
                continue
            known = found[0]["targets"]  # type: ignore[index]
            judged = [float(gold[word]) for word in known]
            cells = [language, model, f"{len(known)} of {len(gold)}"]
            for measure in MEASURES:
                figures = np.array([one[measure] for one in found])  # type: ignore[index]
                alone = [spearmanr(one, judged).statistic for one in figures]
                together = spearmanr(figures.mean(axis=0), judged).statistic
                spread = f" ± {np.std(alone, ddof=1):.3f}" if len(alone) > 1 else ""
                cells += [f"{np.mean(alone):.3f}{spread}", f"{together:.3f}"]
            rows.append(cells)
    columns = ["language", "model", "targets"]
    for measure in MEASURES:
        columns += [f"{measure}, one pair", "mean"]
    body = (
        f"Spearman with graded change, {given.epochs} epochs, 100 dimensions, window 10. One pair of models "
        f"(mean of {given.repeats} ± standard deviation), and the measures' mean over "
        f"{given.repeats} pairs. Distance and turnover: between models of the two texts. Both: the sum of a "
        "word's ranks in the two, among words of like frequency. Change: between contexts, in the vectors of "
        "one model:\n\n"
    )
    seconds = sum(record["seconds"] for record in runs.done.values() if "model" in record["setting"])
    write_section(given.page, TITLE, "semeval", body + table(columns, rows), seconds)


def rules(found: Changes) -> dict[str, np.ndarray]:
    """Return which words each rule calls changed. All rules were written down before the first figures.

    The rules after the second also require a size: the interval of the excess is above 0, the excess is above
    a robust standard deviation, or the distance between models is that much above the median of words of
    similar frequency.
    """
    fdr, change, low, high, excess, distance, rank = (
        np.array([getattr(one, name) for one in found.words])
        for name in ("fdr", "change", "low", "high", "excess", "distance", "distance_rank")
    )
    counts = harmonic_mean_count(np.array([one.counts for one in found.words]).T)
    sure = fdr <= FALSE_DISCOVERIES
    certain = sure & (excess > np.where(high < 1, high - change, change - low))
    far = distance > typical(distance, counts) + spread(distance, counts)
    return {
        "fdr at most .05": sure,
        "kept: excess above 0, distance above the median": sure & (excess > 0) & (rank > 0.5),
        "interval of the excess above 0, distance above the median": certain & (rank > 0.5),
        "interval of the excess above 0, excess above 1 sd": certain & (excess > spread(change, counts)),
        "interval of the excess above 0, distance above median + 1 sd": certain & far,
        "excess above 0, distance above median + 1 sd": sure & (excess > 0) & far,
    }


def spread(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the robust standard deviation among words of similar frequency."""
    found = np.empty(len(values))
    for group in strata(counts, LIKE):
        found[group] = ROBUST * np.median(np.abs(values[group] - np.median(values[group])))
    return found


ORDERS = ("distance", "distance_rank", "excess")


def judged_by_rules(setting: Setting, data: Path) -> dict[str, Any]:
    """Return how many words each rule flags, also of stable and of changed targets; and rank correlations."""
    language = setting["language"]
    truth = data_files(data, *(f"change/{language}/truth/{kind}.txt" for kind in ("binary", "graded")))
    gold, graded = (
        dict(line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()) for path in truth
    )
    found = texts_of(language, "skipgram", 10, data).compared(PERMUTATIONS, REPEATS, lambda line: None)
    answers = np.array([gold.get(one.word, "") for one in found.words])
    groups = (np.ones(len(answers), bool), answers == "0", answers == "1")
    flagged = rules(found)
    targets = [one for one in found.words if one.word in graded]
    judged = [float(graded[one.word]) for one in targets]
    return {
        "words": [[int(group.sum()) for group in groups]],
        "flagged": [[int((flags & group).sum()) for group in groups] for flags in flagged.values()],
        "names": list(flagged),
        "spearman": [
            float(spearmanr([getattr(one, name) for one in targets], judged).statistic) for name in ORDERS
        ],
    }


def verdicts(page: Path, data: Path, runs: Runs) -> None:
    """Write the section on yes or no."""
    rows, orders, seconds = [], [], 0.0
    for language in TEXTS:
        outcome = runs.outcome(
            {"verdicts": "skipgram", "language": language}, functools.partial(judged_by_rules, data=data)
        )
        if outcome is None:
            return
        seconds += outcome["seconds"]
        ((words, stable, changed),) = outcome["words"]
        orders.append([language, *(f"{value:.3f}" for value in outcome["spearman"])])
        for name, (all_flagged, wrong, right) in zip(outcome["names"], outcome["flagged"], strict=True):
            accuracy = (right + stable - wrong) / (stable + changed)
            balanced = (right / changed + 1 - wrong / stable) / 2
            rows.append(
                [
                    language,
                    name,
                    f"{all_flagged} of {words:,}",
                    f"{wrong} of {stable}",
                    f"{right} of {changed}",
                    f"{accuracy:.1%}".replace("%", " %"),
                    f"{balanced:.1%}".replace("%", " %"),
                ]
            )
    columns = ("language", "rule", "words flagged", "stable targets flagged", "changed targets flagged",
               "targets answered right", "mean of both kinds of target")  # fmt: skip
    body = (
        "Yes or no: which words does a rule call changed, and do people agree? Skip-gram, 10 epochs, 100 "
        f"dimensions, window 10, {REPEATS} models of each text. The rules, all with fdr at most .05, were "
        "written down before the figures; the best on English was to be kept, and German judges it. Median "
        "and sd (robust: 1.4826 times the median absolute deviation) are of words of like frequency.\n\n"
    )
    body += table(columns, rows) + (
        "\n\nIn what order? Spearman of the same words with graded change; `distance_rank` is the share of "
        "words of like frequency with a smaller distance:\n\n"
    )
    body += table(("language", *ORDERS), orders)
    write_section(page, TITLE, "verdicts", body, seconds)


@functools.lru_cache(maxsize=1)
def texts_of(language: str, model: str, epochs: int, data: Path) -> Slices:
    """Return the encoded texts of a language."""
    config = TrainConfig(
        vectors="input",
        model=model,
        window=10,
        epochs=epochs,
        tokenizer="whitespace",
        lowercase=False,
        min_count=3,
        workers=1,
        attention_warmup=0.1,
    )
    texts = data_files(data, *(f"change/{language}/{name}" for name in TEXTS[language]))
    return Slices(texts, ResolvedConfig.of(config), 3)


def measured(setting: Setting, data: Path, targets: Sequence[str]) -> dict[str, list[float] | list[str]]:
    """Return how far targets moved between models of the two texts, and how much their contexts differ."""
    slices = texts_of(setting["language"], setting["model"], setting["epochs"], data)
    slices.config = dataclasses.replace(slices.config, seed=setting["seed"])
    words = {one.word: one for one in slices.compared(PERMUTATIONS, 1, lambda line: None).words}
    known = [words[word] for word in targets if word in words]
    return {
        "targets": [one.word for one in known],
        "distance": [one.distance for one in known],
        "turnover": [one.turnover for one in known],
        "both": [one.distance_rank + one.turnover_rank for one in known],
        "change": [one.change for one in known],
    }


if __name__ == "__main__":
    main()
