"""Models: their options, parameters, directories on disk and histories.

Input: a `TrainConfig` and a vocabulary. Output: an `EmbeddingModel` with parameter arrays that the
training loop updates in place, saved to and loaded from a model directory.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.kernels import huffman_paths as word_paths
from wordvec_ca.models.attention import (
    ContextWeight,
    WindowAttention,
    attention_weights,
    weights_by_place,
)
from wordvec_ca.models.config import ResolvedConfig, TrainConfig, check_type, keep_probabilities
from wordvec_ca.models.directory import read_attention, read_config, read_record, read_tree
from wordvec_ca.models.documents import (
    PREFIX,
    SHOWN_DOCUMENTS,
    TOUCHED_ROWS,
    WORK,
    DocumentRows,
    document_vectors,
    shown_documents,
    table_of_both,
    tags_of_model,
)
from wordvec_ca.models.history import Callback, History, Point, Progress
from wordvec_ca.models.parameters import EmbeddingModel
from wordvec_ca.models.publishing import publish
from wordvec_ca.models.sizes import (
    PROCESS_BYTES,
    check_memory,
    check_room,
    logits_of,
    memory_bytes,
    n_parameters,
    parameter_shapes,
    saved_bytes,
)
from wordvec_ca.models.subwords import Subwords
