"""The Contextualizers against the paper's algorithms token by token, and against their geometry."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'wordvec-ca[torch]'")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from wordvec_ca.nn.contextualizer import Contextualizer, SinusoidalPosition, TokenwiseContextualizer  # noqa: E402

DOCUMENTS = st.lists(st.integers(0, 5), min_size=1, max_size=4)


def contextualize(context, tokens, u, v, w):
    """One step for one context, component by component (softmax over tokens of each)."""
    scores = np.array([w @ ((u @ x) * (v @ context)) for x in tokens])
    new = np.zeros(len(context))
    for j in range(len(context)):
        weights = np.exp(scores[:, j] - scores[:, j].max())
        new[j] = (weights / weights.sum() * np.array(tokens)[:, j]).sum()
    return new


def matrices(module, step):
    index = 0 if module.recurrent else step
    weights = (module.key_weight, module.query_weight, module.output_weight)
    return [weight[index].detach().numpy() for weight in weights]


def batch(lengths, extra=0):
    """Return tokens with NaN at padding, and the mask."""
    size = max(lengths) + extra
    tokens = torch.randn(len(lengths), size, 6, dtype=torch.float64)
    mask = torch.arange(size) >= torch.tensor(lengths)[:, None]
    tokens[mask] = torch.nan
    return tokens, mask


@settings(max_examples=30, deadline=None)
@given(
    lengths=DOCUMENTS,
    extra=st.integers(0, 2),
    recurrent=st.booleans(),
    default=st.sampled_from(["ones", "learned", "random"]),
)
def test_contextualizer_is_algorithm_1_whatever_the_padding(lengths, extra, recurrent, default):
    torch.manual_seed(0)
    encoder = Contextualizer(6, 3, 3, recurrent, default, dtype=torch.float64).eval()
    tokens, mask = batch(lengths, extra)
    result = encoder(tokens, mask)
    for i, length in enumerate(lengths):
        context = encoder.context.detach().numpy()
        for step in range(3):
            if length == 0:
                context = np.zeros(6)  # nothing to sum
            else:
                context = contextualize(context, tokens[i, :length].numpy(), *matrices(encoder, step))
        np.testing.assert_allclose(result[i].detach(), context, rtol=1e-10, atol=1e-12)
    result.sum().backward()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())


@settings(max_examples=20, deadline=None)
@given(lengths=DOCUMENTS, extra=st.integers(0, 2), inplace=st.booleans(), chunk=st.sampled_from([None, 1, 2]))
def test_tokenwise_is_algorithm_2_whatever_the_padding(lengths, extra, inplace, chunk):
    torch.manual_seed(0)
    module = TokenwiseContextualizer(6, 3, 2, False, inplace=inplace, chunk_size=chunk, dtype=torch.float64)
    tokens, mask = batch(lengths, extra)
    result = module(tokens, mask).detach().numpy()
    for i, length in enumerate(lengths):
        current = list(tokens[i, :length].numpy())
        for step in range(2):
            source = current if inplace else list(current)
            for t in range(length):
                current[t] = contextualize(source[t], source, *matrices(module, step))
        np.testing.assert_allclose(result[i, :length], np.array(current).reshape(length, 6), rtol=1e-10)
        assert not result[i, length:].any()


@settings(max_examples=30, deadline=None)
@given(length=st.integers(1, 6), scale=st.sampled_from([1.0, 100.0]), seed=st.integers(0, 9))
def test_output_is_in_the_hull_and_order_has_no_effect(length, scale, seed):
    torch.manual_seed(seed)
    encoder = Contextualizer(6, 3, 4, default_context="ones", dtype=torch.float64)
    with torch.no_grad():
        encoder.output_weight *= scale
    tokens = torch.randn(2, length, 6, dtype=torch.float64)
    result = encoder(tokens)
    assert (result >= tokens.amin(1) - 1e-12).all()
    assert (result <= tokens.amax(1) + 1e-12).all()
    torch.testing.assert_close(encoder(tokens[:, torch.randperm(length)]), result)
    if length == 1:
        assert torch.equal(result, tokens[:, 0])
    if length > 2:
        positioned = SinusoidalPosition(2)
        other = Contextualizer(8, 3, 4, default_context="ones", dtype=torch.float64)
        assert not torch.allclose(other(positioned(tokens)), other(positioned(tokens.flip(1))))


def test_random_context_is_drawn_for_each_document_in_training_only():
    encoder = Contextualizer(6, 3, 1)
    tokens = torch.randn(1, 4, 6).expand(2, 4, 6)
    first, second = encoder(tokens)
    assert not torch.allclose(first, second)
    encoder.eval()
    assert torch.equal(encoder(tokens), encoder(tokens))
    assert torch.equal(*encoder(tokens))
    given = encoder(tokens, context=torch.ones(6))
    assert not torch.allclose(given, encoder(tokens))
    assert "context" in encoder.state_dict()


def test_nan_stays_in_its_document_and_empty_batches_are_fine():
    encoder = Contextualizer(6, 3, 2, default_context="ones")
    tokenwise = TokenwiseContextualizer(6, 3, 2)
    tokens = torch.randn(3, 4, 6)
    tokens[1, 2, 3] = torch.nan
    assert encoder(tokens).isnan().any(1).tolist() == [False, True, False]
    assert tokenwise(tokens).isnan().flatten(1).any(1).tolist() == [False, True, False]
    assert encoder(tokens[:0]).shape == (0, 6)
    assert not encoder(tokens[:, :0]).any()
    assert tokenwise(tokens[:, :0]).shape == (3, 0, 6)


def test_position_is_that_of_vaswani():
    tokens = torch.zeros(2, 7, 3, dtype=torch.float64)
    result = SinusoidalPosition(4)(tokens)
    for position in range(7):
        for i in range(2):
            angle = position / 10000 ** (2 * i / 4)
            torch.testing.assert_close(
                result[1, position, 3 + 2 * i].item(), float(np.sin(angle)), rtol=1e-5, atol=1e-6
            )
            torch.testing.assert_close(
                result[1, position, 4 + 2 * i].item(), float(np.cos(angle)), rtol=1e-5, atol=1e-6
            )
    assert SinusoidalPosition(0)(tokens).shape == (2, 7, 3)
    with pytest.raises(ValueError, match="even"):
        SinusoidalPosition(3)


def test_wrong_options():
    with pytest.raises(ValueError, match="default_context"):
        Contextualizer(6, default_context="zeros")
    with pytest.raises(ValueError, match="num_steps"):
        Contextualizer(6, num_steps=0)
    with pytest.raises(ValueError, match="chunk_size"):
        TokenwiseContextualizer(6, chunk_size=0)
