"""Vectors in the folders of other libraries: each is loaded by the library that it is for."""

import json
import lzma
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.formats import precision_loss
from wordvec_ca.formats.registry import SMALLER
from wordvec_ca.formats.tokenizer_json import Splitting, tokenizer_json
from wordvec_ca.text import tokenize

WORDS = ["the", "a", "small", "boat", "don't", "3.14", "state-of-the-art", ",", ".", "élan", "[UNK]", "ς"]
SENTENCES = [
    "The small boat, a small élan.",
    "Don't! 3.14 State-of-the-art boats",
    "a unknownword boat ''",
    "",
]
RECORD = {
    "format": 1,
    "version": "0.1.0",
    "command": "cawv train text.txt",
    "raw_tokens": 12345,
    "config": {"model": "cbow", "vector_size": 8, "tokenizer": "words", "lowercase": True, "epochs": 3},
}


@pytest.fixture
def vectors():
    numbers = np.random.default_rng(1).normal(size=(len(WORDS), 8)).astype(np.float32)
    return KeyedVectors(WORDS, numbers, np.arange(len(WORDS), 0, -1) * 10, RECORD)


def mean(vectors: KeyedVectors, sentence: str) -> np.ndarray:
    """Return the mean of the vectors of the known words."""
    known = [vectors[word] for word in tokenize(sentence) if word in vectors]
    return np.mean(known, axis=0) if known else np.zeros(vectors.vector_size, dtype=np.float32)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def paragraphs(data: Path) -> Iterator[str]:
    """Yield real paragraphs of many scripts."""
    with lzma.open(data / "corpora" / "wiki.30M.txt.xz", "rt", encoding="utf-8") as lines:
        yield from (line.rstrip("\n") for line in lines)


# ---- tokenizer.json ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_ten_thousand_sentences_have_the_same_tokens(data, tokenizer, lowercase):
    tokenizers = pytest.importorskip("tokenizers")
    sentences = list(islice(paragraphs(data), 10_000))
    ours = [tokenize(sentence, tokenizer, lowercase) for sentence in sentences]
    words = sorted({word for tokens in ours for word in tokens})
    content = tokenizer_json(words, Splitting(tokenizer, lowercase, True))
    theirs = tokenizers.Tokenizer.from_str(content.decode())
    assert sum(map(len, ours)) > 500_000
    for sentence, expected in zip(sentences, ours, strict=True):
        assert theirs.encode(sentence).tokens == expected, sentence


CHARACTERS = st.one_of(
    st.sampled_from("aZé9٣ि·'-’‐.,٫\u200c\u200d\u00ad \t\u00a0\u200b!?❤\ufe0f_İK∙ςΣ漢字\U0001f469€"),
    st.characters(exclude_categories=["Cs", "Cn"]),
)
"""Characters that the rules treat specially, and any other character."""


@settings(max_examples=150, deadline=None)
@given(text=st.text(CHARACTERS, max_size=40), words=st.booleans(), lowercase=st.booleans())
def test_any_text_has_the_same_tokens(text, words, lowercase):
    tokenizers = pytest.importorskip("tokenizers")
    name = "words" if words else "whitespace"
    ours = tokenize(text, name, lowercase)
    content = tokenizer_json(sorted(set(ours)), Splitting(name, lowercase, True))
    assert tokenizers.Tokenizer.from_str(content.decode()).encode(text).tokens == ours


def test_lower_case_of_each_letter_is_ours():
    tokenizers = pytest.importorskip("tokenizers")
    import unicodedata

    if unicodedata.unidata_version < "14":
        pytest.skip("the Unicode tables of this Python are older than ours")
    letters = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) in ("Lu", "Lt")]
    text = " ".join(letters)
    ours = tokenize(text)
    content = tokenizer_json(sorted(set(ours)), Splitting("words", True, True))
    theirs = tokenizers.Tokenizer.from_str(content.decode()).encode(text).tokens
    later = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    assert len(later) <= 40  # letters that only later versions of Unicode have
    assert all(a not in "".join(map(chr, range(0x10000))) or ord(a) > 0xA7C0 for a, _ in later)


