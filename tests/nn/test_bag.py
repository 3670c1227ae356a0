"""CAEmbeddingBag against a direct sum, its linear form, and torch's EmbeddingBag."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'wordvec-ca[torch]'")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from wordvec_ca import TrainConfig, train  # noqa: E402
from wordvec_ca.nn.bag import CAEmbeddingBag  # noqa: E402
from wordvec_ca.nn.block_coordinate import BlockCoordinate  # noqa: E402

bags_of_features = st.lists(st.lists(st.integers(1, 9), max_size=6), min_size=1, max_size=5)


def make(**options):
    torch.manual_seed(0)
    bag = CAEmbeddingBag(10, 3, **{"sigma_dim": 4, "dtype": torch.float64} | options)
    with torch.no_grad():
        bag.context.normal_()
    return bag


def slow(bag, features, weights=None):
    """Equation 20 word by word in numpy; with a scale, equation 13."""
    w, theta, v0 = (t.detach().numpy() for t in (bag.weight, bag.theta, bag.context))
    sigma = w if bag.sigma_weight is None else bag.sigma_weight.detach().numpy()
    scale = np.ones(len(w)) if bag.context_scale is None else bag.context_scale.numpy()
    total = np.zeros(w.shape[1])
    for i, feature in enumerate(features):
        chi = 1 / (1 + np.exp(-sigma[feature] @ theta))
        total += (1 if weights is None else weights[i]) * (chi * scale[feature] * v0 + (1 - chi) * w[feature])
    return total if bag.mode == "sum" or not features else total / len(features)


def offsets_of(bags):
    return torch.tensor(np.cumsum([0] + [len(b) for b in bags])[:-1])


@settings(max_examples=40, deadline=None)
@given(bags=bags_of_features, mode=st.sampled_from(["sum", "mean"]), extra=st.integers(0, 3))
def test_all_input_forms_equal_equation_20_whatever_the_padding(bags, mode, extra):
    bag = make(mode=mode, padding_idx=0)
    expected = torch.tensor(np.array([slow(bag, features) for features in bags]))
    flat = torch.tensor([f for features in bags for f in features], dtype=torch.long)
    torch.testing.assert_close(bag(flat, offsets_of(bags)), expected)
    ends = torch.cat([offsets_of(bags), torch.tensor([len(flat)])])
    last = make(mode=mode, padding_idx=0, include_last_offset=True)
    torch.testing.assert_close(last(flat, ends), expected)
    width = max(len(b) for b in bags) + extra
    padded = torch.tensor([features + [0] * (width - len(features)) for features in bags], dtype=torch.long)
    torch.testing.assert_close(bag(padded), expected)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gate_of_the_embedding_itself_and_the_term_of_equation_11(mode):
    scale = 1 + torch.linspace(-3.0, -9.0, 10) / 8.0  # 1 + ln P~(w) / ln Z
    bag = make(mode=mode, sigma_dim=None, context_scale=scale, padding_idx=0)
    assert [len(block) for block in bag.blocks()] == [1, 1]
    expected = torch.tensor(np.array([slow(bag, features) for features in ([1, 2, 9], [5], [])]))
    torch.testing.assert_close(bag(torch.tensor([[1, 2, 9], [5, 0, 0], [0, 0, 0]])), expected)
    assert make(sigma_dim=None, context_scale=scale).state_dict()["context_scale"].dtype == torch.float64
    with pytest.raises(ValueError, match="context_scale has shape"):
        make(context_scale=scale[1:])


def test_per_sample_weights():
    bag = make(mode="sum")
    weights = torch.tensor([0.5, -2.0, 3.0], dtype=torch.float64)
    expected = torch.tensor(np.array([slow(bag, [1, 2], [0.5, -2.0]), slow(bag, [2], [3.0])]))
    torch.testing.assert_close(bag(torch.tensor([1, 2, 2]), torch.tensor([0, 2]), weights), expected)
    with pytest.raises(ValueError, match="sum"):
        make()(torch.tensor([1, 2, 2]), torch.tensor([0, 2]), weights)


def test_gate_closed_is_torchs_embedding_bag():
    for mode in ("sum", "mean"):
        bag = make(mode=mode, gate_bias=True)
        with torch.no_grad():
            bag.bias.fill_(-800.0)
        plain = torch.nn.EmbeddingBag(10, 3, mode=mode, _weight=bag.weight.detach())
        features, offsets = torch.tensor([1, 4, 4, 8]), torch.tensor([0, 1, 1])
        assert torch.equal(bag(features, offsets), plain(features, offsets))


def test_logistic_head_is_a_linear_bag_of_words():
    """One scalar for each word: head . (chi v0 + (1 - chi) w')."""
    bag = make(mode="sum", padding_idx=0)
    head = torch.nn.Linear(3, 1, dtype=torch.float64)
    chi = bag.chi(torch.arange(10)).unsqueeze(-1)
    scores = (chi * bag.context + (1 - chi) * bag.weight) @ head.weight[0]
    documents = torch.randint(1, 10, (20, 7))
    counts = torch.nn.functional.one_hot(documents, 10).sum(1).double()
    torch.testing.assert_close(head(bag(documents))[:, 0], counts @ scores + head.bias, rtol=0, atol=1e-12)


def test_sparse_gradients_equal_dense():
    dense, sparse = make(padding_idx=0), make(padding_idx=0, sparse=True)
    documents = torch.tensor([[1, 2, 2, 0], [5, 0, 0, 0]])
    for bag in (dense, sparse):
        bag(documents).square().sum().backward()
    assert sparse.weight.grad.is_sparse
    assert sparse.sigma_weight.grad.is_sparse
    torch.testing.assert_close(sparse.weight.grad.to_dense(), dense.weight.grad)
    torch.testing.assert_close(sparse.sigma_weight.grad.to_dense(), dense.sigma_weight.grad)
    assert not dense.weight.grad[0].any()


def test_nan_stays_in_its_bag_and_padding_may_hold_anything():
    bag = make(padding_idx=0)
    with torch.no_grad():
        bag.weight[3] = torch.nan
        bag.weight[0] = torch.nan
        bag.sigma_weight[0] = torch.nan
    result = bag(torch.tensor([[1, 0], [3, 1], [0, 0]]))
    assert result.isnan().any(1).tolist() == [False, True, False]
    assert not result[2].any()
    bag(torch.tensor([[1, 0], [0, 0]])).sum().backward()
    assert all(p.grad.isfinite().all() for p in bag.parameters())


def test_from_pretrained_copies_a_model_its_folder_or_a_table(tmp_path):
    config = TrainConfig(vector_size=3, min_count=1, epochs=1, workers=1)
    model = train([["a", "b", "c", "a"]] * 5, config, output=tmp_path / "model")
    table = np.array(model.vectors.vectors)
    for source in (
        model,
        model.vectors,
        tmp_path / "model",
        str(tmp_path / "model"),
        table,
        torch.tensor(table),
    ):
        bag = CAEmbeddingBag.from_pretrained(source, freeze=True, sigma_dim=2, mode="sum")
        assert (bag.weight.detach().numpy() == table).all()
        assert not bag.weight.requires_grad
        assert bag.sigma_weight.shape == (3, 2)
    with torch.no_grad():
        bag.weight.zero_()
    assert table.any()
    with pytest.raises(ValueError, match="shape"):
        CAEmbeddingBag.from_pretrained(table[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.tensor([1, 2]),), "offsets"),
        ((torch.tensor([[1, 2]]), torch.tensor([0])), "1-d"),
        ((torch.zeros(1, 1, 1, dtype=torch.long),), "dimensions"),
    ],
)
def test_wrong_inputs_say_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        make()(*arguments)
    with pytest.raises(ValueError, match="mode"):
        CAEmbeddingBag(3, 3, mode="max")


