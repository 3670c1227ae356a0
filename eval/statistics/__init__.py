"""Intervals, paired differences and tests of figures; agreement of clusterings."""
