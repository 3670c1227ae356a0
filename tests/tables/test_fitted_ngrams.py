"""N-grams fitted to finished vectors: the regression, a language whose forms are known, files, names."""

import pickle
from collections import Counter

import numpy as np
import pytest
from scipy.stats import spearmanr

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.tables import fitted_ngrams

RNG = np.random.default_rng(4)
STEMS = ["".join(RNG.choice(list("bcdfgaeiou"), 5)) for _ in range(150)]
ENDINGS = ["", "s", "ing", "ed", "er", "ly"]
OF_STEM = {stem: RNG.normal(size=30) for stem in STEMS}
OF_ENDING = {ending: RNG.normal(size=30) for ending in ENDINGS}


def vector(stem: str, ending: str, noise: float = 1.0) -> np.ndarray:
    return OF_STEM[stem] + OF_ENDING[ending] + noise * RNG.normal(size=30)


PAIRS = [
    (stem, ending) for stem in OF_STEM for ending in ENDINGS if (len(stem) + ord(stem[0]) + len(ending)) % 5
]
WORDS = KeyedVectors(
    [stem + ending for stem, ending in PAIRS], np.array([vector(*pair) for pair in PAIRS], np.float32)
)


def truth(found: np.ndarray, pairs: list[tuple[str, str]]) -> float:
    """Return the mean cosine of vectors with those of the language, without noise and less their mean."""
    right = np.array([OF_STEM[stem] + OF_ENDING[ending] for stem, ending in pairs])
    right = right - right.mean(axis=0)
    products = (found * right).sum(axis=1)
    return float(np.mean(products / np.linalg.norm(found, axis=1) / np.linalg.norm(right, axis=1)))


def test_the_regression_is_that_of_the_equations(monkeypatch):
    """Of all n-grams that occur often enough, and solved exactly."""
    monkeypatch.setattr(fitted_ngrams, "STEPS", 30)
    counts = np.arange(1, len(WORDS) + 1)
    vectors = KeyedVectors(WORDS.index_to_key, WORDS.vectors, counts)
    units, made = (vectors.with_fitted_ngrams(weight).vectors for weight in (0.0, 1.0))
    marked = [f"<{word}>" for word in WORDS.index_to_key]
    of_words = [
        [word[i:j] for i in range(len(word)) for j in range(i + 3, min(i + 6, len(word)) + 1)]
        for word in marked
    ]
    number = Counter(one for ngrams in of_words for one in ngrams)
    column = {
        one: i for i, one in enumerate(one for one in number if number[one] >= fitted_ngrams.LEAST_WORDS)
    }
    design = np.zeros((len(WORDS), len(column)))
    for row, ngrams in enumerate(of_words):
        for one in column.keys() & ngrams:
            design[row, column[one]] = ngrams.count(one)
    design /= np.sqrt(np.maximum(design.sum(axis=1, keepdims=True), 1))
    weights = np.sqrt(np.minimum(counts, fitted_ngrams.MOST_COUNTED))
    weights = weights / weights.mean()
    left = design.T @ (weights[:, None] * design) + fitted_ngrams.RIDGE * np.eye(design.shape[1])
    exact = design @ np.linalg.solve(left, design.T @ (weights[:, None] * units))
    assert np.abs(made - units - exact).max() < 0.001 * np.abs(exact).max()


def test_known_and_unknown_words_come_nearer_to_the_truth():
    made = WORDS.with_fitted_ngrams()
    noisy = WORDS.get_normed_vectors()
    assert truth(made.vectors, PAIRS) > truth(noisy - noisy.mean(axis=0), PAIRS) + 0.03
    unknown = [(stem, ending) for stem in OF_STEM for ending in ENDINGS if (stem, ending) not in set(PAIRS)]
    assert len(unknown) > 50
    assert truth(np.array([made[stem + ending] for stem, ending in unknown]), unknown) > 0.6
    lengths = np.linalg.norm(made.vectors, axis=1).mean()
    assert np.linalg.norm([made["".join(pair)] for pair in unknown], axis=1).mean() == pytest.approx(
        lengths, rel=0.7
    )
    with pytest.raises(DataError, match="n-grams already"):
        made.with_fitted_ngrams()


def test_bits_do_not_depend_on_threads(monkeypatch):
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(fitted_ngrams, "usable_cpus", lambda n=threads: n)
        monkeypatch.setattr(fitted_ngrams, "COLUMNS_AT_ONCE", 7)
        found.append(WORDS.with_fitted_ngrams())
    assert np.array_equal(found[0].vectors, found[1].vectors)
    assert np.array_equal(pickle.loads(pickle.dumps(found[0]))[STEMS[0] + "ss"], found[1][STEMS[0] + "ss"])


