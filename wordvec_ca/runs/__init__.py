"""A run on one machine, from a text to a saved model: what `train` and `resume` do around the training loop.

Input: a corpus and a `TrainConfig`. Output: a trained model, in memory and in its directory. `train`
reads from top to bottom: prepare, encode, fit, save. The package `cluster` does the same on many machines.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.runs.displays import (
    JsonLog,
    is_cell_that_keeps_all,
    progress_display,
    show_progress,
    style_for_python,
)
from wordvec_ca.runs.estimate import describe, measured_speed, plan
from wordvec_ca.runs.request import BASE_SETTING, REQUEST_FILE, Request, RunRequest, request_in
from wordvec_ca.runs.run import ended_by_signals, resume, run_request, train
from wordvec_ca.runs.run_directory import check_run_output, files_of_run, run_folder
from wordvec_ca.runs.texts import remembered_fields, texts_of_runs
from wordvec_ca.runs.warm_start import check_base, config_of_fasttext, continued_config
