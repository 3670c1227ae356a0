"""How good are the vectors? Tasks, the data they read, and the statistics that compare results.

Input: vectors of any origin and folders of evaluation sets. Output: a `Report` per task and set with
intervals and coverage, and paired comparisons of models. Nothing here knows how vectors were trained.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.eval.comparison import (
    Difference,
    compare,
    comparison_remarks,
    comparison_rows,
    comparison_table,
    holm,
)
from wordvec_ca.eval.controls import CONTROLS, common_words, control
from wordvec_ca.eval.data.sequences import ReadSequences, Sequences, read_sequences
from wordvec_ca.eval.data.treebanks import read_tagged
from wordvec_ca.eval.data.word_sets import read_word_pairs
from wordvec_ca.eval.report import Metric, Report, report_remarks, report_rows, report_table, reports_in
from wordvec_ca.eval.statistics.resampling import bootstrap
from wordvec_ca.eval.suite import Missing, plan, run
from wordvec_ca.eval.summary import summary_lines
from wordvec_ca.eval.task_table import TASKS
from wordvec_ca.eval.tasks import next_item, pos_induction
from wordvec_ca.eval.tasks.similarity import evaluate
from wordvec_ca.eval.tasks.sts import SENTENCE_METHODS
