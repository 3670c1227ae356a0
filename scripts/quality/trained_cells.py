"""Trained cells of a study of forms (words, dimensions, model, seed), and the sets that judge them."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, lines_of

from wordvec_ca.corpus import EncodedCorpus, TextOptions, encode_corpus
from wordvec_ca.eval import plan, pos_induction, read_tagged
from wordvec_ca.eval.tasks.sts import evaluate as judge_sentences
from wordvec_ca.models import EmbeddingModel, TrainConfig
from wordvec_ca.runs import train
from wordvec_ca.vectors import KeyedVectors

MODELS: dict[str, dict[str, Any]] = {
    f"{model}{name}": {"model": model, **options}
    for model in ("cbow", "skipgram", "cbow-attn")
    for name, options in (("", {}), (", n-grams", {"subwords": True}))
}

LINES = {1: 15_608, 3: 46_800, 10: 156_003, 30: None}
"""Million words -> lines of the text."""


def cell(words: int, size: int, model: str, seed: int) -> Setting:
    """Return the settings that identify a training."""
    return {"words": words, "size": size, "model": model, "seed": seed}


class Judge:
    """Judges vectors on the sets of a data folder."""

    def __init__(self, data: Path) -> None:
        names = ["similarity", "analogy", "categorization", "sentiment", "sts"]
        self.jobs = {(job.task, job.dataset): job for job in plan(names, folder=data)[0]}
        self.data = data

    def value(self, vectors: KeyedVectors, task: str, dataset: str) -> float:
        """Return the headline of one set."""
        from wordvec_ca.eval import run

        return float(next(iter(run(vectors, [self.jobs[task, dataset]], workers=1))).value)

    def sentences(self, vectors: KeyedVectors, *datasets: str) -> dict[str, float]:
        """Return Pearson's r of sentence pairs, for SIF and for plain means."""
        readouts = {name: {"method": name.lower(), "attention": False} for name in ("SIF", "mean")}
        pairs = [self.jobs["sts", name].data.read() for name in datasets]
        reports = [judge_sentences(vectors, one, readouts=readouts) for one in pairs]
        return {name: statistics.mean(one.metrics[name].value for one in reports) for name in readouts}

    def induction(self, vectors: KeyedVectors, name: str, column: int) -> float:
        """Return the mean V-measure of three restarts."""
        corpus = read_tagged(self.data / "pos" / name, tag_column=column)
        induced = pos_induction.evaluate(vectors, corpus, restarts=3, workers=1)
        return statistics.mean(one["v_measure"] for one in induced.details["restarts"])


class Study:
    """Trains each cell once; its model is kept in a folder, and its CPU seconds in the log."""

    def __init__(self, corpus: Path, folder: Path, judge: Judge, runs: Runs) -> None:
        self.corpus, self.folder, self.judge, self.runs = corpus, folder, judge, runs
        self._texts: dict[int, EncodedCorpus] = {}

    def text(self, words: int) -> EncodedCorpus:
        """Return the first words of the text, encoded."""
        if words not in self._texts:
            self._texts.clear()  # one at a time: 30 M words take 120 MB
            self._texts[words] = encode_corpus(
                lines_of(self.corpus, LINES[words]), TextOptions(workers=1), cache_dir=self.folder, keep=True
            )
        return self._texts[words]

    def place(self, setting: Setting) -> Path:
        """Return where the model of a cell is, or will be."""
        words, size, model, seed = (setting[name] for name in ("words", "size", "model", "seed"))
        return self.folder / f"{words}M.{size}.{model.replace(', ', '-').replace(' ', '-')}.{seed}"

    def model(self, setting: Setting) -> EmbeddingModel:
        """Train a cell, or read it."""
        place = self.place(setting)
        if not (place / "config.json").exists():
            options = {**MODELS[setting["model"]], "vector_size": setting["size"], "seed": setting["seed"]}
            text = self.text(setting["words"])

            def trained(_: Setting) -> dict[str, float]:
                train(text, TrainConfig(workers=1, **options), output=place, overwrite=True)
                return {}

            self.runs.done.pop(Runs.key(key := {**setting, "form": "", "sets": "training"}), None)
            self.runs.outcome(key, trained)
        return EmbeddingModel.load(place)
