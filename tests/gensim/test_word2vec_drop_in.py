"""The drop-in where gensim's own tests do not test it: files for gensim and from it, copies, no gensim."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordvec_ca.gensim as drop_in
from wordvec_ca import DataError
from wordvec_ca.gensim.models import Doc2Vec, FastText, KeyedVectors, Phrases, Word2Vec
from wordvec_ca.gensim.models.doc2vec import TaggedDocument
from wordvec_ca.gensim.models.keyedvectors import _load_word2vec_format
from wordvec_ca.gensim.models.phrases import ENGLISH_CONNECTOR_WORDS, Phraser

SMALL: dict[str, Any] = {"vector_size": 12, "min_count": 1, "workers": 1, "epochs": 1, "sample": 0}
BOTH = {"hs": 1, "negative": 3}


def sentences() -> list[list[str]]:
    rng = random.Random(1)
    return [[f"w{min(rng.randrange(40), rng.randrange(40))}" for _ in range(12)] for _ in range(120)]


@pytest.mark.parametrize("losses", [BOTH, {"hs": 1, "negative": 0}, {"negative": 5}])
def test_gensim_loads_and_trains_a_model_of_ours(tmp_path, losses):
    theirs = pytest.importorskip("gensim.models").Word2Vec
    ours = Word2Vec(sentences(), **SMALL, **losses)
    ours.save_for_gensim(tmp_path / "m.model")
    loaded = theirs.load(str(tmp_path / "m.model"))
    assert loaded.wv.index_to_key == ours.wv.index_to_key
    for name in ("syn1", "syn1neg"):
        assert hasattr(loaded, name) == hasattr(ours, name)
        if hasattr(ours, name):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(ours, name))
    if ours.hs and not ours.negative:  # the trees are the same, so the probabilities of sentences are too
        np.testing.assert_allclose(loaded.score(sentences()[:9]), ours.score(sentences()[:9]), rtol=0.05)
    before = loaded.wv.vectors.copy()
    loaded.train(sentences(), total_examples=120, epochs=1)
    assert np.abs(loaded.wv.vectors - before).max() > 1e-4


def test_a_file_for_gensim_is_whole_or_as_it_was(tmp_path, monkeypatch):
    theirs = pytest.importorskip("gensim.models").Word2Vec
    ours, save, path = Word2Vec(sentences(), **SMALL), theirs.save, tmp_path / "m.model"
    monkeypatch.setattr(theirs, "save", lambda self, name: save(self, name, sep_limit=100))  # files beside it
    ours.save_for_gensim(path)
    files = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert {"m.model", "m.model.syn1neg.npy", "m.model.wv.vectors.npy"} == files.keys()
    np.testing.assert_array_equal(theirs.load(str(path)).syn1neg, ours.syn1neg)

    def full(self, name, **_):
        Path(name).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(theirs, "save", full)
    with pytest.raises(OSError, match="No space"):
        ours.save_for_gensim(path)
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == files
    with pytest.raises(DataError, match=r"no folder"):
        ours.save_for_gensim(tmp_path / "none" / "m.model")


@pytest.mark.parametrize("losses", [BOTH, {"hs": 1, "negative": 0}, {"negative": 5}])
def test_we_load_and_train_a_model_of_gensim(tmp_path, losses):
    theirs = pytest.importorskip("gensim.models").Word2Vec(sentences(), **SMALL, **losses)
    theirs.save(str(tmp_path / "m.model"))
    ours = Word2Vec.load(tmp_path / "m.model")
    np.testing.assert_array_equal(ours.wv.vectors, theirs.wv.vectors)
    if ours.hs and not ours.negative:
        np.testing.assert_allclose(ours.score(sentences()[:9]), theirs.score(sentences()[:9]), rtol=0.05)
    before = ours.wv.vectors.copy()
    ours.train(sentences(), total_examples=120, epochs=1)
    assert np.abs(ours.wv.vectors - before).max() > 1e-4


def test_copies_are_trained_alone():
    model = Word2Vec(sentences(), **SMALL, **BOTH)
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        before, nodes = model.wv.vectors.copy(), model.syn1.copy()
        copied.train(sentences(), total_examples=120, epochs=1)
        assert np.abs(copied.syn1 - model.syn1).max() > 1e-4
        np.testing.assert_array_equal(model.wv.vectors, before)
        np.testing.assert_array_equal(model.syn1, nodes)


def test_train_takes_the_sentences_it_is_given():
    text, other = sentences(), [["w1", "w2"]] * 9
    model = Word2Vec(**SMALL)
    model.build_vocab(text)
    assert model.train(other, total_examples=9, epochs=1) == (18, 18)
    model.build_vocab(text)
    text[3][4:] = ["w1"]
    assert model.train(text, total_examples=120, epochs=1)[1] == sum(map(len, text))


def test_rare_words_of_a_file(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("a b a b once\n" * 2 + "rare a b\n" + "z y\n" * 3)
    by_lists = Word2Vec([line.split() for line in text.read_text().splitlines()], **{**SMALL, "min_count": 3})
    model = Word2Vec(corpus_file=str(text), **{**SMALL, "min_count": 3})
    # words with equal counts are in the order of the text
    assert model.wv.index_to_key == by_lists.wv.index_to_key == ["a", "b", "z", "y"]
    assert (model.corpus_count, model.corpus_total_words) == (6, 19)
    np.testing.assert_array_equal(model.wv.vectors, by_lists.wv.vectors)
    model.build_vocab([["rare", "once"]] * 3, update=True)  # now the file's rare words are trained, too
    assert model.train(corpus_file=str(text), total_words=19, epochs=1) == (19, 19)
    few = Word2Vec(min_count=100)
    few.build_vocab(corpus_file=str(text))
    assert (len(few.wv), few.corpus_total_words) == (0, 19)


def test_what_is_not_here_says_where_it_is(monkeypatch):
    for name in ("gensim", "gensim.models"):  # as if it were not installed
        monkeypatch.setitem(sys.modules, name, None)
    for owner, name in ((drop_in, "nonsense"), (drop_in.models, "Nonsense")):
        with pytest.raises(AttributeError, match=rf"no '(models\.)?{name}'.*install gensim for the rest"):
            getattr(owner, name)


class OwnVectors(KeyedVectors):
    """Vectors of a program that has its own way to read files, with gensim's function."""

    @classmethod
    def load_word2vec_format(cls, *arguments: Any, **options: Any) -> OwnVectors:
        table = _load_word2vec_format(cls, *arguments, **options)
        assert isinstance(table, OwnVectors)
        table.vectors *= 2
        return table


