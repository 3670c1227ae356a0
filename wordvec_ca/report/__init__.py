"""Pages about a model, each complete in one file.

Comes in: a model directory, or vectors. Goes out: HTML with the run, the vocabulary and what attention looks
at; an explorer, a map of the words with their neighbours, for browsers and notebooks; and the words that have
changed between texts.
"""

from wordvec_ca.report.changes import changes_page
from wordvec_ca.report.explorer import Explorer, explore, read_classes
from wordvec_ca.report.page import render
from wordvec_ca.report.trajectory_charts import trajectories

__all__ = ["Explorer", "changes_page", "explore", "read_classes", "render", "trajectories"]