@pytest.mark.parametrize("em_steps", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_block_coordinate_leaves_the_other_block_bitwise_untouched(em_steps, sparse):
    bag = make(gate_bias=True, sparse=sparse)
    adagrad = torch.optim.Adagrad(bag.parameters(), lr=0.1)
    optimizer = BlockCoordinate(adagrad, bag.blocks(), em_steps)
    documents = torch.tensor([[1, 2], [3, 4]])
    for step in range(4 * em_steps):
        before = {name: p.detach().clone() for name, p in bag.named_parameters()}
        optimizer.zero_grad()
        bag(documents).square().sum().backward()
        optimizer.step()
        moved = {name for name, p in bag.named_parameters() if not torch.equal(p, before[name])}
        block = {"weight"} if step // em_steps % 2 == 0 else {"sigma_weight", "theta", "bias"}
        assert moved == block | {"context"}
        assert all(p.grad is not None for p in bag.parameters())  # the gradients are restored after the step


@pytest.mark.parametrize("factory", ["SGD", "Adam", "AdamW"])
def test_block_coordinate_freezes_momentum_and_weight_decay_too(factory):
    bag = make()
    options = {"momentum": 0.9} if factory == "SGD" else {}
    inner = getattr(torch.optim, factory)(bag.parameters(), lr=0.1, weight_decay=0.1, **options)
    optimizer = BlockCoordinate(inner, bag.blocks(), em_steps=2)

    def closure():
        optimizer.zero_grad()
        loss = bag(torch.tensor([[1, 2]])).square().sum()
        loss.backward()
        return loss

    for step in range(6):
        frozen = [p.detach().clone() for p in optimizer.frozen()]
        loss = optimizer.step(closure)
        assert loss.item() >= 0
        assert optimizer.steps == step + 1
        others = bag.blocks()[1 if step // 2 % 2 == 0 else 0]
        assert all(torch.equal(a, b) for a, b in zip(frozen, others, strict=True))


def test_block_coordinate_joint_equals_the_optimiser_and_state_resumes():
    def train(optimizer, bag, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            bag(torch.tensor([[1, 2], [3, 4]])).square().sum().backward()
            optimizer.step()

    def adagrad(bag):
        return torch.optim.Adagrad(bag.parameters(), lr=0.1)

    plain, joint = make(), make()
    train(adagrad(plain), plain, 5)
    train(BlockCoordinate(adagrad(joint), joint.blocks(), 0), joint, 5)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), joint.parameters(), strict=True))

    whole, first = make(), make()
    train(BlockCoordinate(adagrad(whole), whole.blocks(), 2), whole, 7)
    half = BlockCoordinate(adagrad(first), first.blocks(), 2)
    train(half, first, 3)
    second = make()
    second.load_state_dict(first.state_dict())
    resumed = BlockCoordinate(adagrad(second), second.blocks(), 2)
    resumed.load_state_dict(half.state_dict())
    train(resumed, second, 4)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), second.parameters(), strict=True))
    with pytest.raises(ValueError, match="em_steps"):
        BlockCoordinate(adagrad(plain), plain.blocks(), -1)


