"""Fixtures of several test modules: a command run in this process, the data folder, GloVe's vectors."""

from __future__ import annotations

import gc
import io
import json
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from wordvec_ca.vectors.keyed_vectors import KeyedVectors


# A machine that other programs share may stop a test for a second: no test may fail for that.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    def says(self, code: int, *words: str) -> Outcome:
        """Check the exit code, and that the messages have these words."""
        assert self.code == code, self.err
        for word in words:
            assert word in self.err, (word, self.err)
        return self

    @property
    def json(self) -> Any:
        """The command's output, as JSON."""
        return json.loads(self.out)

    @property
    def records(self) -> list[Any]:
        """The command's output, which has a JSON record a line."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Outcome]]:
    """Return a function that runs the command in this process and in an empty working directory."""
    from wordvec_ca.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*arguments: object, stdin: str | None = None) -> Outcome:
        capfd.readouterr()
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        # as in a process of its own: a warning is shown even if an earlier command has shown it
        with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        assert "internal error" not in err, err
        return Outcome(stop.value.code or 0, out, err)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real corpora, or skip."""
    folder = os.environ.get("CAWV_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the corpora: set CAWV_DATA to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def glove(data: Path) -> KeyedVectors:
    """Return the GloVe vectors of the data folder, or skip."""
    from wordvec_ca.vectors.keyed_vectors import KeyedVectors

    return KeyedVectors.load(data / "vectors" / "glove.6B.100d.100k.txt.xz")


@pytest.fixture(scope="session", autouse=True)
def signals_at_default() -> Iterator[None]:
    """Restore signals that background jobs of a shell ignore; the processes that tests start inherit this."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def no_power_is_cut() -> Iterator[None]:
    """Leave out fsync, which waits for the disk at each small file: only a power cut shows that.

    What is lost then is tested in ``stress/test_interruptions.py``, on processes of their own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def pytest_collection_finish() -> None:
    """Keep thousands of tests out of each search for cycles of references, which would take half a second."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the command that runs only the failed tests again."""
    names = [
        report.nodeid
        for outcome in ("failed", "error")
        for report in terminalreporter.stats.get(outcome, [])
        if isinstance(report, pytest.TestReport)
    ]
    if names:
        command = shlex.join([os.path.relpath(sys.executable), "-m", "pytest", *dict.fromkeys(names[:20])])
        terminalreporter.write_line(f"run {'these' if names[1:] else 'this'} again alone: {command}")
