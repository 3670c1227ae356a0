"""Tagging, classification, sentence similarity and categories on data with a known answer."""

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors, SentenceVectorizer
from wordvec_ca.eval.data.sentence_sets import LabelledSentences, SentencePairs
from wordvec_ca.eval.data.treebanks import TaggedCorpus
from wordvec_ca.eval.data.word_sets import WordCategories
from wordvec_ca.eval.tasks import categorization, sentiment, sts, tagging


def classes_of_words(n_classes=4, per_class=30, dim=10, noise=0.3, seed=0):
    """Return vectors around one mean per class; word ``c3w7`` is word 7 of class 3."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_classes, dim))
    words = [f"c{c}w{i}" for c in range(n_classes) for i in range(per_class)]
    matrix = np.repeat(means, per_class, axis=0) + noise * rng.normal(size=(len(words), dim))
    return KeyedVectors(words, matrix.astype(np.float32)), rng


def neighbours_decide(kv, rng, n_sentences):
    """Return a corpus in which a word's tag is the class of the word before it ("first" at the start)."""
    sentences, tags = [], []
    for _ in range(n_sentences):
        words = [str(word) for word in rng.choice(kv.index_to_key, rng.integers(2, 9))]
        sentences.append(words)
        tags.append(["first", *(word[:2] for word in words[:-1])])
    return TaggedCorpus("neighbours", sentences, tags, [""] * n_sentences)


def test_tagging_sees_the_neighbours_and_the_start_of_the_sentence():
    kv, rng = classes_of_words()
    data = tagging.TaggingData("x", neighbours_decide(kv, rng, 700), neighbours_decide(kv, rng, 100))
    report = tagging.evaluate(kv, data, sizes=(50, 5000), C=1.0)
    assert report.value > 0.97
    assert list(report.metrics) == ["accuracy", "accuracy@50"]
    blind = tagging.evaluate(kv, data, sizes=(), C=1.0, reach=0)
    assert blind.value < 0.5
    assert report.details["most_frequent_tag_accuracy"] < 0.5
    assert report.n == data.test.n_tokens


def test_tagging_counts_words_without_vector_and_words_not_in_training():
    kv, rng = classes_of_words()
    train, test = neighbours_decide(kv, rng, 200), neighbours_decide(kv, rng, 50)
    for words, tags in zip(test.sentences, test.tags, strict=True):
        words.append("new-word")
        tags.append(words[-2][:2])
    report = tagging.evaluate(kv, tagging.TaggingData("x", train, test), sizes=(), C=1.0)
    assert report.details["oov_tokens"] == 50
    assert report.details["unseen_tokens"] >= 50
    assert report.coverage == pytest.approx(1 - 50 / test.n_tokens)
    with pytest.raises(DataError, match="none of its"):
        tagging.evaluate(
            KeyedVectors(["zzz"], np.ones((1, 3), np.float32)), tagging.TaggingData("x", train, test)
        )


def test_a_corpus_is_divided_between_documents():
    corpus = TaggedCorpus(
        "c", [[f"w{i}"] for i in range(20)], [["T"]] * 20, [f"doc{i // 2:02}" for i in range(20)]
    )
    data = tagging.divided(corpus)
    assert set(data.train.sources).isdisjoint(data.test.sources)
    assert len(data.train) + len(data.test) == 20
    sample = TaggedCorpus(
        "wsj", [["a"], ["b"], ["c"]], [["T"]] * 3, ["wsj_0001.mrg", "wsj_0149.mrg", "wsj_0150.mrg"]
    )
    assert tagging.divided(sample).test.sources == ["wsj_0150.mrg"]


def of_documents(kv, rng, sizes):
    """Return a corpus of documents with so many sentences each."""
    corpus = neighbours_decide(kv, rng, sum(sizes))
    sources = [f"doc{number:02}" for number, size in enumerate(sizes) for _ in range(size)]
    return TaggedCorpus("documents", corpus.sentences, corpus.tags, sources)


@pytest.mark.parametrize("sizes", [(200, 9, 40, 10, 30, 7, 60, 8), (300,), (90, 20)])
def test_a_small_corpus_is_judged_on_each_of_its_tokens_once(sizes):
    kv, rng = classes_of_words()
    corpus = of_documents(kv, rng, sizes)
    data = tagging.folded(corpus)
    assert sorted(map(id, data.test_sentences)) == sorted(map(id, corpus.sentences))
    for fold in data.folds:
        assert not set(map(id, fold.train.sentences)) & set(map(id, fold.test.sentences))
        assert len(fold.train) + len(fold.test) == len(corpus)
        assert len(sizes) == 1 or set(fold.train.sources).isdisjoint(fold.test.sources)
    assert len(data.folds) == min(5, len(sizes) if len(sizes) > 1 else 5)
    report = tagging.evaluate(kv, data, sizes=(), C=1.0)
    assert report.n == corpus.n_tokens
    assert report.value > 0.8
    assert len(set(report.units)) == (len(sizes) if len(sizes) > 1 else len(corpus))
    # Outcomes are in the order of the folds: the first word of each sentence is right, whatever its fold
    starts = np.cumsum([0, *(len(sentence) for sentence in data.test_sentences[:-1])])
    assert report.items[report.metrics["accuracy"].columns[0]][starts].mean() > 0.97


