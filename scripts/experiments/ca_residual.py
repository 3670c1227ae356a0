"""Deep stacks of CNN, CA-CNN and CA-RES layers (Zeng 2019, sections 4.6.3 and 4.7, fig. 19 and 20).

    python scripts/experiments/ca_residual.py --data "$CAWV_DATA" --log ca-residual.jsonl

The paper's data is CIFAR-10; here the same networks are trained on MNIST: several convolutions of the same
size, a hidden layer, ten classes. The learning rate of each network is the best one on images that are held
out of training, with the first seed. Each run is recorded when it finishes and is not done again; after
``--minutes`` no run is started.
"""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from ca_digits import accuracy, read
from layers import study_of_layers
from study import Runs, Setting, data_files, values
from torch import Tensor, nn

from wordvec_ca.nn import BlockCoordinate, CAConv2d, CAResidual

DEPTH = 8
KERNEL = 4
BATCH = 100
HELD_OUT = 5_000
OPEN = 3.0
"""Initial bias of gates that are open at the start: their value is about .95."""

KINDS = ["CNN", "CA-CNN", "CA-CNN, gates open", "CA-CNN, em_steps 50", "CA-RES, l = 2", "CA-RES, l = 4"]


class Relu(nn.Module):
    """A convolution of the same size and ReLU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, DEPTH, KERNEL, padding="same")

    def forward(self, images: Tensor) -> Tensor:
        """Return maps of the same size."""
        return torch.relu(self.conv(images))


def layer(kind: str, channels: int) -> nn.Module:
    """Return one layer of a kind."""
    if kind == "CNN":
        return Relu(channels)
    if kind.startswith("CA-CNN"):
        bias = OPEN if kind.endswith("open") else None
        return CAConv2d(channels, DEPTH, KERNEL, padding="same", activation=torch.relu, gate_bias_init=bias)
    return CAResidual(channels, DEPTH, int(kind.split()[-1]), n_v=2, kernel_size=KERNEL)


def gate_blocks(network: nn.Module) -> list[list[Tensor]]:
    """Return two blocks of parameters: gates with defaults, and all others."""
    named = list(network.named_parameters())
    gates = [p for name, p in named if "gate" in name]
    return [[p for name, p in named if "gate" not in name and "default" not in name], gates]


class Digits:
    """MNIST: training, held-out and test images of one size."""

    def __init__(self, path: Path, side: int, count: int) -> None:
        data = read(path)
        images = {name: value for name, value in data.items() if name.startswith("x")}
        if side == 14:
            images = {name: F.avg_pool2d(value, 2) for name, value in images.items()}
        self.side = side
        self.train = images["x_train"][:count], data["y_train"][:count]
        self.held_out = images["x_train"][-HELD_OUT:], data["y_train"][-HELD_OUT:]
        self.test = images["x_test"], data["y_test"]


def run(digits: Digits, epochs: int, setting: Setting) -> dict[str, Any]:
    """Train one network; return its accuracy on the held-out and the test images, in %."""
    kind, count, seed = setting["kind"], setting["layers"], setting["seed"]
    torch.manual_seed(seed)
    stack = [layer(kind, 1 if i == 0 else DEPTH) for i in range(count)]
    hidden = nn.Linear(DEPTH * digits.side**2, 128)
    network = nn.Sequential(*stack, nn.Flatten(), hidden, nn.ReLU(), nn.Linear(128, 10))
    network = network.to(memory_format=torch.channels_last)  # halves the time of a convolution with few maps
    optimizer: Any = torch.optim.Adagrad(network.parameters(), lr=setting["rate"])
    if "em_steps" in kind:
        optimizer = BlockCoordinate(optimizer, gate_blocks(network), em_steps=50)
    generator = torch.Generator().manual_seed(seed)
    images, labels = digits.train
    for _ in range(epochs):
        for batch in torch.randperm(len(images), generator=generator).split(BATCH):
            optimizer.zero_grad()
            F.cross_entropy(network(images[batch]), labels[batch]).backward()
            optimizer.step()
    return {"held_out": accuracy(network, *digits.held_out), "test": accuracy(network, *digits.test)}


def more_options(asked: argparse.ArgumentParser) -> None:
    asked.add_argument("--size", type=int, choices=(14, 28), default=28, help="pixels")
    asked.add_argument("--images", type=int, help="training images [6,000; 55,000 with --full]")
    asked.add_argument("--epochs", type=int, default=10)
    asked.add_argument("--layers", default="1,2,4,8,16", help="comma-separated")
    asked.add_argument("--rates", default="0.003,0.01,0.03", help="Adagrad's, comma-separated")


def main() -> None:
    title, record = "CA-CNN and CA-RES: depth", "ca-residual"
    arguments, seeds, report = study_of_layers(
        __doc__, record, title, few=3, many=3, add=more_options, log=f"{record}.jsonl", data=True
    )
    images = arguments.images or (55_000 if arguments.full else 6_000)
    digits = Digits(data_files(arguments.data, "vision/mnist.npz")[0], arguments.size, images)
    rates, counts = values(arguments.rates, float), values(arguments.layers, int)
    kinds = [kind for kind in KINDS if re.search(arguments.only, kind)]
    trials = Runs(arguments.log, arguments.minutes)
    fixed = {"size": arguments.size, "images": images, "epochs": arguments.epochs}
    cells: dict[tuple[str, int], tuple[float, list[float]]] = {}
    for count in counts:
        for kind in kinds:
            sublayers = int(kind.split()[-1]) if "RES" in kind else 1
            if count * sublayers > 16:
                continue
            outcome = trials.with_best_rate(
                {**fixed, "kind": kind, "layers": count},
                rates,
                list(seeds),
                partial(run, digits, arguments.epochs),
                "held_out",
            )
            if outcome is not None:
                cells[kind, count] = outcome[0], [one["test"] for one in outcome[1]]
    report.text(
        f"MNIST at {arguments.size}x{arguments.size} instead of CIFAR-10, which is not available: test "
        f"accuracy in % after {arguments.epochs} epochs of {images:,} images in batches of {BATCH}, by the "
        f"number of layers (kernel {KERNEL}x{KERNEL}, depth {DEPTH}, ReLU, Adagrad). In brackets the rate, "
        f"the best of {', '.join(f'{rate:g}' for rate in rates)} on {HELD_OUT:,} images held out, with "
        f"the first seed; one figure for each of {len(seeds)} seeds, since some learn nothing. "
        f"Gates open: their bias begins at {OPEN:g} (gate_bias_init). CA-RES layers have l sublayers of "
        "their own, n_v = 2, n_σ = 1; stacks beyond 16 sublayers are left out. Empty: not run. Chance is "
        "11.3. Paper, on CIFAR-10: more CA-CNN layers are better up to 8, 16 learn nothing without em_steps; "
        "more sublayers are better for CA-RES. " + trials.summary()
    )
    rows = []
    for kind in kinds:
        row = []
        for count in counts:
            if (kind, count) not in cells:
                row.append("")
                continue
            rate, scores = cells[kind, count]
            row.append(f"{', '.join(f'{score:.1f}' for score in scores)} ({rate:g})")
        rows.append([kind, *row])
    report.table(["layers", *map(str, counts)], rows)
    report.write()


if __name__ == "__main__":
    main()
