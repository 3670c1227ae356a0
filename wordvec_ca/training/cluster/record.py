"""The record of a run on a cluster: what config.json says besides the options."""

from __future__ import annotations

import datetime
import hashlib
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wordvec_ca.corpus import CorpusStats
from wordvec_ca.training.cluster.request import ClusterRequest
from wordvec_ca.training.cluster.rounds import Rounds
from wordvec_ca.training.cluster.words import Words


def cluster_record(
    request: ClusterRequest,
    rounds: Rounds,
    vocabulary: Words,
    *,
    started: float,
    seconds: float,
    sessions: int,
    losses: Sequence[float],
    valid_losses: Sequence[float],
) -> dict[str, Any]:
    """Return what ``config.json`` says of a run: as of one on one machine, and ``cluster``.

    Parameters
    ----------
    request : ClusterRequest
        What was asked for.
    rounds : Rounds
        What was done.
    vocabulary : Words
        How many there are.
    started, seconds : float
        When the run began (seconds since 1970), and how long it trained.
    sessions : int
        How often it was started or resumed.
    losses, valid_losses : sequence of float
        Of the epochs.
    """
    totals, members, config = rounds.totals, rounds.members, request.config
    tallies = totals.tallies
    found = [rounds.custody.known[shard.number] for shard in request.shards]
    stats = replace(
        CorpusStats.total(each.stats for each in found),
        raw_types=vocabulary.raw_types,
        files=len(request.files),
    )
    fingerprint = hashlib.blake2b("".join(each.fingerprint for each in found).encode(), digest_size=16)
    reading = totals.seconds.get("counting", 0.0) + totals.seconds.get("encoding", 0.0)
    words, weighed = tallies.get("words", 0.0), tallies.get("weighed", 0.0)
    loop = dict(rounds.loop)
    isa = loop.pop("isa", None)
    return {
        "command": request.command,
        "settings": None if request.settings is None else dict(request.settings),
        "changes": [],
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        "interrupted": not rounds.ledger.finished,
        "trained_fraction": rounds.fraction,
        "corpus": {"fingerprint": fingerprint.hexdigest(), **stats.as_dict()},
        "kernel": {
            "backend": config.backend,
            "isa": isa,
            **loop,
            "block_tokens": None,
            "merge_every": loop.get("merge_every") if loop.get("n_private") else None,
        },
        "loss_by_epoch": [None if math.isnan(loss) else loss for loss in losses],
        "valid_loss_by_epoch": [None if math.isnan(loss) else loss for loss in valid_losses],
        "predictions": int(tallies.get("examples", 0)),
        "timings": {
            "encoding_seconds": round(reading, 3),
            "training_seconds": round(seconds, 3),
            "words_per_second": round(words / seconds) if seconds else None,
        },
        "attention_concentration": tallies["concentration"] / weighed if weighed else None,
        "platform": {"python": sys.version.split()[0], "numpy": np.__version__, "system": sys.platform},
        "run": request.run,
        "sessions": sessions,
        "cluster": {
            "nodes": [
                {
                    "name": m.name,
                    "workers": m.workers,
                    "words": int(m.words),
                    "seconds": round(m.seconds, 3),
                    "processor_seconds_training": round(m.processor, 3),
                    "processor_seconds": round(m.status.get("processor", 0.0), 3),
                }
                for m in members.all
            ],
            "lost": members.deaths,
            "left_out": list(members.left_out.values()),
            "merging": rounds.plan(request.nodes).as_record(),
            "merges": totals.merges,
            "segments": rounds.ledger.segments,
            "shards": len(request.shards),
            "bytes_moved": totals.bytes_moved,
            "seconds": {name: round(value, 3) for name, value in totals.seconds.items()},
            "seconds_waiting": round(totals.waiting, 3),
        },
    }
