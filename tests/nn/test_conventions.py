"""Every module of wordvec_ca.nn follows torch.nn's conventions and has the papers' number of parameters."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'wordvec-ca[torch]'")

from wordvec_ca import nn as ca  # noqa: E402

# name -> (constructor of keyword arguments, inputs in float64 or integers)
MASK = torch.tensor([[False, False, False, True], [False, False, False, False]])


def floats(*shape: int) -> "torch.Tensor":
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


CASES = {
    "bag-mean": (
        lambda **k: ca.CAEmbeddingBag(7, 3, 4, padding_idx=0, gate_bias=True, **k),
        (torch.tensor([[1, 2, 0], [6, 6, 3]]),),
    ),
    "bag-sum-offsets": (
        lambda **k: ca.CAEmbeddingBag(7, 3, 4, mode="sum", **k),
        (torch.tensor([1, 2, 5, 5]), torch.tensor([0, 3, 3]), floats(4)),
    ),
    "attention-linear": (lambda **k: ca.CAAttention(3, 5, **k), (floats(2, 3, 3), floats(2, 4, 5), MASK)),
    "attention-bahdanau": (
        lambda **k: ca.CAAttention(3, 5, score="bahdanau", reduction="mean", attention_dim=2, **k),
        (floats(2, 3, 3), floats(2, 4, 5), MASK),
    ),
    "bag-own-gate-scaled": (
        lambda **k: ca.CAEmbeddingBag(7, 3, None, context_scale=torch.linspace(0.5, 1.5, 7), **k),
        (torch.tensor([[1, 2, 4], [6, 6, 3]]),),
    ),
    "attention-gate-memory": (
        lambda **k: ca.CAAttention(3, 5, gate_dim=2, activation=torch.sin, gate_bias_init=1.0, **k),
        (floats(2, 3, 3), floats(2, 4, 5), MASK, floats(2, 4, 2)),
    ),
    "attention-luong": (
        lambda **k: ca.CAAttention(3, 5, score="luong", **k),
        (floats(2, 3), floats(2, 4, 5)),
    ),
    "rnn-cell": (lambda **k: ca.CARNNCell(3, 4, **k), (floats(2, 3), (floats(2, 4), floats(2, 4)))),
    "rnn": (
        lambda **k: ca.CARNN(3, 4, num_layers=2, bidirectional=True, batch_first=True, **k),
        (floats(2, 5, 3),),
    ),
    "rnn-gates": (
        lambda **k: ca.CARNN(
            3, 4, 2, nonlinearity=torch.sin, peephole="matrix", simple_output=True, gate_bias_init=2.0, **k
        ),
        (floats(5, 2, 3), (floats(2, 2, 4), floats(2, 2, 4)), True),
    ),
    "linear": (lambda **k: ca.CALinear(4, 3, activation=torch.tanh, **k), (floats(2, 6, 4),)),
    "conv": (lambda **k: ca.CAConv2d(2, 3, (2, 3), stride=2, padding=1, **k), (floats(2, 2, 6, 7),)),
    "conv-1d": (lambda **k: ca.CAConv1d(2, 4, 3, groups=2, gate_bias_init=1.0, **k), (floats(2, 2, 6),)),
    "conv-3d": (lambda **k: ca.CAConv3d(1, 2, 2, padding="same", **k), (floats(2, 1, 3, 2, 3),)),
    "residual-gates": (
        lambda **k: ca.CAResidual(4, 3, 3, activation=torch.tanh, gate_bias_init=1.0, **k),
        (floats(2, 4), True),
    ),
    "residual": (
        lambda **k: ca.CAResidual(4, 3, 3, n_v=2, n_sigma=2, activation=torch.tanh, **k),
        (floats(2, 4),),
    ),
    "residual-add": (
        lambda **k: ca.CAResidual(4, 4, 3, combine="add", activation=torch.tanh, **k),
        (floats(2, 4),),
    ),
    "residual-conv": (
        lambda **k: ca.CAResidual(2, 3, 2, kernel_size=2, activation=torch.tanh, **k),
        (floats(2, 2, 4, 4),),
    ),
    "contextualizer": (
        lambda **k: ca.Contextualizer(6, rank=3, num_steps=3, default_context="learned", **k),
        (floats(2, 4, 6), MASK),
    ),
    "contextualizer-regular": (
        lambda **k: ca.Contextualizer(6, rank=3, num_steps=2, recurrent=False, default_context="ones", **k),
        (floats(2, 4, 6), MASK),
    ),
    "tokenwise": (
        lambda **k: ca.TokenwiseContextualizer(4, rank=3, num_steps=2, **k),
        (floats(2, 4, 4), MASK),
    ),
    "tokenwise-inplace": (
        lambda **k: ca.TokenwiseContextualizer(4, rank=3, num_steps=2, inplace=True, **k),
        (floats(2, 4, 4), MASK),
    ),
}
every_module = pytest.mark.parametrize("name", CASES)


def flat(output):
    """Return the tensors of a nested result."""
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, bool):
        return []
    return [tensor for part in output for tensor in flat(part)]


def build(name, dtype=torch.float64):
    torch.manual_seed(1)
    make, inputs = CASES[name]
    return make(dtype=dtype), inputs


def to(inputs, dtype):
    """Return the inputs with their floats in another dtype."""
    if isinstance(inputs, tuple):
        return tuple(to(part, dtype) for part in inputs)
    return inputs.to(dtype) if is_float(inputs) else inputs


def is_float(part):
    """Return whether this is a tensor of floats."""
    return isinstance(part, torch.Tensor) and part.is_floating_point()


@every_module
def test_gradients_match_finite_differences_in_inputs_and_parameters(name):
    module, inputs = build(name)
    names, parameters = zip(*module.named_parameters(), strict=True)
    leaves = [tensor for tensor in flat(inputs) if tensor.is_floating_point()]
    leaves = [tensor.clone().requires_grad_() for tensor in leaves]

    def run(*tensors):
        given = iter(tensors)

        def fill(part):
            if isinstance(part, tuple):
                return tuple(fill(p) for p in part)
            return next(given) if is_float(part) else part

        filled = fill(inputs)
        values = dict(zip(names, given, strict=True))
        return tuple(flat(torch.func.functional_call(module, values, filled)))

    assert torch.autograd.gradcheck(run, (*leaves, *parameters), eps=1e-6, atol=1e-7, rtol=1e-5)


@every_module
def test_state_dict_copy_and_reset(name):
    module, inputs = build(name)
    torch.manual_seed(2)
    other = CASES[name][0](dtype=torch.float64)
    before = [tensor.clone() for tensor in flat(module(*inputs))]
    assert any(not torch.equal(a, b) for a, b in zip(before, flat(other(*inputs)), strict=True))
    other.load_state_dict(module.state_dict())
    for result in (other(*inputs), copy.deepcopy(module)(*inputs)):
        assert all(torch.equal(a, b) for a, b in zip(before, flat(result), strict=True))
    drawn = {key: value.clone() for key, value in other.state_dict().items()}
    other.reset_parameters()
    again = other.state_dict()
    assert {k: v.shape for k, v in again.items()} == {k: v.shape for k, v in drawn.items()}
    fixed = {
        "bag-mean": {"bias", "context"},
        "bag-sum-offsets": {"context"},
        "contextualizer-regular": {"context"},
        "rnn-cell": {"peephole"},
        "rnn": {f"cells.{i}.peephole" for i in range(4)},
        "rnn-gates": {f"cells.{i}.peephole" for i in range(2)},
        "bag-own-gate-scaled": {"context", "context_scale"},
        "attention-gate-memory": {"query_map.bias"},
        "conv-1d": {"gate.bias"},
        "residual-gates": {f"gates.{i}.bias" for i in range(3)},
    }
    same = fixed.get(name, set())  # these are initialised with constants, zeros or ones
    assert not any(torch.equal(value, drawn[key]) for key, value in again.items() if key not in same)


@every_module
def test_factory_arguments_and_repr(name):
    module = CASES[name][0](dtype=torch.float64, device="meta")
    assert all(p.dtype == torch.float64 and p.device.type == "meta" for p in module.parameters())
    assert repr(module).startswith(type(module).__name__ + "(")
    assert module.extra_repr()
    on_meta = flat(module(*to_meta(CASES[name][1])))
    real = flat(CASES[name][0](dtype=torch.float64)(*CASES[name][1]))
    assert [t.device.type for t in on_meta] == ["meta"] * len(real)
    assert [t.shape for t in on_meta] == [t.shape for t in real]


def to_meta(inputs):
    """Return the inputs without their numbers."""
    if isinstance(inputs, tuple):
        return tuple(to_meta(part) for part in inputs)
    return inputs if isinstance(inputs, bool) else inputs.to("meta")


@every_module
def test_compiles_without_graph_breaks_forward_and_backward(name):
    module, inputs = build(name)
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    results = []
    for function in (module, compiled):
        outputs = flat(function(*inputs))
        gradients = torch.autograd.grad(sum(t.square().sum() for t in outputs), list(module.parameters()))
        results.append([*outputs, *gradients])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


def rows(inputs, chosen):
    """Return some rows of every input."""
    if isinstance(inputs, tuple):
        return tuple(rows(part, chosen) for part in inputs)
    return inputs if isinstance(inputs, bool) else inputs[chosen]


# the modules whose first dimension is the batch
batched = pytest.mark.parametrize(
    "name", [name for name in CASES if name not in ("bag-sum-offsets", "rnn-gates")]
)


@batched
def test_a_row_depends_on_no_other_row_not_even_on_nan_in_it(name):
    module, inputs = build(name)
    both = flat(module(*inputs))[0]
    for i in range(2):
        torch.testing.assert_close(flat(module(*rows(inputs, slice(i, i + 1))))[0], both[i : i + 1])
    if not inputs[0].is_floating_point():
        return
    first = inputs[0].clone()
    first[1, ..., 0] = torch.nan
    spoilt = flat(module(first, *inputs[1:]))[0]
    torch.testing.assert_close(spoilt[0], both[0])
    assert spoilt[1].isnan().any()


@batched
def test_a_batch_of_nothing_gives_nothing(name):
    module, inputs = build(name)
    expected, got = flat(module(*inputs))[0], flat(module(*rows(inputs, slice(0, 0))))[0]
    assert got.shape == (0, *expected.shape[1:])


@every_module
def test_autocast_runs_forward_and_backward(name):
    module, inputs = build(name, torch.float32)
    inputs = to(inputs, torch.float32)
    exact = flat(module(*inputs))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = flat(module(*inputs))
        sum(tensor.float().square().sum() for tensor in mixed).backward()
    for a, b in zip(exact, mixed, strict=True):
        torch.testing.assert_close(b.float(), a, atol=0.1, rtol=0.1)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())


NEW = ["bag-own-gate-scaled", "attention-gate-memory", "rnn", "rnn-gates", "conv-3d", "residual-gates"]


@pytest.mark.parametrize("name", [*NEW, "contextualizer", "tokenwise"])
def test_exports_and_gives_the_same(name):
    module, inputs = build(name)
    exported = torch.export.export(module, inputs, strict=False).module()
    for a, b in zip(flat(module(*inputs)), flat(exported(*inputs)), strict=True):
        torch.testing.assert_close(a, b)


UNBATCHED = [name for name in CASES if not name.startswith(("bag", "rnn-gates"))]


@pytest.mark.parametrize("name", UNBATCHED)
def test_one_sample_without_a_batch_is_a_row_of_the_batch(name):
    module, inputs = build(name)
    for batch, alone in zip(flat(module(*inputs)), flat(module(*rows(inputs, 1))), strict=True):
        row = batch[:, 1] if name == "rnn" and batch.shape[0] == 4 else batch[1]  # states: layers first
        torch.testing.assert_close(alone, row)


@pytest.mark.parametrize("name", ["rnn", "rnn-gates", "rnn-cell"])
def test_states_have_the_dtype_of_autocast_whatever_was_given(name):
    module, inputs = build(name, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert {tensor.dtype for tensor in flat(module(*to(inputs, torch.float32)))} == {torch.bfloat16}


def test_attributes_of_torch():
    plain = torch.nn.Conv3d(2, 4, 3, stride=(1, 2, 1), padding=1, groups=2)
    layer = ca.CAConv3d(2, 4, 3, stride=(1, 2, 1), padding=1, groups=2)
    for name in ("in_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"):
        assert getattr(layer, name) == getattr(plain, name)
    assert layer.weight is layer.conv.weight
    assert ca.CALinear(3, 2).bias.shape == (2,)
    assert ca.CALinear(3, 2, bias=False).bias is None
    lstm, rnn = torch.nn.LSTM(3, 4, 2, bias=False), ca.CARNN(3, 4, 2, bias=False)
    for name in ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "proj_size"):
        assert getattr(rnn, name) == getattr(lstm, name)
    rnn.flatten_parameters()
    with pytest.raises(ValueError, match="proj_size is 2"):
        ca.CARNN(3, 4, proj_size=2)


def count(module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_parameter_counts_of_the_papers():
    # Maupomé & Meurs 2021: "157k" recurrent with its 2-way head, "3M" for 20 steps of their own
    head = torch.nn.Linear(520, 2)
    assert count(ca.Contextualizer(520, rank=100, num_steps=5)) + count(head) == 157_042
    assert count(ca.Contextualizer(520, rank=100, num_steps=20, recurrent=False)) == 3_120_000
    # Zeng 2019, eq. 34 and 36: 7 n^2 + 4 n k + 10 n + 2 k + 2
    n, k = 11, 7
    assert count(ca.CARNNCell(k, n)) == 7 * n * n + 4 * n * k + 10 * n + 2 * k + 2
    # one CA-NN unit on the plane
    assert count(ca.CALinear(2, 1)) == 7
    # k^2 c_in + 1 + n more than a convolution
    assert count(ca.CAConv2d(3, 16, 8)) == count(torch.nn.Conv2d(3, 16, 8)) + 8 * 8 * 3 + 1 + 16
    assert count(ca.CAEmbeddingBag(100, 5, 4)) == 100 * (5 + 4) + 4 + 5
    assert count(ca.CAAttention(3, 5)) == 5 * 3 + 5 + 5 + 3 + 1
    # (l, n_v, n_sigma, b): gates and defaults vanish with b = 1
    assert count(ca.CAResidual(4, 4, 2, combine="add", always_on=True)) == count(torch.nn.Linear(4, 4))
    assert count(ca.CAResidual(4, 3, 2)) == (4 * 3 + 3) + (7 * 3 + 3) + (4 + 1) + (7 + 1) + 2 * 3
