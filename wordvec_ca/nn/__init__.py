"""Context-aware layers for PyTorch (Zeng 2019) and the Contextualizer (Maupomé & Meurs 2021).

Optional: ``pip install 'wordvec-ca[torch]'``. Only this package and the evaluation by
an LSTM tagger import torch.
"""

from wordvec_ca.errors import install_extra

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError(
        f"wordvec_ca.nn needs PyTorch, which is not installed: {install_extra('torch')}"
    ) from error

from wordvec_ca.nn.attention import CAAttention
from wordvec_ca.nn.bag import CAEmbeddingBag
from wordvec_ca.nn.block_coordinate import BlockCoordinate
from wordvec_ca.nn.classifiers import CABagClassifier, ContextualizerClassifier
from wordvec_ca.nn.contextualizer import Contextualizer, SinusoidalPosition, TokenwiseContextualizer
from wordvec_ca.nn.conv import CAConv1d, CAConv2d, CAConv3d
from wordvec_ca.nn.linear import CALinear
from wordvec_ca.nn.residual import CAResidual
from wordvec_ca.nn.rnn import CARNN, CARNNCell

__all__ = [
    "CARNN",
    "BlockCoordinate",
    "CAAttention",
    "CABagClassifier",
    "CAConv1d",
    "CAConv2d",
    "CAConv3d",
    "CAEmbeddingBag",
    "CALinear",
    "CARNNCell",
    "CAResidual",
    "Contextualizer",
    "ContextualizerClassifier",
    "SinusoidalPosition",
    "TokenwiseContextualizer",
]
