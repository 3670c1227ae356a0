"""CAAttention against the equations, slot by slot."""

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'wordvec-ca[torch]'")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from wordvec_ca.nn.attention import CAAttention  # noqa: E402

SCORES = ("linear", "bahdanau", "luong")


def make(score="linear", **options):
    torch.manual_seed(0)
    return CAAttention(3, 4, score=score, dtype=torch.float64, **options)


@torch.no_grad()
def slow(attention, query, memory, seen=None):
    """Equations 23, 25, 26 and 43 for one query, slot by slot; the gate sees ``seen``."""
    free = attention.activation(attention.context_free.weight @ query + attention.context_free.bias)
    total = torch.zeros(4, dtype=torch.float64)
    for slot, of_gate in zip(memory, memory if seen is None else seen, strict=True):
        mapped = attention.query_map.weight @ query
        if attention.score == "linear":
            score = (mapped + attention.query_map.bias + attention.memory_map.weight @ of_gate)[0]
        elif attention.score == "bahdanau":
            hidden = [math.tanh(value) for value in mapped + attention.memory_map.weight @ of_gate]
            score = sum(a * b for a, b in zip(attention.score_map.weight[0], hidden, strict=True))
        else:
            score = sum(a * b for a, b in zip(mapped, of_gate, strict=True))
        chi = 1 / (1 + math.exp(-score))
        total = total + chi * free + (1 - chi) * slot
    return total / max(len(memory), 1) if attention.reduction == "mean" else total


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    score=st.sampled_from(SCORES),
    reduction=st.sampled_from(["sum", "mean"]),
    extra=st.integers(0, 2),
)
def test_batches_equal_the_equations_whatever_the_padding(lengths, score, reduction, extra):
    attention = make(score, reduction=reduction)
    size = max(lengths) + extra
    query = torch.randn(len(lengths), 2, 3, dtype=torch.float64)
    memory = torch.randn(len(lengths), size, 4, dtype=torch.float64)
    mask = torch.arange(size) >= torch.tensor(lengths)[:, None]
    memory[mask] = torch.nan  # padding may hold anything
    output, chi = attention(query, memory, mask)
    for n, length in enumerate(lengths):
        for q in range(2):
            torch.testing.assert_close(output[n, q], slow(attention, query[n, q], memory[n, :length]))
    assert (chi[mask[:, None, :].expand_as(chi)] == 1).all()
    single, _ = attention(query[:, 0], memory, mask)
    torch.testing.assert_close(single, output[:, 0])
    output.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in attention.parameters())


@pytest.mark.parametrize("score", SCORES)
def test_the_gate_may_see_another_embedding_of_each_slot(score):
    attention = make(score, gate_dim=2, activation=torch.sin)
    query, memory, seen = (torch.randn(*s, dtype=torch.float64) for s in ((2, 3), (2, 5, 4), (2, 5, 2)))
    mask = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    seen[mask] = torch.nan
    output, _ = attention(query, memory, mask, seen)
    torch.testing.assert_close(output[0], slow(attention, query[0], memory[0], seen[0]))
    torch.testing.assert_close(output[1], slow(attention, query[1], memory[1, :3], seen[1, :3]))
    with pytest.raises(ValueError, match="gate_memory must be given"):
        attention(query, memory)
    with pytest.raises(ValueError, match="must not be given"):
        make(score)(query, memory, None, seen)


def test_closed_gate_gives_n_times_v_and_no_gradient_to_memory():
    attention = make()
    with torch.no_grad():
        attention.query_map.bias.fill_(800.0)
    query = torch.randn(2, 3, dtype=torch.float64)
    memory = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    output, chi = attention(query, memory)
    assert (chi == 1).all()
    assert torch.equal(output, 5 * torch.tanh(attention.context_free(query)))
    output.sum().backward()
    assert not memory.grad.any()


def test_open_gate_sums_the_memory():
    attention = make()
    with torch.no_grad():
        attention.query_map.bias.fill_(-800.0)
    memory = torch.randn(2, 5, 4, dtype=torch.float64)
    torch.testing.assert_close(attention(torch.randn(2, 3, dtype=torch.float64), memory)[0], memory.sum(1))


def test_all_masked_and_no_slots_give_zero_and_nan_stays_in_its_row():
    attention = make(reduction="mean")
    query = torch.randn(3, 3, dtype=torch.float64)
    memory = torch.randn(3, 4, 4, dtype=torch.float64)
    mask = torch.zeros(3, 4, dtype=torch.bool)
    mask[1] = True
    memory[2, 0] = torch.nan
    output, _ = attention(query, memory, mask)
    assert not output[1].any()
    assert output.isnan().any(1).tolist() == [False, False, True]
    assert not attention(query, memory[:, :0])[0].any()


def test_wrong_options():
    with pytest.raises(ValueError, match="score"):
        CAAttention(3, 4, score="dot")
    with pytest.raises(ValueError, match="reduction"):
        CAAttention(3, 4, reduction="max")
    with pytest.raises(ValueError, match="no bias"):
        CAAttention(3, 4, score="luong", gate_bias_init=1.0)
