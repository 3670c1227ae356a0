"""Further training of a finished model, and runs that begin with given vectors."""

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import Killed, killed_after

from wordvec_ca import DataError, EmbeddingModel, TrainConfig, resume, train
from wordvec_ca.errors import OptionError
from wordvec_ca.runs.warm_start import continued_config, expanded_vocab
from wordvec_ca.specs.models import MODELS


def text(words: range, *, seed: int = 1, lines: int = 400) -> list[list[str]]:
    """Return lines in which each word determines the next."""
    rng = random.Random(seed)
    return [
        [f"w{words[(start + 7 * i) % len(words)]}" for i in range(12)]
        for start in (rng.randrange(len(words)) for _ in range(lines))
    ]


def small(**options: Any) -> TrainConfig:
    """Return a configuration that is quick and reproducible."""
    return TrainConfig(**{"vector_size": 12, "window": 3, "epochs": 2, "workers": 1, "sample": 0, **options})


def row(model: EmbeddingModel, word: str) -> np.ndarray:
    """Return the vector of a word."""
    return model.inputs[model.vocab.index[word]]


@pytest.mark.parametrize("name", ["cbow", "skipgram"])
def test_window_may_be_another_where_no_parameter_depends_on_it(tmp_path, name):
    train(text(range(40)), small(model=name), output=tmp_path / "old")
    config = continued_config(tmp_path / "old", {"window": 20, "workers": 1})
    assert train(text(range(40)), config, continue_from=tmp_path / "old").config.window == 20


@pytest.mark.parametrize("name", MODELS)
def test_model_goes_on_with_old_words_and_new_ones(tmp_path, name):
    old = train(text(range(40)), small(model=name, attention_warmup=0), output=tmp_path / "old")
    new_text = text(range(20, 70), seed=2)
    still = {"alpha": 1e-300, "min_alpha": 0.0, "attention_alpha": 1e-300, "workers": 1}  # nothing is learnt
    config = continued_config(tmp_path / "old", still)
    same = train(new_text, config, continue_from=tmp_path / "old")
    assert set(same.vocab.words) == {f"w{i}" for i in range(70)}
    counts = dict(zip(old.vocab.words, old.vocab.counts.tolist(), strict=True))
    for line in new_text:
        for word in line:
            counts[word] = counts.get(word, 0) + 1
    assert dict(zip(same.vocab.words, same.vocab.counts.tolist(), strict=True)) == counts
    assert same.vocab.raw_tokens == sum(counts.values())
    there = [same.vocab.index[word] for word in old.vocab.words]
    for before, after in zip(old.shared[:2], same.shared[:2], strict=True):
        assert np.array_equal(after[there], before)
    if name == "cbow-attn":
        assert np.array_equal(same.word_logits[there], old.word_logits)
        assert np.array_equal(same.slot_logits, old.slot_logits)
        assert np.abs(old.word_logits).max() > 0
    new = [i for i, word in enumerate(same.vocab.words) if word not in old.vocab]
    assert (same.inputs[new] != 0).any(axis=1).all()
    assert (same.outputs[new] == 0).all()
    (origin,) = same.record["changes"]
    assert (origin["words_kept"], origin["words_new"]) == (40, 30)


def test_more_epochs_on_the_same_text_go_down_further(tmp_path):
    corpus = text(range(40))
    first = train(corpus, small(epochs=3), output=tmp_path / "old", valid=corpus)
    second = train(
        corpus,
        continued_config(tmp_path / "old", {"workers": 1}),
        continue_from=tmp_path / "old",
        valid=corpus,
    )
    assert second.vocab == first.vocab, "the same text is counted once"
    assert second.vocab.raw_tokens == first.vocab.raw_tokens
    assert second.record["valid_loss_by_epoch"][-1] < first.record["valid_loss_by_epoch"][-1]
    afresh = train(corpus, small(epochs=3), valid=corpus)
    assert second.record["valid_loss_by_epoch"][0] < afresh.record["valid_loss_by_epoch"][0]


def test_another_step_has_its_own_learning_rate(tmp_path):
    train(text(range(40)), small(model="cbow", cbow_update="word2vec"), output=tmp_path / "old")
    same = continued_config(tmp_path / "old", {})
    assert (same.alpha, same.attention_alpha) == (0.05, 0.05)
    exact = continued_config(tmp_path / "old", {"cbow_update": "exact"})
    assert (exact.alpha, exact.attention_alpha) == (0.2, 0.2)
    assert continued_config(tmp_path / "old", {"cbow_update": "exact", "alpha": 0.1}).alpha == 0.1


def test_the_number_that_shares_is_inherited_unless_negatives_are_drawn_another_way(tmp_path):
    train(text(range(40)), small(model="cbow", shared_by=8), output=tmp_path / "old")
    assert continued_config(tmp_path / "old", {"alpha": 0.1}).shared_by == 8
    assert continued_config(tmp_path / "old", {"negatives": "exact"}).shared_by is None


