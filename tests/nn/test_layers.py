"""CA-NN, CA-CNN and CA-RES: exact reductions, and functions of one unit that no monotone unit can compute."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'wordvec-ca[torch]'")
import torch.nn.functional as F  # noqa: E402

from wordvec_ca.nn.linear import CAConv1d, CAConv2d, CAConv3d, CALinear  # noqa: E402
from wordvec_ca.nn.residual import CAResidual  # noqa: E402


def saturate(gate, value):
    with torch.no_grad():
        gate.weight.zero_()
        gate.bias.fill_(value)


def test_linear_is_equation_38_and_has_both_limits():
    torch.manual_seed(0)
    layer = CALinear(4, 3, activation=torch.tanh, dtype=torch.float64)
    x = torch.randn(5, 4, dtype=torch.float64)
    for i in range(5):
        chi = 1 / (1 + torch.exp(-(layer.gate.weight[0] @ x[i] + layer.gate.bias)))
        expected = (
            chi * torch.tanh(layer.linear.weight @ x[i] + layer.linear.bias) + (1 - chi) * layer.default
        )
        torch.testing.assert_close(layer(x)[i], expected)
    saturate(layer.gate, 800.0)
    assert torch.equal(layer(x), torch.tanh(layer.linear(x)))
    saturate(layer.gate, -800.0)
    assert torch.equal(layer(x), layer.default.expand(5, 3))
    x[2, 0] = torch.nan
    assert layer(x).isnan().any(1).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize(
    "geometry",
    [
        {"kernel_size": 3},
        {"kernel_size": (2, 4), "stride": 2, "padding": 1},
        {"kernel_size": 4, "padding": "same"},
        {"kernel_size": 3, "dilation": 2, "groups": 2, "padding": 2, "padding_mode": "reflect"},
    ],
)
def test_conv_open_is_the_convolution_and_closed_is_constant(geometry):
    torch.manual_seed(0)
    layer = CAConv2d(2, 4, **geometry)
    plain = torch.nn.Conv2d(2, 4, **geometry)
    plain.load_state_dict(layer.conv.state_dict())
    x = torch.randn(3, 2, 9, 8)
    sigma = layer.sigma_map(x)
    assert sigma.shape == (3, 1, *layer(x).shape[2:])
    assert ((sigma > 0) & (sigma < 1)).all()
    expected = sigma * plain(x) + (1 - sigma) * layer.default.view(1, 4, 1, 1)
    torch.testing.assert_close(layer(x), expected)
    saturate(layer.gate, 800.0)
    assert torch.equal(layer(x), plain(x))
    saturate(layer.gate, -800.0)
    assert torch.equal(layer(x), layer.default.view(1, 4, 1, 1).expand_as(layer(x)))
    with pytest.raises(RuntimeError, match="channels"):
        layer(x[:, :1])


def test_conv_is_the_linear_layer_on_every_patch():
    torch.manual_seed(0)
    conv = CAConv2d(2, 3, kernel_size=(2, 3), activation=torch.tanh, dtype=torch.float64)
    linear = CALinear(12, 3, activation=torch.tanh, dtype=torch.float64)
    with torch.no_grad():
        linear.linear.weight.copy_(conv.conv.weight.flatten(1))
        linear.linear.bias.copy_(conv.conv.bias)
        linear.gate.weight.copy_(conv.gate.weight.flatten(1))
        linear.gate.bias.copy_(conv.gate.bias)
        linear.default.copy_(conv.default)
    x = torch.randn(2, 2, 5, 6, dtype=torch.float64)
    patches = F.unfold(x, (2, 3)).transpose(1, 2)
    torch.testing.assert_close(conv(x).flatten(2).transpose(1, 2), linear(patches))
    torch.testing.assert_close(conv(x[0]), conv(x)[0])
    # the same patches in a row, and in a stack
    line = CAConv1d(2, 3, 6, activation=torch.tanh, dtype=torch.float64)
    stack = CAConv3d(2, 3, (1, 2, 3), activation=torch.tanh, dtype=torch.float64)
    for other, shape in ((line, (2, 6)), (stack, (2, 1, 2, 3))):
        other.load_state_dict(
            {
                name: value.view(len(value), *shape) if value.dim() > 1 else value
                for name, value in conv.state_dict().items()
            }
        )
        patch = x[:, :, 1:3, 2:5]
        torch.testing.assert_close(other(patch.reshape(2, *shape)).flatten(1), conv(patch).flatten(1))


@pytest.mark.parametrize("kernel_size", [None, 3])
def test_residual_2_1_x_1_is_a_resnet_block_bit_for_bit(kernel_size):
    torch.manual_seed(0)
    block = CAResidual(4, 4, 2, n_v=1, always_on=True, combine="add", kernel_size=kernel_size)
    inner = torch.nn.Linear(4, 4) if kernel_size is None else torch.nn.Conv2d(4, 4, 3, padding=1)
    inner.load_state_dict(block.layers[0].state_dict())
    x = torch.randn(5, 4) if kernel_size is None else torch.randn(5, 4, 6, 6)
    assert torch.equal(block(x), x + torch.relu(inner(x)))


def test_residual_is_equation_42():
    torch.manual_seed(0)
    block = CAResidual(4, 3, 4, n_v=2, n_sigma=3, activation=torch.tanh, dtype=torch.float64)
    x = torch.randn(5, 4, dtype=torch.float64)
    w, gates = [], []
    for layer in range(4):
        newest_first = w[::-1]
        v = torch.tanh(block.layers[layer](torch.cat([x, *newest_first[:2]], -1)))
        chi = torch.sigmoid(block.gates[layer](torch.cat([x, *newest_first[:3]], -1)))
        w.append(chi * v + (1 - chi) * block.defaults[layer])
        gates.append(chi)
    torch.testing.assert_close(block(x), w[-1])
    torch.testing.assert_close(block(x, need_gates=True), (w[-1], tuple(gates), tuple(w)))
    single = CAResidual(4, 3, 1, activation=torch.tanh, dtype=torch.float64)
    linear = CALinear(4, 3, activation=torch.tanh, dtype=torch.float64)
    with torch.no_grad():
        linear.linear.load_state_dict(single.layers[0].state_dict())
        linear.gate.load_state_dict(single.gates[0].state_dict())
        linear.default.copy_(single.defaults[0])
    torch.testing.assert_close(single(x), linear(x))


@pytest.mark.parametrize(("n_v", "n_sigma"), [(2, 1), (1, 3), (2, 2)])
def test_residual_on_images_is_equation_42(n_v, n_sigma):
    torch.manual_seed(0)
    block = CAResidual(2, 3, 4, n_v, n_sigma, activation=torch.tanh, kernel_size=(2, 3), dtype=torch.float64)
    x = torch.randn(5, 2, 6, 7, dtype=torch.float64)
    w = []
    for layer in range(4):
        newest_first = w[::-1]
        v = torch.tanh(block.layers[layer](torch.cat([x, *newest_first[:n_v]], 1)))
        chi = torch.sigmoid(block.gates[layer](torch.cat([x, *newest_first[:n_sigma]], 1)))
        w.append(chi * v + (1 - chi) * block.defaults[layer].view(3, 1, 1))
    torch.testing.assert_close(block(x), w[-1])
    torch.testing.assert_close(block(x[0]), w[-1][0])


def test_residual_wrong_options():
    with pytest.raises(ValueError, match="n_v"):
        CAResidual(4, 4, n_v=0)
    with pytest.raises(ValueError, match="combine"):
        CAResidual(4, 4, combine="mul")
    with pytest.raises(ValueError, match="in_features"):
        CAResidual(4, 3, combine="add")
