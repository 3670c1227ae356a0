"""Words that have changed between texts or between models: how far, and whether chance explains it.

Input: two or more texts or models to compare. Output: `Changes`, a table of words with distances, intervals
and p-values, and a page that shows the table.
"""

from wordvec_ca.change.evidence import Example
from wordvec_ca.change.page import changes_page
from wordvec_ca.change.result import DECIDABLE, Changes, WordChange, changes_of_models
from wordvec_ca.change.saved import save_changes, saved_verdicts
from wordvec_ca.change.statistics import (
    false_discovery_rate,
    harmonic_mean_count,
    p_values,
)
from wordvec_ca.change.texts import changes
from wordvec_ca.text import Documents

__all__ = [
    "DECIDABLE",
    "Changes",
    "Documents",
    "Example",
    "WordChange",
    "changes",
    "changes_of_models",
    "changes_page",
    "false_discovery_rate",
    "harmonic_mean_count",
    "p_values",
    "save_changes",
    "saved_verdicts",
]
