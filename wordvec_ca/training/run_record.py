"""The record of a run: what config.json says besides the options."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from wordvec_ca.corpus import EncodedCorpus
from wordvec_ca.kernels import STATS
from wordvec_ca.training.checkpointing import isa_in_use
from wordvec_ca.training.trainer import Trainer


def run_record(
    trainer: Trainer, encoded: EncodedCorpus, started: float, *, interrupted: bool
) -> dict[str, Any]:
    """Return what ``config.json`` says of a run: text, kernel, losses, timings, platform."""
    config, hyper = trainer.config, trainer.hyper
    tallies = dict(zip(STATS, trainer.totals().tolist(), strict=True))
    stats = encoded.stats
    reading = stats.seconds_reading + stats.seconds_merging + stats.seconds_renumbering
    return {
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        "interrupted": interrupted,
        "trained_fraction": trainer.schedule.fraction(trainer.reached),
        "corpus": {"fingerprint": encoded.fingerprint, **stats.as_dict()},
        "kernel": {
            "backend": config.backend,
            "isa": isa_in_use(config),
            "drawn": int(hyper["drawn"][0]),
            "shared_by": int(hyper["shared_by"][0]),
            "n_private": int(hyper["n_private"][0]),
            "block_tokens": trainer.chunk_tokens if trainer.model.subwords is not None else None,
            "merge_every": int(hyper["merge_every"][0]) if hyper["n_private"][0] else None,
        },
        "replicas": {
            **trainer.replicas.plan.as_record(),
            "threads": [replica.threads for replica in trainer.replicas.all],
            "merges": trainer.replicas.merges,
            "merging_seconds": round(trainer.replicas.merge_seconds, 3),
        },
        "loss_by_epoch": _none_for_nan(trainer.losses),
        "valid_loss_by_epoch": _none_for_nan(trainer.valid_losses),
        "predictions": int(tallies["examples"]),
        "timings": {
            "encoding_seconds": round(reading, 3),
            "training_seconds": round(trainer.seconds, 3),
            "words_per_second": round(tallies["words"] / trainer.seconds) if trainer.seconds else None,
        },
        "attention_concentration": tallies["concentration"] / tallies["weighed"]
        if tallies["weighed"]
        else None,
        "platform": {"python": sys.version.split()[0], "numpy": np.__version__, "system": sys.platform},
    }


def _none_for_nan(losses: Sequence[float]) -> list[float | None]:
    """Return what JSON can hold; nan is the loss of an epoch without a prediction."""
    return [None if math.isnan(loss) else loss for loss in losses]
