"""The context-aware residual network CA-RES."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class CAResidual(nn.Module):
    r"""A block of context-aware layers that all see the input and their predecessors.

    .. math::
        w_l = \chi_l(c, w_{l-1}, \dots, w_{l-n_\sigma})\, v_l(c, w_{l-1}, \dots, w_{l-n_v})
              + (1 - \chi_l)\, w_{l0}

    (Zeng 2019, eq. 42 and section 4.7.1). The paper does not state how the arguments of ``v`` and ``chi`` are
    joined. Here there are two ways:

    * ``combine="concat"``: a linear map (or convolution) of their concatenation, then ``activation``;
    * ``combine="add"``: their sum, through a linear map and ``activation`` in every layer but the last,
      whose ``v`` is the bare sum (a block of a single layer keeps its map). ``(l, n_v, n_sigma, b) =
      (2, 1, ., 1)`` is then the ResNet block ``c + activation(W c + b)``, the reduction the paper names.

    Parameters
    ----------
    in_features, out_features : int
        Sizes of the input and of every ``w_l``; equal with ``combine="add"``.
    num_layers : int, default 2
        ``l``.
    n_v, n_sigma : int, default 1
        How many previous layers ``v`` and ``chi`` see.
    always_on : bool, default False
        ``b``: the gate is 1, and there are neither gates nor defaults.
    combine : {"concat", "add"}, default "concat"
        See above.
    activation : callable, optional
        Default :func:`torch.relu`.
    kernel_size : int or (int, int), optional
        Convolve images ``(N, C, H, W)`` with this kernel (stride 1, same size) instead of mapping vectors
        ``(*, in_features)``. The gate is then a map of one channel.
    gate_bias_init : float, optional
        Initial value of the bias of every gate; by default drawn like the other parameters.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Examples
    --------
    >>> CAResidual(16, 32, num_layers=3, n_v=2)(torch.randn(8, 16)).shape
    torch.Size([8, 32])
    >>> CAResidual(3, 8, kernel_size=3)(torch.randn(8, 3, 32, 32)).shape
    torch.Size([8, 8, 32, 32])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        num_layers: int = 2,
        n_v: int = 1,
        n_sigma: int = 1,
        always_on: bool = False,
        combine: str = "concat",
        activation: Callable[[Tensor], Tensor] = torch.relu,
        kernel_size: int | tuple[int, int] | None = None,
        gate_bias_init: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("num_layers", num_layers), ("n_v", n_v), ("n_sigma", n_sigma)):
            if value < 1:
                raise ValueError(f"CAResidual: {name} is {value}, but it must be at least 1.")
        if combine not in ("concat", "add"):
            raise ValueError(f'CAResidual: combine is {combine!r}, but it must be "concat" or "add".')
        if combine == "add" and in_features != out_features:
            raise ValueError(
                'CAResidual: combine="add" adds the input to the layers, so in_features must equal '
                f'out_features; got {in_features} and {out_features}. Use combine="concat".'
            )
        self.in_features = in_features
        self.out_features = out_features
        self.num_layers = num_layers
        self.n_v = n_v
        self.n_sigma = n_sigma
        self.always_on = always_on
        self.combine = combine
        self.activation = activation
        self.kernel_size = kernel_size
        self.gate_bias_init = gate_bias_init

        def map_of(previous: int, size: int) -> nn.Module:
            width = in_features if combine == "add" else in_features + previous * out_features
            if kernel_size is None:
                return nn.Linear(width, size, device=device, dtype=dtype)
            return nn.Conv2d(width, size, kernel_size, padding="same", device=device, dtype=dtype)

        bare = combine == "add" and num_layers > 1
        self.layers = nn.ModuleList(
            map_of(min(layer, n_v), out_features) for layer in range(num_layers - 1 if bare else num_layers)
        )
        gates = 0 if always_on else num_layers
        self.gates = nn.ModuleList(map_of(min(layer, n_sigma), 1) for layer in range(gates))
        self.defaults = nn.Parameter(torch.empty(gates, out_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw maps as torch does and defaults from U(-1/sqrt(n), 1/sqrt(n)), n = ``out_features``."""
        for module in [*self.layers, *self.gates]:
            module.reset_parameters()  # type: ignore[operator]
        if self.gate_bias_init is not None:
            for gate in self.gates:
                nn.init.constant_(gate.bias, self.gate_bias_init)  # type: ignore[arg-type]
        bound = self.out_features**-0.5
        nn.init.uniform_(self.defaults, -bound, bound)

    def join(self, context: Tensor, previous: list[Tensor]) -> Tensor:
        """Return the input of a map: the sum or the concatenation (over features) of all arguments."""
        if self.combine == "add":
            return sum(previous, context)
        return torch.cat([context, *previous], dim=-1 if self.kernel_size is None else -3)

    def forward(
        self, input: Tensor, need_gates: bool = False
    ) -> Tensor | tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Map the input through all layers.

        Parameters
        ----------
        input : Tensor, shape (*, in_features), or (N, C, H, W) or (C, H, W) with ``kernel_size``
        need_gates : bool, default False
            Return the gates and each layer's output too, for losses on them or for inspection.

        Returns
        -------
        output : Tensor, shape (*, out_features), or images likewise in the channel dimension
            ``w_l`` of the last layer.
        gates : tuple of num_layers Tensors, shape (*, 1), or (N, 1, H, W)
            With ``need_gates``: ``chi_l``; an empty tuple with ``always_on``.
        layers : tuple of num_layers Tensors, each shaped like the output
            With ``need_gates``: ``w_1`` to ``w_l``.
        """
        outputs: list[Tensor] = []
        gates: list[Tensor] = []
        for layer in range(self.num_layers):
            value = self.join(input, outputs[: -self.n_v - 1 : -1])
            if layer < len(self.layers):
                value = self.activation(self.layers[layer](value))
            if not self.always_on:
                chi = torch.sigmoid(self.gates[layer](self.join(input, outputs[: -self.n_sigma - 1 : -1])))
                default = self.defaults[layer]
                value = chi * value + (1 - chi) * (
                    default if self.kernel_size is None else default[:, None, None]
                )
                gates.append(chi)
            outputs.append(value)
        return (outputs[-1], tuple(gates), tuple(outputs)) if need_gates else outputs[-1]

    def extra_repr(self) -> str:
        """Return (l, n_v, n_sigma, b) and the way arguments are joined, for ``repr``."""
        return (
            f"{self.in_features}, {self.out_features}, num_layers={self.num_layers}, n_v={self.n_v}, "
            f"n_sigma={self.n_sigma}, always_on={self.always_on}, combine={self.combine!r}"
        )
