"""The context-aware neural layer CA-NN, and the convolutions CA-CNN in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn


class ContextAwareMap(nn.Module):
    """A map of torch beside a gate and a default, for layers that give chi v(c) + (1 - chi) w_0."""

    # Name of the map among the attributes of the layer, and so in saved states.
    named: ClassVar[str]

    def __init__(
        self,
        value: Any,
        gate: Any,
        activation: Callable[[Tensor], Tensor] | None,
        gate_bias_init: float | None,
    ) -> None:
        super().__init__()
        self.activation, self.gate_bias_init = activation, gate_bias_init
        self.add_module(self.named, value)
        self.gate = gate
        self.default = nn.Parameter(value.weight.new_empty(len(value.weight)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both maps as torch does, the default from U(-1/sqrt(f), 1/sqrt(f)), f the gate's fan-in."""
        self._map.reset_parameters()
        self.gate.reset_parameters()
        if self.gate_bias_init is not None:
            nn.init.constant_(self.gate.bias, self.gate_bias_init)
        fan_in = self.gate.weight[0].numel()
        bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
        nn.init.uniform_(self.default, -bound, bound)

    @property
    def _map(self) -> Any:
        return getattr(self, self.named)

    @property
    def weight(self) -> Tensor:
        """Weight of the map."""
        weight: Tensor = self._map.weight
        return weight

    @property
    def bias(self) -> Tensor | None:
        """Bias of the map, shape ``(out,)``, or None."""
        bias: Tensor | None = self._map.bias
        return bias

    def chi(self, input: Tensor) -> Tensor:
        """Return the gate, shape ``(*, 1)``, or ``(N, 1, *out)`` for a convolution, with values in [0, 1]."""
        return torch.sigmoid(self.gate(input))

    def forward(self, input: Tensor) -> Tensor:
        """Map ``(*, in_features)`` to ``(*, out_features)``, ``(N, C_in, *in)`` to ``(N, C_out, *out)``."""
        value = self._map(input)
        if self.activation is not None:
            value = self.activation(value)
        chi = self.chi(input)
        # a convolution has its channels before the places of an image
        default = self.default.view(-1, *[1] * (self.weight.dim() - 2))
        return chi * value + (1 - chi) * default


class CALinear(ContextAwareMap):
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

    named = "linear"

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
        value = nn.Linear(in_features, out_features, bias=bias, device=device, dtype=dtype)
        gate = nn.Linear(in_features, 1, device=device, dtype=dtype)
        super().__init__(value, gate, activation, gate_bias_init)
        self.in_features, self.out_features = in_features, out_features

    def extra_repr(self) -> str:
        """Return the sizes for ``repr``."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class ContextAwareConvolution(ContextAwareMap):
    """A convolution of one to three dimensions, with the arguments of :class:`CAConv2d`."""

    named = "conv"
    convolution: ClassVar[type[nn.Conv1d | nn.Conv2d | nn.Conv3d]]
    conv: nn.Conv1d | nn.Conv2d | nn.Conv3d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: str | int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        activation: Callable[[Tensor], Tensor] | None = None,
        gate_bias_init: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        geometry: dict[str, Any] = {
            "kernel_size": kernel_size,
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "padding_mode": padding_mode,
            "device": device,
            "dtype": dtype,
        }
        value = self.convolution(in_channels, out_channels, groups=groups, bias=bias, **geometry)
        super().__init__(value, self.convolution(in_channels, 1, **geometry), activation, gate_bias_init)
        for name in ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups"):
            setattr(self, name, getattr(self.conv, name))
        self.padding_mode = padding_mode

    def sigma_map(self, input: Tensor) -> Tensor:
        """Return the gate of every patch, the paper's name of ``chi``."""
        return self.chi(input)

    def extra_repr(self) -> str:
        """Return the arguments for ``repr``, as torch's convolutions do."""
        return self.conv.extra_repr()


class CAConv1d(ContextAwareConvolution):
    """A context-aware :class:`torch.nn.Conv1d`, with the arguments and attributes of :class:`CAConv2d`.

    Examples
    --------
    >>> CAConv1d(4, 16, kernel_size=3)(torch.randn(5, 4, 28)).shape
    torch.Size([5, 16, 26])
    """

    convolution = nn.Conv1d


class CAConv2d(ContextAwareConvolution):
    r"""A 2-d convolution whose irrelevant patches give a learned constant instead.

    :class:`~wordvec_ca.nn.CALinear` applied to every patch ``c``:

    .. math:: w = \chi(c)\, v(c) + (1 - \chi(c))\, w_0

    with ``v`` a convolution of ``out_channels`` maps and ``chi`` the sigmoid of a convolution of one map
    with the same geometry, the sigma-map (Zeng 2019, section 3.5.1 and fig. 18).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode
        As for :class:`torch.nn.Conv2d`. The gate sees all input channels with any ``groups``.
    activation : callable, optional
        Element-wise function of ``v``; None is the paper's linear case (eq. 40).
    gate_bias_init : float, optional
        Initial value of the bias of ``chi``; by default drawn like the other parameters.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Attributes
    ----------
    conv : torch.nn.Conv2d
        The convolution ``v``.
    gate : torch.nn.Conv2d
        One map; its sigmoid is the sigma-map.
    default : Tensor, shape (out_channels,)
        ``w_0``.
    weight, bias : Tensor
        Those of ``conv``.
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode
        As in :class:`torch.nn.Conv2d`.

    Notes
    -----
    The layer has ``in_channels * kernel size + 1 + out_channels`` parameters more than the convolution it
    replaces. With the gate saturated at 1 it equals the convolution, with the gate at 0 the constant map
    ``w_0``.

    Examples
    --------
    >>> layer = CAConv2d(1, 16, kernel_size=8)
    >>> layer(torch.randn(5, 1, 28, 28)).shape
    torch.Size([5, 16, 21, 21])
    """

    convolution = nn.Conv2d


class CAConv3d(ContextAwareConvolution):
    """A context-aware :class:`torch.nn.Conv3d`, with the arguments and attributes of :class:`CAConv2d`.

    Examples
    --------
    >>> CAConv3d(1, 8, kernel_size=3)(torch.randn(2, 1, 9, 9, 9)).shape
    torch.Size([2, 8, 7, 7, 7])
    """

    convolution = nn.Conv3d
