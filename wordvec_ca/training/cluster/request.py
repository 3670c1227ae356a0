"""What a run on a cluster is asked to do, and its record in ``cluster.json``, from which it is resumed."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError, Option, OptionError
from wordvec_ca.files import is_url
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training.checkpoint import Interval, parse_interval
from wordvec_ca.training.cluster.checkpoints import CheckpointStorage
from wordvec_ca.training.cluster.shards import Shard
from wordvec_ca.training.run_directory import run_folder

STORAGE_PATIENCE = 1800.0
"""Seconds for which storage may be away."""

REQUEST_FORMAT = 1
REQUEST_FILE = "cluster.json"


@dataclass(frozen=True, kw_only=True)
class ClusterRequest:
    """What a run on a cluster is asked to do.

    Attributes
    ----------
    config : ResolvedConfig
        Resolved; the number of threads is ``workers`` of this class.
    files, valid : tuple of str
        The text and the held-out text, by names that all nodes know.
    shards : tuple of Shard
        How the text is divided.
    output : str
        The model directory to be.
    storage : str
        Where checkpoints go: a folder that all nodes see, or a URL.
    cluster : str
        See ``check_cluster_address``.
    nodes : int
        How many, at most.
    workers : int or None
        Threads of each node; by default its processors.
    overwrite : bool
        Whether the output may be replaced.
    cache_dir : str or None
        Where nodes put their encoded text.
    checkpoint_every : str
        See ``parse_interval``.
    given_vocab : bool
        Whether the words were given, not counted.
    merging : dict
        What of `MergePlan` is set by hand.
    patience : float
        Seconds after which a node that answers nothing is given up.
    storage_patience : float
        Seconds for which storage may be away.
    command : str or None
        What to type to do this again.
    settings : dict or None
        The same as settings.
    run : str
        Which run.
    """

    config: ResolvedConfig
    files: tuple[str, ...]
    valid: tuple[str, ...]
    shards: tuple[Shard, ...]
    output: str
    storage: str
    cluster: str
    nodes: int
    workers: int | None
    overwrite: bool
    cache_dir: str | None
    checkpoint_every: str
    given_vocab: bool
    merging: Mapping[str, Any]
    patience: float
    storage_patience: float = STORAGE_PATIENCE
    command: str | None = None
    settings: Mapping[str, Any] | None = None
    run: str = field(default_factory=lambda: secrets.token_hex(4))

    def as_record(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        record["config"] = self.config.as_dict()
        record["shards"] = [shard.as_dict() for shard in self.shards]
        record["merging"] = dict(self.merging)
        record["settings"] = None if self.settings is None else dict(self.settings)
        return {"format": REQUEST_FORMAT, "version": __version__, **record}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> ClusterRequest:
        """Return a request from ``as_record``'s result.

        Raises
        ------
        DataError
            The record is damaged.
        """
        try:
            if record.pop("format") != REQUEST_FORMAT:
                raise ValueError("it has a format that this version does not know")
            record.pop("version")
            record["config"] = ResolvedConfig.from_dict(record["config"])
            record["shards"] = tuple(Shard.from_dict(shard) for shard in record["shards"])
            record["files"], record["valid"] = tuple(record["files"]), tuple(record["valid"])
            return cls(**record)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{REQUEST_FILE} cannot be used: {error}; start the run anew") from error

    def write(self) -> None:
        """Write the record to the storage and beside the output, so that either finds the run again."""
        data = json.dumps(self.as_record(), indent=1).encode()
        for place in {self.storage, os.fspath(run_folder(self.output))}:
            CheckpointStorage(place, self.storage_patience).write(REQUEST_FILE, data)

    @classmethod
    def read(cls, place: str | os.PathLike[str]) -> ClusterRequest:
        """Read the record of a run.

        Parameters
        ----------
        place : path or URL
            The output of the run, its folder ``OUTPUT.run``, or the place of its checkpoints.

        Raises
        ------
        DataError
            There is none.
        """
        given = os.fspath(place)
        places = [given] if is_url(given) else [given, os.fspath(run_folder(given.rstrip("/")))]
        for folder in places:
            data = CheckpointStorage(folder).read(REQUEST_FILE)
            if data is None:
                continue
            try:
                record = json.loads(data)
            except ValueError as error:
                raise DataError(f"{folder}/{REQUEST_FILE} cannot be used: {error}") from error
            return cls.from_record(record)
        raise DataError(
            f"there is no run on a cluster to resume in {given!r}: give the --output of the run, its folder "
            "OUTPUT.run, or the place of its checkpoints"
        )

    def clear(self) -> None:
        """Remove what the run has put into the storage and beside the output."""
        for place in {self.storage, os.fspath(run_folder(self.output))}:
            CheckpointStorage(place, self.storage_patience).clear()


def parse_patience(text: str) -> float:
    """Return the seconds that a time such as ``30m`` (s, m, h, d) names; 0 for ``never``.

    Raises
    ------
    ValueError
        It is none.
    """
    try:
        interval = parse_interval(text)
    except ValueError:
        interval = Interval(tokens=1)
    if interval is None:
        return 0.0
    if interval.seconds is None:
        raise OptionError(
            Option("storage_patience"), f" is {text!r}; it must be a time such as 90s, 30m, 2h, or never"
        )
    return interval.seconds


def is_cluster_run(place: str | os.PathLike[str]) -> bool:
    """Return whether the unfinished run of an output, or at a URL, is one on a cluster."""
    given = os.fspath(place)
    if is_url(given):
        return True
    return any((Path(folder) / REQUEST_FILE).is_file() for folder in (given, run_folder(given.rstrip("/"))))
