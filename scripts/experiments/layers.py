"""What the studies of layers share: their options, networks of many seeds, and a baseline."""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Page, parser


def study_of_layers(
    doc: str | None,
    record: str,
    title: str,
    *,
    few: int = 1,
    many: int = 1,
    add: Callable[[argparse.ArgumentParser], object] = lambda options: None,
    **options: Any,
) -> tuple[argparse.Namespace, range, Page]:
    """Return the options of a study, its seeds, ``many`` with --full, and the section that it writes."""
    asked = parser(doc, record, layers=True, **options)
    asked.add_argument("--seeds", type=int, help=f"number of seeds [{few}; {many} with --full]")
    asked.add_argument("--only", default="", metavar="REGEX", help="only rows whose name matches")
    asked.add_argument("--section", help="name of the section [that of the page]")
    add(asked)
    given = asked.parse_args()
    torch.set_num_threads(given.threads)
    seeds = range(given.seed, given.seed + (given.seeds or (many if given.full else few)))
    return given, seeds, Page(given.page, title, given.section)


def parameters(module: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(p.numel() for p in module.parameters())


class Ensemble:
    """Networks of one shape whose parameters are stacked, so that one step trains all of them.

    Element-wise optimisers (SGD, Adagrad, Adam) treat them as if each were trained alone.
    """

    def __init__(self, make: Callable[[], nn.Module], seeds: range) -> None:
        networks = []
        for seed in seeds:
            torch.manual_seed(seed)
            networks.append(make())
        parameters, self.buffers = stack_module_state(networks)  # type: ignore[arg-type]
        self.parameters = {name: value.detach().requires_grad_() for name, value in parameters.items()}
        self.network = copy.deepcopy(networks[0]).to("meta")
        self.size = len(networks)

    def parameter_count(self) -> int:
        """Return how many parameters one network has."""
        return sum(p[0].numel() for p in self.parameters.values())

    def __call__(self, *inputs: Tensor, per_network: bool = False, **options: Any) -> Any:
        """Return outputs, networks first; all get the same inputs unless ``per_network``."""

        def one(parameters: Any, buffers: Any, *given: Tensor) -> Any:
            return functional_call(self.network, (parameters, buffers), given, options)

        in_dims = (0, 0, *((0 if per_network else None) for _ in inputs))
        return vmap(one, in_dims=in_dims, randomness="different")(self.parameters, self.buffers, *inputs)

    def train(
        self,
        loss: Callable[[], Tensor],
        steps: int,
        optimizer: type[torch.optim.Optimizer] = torch.optim.Adagrad,
        **options: Any,
    ) -> Tensor:
        """Minimise ``loss() -> (networks,)``; return the losses, shape (steps, networks)."""
        descent = optimizer(list(self.parameters.values()), **options)  # type: ignore[call-arg]
        history = []
        for _ in range(steps):
            descent.zero_grad()
            losses = loss()
            losses.sum().backward()
            descent.step()
            history.append(losses.detach())
        return torch.stack(history)


STRENGTHS = np.logspace(-2, 1, 7)


def bag_of_words(strength: float | None = None, **options: Any) -> Any:
    """Return an L2 logistic regression on word occurrences; C comes from 5-fold cross-validation by default.

    Further options are those of :class:`sklearn.feature_extraction.text.CountVectorizer`.
    """
    words = CountVectorizer(binary=True, **({"token_pattern": r"\S+"} | options))
    regression = LogisticRegression(C=strength or 1.0, solver="liblinear")
    if strength is None:
        regression = GridSearchCV(regression, {"C": STRENGTHS}, cv=5)
    return make_pipeline(words, regression)
