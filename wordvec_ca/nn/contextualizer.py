"""The Contextualizer: iterative second-order attention over the tokens of a document."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

DEFAULT_CONTEXTS = ("random", "ones", "learned")


def second_order_attention(
    tokens: Tensor, keys: Tensor, contexts: Tensor, query: Tensor, output: Tensor, padding: Tensor | None
) -> Tensor:
    r"""Let every context read all tokens, with one attention for each component.

    .. math::
        A_i = W (U x_i \odot V c), \qquad \alpha_{ij} = \frac{e^{A_{ij}}}{\sum_l e^{A_{lj}}}, \qquad
        c'_j = \sum_i \alpha_{ij} x_{ij}

    (Maupomé & Meurs 2021, section 2; the paper prints n for m in the shapes of U, V, W.)
    """
    queries = nn.functional.linear(contexts, query)
    scores = nn.functional.linear(keys.unsqueeze(1) * queries.unsqueeze(2), output)
    if padding is not None:
        # The lowest finite number rather than -inf: a document of padding alone then gets equal weights for
        # tokens that are zero, instead of NaN.
        scores = scores.masked_fill(padding[:, None, :, None], torch.finfo(scores.dtype).min)
    return (torch.softmax(scores, dim=2) * tokens.unsqueeze(1)).sum(2)


class SinusoidalPosition(nn.Module):
    r"""Append to each token a vector of sines and cosines of its position.

    ``p_{2i} = sin(pos / 10000^{2i/d})``, and ``p_{2i+1}`` is the cosine (Vaswani et al. 2017, section 3.5).
    It is concatenated, not added, as the parameter counts of Maupomé & Meurs 2021 require. The module has no
    parameters.

    Parameters
    ----------
    position_dim : int
        Size d of the position vector, even.
    """

    def __init__(self, position_dim: int) -> None:
        super().__init__()
        if position_dim < 0 or position_dim % 2:
            raise ValueError(
                f"SinusoidalPosition: position_dim is {position_dim}, but it must be even and >= 0."
            )
        self.position_dim = position_dim

    def forward(self, tokens: Tensor) -> Tensor:
        """Map ``(*, n, size)`` to ``(*, n, size + position_dim)``; the first token has position 0."""
        *batch, length, _ = tokens.shape
        half = self.position_dim // 2
        positions = torch.arange(length, device=tokens.device, dtype=torch.float32)
        rates = torch.exp(torch.arange(half, device=tokens.device) * (-math.log(10000.0) / max(half, 1)))
        angles = positions[:, None] * rates
        encoding = torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(length, self.position_dim)
        return torch.cat([tokens, encoding.to(tokens.dtype).expand(*batch, -1, -1)], dim=-1)

    def extra_repr(self) -> str:
        """Return the size for ``repr``."""
        return f"{self.position_dim}"


class SecondOrderSteps(nn.Module):
    """The matrices U, V and W of ``num_steps`` steps: parameters that both Contextualizers have.

    Parameters
    ----------
    embed_dim : int
        Size m of a token with its position.
    rank : int, default 100
        Size u of the product space.
    num_steps : int, default 5
        Number K of contextualization steps.
    recurrent : bool, default True
        Whether all steps use the same matrices; otherwise each has its own.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Attributes
    ----------
    key_weight, query_weight : Tensor, shape (1 or num_steps, rank, embed_dim)
        ``U`` and ``V``.
    output_weight : Tensor, shape (1 or num_steps, embed_dim, rank)
        ``W``.
    """

    def __init__(
        self,
        embed_dim: int,
        rank: int = 100,
        num_steps: int = 5,
        recurrent: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("embed_dim", embed_dim), ("rank", rank), ("num_steps", num_steps)):
            if value < 1:
                raise ValueError(f"{type(self).__name__}: {name} is {value}, but it must be at least 1.")
        self.embed_dim = embed_dim
        self.rank = rank
        self.num_steps = num_steps
        self.recurrent = recurrent
        steps = 1 if recurrent else num_steps

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape, device=device, dtype=dtype))

        self.key_weight = parameter(steps, rank, embed_dim)
        self.query_weight = parameter(steps, rank, embed_dim)
        self.output_weight = parameter(steps, embed_dim, rank)

    def reset_parameters(self) -> None:
        """Draw U, V and W from U(-1/sqrt(fan in), 1/sqrt(fan in)), as torch's linear layers do."""
        for weight in (self.key_weight, self.query_weight, self.output_weight):
            bound = weight.shape[-1] ** -0.5
            nn.init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """Return the sizes for ``repr``."""
        return f"{self.embed_dim}, rank={self.rank}, num_steps={self.num_steps}, recurrent={self.recurrent}"


