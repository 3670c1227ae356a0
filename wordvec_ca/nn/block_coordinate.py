"""Block-coordinate updates: train one part of a model at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor


class BlockCoordinate(torch.optim.Optimizer):
    """Let an optimiser update only one block of parameters at a time, in turn.

    For ``em_steps`` steps the first block is updated and the others are frozen, then the second, and so
    on in a cycle; parameters outside all blocks are always updated. A frozen tensor does not change by a
    bit, nor does the optimiser's state for it (momentum, sums of squares, weight decay do not act). This
    is the scheme with which the CA-BSFE keeps a model from memorising small data (Zeng 2019, section 4.2.1;
    the footnote's ``step / em_steps`` is an integer division).

    It is an optimiser itself: learning-rate schedulers and :class:`torch.amp.GradScaler` accept it, and
    ``param_groups``, ``state`` and ``defaults`` are those of the optimiser inside. A step that the scaler
    skips, because gradients overflowed, does not count.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        Any optimiser that skips parameters without gradient, as all of torch's do.
    blocks : sequence of iterables of Tensor
        The blocks, such as :meth:`wordvec_ca.nn.CAEmbeddingBag.blocks`.
    em_steps : int, default 100
        Steps for each block before the next; 0 trains everything jointly.

    Examples
    --------
    >>> bag = CAEmbeddingBag(1000, 5)
    >>> optimizer = BlockCoordinate(torch.optim.Adagrad(bag.parameters(), lr=0.1), bag.blocks(), em_steps=100)
    >>> bag(torch.tensor([[1, 2, 3]])).sum().backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        blocks: Sequence[Iterable[Tensor]],
        em_steps: int = 100,
    ) -> None:
        # Not super().__init__(), which would give this object groups and a state of its own; what it sets
        # up for hooks is in __setstate__.
        if em_steps < 0:
            raise ValueError(
                f"BlockCoordinate: em_steps is {em_steps}, but it must be 0 (joint) or positive."
            )
        self.optimizer = optimizer
        self.blocks = [list(block) for block in blocks]
        if not self.blocks:
            raise ValueError("BlockCoordinate: blocks is empty; give at least one list of parameters.")
        self.em_steps = em_steps
        self.steps = 0
        super().__setstate__({})

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("optimizer", "blocks", "em_steps", "steps")}

    @property
    def param_groups(self) -> list[dict[str, Any]]:  # type: ignore[override]
        """Groups of the optimiser inside, with their learning rates."""
        return self.optimizer.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """State of the optimiser inside."""
        return self.optimizer.state

    @property
    def defaults(self) -> dict[str, Any]:  # type: ignore[override]
        """Defaults of the optimiser inside."""
        return self.optimizer.defaults

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group to the optimiser inside; its parameters are outside all blocks."""
        self.optimizer.add_param_group(param_group)

    @property
    def active(self) -> int | None:
        """Index of the block that the next step updates, or None if it updates all."""
        return None if self.em_steps == 0 else self.steps // self.em_steps % len(self.blocks)

    def frozen(self) -> list[Tensor]:
        """Return the parameters that the next step does not change."""
        active = self.active
        if active is None:
            return []
        moving = {id(parameter) for parameter in self.blocks[active]}
        others = (block for index, block in enumerate(self.blocks) if index != active)
        return [parameter for block in others for parameter in block if id(parameter) not in moving]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the active block and everything outside the blocks; return the closure's loss, if any."""
        frozen = self.frozen()
        gradients: list[Tensor | None] = [None] * len(frozen)

        def hide() -> None:
            for index, parameter in enumerate(frozen):
                if parameter.grad is not None:
                    gradients[index] = parameter.grad
                    parameter.grad = None

        def evaluate() -> Any:
            assert closure is not None
            loss = closure()
            hide()
            return loss

        hide()
        try:
            loss = self.optimizer.step(None if closure is None else evaluate)
        finally:
            for parameter, gradient in zip(frozen, gradients, strict=True):
                parameter.grad = gradient
        self.steps += 1
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters."""
        self.optimizer.zero_grad(set_to_none=set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's state and the step count."""
        return {"optimizer": self.optimizer.state_dict(), "steps": self.steps, "em_steps": self.em_steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps = state["steps"]
        self.em_steps = state["em_steps"]
