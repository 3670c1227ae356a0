"""The record of a run on a cluster: what config.json contains in addition to the options."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from wordvec_ca.cluster.request import ClusterRequest
from wordvec_ca.cluster.rounds import Rounds
from wordvec_ca.cluster.words import Words
from wordvec_ca.corpus import CorpusStats
from wordvec_ca.training import recorded


def cluster_record(
    request: ClusterRequest,
    rounds: Rounds,
    vocabulary: Words,
    *,
    started: float,
) -> dict[str, Any]:
    """Return the ``config.json`` of a run, with ``cluster``; ``started`` is in seconds since 1970."""
    state, members, totals = rounds.state, rounds.members, rounds.state.totals
    found = [state.encoded[shard.number] for shard in request.shards]
    stats = replace(
        CorpusStats.total(each.stats for each in found),
        raw_types=vocabulary.raw_types,
        files=len(request.files),
    )
    fingerprint = hashlib.blake2b("".join(each.fingerprint for each in found).encode(), digest_size=16)
    return {
        "command": request.command,
        "settings": None if request.settings is None else dict(request.settings),
        "changes": [],
        **recorded(
            request.config,
            fingerprint=fingerprint.hexdigest(),
            stats=stats,
            loop=rounds.loop,
            tallies=totals.tallies,
            losses=state.losses,
            valid_losses=state.valid_losses,
            started=started,
            seconds=state.seconds,
            reading=totals.seconds.get("counting", 0.0) + totals.seconds.get("encoding", 0.0),
            fraction=state.fraction,
            interrupted=not state.ledger.finished,
        ),
        "run": request.run,
        "sessions": state.sessions,
        "cluster": {
            "nodes": [
                {
                    "name": m.name,
                    "workers": m.threads,
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
            "segments": state.ledger.segments,
            "shards": len(request.shards),
            "bytes_moved": totals.bytes_moved,
            "seconds": {name: round(value, 3) for name, value in totals.seconds.items()},
            "seconds_waiting": round(totals.waiting, 3),
        },
    }
