"""Words that have changed between texts or between models: how far, and whether chance explains it.

Input: two or more texts or models to compare. Output: `Changes`, a table of words with distances, intervals
and p-values, and a page that shows the table.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.change.evidence import Example
from wordvec_ca.change.page import changes_page, check_changes_output, save_changes, saved_verdicts
from wordvec_ca.change.result import Changes, WordChange, changes_of_models
from wordvec_ca.change.statistics import (
    false_discovery_rate,
    harmonic_mean_count,
    p_values,
)
from wordvec_ca.change.texts import changes
from wordvec_ca.text import Documents
