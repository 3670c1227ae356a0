"""Time and memory of the Contextualizer against self-attention as documents grow.

Measured are the forward and backward pass of one layer, and the bytes that autograd keeps for the backward
pass, counted exactly. All variants take turns within each round, so that a busy machine slows all of them
equally; the times are medians.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import extra  # noqa: F401
import numpy as np
import torch
from study import Page, parser, progress
from torch import Tensor, nn

from wordvec_ca.nn import Contextualizer, TokenwiseContextualizer

WIDTH, RANK, HEADS = 512, 100, 8


def variants() -> dict[str, tuple[Callable[[Tensor], Tensor], int]]:
    """Return name -> (function of tokens, length of the longest document that it is tried on)."""
    attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    one, five = (Contextualizer(WIDTH, RANK, steps, default_context="learned") for steps in (1, 5))
    tokenwise = TokenwiseContextualizer(WIDTH, RANK, 1)
    return {
        "Contextualizer, K = 1": (one, 1 << 20),
        "Contextualizer, K = 5": (five, 1 << 20),
        "self-attention, fused": (lambda x: attention(x, x, x, need_weights=False)[0], 1 << 20),
        "self-attention with weights": (lambda x: attention(x, x, x)[0], 1 << 20),
        "token-wise, K = 1": (tokenwise, 64),
    }


def seconds(function: Callable[[Tensor], Tensor], tokens: Tensor) -> float:
    start = time.perf_counter()
    function(tokens).sum().backward()
    return time.perf_counter() - start


def kept_bytes(function: Callable[[Tensor], Tensor], tokens: Tensor) -> int:
    """Return the bytes of all tensors saved for the backward pass; each storage counts once."""
    storages: dict[int, int] = {}
    alive: list[Any] = []

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        alive.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        function(tokens)
    return sum(storages.values())


def main() -> None:
    import matplotlib.pyplot as plt

    options = parser(__doc__, "contextualizer-speed", layers=True)
    options.add_argument("--batch", type=int, default=2, help="documents at a time")
    options.add_argument("--rounds", type=int, default=5, help="measurements of each")
    arguments = options.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    lengths = [2**p for p in range(4, 14 if arguments.full else 12)]
    tried = variants()
    report = Page(arguments.page, "Contextualizer: speed and memory")
    times: dict[str, list[float]] = {name: [] for name in tried}
    memory: dict[str, list[float]] = {name: [] for name in tried}
    rows = []
    for number, n in enumerate(lengths):
        tokens = torch.randn(arguments.batch, n, WIDTH, requires_grad=True)
        here = {name: function for name, (function, longest) in tried.items() if n <= longest}
        rounds: dict[str, list[float]] = {name: [] for name in here}
        for repeat in range(arguments.rounds + 1):
            for name, function in here.items():
                elapsed = seconds(function, tokens)
                if repeat:  # the first round warms up
                    rounds[name].append(elapsed)
        row: list[Any] = [n]
        for name in tried:
            if name in here:
                times[name].append(1000 * float(np.median(rounds[name])))
                memory[name].append(kept_bytes(here[name], tokens) / 2**20)
                row.append(f"{times[name][-1]:.1f} ms, {memory[name][-1]:.1f} MB")
            else:
                row.append("-")
        rows.append(row)
        progress(number + 1, len(lengths), f"n = {n}: {row[1:]}")
    report.text(
        f"Forward and backward of one layer, {arguments.batch} documents of n tokens, width {WIDTH}, rank "
        f"{RANK}, {HEADS} heads, {arguments.threads} thread(s); median of {arguments.rounds} interleaved "
        "rounds. Self-attention gives n vectors, the Contextualizer one; “token-wise” gives n as well."
    )
    report.table(["n", *tried], rows)
    slopes = []
    for name in list(tried)[:4]:
        power = np.polyfit(np.log(lengths[-3:]), np.log(times[name][-3:]), 1)[0]
        slopes.append(f"{name}: n^{power:.2f}")
    ratio = times["self-attention, fused"][-1] / times["Contextualizer, K = 1"][-1]
    report.text(
        f"Growth of time over the last three lengths: {'; '.join(slopes)}. At n = {lengths[-1]} fused "
        f"self-attention takes {ratio:.1f} times as long as one Contextualizer step."
    )
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2))
    for name in tried:
        axes[0].loglog(lengths[: len(times[name])], times[name], "o-", ms=3, label=name)
        axes[1].loglog(lengths[: len(memory[name])], memory[name], "o-", ms=3)
    axes[0].set_ylabel("ms, forward and backward")
    axes[1].set_ylabel("MB kept for the backward pass")
    for axis in axes:
        axis.set_xlabel("tokens n")
    axes[0].legend(fontsize=6)
    report.figure(figure, "growth", "Time and memory by document length")
    report.write()


if __name__ == "__main__":
    main()