def test_a_large_corpus_is_divided_once():
    kv, rng = classes_of_words()
    corpus = of_documents(kv, rng, [500] * 16)
    data = tagging.folded(corpus)
    assert data.others == ()
    assert data.test.n_tokens >= tagging.ENOUGH
    assert set(data.test.sources) == {"doc14", "doc15"}


def sentences_about_classes(kv, rng, n, name="texts"):
    """Return texts whose label says which of the classes 0 and 1 has more words in them."""
    labels, sentences = [], []
    for _ in range(n):
        label = int(rng.integers(2))
        kinds = rng.choice([label, 2, 3], 9, p=[0.6, 0.2, 0.2])
        sentences.append([f"c{kind}w{rng.integers(30)}" for kind in kinds] + ["unknown"])
        labels.append(["bad", "good"][label])
    return LabelledSentences(name, labels, sentences)


def test_sentiment_with_each_division_of_the_data():
    kv, rng = classes_of_words()
    train, dev, test = (sentences_about_classes(kv, rng, n) for n in (300, 100, 150))
    grid = (0.01, 1.0, 100.0)
    both = sentiment.evaluate(kv, sentiment.ClassificationData("x", train, dev, test), grid=grid)
    assert both.n == 150
    assert "accuracy on test, C by the accuracy on dev" in both.protocol
    one = sentiment.evaluate(kv, sentiment.ClassificationData("x", train, dev), grid=grid)
    assert one.n == 100
    assert "accuracy on dev, C by 5-fold cross-validation on train" in one.protocol
    none = sentiment.evaluate(kv, sentiment.ClassificationData("x", train), grid=grid)
    assert none.n == 300
    assert len(none.details["C"]) == 5
    neutral = LabelledSentences("n", train.labels, train.sentences, dropped=7)
    report = sentiment.evaluate(kv, sentiment.ClassificationData("x", neutral, dev), grid=grid)
    assert "7 neutral sentences of all parts were left out" in report.notes
    for report in (both, one, none):
        assert report.value > 0.95
        assert report.coverage == pytest.approx(0.9)
    other = LabelledSentences("o", ["odd", "good"], [["c0w1"], ["c1w1"]])
    with pytest.raises(DataError, match="class 'odd' does not occur"):
        sentiment.evaluate(kv, sentiment.ClassificationData("x", train, other), grid=grid)


def test_random_labels_stay_at_chance_and_copies_do_not_leak():
    """Every text occurs five times; the copies are in one fold, so none is in both training and test."""
    kv, rng = classes_of_words(n_classes=40, per_class=10, dim=60)
    sentences = [[str(w) for w in rng.choice(kv.index_to_key, 4)] for _ in range(80)]
    labels = [str(label) for label in rng.permutation(np.arange(80) % 2)]
    data = LabelledSentences("copies", labels * 5, sentences * 5)
    report = sentiment.evaluate(kv, sentiment.ClassificationData("x", data), grid=(1.0, 1e4))
    assert report.value < 0.65


def test_pairs_that_share_a_sentence_are_one_unit():
    """Six translations of one sentence say little more about a model than one does."""
    kv, rng = classes_of_words()
    sentences = [[str(word) for word in rng.choice(kv.index_to_key, 6)] for _ in range(90)]
    once = [(a, b) for a, b in zip(sentences[:30], sentences[30:60], strict=True)]
    repeated = [(a, b) if i % 2 else (b, a) for i, (a, b) in enumerate(once * 6)]

    def judged(pairs):
        scores = [float(np.cos(len(pairs) + i % 30)) for i in range(len(pairs))]
        return sts.evaluate(
            kv, sts.SimilaritySets("x", [SentencePairs("x", scores, *map(list, zip(*pairs, strict=True)))])
        )

    assert len(set(judged(once).units.tolist())) == len(set(judged(repeated).units.tolist())) == 30
    star = [(sentences[60], other) for other in sentences[61:65]] + [(sentences[64], sentences[65])]
    assert judged(star).units.tolist() == [0, 0, 0, 0, 1]
    one, many = judged(once), judged(repeated)
    width = [report.metrics["sif"].high - report.metrics["sif"].low for report in (one, many)]
    assert width[1] > 0.8 * width[0]


