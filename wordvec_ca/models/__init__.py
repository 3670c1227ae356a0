"""Models: their options, parameters, directories on disk and histories.

Input: a `TrainConfig` and a vocabulary. Output: an `EmbeddingModel` with parameter arrays that the
training loop updates in place, saved to and loaded from a model directory.
"""

from wordvec_ca.models.attention import (
    ContextWeight,
    WindowAttention,
    attention_weights,
    weights_by_place,
)
from wordvec_ca.models.config import ResolvedConfig, TrainConfig, check_type
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
from wordvec_ca.models.paths import word_paths
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

__all__ = [
    "PREFIX",
    "PROCESS_BYTES",
    "SHOWN_DOCUMENTS",
    "TOUCHED_ROWS",
    "WORK",
    "Callback",
    "ContextWeight",
    "DocumentRows",
    "EmbeddingModel",
    "History",
    "Point",
    "Progress",
    "ResolvedConfig",
    "Subwords",
    "TrainConfig",
    "WindowAttention",
    "attention_weights",
    "check_memory",
    "check_room",
    "check_type",
    "document_vectors",
    "logits_of",
    "memory_bytes",
    "n_parameters",
    "parameter_shapes",
    "publish",
    "read_attention",
    "read_config",
    "read_record",
    "read_tree",
    "saved_bytes",
    "shown_documents",
    "table_of_both",
    "tags_of_model",
    "weights_by_place",
    "word_paths",
]