def test_a_subclass_that_reads_files_in_its_own_way(tmp_path):
    (tmp_path / "v.txt").write_text("2 2\na 1 2\nb 3 4\n")
    table = OwnVectors.load_word2vec_format(tmp_path / "v.txt")
    assert table["b"].tolist() == [6, 8]
    table.intersect_word2vec_format(tmp_path / "v.txt")  # as gensim's: from the file
    assert table["b"].tolist() == [3, 4]
    positional = (tmp_path / "v.txt", None, False, "utf8", "strict", 1, np.float32, False, 1024)
    assert len(_load_word2vec_format(KeyedVectors, *positional)) == 1


def test_windows_as_wide_as_sentences():
    wide = Word2Vec(sentences(), **SMALL, window=20_000, sg=1)
    assert np.isfinite(wide.wv.vectors).all()


def test_a_python_without_gensim(tmp_path):
    program = """
import sys
sys.modules["gensim"] = None  # an import of it fails
from wordvec_ca.gensim.models import KeyedVectors, Phrases, Word2Vec
text = [["a", "b", "c", "d"]] * 50
model = Word2Vec(text, min_count=1, vector_size=8, hs=1, workers=1, epochs=2)
model.save("m")
again = Word2Vec.load("m")
again.train(text, total_examples=50, epochs=1)
model.wv.save("v")
print(len(KeyedVectors.load("v")), Phrases(text, min_count=1, threshold=0.1)[text[0]])
try:
    model.save_for_gensim("g")
except ImportError as error:
    print("needs gensim" if "gensim" in str(error) else error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["4 ['a_b', 'c_d']", "needs gensim"]


def test_phrases_are_gensims(tmp_path):
    theirs = pytest.importorskip("gensim.models.phrases")
    assert ENGLISH_CONNECTOR_WORDS == theirs.ENGLISH_CONNECTOR_WORDS
    rng = random.Random(2)
    words = ["bank", "of", "america", "new", "york", "the", "city"]
    text = [rng.choices(words, k=9) for _ in range(60)]
    for options in ({"threshold": 0.2}, {"threshold": 0.01, "scoring": "npmi"}):
        settings = {"min_count": 2, "connector_words": ENGLISH_CONNECTOR_WORDS, **options}
        ours, expected = Phrases(text, **settings), theirs.Phrases(text, **settings)
        assert ours.vocab == expected.vocab
        found, known = ours.export_phrases(), expected.export_phrases()
        assert found.keys() == known.keys()
        assert all(found[phrase] == pytest.approx(known[phrase]) for phrase in known)
        assert [ours[line] for line in text] == [expected[line] for line in text]
        ours.save(tmp_path / "p")
        assert list(Phrases.load(tmp_path / "p")[text]) == list(Phraser(ours)[text])
    ours.scoring = len  # type: ignore[assignment]
    with pytest.raises(DataError, match="use pickle"):
        ours.save(tmp_path / "p")


def test_counts_are_pruned_as_in_gensim():
    theirs = pytest.importorskip("gensim.models")
    rng = random.Random(3)
    text = [[f"w{int(rng.expovariate(0.02))}" for _ in range(9)] for _ in range(300)]
    for models, found in ((drop_in.models, ours := []), (theirs, known := [])):
        model = models.Word2Vec(vector_size=2, min_count=1, max_vocab_size=60)
        model.build_vocab(text)
        phrases = models.Phrases(text, min_count=1, threshold=1, max_vocab_size=200)
        phrases.add_vocab(text[::3])
        kept = {word: model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key}
        found += [kept, phrases.vocab]
    assert ours == known


def test_vectors_taken_from_a_file_stop_no_others(tmp_path):
    Word2Vec([["w1", "w2"]] * 9, **SMALL).wv.save_word2vec_format(tmp_path / "few.txt")
    model = Word2Vec(**SMALL)
    model.build_vocab(sentences())
    model.wv.intersect_word2vec_format(tmp_path / "few.txt")  # one factor locks all words
    before = model.wv.vectors.copy()
    model.train(sentences(), total_examples=model.corpus_count, epochs=1)
    stay = {word for row, word in enumerate(model.wv.index_to_key) if (model.wv[word] == before[row]).all()}
    assert stay == {"w1", "w2"}


def test_frozen_phrases_stay_frozen(tmp_path):
    found = Phrases([["a", "b"]] * 9, min_count=1, threshold=0.1)
    found.freeze().save(tmp_path / "p")
    again = Phrases.load(tmp_path / "p")
    assert isinstance(again, Phraser)
    assert again[["a", "b"]] == ["a_b"]


def test_an_older_file_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    model, phrases, path = Word2Vec(sentences(), **SMALL), Phrases([["a", "b"]] * 9), tmp_path / "old"
    path.write_text("old")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", killed)
    for save in (model.save, model.wv.save, model.wv.save_word2vec_format, phrases.save):
        with pytest.raises(KeyboardInterrupt):
            save(path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("sg", [0, 1])
def test_both_matrices_give_other_vectors(tmp_path, sg):
    """They equal those that ``cawv publish`` makes from the same matrices, also for a model of gensim's."""
    from wordvec_ca.tables.published import FittedForm, Halves

    theirs = pytest.importorskip("gensim.models").Word2Vec(sentences(), **SMALL, sg=sg)
    theirs.save(str(tmp_path / "m.model"))
    ours = Word2Vec.load(str(tmp_path / "m.model"))
    halves = Halves(theirs.wv.vectors, theirs.syn1neg[:, None])
    made = ours.published()
    assert np.array_equal(made.vectors, FittedForm("both", halves).matrix(halves))
    assert made.index_to_key == ours.wv.index_to_key
    assert made.get_vecattr("w0", "count") == ours.wv.get_vecattr("w0", "count")
    assert np.array_equal(ours.wv.vectors, theirs.wv.vectors)
    tree = Word2Vec(sentences(), **SMALL, hs=1, negative=0)
    with pytest.raises(RuntimeError, match="no output rows"):
        tree.published()


