"""The toy sequences with which Zeng 2019 validates the CA-RNN (section 4.4.1, fig. 13).

Training for 100 iterations: I am happy -> 1, You are very angry -> 0. Test: I am very happy -> 1,
You look angry -> 0 ("look" is never trained). A logistic regression reads the cell state. The paper states
neither sizes nor optimiser, so a grid of them is tried, with many seeds each, which are trained side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from layers import Ensemble, parameters, study_of_layers
from study import interval, progress
from torch import Tensor, nn

from wordvec_ca.nn import CARNNCell

WORDS = ["", "I", "am", "happy", "You", "are", "very", "angry", "look"]
TRAIN = [("I am happy", 1.0), ("You are very angry", 0.0)]
TEST = [("I am very happy", 1.0), ("You look angry", 0.0)]
PAPER = [".318", ".172", ".126", "", "", ""]


class LSTMCell(nn.Module):
    """One step of the LSTM of the paper's table 1 without peepholes; nn.LSTMCell has no batching rule."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.map = nn.Linear(size + hidden, 4 * hidden)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the new (y, c)."""
        y, c = state
        i, f, z, o = self.map(torch.cat([x, y], -1)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(z)
        return torch.sigmoid(o) * torch.tanh(c), c


class GRUCell(nn.Module):
    """One step of the GRU; its state is the same as its output."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.gates = nn.Linear(size + hidden, 2 * hidden)
        self.candidate = nn.Linear(size + hidden, hidden)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the new (y, c)."""
        _, c = state
        r, z = torch.sigmoid(self.gates(torch.cat([x, c], -1))).chunk(2, -1)
        c = z * c + (1 - z) * torch.tanh(self.candidate(torch.cat([x, r * c], -1)))
        return c, c


def forgetful(size: int, hidden: int, peephole: str = "vector") -> nn.Module:
    """Return a CA-RNN cell whose peephole starts at random near 0, as its other weights do."""
    cell = CARNNCell(size, hidden, peephole=peephole)
    nn.init.uniform_(cell.peephole, -(hidden**-0.5), hidden**-0.5)
    return cell


SHOWN = (1, 10, 30, 100)
"""Iterations whose training loss is shown."""

CELLS: dict[str, Callable[[int, int], nn.Module]] = {
    "LSTM": LSTMCell,
    "GRU": GRUCell,
    "CA-RNN": CARNNCell,
    "CA-RNN, p_v random": forgetful,
    "CA-RNN, p_v a matrix, first the identity": partial(CARNNCell, peephole="matrix"),
    "CA-RNN, p_v a random matrix": partial(forgetful, peephole="matrix"),
}


class Classifier(nn.Module):
    """Embedding, recurrent cell, logistic regression on the last cell state."""

    def __init__(self, cell: Callable[[int, int], nn.Module], size: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), size)
        self.cell = cell(size, hidden)
        self.head = nn.Linear(hidden, 1)
        self.hidden = hidden

    def forward(self, words: Tensor) -> Tensor:
        """Return logits, shape (N,), for word numbers (N, n); 0 is padding at the end."""
        state = (torch.zeros(words.shape[0], self.hidden),) * 2
        for t in range(words.shape[1]):
            new = self.cell(self.embedding(words[:, t]), state)
            real = (words[:, t] != 0).unsqueeze(-1)
            state = (torch.where(real, new[0], state[0]), torch.where(real, new[1], state[1]))
        return self.head(state[1]).squeeze(-1)


def encode(examples: list[tuple[str, float]]) -> tuple[Tensor, Tensor]:
    rows = [torch.tensor([WORDS.index(word) for word in text.split()]) for text, _ in examples]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([label for _, label in examples])


def matched_size(cell: str, size: int, hidden: int) -> int:
    """Return the hidden size at which a cell has about as many parameters as an LSTM of ``hidden``."""
    budget = parameters(LSTMCell(size, hidden))
    return min(range(1, 2 * hidden + 2), key=lambda n: abs(parameters(CELLS[cell](size, n)) - budget))


