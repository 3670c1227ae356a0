"""``--vectors`` on commands that read a model, and ``cawv publish``."""

import numpy as np
import pytest

from wordvec_ca import KeyedVectors


@pytest.fixture
def model(command, tmp_path):
    """Train a model with n-grams that publishes both matrices."""
    text = "".join(f"alpha{i % 9} beta{i % 9} alpha{i % 9} gamma{i % 7}\n" for i in range(200))
    (tmp_path / "t.txt").write_text(text)
    options = ["--vectors", "both", "--subwords", "-d", 8, "--workers", 1, "--epochs", 1]
    assert command("train", "t.txt", "-o", "m", *options).code == 0
    return tmp_path / "m"


def test_commands_read_a_model_in_each_form(command, model):
    published, of_inputs = (
        command("nn", model, "alpha1", "-n", 2, "--json", *form).json["neighbours"]
        for form in ([], ["--vectors", "input"])
    )
    vectors = KeyedVectors.load(model, vectors="input")
    assert of_inputs[0]["score"] == pytest.approx(vectors.most_similar("alpha1")[0][1], abs=1e-4)
    assert published != of_inputs
    assert "principal components" in command("info", model).out
    assert command("export", model, "-o", "v.txt", "--vectors", "output").code == 0
    assert KeyedVectors.load("v.txt").vector_size == 8
    assert command("analogy", model, "alpha1", "beta1", "alpha2", "--vectors", "output").code == 0
    assert command("index", model, "--vectors", "output", "--queries", 5, "-o", "i").code == 0
    command("nn", "v.txt", "alpha1", "--vectors", "input").says(1, "only a model directory gives others")
    assert command("nn", model, "alpha1", "--vectors", "halves").code == 2


def test_files_of_fasttext_hold_input_rows(command, model):
    done = command("export", model, "-o", "m.bin", "-f", "fasttext")
    assert "input rows" in done.err
    vectors = KeyedVectors.load(model, vectors="input")
    written = KeyedVectors.load("m.bin")
    np.testing.assert_allclose(written["alpha3"], vectors["alpha3"], atol=1e-5)
    command("export", model, "-o", "n.bin", "-f", "fasttext", "--vectors", "both").says(1, "--vectors input")


def test_publish(command, model):
    done = command("publish", model, "--vectors", "output")
    assert done.out.strip() == str(model)
    assert "output rows less their mean" in done.err
    assert command("info", model, "--check").code == 0
    assert command("publish", model, "--vectors", "input", "-o", model).code in (1, 2)
    assert command("publish", model, "--vectors", "input", "-o", "copy").code == 0
    of_model = KeyedVectors.load(model, vectors="input").vectors
    assert np.array_equal(KeyedVectors.load("copy").vectors, of_model)
