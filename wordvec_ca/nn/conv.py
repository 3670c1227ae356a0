"""The context-aware convolutions CA-CNN, in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn


class ContextAwareConvolution(nn.Module):
    """A convolution of one to three dimensions, with the arguments of :class:`CAConv2d`."""

    convolution: ClassVar[type[nn.Conv1d | nn.Conv2d | nn.Conv3d]]

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
        super().__init__()
        geometry: dict[str, Any] = {
            "kernel_size": kernel_size,
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "padding_mode": padding_mode,
            "device": device,
            "dtype": dtype,
        }
        self.activation = activation
        self.gate_bias_init = gate_bias_init
        self.conv = self.convolution(in_channels, out_channels, groups=groups, bias=bias, **geometry)
        self.gate = self.convolution(in_channels, 1, **geometry)
        self.default = nn.Parameter(torch.empty(out_channels, device=device, dtype=dtype))
        for name in ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups"):
            setattr(self, name, getattr(self.conv, name))
        self.padding_mode = padding_mode
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both convolutions as torch's do, and the default from U(-1/sqrt(f), 1/sqrt(f)).

        ``f`` is the fan-in of the gate.
        """
        self.conv.reset_parameters()
        self.gate.reset_parameters()
        if self.gate_bias_init is not None and self.gate.bias is not None:
            nn.init.constant_(self.gate.bias, self.gate_bias_init)
        bound = 1 / math.sqrt(self.gate.weight[0].numel())
        nn.init.uniform_(self.default, -bound, bound)

    @property
    def weight(self) -> Tensor:
        """Weight of the convolution."""
        return self.conv.weight

    @property
    def bias(self) -> Tensor | None:
        """Bias of the convolution, shape ``(out_channels,)``, or None."""
        return self.conv.bias

    def sigma_map(self, input: Tensor) -> Tensor:
        """Return the gate of every patch, shape ``(N, 1, *out)`` with values in [0, 1]."""
        return torch.sigmoid(self.gate(input))

    def forward(self, input: Tensor) -> Tensor:
        """Map ``(N, C_in, *in)`` to ``(N, C_out, *out)``; ``N`` may be missing on both sides."""
        value = self.conv(input)
        if self.activation is not None:
            value = self.activation(value)
        chi = self.sigma_map(input)
        default = self.default.view(-1, *[1] * len(self.conv.kernel_size))
        return chi * value + (1 - chi) * default

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
