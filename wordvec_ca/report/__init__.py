"""A page about a model, complete in one file.

Comes in: a model directory. Goes out: HTML with the run, the vocabulary and what attention looks at.
"""

from wordvec_ca.report.page import render

__all__ = ["render"]
