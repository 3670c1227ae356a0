"""The context-aware embedding of bags of sparse features, CA-EM and CA-BSFE."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wordvec_ca.vectors import KeyedVectors


class CAEmbeddingBag(nn.Module):
    r"""Sum or mean of feature embeddings, each blended with one shared context vector.

    .. math::
        s = v_0 \sum_w \chi(w) + \sum_w (1 - \chi(w))\, w', \qquad
        \chi(w) = \sigma(\theta \cdot w_\sigma [+ b])

    (Zeng 2019, section 3.2, eq. 19-20; eq. 20 prints ``w`` for ``w'``). ``w'`` and ``w_sigma`` are embeddings
    of the feature ``w``; a bag of one feature is the CA-EM. The inputs are those of
    :class:`torch.nn.EmbeddingBag`.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Number of features and size of ``w'`` and of the result.
    sigma_dim : int or None, default 5
        Size of ``w_sigma``. With None the gate reuses ``w'`` instead, the first of the paper's two choices.
    mode : {"mean", "sum"}, default "mean"
        The paper prints a sum; its author's public code takes the mean.
    gate_bias : bool, default False
        Whether the gate has the bias ``b`` (the author's public code has it, eq. 19 does not).
    sparse : bool, default False
        Whether the gradients of the two embedding tables are sparse, for large tables.
    include_last_offset, padding_idx
        As for :class:`torch.nn.EmbeddingBag`.
    context_scale : Tensor, shape (num_embeddings,), optional
        Fixed factor of ``chi(w) v_0``: ``1 + ln P~(w) / ln Z`` of eq. 11 and 13, where ``P~`` is
        the frequency of a feature where it is context free. 1 by default, as in eq. 12 and 14, which take
        ``ln P~(w) / ln Z`` for 0.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Attributes
    ----------
    weight : Tensor, shape (num_embeddings, embedding_dim)
        ``w'``.
    sigma_weight : Tensor, shape (num_embeddings, sigma_dim), or None
        ``w_sigma``.
    theta : Tensor, shape (sigma_dim,), or (embedding_dim,) where the gate reuses ``w'``
        Weights of the gate.
    bias : Tensor, shape (1,), or None
        ``b``.
    context : Tensor, shape (embedding_dim,)
        ``v_0``.

    Notes
    -----
    With a linear head the network is a linear function of the feature counts, with one scalar
    ``head . (chi v_0 + (1 - chi) w')`` for each feature. It differs from a bag of words only in optimisation.
    An empty bag (no features, or padding only) gives zeros. NaN affects only the result of its own bag.

    Examples
    --------
    >>> bag = CAEmbeddingBag(1000, 5, padding_idx=0)
    >>> bag(torch.tensor([[4, 7, 0], [3, 0, 0]])).shape
    torch.Size([2, 5])
    >>> bag(torch.tensor([4, 7, 3]), torch.tensor([0, 2])).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        sigma_dim: int | None = 5,
        mode: str = "mean",
        gate_bias: bool = False,
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        context_scale: Tensor | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if mode not in ("mean", "sum"):
            raise ValueError(f'CAEmbeddingBag: mode is {mode!r}, but it must be "mean" or "sum".')
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(
                f"CAEmbeddingBag: padding_idx is {padding_idx}, but there are {num_embeddings} embeddings."
            )
        if context_scale is not None and context_scale.shape != (num_embeddings,):
            raise ValueError(
                f"CAEmbeddingBag: context_scale has shape {tuple(context_scale.shape)}, but it must have one "
                f"number for each of the {num_embeddings} embeddings."
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.sigma_dim = sigma_dim
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.context_scale: Tensor | None
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
        self.sigma_weight: nn.Parameter | None = None
        if sigma_dim is not None:
            self.sigma_weight = nn.Parameter(
                torch.empty(num_embeddings, sigma_dim, device=device, dtype=dtype)
            )
        gate_dim = embedding_dim if sigma_dim is None else sigma_dim
        self.theta = nn.Parameter(torch.empty(gate_dim, device=device, dtype=dtype))
        self.bias: nn.Parameter | None = None
        if gate_bias:
            self.bias = nn.Parameter(torch.empty(1, device=device, dtype=dtype))
        self.context = nn.Parameter(torch.empty(embedding_dim, device=device, dtype=dtype))
        scale = None
        if context_scale is not None:
            scale = context_scale.detach().to(self.weight, copy=True)
        self.register_buffer("context_scale", scale)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw embeddings and theta with an expected squared norm of 1; v_0, bias and padding row are 0."""
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)
        for tensor in (self.sigma_weight, self.theta):
            if tensor is not None:
                nn.init.normal_(tensor, std=self.theta.shape[0] ** -0.5)
        nn.init.zeros_(self.context)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self.padding_idx is not None:
            with torch.no_grad():
                for tensor in (self.weight, self.sigma_weight):
                    if tensor is not None:
                        tensor[self.padding_idx] = 0

    @classmethod
    def from_pretrained(cls, vectors: Any, freeze: bool = False, **options: Any) -> CAEmbeddingBag:
        """Start ``w'`` from trained vectors.

        Parameters
        ----------
        vectors : path, model, KeyedVectors, array or Tensor, shape (num_embeddings, embedding_dim)
            A trained model, its directory or any file of vectors that
            :meth:`wordvec_ca.KeyedVectors.load` reads, vectors of gensim, or a bare table;
            copied. Feature ``i`` is row ``i``; for a word, ``i`` is ``key_to_index[word]``.
        freeze : bool, default False
            Whether ``w'`` is not trained.
        **options
            Further arguments of the constructor.
        """
        table = KeyedVectors.load(vectors) if isinstance(vectors, str | os.PathLike) else vectors
        while hasattr(table, "vectors"):  # a model holds keyed vectors, which hold the table
            table = table.vectors
        tensor = table.detach() if isinstance(table, Tensor) else torch.tensor(np.asarray(table))
        if tensor.dim() != 2:
            raise ValueError(
                f"CAEmbeddingBag.from_pretrained: the vectors have shape {tuple(tensor.shape)}, but they "
                "must be a table of shape (words, vector size)."
            )
        options.setdefault("dtype", tensor.dtype)
        options.setdefault("device", tensor.device)
        bag = cls(*tensor.shape, **options)
        with torch.no_grad():
            bag.weight.copy_(tensor)
        bag.weight.requires_grad_(not freeze)
        return bag

    def blocks(self) -> tuple[list[Tensor], list[Tensor]]:
        """Return the blocks to train in turn, ``[w']`` and ``[w_sigma, theta, b]``; v_0 is in neither."""
        gate = (self.sigma_weight, self.theta, self.bias)
        return [self.weight], [tensor for tensor in gate if tensor is not None]

    def chi(self, input: Tensor) -> Tensor:
        """Return the gate of every feature, in the shape of ``input``: 1 where the feature is ignored."""
        table = self.weight if self.sigma_weight is None else self.sigma_weight
        sigma = F.embedding(input, table, padding_idx=self.padding_idx, sparse=self.sparse)
        if self.padding_idx is not None:
            sigma = sigma.masked_fill((input == self.padding_idx).unsqueeze(-1), 0.0)
        logits = sigma @ self.theta
        return torch.sigmoid(logits if self.bias is None else logits + self.bias)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """Embed bags.

        Parameters
        ----------
        input : int Tensor, shape (N, L) or (T,)
            Feature numbers: bags of fixed length, or all bags one after another with ``offsets``.
        offsets : int Tensor, shape (N,) (or (N + 1,) with ``include_last_offset``), optional
            Where each bag starts in a 1-d ``input``.
        per_sample_weights : Tensor, shape of ``input``, optional
            Weight of each feature; with ``mode="sum"`` only.

        Returns
        -------
        Tensor, shape (N, embedding_dim)
        """
        if per_sample_weights is not None and self.mode != "sum":
            raise ValueError('CAEmbeddingBag: per_sample_weights needs mode="sum"; this one has mode="mean".')
        if per_sample_weights is not None and per_sample_weights.shape != input.shape:
            raise ValueError(
                f"CAEmbeddingBag: per_sample_weights has shape {tuple(per_sample_weights.shape)}, but it "
                f"must be that of input, {tuple(input.shape)}."
            )
        if input.dim() == 2:
            if offsets is not None:
                raise ValueError("CAEmbeddingBag: offsets is for a 1-d input only; this input is 2-d.")
            bags, length = input.shape
            starts = torch.arange(bags, device=input.device) * length
        elif input.dim() == 1:
            if offsets is None:
                raise ValueError("CAEmbeddingBag: a 1-d input needs offsets, the start of each bag.")
            starts = offsets[:-1] if self.include_last_offset else offsets
            bags = starts.shape[0]
        else:
            raise ValueError(f"CAEmbeddingBag: input must have 1 or 2 dimensions, not {input.dim()}.")
        features = input.reshape(-1)
        chi = self.chi(features).to(self.weight.dtype)
        present = torch.ones_like(chi)
        if per_sample_weights is not None:
            present = per_sample_weights.reshape(-1).to(chi.dtype)
        if self.padding_idx is not None:
            present = present.masked_fill(features == self.padding_idx, 0.0)
        free = F.embedding_bag(
            features,
            self.weight,
            starts.to(features.dtype),
            mode="sum",
            sparse=self.sparse,
            per_sample_weights=(1 - chi) * present,
            padding_idx=self.padding_idx,
        )
        if input.dim() == 2:
            owner = torch.arange(bags, device=input.device).repeat_interleave(length)
        else:
            positions = torch.arange(features.shape[0], device=input.device, dtype=starts.dtype)
            owner = torch.bucketize(positions, starts, right=True) - 1
        zeros = torch.zeros(bags, device=chi.device, dtype=chi.dtype)
        shared = chi * present
        if self.context_scale is not None:
            shared = shared * self.context_scale[features]
        result = free + zeros.index_add(0, owner, shared).unsqueeze(-1) * self.context
        if self.mode == "mean":
            result = result / zeros.index_add(0, owner, present).clamp(min=1).unsqueeze(-1)
        return result

    def extra_repr(self) -> str:
        """Return sizes and mode for ``repr``."""
        text = f"{self.num_embeddings}, {self.embedding_dim}, sigma_dim={self.sigma_dim}, mode={self.mode!r}"
        if self.bias is not None:
            text += ", gate_bias=True"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"