@pytest.mark.parametrize("em_steps", [0, 2])
def test_block_coordinate_with_schedulers_and_a_gradient_scaler(em_steps):
    def train(scaled):
        bag = make()
        optimizer = BlockCoordinate(torch.optim.Adagrad(bag.parameters(), lr=0.1), bag.blocks(), em_steps)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0, enabled=scaled)
        for step in range(6):
            optimizer.zero_grad()
            loss = bag(torch.tensor([[1, 2], [3, 4]])).square().sum()
            if scaled and step == 3:  # an overflow, then the same step again
                scaler.scale(loss * torch.inf).backward()
                before = [p.detach().clone() for p in bag.parameters()]
                scaler.step(optimizer)
                scaler.update()
                assert all(torch.equal(a, b) for a, b in zip(before, bag.parameters(), strict=True))
                optimizer.zero_grad()
                loss = bag(torch.tensor([[1, 2], [3, 4]])).square().sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
        assert optimizer.steps == 6
        assert optimizer.optimizer.param_groups[0]["lr"] == pytest.approx(0.1 * 0.5**3)
        return bag

    pairs = zip(train(True).parameters(), train(False).parameters(), strict=True)
    assert all(torch.allclose(a, b, rtol=1e-12) for a, b in pairs)


def test_block_coordinate_is_an_optimiser():
    bag, head = make(), torch.nn.Linear(3, 1, dtype=torch.float64)
    optimizer = BlockCoordinate(torch.optim.SGD(bag.parameters(), lr=0.1), bag.blocks(), em_steps=3)
    assert isinstance(optimizer, torch.optim.Optimizer)
    optimizer.add_param_group({"params": head.parameters(), "lr": 0.5})
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
    called = []
    optimizer.register_step_post_hook(lambda *_: called.append(1))
    head(bag(torch.tensor([[1, 2]]))).sum().backward()
    optimizer.step()
    assert called == [1]
    copied = copy.deepcopy(optimizer)
    assert copied.steps == 1
    assert copied.param_groups is copied.optimizer.param_groups
    assert copied.param_groups is not optimizer.param_groups
