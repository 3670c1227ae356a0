"""What tests of several commands share: a way to run one in this process, and a small model."""

from __future__ import annotations

import io
import json
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from wordvec_ca.cli import main
from wordvec_ca.vectors import KeyedVectors


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


@pytest.fixture
def command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Outcome]]:
    """Return a function that runs the command in this process and in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*arguments: object, stdin: str | None = None) -> Outcome:
        capfd.readouterr()
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        # as in a process of its own: each warning is shown though an earlier command has shown it
        with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        assert "internal error" not in err, err
        return Outcome(stop.value.code or 0, out, err)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def vectors_of() -> Callable[..., Path]:
    """Return a function that writes vectors of given words to a file with counts, and gives its name."""

    def make(words: list[str], path: Path | str = "v.safetensors") -> Path:
        rng = np.random.default_rng(0)
        matrix = rng.normal(size=(len(words), 6)).astype(np.float32) + 0.5
        KeyedVectors(words, matrix, range(len(words), 0, -1)).save(path)
        return Path(path)

    return make