def test_rare_words_do_not_hide_what_frequent_ones_tell():
    """Counts say which vectors are noise, in the fit and in what is asked of it."""
    noise = RNG.normal(size=(3 * len(WORDS), 30)).astype(np.float32)
    rare = ["".join(RNG.choice(list("bcdfgaeiou"), 9)) for _ in noise]
    counts = np.array([1_000] * len(WORDS) + [1] * len(noise))
    words = [*WORDS.index_to_key, *rare]
    vectors = KeyedVectors(words, np.concatenate([WORDS.vectors, noise]), counts)
    assert vectors.with_fitted_ngrams().metadata["fitted_ngrams"]["explained"] > 0.1


def test_characters_of_short_words():
    """Words of two characters, as in Chinese, share no three."""
    characters = [chr(0x4E00 + i) for i in range(60)]
    meaning = {one: RNG.normal(size=30) for one in characters}
    words = [a + b for a in characters for b in characters if (ord(a) * 7 + ord(b)) % 3]
    vectors = np.array([meaning[a] + meaning[b] + RNG.normal(size=30) for a, b in words], np.float32)
    made = KeyedVectors(words, vectors).with_fitted_ngrams()
    assert made.metadata["fitted_ngrams"]["explained"] > 0.4
    unknown = [a + b for a in characters for b in characters if (ord(a) * 7 + ord(b)) % 3 == 0]
    truth = np.array([meaning[a] + meaning[b] for a, b in unknown])
    found = np.array([made[word] for word in unknown])
    cosines = (found * truth).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(truth, axis=1)
    assert cosines.mean() > 0.7


def test_names_of_items_are_left_alone():
    names = [f"sku {n}" for n in np.random.default_rng(1).permutation(100_000)[: len(WORDS)]]
    with pytest.raises(DataError, match="spelling"):
        KeyedVectors(names, WORDS.vectors, np.arange(len(WORDS), 0, -1)).with_fitted_ngrams()
    with pytest.raises(DataError, match="spelling"):
        KeyedVectors(names, WORDS.vectors).with_fitted_ngrams()
    with pytest.raises(DataError, match="spelling"):
        KeyedVectors(["a", "b"], WORDS.vectors[:2]).with_fitted_ngrams()
    for n, message in ((0, "no words"), (1, "spelling")):
        with pytest.raises(DataError, match=message):
            KeyedVectors(["a"][:n], WORDS.vectors[:n]).with_fitted_ngrams()


def test_published_from_a_file(command, tmp_path):
    WORDS.save(tmp_path / "words.txt")
    made = command("publish", "words.txt", "-o", "made.bin", "-q").says(0)
    assert made.out == "made.bin\n"
    stored, live = KeyedVectors.load(tmp_path / "made.bin"), WORDS.with_fitted_ngrams()
    assert np.allclose(stored.vectors, live.vectors, atol=1e-4)
    unknown = f"{STEMS[0]}ingly"
    assert unknown not in stored.index_to_key
    assert np.allclose(stored[unknown], live[unknown], atol=1e-4)
    assert command("nn", "made.bin", unknown).code == 0
    assert command("publish", "words.txt", "-o", "made.bin").code == 2, "it exists"
    assert command("publish", "words.txt").code == 2
    assert command("publish", "words.txt", "--vectors", "both", "-o", "x").code == 2


def test_before_and_after_on_sets_of_ones_own(command, tmp_path):
    WORDS.save(tmp_path / "words.kv")
    known = [(WORDS.index_to_key[i], WORDS.index_to_key[i + 7], i * 37 % 11) for i in range(40)]
    pairs = [*known, (f"{STEMS[0]}ingly", STEMS[1], 5)]  # with n-grams alone the last one has vectors
    (tmp_path / "own.tsv").write_text("".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs))
    done = command("publish", "words.kv", "-o", "made.bin", "--similarity", "own.tsv")
    megabytes = (tmp_path / "made.bin").stat().st_size / 1e6
    assert f"{megabytes:,.0f} MB" in done.err, "how large the file becomes"
    [row] = [line.split() for line in done.out.splitlines() if line.startswith("similarity")]
    scores = [score for *_, score in known]
    for vectors, shown in ((WORDS, row[2]), (WORDS.with_fitted_ngrams(), row[3])):
        cosines = [vectors.similarity(a, b) for a, b, _ in known]
        assert float(shown) == pytest.approx(spearmanr(cosines, scores).statistic, abs=2e-3)
    assert (row[1], row[4]) == ("own", "40")
    done = command("publish", "words.kv", "-o", "again.bin", "--similarity", "none.tsv")
    assert "none.tsv" in done.err, "what was not judged"
    assert (tmp_path / "again.bin").exists()
    assert command("publish", "m", "--vectors", "both", "--similarity", "own.tsv").code == 2
