"""Measures training in this process: the loop alone, and whole epochs with workers."""

from __future__ import annotations

import itertools
import time
from functools import partial
from typing import Any

import numpy as np

from wordvec_ca.corpus import EncodedCorpus
from wordvec_ca.models import EmbeddingModel, ResolvedConfig, TrainConfig
from wordvec_ca.training import Trainer


class Loop:
    """The training loop on encoded text in this process; each call returns words per CPU second."""

    def __init__(
        self, encoded: EncodedCorpus, options: dict[str, Any], isa: str | None = None, null: bool = False
    ) -> None:
        config = ResolvedConfig.of(TrainConfig(**{"workers": 1, **options}))
        model = EmbeddingModel(config, encoded.vocab)
        model.initialise()
        for array in model.shared:
            array += 0  # the first write to a page allocates it, which takes time
        self._trainer = Trainer(model, encoded.tokens)
        self._worker = self._trainer.replica.workers[0]
        self._worker.hyper["alpha_begin"] = self._worker.hyper["alpha_end"] = 0 if null else 0.01
        self._worker.hyper["attention_rate"] = float(config.model == "cbow-attn")
        self._worker.hyper["skip_dots"] = null
        if isa is not None:
            from wordvec_ca.kernels import _sgns

            self._trainer.replica.kernel = partial(_sgns.train_chunk, isa=isa)
        self._least = 0.6

    def __call__(self) -> float:
        """Measure once."""
        trainer, worker, words = self._trainer, self._worker, 0
        replica = trainer.replica
        size = trainer.chunk_tokens
        started, last = time.thread_time(), 0.0
        for begin in itertools.cycle(range(0, len(trainer.tokens), size)):
            tokens = trainer.tokens[begin : begin + size]
            replica.kernel(
                worker.hyper, tokens, replica.keep, replica.negatives.at(0), trainer.model.shared, worker.rng,
                worker.stats, trainer.model.paths, worker.private, replica.lock,
            )  # fmt: skip
            words += int(np.count_nonzero(tokens >= 0))
            last = time.thread_time() - started
            if last >= self._least:
                break
        return words / last


class Run:
    """Training for an epoch in this process; calling it returns words per second of wall time."""

    def __init__(self, encoded: EncodedCorpus, options: dict[str, Any]) -> None:
        self._encoded, self._config = encoded, ResolvedConfig.of(TrainConfig(**options, epochs=1))

    def __call__(self) -> float:
        """Measure once."""
        model = EmbeddingModel(self._config, self._encoded.vocab)
        model.initialise()
        trainer = Trainer(model, self._encoded.tokens)
        trainer.run()
        return float(np.count_nonzero(self._encoded.tokens >= 0)) / trainer.seconds
