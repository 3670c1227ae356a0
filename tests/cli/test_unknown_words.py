"""Commands on sentences with words whose vectors come only from n-grams."""

import numpy as np
import pytest

from wordvec_ca import KeyedVectors, TrainConfig, train
from wordvec_ca.sentences.ca_sem import Reembedding

TEXT = [["walked", "quickly", "home"], ["talked", "slowly", "here"], ["walking", "slowly", "home"]] * 20
LINES = "walks slow home\nwalked home slow Q\n"


@pytest.fixture
def vectors(tmp_path):
    """Write a model with n-grams, and a text that has unknown words."""
    options = {"model": "cbow", "vector_size": 8, "min_count": 1, "ngram_min_count": 1, "workers": 1}
    trained = train(TEXT, TrainConfig(**options, subwords=True))
    trained.save(tmp_path / "model")
    (tmp_path / "text.txt").write_text(LINES, "utf-8")
    return trained.vectors


def test_reembed_gives_rows_to_the_unknown_words_of_the_sentences(command, vectors):
    command("reembed", "model", "text.txt", "-o", "again").says(0, "2 words got a vector from their n-grams")
    again = KeyedVectors.load("again")
    assert again.index_to_key == [*vectors.index_to_key, "slow", "walks"]
    expected = Reembedding.load("again").transform(vectors["walks"][None])[0]
    np.testing.assert_allclose(again["walks"], expected, atol=1e-6)


def test_embed_and_search_say_how_many_words_came_from_ngrams(command, vectors):
    done = command("embed", "model", "text.txt", "-o", "rows.npy", "--method", "mean")
    assert "14.29 % unknown, 42.86 %" in done.err
    first = np.mean([vectors[word] for word in ("walks", "slow", "home")], axis=0)
    np.testing.assert_allclose(np.load("rows.npy")[0], first, atol=1e-6)
    done = command("search", "model", "text.txt", "walks", "--method", "mean", "-n", 1)
    assert done.out.split("\t")[1:] == ["1", "walks slow home\n"]
