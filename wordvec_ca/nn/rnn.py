"""The context-aware recurrent network CA-RNN."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

Activation = str | Callable[[Tensor], Tensor]
States = tuple[Tensor, Tensor]
Sequences: TypeAlias = Tensor | PackedSequence

NONLINEARITIES = {"tanh": torch.tanh, "relu": torch.relu}
PEEPHOLES = ("vector", "matrix")


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

    where ``c`` and ``y`` on the right are those of the previous step.

    Parameters
    ----------
    input_size, hidden_size : int
        Sizes of ``x`` (k below) and of ``c`` and ``y`` (n below).
    bias : bool, default True
        Whether there are biases.
    nonlinearity : {"tanh", "relu"} or callable, default "tanh"
        ``h``.
    peephole : {"vector", "matrix"}, default "vector"
        Form of ``p_v``. A matrix is a linear map of ``c``, which the paper rules out (section 4.4.1).
    simple_output : bool, default False
        Leave the previous ``c`` out of ``o``, ``v^o`` and ``y~``, the simpler assumption ``P(y_t | c_t,
        y_{t-1}, x_t)`` at the end of section 3.4.2.
    gate_bias_init : float, optional
        Initial value of ``b_f`` and ``b_o``; by default drawn like the other parameters. Needs ``bias``.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Attributes
    ----------
    weight_ih, weight_hh, bias : Tensor, shapes (4n+2, k), (4n+2, n), (4n+2,)
        Weights of ``x`` and ``y`` and the bias, for v, c~, v^o, y~ (n rows each), f and o (one row each).
    weight_ch : Tensor, shape (2n+2, n), or (1, n) with ``simple_output``
        Weights of the previous ``c`` for v^o, y~, f and o; for f only with ``simple_output``.
    weight_cc : Tensor, shape (n+1, n)
        Weights of the new ``c`` for v^o and o.
    peephole : Tensor, shape (n,) or (n, n)
        ``p_v``.

    Notes
    -----
    The cell has ``7 n^2 + 4 n k + 10 n + 2 k + 2`` parameters (torch's LSTM has ``4 n^2 + 4 n k + 8 n``).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: Activation = "tanh",
        peephole: str = "vector",
        simple_output: bool = False,
        gate_bias_init: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if isinstance(nonlinearity, str) and nonlinearity not in NONLINEARITIES:
            raise ValueError(
                f'CARNNCell: nonlinearity is {nonlinearity!r}, but it must be "tanh", "relu" or a function.'
            )
        if peephole not in PEEPHOLES:
            raise ValueError(f'CARNNCell: peephole is {peephole!r}, but it must be "vector" or "matrix".')
        if hidden_size < 1:
            raise ValueError(f"CARNNCell: hidden_size is {hidden_size}, but it must be at least 1.")
        if gate_bias_init is not None and not bias:
            raise ValueError("CARNNCell: gate_bias_init is the first value of a bias, but bias is False.")
        self.input_size = input_size
        self.hidden_size = n = hidden_size
        self.nonlinearity = nonlinearity
        self.activation = NONLINEARITIES[nonlinearity] if isinstance(nonlinearity, str) else nonlinearity
        self.simple_output = simple_output
        self.gate_bias_init = gate_bias_init

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape, device=device, dtype=dtype))

        self.weight_ih = parameter(4 * n + 2, input_size)
        self.weight_hh = parameter(4 * n + 2, n)
        self.weight_ch = parameter(1 if simple_output else 2 * n + 2, n)
        self.weight_cc = parameter(n + 1, n)
        self.peephole = parameter(n) if peephole == "vector" else parameter(n, n)
        self.bias: nn.Parameter | None = parameter(4 * n + 2) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw from U(-1/sqrt(n), 1/sqrt(n)), as torch's recurrent layers do; the peephole starts at 1.

        A matrix starts as the identity, which has the same effect. The peephole is the only path along which
        a component of the cell state remembers itself. With a peephole near 0 the network forgets, and
        learns the length of a sequence rather than its words. (The paper does not state an initial value.)
        """
        bound = self.hidden_size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)
        if self.peephole.dim() == 1:
            nn.init.ones_(self.peephole)
        else:
            nn.init.eye_(self.peephole)
        if self.bias is not None and self.gate_bias_init is not None:
            with torch.no_grad():
                self.bias[-2:] = self.gate_bias_init

    def project(self, input: Tensor) -> Tensor:
        """Return the contribution of ``x`` to every gate, shape ``(*, 4n+2)``, for one step or all."""
        return F.linear(input, self.weight_ih, self.bias)

    def step(self, projected: Tensor, output: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Take one step from projected input ``(N, 4n+2)`` and the last ``(y, c)``, each ``(N, n)``.

        Returns the new ``y`` and ``c`` and the gates ``(f, o)``, shape ``(N, 2)``.
        """
        n = self.hidden_size
        # Split, not sliced: the gradient of a slice is a tensor of zeros as large as the whole tensor.
        v, free, joint = torch.addmm(projected, output, self.weight_hh.t()).split((n, n, 2 * n + 2), -1)
        before = F.linear(cell, self.weight_ch)
        if not self.simple_output:
            joint = joint + before
        own, other, forget, opening = joint.split((n, n, 1, 1), -1)
        forget = torch.sigmoid(forget + before if self.simple_output else forget)
        if self.peephole.dim() == 1:
            seen = self.peephole.to(cell.dtype) * cell
        else:
            seen = F.linear(cell, self.peephole)
        new_cell = torch.lerp(self.activation(free), self.activation(v + seen), forget)
        after, after_gate = F.linear(new_cell, self.weight_cc).split((n, 1), -1)
        opening = torch.sigmoid(opening + after_gate)
        new_output = torch.lerp(self.activation(other), self.activation(own + after), opening)
        return new_output, new_cell, torch.cat((forget, opening), -1)

    def forward(
        self, input: Tensor, hx: States | None = None, need_gates: bool = False
    ) -> States | tuple[States, Tensor]:
        """Take one step.

        Parameters
        ----------
        input : Tensor, shape (N, input_size) or (input_size,)
            The new ``x``.
        hx : pair of Tensors, shape (N, hidden_size) or (hidden_size,), optional
            The last ``(y, c)``; zeros by default.
        need_gates : bool, default False
            Return the gates too.

        Returns
        -------
        (y, c) : pair of Tensors, shape (N, hidden_size) or (hidden_size,)
            The new states. Under autocast they have its dtype, whatever the dtype of ``hx``.
        gates : Tensor, shape (N, 2) or (2,)
            With ``need_gates``: ``f`` and ``o``, in [0, 1].
        """
        projected = self.project(input)
        if hx is None:
            zeros = projected.new_zeros(*input.shape[:-1], self.hidden_size)
            hx = (zeros, zeros)
        rows = projected.reshape(-1, projected.shape[-1])
        states = (state.reshape(-1, self.hidden_size).to(rows.dtype) for state in hx)
        output, cell, gates = (new.view(*input.shape[:-1], new.shape[-1]) for new in self.step(rows, *states))
        return ((output, cell), gates) if need_gates else (output, cell)

    def extra_repr(self) -> str:
        """Return the sizes and forms for ``repr``."""
        text = f"{self.input_size}, {self.hidden_size}, bias={self.bias is not None}"
        if self.peephole.dim() == 2:
            text += ", peephole='matrix'"
        return f"{text}, simple_output=True" if self.simple_output else text


class CARNN(nn.Module):
    """A context-aware recurrent network, with the interface of :class:`torch.nn.LSTM`.

    Parameters
    ----------
    input_size, hidden_size : int
        Sizes of the input and of each direction's output and cell state.
    num_layers : int, default 1
        Number of layers; each reads the output of the one below.
    bias : bool, default True
        Whether there are biases.
    batch_first : bool, default False
        Whether batches are ``(N, L, size)`` rather than ``(L, N, size)``. The default is torch's.
    dropout : float, default 0
        Probability with which an output between two layers is dropped.
    bidirectional : bool, default False
        Whether to read from the end as well; outputs are concatenated.
    nonlinearity, peephole, simple_output, gate_bias_init
        As in :class:`CARNNCell`.
    proj_size : int, default 0
        Only 0 is accepted; the argument exists because :class:`torch.nn.LSTM` has it. Eq. 34 adds terms of
        ``y`` and of ``c``, which need the same size; use a :class:`torch.nn.Linear` after the network.
    device, dtype
        As for every module of :mod:`torch.nn`.

    Notes
    -----
    Each step is two dozen operations of PyTorch, where :class:`torch.nn.LSTM` has one compiled loop, and the
    network has 1.75 times the weights. On one core with batches of 16 to 64, training takes 1.9 to 2.7 times
    as long and reading 2.4 times; with a batch of one, 8 to 9 times.

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
        nonlinearity: Activation = "tanh",
        peephole: str = "vector",
        simple_output: bool = False,
        gate_bias_init: float | None = None,
        proj_size: int = 0,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"CARNN: num_layers is {num_layers}, but it must be at least 1.")
        if not 0 <= dropout <= 1:
            raise ValueError(f"CARNN: dropout is {dropout}, but it is a probability, 0 to 1.")
        if proj_size:
            raise ValueError(
                f"CARNN: proj_size is {proj_size}, but the CA-RNN has no projection: its output is "
                "as large as its cell state. Put torch.nn.Linear(hidden_size, size) behind it."
            )
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.nonlinearity = nonlinearity
        self.proj_size = proj_size
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
                peephole,
                simple_output,
                gate_bias_init,
                device=device,
                dtype=dtype,
            )
            for layer in range(num_layers)
            for _ in range(directions)
        )

    def reset_parameters(self) -> None:
        """Draw all cells again."""
        for cell in self.cells:
            cell.reset_parameters()  # type: ignore[operator]

    def flatten_parameters(self) -> None:
        """Do nothing; :class:`torch.nn.LSTM` has this method for cuDNN, and programs call it."""

    def _run(
        self,
        cell: CARNNCell,
        input: Tensor,
        hx: States,
        valid: Tensor | None,
        reverse: bool,
        need_gates: bool,
    ) -> tuple[Tensor, States, Tensor | None]:
        """Run one cell over ``(L, N, size)``; steps where ``valid`` (L, N, 1) is False keep the state."""
        # Unbound once: an index in the loop would have, at every step, a gradient as large as the sequence.
        steps = list(enumerate(cell.project(input).unbind(0)))
        output, state = (state.to(steps[0][1].dtype) for state in hx)
        outputs: list[Tensor] = []
        gates: list[Tensor] = []
        for t, projected in reversed(steps) if reverse else steps:
            new_output, new_state, opened = cell.step(projected, output, state)
            if valid is not None:
                new_output = torch.where(valid[t], new_output, output)
                new_state = torch.where(valid[t], new_state, state)
            output, state = new_output, new_state
            outputs.append(output)
            if need_gates:
                gates.append(opened)
        if reverse:
            outputs.reverse()
            gates.reverse()
        return torch.stack(outputs), (output, state), torch.stack(gates) if need_gates else None

    def forward(
        self, input: Sequences, hx: States | None = None, need_gates: bool = False
    ) -> tuple[Sequences, States] | tuple[Sequences, States, Sequences]:
        """Read sequences.

        Parameters
        ----------
        input : Tensor, shape (L, N, input_size), (N, L, input_size) if ``batch_first``, or (L, input_size)
            Sequences of one length, or a :class:`~torch.nn.utils.rnn.PackedSequence` of many lengths
            (pack padded batches: values after a sequence's end are then never read).
        hx : pair of Tensors, shape (num_layers * directions, N, hidden_size), optional
            First ``(y, c)``; zeros by default. It has no middle dimension if ``input`` has no batch.
        need_gates : bool, default False
            Return the gates too.

        Returns
        -------
        output : Tensor or PackedSequence
            ``y`` of the last layer at all steps, shaped like the input with ``directions * hidden_size``.
        (y_n, c_n) : pair of Tensors, shape (num_layers * directions, N, hidden_size)
            States after the last step of each sequence. Under autocast they and the output have its dtype,
            whatever the dtype of ``hx``.
        gates : Tensor or PackedSequence
            With ``need_gates``: ``f`` and ``o`` of all layers and directions at all steps, shaped like the
            input with ``2 * num_layers * directions``: ``f`` and ``o`` of the first, then of the next, and so
            on.
        """
        valid, alone = None, False
        shaped: Callable[[Tensor], Sequences]
        if isinstance(input, PackedSequence):
            steps, lengths = pad_packed_sequence(input)
            valid = (torch.arange(steps.shape[0])[:, None] < lengths).unsqueeze(-1).to(steps.device)
            shaped = partial(_packed_like, input, lengths=lengths)
        elif input.dim() == 2:  # no batch, here nor in the states
            alone, steps, shaped = True, input.unsqueeze(1), partial(torch.squeeze, dim=1)
            hx = None if hx is None else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        elif input.dim() != 3:
            raise ValueError(f"CARNN: the input must have 2 or 3 dimensions, not {input.dim()}.")
        elif self.batch_first:
            steps, shaped = input.transpose(0, 1), partial(torch.transpose, dim0=0, dim1=1)
        else:
            steps, shaped = input, lambda made: made
        output, states, gates = self.read(steps, hx, valid, need_gates)
        if alone:
            states = states[0].squeeze(1), states[1].squeeze(1)
        return (shaped(output), states) if gates is None else (shaped(output), states, shaped(gates))

    def read(
        self, input: Tensor, hx: States | None, valid: Tensor | None, need_gates: bool = False
    ) -> tuple[Tensor, States, Tensor | None]:
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
        gates: list[Tensor] = []
        sequence = input
        for layer in range(self.num_layers):
            if layer and self.dropout:
                sequence = F.dropout(sequence, self.dropout, self.training)
            parts = []
            for direction in range(directions):
                index = layer * directions + direction
                cell = self.cells[index]
                part, (output, state), opened = self._run(
                    cell,  # type: ignore[arg-type]
                    sequence,
                    (hx[0][index], hx[1][index]),
                    valid,
                    direction == 1,
                    need_gates,
                )
                parts.append(part)
                outputs.append(output)
                cells.append(state)
                if opened is not None:
                    gates.append(opened)
            sequence = parts[0] if directions == 1 else torch.cat(parts, dim=-1)
        states = (torch.stack(outputs), torch.stack(cells))
        return sequence, states, torch.cat(gates, dim=-1) if need_gates else None

    def extra_repr(self) -> str:
        """Return the options for ``repr``."""
        return (
            f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, "
            f"batch_first={self.batch_first}, dropout={self.dropout}, bidirectional={self.bidirectional}"
        )


def _packed_like(given: PackedSequence, output: Tensor, lengths: Tensor) -> PackedSequence:
    """Pack ``(L, N, size)``, whose sequences are in the caller's order, as ``given`` is packed."""
    if given.sorted_indices is not None:
        output = output.index_select(1, given.sorted_indices)
        lengths = lengths.index_select(0, given.sorted_indices.cpu())
    packed = pack_padded_sequence(output, lengths)
    return PackedSequence(packed.data, given.batch_sizes, given.sorted_indices, given.unsorted_indices)
