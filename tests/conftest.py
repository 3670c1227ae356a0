"""What several test modules share: small problems for the training loop, and the data folder."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wordvec_ca.vectors.keyed_vectors import KeyedVectors


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
    """Undo what a shell does to jobs in the background: they, and what they start, ignore these signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to run again, alone, what failed."""
    names = [
        report.nodeid
        for outcome in ("failed", "error")
        for report in terminalreporter.stats.get(outcome, [])
        if isinstance(report, pytest.TestReport)
    ]
    if names:
        command = shlex.join([os.path.relpath(sys.executable), "-m", "pytest", *dict.fromkeys(names[:20])])
        terminalreporter.write_line(f"run {'these' if names[1:] else 'this'} again alone: {command}")
