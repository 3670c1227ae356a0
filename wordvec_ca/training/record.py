"""The record of a run: the content of config.json besides the options."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wordvec_ca.corpus import CorpusStats, EncodedCorpus
from wordvec_ca.kernels import STATS
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training.trainer import Trainer, isa_in_use


def loop_settings(config: ResolvedConfig, hyper: np.ndarray) -> dict[str, Any]:
    """Return the settings of the training loop: its instruction set, and the values it chose for the text."""
    names = ("drawn", "shared_by", "n_private", "merge_every")
    return {"isa": isa_in_use(config), **{name: int(hyper[name][0]) for name in names}}


def recorded(
    config: ResolvedConfig,
    *,
    fingerprint: str,
    stats: CorpusStats,
    loop: Mapping[str, Any],
    tallies: Mapping[str, float],
    losses: Sequence[float],
    valid_losses: Sequence[float],
    started: float,
    seconds: float,
    reading: float,
    fraction: float,
    interrupted: bool,
    block_tokens: int | None = None,
) -> dict[str, Any]:
    """Return the record of a run for ``config.json``: text, kernel, losses, timings, platform."""
    words, weighed = tallies.get("words", 0.0), tallies.get("weighed", 0.0)
    return {
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        "interrupted": interrupted,
        "trained_fraction": fraction,
        "corpus": {"fingerprint": fingerprint, **stats.as_dict()},
        "kernel": {
            "backend": config.backend,
            **loop,
            "block_tokens": block_tokens,
            "merge_every": loop.get("merge_every") if loop.get("n_private") else None,
        },
        "loss_by_epoch": _none_for_nan(losses),
        "valid_loss_by_epoch": _none_for_nan(valid_losses),
        "predictions": int(tallies.get("examples", 0)),
        "timings": {
            "encoding_seconds": round(reading, 3),
            "training_seconds": round(seconds, 3),
            "words_per_second": round(words / seconds) if seconds else None,
        },
        "attention_concentration": tallies["concentration"] / weighed if weighed else None,
        "platform": {"python": sys.version.split()[0], "numpy": np.__version__, "system": sys.platform},
    }


def run_record(
    trainer: Trainer, encoded: EncodedCorpus, started: float, *, interrupted: bool
) -> dict[str, Any]:
    """Return the record of a run on one machine for ``config.json``."""
    stats, replicas = encoded.stats, trainer.replicas
    record = recorded(
        trainer.config,
        fingerprint=encoded.fingerprint,
        stats=stats,
        loop=loop_settings(trainer.config, trainer.hyper),
        tallies=dict(zip(STATS, trainer.totals().tolist(), strict=True)),
        losses=trainer.losses,
        valid_losses=trainer.valid_losses,
        started=started,
        seconds=trainer.seconds,
        reading=stats.seconds_reading + stats.seconds_merging + stats.seconds_renumbering,
        fraction=trainer.schedule.fraction(trainer.reached),
        interrupted=interrupted,
        block_tokens=trainer.chunk_tokens if trainer.model.subwords is not None else None,
    )
    record["replicas"] = {
        **replicas.plan.as_record(),
        "threads": [replica.threads for replica in replicas.all],
        "merges": replicas.merges,
        "merging_seconds": round(replicas.merge_seconds, 3),
    }
    return record


def _none_for_nan(losses: Sequence[float]) -> list[float | None]:
    """Replace nan, the loss of an epoch without a prediction, by None for JSON."""
    return [None if math.isnan(loss) else loss for loss in losses]