def test_phrases_of_the_model_are_joined_in_the_new_text_and_json_is_not_expected(tmp_path):
    (tmp_path / "p.tsv").write_text("new york\n")
    lines = tmp_path / "old.jsonl"
    lines.write_text('{"text": "new york is far"}\n' * 20)
    config = small(phrases=str(tmp_path / "p.tsv"), field="text", min_count=1)
    old = train(lines, config, output=tmp_path / "old")
    plain = tmp_path / "plain.txt"
    plain.write_text("old new york is here\n" * 10)
    model = train(plain, continue_from=tmp_path / "old")
    assert "new_york" in old.vocab
    assert "york" not in model.vocab
    assert model.vocab.counts[model.vocab.index["new_york"]] == 30
    assert "here" in model.vocab


def test_new_words_must_be_frequent_enough_and_have_room(tmp_path):
    train([["a", "b"]] * 10, small(), output=tmp_path / "old")
    more = [["c", "d", "a"]] * 6 + [["c", "rare", "e"]] * 4 + [["e", "f"]]
    for options, words in (
        ({}, {"a", "b", "c", "d", "e"}),
        ({"min_count": 6}, {"a", "b", "c", "d"}),
        ({"max_final_vocab": 3}, {"a", "b", "c"}),
        ({"max_final_vocab": 1}, {"a", "b"}),
    ):
        config = continued_config(tmp_path / "old", options)
        assert set(expanded_vocab(more, config, tmp_path / "old").words) == words


def test_counts_of_rare_words_add_up_over_days(tmp_path, monkeypatch):
    """A word that occurs twice a day gets in on the third, whatever the texts and models between."""
    often = [["a", "b"]] * 10
    day = [*often, ["slow", "a"], ["slow", "b"], ["c", "slow"], ["d", "b"], ["d", "a"]]
    config = small(min_count=7)
    for name in ("0", "1", "2"):
        (tmp_path / name).with_suffix(".txt").write_text("".join(" ".join(line) + "\n" for line in day))
        day.append(["a", f"{name}"])  # otherwise the text would be taken for the same one
    cache: Any = {"cache_dir": tmp_path / "cache", "keep_cache": True}
    for _ in range(2):  # the second model is made of kept text
        first = train(tmp_path / "0.txt", config, output=tmp_path / "m0", overwrite=True, **cache)
        assert first.vocab.rare == b"slow\t3\nd\t2\nc\t1\n"
    second = train(tmp_path / "1.txt", config, continue_from=tmp_path / "m0", output=tmp_path / "m1")
    assert second.vocab.rare == b"slow\t6\nd\t4\nc\t2\n0\t1\n"
    EmbeddingModel.load(tmp_path / "m1").save(tmp_path / "copy")
    third = train(
        tmp_path / "2.txt", config, continue_from=tmp_path / "copy", output=tmp_path / "m2", **cache
    )
    assert third.vocab.counts[third.vocab.index["slow"]] == 9
    assert third.record["changes"][0]["words_rare"] == 4
    assert third.vocab.rare == b"d\t6\nc\t3\n0\t2\n1\t1\n"
    monkeypatch.setattr("wordvec_ca.corpus.vocab.MOST_RARE", 2)
    assert expanded_vocab(often, config, tmp_path / "m2").rare == b"d\t6\nc\t3\n"


def test_what_cannot_be_continued_is_said(tmp_path):
    train(text(range(40)), small(model="cbow-attn"), output=tmp_path / "old")
    for name, value in (("model", "cbow"), ("vector_size", 5), ("window", 4), ("attention", "position")):
        with pytest.raises(DataError, match=f"{name} is .*was given.*train a new model"):
            continued_config(tmp_path / "old", {name: value})
    assert continued_config(tmp_path / "old", {"epochs": 9}).attention_warmup == 0
    assert continued_config(tmp_path / "old", {"field": "text"}).field == "text"
    with pytest.raises(DataError, match="not a model directory"):
        train(text(range(9)), continue_from=tmp_path)
    with pytest.raises(DataError, match="reading the text twice"):
        train(iter(text(range(9))), continue_from=tmp_path / "old")


@pytest.mark.parametrize("kind", [{}, {"hs": True}])
def test_continued_run_can_itself_be_resumed(tmp_path, kind):
    train(text(range(40)), small(**kind), output=tmp_path / "old")
    corpus = tmp_path / "c.txt"
    corpus.write_text("".join(" ".join(line) + "\n" for line in text(range(20, 70), seed=2)))
    config = continued_config(tmp_path / "old", {"workers": 1, "epochs": 4})
    whole = train(corpus, config, continue_from=tmp_path / "old")

    with pytest.warns(UserWarning, match="--resume"), pytest.raises(Killed):
        train(
            corpus, config, continue_from=tmp_path / "old", output=tmp_path / "m",
            callbacks=[killed_after(0.26)], checkpoint_every="1k",
        )  # fmt: skip
    resumed = resume(tmp_path / "m")
    assert resumed.vocab == whole.vocab
    assert resumed.vocab.rare == whole.vocab.rare
    assert resumed.vocab.raw_tokens == whole.vocab.raw_tokens
    assert resumed.record["changes"] == whole.record["changes"]
    assert np.array_equal(resumed.tree, whole.tree)
    assert all(np.array_equal(a, b) for a, b in zip(resumed.shared, whole.shared, strict=True))