def test_one_replaced_name_is_enough_for_a_program():
    gensim = pytest.importorskip("gensim")
    import wordvec_ca.gensim as ours
    import wordvec_ca.gensim.corpora.dictionary as dictionary
    import wordvec_ca.gensim.models.ldamodel as ldamodel
    from wordvec_ca.gensim.models import keyedvectors, word2vec
    from wordvec_ca.gensim.models.fasttext import FastTextKeyedVectors, compute_ngrams_bytes

    assert ours.utils is gensim.utils
    assert dictionary is gensim.corpora.dictionary
    assert dictionary.__spec__.name == "gensim.corpora.dictionary"
    assert ldamodel.LdaModel is ours.models.LdaModel
    assert ours.models.word2vec is word2vec is not gensim.models.word2vec
    assert keyedvectors.FastTextKeyedVectors is FastTextKeyedVectors
    assert compute_ngrams_bytes("ab", 3, 3) == gensim.models.fasttext.compute_ngrams_bytes("ab", 3, 3)
    heap = [word2vec.Heapitem(count, count, None, None) for count in (3, 1, 2)]
    assert [item.count for item in sorted(heap)] == [1, 2, 3]
    assert str(keyedvectors.Vocab(count=2)) == "CompatVocab<count:2>"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ours.nonsense  # noqa: B018