def main() -> None:
    title = "CA-RNN: toy sequences"
    arguments, seeds, report = study_of_layers(__doc__, "ca-sequences", title, few=100, many=100)
    x, y = encode(TRAIN)
    test_x, test_y = encode(TEST)
    settings = {
        "Adagrad 0.1": (torch.optim.Adagrad, {"lr": 0.1}),
        "Adagrad 0.01": (torch.optim.Adagrad, {"lr": 0.01}),
        "Adam 0.01": (torch.optim.Adam, {"lr": 0.01}),
        "SGD 0.1": (torch.optim.SGD, {"lr": 0.1}),
    }
    sizes = [5, 10, 20, 100] if arguments.full else [5, 10, 20]
    cases = [(h, s, m) for h, s, m in itertools.product(sizes, settings, [False, True])]
    rows, wins, all_means, curves = [], {False: 0, True: 0}, [], []
    for number, (hidden, setting, matched) in enumerate(cases):
        optimizer, rates = settings[setting]
        cells, means, counts = [], {}, []
        for name, cell in CELLS.items():
            n = matched_size(name, hidden, hidden) if matched else hidden
            networks = Ensemble(lambda c=cell, s=hidden, n=n: Classifier(c, s, n), seeds)

            losses: list[float] = []

            def loss(networks: Ensemble = networks, losses: list[float] = losses) -> Tensor:
                logits = networks(x)
                terms = F.binary_cross_entropy_with_logits(logits, y.expand_as(logits), reduction="none")
                losses.append(terms.mean().item())
                return terms.mean(1)

            networks.train(loss, 100, optimizer, **rates)
            if hidden == 10 and not matched and name in list(CELLS)[:3]:
                curves.append((setting, name, *(f"{losses[at - 1]:.3f}" for at in SHOWN)))
            with torch.no_grad():
                probability = torch.sigmoid(networks(test_x))
            errors = (probability - test_y).abs().mean(1)
            wrong = ((probability > 0.5) != (test_y > 0.5)).double().mean().item()
            means[name] = errors.mean().item()
            cells.append(f"{interval(errors.tolist(), 3)} [{100 * wrong:.0f} %]")
            counts.append(str(parameters(CELLS[name](hidden, n))))
        all_means.append(means)
        order = " < ".join(sorted(list(CELLS)[:3], key=means.__getitem__))
        wins[matched] += order == "CA-RNN < GRU < LSTM"
        rows.append((hidden, setting, "yes" if matched else "no", " / ".join(counts), *cells, order))
        progress(number + 1, len(cases), f"hidden {hidden}, {setting}, matched {matched}: {order}")
    rows.append(("?", "?", "no", "?", *PAPER, "CA-RNN < GRU < LSTM"))
    report.text(
        f"Mean |p - y| on the two test sentences after 100 iterations [share of wrong decisions], "
        f"{len(seeds)} seeds, 95 % intervals; embeddings have the hidden size. “Matched”: hidden sizes "
        "chosen so that all cells have about the parameters of the LSTM. Last row: the paper (10 runs, sizes "
        "and optimiser not stated). In training the label goes with the length (3 words: 1, 4 words: 0), "
        "in the test against it: a network that counts words is wrong on both."
    )
    half = len(cases) // 2
    means_over_settings = ", ".join(
        f"{name.removeprefix('CA-RNN, ')} {np.mean([found[name] for found in all_means]):.3f}"
        for name in list(CELLS)[2:]
    )
    report.table(["hidden", "optimiser", "matched", "cell parameters", *CELLS, "order"], rows)
    report.text(
        f"The paper's order CA-RNN < GRU < LSTM appears in {wins[False]} of {half} settings at equal hidden "
        f"size and in {wins[True]} of {half} at equal parameters: the claim depends on the setting. The "
        "CA-RNN remembers through its peephole p_v; where that starts near 0 like the other weights, errors "
        "are far larger, so the layer starts it at 1. The paper says that a matrix in place of the vector "
        f"fails the test. Mean error over the settings: {means_over_settings}."
    )
    report.text("Training loss (fig. 13a), hidden size 10, before the first and later iterations:")
    report.table(["optimiser", "cell", *(f"iteration {at}" for at in SHOWN)], curves)
    report.write()


if __name__ == "__main__":
    main()
