"""CARNN against equations 34 and 36 with one matrix for each letter, and against nn.LSTM's conventions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'wordvec-ca[torch]'")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence  # noqa: E402

from wordvec_ca.nn.rnn import CARNN, CARNNCell  # noqa: E402


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def slow_step(cell, x, y, c, h=np.tanh):
    """Equations 34 and 36 as printed, and their gates."""
    n = cell.hidden_size
    ih, hh, ch, cc, p, b = (
        t.detach().numpy()
        for t in (cell.weight_ih, cell.weight_hh, cell.weight_ch, cell.weight_cc, cell.peephole, cell.bias)
    )
    rows = {"v": slice(0, n), "c": slice(n, 2 * n), "vo": slice(2 * n, 3 * n), "co": slice(3 * n, 4 * n)}
    w = {k: ih[r] for k, r in rows.items()}
    u = {k: hh[r] for k, r in rows.items()}
    bias = {k: b[r] for k, r in rows.items()}
    w_f, u_f, b_f, w_o, u_o, b_o = ih[4 * n], hh[4 * n], b[4 * n], ih[4 * n + 1], hh[4 * n + 1], b[4 * n + 1]
    if cell.simple_output:  # P(y_t | c_t, y_{t-1}, x_t), the end of section 3.4.2
        v_vo, v_co, v_f, v_o = np.zeros((n, n)), np.zeros((n, n)), ch[0], np.zeros(n)
    else:
        v_vo, v_co, v_f, v_o = ch[:n], ch[n : 2 * n], ch[2 * n], ch[2 * n + 1]
    z_v, z_o = cc[:n], cc[n]
    f = sigmoid(v_f @ c + w_f @ x + u_f @ y + b_f)
    v = h(w["v"] @ x + u["v"] @ y + (p * c if p.ndim == 1 else p @ c) + bias["v"])
    free = h(w["c"] @ x + u["c"] @ y + bias["c"])
    new = f * v + (1 - f) * free
    o = sigmoid(z_o @ new + v_o @ c + w_o @ x + u_o @ y + b_o)
    vo = h(z_v @ new + v_vo @ c + w["vo"] @ x + u["vo"] @ y + bias["vo"])
    co = h(v_co @ c + w["co"] @ x + u["co"] @ y + bias["co"])
    return o * vo + (1 - o) * co, new, np.array([f, o])


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("peephole", ["vector", "matrix"])
@pytest.mark.parametrize("simple_output", [False, True])
def test_forms_of_the_cell_are_the_equations_and_gates_are_theirs(peephole, simple_output):
    torch.manual_seed(0)
    cell = CARNNCell(
        3, 4, nonlinearity=torch.sin, peephole=peephole, simple_output=simple_output, dtype=torch.float64
    )
    with torch.no_grad():
        cell.peephole.normal_()
    x, y, c = double(5, 3), double(5, 4), double(5, 4)
    expected = [slow_step(cell, *(t[i].numpy() for t in (x, y, c)), h=np.sin) for i in range(5)]
    (new_y, new_c), gates = cell(x, (y, c), need_gates=True)
    for got, one in zip((new_y, new_c, gates), zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(got.detach(), one, rtol=1e-12)
    removed = (2 * 4 + 1) * 4  # V^o_v, V^o_c and v_o
    assert cell.weight_ch.numel() == (2 * 4 + 2) * 4 - (removed if simple_output else 0)


def test_a_matrix_starts_as_the_vector_does_and_gate_biases_where_asked():
    torch.manual_seed(0)
    vector = CARNNCell(3, 4, gate_bias_init=2.5)
    matrix = CARNNCell(3, 4, peephole="matrix", gate_bias_init=2.5)
    others = {name: value for name, value in vector.state_dict().items() if name != "peephole"}
    matrix.load_state_dict(others, strict=False)
    x, states = torch.randn(2, 3), (torch.randn(2, 4), torch.randn(2, 4))
    torch.testing.assert_close(vector(x, states), matrix(x, states))
    assert vector.bias[-2:].tolist() == [2.5, 2.5]
    with pytest.raises(ValueError, match="bias is False"):
        CARNNCell(3, 4, bias=False, gate_bias_init=1.0)


def test_gates_of_all_layers_in_every_form_of_input():
    torch.manual_seed(0)
    rnn = CARNN(3, 4, num_layers=2, bidirectional=True, batch_first=True, dtype=torch.float64)
    x = double(2, 5, 3)
    _, _, gates = rnn(x, None, need_gates=True)
    assert gates.shape == (2, 5, 8)
    forward = rnn.cells[0]
    y = c = torch.zeros(2, 4, dtype=torch.float64)
    for t in range(5):
        (y, c), opened = forward(x[:, t], (y, c), need_gates=True)
        torch.testing.assert_close(gates[:, t, :2], opened)
    torch.testing.assert_close(rnn(x[0], None, need_gates=True)[2], gates[0])
    lengths = [3, 5]
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    padded, _ = pad_packed_sequence(rnn(packed, None, need_gates=True)[2], batch_first=True)
    for i, length in enumerate(lengths):
        torch.testing.assert_close(padded[i, :length], rnn(x[i, :length], None, need_gates=True)[2])


def test_layers_and_directions_by_hand():
    torch.manual_seed(0)
    rnn = CARNN(3, 4, num_layers=2, bidirectional=True, batch_first=True, dtype=torch.float64)
    x = double(2, 5, 3)
    sequence, last_y, last_c = x, [], []
    for layer in range(2):
        halves = []
        for direction in range(2):
            cell = rnn.cells[2 * layer + direction]
            y = c = torch.zeros(2, 4, dtype=torch.float64)
            outputs = {}
            for t in range(5) if direction == 0 else range(4, -1, -1):
                y, c = cell(sequence[:, t], (y, c))
                outputs[t] = y
            halves.append(torch.stack([outputs[t] for t in range(5)], dim=1))
            last_y.append(y)
            last_c.append(c)
        sequence = torch.cat(halves, dim=-1)
    output, (y_n, c_n) = rnn(x)
    torch.testing.assert_close(output, sequence)
    torch.testing.assert_close(y_n, torch.stack(last_y))
    torch.testing.assert_close(c_n, torch.stack(last_c))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("form", ["batch-first", "batch-second", "alone", "packed"])
def test_shapes_are_those_of_lstm(form, bidirectional):
    options = {"num_layers": 2, "bidirectional": bidirectional, "batch_first": form == "batch-first"}
    x = {
        "batch-first": torch.randn(2, 5, 3),
        "batch-second": torch.randn(5, 2, 3),
        "alone": torch.randn(5, 3),
    }
    x["packed"] = pack_sequence([torch.randn(2, 3), torch.randn(4, 3)], enforce_sorted=False)
    ours, (y, c) = CARNN(3, 4, **options)(x[form])
    theirs, (h, cell) = torch.nn.LSTM(3, 4, **options)(x[form])
    if form == "packed":
        assert torch.equal(ours.batch_sizes, theirs.batch_sizes)
        assert torch.equal(ours.unsorted_indices, theirs.unsorted_indices)
        ours, theirs = ours.data, theirs.data
    assert (ours.shape, y.shape, c.shape) == (theirs.shape, h.shape, cell.shape)


@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=5), batch_first=st.booleans())
def test_packed_sequences_equal_each_sequence_alone(lengths, batch_first):
    torch.manual_seed(0)
    rnn = CARNN(3, 4, num_layers=2, bidirectional=True, batch_first=batch_first, dtype=torch.float64)
    size = max(lengths) + 2
    x = double(len(lengths), size, 3)
    x[torch.arange(size) >= torch.tensor(lengths)[:, None]] = torch.nan  # padding may hold anything
    states = (double(4, len(lengths), 4), double(4, len(lengths), 4))
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, (y, c) = rnn(packed, states)
    padded, out_lengths = pad_packed_sequence(output, batch_first=True)
    assert out_lengths.tolist() == lengths
    for i, length in enumerate(lengths):
        alone, (y_i, c_i) = rnn(x[i, :length], tuple(s[:, i] for s in states))
        torch.testing.assert_close(padded[i, :length], alone)
        torch.testing.assert_close(y[:, i], y_i)
        torch.testing.assert_close(c[:, i], c_i)
    y.sum().backward()
    assert all(p.grad.isfinite().all() for p in rnn.parameters())


def test_nan_stays_in_its_sequence_and_dropout_acts_in_training_only():
    rnn = CARNN(3, 4, num_layers=2, dropout=0.5, batch_first=True)
    x = torch.randn(3, 4, 3)
    rnn.eval()
    assert torch.equal(rnn(x)[0], rnn(x)[0])
    rnn.train()
    assert not torch.equal(rnn(x)[0], rnn(x)[0])
    x[1, 2] = torch.nan
    assert rnn(x)[0].isnan().flatten(1).any(1).tolist() == [False, True, False]


def test_wrong_inputs_say_what_is_wrong():
    rnn = CARNN(3, 4)
    with pytest.raises(ValueError, match="length 0"):
        rnn(torch.zeros(0, 2, 3))
    with pytest.raises(ValueError, match="input_size is 3"):
        rnn(torch.zeros(5, 2, 7))
    with pytest.raises(ValueError, match="hx"):
        rnn(torch.zeros(5, 2, 3), (torch.zeros(1, 3, 4), torch.zeros(1, 3, 4)))
    with pytest.raises(ValueError, match="dimensions"):
        rnn(torch.zeros(5))
    with pytest.raises(ValueError, match="nonlinearity"):
        CARNNCell(3, 4, nonlinearity="gelu")
    with pytest.raises(ValueError, match="num_layers"):
        CARNN(3, 4, num_layers=0)
    with pytest.raises(ValueError, match="dropout"):
        CARNN(3, 4, dropout=2.0)
