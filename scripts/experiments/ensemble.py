"""Many small networks, one for each seed, trained side by side as one batch of tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap


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
