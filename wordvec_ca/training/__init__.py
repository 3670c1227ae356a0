"""The training loop: chunks of text, threads, replicas, learning rates, losses, checkpoints.

Input: a model and an encoded text. Output: the trained model, and checkpoints from which a run can
continue. `Trainer` is the loop of one machine; a node of a cluster drives a `Replica` itself.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.kernels import copy_rows
from wordvec_ca.training.checkpoint import (
    DEFAULT_INTERVAL,
    Checkpoints,
    Interval,
    State,
    parse_interval,
    read_checkpoint,
    write_checkpoint,
)
from wordvec_ca.training.chunks import LineSample, end_of_line, parts
from wordvec_ca.training.collapse import CollapseWatch, collapse_warning
from wordvec_ca.training.document_journal import BASE
from wordvec_ca.training.held_out import held_out_loss, log_likelihoods
from wordvec_ca.training.inference import MEASURED_DOCUMENTS, Inference, known_rows
from wordvec_ca.training.merge_plan import (
    MergePlan,
    expected_touches,
    merges_of_nodes,
    most_replicas,
    quality_warning,
    usual_replicas,
)
from wordvec_ca.training.negatives import pool_bytes
from wordvec_ca.training.record import loop_settings, recorded, run_record
from wordvec_ca.training.replica import Delta, Replica, TokenRange
from wordvec_ca.training.schedule import Clock, Schedule
from wordvec_ca.training.trainer import (
    LARGEST,
    CheckpointSchedule,
    Trainer,
    TrainingDiverged,
    isa_in_use,
    sign_of_divergence,
)
