"""Context-aware layers for PyTorch (Zeng 2019) and the Contextualizer (Maupomé & Meurs 2021).

Optional: ``pip install 'wordvec-ca[torch]'``. Only this package and the evaluation by
an LSTM tagger import torch.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    from wordvec_ca.errors import install_extra

    raise ImportError(
        f"wordvec_ca.nn needs PyTorch, which is not installed: {install_extra('torch')}"
    ) from error

from wordvec_ca.nn.attention import CAAttention
from wordvec_ca.nn.bag import CAEmbeddingBag
from wordvec_ca.nn.block_coordinate import BlockCoordinate
from wordvec_ca.nn.classifiers import CABagClassifier, ContextualizerClassifier
from wordvec_ca.nn.contextualizer import Contextualizer, SinusoidalPosition, TokenwiseContextualizer
from wordvec_ca.nn.linear import CAConv1d, CAConv2d, CAConv3d, CALinear
from wordvec_ca.nn.residual import CAResidual
from wordvec_ca.nn.rnn import CARNN, CARNNCell
