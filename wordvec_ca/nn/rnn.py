"""The context-aware recurrent network CA-RNN."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

NONLINEARITIES = {"tanh": torch.tanh, "relu": torch.relu}


class CARNNCell(nn.Module):
    r"""One step of the CA-RNN, with the interface of :class:`torch.nn.LSTMCell`.

    Two scalar gates blend a part that depends on the previous cell state with one that does not, first
    for the cell state ``c``, then for the output ``y`` (Zeng 2019, eq. 34 and 36):

    .. math::
        f &= \sigma(v_f \cdot c + w_f \cdot x + u_f \cdot y + b_f) \\
        v &= h(W_v x + U_v y + p_v \odot c + b_v), \quad \tilde c = h(W_c x + U_c y + b_c) \\
        c_t &= f v + (1 - f) \tilde c \\
        o &= \sigma(z_o \cdot c_t + v_o \cdot c + w_o \cdot x + u_o \cdot y + b_o) \\
        v^o &= h(Z_v c_t + V^o_v c + W^o_v x + U^o_v y + b^o_v), \quad
        \tilde y = h(V^o_c c + W^o_c x + U^o_c y + b^o_c) \\
        y_t &= o v^o + (1 - o) \tilde y

    where ``c`` and ``y`` on the right are those of the step before.

    Parameters
    ----------
    input_size, hidden_size : int
        Sizes of ``x`` (k below) and of ``c`` and ``y`` (n below).
    bias : bool, default True
        Whether there are biases.
    nonlinearity : {"tanh", "relu"}, default "tanh"
        ``h``.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Attributes
    ----------
    weight_ih, weight_hh, bias : Tensor, shapes (4n+2, k), (4n+2, n), (4n+2,)
        Weights of ``x`` and ``y`` and the bias, for v, c~, v^o, y~ (n rows each), f and o (one row each).
    weight_ch : Tensor, shape (2n+2, n)
        Weights of the previous ``c`` for v^o, y~, f and o.
    weight_cc : Tensor, shape (n+1, n)
        Weights of the new ``c`` for v^o and o.
    peephole : Tensor, shape (n,)
        ``p_v``.

    Notes
    -----
    ``7 n^2 + 4 n k + 10 n + 2 k + 2`` parameters (an LSTM of torch has ``4 n^2 + 4 n k + 8 n``).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if nonlinearity not in NONLINEARITIES:
            raise ValueError(f'CARNNCell: nonlinearity is {nonlinearity!r}, but it must be "tanh" or "relu".')
        if hidden_size < 1:
            raise ValueError(f"CARNNCell: hidden_size is {hidden_size}, but it must be at least 1.")
        self.input_size = input_size
        self.hidden_size = n = hidden_size
        self.nonlinearity = nonlinearity
        self.activation = NONLINEARITIES[nonlinearity]

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape, device=device, dtype=dtype))

        self.weight_ih = parameter(4 * n + 2, input_size)
        self.weight_hh = parameter(4 * n + 2, n)
        self.weight_ch = parameter(2 * n + 2, n)
        self.weight_cc = parameter(n + 1, n)
        self.peephole = parameter(n)
        self.bias: nn.Parameter | None = parameter(4 * n + 2) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw from U(-1/sqrt(n), 1/sqrt(n)), as torch's recurrent layers do; the peephole starts at 1.

        The peephole is the only path along which a component of the cell state remembers itself. Near 0
        the network forgets, and learns the length of a sequence rather than its words (the paper does not
        say how it starts).
        """
        bound = self.hidden_size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)
        nn.init.ones_(self.peephole)

    def project(self, input: Tensor) -> Tensor:
        """Return what ``x`` gives to every gate, shape ``(*, 4n+2)``; may be done for all steps at once."""
        return F.linear(input, self.weight_ih, self.bias)

    def step(self, projected: Tensor, output: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step from projected input ``(N, 4n+2)`` and the last ``(y, c)``, each ``(N, n)``."""
        n = self.hidden_size
        now = projected + F.linear(output, self.weight_hh)
        before = F.linear(cell, self.weight_ch)
        dependent = self.activation(now[..., :n] + self.peephole * cell)
        independent = self.activation(now[..., n : 2 * n])
        joint = now[..., 2 * n :] + before
        forget = torch.sigmoid(joint[..., 2 * n : 2 * n + 1])
        new_cell = forget * dependent + (1 - forget) * independent
        after = F.linear(new_cell, self.weight_cc)
        gate = torch.sigmoid(joint[..., 2 * n + 1 :] + after[..., n:])
        dependent = self.activation(joint[..., :n] + after[..., :n])
        independent = self.activation(joint[..., n : 2 * n])
        return gate * dependent + (1 - gate) * independent, new_cell

    def forward(
        self,
        input: Tensor,
        hx: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Take one step.

        Parameters
        ----------
        input : Tensor, shape (N, input_size) or (input_size,)
            The new ``x``.
        hx : pair of Tensors, shape (N, hidden_size) or (hidden_size,), optional
            The last ``(y, c)``; zeros by default.

        Returns
        -------
        pair of Tensors, shape (N, hidden_size) or (hidden_size,)
            The new ``(y, c)``.
        """
        projected = self.project(input)
        if hx is None:
            zeros = projected.new_zeros(*input.shape[:-1], self.hidden_size)
            hx = (zeros, zeros)
        return self.step(projected, *hx)

    def extra_repr(self) -> str:
        """Return the sizes for ``repr``."""
        return f"{self.input_size}, {self.hidden_size}, bias={self.bias is not None}"


class CARNN(nn.Module):
    """A context-aware recurrent network, with the interface of :class:`torch.nn.LSTM`.

    Parameters
    ----------
    input_size, hidden_size : int
        Sizes of the input and of each direction's output and cell state.
    num_layers : int, default 1
        Layers, each fed with the output of the one below.
    bias : bool, default True
        Whether there are biases.
    batch_first : bool, default False
        Batches are ``(N, L, size)`` rather than ``(L, N, size)``. The default is that of torch's layers.
    dropout : float, default 0
        Probability of dropping an output between two layers.
    bidirectional : bool, default False
        Also read from the end; outputs are concatenated.
    nonlinearity : {"tanh", "relu"}, default "tanh"
        As in :class:`CARNNCell`.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Examples
    --------
    >>> rnn = CARNN(10, 20, num_layers=2, bidirectional=True, batch_first=True)
    >>> output, (y_n, c_n) = rnn(torch.randn(3, 5, 10))
    >>> output.shape, c_n.shape
    (torch.Size([3, 5, 40]), torch.Size([4, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"CARNN: num_layers is {num_layers}, but it must be at least 1.")
        if not 0 <= dropout <= 1:
            raise ValueError(f"CARNN: dropout is {dropout}, but it is a probability, 0 to 1.")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        directions = 2 if bidirectional else 1
        self.cells = nn.ModuleList(
            CARNNCell(
                input_size if layer == 0 else directions * hidden_size,
                hidden_size,
                bias,
                nonlinearity,
                device=device,
                dtype=dtype,
            )
            for layer in range(num_layers)
            for _ in range(directions)
        )

    def reset_parameters(self) -> None:
        """Draw all cells anew."""
        for cell in self.cells:
            cell.reset_parameters()  # type: ignore[operator]

    def _run(
        self,
        cell: CARNNCell,
        input: Tensor,
        hx: tuple[Tensor, Tensor],
        valid: Tensor | None,
        reverse: bool,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Run one cell over ``(L, N, size)``; steps where ``valid`` (L, N, 1) is False keep the state."""
        projected = cell.project(input)
        output, state = hx
        outputs: list[Tensor] = []
        steps = range(input.shape[0])
        for t in reversed(steps) if reverse else steps:
            new_output, new_state = cell.step(projected[t], output, state)
            if valid is not None:
                new_output = torch.where(valid[t], new_output, output)
                new_state = torch.where(valid[t], new_state, state)
            output, state = new_output, new_state
            outputs.append(output)
        if reverse:
            outputs.reverse()
        return torch.stack(outputs), (output, state)

    def forward(
        self,
        input: Tensor | PackedSequence,
        hx: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor | PackedSequence, tuple[Tensor, Tensor]]:
        """Read sequences.

        Parameters
        ----------
        input : Tensor, shape (L, N, input_size), (N, L, input_size) if ``batch_first``, or (L, input_size)
            Sequences of one length, or a :class:`~torch.nn.utils.rnn.PackedSequence` of many lengths
            (pack padded batches: what stands after a sequence's end is then never read).
        hx : pair of Tensors, shape (num_layers * directions, N, hidden_size), optional
            First ``(y, c)``; zeros by default. Without the middle dimension when ``input`` has no batch.

        Returns
        -------
        output : Tensor or PackedSequence
            ``y`` of the last layer at all steps, shaped like the input with ``directions * hidden_size``.
        (y_n, c_n) : pair of Tensors, shape (num_layers * directions, N, hidden_size)
            States after the last step of each sequence.
        """
        if isinstance(input, PackedSequence):
            padded, lengths = pad_packed_sequence(input)
            valid = (torch.arange(padded.shape[0])[:, None] < lengths).unsqueeze(-1).to(padded.device)
            output, states = self.read(padded, hx, valid)
            if input.sorted_indices is not None:
                output = output.index_select(1, input.sorted_indices)
                lengths = lengths.index_select(0, input.sorted_indices.cpu())
            packed = pack_padded_sequence(output, lengths)
            return (
                PackedSequence(packed.data, input.batch_sizes, input.sorted_indices, input.unsorted_indices),
                states,
            )
        if input.dim() == 2:
            if hx is not None:
                hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
            output, (last, cell) = self.read(input.unsqueeze(1), hx, None)
            return output.squeeze(1), (last.squeeze(1), cell.squeeze(1))
        if input.dim() != 3:
            raise ValueError(f"CARNN: the input must have 2 or 3 dimensions, not {input.dim()}.")
        if self.batch_first:
            output, states = self.read(input.transpose(0, 1), hx, None)
            return output.transpose(0, 1), states
        return self.read(input, hx, None)

    def read(
        self,
        input: Tensor,
        hx: tuple[Tensor, Tensor] | None,
        valid: Tensor | None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Run all layers over ``(L, N, input_size)``, as :meth:`forward` does on each kind of input."""
        length, batch, size = input.shape
        if length == 0:
            raise ValueError("CARNN: the sequences have length 0; the shortest allowed is 1.")
        if size != self.input_size:
            raise ValueError(f"CARNN: the input has {size} features, but input_size is {self.input_size}.")
        shape = (len(self.cells), batch, self.hidden_size)
        if hx is None:
            zeros = input.new_zeros(shape)
            hx = (zeros, zeros)
        elif hx[0].shape != shape or hx[1].shape != shape:
            raise ValueError(
                f"CARNN: hx has shapes {tuple(hx[0].shape)} and {tuple(hx[1].shape)}; both must be {shape}."
            )
        directions = 2 if self.bidirectional else 1
        outputs: list[Tensor] = []
        cells: list[Tensor] = []
        sequence = input
        for layer in range(self.num_layers):
            if layer and self.dropout:
                sequence = F.dropout(sequence, self.dropout, self.training)
            parts = []
            for direction in range(directions):
                index = layer * directions + direction
                cell = self.cells[index]
                part, (output, state) = self._run(
                    cell,  # type: ignore[arg-type]
                    sequence,
                    (hx[0][index], hx[1][index]),
                    valid,
                    reverse=direction == 1,
                )
                parts.append(part)
                outputs.append(output)
                cells.append(state)
            sequence = parts[0] if directions == 1 else torch.cat(parts, dim=-1)
        return sequence, (torch.stack(outputs), torch.stack(cells))

    def extra_repr(self) -> str:
        """Return the options for ``repr``."""
        return (
            f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, "
            f"batch_first={self.batch_first}, dropout={self.dropout}, bidirectional={self.bidirectional}"
        )
