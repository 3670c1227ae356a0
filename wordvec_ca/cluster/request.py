"""The request for a run on a cluster, and its record in ``run.json``, from which the run is resumed."""

from __future__ import annotations

import contextlib
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordvec_ca.cluster.connection import check_cluster_address
from wordvec_ca.cluster.engine import PATIENCE
from wordvec_ca.cluster.lock import LOCK_FILE
from wordvec_ca.cluster.shards import Shard
from wordvec_ca.errors import DataError, Option, OptionError
from wordvec_ca.files import Storage, is_url
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.runs import REQUEST_FILE, Request, request_in, run_folder
from wordvec_ca.training import Checkpoints, Interval, parse_interval

VOCAB, COUNTED = "vocab.tsv", "counted.json"
"""Files with the words that a run has counted, and with the note that they are complete."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Where a run executes and which failures it tolerates.

    Parameters
    ----------
    cluster : str, default "local"
        ``local``: ``nodes`` nodes on this machine, to try it; ``auto``: the cluster to which this
        machine belongs; or ``HOST:PORT`` of its head, of which this machine must be a node.
    nodes : int, default 2
        How many replicas of the parameters to train, and at most so many nodes to use. With fewer, a node
        trains several replicas in turn; those that come later are taken up between two merges.
    checkpoint_dir : str, optional
        A folder that all nodes see, or a URL, for checkpoints; by default ``OUTPUT.run``.
    patience : float, default 60
        Seconds after which a node that answers nothing is given up, and to wait for nodes.
    storage_patience : str, default "30m"
        For how long the text and the storage of checkpoints may be away before the run ends: 90s, 30m, 2h.
        Meanwhile it trains on what the nodes hold.

    Raises
    ------
    ValueError
        An option is outside its limits.
    """

    cluster: str = "local"
    nodes: int = 2
    checkpoint_dir: str | None = None
    patience: float = PATIENCE
    storage_patience: str = "30m"

    def __post_init__(self) -> None:
        check_cluster_address(self.cluster)
        if not 1 <= self.nodes <= 1024:
            raise ValueError(f"nodes must be 1 to 1024; got {self.nodes}")
        parse_patience(self.storage_patience)


@dataclass(frozen=True, kw_only=True)
class ClusterRequest(Request):
    """The request for a run on a cluster."""

    output: str
    # files, valid: The text and the held-out text, by names that all nodes know.
    files: tuple[str, ...]
    valid: tuple[str, ...]
    # How the text is divided.
    shards: tuple[Shard, ...]
    # Where checkpoints go: a folder that all nodes see, or a URL.
    storage: str
    # See ``check_cluster_address``.
    cluster: str
    # Largest number of nodes.
    nodes: int
    # Seconds without an answer after which a node counts as dead.
    patience: float
    # Seconds for which storage may be unreachable.
    storage_patience: float = 1800.0
    cache_dir: str | None = None

    def as_record(self) -> dict[str, Any]:
        """Return the request as values for JSON."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        shards = [shard.as_dict() for shard in self.shards]
        return {**record, **super().as_record(), "shards": shards}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> ClusterRequest:
        """Return a request from ``as_record``'s result; a damaged record raises ValueError, TypeError or
        KeyError.
        """
        if "cluster" not in record:
            raise DataError(
                f"the run of {record['output']!r} is on a single machine: resume it without a cluster"
            )
        record["config"] = ResolvedConfig.from_dict(record["config"])
        record["shards"] = tuple(Shard.from_dict(shard) for shard in record["shards"])
        record["files"], record["valid"] = tuple(record["files"]), tuple(record["valid"])
        return cls(**record)

    def sources(self) -> list[str]:
        """Return the names of the texts, and where checkpoints go."""
        return [*self.files, *self.valid, self.storage]

    def write(self) -> None:
        """Write the record to the storage and next to the output, so that the run is found from either."""
        for storage in self.places():
            self.write_file(storage)

    def places(self) -> list[Storage]:
        """Return where the run writes: its checkpoints, and the folder next to its output."""
        storage = Storage(self.storage, self.storage_patience)
        beside = Storage(run_folder(self.output), self.storage_patience)
        return [storage] if storage.place == beside.place else [storage, beside]

    @classmethod
    def read(cls, place: str | os.PathLike[str]) -> ClusterRequest:
        """Read the record of a run."""
        given = os.fspath(place)
        places = [given] if is_url(given) else [given, os.fspath(run_folder(given.rstrip("/")))]
        for folder in places:
            if (request := request_in(Storage(folder), cls.from_record)) is not None:
                return request
        raise DataError(
            f"there is no run on a cluster to resume in {given!r}: give the output of the run, its folder "
            "OUTPUT.run, or the place of its checkpoints"
        )

    def clear(self) -> None:
        """Remove what the run has written to the storage and next to the output, its lock included."""
        for storage in self.places():
            clear(storage, LOCK_FILE)


def clear(storage: Storage, *more: str) -> None:
    """Remove all files that a run has written, and the folder if nothing else is in it."""
    # The request last: a folder that is removed only in part is still known as a run's; --resume removes it.
    # A lock without a request could not be resumed, and would refuse a new run from another machine for ever.
    for name in (*Checkpoints(storage).names(), VOCAB, COUNTED, *more, REQUEST_FILE):
        storage.remove(name)
    storage.remove_folder()


def parse_patience(text: str) -> float:
    """Convert a time such as ``30m`` (s, m, h, d) to seconds; 0 for ``never``."""
    try:
        interval = parse_interval(text)
    except ValueError:
        interval = Interval()
    if interval is None:
        return 0.0
    if math.isinf(interval.seconds):
        raise OptionError(
            Option("storage_patience"), f" is {text!r}; it must be a time such as 90s, 30m, 2h, or never"
        )
    return interval.seconds


def is_cluster_run(place: str | os.PathLike[str]) -> bool:
    """Return whether the unfinished run of an output, or at a URL, is a run on a cluster."""
    given = os.fspath(place)
    if is_url(given):
        return True
    for folder in (Path(given), Path(run_folder(given.rstrip("/")))):
        with contextlib.suppress(OSError, ValueError):
            if "cluster" in json.loads((folder / REQUEST_FILE).read_bytes()):
                return True
    return False


def files_of_cluster_run(place: str | os.PathLike[str]) -> list[str]:
    """Return the names of the texts that an unfinished run on a cluster reads.

    Raises
    ------
    DataError
        There is no run, or its record cannot be used.
    """
    request = ClusterRequest.read(place)
    return [*request.files, *request.valid]
