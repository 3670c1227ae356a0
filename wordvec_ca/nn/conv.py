"""The context-aware convolution CA-CNN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class CAConv2d(nn.Module):
    r"""A 2-d convolution whose irrelevant patches give a learned constant instead.

    :class:`~wordvec_ca.nn.CALinear` applied to every patch ``c``:

    .. math:: w = \chi(c)\, v(c) + (1 - \chi(c))\, w_0

    with ``v`` a convolution of ``out_channels`` maps and ``chi`` the sigmoid of a convolution of one map
    with the same geometry, the sigma-map (Zeng 2019, section 3.5.1 and fig. 18).

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode
        As for :class:`torch.nn.Conv2d`. The gate looks at all input channels whatever ``groups`` is.
    activation : callable, optional
        Element-wise function of ``v``; None is the paper's linear case (eq. 40).
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

    Notes
    -----
    ``k_h * k_w * in_channels + 1 + out_channels`` parameters more than the convolution it replaces.
    With the gate saturated at 1 it is the convolution exactly, at 0 the constant map ``w_0``.

    Examples
    --------
    >>> layer = CAConv2d(1, 16, kernel_size=8)
    >>> layer(torch.randn(5, 1, 28, 28)).shape
    torch.Size([5, 16, 21, 21])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: str | int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        activation: Callable[[Tensor], Tensor] | None = None,
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
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.activation = activation
        self.conv = nn.Conv2d(in_channels, out_channels, groups=groups, bias=bias, **geometry)
        self.gate = nn.Conv2d(in_channels, 1, **geometry)
        self.default = nn.Parameter(torch.empty(out_channels, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both convolutions as :class:`torch.nn.Conv2d` does, the default from U(-1/sqrt(f), 1/sqrt(f)).

        ``f`` is the fan-in of the gate.
        """
        self.conv.reset_parameters()
        self.gate.reset_parameters()
        bound = 1 / math.sqrt(self.gate.weight[0].numel())
        nn.init.uniform_(self.default, -bound, bound)

    def sigma_map(self, input: Tensor) -> Tensor:
        """Return the gate of every patch, shape ``(N, 1, H_out, W_out)`` with values in [0, 1]."""
        return torch.sigmoid(self.gate(input))

    def forward(self, input: Tensor) -> Tensor:
        """Map ``(N, C_in, H, W)`` or ``(C_in, H, W)`` to ``(N, C_out, H_out, W_out)`` or ``(C_out, ...)``."""
        value = self.conv(input)
        if self.activation is not None:
            value = self.activation(value)
        chi = self.sigma_map(input)
        return chi * value + (1 - chi) * self.default[:, None, None]

    def extra_repr(self) -> str:
        """Return the sizes for ``repr``."""
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.conv.kernel_size}"
