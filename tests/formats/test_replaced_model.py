"""A model in memory whose files are replaced: what is read later is what was opened, or an error says so."""

import copy
import functools
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors, TrainConfig, train
from wordvec_ca.files import replacing
from wordvec_ca.formats import MODEL_FILES, model_directory

KINDS = {
    "n-grams": {"subwords": True},
    "buckets": {"subwords": True, "buckets": 50},
    "attention": {"model": "cbow-attn", "window": 2},
    "resamples": {"resamples": 2},
}


def text(seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [[f"w{i}" for i in rng.zipf(1.5, 20) if i < 60 * seed] for _ in range(60)]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return a function that gives two models of a kind, trained on different texts."""

    @functools.cache
    def both_of(kind):
        folder = tmp_path_factory.mktemp("models")
        options = TrainConfig(epochs=1, min_count=1, vector_size=8, workers=1, **KINDS[kind])
        for seed in (1, 2):
            train(text(seed), options, output=folder / str(seed))
        return folder / "1", folder / "2"

    return both_of


@pytest.fixture
def models(both, kind, tmp_path):
    """Return a folder with a model ``m`` and another, ``new``."""
    for name, made in zip(("m", "new"), both(kind), strict=True):
        shutil.copytree(made, tmp_path / name)
    return tmp_path


def later(vectors: KeyedVectors) -> list[np.ndarray]:
    """Return everything that is read only when it is needed."""
    found = [vectors.vectors]
    if vectors.ngrams is not None:
        found += [vectors.get_vector("w1w2"), vectors.ngrams.bucket_rows(30)]
    if vectors.attends:
        assert vectors.attends
        found.append(vectors.attention)
    if vectors.resamples is not None:
        found += list(vectors.resamples)
    return [np.array(one) for one in found]


def by_the_trainer(folder: Path) -> None:
    with replacing(folder / "m", overwrite=True, files=MODEL_FILES) as place:
        shutil.copytree(folder / "new", place, dirs_exist_ok=True)


def file_by_file(folder: Path) -> None:
    """Replace the files one by one, as rsync does."""
    for path in (folder / "new").iterdir():
        path.replace(folder / "m" / path.name)


def by_nothing(folder: Path) -> None:
    shutil.rmtree(folder / "m")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("replace", [by_the_trainer, file_by_file, by_nothing])
def test_what_is_read_later_is_what_was_opened(models, replace):
    expected = later(KeyedVectors.load(models / "m"))
    opened = KeyedVectors.load(models / "m")
    replace(models)
    for found, right in zip(later(opened), expected, strict=True):
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("kind", ["buckets"])
def test_the_export_to_fasttext_has_the_output_vectors_that_were_opened(models):
    KeyedVectors.load(models / "m", vectors="input").save(models / "right.bin", format="fasttext")
    opened = KeyedVectors.load(models / "m", vectors="input")
    by_the_trainer(models)
    opened.save(models / "found.bin", format="fasttext")
    assert (models / "found.bin").read_bytes() == (models / "right.bin").read_bytes()


@pytest.mark.parametrize("kind", ["n-grams"])
def test_a_file_that_is_changed_in_place_is_an_error(models):
    opened = KeyedVectors.load(models / "m")
    with open(models / "m" / "ngrams.tsv", "a") as file:
        file.write("<w9\t0\n")
    with pytest.raises(DataError, match=r"ngrams\.tsv has changed"):
        opened.get_vector("w1w2")


@pytest.mark.parametrize("kind", ["n-grams"])
def test_a_model_that_is_replaced_while_it_is_loaded_is_read_anew(models, monkeypatch):
    right = KeyedVectors.load(models / "new")
    real = model_directory.map_array

    def map_and_replace(path):
        found = real(path)
        if (models / "new").exists():
            shutil.rmtree(models / "m")
            (models / "new").rename(models / "m")
        return found

    monkeypatch.setattr(model_directory, "map_array", map_and_replace)
    found = KeyedVectors.load(models / "m")
    assert found.index_to_key == right.index_to_key
    np.testing.assert_array_equal(found.get_vector("w1w2"), right.get_vector("w1w2"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("replaced", [False, True])
def test_vectors_go_to_another_process_whole(models, replaced):
    expected = later(KeyedVectors.load(models / "m"))
    opened = KeyedVectors.load(models / "m")
    opened.most_similar("w1")
    if replaced:
        shutil.rmtree(models / "m")
    stored = pickle.dumps(opened)
    shutil.rmtree(models / "m", ignore_errors=True)
    for made in (pickle.loads(stored), copy.deepcopy(opened), copy.copy(opened)):
        assert made.most_similar("w1") == opened.most_similar("w1")
        for found, right in zip(later(made), expected, strict=True):
            np.testing.assert_array_equal(found, right)
