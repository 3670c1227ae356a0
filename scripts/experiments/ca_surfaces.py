"""Surfaces fitted by CA-NN layers and by ordinary ones (Zeng 2019, section 4.5, fig. 15 and 16).

The data are the four points of XOR, and x exp(-x^2 - y^2) on 1 % of a grid. Networks of many seeds are
trained side by side.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import torch
from layers import Ensemble, study_of_layers
from study import Page, interval, progress
from torch import Tensor, nn

from wordvec_ca.nn import CALinear


def square_error(networks: Ensemble, x: Tensor, y: Tensor, per_network: bool = False) -> Tensor:
    return (networks(x, per_network=per_network) - y).square().mean((1, 2))


def grid(low: float, high: float, size: int) -> Tensor:
    axis = torch.linspace(low, high, size)
    return torch.cartesian_prod(axis, axis)


def glorot(network: nn.Module) -> nn.Module:
    """Draw weights as TensorFlow does: Glorot's uniform distribution, zero biases and defaults."""
    for parameter in network.parameters():
        if parameter.dim() == 2:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)
    return network


def layers(kind: str, *sizes: int) -> nn.Module:
    """Return hidden layers of two inputs, each with tanh, and a linear output."""
    made: list[nn.Module] = []
    for below, size in pairwise((2, *sizes)):
        if kind == "CA-NN":
            made.append(CALinear(below, size, activation=torch.tanh))
        else:
            made += [nn.Linear(below, size), nn.Tanh()]
    return nn.Sequential(*made, nn.Linear(sizes[-1], 1))


def xor(report: Page, seeds: range) -> None:
    points = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    heights = torch.tensor([[1.0], [1.0], [0.0], [0.0]])
    models = {
        "one CA-NN unit": lambda: CALinear(2, 1, activation=torch.tanh),
        "one tanh unit": lambda: nn.Sequential(nn.Linear(2, 1), nn.Tanh()),
        "hidden layer of 2": partial(layers, "tanh", 2),
        "hidden layer of 3": partial(layers, "tanh", 3),
    }
    rows = []
    for number, (name, make) in enumerate(models.items()):
        networks = Ensemble(make, seeds)
        networks.train(lambda n=networks: square_error(n, points, heights), 5000, lr=0.1)
        final = square_error(networks, points, heights).detach()
        solved = f"{int((final < 1e-2).sum())}/{len(seeds)}"
        rows.append((name, networks.parameter_count(), f"{final.median():.4f}", f"{final.max():.4f}", solved))
        progress(number + 1, len(models), f"XOR, {name}: {solved} below 0.01")
    report.text(
        f"**XOR** (fig. 15): squared error after 5,000 Adagrad steps (rate 0.1), {len(seeds)} seeds. "
        "No single monotone unit can pass 1/6 = 0.1667."
    )
    report.table(["model", "parameters", "median MSE", "worst MSE", "below 0.01"], rows)


def smooth(report: Page, seeds: range) -> None:
    points = grid(-2, 2, 81)
    heights = (points[:, :1] * torch.exp(-points.square().sum(1, keepdim=True))).clone()
    chosen = torch.stack([torch.from_numpy(np.random.default_rng(seed).permutation(6561)) for seed in seeds])
    train, test = chosen[:, :66], chosen[:, 66:]
    models = {
        "CA-NN, 1 layer": (partial(layers, "CA-NN", 5), ".0063"),
        "CA-NN, 2 layers": (partial(layers, "CA-NN", 5, 5), ".0029"),
        "tanh layer of 7 (29 parameters)": (partial(layers, "tanh", 7), ""),
        "tanh layers of 6 (67 parameters)": (partial(layers, "tanh", 6, 6), ""),
    }
    settings: dict[str, tuple[type[torch.optim.Optimizer], dict[str, float]]] = {
        "Adagrad 0.1": (torch.optim.Adagrad, {"lr": 0.1}),
        "Adagrad 0.1, Glorot": (torch.optim.Adagrad, {"lr": 0.1}),
        "Adagrad 0.1, accumulator 0.1": (torch.optim.Adagrad, {"lr": 0.1, "initial_accumulator_value": 0.1}),
        "Adam 0.1": (torch.optim.Adam, {"lr": 0.1}),
    }
    rows = []
    for number, (name, (make, paper)) in enumerate(models.items()):
        cells = []
        for setting, (optimizer, options) in settings.items():
            networks = Ensemble((lambda make=make: glorot(make())) if "Glorot" in setting else make, seeds)
            networks.train(
                lambda n=networks: square_error(n, points[train], heights[train], per_network=True),
                1000,
                optimizer,
                **options,
            )
            with torch.no_grad():
                error = square_error(networks, points[test], heights[test], per_network=True)
            cells.append(f"{error.median():.4f} ({interval(error.tolist())})")
        rows.append((name, networks.parameter_count(), *cells, paper))
        progress(number + 1, len(models), f"smooth surface, {name}: {cells[0]}")
    report.text(
        f"**Smooth surface** x·exp(-x²-y²) (fig. 16): mean squared error on the other 6,495 points of the "
        f"grid after 1,000 full-batch steps on 66; median (mean ± 95 % interval) of {len(seeds)} seeds. The "
        f"variance of the surface is {heights.var():.4f}. The paper names neither the optimiser of this "
        "experiment nor its “average prediction error”; TensorFlow draws weights by Glorot's rule with zero "
        "biases, and its Adagrad starts its accumulator at 0.1, PyTorch's at 0."
    )
    report.table(["model", "parameters", *settings, "paper"], rows)


def main() -> None:
    title = "CA-NN: fitting surfaces"
    _, seeds, report = study_of_layers(__doc__, "ca-surfaces", title, few=100, many=100)
    xor(report, seeds)
    smooth(report, seeds)
    report.write()


if __name__ == "__main__":
    main()
