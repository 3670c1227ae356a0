"""A run on one machine, from a text to a saved model: what `train` and `resume` do around the training loop.

Input: a corpus and a `TrainConfig`. Output: a trained model, in memory and in its directory. `train`
reads from top to bottom: prepare, encode, fit, save. The package `cluster` does the same on many machines.
"""

from wordvec_ca.runs.displays import (
    JsonLog,
    is_cell_that_keeps_all,
    progress_display,
    show_progress,
    style_for_python,
)
from wordvec_ca.runs.estimate import describe, measured_speed, plan
from wordvec_ca.runs.former_model import config_of_fasttext
from wordvec_ca.runs.interrupts import ended_by_signals
from wordvec_ca.runs.request import BASE_SETTING, REQUEST_FILE, Request, RunRequest, request_in
from wordvec_ca.runs.run import resume, run_request, train
from wordvec_ca.runs.run_directory import check_run_output, files_of_run, run_folder
from wordvec_ca.runs.warm_start import check_base, continued_config, texts_of_runs

__all__ = [
    "BASE_SETTING",
    "REQUEST_FILE",
    "JsonLog",
    "Request",
    "RunRequest",
    "check_base",
    "check_run_output",
    "config_of_fasttext",
    "continued_config",
    "describe",
    "ended_by_signals",
    "files_of_run",
    "is_cell_that_keeps_all",
    "measured_speed",
    "plan",
    "progress_display",
    "request_in",
    "resume",
    "run_folder",
    "run_request",
    "show_progress",
    "style_for_python",
    "texts_of_runs",
    "train",
]
