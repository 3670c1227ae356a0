"""Labelled text that a classifier can learn, and the real fastText program to compare the module with."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

LOSSES = ("softmax", "hs", "ns", "ova")

TOPICS = {
    "sea": ["ship", "sail", "wave", "harbour", "tide", "gull", "anchor", "salt", "fisher", "reef"],
    "land": ["field", "plough", "wheat", "barn", "horse", "fence", "orchard", "hedge", "meadow", "cart"],
    "luft": ["Flügel", "Wolke", "Sturm", "Vogel", "Höhe", "Blitz", "Nebel", "Drachen", "Wind", "Luftschiff"],
    "city": ["tram", "street", "market", "tower", "crowd", "lamp", "bridge", "square", "café", "museum"],
}


def labelled_lines(n: int, seed: int) -> list[str]:
    """Return lines of words, most of one topic, with its label; some have two, some none."""
    rng, topics = random.Random(seed), list(TOPICS)
    common = ["the", "a", "of", "and", "it", "is", "was", "on", *(f"word{i}" for i in range(120))]
    lines = []
    for _ in range(n):
        topic, other = rng.sample(topics, 2)
        words = [
            rng.choice(TOPICS[topic] if rng.random() < 0.4 else common) for _ in range(rng.randint(1, 14))
        ]
        labels = [f"__label__{topic}"] + [f"__label__{other}"] * (rng.random() < 0.15)
        lines.append(" ".join([*labels, *words] if rng.random() < 0.97 else words))
    return lines


def run(program: str, *arguments: object) -> str:
    """Run the real program; return its output."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def real_predictions(program: str, model: Path, text: Path, k: int) -> list[dict[str, float]]:
    """Return the labels of each line with their probabilities, as the real program gives them."""
    found = []
    for line in run(program, "predict-prob", model, text, k).splitlines():
        fields = line.split()
        found.append(dict(zip(fields[::2], map(float, fields[1::2]), strict=True)))
    return found