def test_sts_of_planted_similarity_and_its_average_over_sets():
    kv, rng = classes_of_words(noise=0.1)
    sets = []
    for name in ("one", "two"):
        first, second, scores = [], [], []
        for _ in range(60):
            shared = int(rng.integers(0, 6))
            a, b = rng.choice(4, 2, replace=False)
            first.append([f"c{a}w{i}" for i in rng.integers(0, 30, 5)])
            second.append(
                [f"c{a}w{i}" for i in rng.integers(0, 30, shared)]
                + [f"c{b}w{i}" for i in rng.integers(0, 30, 5 - shared)]
            )
            scores.append(float(shared))
        sets.append(SentencePairs(name, scores, first, second))
    report = sts.evaluate(kv, sts.SimilaritySets("planted", sets))
    each = [report.metrics[f"sif {name}"].value for name in ("one", "two")]
    assert report.value == pytest.approx(np.mean(each))
    assert report.metrics["mean"].value > 0.8
    assert report.n == 120


def test_sif_is_that_of_its_formula():
    kv, rng = classes_of_words()
    kv = KeyedVectors(kv.index_to_key, kv.vectors, np.arange(len(kv.index_to_key), 0, -1))
    sentences = [[str(w) for w in rng.choice(kv.index_to_key, rng.integers(1, 7))] for _ in range(20)]
    pairs = SentencePairs("x", rng.normal(size=10).tolist(), sentences[:10], sentences[10:])
    report = sts.evaluate(kv, sts.SimilaritySets("x", [pairs]), a=0.01)
    total = kv.counts.sum()
    rows = []
    for sentence in sentences:
        weights = [0.01 / (0.01 + kv.get_vecattr(word, "count") / total) for word in sentence]
        rows.append(sum(w * kv[word] for w, word in zip(weights, sentence, strict=True)) / len(sentence))
    matrix = np.array(rows, dtype=np.float64)
    direction = np.linalg.svd(matrix, full_matrices=False)[2][0]
    matrix -= np.outer(matrix @ direction, direction)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    np.testing.assert_allclose(report.items["sif"], (unit[:10] * unit[10:]).sum(axis=1), atol=1e-4)


@pytest.mark.parametrize("with_background", [False, True])
def test_readouts_are_those_of_the_vectorizer(with_background):
    """Each set is fitted on itself or on the background; unknown words and capitals are as in every task."""
    kv, rng = classes_of_words()
    sets = []
    for name in ("one", "two", "three"):
        sentences = [[str(w) for w in rng.choice(kv.index_to_key, rng.integers(1, 7))] for _ in range(24)]
        sentences[0].append("unknown")
        sentences[1][0] = sentences[1][0].upper()
        sets.append(SentencePairs(name, rng.normal(size=12).tolist(), sentences[:12], sentences[12:]))
    background = [sets.pop()] if with_background else []
    report = sts.evaluate(kv, sts.SimilaritySets("x", sets, background))
    assert list(report.metrics)[: len(sts.READOUTS)] == list(sts.READOUTS)
    assert report.details["sets"] == [pairs.name for pairs in sets]
    for name, setting in sts.READOUTS.items():
        for number, pairs in enumerate(sets):
            text = [[w.lower() for w in s] for s in (*pairs.first, *pairs.second)]
            learnt = [s for b in background for s in (*b.first, *b.second)]
            made = SentenceVectorizer(kv, **setting)
            rows = made.fit([[w.lower() for w in s] for s in learnt] or text).transform(text)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            rows /= np.where(lengths > 0, lengths, 1)
            expected = (rows[:12] * rows[12:]).sum(axis=1)
            found = report.items[name][report.items["set"] == number]
            np.testing.assert_allclose(found, expected, atol=2e-4, err_msg=name)


def test_sets_without_a_known_word_have_cosine_0():
    kv, _ = classes_of_words()
    pairs = SentencePairs("x", [1.0, 2.0], [["foreign"], ["words"]], [["only"], ["here"]])
    report = sts.evaluate(kv, sts.SimilaritySets("x", [pairs]), readouts=("ca-sem-sif", "mean"))
    assert not report.items["ca-sem-sif"].any()
    assert report.coverage == 0
    assert "4 sentences have no word with a vector" in report.notes


def test_categories_are_found_and_unknown_words_count_as_wrong():
    kv, _ = classes_of_words()
    words = [*kv.index_to_key, "unknown"]
    data = WordCategories("x", words, [word[:2] for word in words[:-1]] + ["c0"])
    report = categorization.evaluate(kv, data)
    assert report.value > 0.97
    assert report.metrics["purity-all"].value == pytest.approx(report.value * 120 / 121)
    assert report.coverage == pytest.approx(120 / 121)
    assert report.items["cluster"].shape == (121, 10)
    of_two = WordCategories("x", data.words, data.classes, ["orange"], 3)
    assert categorization.evaluate(kv, of_two).notes[1:] == [
        "1 words are in several classes and left out: orange",
        "3 lines repeat a word and its class; they are ignored",
    ]
    with pytest.raises(DataError, match="too few to cluster"):
        categorization.evaluate(kv, WordCategories("x", ["c0w1", "zz"], ["a", "b"]))
