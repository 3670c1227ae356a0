"""The explorer: words on a map, with their neighbours, in one page that works without a network.

Input: vectors or a model directory, and optionally a second one to compare with. Output: a page for
browsers and notebooks, and a table for other programs.
"""

from wordvec_ca.report.explorer.contents import explore, read_classes
from wordvec_ca.report.explorer.coordinates import UnfaithfulMapError
from wordvec_ca.report.explorer.page import Explorer

__all__ = ["Explorer", "UnfaithfulMapError", "explore", "read_classes"]
