r"""Subwords with two threads beside one: the same text, in alternation.

    python scripts/quality/subword_threads.py CORPUS --words 3000000

"Words a second" is by the clock, for the training loop alone. If other programs keep the machine busy, the
clock depends on their load. So the table also has what two threads cost in processor seconds (of the whole
run): on a free machine they are at most 2 × CPU of one / CPU of two times as fast.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import parser, table, write_section, write_tokens

from wordvec_ca.models import EmbeddingModel, TrainConfig
from wordvec_ca.runs import train

MODELS = ("skipgram", "cbow")


def by_cawv(path: Path, model: str, seed: int, epochs: int, workers: int) -> EmbeddingModel:
    """Train a model with n-grams."""
    config = TrainConfig(
        model=model, vectors="input", subwords=True, sample=1e-4, epochs=epochs, seed=seed, workers=workers,
        tokenizer="whitespace", lowercase=False,
    )  # fmt: skip
    return train(path, config)


def main() -> None:
    """Measure."""
    asked = parser(__doc__, "compare-fasttext")
    asked.add_argument("corpus")
    asked.add_argument("--words", type=int, default=3_000_000)
    asked.add_argument("--repeats", type=int, default=5)
    options = asked.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = write_tokens(options.corpus, Path(folder) / "tokens.txt", options.words)
        for model in MODELS:
            speeds: dict[int, list[float]] = {1: [], 2: []}
            cpu: dict[int, list[float]] = {1: [], 2: []}
            losses: dict[int, list[float]] = {1: [], 2: []}
            for seed in range(1, options.repeats + 1):
                for workers in (1, 2):
                    began = time.process_time()
                    made = by_cawv(path, model, seed, 1, workers=workers)
                    cpu[workers].append(time.process_time() - began)
                    speeds[workers].append(made.record["timings"]["words_per_second"])
                    losses[workers].append(made.record["loss_by_epoch"][-1])
            ratios = [two / one for one, two in zip(speeds[1], speeds[2], strict=True)]
            cost = statistics.median(2 * one / two for one, two in zip(cpu[1], cpu[2], strict=True))
            rows.append(
                [
                    model,
                    *(f"{statistics.median(speeds[n]) / 1e6:.2f} M" for n in (1, 2)),
                    f"{statistics.median(ratios):.2f} ({', '.join(f'{ratio:.2f}' for ratio in ratios)})",
                    f"{cost:.2f}",
                    *(f"{statistics.mean(losses[n]):.4f}" for n in (1, 2)),
                ]
            )
            print(rows[-1], flush=True)
    head = ("model", "words/s, one thread", "two", "ratio", "2 × CPU 1 / CPU 2", "loss, one", "two")
    write_section(options.page, "Beside fastText", "two threads", table(head, rows))


if __name__ == "__main__":
    main()
