"""``cawv train --cluster``: what is refused before a cluster is started."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cluster", "ray://head:10001"], "must be local"),
        (["--cluster", "local", "--no-cache"], "--no-cache does not go with --cluster"),
        (["--cluster", "local", "--nodes", "0"], "1<=x<=1024"),
        (["--cluster", "local", "--epochs", "0"], "--epochs"),
    ],
)
def test_wrong_usage_is_told_at_once(command, tmp_path, arguments, message) -> None:
    (tmp_path / "text.txt").write_text("a b c\n")
    outcome = command("train", "text.txt", *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_standard_input_is_refused(command) -> None:
    outcome = command("train", "-", "--cluster", "local", "-o", "model")
    assert outcome.code == 1
    assert "read only once" in outcome.err


def test_there_is_nothing_to_resume(command) -> None:
    outcome = command("train", "--resume", "memory://nowhere/run", "--cluster", "nowhere:1")
    assert outcome.code == 1
