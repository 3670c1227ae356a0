"""How a model is trained: schedule, threads, checkpoints, resuming, estimates.

Comes in: a corpus and a `TrainConfig`. Goes out: a trained model, in memory and in its directory. `train`
reads from top to bottom: prepare, encode, fit, save. The package `cluster` does the same on many machines.
"""

from wordvec_ca.training.checkpointing import isa_in_use
from wordvec_ca.training.cluster import (
    FinishedRun,
    check_cluster_address,
    describe_cluster_plan,
    files_of_cluster_run,
    is_cluster_run,
    plan_on_cluster,
    resume_on_cluster,
    train_on_cluster,
)
from wordvec_ca.training.displays import (
    Bar,
    JsonLog,
    Lines,
    progress_display,
    show_progress,
    style_for_python,
)
from wordvec_ca.training.divergence import TrainingDiverged
from wordvec_ca.training.divergence import divergence as sign_of_divergence
from wordvec_ca.training.estimate import describe, measured_speed, plan
from wordvec_ca.training.fasttext_model import train_fasttext_model
from wordvec_ca.training.held_out import held_out_loss
from wordvec_ca.training.interrupts import ended_by_signals
from wordvec_ca.training.interval import parse_interval
from wordvec_ca.training.likelihood import log_likelihoods
from wordvec_ca.training.merge_plan import MergePlan
from wordvec_ca.training.merge_rule import expected_touches
from wordvec_ca.training.replica import Replica, TokenRange
from wordvec_ca.training.run import resume, train
from wordvec_ca.training.run_directory import files_of_run, run_folder
from wordvec_ca.training.schedule import Schedule
from wordvec_ca.training.trainer import Trainer
from wordvec_ca.training.warm_start import check_together, continued_config

__all__ = [
    "Bar",
    "FinishedRun",
    "JsonLog",
    "Lines",
    "MergePlan",
    "Replica",
    "Schedule",
    "TokenRange",
    "Trainer",
    "TrainingDiverged",
    "check_cluster_address",
    "check_together",
    "continued_config",
    "describe",
    "describe_cluster_plan",
    "ended_by_signals",
    "expected_touches",
    "files_of_cluster_run",
    "files_of_run",
    "held_out_loss",
    "is_cluster_run",
    "isa_in_use",
    "log_likelihoods",
    "measured_speed",
    "parse_interval",
    "plan",
    "plan_on_cluster",
    "progress_display",
    "resume",
    "resume_on_cluster",
    "run_folder",
    "show_progress",
    "sign_of_divergence",
    "style_for_python",
    "train",
    "train_fasttext_model",
    "train_on_cluster",
]
