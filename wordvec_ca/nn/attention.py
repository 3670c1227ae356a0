"""The context-aware attention CA-ATT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

SCORES = ("linear", "bahdanau", "luong")


class CAAttention(nn.Module):
    r"""Attention that is not normalised over the memory and can attend to nothing.

    .. math:: s(c) = v(c) \sum_i \chi_i + \sum_i (1 - \chi_i)\, s_i, \qquad v(c) = \sigma_h(W_h c + b_h)

    The gate ``chi_i`` in [0, 1] is *in*-attention: 1 ignores the memory slot ``s_i`` in favour of ``v(c)``
    (Zeng 2019, section 3.3, eq. 23, 25, 26, 43). It is the sigmoid of a score

    * ``linear``: ``w_g . s_i + u_g . c + b_g`` (eq. 26);
    * ``bahdanau``: ``v . tanh(W_1 c + W_2 s_i)``;
    * ``luong``: ``c^T W s_i``.

    Parameters
    ----------
    query_dim, memory_dim : int
        Sizes of the query ``c`` and of one memory slot; the output has ``memory_dim``.
    score : {"linear", "bahdanau", "luong"}, default "linear"
        How the gate is computed.
    reduction : {"sum", "mean"}, default "sum"
        The paper's sum grows with the number of slots; ``mean`` divides by the number of slots not masked.
    attention_dim : int, optional
        Size of the hidden layer of the ``bahdanau`` score; by default ``gate_dim`` or ``memory_dim``.
    activation : callable, default torch.tanh
        ``sigma_h``.
    gate_dim : int, optional
        The gate sees, instead of ``s_i``, another embedding of the slot of this size, given as
        ``gate_memory`` (the end of section 3.3). Which slots get attention is then learned apart from the
        values that are read.
    gate_bias_init : float, optional
        Initial value of ``b_g``, for the ``linear`` score; by default drawn like the other parameters.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Examples
    --------
    >>> attention = CAAttention(8, 16)
    >>> output, chi = attention(torch.randn(4, 5, 8), torch.randn(4, 9, 16))
    >>> output.shape, chi.shape
    (torch.Size([4, 5, 16]), torch.Size([4, 5, 9]))
    """

    def __init__(
        self,
        query_dim: int,
        memory_dim: int,
        score: str = "linear",
        reduction: str = "sum",
        attention_dim: int | None = None,
        activation: Callable[[Tensor], Tensor] = torch.tanh,
        gate_dim: int | None = None,
        gate_bias_init: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if score not in SCORES:
            raise ValueError(f"CAAttention: score is {score!r}, but it must be one of {', '.join(SCORES)}.")
        if reduction not in ("sum", "mean"):
            raise ValueError(f'CAAttention: reduction is {reduction!r}, but it must be "sum" or "mean".')
        if gate_bias_init is not None and score != "linear":
            raise ValueError(f'CAAttention: gate_bias_init needs score="linear"; {score!r} has no bias.')
        self.query_dim = query_dim
        self.memory_dim = memory_dim
        self.score = score
        self.reduction = reduction
        self.activation = activation
        self.gate_dim = gate_dim
        self.gate_bias_init = gate_bias_init
        seen = memory_dim if gate_dim is None else gate_dim
        width = {"linear": 1, "bahdanau": attention_dim or seen, "luong": seen}[score]
        self.context_free = nn.Linear(query_dim, memory_dim, device=device, dtype=dtype)
        self.query_map = nn.Linear(query_dim, width, bias=score == "linear", device=device, dtype=dtype)
        self.memory_map: nn.Linear | None = None
        self.score_map: nn.Linear | None = None
        if score != "luong":
            self.memory_map = nn.Linear(seen, width, bias=False, device=device, dtype=dtype)
        if score == "bahdanau":
            self.score_map = nn.Linear(width, 1, bias=False, device=device, dtype=dtype)
        self._set_gate_bias()  # the maps draw their parameters when they are made

    def reset_parameters(self) -> None:
        """Draw all maps as :class:`torch.nn.Linear` does, except ``gate_bias_init``."""
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]
        self._set_gate_bias()

    def _set_gate_bias(self) -> None:
        if self.gate_bias_init is not None and self.query_map.bias is not None:
            nn.init.constant_(self.query_map.bias, self.gate_bias_init)

    def chi(self, query: Tensor, memory: Tensor) -> Tensor:
        """Return the gates, shape ``(N, L, S)``, for ``(N, L, query_dim)`` and ``(N, S, memory_dim)``.

        With ``gate_dim``, the second argument is ``gate_memory``.
        """
        queries = self.query_map(query)
        if self.memory_map is None:
            logits = queries @ memory.transpose(-2, -1)
        else:
            joined = queries.unsqueeze(-2) + self.memory_map(memory).unsqueeze(-3)
            if self.score_map is not None:
                joined = self.score_map(torch.tanh(joined))
            logits = joined.squeeze(-1)
        return torch.sigmoid(logits)

    def forward(
        self,
        query: Tensor,
        memory: Tensor,
        key_padding_mask: Tensor | None = None,
        gate_memory: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Read the memory.

        Parameters
        ----------
        query : Tensor, shape (N, L, query_dim) or (N, query_dim)
            One or many queries for each memory. Without a batch, all shapes are without ``N``.
        memory : Tensor, shape (N, S, memory_dim)
            The slots to attend to.
        key_padding_mask : bool Tensor, shape (N, S), optional
            True where a slot is padding, as in :class:`torch.nn.MultiheadAttention`. The values there, even
            NaN, have no effect.
        gate_memory : Tensor, shape (N, S, gate_dim), optional
            The gate's embedding of each slot; needed with ``gate_dim``.

        Returns
        -------
        output : Tensor, shape (N, L, memory_dim) or (N, memory_dim)
            Zero where no slot is left (``S = 0`` or all masked).
        chi : Tensor, shape (N, L, S) or (N, S)
            The gates; ``1 - chi`` is the attention. 1 at padding.
        """
        if (gate_memory is None) != (self.gate_dim is None):
            raise ValueError(
                f"CAAttention: gate_dim is {self.gate_dim}, so gate_memory must "
                f"{'not be given' if self.gate_dim is None else 'be given, shape (N, S, gate_dim)'}."
            )
        if query.dim() == memory.dim() - 1:
            output, chi = self.forward(query.unsqueeze(-2), memory, key_padding_mask, gate_memory)
            return output.squeeze(-2), chi.squeeze(-2)
        if key_padding_mask is not None:
            memory = memory.masked_fill(key_padding_mask.unsqueeze(-1), 0.0)
            if gate_memory is not None:
                gate_memory = gate_memory.masked_fill(key_padding_mask.unsqueeze(-1), 0.0)
        chi = self.chi(query, memory if gate_memory is None else gate_memory)
        if key_padding_mask is None:
            ignored = chi.sum(-1, keepdim=True)
        else:
            padding = key_padding_mask.unsqueeze(-2)
            ignored = chi.masked_fill(padding, 0.0).sum(-1, keepdim=True)
            chi = chi.masked_fill(padding, 1.0)
        output = self.activation(self.context_free(query)) * ignored + (1 - chi) @ memory.to(chi.dtype)
        if self.reduction == "mean":
            if key_padding_mask is None:
                output = output / max(memory.shape[-2], 1)
            else:
                slots = (~key_padding_mask).sum(-1).clamp(min=1)
                output = output / slots[..., None, None]
        return output, chi

    def extra_repr(self) -> str:
        """Return sizes, score and reduction for ``repr``."""
        return (
            f"query_dim={self.query_dim}, memory_dim={self.memory_dim}, score={self.score!r}, "
            f"reduction={self.reduction!r}"
        )