def without_padding(tokens: Tensor, padding: Tensor | None) -> Tensor:
    """Return the tokens with zeros at padding, so that the values there (even NaN) have no effect."""
    return tokens if padding is None else tokens.masked_fill(padding.unsqueeze(-1), 0.0)


class Contextualizer(SecondOrderSteps):
    """Encode a document as one vector, its context, which is read from its tokens repeatedly.

    From a default context, each of K steps weighs the tokens with :func:`second_order_attention` and sums
    them into a new context (Maupomé & Meurs 2021, algorithm 1). Time and memory grow linearly with the
    number of tokens: ``O(K n u m)``.

    Parameters
    ----------
    embed_dim, rank, num_steps, recurrent
        m, u, K and whether steps share their matrices, as in :class:`SecondOrderSteps`.
    default_context : {"random", "ones", "learned"}, default "random"
        The first context. ``random``: drawn from U(-1, 1) for each document in training, and one fixed draw
        (the buffer ``context``, saved with the model) in evaluation, so that predictions are reproducible.
        ``ones``: all ones. ``learned``: a parameter.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Notes
    -----
    The module has ``3 u m`` parameters (times K if not recurrent), plus m if the context is learned. The
    encoding of a single token is that token, whatever the weights. Each component of the output is between
    the smallest and the largest of the tokens'. Without positions, order has no effect.

    Examples
    --------
    >>> encoder = Contextualizer(520, rank=100, num_steps=5)
    >>> tokens = SinusoidalPosition(20)(torch.randn(64, 30, 500))
    >>> encoder(tokens).shape
    torch.Size([64, 520])
    """

    def __init__(
        self,
        embed_dim: int,
        rank: int = 100,
        num_steps: int = 5,
        recurrent: bool = True,
        default_context: str = "random",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(embed_dim, rank, num_steps, recurrent, device, dtype)
        if default_context not in DEFAULT_CONTEXTS:
            raise ValueError(
                f"Contextualizer: default_context is {default_context!r}, but it must be one of "
                f"{', '.join(DEFAULT_CONTEXTS)}."
            )
        self.default_context = default_context
        context = torch.empty(embed_dim, device=device, dtype=dtype)
        if default_context == "learned":
            self.context: Tensor = nn.Parameter(context)
        else:
            self.register_buffer("context", context)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the matrices as torch's linear layers do, and the context from U(-1, 1) unless it is ones."""
        super().reset_parameters()
        if self.default_context == "ones":
            nn.init.ones_(self.context)
        else:
            nn.init.uniform_(self.context, -1.0, 1.0)

    def forward(
        self, tokens: Tensor, key_padding_mask: Tensor | None = None, context: Tensor | None = None
    ) -> Tensor:
        """Encode documents.

        Parameters
        ----------
        tokens : Tensor, shape (N, n, embed_dim)
            Token embeddings with their positions. For one document all shapes are without ``N``.
        key_padding_mask : bool Tensor, shape (N, n), optional
            True at padding. The values there, even NaN, have no effect.
        context : Tensor, shape (N, embed_dim) or (embed_dim,), optional
            First context instead of the default.

        Returns
        -------
        Tensor, shape (N, embed_dim)
            The last context: zeros for a document without tokens, and NaN in each component that a token of
            the document makes NaN.
        """
        if tokens.dim() == 2:
            mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
            return self.forward(tokens.unsqueeze(0), mask, context).squeeze(0)
        batch = tokens.shape[0]
        tokens = without_padding(tokens, key_padding_mask)
        if context is None:
            if self.default_context == "random" and self.training:
                context = torch.empty_like(tokens[:, 0] if tokens.shape[1] else tokens.sum(1)).uniform_(-1, 1)
            else:
                context = self.context
        contexts = context.expand(batch, self.embed_dim).unsqueeze(1)
        keys = None
        for step in range(self.num_steps):
            index = 0 if self.recurrent else step
            if keys is None or not self.recurrent:
                keys = nn.functional.linear(tokens, self.key_weight[index])
            contexts = second_order_attention(
                tokens, keys, contexts, self.query_weight[index], self.output_weight[index], key_padding_mask
            )
        return contexts.squeeze(1)

    def extra_repr(self) -> str:
        """Return sizes and default context for ``repr``."""
        return f"{super().extra_repr()}, default_context={self.default_context!r}"


class TokenwiseContextualizer(SecondOrderSteps):
    """Contextualize every token with all tokens of its document.

    Each token is in turn the context with which :func:`second_order_attention` reads the tokens; the
    result replaces it (Maupomé & Meurs 2021, algorithm 2). Time is ``O(K n^2 u m)``.

    Parameters
    ----------
    embed_dim, rank, num_steps, recurrent
        m, u, K and whether steps share their matrices, as in :class:`SecondOrderSteps`.
    inplace : bool, default False
        False: all tokens of a step change together, and read those of the previous step. True: they change
        one after another, and read those already changed, as the pseudo-code literally says; this is slower.
    chunk_size : int, optional
        Tokens that read at a time when ``inplace`` is False; it bounds the memory to ``N chunk n m`` numbers.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Notes
    -----
    Every pair of tokens has m scores, each a product over u; self-attention has one score for each head.
    At ``embed_dim`` 512 and ``rank`` 100, on one thread, a step takes 1.4, 3 and 9 times as long as
    self-attention with 8 heads for documents of 16, 32 and 64 tokens, and more for longer ones. On a CPU
    choose a ``chunk_size`` with which ``N chunk n m`` numbers fit into the cache: with 4, 2 documents of
    64 tokens take .57 of the time.

    Examples
    --------
    >>> TokenwiseContextualizer(16, rank=8)(torch.randn(4, 9, 16)).shape
    torch.Size([4, 9, 16])
    """

    def __init__(
        self,
        embed_dim: int,
        rank: int = 100,
        num_steps: int = 1,
        recurrent: bool = True,
        inplace: bool = False,
        chunk_size: int | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(embed_dim, rank, num_steps, recurrent, device, dtype)
        if chunk_size is not None and chunk_size < 1:
            raise ValueError(
                f"TokenwiseContextualizer: chunk_size is {chunk_size}, but it must be at least 1."
            )
        self.inplace = inplace
        self.chunk_size = chunk_size
        self.reset_parameters()

    def forward(self, tokens: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        """Contextualize tokens.

        Parameters
        ----------
        tokens : Tensor, shape (N, n, embed_dim) or (n, embed_dim)
            Token embeddings with their positions.
        key_padding_mask : bool Tensor, shape (N, n) or (n,), optional
            True at padding. The values there, even NaN, have no effect.

        Returns
        -------
        Tensor, shape (N, n, embed_dim) or (n, embed_dim)
            The tokens after the last step, zero at padding. The paper does not say how to read a document
            out of them; their mean over real tokens is a natural choice.
        """
        if tokens.dim() == 2:
            mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
            return self.forward(tokens.unsqueeze(0), mask).squeeze(0)
        length = tokens.shape[1]
        tokens = without_padding(tokens, key_padding_mask)
        size = 1 if self.inplace else (self.chunk_size or max(length, 1))
        for step in range(self.num_steps):
            index = 0 if self.recurrent else step
            key, query, output = self.key_weight[index], self.query_weight[index], self.output_weight[index]
            keys = nn.functional.linear(tokens, key)
            updated: list[Tensor] = []
            for start in range(0, length, size):
                read = second_order_attention(
                    tokens, keys, tokens[:, start : start + size], query, output, key_padding_mask
                )
                if self.inplace:
                    if key_padding_mask is not None:
                        read = read.masked_fill(key_padding_mask[:, start, None, None], 0.0)
                    tokens = torch.cat([tokens[:, :start], read, tokens[:, start + 1 :]], dim=1)
                    new_key = nn.functional.linear(read, key)
                    keys = torch.cat([keys[:, :start], new_key, keys[:, start + 1 :]], dim=1)
                else:
                    updated.append(read)
            if updated:
                tokens = without_padding(torch.cat(updated, dim=1), key_padding_mask)
        return tokens

    def extra_repr(self) -> str:
        """Return sizes and way of updating for ``repr``."""
        return f"{super().extra_repr()}, inplace={self.inplace}"
