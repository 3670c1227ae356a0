"""The page of `cawv change`: words with intervals, p and neighbours, to be searched and sorted."""

from wordvec_ca.report.changes.page import changes_page

__all__ = ["changes_page"]