def test_a_seed_of_none_is_drawn_and_shown_and_events_are_kept(tmp_path):
    first, second = (Word2Vec(sentences(), **{**SMALL, "seed": None}) for _ in range(2))
    assert first.seed != second.seed
    again = Word2Vec(sentences(), **{**SMALL, "seed": first.seed})
    np.testing.assert_array_equal(again.wv.vectors, first.wv.vectors)
    first.add_lifecycle_event("mine", log_level=False, why="a test")
    first.save(tmp_path / "m")
    events = Word2Vec.load(tmp_path / "m").lifecycle_events
    assert [event["event"] for event in events] == ["build_vocab", "train", "created", "mine"]
    wv = first.wv
    wv.norms = 2 * wv.norms
    wv.norms = None
    np.testing.assert_allclose(wv.norms, np.linalg.norm(wv.vectors, axis=1), rtol=1e-6)
    wv.vector_size = wv.vectors.shape[1]
    with pytest.raises(ValueError, match="the vectors have"):
        wv.vector_size = 1


def test_rows_of_buckets_may_be_had_one_by_one():
    from wordvec_ca.gensim.models import FastText

    class Rows:
        def __init__(self, rows):
            self._rows = rows

        def __getitem__(self, row):
            assert isinstance(row, int)
            return self._rows[row]

    wv = FastText(sentences(), **SMALL, bucket=100).wv
    before = wv["unheard"]
    wv.vectors_ngrams = Rows(wv.vectors_ngrams)
    np.testing.assert_allclose(wv["unheard"], before, rtol=1e-5)


def test_vectors_that_are_not_an_array_are_not_saved_without_them(tmp_path):
    vectors = Word2Vec(sentences(), **SMALL).wv
    vectors.__dict__["vectors"] = [[1.0]]
    with pytest.raises(DataError, match=r"^vectors is a list.*pickle"):
        vectors.save(tmp_path / "v")
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize(
    "options", [{"dm": 1}, {"dm": 0, "dbow_words": 1}, {"dm": 1, "hs": 1, "negative": 0}]
)
@pytest.mark.parametrize("tag", [int, str])
def test_gensim_loads_and_trains_documents_of_ours(tmp_path, options, tag):
    theirs = pytest.importorskip("gensim.models").Doc2Vec
    documents = [TaggedDocument(words, [tag(n)]) for n, words in enumerate(sentences())]
    ours = Doc2Vec(documents, **SMALL, **options)
    ours.save_for_gensim(tmp_path / "m.model")
    loaded = theirs.load(str(tmp_path / "m.model"))
    assert isinstance(loaded, theirs)
    np.testing.assert_array_equal(loaded.dv[tag(7)], ours.dv[tag(7)])
    np.testing.assert_array_equal(loaded.wv["w1"], ours.wv["w1"])
    assert loaded.dv.most_similar(tag(7))[0][0] == ours.dv.most_similar(tag(7))[0][0]
    assert loaded.infer_vector(["w1", "w2"]).any()
    loaded.train(documents, total_examples=len(documents), epochs=1)
    assert np.abs(loaded.dv.vectors - ours.dv.vectors).max() > 1e-4
    with pytest.raises(DataError, match="dm_concat"):
        Doc2Vec(documents[:9], **SMALL, dm_concat=1).save_for_gensim(tmp_path / "m.model")


@pytest.mark.parametrize("bucket", [500, 0])
def test_gensim_loads_and_trains_ngrams_of_ours(tmp_path, bucket):
    theirs = pytest.importorskip("gensim.models").FastText
    ours = FastText(sentences(), **SMALL, bucket=bucket)
    ours.save_for_gensim(tmp_path / "m.model")
    ours.wv.save_for_gensim(tmp_path / "m.kv")
    loaded = theirs.load(str(tmp_path / "m.model"))
    words = ["w1", *(["w999"] if bucket else [])]  # the last one is unknown
    for wv in (loaded.wv, type(loaded.wv).load(str(tmp_path / "m.kv"))):
        np.testing.assert_allclose([wv[word] for word in words], [ours.wv[word] for word in words], atol=1e-6)
    loaded.train(sentences(), total_examples=120, epochs=1)
    assert np.abs(loaded.wv.vectors_vocab - ours.wv.vectors_vocab).max() > 1e-4


def test_a_program_that_replaces_gensim_writes_no_file_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(pytest.importorskip("gensim.models").word2vec, "Word2Vec", Word2Vec)
    with pytest.raises(DataError, match="wordvec_ca"):
        Word2Vec(sentences(), **SMALL).save_for_gensim(tmp_path / "m.model")
    assert not list(tmp_path.iterdir())
