"""The request for a run: its texts, its options and the paths of its results, in one object."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from wordvec_ca._version import __version__
from wordvec_ca.corpus import Corpus, EncodedCorpus, Vocab
from wordvec_ca.errors import DataError, Option, OptionError
from wordvec_ca.files import Storage, absolute_name
from wordvec_ca.models import ResolvedConfig, read_record
from wordvec_ca.showable import has_secrets, showable, showable_name, showable_record
from wordvec_ca.training import DEFAULT_INTERVAL, parse_interval

REQUEST_FILE = "run.json"
REQUEST_FORMAT = 1
# Name, in ``run.toml``, of the checksum of the model that was trained further.
BASE_SETTING = "continue-from-crc32"

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Request:
    """The fields of every request, for one machine or a cluster; `train` documents the options.

    Parameters
    ----------
    config : ResolvedConfig
        Options of training.
    output, overwrite, cache_dir, checkpoint_every
        As in ``train``.
    command : str, optional
        Command that repeats the run; it is stored in the record of the model.
    settings : mapping, optional
        The request as settings for ``cawv train --config``, stored as ``run.toml`` in the model directory;
        by default the result of ``RunRequest.as_settings``.
    run : str
        A random identifier of the run, which its checkpoints and its model contain too.

    Raises
    ------
    OptionError
        The learning rate is 0.
    """

    config: ResolvedConfig
    output: str | os.PathLike[str] | None = None
    overwrite: bool = False
    cache_dir: str | os.PathLike[str] | None = None
    checkpoint_every: str = DEFAULT_INTERVAL
    command: str | None = None
    settings: Mapping[str, Any] | None = None
    run: str = field(default_factory=lambda: secrets.token_hex(4))

    def __post_init__(self) -> None:
        if not self.config.alpha:
            raise OptionError(
                Option("alpha"), " is 0, so nothing would be learnt: give more, or leave it out"
            )
        if self.command is not None:
            object.__setattr__(self, "command", showable(self.command))
        if self.settings is not None:
            object.__setattr__(self, "settings", showable_record(dict(self.settings), showable_name))

    def sources(self) -> list[str]:
        """Return the names of all inputs of the run."""
        return []

    def write_file(self, storage: Storage) -> None:
        """Write the request to the file that `request_in` reads; only the owner can read the file if a name
        contains secrets.
        """
        storage.write(REQUEST_FILE, self.as_file(), private=has_secrets(self.sources()))

    def as_record(self) -> dict[str, Any]:
        """Return the request as values for JSON: enough to start the run again, if its texts are files."""
        return {
            "run": self.run,
            "config": self.config.as_dict(),
            "cache_dir": _absolute(self.cache_dir),
            "overwrite": self.overwrite,
            "checkpoint_every": self.checkpoint_every,
            "command": self.command,
            "settings": None if self.settings is None else dict(self.settings),
        }

    def as_file(self) -> bytes:
        """Return the record as a file, which `request_in` reads."""
        record = {"format": REQUEST_FORMAT, "version": __version__, **self.as_record()}
        return json.dumps(record, indent=1).encode() + b"\n"

    def saved_record(self) -> dict[str, Any]:
        """Return the record of the model at the output, if this run has saved it; empty if it has not."""
        with contextlib.suppress(DataError):
            if self.output is not None and (record := read_record(Path(self.output))).get("run") == self.run:
                return record
        return {}

    def is_saved(self) -> bool:
        """Return whether the output is the finished model of this very run."""
        return self.saved_record().get("interrupted") is False


def request_in(storage: Storage, made: Callable[[dict[str, Any]], R]) -> R | None:
    """Return the request stored in a folder; None if there is none."""
    data = storage.read(REQUEST_FILE)
    if data is None:
        return None
    try:
        record = json.loads(data)
        if record.pop("format") != REQUEST_FORMAT:
            raise ValueError("it has a format that this version does not know")
        record.pop("version")
        return made(record)
    except DataError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f"{storage.path(REQUEST_FILE)!r} cannot be used: {error}; start the run again"
        ) from error


@dataclass(frozen=True, kw_only=True)
class RunRequest(Request):
    """The request for a run; `train` documents the fields that are its parameters.

    When a run that was cut short is restored from ``as_record``, ``corpus`` and ``valid`` are lists of names,
    or None if the texts were not files, and ``vocab`` is in the run's folder.

    Parameters
    ----------
    corpus, valid, keep_cache, no_cache, continue_from, init_vectors
        As in ``train``.
    vocab : Vocab, optional
        The vocabulary, if one was given.
    vocab_raw : sequence of int, optional
        ``raw_tokens`` and ``raw_types`` of this vocabulary.
    validates : bool
        Whether there is held-out text.
    """

    corpus: Corpus | EncodedCorpus | None = None
    valid: Corpus | None = None
    vocab: Vocab | None = None
    vocab_raw: Sequence[int] | None = None
    validates: bool = False
    keep_cache: bool = False
    no_cache: bool = False
    continue_from: str | os.PathLike[str] | None = None
    init_vectors: str | os.PathLike[str] | None = None

    def as_record(self) -> dict[str, Any]:
        """Return the request as values for JSON: enough to start the run again, if its texts are files."""
        return {
            **super().as_record(),
            "corpus": absolute_names(self.corpus),
            "valid": absolute_names(self.valid),
            "validates": self.validates,
            "vocab_raw": None if self.vocab is None else [self.vocab.raw_tokens, self.vocab.raw_types],
            "keep_cache": self.keep_cache,
            "no_cache": self.no_cache,
            "continue_from": _absolute(self.continue_from),
            "init_vectors": _absolute(self.init_vectors),
        }

    def as_settings(self) -> dict[str, Any]:
        """Return the request as settings for ``cawv train --config``."""
        # The settings contain the options that differ from the model's defaults, the number of workers, and
        # the texts that are files. If a model is trained further, they contain all options, since the
        # defaults are then the values of the model's first run.
        also = () if self.continue_from is None else tuple(self.config.as_dict())
        settings = {"corpus": absolute_names(self.corpus), **self.config.typed(also=also)}
        settings["valid"] = next(iter(absolute_names(self.valid) or []), None)
        settings["continue_from"] = _absolute(self.continue_from)
        settings["init_vectors"] = _absolute(self.init_vectors)
        found = {name.replace("_", "-"): value for name, value in settings.items() if value is not None}
        return showable_record(found, showable_name)

    def sources(self) -> list[str]:
        """Return the names of the texts."""
        return [*(absolute_names(self.corpus) or []), *(absolute_names(self.valid) or [])]

    @classmethod
    def from_record(cls, record: Mapping[str, Any], output: Path) -> RunRequest:
        """Make a request from ``as_record``'s result."""
        if "cluster" in record:
            raise DataError(f"the run of {os.fspath(output)!r} is a run on a cluster: resume it there")
        request = cls(**{**record, "config": ResolvedConfig.from_dict(record["config"]), "output": output})
        parse_interval(request.checkpoint_every)
        if not request.run.isalnum() or len(request.run) > 16:
            raise ValueError(f"its run is {request.run!r}")
        for names in (request.corpus, request.valid):
            if names is not None and not (
                isinstance(names, list) and all(isinstance(name, str) for name in names)
            ):
                raise ValueError("its corpus is not a list of names")
        return request

    def kept_text(self) -> Path:
        """Return the folder for an encoded text that is kept, or that has no run's folder to be in."""
        if self.cache_dir is not None:
            return Path(self.cache_dir)
        assert self.output is not None
        output = Path(self.output)
        return output.with_name(output.name + ".cache")


def absolute_names(corpus: Any) -> list[str] | None:
    """Return the absolute names of a corpus that is given by names; None for any other corpus."""
    given: Sequence[Any] = [corpus] if isinstance(corpus, str | os.PathLike) else corpus
    if not isinstance(given, list | tuple) or not given:
        return None
    if not all(isinstance(name, str | os.PathLike) for name in given):
        return None
    return [absolute_name(os.fspath(name)) for name in given]


def _absolute(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.path.abspath(path)
