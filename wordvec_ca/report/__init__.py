"""Pages about a model, each complete in one file.

Input: a model directory, or vectors. Output: a report in HTML on the run, the vocabulary and the attention;
and an explorer, a map of the words with their neighbours, for browsers and notebooks.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.report.charts import projection_chart, trajectories
from wordvec_ca.report.explorer import Explorer, UnfaithfulMapError, explore, read_classes
from wordvec_ca.report.page import render
from wordvec_ca.report.single_file import json_markup, scripted_page, visible
