"""The mean attention of a word: against a slow loop, with extreme logits, from a model and its directory."""

import json
import math
import pickle

import numpy as np
import pytest

from wordvec_ca import DataError, EmbeddingModel, KeyedVectors, TrainConfig, Vocab
from wordvec_ca.cli import main
from wordvec_ca.tables import mean_attention, table

WORDS = ["the", "of", "cat", "sat", "slept"]
COUNTS = [50, 30, 10, 7, 3]


def model_of(kind: str, spread: float = 2.0, clip: float = 10.0, seed: int = 0) -> EmbeddingModel:
    config = TrainConfig(
        model="cbow-attn", vector_size=6, window=3, min_count=1, attention=kind, attention_clip=clip
    )
    model = EmbeddingModel(config, Vocab(list(WORDS), np.array(COUNTS)))
    rng = np.random.default_rng(seed)
    model.initialise()
    columns = {"full": 6, "word": 1, "position": 0}[kind]
    if columns:
        model.word_logits[:, :columns] = spread * rng.normal(size=(len(WORDS), columns))
    if kind != "word":
        model.slot_logits[0, :6] = spread * rng.normal(size=6)
    return model


def slowly(model: EmbeddingModel) -> list[float]:
    """The definition, word by word and place by place."""
    kind, clip = model.config.attention, model.config.attention_clip
    p = [count / sum(COUNTS) for count in COUNTS]

    def strength(word: int, place: int) -> float:
        logit = float(model.slot_logits[0, place]) if kind != "word" else 0.0
        if kind != "position":
            logit += float(model.word_logits[word, place if kind == "full" else 0])
        return math.exp(min(max(logit, -clip), clip))

    n = range(len(WORDS))
    places = range(6)
    average = [sum(p[v] * strength(v, i) for v in n) for i in places]
    return [sum(strength(w, i) / average[i] for i in places) / 6 for w in n]


@pytest.mark.parametrize("clip", [10.0, 1.5])
@pytest.mark.parametrize("kind", ["full", "word", "position"])
def test_weights_are_those_of_the_definition(kind, clip, tmp_path, monkeypatch):
    model = model_of(kind, clip=clip)
    expected = slowly(model)
    model.save(tmp_path / "m")
    monkeypatch.setattr(table, "BLOCK_BYTES", 100)  # two words a block
    for found in (
        model.word_attention(),
        KeyedVectors.load(tmp_path / "m").attention,
        model.vectors.attention,
    ):
        assert found is not None
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert np.dot(found, COUNTS) / sum(COUNTS) == pytest.approx(1, rel=1e-5)
    if kind == "position":
        assert expected == pytest.approx([1] * 5)
    else:
        assert np.ptp(expected) > 0.1


def test_logits_beyond_the_range_of_exp_are_safe():
    logits = np.array([[800.0], [799.0], [-800.0]], np.float32)
    found = mean_attention(logits, np.zeros(4, np.float32), np.array([1, 1, 2]), clip=1e4)
    share = np.exp([0.0, -1.0, -1600.0])
    np.testing.assert_allclose(found, share / (share @ [0.25, 0.25, 0.5]), rtol=1e-6)


def test_logits_that_are_not_finite_are_refused(tmp_path):
    model = model_of("full")
    model.word_logits[2, 1] = np.nan
    model.save(tmp_path / "m")
    with pytest.raises(DataError, match="NaN"):
        _ = KeyedVectors.load(tmp_path / "m").attention
    with pytest.raises(DataError, match="all counts are 0"):
        mean_attention(np.zeros((2, 1), np.float32), np.zeros(2, np.float32), np.zeros(2), 10.0)


def test_a_model_without_attention_has_no_weights(tmp_path):
    config = TrainConfig(model="cbow", vector_size=6, min_count=1)
    model = EmbeddingModel(config, Vocab(list(WORDS), np.array(COUNTS)))
    model.initialise()
    model.save(tmp_path / "m")
    assert not model.vectors.attends
    assert not KeyedVectors.load(tmp_path / "m").attends
    with pytest.raises(DataError, match="attention"):
        model.word_attention()
    with pytest.raises(DataError, match="attention"):
        _ = KeyedVectors.load(tmp_path / "m").attention
    with pytest.raises(DataError, match="no attention to fold"):
        model.vectors.with_attention_folded()


def test_vectors_open_without_the_logits_which_are_missed_when_they_are_needed(tmp_path):
    model_of("full").save(tmp_path / "m")
    (tmp_path / "m" / "attention_words.npy").unlink()
    (tmp_path / "m" / "SHA256SUMS").unlink()
    vectors = KeyedVectors.load(tmp_path / "m")
    assert "cat" in vectors
    with pytest.raises(DataError, match=r"attention_words\.npy is missing"):
        _ = vectors.attention


@pytest.mark.parametrize("damage", [{"attention": "wide"}, {"attention": "word"}, {"attention_clip": "ten"}])
def test_logits_of_another_model_are_refused(tmp_path, damage):
    model_of("full").save(tmp_path / "m")
    place = tmp_path / "m" / "config.json"
    record = json.loads(place.read_text("utf-8"))
    record["config"].update(damage)
    place.write_text(json.dumps(record), "utf-8")
    with pytest.raises(DataError):
        _ = KeyedVectors.load(tmp_path / "m").attention


def test_folded_vectors_are_multiplied_and_say_so(tmp_path):
    model = model_of("full")
    model.save(tmp_path / "m")
    vectors = KeyedVectors.load(tmp_path / "m")
    again = pickle.loads(pickle.dumps(vectors))
    folded = again.with_attention_folded()
    expected = vectors.vectors * np.array(slowly(model), np.float32)[:, None]
    np.testing.assert_allclose(folded.vectors, expected, rtol=1e-5)
    assert folded.metadata["attention_folded"] is True
    assert not folded.attends
    assert folded.similarity("cat", "sat") == pytest.approx(vectors.similarity("cat", "sat"), abs=1e-6)


def test_both_faces_write_the_same_vectors_for_programs_that_average(tmp_path):
    model_of("full").save(tmp_path / "m")
    vectors = KeyedVectors.load(tmp_path / "m")
    vectors.save(tmp_path / "python", format="model2vec")
    with pytest.raises(SystemExit, match="0"):
        main(["export", str(tmp_path / "m"), "-o", str(tmp_path / "command"), "-f", "model2vec"])
    written = [KeyedVectors.load(tmp_path / name).vectors for name in ("python", "command")]
    assert np.array_equal(written[0], written[1])
    assert np.array_equal(written[0], vectors.with_attention_folded().vectors)
    vectors.save(tmp_path / "plain", format="model2vec", fold_attention=False)
    assert np.array_equal(KeyedVectors.load(tmp_path / "plain").vectors, vectors.vectors)


def test_some_rows_of_a_table_keep_all_that_is_known(tmp_path):
    model_of("full").save(tmp_path / "m")
    vectors = KeyedVectors.load(tmp_path / "m")
    rows = np.array([3, 0])
    table = vectors.table.rows(rows)
    assert table.words == [vectors.index_to_key[row] for row in rows]
    assert table.attention is not None
    assert vectors.attends
    assert np.array_equal(table.attention(), vectors.attention[rows])
