"""A shop from the command line: ``cawv train --for items`` and ``cawv eval --tasks next-item``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def test_a_shop_of_known_answer(command: Callable[..., Any]) -> None:
    """Sessions stay in one of ten departments of eight items, so only the department can be predicted."""
    rng = np.random.default_rng(0)
    sessions = [" ".join(f"Item{d}-{n}" for n in rng.choice(8, 5)) for d in rng.choice(10, 3_000)]
    for part, lines in (("train", sessions[:2_500]), ("test", sessions[2_500:])):
        Path(f"shop.{part}.txt").write_text("\n".join(lines) + "\n")
    options = ("--for", "items", "--workers", 1, "--epochs", 5, "--window", "all", "-q")
    assert command("train", "shop.train.txt", *options, "-o", "m").code == 0
    settings = set(Path("m/run.toml").read_text().splitlines())
    assert {'tokenizer = "whitespace"', "epochs = 5", 'window = "all"'} <= settings
    sequences = ("--sequences", "shop.train.txt", "--sequences", "shop.test.txt")
    outcome = command("eval", "m", "--tasks", "next-item", *sequences, "--json", "-q")
    [report] = outcome.json
    figures = {name: metric["value"] for name, metric in report["metrics"].items()}
    assert figures["hit-rate@10"] == 1.0  # the seven other items of the department are the nearest
    assert figures["co-occurrence"] == 1.0
    assert figures["popularity"] < 0.3
    shown = command("eval", "m", "--tasks", "next-item", *sequences, "-q").out
    assert "followers" in shown
    assert "mrr@10" not in shown