@pytest.mark.parametrize("suffix", [".txt", ".glove.txt", ".bin", ".kv"])
def test_run_begins_with_vectors_of_any_format(tmp_path, suffix):
    if suffix == ".kv":
        pytest.importorskip("gensim")
    source = train(text(range(40)), small(vectors="input"))
    formats = {".txt": "word2vec", ".glove.txt": "glove", ".bin": "word2vec-binary", ".kv": "gensim"}
    path = tmp_path / f"v{suffix}"
    source.vectors.save(path, format=formats[suffix])
    model = train(text(range(20, 70)), small(alpha=1e-300, min_alpha=0.0), init_vectors=path)
    for word in (f"w{i}" for i in range(20, 40)):
        assert np.allclose(row(model, word), row(source, word), atol=1e-6)
    fresh = train(text(range(20, 70)), small(alpha=1e-300, min_alpha=0.0))
    assert np.array_equal(row(model, "w60"), row(fresh, "w60"))
    (origin,) = model.record["changes"]
    assert (origin["words_kept"], origin["words_new"]) == (20, 30)


class Evil:
    """Runs a program when it is unpickled by the ordinary unpickler."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("was-here"),))


@pytest.mark.filterwarnings("ignore:.*vectors hold NaN")
def test_vectors_that_cannot_be_begun_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = train(text(range(40)), small())
    source.vectors.save(tmp_path / "v.txt", format="word2vec")
    monkeypatch.setattr(
        "wordvec_ca.text.reader.TextFiles.pieces", lambda *_: pytest.fail("the corpus was read")
    )
    corpus = tmp_path / "c.txt"
    corpus.write_text("w1 w2\n")
    with pytest.raises(DataError, match="vector_size is 5: set vector_size to 12"):
        train(corpus, small(vector_size=5), init_vectors=tmp_path / "v.txt")
    (tmp_path / "evil.kv").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(DataError, match="refused"):
        train(corpus, small(), init_vectors=tmp_path / "evil.kv")
    assert not (tmp_path / "was-here").exists()
    monkeypatch.undo()
    with pytest.raises(DataError, match="none of the 40 words"):
        train(text(range(100, 140)), small(), init_vectors=tmp_path / "v.txt")
    for bad in ("nan", "1e9"):
        (tmp_path / "bad.txt").write_text("w1 " + " ".join(["0.5"] * 11 + [bad]) + "\n")
        with pytest.raises(DataError, match=r"not numbers|bad\.txt"):
            train(text(range(40)), small(), init_vectors=tmp_path / "bad.txt")


def test_anchored_words_move_by_the_share_of_their_occurrences_that_are_new(tmp_path):
    old = train(text(range(40)), small(model="skipgram"), output=tmp_path / "old")
    new_text = text(range(20, 70), seed=2, lines=200)
    free = train(new_text, continued_config(tmp_path / "old", {"workers": 1}), continue_from=tmp_path / "old")
    config = continued_config(tmp_path / "old", {"anchored": True, "workers": 1})

    with pytest.warns(UserWarning, match="--resume"), pytest.raises(Killed):
        train(
            new_text,
            config,
            continue_from=tmp_path / "old",
            output=tmp_path / "new",
            callbacks=[killed_after(0.51)],
            checkpoint_every="1k",
        )
    train(text(range(40)), small(model="skipgram", seed=5), output=tmp_path / "other")
    (tmp_path / "old").rename(tmp_path / "aside")
    (tmp_path / "other").rename(tmp_path / "old")
    with pytest.warns(UserWarning, match="--resume"), pytest.raises(DataError, match="is another model"):
        resume(tmp_path / "new", corpus=new_text)
    (tmp_path / "old").rename(tmp_path / "other")
    (tmp_path / "aside").rename(tmp_path / "old")
    model = resume(tmp_path / "new", corpus=new_text)
    index, before = free.vocab.index, old.vocab.index
    for word in (f"w{i}" for i in range(70)):
        arrays = zip(model.shared[:2], free.shared[:2], old.shared[:2], strict=True)
        for anchored, moved, former in arrays:
            if word not in before:
                assert np.array_equal(anchored[index[word]], moved[index[word]])
                continue
            share = 1 - old.vocab.counts[before[word]] / model.vocab.counts[index[word]]
            there = former[before[word]]
            np.testing.assert_allclose(
                anchored[index[word]], there + share * (moved[index[word]] - there), atol=1e-6
            )
    assert np.array_equal(row(model, "w0"), row(old, "w0"))
    assert (model.config.anchored, continued_config(tmp_path / "new", {}).anchored) == (True, False)
    with pytest.warns(match="leaves all words where they were"):
        train(text(range(40)), config, continue_from=tmp_path / "old")
    with pytest.raises(OptionError, match="subwords"):
        train(text(range(40)), small(subwords=True, anchored=True))
