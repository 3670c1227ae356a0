"""Vectors, models and indexes in other processes: by pickle, copy, joblib and spawned processes."""

import copy
import multiprocessing
import operator
import pickle
import shutil

import numpy as np
import pytest

from wordvec_ca import KeyedVectors, SearchIndex, SentenceVectorizer, TrainConfig, fasttext, train
from wordvec_ca.vectors import ApproximateNeighbours

LINES = [f"a{i % 7} b{i % 5} c{i % 3} d{i % 11}" for i in range(200)]


unknown_word = operator.methodcaller("get_vector", "a1b2")
attention = operator.attrgetter("attention")
nearest = operator.methodcaller("most_similar", np.arange(8, dtype=np.float32), 4)
found = operator.methodcaller("search", "a1 b2 d3", 5)
label = operator.methodcaller("predict", "a1 b2")


@pytest.fixture
def objects(tmp_path):
    """Return objects whose files are gone, a question for each, and the answer while the files were there."""
    usual = {"vector_size": 8, "epochs": 1, "min_count": 1, "workers": 1}
    lines = [line.split() for line in LINES]
    train(lines, TrainConfig(subwords=True, **usual), output=tmp_path / "subwords")
    train(lines, TrainConfig(model="cbow-attn", window=2, **usual), output=tmp_path / "attention")
    by_ngrams, attends = (KeyedVectors.load(tmp_path / name) for name in ("subwords", "attention"))
    (tmp_path / "labels").write_text("".join(f"__label__{line[1]} {line}\n" for line in LINES))
    trained = fasttext.train_supervised(str(tmp_path / "labels"), dim=8, epoch=1, thread=1, verbose=0)
    trained.save_model(tmp_path / "labels.bin")
    vectorizer = SentenceVectorizer(attends, method="sif").fit(LINES)
    words = attends.index_to_key
    asked = [
        (by_ngrams, unknown_word),
        (attends, attention),
        (fasttext.load_model(tmp_path / "labels.bin"), label),
        (trained, label),
        (ApproximateNeighbours.build(attends.vectors, tmp_path / "near", words=words, workers=1), nearest),
        (SearchIndex.build(LINES, vectorizer, tmp_path / "search"), found),
    ]
    whole = [KeyedVectors.load(tmp_path / "subwords"), KeyedVectors.load(tmp_path / "attention")]
    answers = [repr(ask(thing)) for thing, (_, ask) in zip(whole, asked[:2], strict=True)]
    answers += [repr(ask(thing)) for thing, ask in asked[2:]]
    for path in tmp_path.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return [(thing, ask, answer) for (thing, ask), answer in zip(asked, answers, strict=True)]


def test_pickles_and_copies(objects):
    for thing, ask, answer in objects:
        for made in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing), copy.copy(thing)):
            assert repr(ask(made)) == answer


@pytest.mark.slow
def test_spawned_processes_and_joblib(objects):
    joblib = pytest.importorskip("joblib")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for thing, ask, answer in objects:
            assert repr(pool.apply_async(ask, (thing,)).get(timeout=100)) == answer
    jobs = [joblib.delayed(ask)(thing) for thing, ask, _ in objects]
    assert list(map(repr, joblib.Parallel(n_jobs=2, max_nbytes=1)(jobs))) == [
        answer for *_, answer in objects
    ]
