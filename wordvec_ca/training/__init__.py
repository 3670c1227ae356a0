"""The training loop: chunks of text, threads, replicas, learning rates, losses, checkpoints.

Input: a model and an encoded text. Output: the trained model, and checkpoints from which a run can
continue. `Trainer` is the loop of one machine; a node of a cluster drives a `Replica` itself.
"""

from wordvec_ca.training.checkpoint import Checkpoints, State, read_checkpoint, write_checkpoint
from wordvec_ca.training.checkpoint_interval import DEFAULT_INTERVAL, Interval, parse_interval
from wordvec_ca.training.checkpoint_schedule import CheckpointSchedule, isa_in_use
from wordvec_ca.training.chunks import end_of_line, parts
from wordvec_ca.training.collapse import CollapseWatch, collapse_warning
from wordvec_ca.training.divergence import LARGEST, TrainingDiverged, sign_of_divergence
from wordvec_ca.training.document_journal import BASE
from wordvec_ca.training.held_out import held_out_loss
from wordvec_ca.training.inference import MEASURED_DOCUMENTS, Inference, known_rows
from wordvec_ca.training.likelihood import log_likelihoods
from wordvec_ca.training.line_sample import LineSample
from wordvec_ca.training.merge_plan import (
    MergePlan,
    merges_of_nodes,
    most_replicas,
    quality_warning,
    usual_replicas,
)
from wordvec_ca.training.merge_rule import expected_touches
from wordvec_ca.training.negatives import pool_bytes
from wordvec_ca.training.record import loop_settings, recorded, run_record
from wordvec_ca.training.replica import Delta, Replica, TokenRange
from wordvec_ca.training.schedule import Clock, Schedule
from wordvec_ca.training.trainer import Trainer

__all__ = [
    "BASE",
    "DEFAULT_INTERVAL",
    "LARGEST",
    "MEASURED_DOCUMENTS",
    "CheckpointSchedule",
    "Checkpoints",
    "Clock",
    "CollapseWatch",
    "Delta",
    "Inference",
    "Interval",
    "LineSample",
    "MergePlan",
    "Replica",
    "Schedule",
    "State",
    "TokenRange",
    "Trainer",
    "TrainingDiverged",
    "collapse_warning",
    "end_of_line",
    "expected_touches",
    "held_out_loss",
    "isa_in_use",
    "known_rows",
    "log_likelihoods",
    "loop_settings",
    "merges_of_nodes",
    "most_replicas",
    "parse_interval",
    "parts",
    "pool_bytes",
    "quality_warning",
    "read_checkpoint",
    "recorded",
    "run_record",
    "sign_of_divergence",
    "usual_replicas",
    "write_checkpoint",
]
