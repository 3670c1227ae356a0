"""Deep stacks of CNN, CA-CNN and CA-RES layers (Zeng 2019, sections 4.6.3 and 4.7, fig. 19 and 20).

The paper's data is CIFAR-10; without it the same networks are trained on MNIST at 14x14 pixels: convolutions
of one size after another, a hidden layer, ten classes.
"""

from __future__ import annotations

from typing import Any

import extra  # noqa: F401
import torch
import torch.nn.functional as F
from ca_digits import accuracy, read
from report import Report, interval, need, parser, progress
from torch import Tensor, nn

from wordvec_ca.nn import BlockCoordinate, CAConv2d, CAResidual

DEPTH = 8
KERNEL = 4


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
        return CAConv2d(channels, DEPTH, KERNEL, padding="same", activation=torch.relu)
    return CAResidual(channels, DEPTH, int(kind.split()[-1]), n_v=2, kernel_size=KERNEL)


def gate_blocks(network: nn.Module) -> list[list[Tensor]]:
    """Return gates with defaults, and all the rest, as two blocks."""
    named = list(network.named_parameters())
    gates = [p for name, p in named if "gate" in name]
    return [[p for name, p in named if "gate" not in name and "default" not in name], gates]


def main() -> None:
    import matplotlib.pyplot as plt

    options = parser(__doc__ or "")
    options.add_argument("--steps", type=int, help="training steps [250; 5000 with --full]")
    options.add_argument("--seeds", type=int, help="number of seeds [1; 3 with --full]")
    arguments = options.parse_args()
    torch.set_num_threads(arguments.threads)
    steps = arguments.steps or (5_000 if arguments.full else 250)
    seeds = range(arguments.seed, arguments.seed + (arguments.seeds or (3 if arguments.full else 1)))
    data = read(need(arguments.data, "vision/mnist.npz")[0])
    data = {name: F.avg_pool2d(value, 2) if name.startswith("x") else value for name, value in data.items()}
    kinds = ["CNN", "CA-CNN", "CA-CNN, em_steps 50", "CA-RES, l = 2", "CA-RES, l = 4"]
    counts = [1, 2, 4, 8, 16]
    report = Report("ca-residual", "CA-CNN and CA-RES: depth", arguments.docs)
    table: dict[str, list[Any]] = {kind: [] for kind in kinds}
    means: dict[str, list[float]] = {kind: [] for kind in kinds}
    jobs = [(kind, count) for kind in kinds for count in counts]
    for number, (kind, count) in enumerate(jobs):
        sublayers = int(kind.split()[-1]) if "RES" in kind else 1
        if count * sublayers > 16:
            table[kind].append("-")
            means[kind].append(float("nan"))
            continue
        scores = []
        for seed in seeds:
            torch.manual_seed(seed)
            stack = [layer(kind, 1 if i == 0 else DEPTH) for i in range(count)]
            network = nn.Sequential(
                *stack, nn.Flatten(), nn.Linear(DEPTH * 196, 128), nn.ReLU(), nn.Linear(128, 10)
            )
            optimizer: Any = torch.optim.Adagrad(network.parameters(), lr=0.01)
            if "em_steps" in kind:
                optimizer = BlockCoordinate(optimizer, gate_blocks(network), em_steps=50)
            generator = torch.Generator().manual_seed(seed)
            for _ in range(steps):
                batch = torch.randint(60_000, (100,), generator=generator)
                optimizer.zero_grad()
                F.cross_entropy(network(data["x_train"][batch]), data["y_train"][batch]).backward()
                optimizer.step()
            scores.append(accuracy(network, data["x_test"], data["y_test"]))
        table[kind].append(interval(scores, 1))
        means[kind].append(sum(scores) / len(scores))
        progress(number + 1, len(jobs), f"{count} x {kind}: {interval(scores, 1)} %")
    report.text(
        f"MNIST at 14x14 instead of CIFAR-10, which is not at hand: test accuracy in % after {steps:,} steps "
        f"of 100, {len(seeds)} seeds, by the number of layers (kernel {KERNEL}x{KERNEL}, depth {DEPTH}, "
        "ReLU, Adagrad 0.01). CA-RES layers have l sublayers of their own, n_v = 2, n_σ = 1; stacks beyond "
        "16 sublayers are left out. Paper, on CIFAR-10: more CA-CNN layers are better up to 8, 16 learn "
        "nothing without em_steps; more sublayers are better for CA-RES."
    )
    report.table(["layers", *map(str, counts)], [(kind, *table[kind]) for kind in kinds])
    figure, axis = plt.subplots(figsize=(5, 3))
    for kind in kinds:
        axis.semilogx(counts, means[kind], "o-", base=2, label=kind)
    axis.set_xlabel("layers")
    axis.set_ylabel("test accuracy, %")
    axis.legend(fontsize=7)
    report.figure(figure, "depth", "Accuracy and depth")
    report.write()


if __name__ == "__main__":
    main()
