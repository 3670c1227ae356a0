"""Graded change of meaning: Spearman with people's judgements, on the samples of SemEval-2020 task 1.

Writes a section of docs/measurements/changed-words.md. Models of each text with seeds of their own; about ten
seconds of one core for each pair of models.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from scipy.stats import spearmanr
from study import Runs, Setting, data_files, parser, table, values, write_section

from wordvec_ca.change.texts import PERMUTATIONS, Slices
from wordvec_ca.models import ResolvedConfig, TrainConfig

MEASURES = ("distance", "turnover", "both", "change")
TEXTS = {"english": ("ccoha1.txt", "ccoha2.txt"), "german": ("dta.txt", "bznd.txt")}


def main() -> None:
    """Train, compare and write the page."""
    options = parser(__doc__, "changed-words", data=True, log="semantic-change.jsonl")
    options.add_argument("--models", default="skipgram", help="which models, with commas between them")
    options.add_argument("--repeats", type=int, default=5, help="pairs of models for each text")
    options.add_argument("--epochs", type=int, default=10, help="passes over each text")
    given = options.parse_args()
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
    title = "Are the p-values of `cawv change` right?"
    seconds = sum(record["seconds"] for record in runs.done.values())
    write_section(given.page, title, "semeval", body + table(columns, rows), seconds)


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
    """Return how far the targets moved between models of the two texts, and how far their contexts differ."""
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
