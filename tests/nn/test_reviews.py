"""The Contextualizer on real sentences: film reviews (MR), one fold of five."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'wordvec-ca[torch]'")
import numpy as np
from sklearn.model_selection import StratifiedKFold

from wordvec_ca.nn.classifiers import ContextualizerClassifier

pytestmark = pytest.mark.slow


def test_five_steps_from_a_random_context_reach_70_percent_and_one_step_does_not(data):
    """Maupomé & Meurs 2021, table 2: 72.4 and 57.9 after ten epochs."""
    lines = (data / "sentences" / "mr" / "all.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    labels, texts = (
        np.array(column, dtype=object)
        for column in zip(*(line.split("\t", 1) for line in lines), strict=True)
    )
    labels = labels.astype(int)
    train, test = next(StratifiedKFold(5, shuffle=True, random_state=0).split(texts, labels))
    scores = {
        steps: ContextualizerClassifier(tokenizer="whitespace", num_steps=steps, max_epochs=3)
        .fit(texts[train], labels[train])
        .score(texts[test], labels[test])
        for steps in (1, 5)
    }
    assert scores[5] >= 0.70
    assert scores[1] < scores[5] - 0.04
