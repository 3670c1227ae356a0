"""The LSTM tagger learns what only the whole sentence tells; without torch a message says what to install."""

import numpy as np
import pytest

from wordvec_ca import KeyedVectors
from wordvec_ca.eval.data.treebanks import TaggedCorpus
from wordvec_ca.eval.tasks import bilstm_tagging
from wordvec_ca.eval.tasks.tagging import TaggingData


def parity(n_sentences, seed):
    """Return a corpus whose tags say whether the number of words "a" before is even: no window is enough."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(n_sentences):
        words = [str(word) for word in rng.choice(["A", "b", "c"], rng.integers(2, 7))]
        sentences.append(words)
        tags.append([("even", "odd")[words[:i].count("A") % 2] for i in range(len(words))])
    return TaggedCorpus("parity", sentences, tags, [""] * n_sentences)


@pytest.mark.slow
def test_the_tagger_reads_the_whole_sentence():
    pytest.importorskip("torch", reason="needs torch: pip install 'wordvec-ca[torch]'")
    kv = KeyedVectors(["a", "b"], np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32))
    data = TaggingData("parity", parity(600, 1), parity(100, 2))
    report = bilstm_tagging.evaluate(kv, data, epochs=25, n_hidden=16, sizes=(50,), restarts=2)
    assert report.items["right@600"].shape == (len(report.items["right@50"]), 2)
    assert report.value > 0.97
    assert list(report.metrics) == ["accuracy", "accuracy@50"]
    again = bilstm_tagging.evaluate(kv, data, epochs=25, n_hidden=16, restarts=1)
    np.testing.assert_array_equal(report.items["right@600"][:, :1], again.items["right@600"])
    words = [word for sentence in data.test.sentences for word in sentence]
    assert report.coverage == pytest.approx(np.mean([word != "c" for word in words]))