# ---- the libraries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SMALLER["model2vec"])
def test_model2vec_loads_the_folder(vectors, tmp_path, dtype):
    model2vec = pytest.importorskip("model2vec")
    vectors.save(tmp_path / "m2v", format="model2vec", dtype=dtype)
    model = model2vec.StaticModel.from_pretrained(str(tmp_path / "m2v"))
    assert model.embedding.dtype == dtype
    tolerance = {"float32": 1e-6, "float16": 2e-3, "int8": 2e-2}[dtype]
    for sentence, vector in zip(SENTENCES, model.encode(SENTENCES), strict=True):
        np.testing.assert_allclose(vector, mean(vectors, sentence), atol=tolerance)
    assert len(model.encode_as_sequence("boat " * 2000)) == 2000, "the text was cut"


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("sentence-transformers", "float32"), ("sentence-transformers", "float16"), ("model2vec", "int8")],
)
def test_sentence_transformers_loads_the_folder(vectors, tmp_path, name, dtype):
    pytest.importorskip("torch")
    library = pytest.importorskip("sentence_transformers")
    vectors.save(tmp_path / "st", format=name, dtype=dtype)
    model = library.SentenceTransformer(str(tmp_path / "st"), device="cpu")
    found = model.encode(SENTENCES[:3])
    assert found.shape == (3, 8)
    for sentence, vector in zip(SENTENCES, found.astype(np.float32), strict=False):
        assert cosine(vector, mean(vectors, sentence)) > (1 - 1e-6 if dtype == "float32" else 0.9995)
    a, b = (mean(vectors, sentence) for sentence in SENTENCES[:2])
    assert float(model.similarity(found[0], found[1])) == pytest.approx(cosine(a, b), abs=5e-3)


@pytest.mark.parametrize("lowercase", [True, False])
def test_spacy_loads_the_folder(vectors, tmp_path, lowercase):
    spacy = pytest.importorskip("spacy")
    vectors.metadata["config"] = {**RECORD["config"], "lowercase": lowercase}  # type: ignore[dict-item]
    vectors.save(tmp_path / "pipe", format="spacy")
    pipeline = spacy.load(tmp_path / "pipe")
    for sentence in SENTENCES:
        tokens = [
            token.lower_ if lowercase else token.text for token in pipeline(sentence) if not token.is_space
        ]
        assert tokens == tokenize(sentence, lowercase=lowercase)
    first, second = (
        [word for word in tokenize(sentence, lowercase=lowercase) if word in vectors]
        for sentence in SENTENCES[:2]
    )
    similarity = pipeline(SENTENCES[0]).similarity(pipeline(SENTENCES[1]))
    assert similarity == pytest.approx(vectors.n_similarity(first, second), abs=1e-6)
    assert pipeline.vocab["boat"].similarity(pipeline.vocab["small"]) == pytest.approx(
        vectors.similarity("boat", "small"), abs=1e-6
    )


def test_spacy_splits_real_text_as_we_do(data, tmp_path):
    spacy = pytest.importorskip("spacy")
    KeyedVectors(["a"], np.ones((1, 2), dtype=np.float32), None, RECORD).save(
        tmp_path / "pipe", format="spacy"
    )
    pipeline = spacy.load(tmp_path / "pipe")
    for sentence in islice(paragraphs(data), 1000):
        shown = sentence.replace("\N{SOFT HYPHEN}", "")
        expected = tokenize(shown, lowercase=False)
        nothing = {token.text for token in pipeline(shown) if not tokenize(token.text)}
        assert [token.text for token in pipeline(shown) if token.text not in nothing] == expected


@pytest.mark.parametrize("name", ["huggingface", "sentence-transformers", "model2vec"])
def test_model_card_is_read_by_the_hub(vectors, tmp_path, name):
    hub = pytest.importorskip("huggingface_hub")
    report = {
        "task": "similarity",
        "dataset": "ws353",
        "metrics": {
            "spearman": {"value": 0.61234, "low": 0.55, "high": 0.66},
            "odd|one": {"value": None, "low": None, "high": None},
        },
        "n": 353,
        "protocol": "cosines against the means of the judges",
    }
    vectors.save(tmp_path / "card", format=name, evaluation=[report])
    card = hub.ModelCard.load(tmp_path / "card" / "README.md")
    assert card.data.eval_results[0].metric_value == 0.6123
    assert card.data.eval_results[0].dataset_name == "ws353"
    assert "| similarity | ws353 | spearman | 0.612 | 0.550 to 0.660 | 353 |" in card.text
    assert "cawv train text.txt" in card.text
    assert "| epochs | 3 |" in card.text


def test_hugging_face_folder_is_read_by_the_libraries_of_its_parts(vectors, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    from safetensors.numpy import load_file

    vectors.save(tmp_path / "hf", format="huggingface", dtype="int8")
    tensors = load_file(tmp_path / "hf" / "model.safetensors")
    np.testing.assert_array_equal(tensors["counts"], vectors.counts)
    restored = tensors["vectors"] * tensors["scales"][:, np.newaxis]
    np.testing.assert_allclose(restored, vectors.vectors, atol=np.abs(vectors.vectors).max() / 250)
    ids = tokenizers.Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json")).encode("a small boat").ids
    assert [WORDS[i] for i in ids] == ["a", "small", "boat"]
    assert json.loads((tmp_path / "hf" / "config.json").read_text())["wordvec_ca"] == RECORD


# ---- sizes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name, those in SMALLER.items() for dtype in those]
)
def test_smaller_numbers_are_read_back(vectors, tmp_path, name, dtype):
    vectors.save(tmp_path / "out", format=name, dtype=dtype, max_words=5)
    read = KeyedVectors.load(tmp_path / "out")
    assert read.index_to_key == WORDS[:5]
    assert read.vectors.dtype == np.float32
    largest = np.abs(vectors.vectors[:5]).max(axis=1, keepdims=True)
    bound = {"float32": 0.0, "float16": 2.0**-11, "int8": 0.5001 / 127}[dtype]
    assert (np.abs(read.vectors - vectors.vectors[:5]) <= bound * largest).all()


