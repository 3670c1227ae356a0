"""Graded change of meaning: Spearman with people's judgements, on the samples of SemEval-2020 task 1.

Writes a section of docs/measurements/changed-words.md. Models of each text with seeds of their own; about ten
seconds of one core for each pair of models.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from scipy.stats import spearmanr
from study import data_files, parser, say, table, values, write_section

from wordvec_ca.models import ResolvedConfig, TrainConfig
from wordvec_ca.training.changed_words import Slices

TEXTS = {"english": ("ccoha1.txt", "ccoha2.txt"), "german": ("dta.txt", "bznd.txt")}


def main() -> None:
    """Train, compare and write the page."""
    options = parser(__doc__, "changed-words", data=True)
    options.add_argument("--models", default="skipgram", help="which models, with commas between them")
    options.add_argument("--repeats", type=int, default=5, help="pairs of models for each text")
    options.add_argument("--epochs", type=int, default=10, help="passes over each text")
    given = options.parse_args()
    began, rows = time.time(), []
    for language, names in TEXTS.items():
        folder = f"change/{language}"
        *texts, truth = data_files(
            given.data, *(f"{folder}/{name}" for name in names), f"{folder}/truth/graded.txt"
        )
        gold = dict(line.split("\t") for line in truth.read_text(encoding="utf-8").splitlines())
        for model in values(given.models):
            options_of_model = TrainConfig(
                model=model,
                window=10,
                epochs=given.epochs,
                tokenizer="whitespace",
                lowercase=False,
                min_count=3,
                workers=1,
                attention_warmup=0.1,
            )
            slices = Slices(texts, ResolvedConfig.of(options_of_model), 3)
            words = [slices.vocab.words[row] for row in slices.rows]
            known = [words.index(word) for word in gold if word in words]
            judged = [float(gold[words[place]]) for place in known]
            found = []
            for repeat in range(given.repeats):
                one = slices.measured(slices.labels, 1, repeat + 1)
                found.append(np.stack([one.distance[0, known], one.turnover[0, known]]))
                say(f"{language} {model} {repeat + 1}: {spearmanr(found[-1][0], judged).statistic:.3f}")
            cells = [language, model, f"{len(known)} of {len(gold)}"]
            for measure in range(2):
                alone = [spearmanr(one[measure], judged).statistic for one in found]
                mean = spearmanr(np.mean([one[measure] for one in found], axis=0), judged).statistic
                cells += [f"{np.mean(alone):.3f} ± {np.std(alone, ddof=1):.3f}", f"{mean:.3f}"]
            rows.append(cells)
    columns = ("language", "model", "targets", "distance, one pair", "mean", "turnover, one pair", "mean")
    body = (
        f"Spearman with graded change, {given.epochs} epochs, 100 dimensions, window 10. One pair of models "
        f"(mean of {given.repeats} ± standard deviation), and the measures' mean over "
        f"{given.repeats} pairs:\n\n"
    )
    title = "Are the p-values of `cawv change` right?"
    write_section(given.page, title, "semeval", body + table(columns, rows), time.time() - began)


if __name__ == "__main__":
    main()
