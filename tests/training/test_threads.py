"""Threads: on real text many of them learn as much as one, whatever the model (short form of the table)."""

from __future__ import annotations

import lzma
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from wordvec_ca import TrainConfig, train


@pytest.fixture(scope="module")
def text(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return a file of about a million words of Wikipedia, and one of later lines."""
    folder = tmp_path_factory.mktemp("wiki")
    with lzma.open(data / "corpora" / "wiki.30M.txt.xz", "rt", encoding="utf-8") as lines:
        (folder / "text").write_text("".join(islice(lines, 15_600)), "utf-8")
        (folder / "valid").write_text("".join(islice(lines, 1_000)), "utf-8")
    return str(folder / "text"), str(folder / "valid")


@pytest.mark.slow
@pytest.mark.parametrize("variant", [{}, {"subwords": True}, {"hs": True}], ids=["plain", "n-grams", "tree"])
@pytest.mark.parametrize("model", ["cbow", "skipgram", "cbow-attn", "cwindow"])
def test_threads_learn_as_much_as_one(text: tuple[str, str], model: Any, variant: dict[str, Any]) -> None:
    """More threads than cores show what steps do that are out of date."""
    losses = {
        workers: train(
            text[0],
            TrainConfig(model=model, workers=workers, epochs=1, **variant),
            valid=text[1],
            progress=False,
        ).record["valid_loss_by_epoch"][-1]
        for workers in (1, 2, 8)
    }
    # seeds of a million words differ by up to 2 %; steps that are out of date cost 50 %, or diverge
    assert max(losses.values()) <= 1.03 * losses[1], losses
