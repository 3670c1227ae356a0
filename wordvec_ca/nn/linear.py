"""The context-aware neural layer CA-NN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class CALinear(nn.Module):
    r"""A linear layer that falls back on a learned default value where its input is irrelevant.

    .. math:: w = \chi(c)\, v(c) + (1 - \chi(c))\, w_0, \qquad \chi(c) = \sigma(g \cdot c + b)

    with ``v`` a linear map followed by ``activation`` and one gate value per input (Zeng 2019,
    eq. 38-39, section 3.5). One unit solves XOR, which no single monotone unit can.

    Parameters
    ----------
    in_features, out_features : int
        Sizes of the input and the output.
    bias : bool, default True
        Whether ``v`` has a bias. The gate always has one.
    activation : callable, optional
        Element-wise function after the linear map; None leaves it linear. The paper uses ``torch.tanh``.
    gate_bias_init : float, optional
        Initial value of ``b``; by default drawn like the other parameters. 3 opens the gate to about .95.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Attributes
    ----------
    linear : torch.nn.Linear
        The map ``v`` before the activation, weight of shape ``(out_features, in_features)``.
    gate : torch.nn.Linear
        The gate before the sigmoid, weight of shape ``(1, in_features)``.
    default : Tensor, shape (out_features,)
        ``w_0``.
    weight, bias : Tensor
        Those of ``linear``, as in :class:`torch.nn.Linear`.

    Notes
    -----
    The layer has ``in * out + out`` (bias) ``+ in + 1`` (gate) ``+ out`` (default) parameters.
    NaN in one input vector gives NaN in its own output only.

    In a deep stack each layer multiplies the difference between two inputs by its gate, which starts near
    1/2. Before training, 16 layers of 64 units shrink the difference to 3e-9 of its size; with
    ``gate_bias_init=3`` to 7e-5, with 5 to 1.3e-4. Sixteen :class:`torch.nn.Linear` shrink it to 1.5e-4.

    Examples
    --------
    >>> layer = CALinear(20, 30, activation=torch.tanh)
    >>> layer(torch.randn(128, 20)).shape
    torch.Size([128, 30])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        activation: Callable[[Tensor], Tensor] | None = None,
        gate_bias_init: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.activation = activation
        self.gate_bias_init = gate_bias_init
        self.linear = nn.Linear(in_features, out_features, bias=bias, device=device, dtype=dtype)
        self.gate = nn.Linear(in_features, 1, device=device, dtype=dtype)
        self.default = nn.Parameter(torch.empty(out_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both maps as :class:`torch.nn.Linear` does and the default from U(-1/sqrt(in), 1/sqrt(in))."""
        self.linear.reset_parameters()
        self.gate.reset_parameters()
        if self.gate_bias_init is not None:
            nn.init.constant_(self.gate.bias, self.gate_bias_init)
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        nn.init.uniform_(self.default, -bound, bound)

    @property
    def weight(self) -> Tensor:
        """Weight of the linear map, shape ``(out_features, in_features)``."""
        return self.linear.weight

    @property
    def bias(self) -> Tensor | None:
        """Bias of the linear map, shape ``(out_features,)``, or None."""
        return self.linear.bias

    def chi(self, input: Tensor) -> Tensor:
        """Return the gate, shape ``(*, 1)``, for an input of shape ``(*, in_features)``."""
        return torch.sigmoid(self.gate(input))

    def forward(self, input: Tensor) -> Tensor:
        """Map ``(*, in_features)`` to ``(*, out_features)``."""
        value = self.linear(input)
        if self.activation is not None:
            value = self.activation(value)
        chi = self.chi(input)
        return chi * value + (1 - chi) * self.default

    def extra_repr(self) -> str:
        """Return the sizes for ``repr``."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )
