"""Models of resampled text: K trainings, each on a bootstrap sample of the lines, and their mean.

Input: an encoded text, and options that include ``resamples``. Output: the mean of the models, and the models
themselves, from which `wordvec_ca.vectors` computes intervals.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.resampling.models import ResampledModels, folder_of_model