def test_loss_of_precision_is_that_of_the_vectors_read_back(vectors, tmp_path):
    for dtype in ("float16", "int8"):
        vectors.save(tmp_path / f"{dtype}.safetensors", dtype=dtype)
        read = KeyedVectors.load(tmp_path / f"{dtype}.safetensors")
        cosines = [cosine(a, b) for a, b in zip(vectors.vectors, read.vectors, strict=True)]
        loss = precision_loss(vectors.vectors, dtype)
        assert loss.lowest == pytest.approx(min(cosines), abs=1e-6)
        assert loss.mean == pytest.approx(np.mean(cosines), abs=1e-6)
        assert 0.999 < loss.lowest < 1


def test_what_a_type_or_format_cannot_hold_is_refused(vectors, tmp_path):
    with pytest.raises(DataError, match=r"model2vec.*sentence-transformers|does not hold int8"):
        vectors.save(tmp_path / "a", format="sentence-transformers", dtype="int8")
    with pytest.raises(DataError, match="these do: safetensors"):
        vectors.save(tmp_path / "a", format="glove", dtype="float16")
    with pytest.raises(DataError, match="no model card"):
        vectors.save(tmp_path / "a", format="glove", evaluation=[])
    odd = KeyedVectors(["x", "y"], np.array([[1, 2], [1e6, np.nan]], dtype=np.float32))
    with pytest.raises(DataError, match="'y' holds a number beyond 65504"):
        odd.save(tmp_path / "a", format="model2vec", dtype="float16")
    with pytest.raises(DataError, match="'y' holds NaN"):
        odd.save(tmp_path / "a", format="huggingface", dtype="int8")
    lone = KeyedVectors(["x", "\udc80"], np.ones((2, 2), dtype=np.float32))
    with pytest.raises(DataError, match="not valid Unicode"):
        lone.save(tmp_path / "a", format="model2vec")
    assert not any(tmp_path.iterdir())
    with pytest.warns(UserWarning, match="1 of 2 words left out"):
        lone.save(tmp_path / "a", format="model2vec", unwritable="skip")


def test_folder_of_somebody_else_is_not_replaced(vectors, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis.tex").write_text("x")
    with pytest.raises(DataError, match=r"thesis\.tex"):
        vectors.save(tmp_path / "a", format="model2vec")
    vectors.save(tmp_path / "b", format="sentence-transformers")
    vectors.save(tmp_path / "b", format="model2vec")
    assert KeyedVectors.load(tmp_path / "b").index_to_key == WORDS


def test_tokens_that_are_parts_of_words_are_refused(vectors, tmp_path):
    vectors.save(tmp_path / "m", format="model2vec")
    path = tmp_path / "m" / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["type"] = "WordPiece"
    path.write_text(json.dumps(content))
    assert KeyedVectors.load(tmp_path / "m").index_to_key == WORDS  # the pieces are the words unchanged
    content["model"]["type"] = "BPE"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="parts of words"):
        KeyedVectors.load(tmp_path / "m")
    content["model"] |= {"type": "WordLevel", "vocab": {"a": 0, "b": 0}}
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="ids of the words"):
        KeyedVectors.load(tmp_path / "m")


def test_words_that_share_a_row_have_a_weight_each(tmp_path):
    """model2vec with a quantised vocabulary: ``mapping`` has the row of each word, ``weights`` its factor."""
    save_file = pytest.importorskip("safetensors.numpy").save_file
    table = KeyedVectors(["a", "b", "c"], np.eye(3, dtype=np.float32))
    table.save(tmp_path / "m", format="model2vec")
    rows = np.array([[1, 2], [3, 4]], np.float32)
    weights, mapping = (
        np.array([1, 0.5, 2, 0], np.float32),
        np.array([1, 0, 1, 0]),
    )  # the unknown word is last
    for wrong in (None, np.array([1, 0, 2, 0]), mapping[:2], weights):
        arrays = {"embeddings": rows, "weights": weights, "mapping": mapping if wrong is None else wrong}
        save_file(arrays, tmp_path / "m" / "model.safetensors")
        if wrong is None:
            found = KeyedVectors.load(tmp_path / "m")
            assert found.index_to_key == ["a", "b", "c"]
            assert np.array_equal(found.vectors, [[3, 4], [0.5, 1], [6, 8]])
        else:
            with pytest.raises(DataError, match=r"'mapping' should have a row|4 words but"):
                KeyedVectors.load(tmp_path / "m")
