"""The commands reembed, embed and search, from text files to files that NumPy and gensim open."""

import json
from itertools import combinations

import numpy as np
import pytest

from wordvec_ca import KeyedVectors, SentenceVectorizer, TrainConfig, reembed, train
from wordvec_ca.sentences import TextLines, WordCounts, save_reembedded
from wordvec_ca.sentences.ca_sem import Reembedding

WORDS = ["the", "cat", "sat", "dog", "mat", "ran", "big"]


@pytest.fixture
def cawv(command):
    """Return a function that runs a command and checks its exit code."""
    return lambda *arguments, code=0, stdin=None: command(*arguments, stdin=stdin).says(code)


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(0)
    vectors = KeyedVectors(WORDS, rng.normal(size=(len(WORDS), 5)).astype(np.float32) + 1)
    vectors.save(tmp_path / "model.vec")
    return tmp_path / "model.vec"


def text(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice([*WORDS, "Unknown"], rng.integers(0, 7))) for _ in range(n)]


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


# ------------------------------------------------------------------ reembed


def test_reembed_writes_a_model_that_gensim_and_we_load(tmp_path, model, cawv):
    corpus = write(tmp_path / "text.txt", text())
    said = cawv("reembed", model, corpus, "-o", tmp_path / "out", "--max-iter", 10).err
    assert "60 lines" in said
    assert "10 iterations" in said
    before = KeyedVectors.load(model)
    result = reembed(before, [line.lower().split() for line in text()], max_iter=10)
    after = KeyedVectors.load(tmp_path / "out")
    assert after.index_to_key == WORDS
    np.testing.assert_array_equal(after.vectors, result.transform(before.vectors))
    np.testing.assert_array_equal(after.counts, result.counts.counts)
    stored = Reembedding.load(tmp_path / "out")
    np.testing.assert_array_equal(stored.v0, result.v0)
    assert stored.counts.n_oov == result.counts.n_oov > 0
    np.testing.assert_array_equal(np.load(tmp_path / "out/chi.npy"), result.chi(before.vectors))
    gensim = pytest.importorskip("gensim.models")
    loaded = gensim.KeyedVectors.load(str(tmp_path / "out/vectors.kv"), mmap="r")
    np.testing.assert_array_equal(loaded["cat"], after["cat"])
    assert loaded.get_vecattr("the", "count") == after.get_vecattr("the", "count")
    np.testing.assert_allclose(loaded.vectors @ result.v0, 0, atol=1e-4)


@pytest.mark.parametrize("n_shards", [2, 5])
def test_counts_of_shards_give_the_v0_of_one_pass(tmp_path, model, cawv, n_shards):
    lines = text(200)
    cawv("reembed", model, write(tmp_path / "all.txt", lines), "-o", tmp_path / "whole")
    parts = []
    for i in range(n_shards):
        shard = write(tmp_path / f"shard{i}.txt", lines[i::n_shards])
        parts.append(tmp_path / f"shard{i}.npz")
        cawv("reembed", model, shard, "--counts-only", "-o", parts[-1])
    cawv("reembed", model, *parts, "-o", tmp_path / "merged")
    for name in ("v0.npy", "chi.npy", "vectors.kv.vectors.npy", "vocab.tsv", "reembedding.json"):
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_words_keep_their_own_counts(tmp_path):
    rng = np.random.default_rng(1)
    odd = ["a\tb", "c\\n", "d\ne", "f"]
    vectors = KeyedVectors(odd, rng.normal(size=(4, 3)), counts=[9, 7, 5, 3])
    result = reembed(vectors, [["f", "a\tb"]])
    save_reembedded(tmp_path / "out", vectors, result)
    loaded = KeyedVectors.load(tmp_path / "out")
    assert loaded.index_to_key == odd
    assert loaded.counts.tolist() == [9, 7, 5, 3]


def test_reembed_refuses(tmp_path, model, cawv):
    corpus = write(tmp_path / "text.txt", text())
    cawv("reembed", model, corpus, "-o", tmp_path / "out")
    assert "exists already" in cawv("reembed", model, corpus, "-o", tmp_path / "out", code=2).err
    cawv("reembed", model, corpus, "-o", tmp_path / "out", "--overwrite", "-q", "--scale", 2)
    assert "> 0" in cawv("reembed", model, corpus, "-o", tmp_path / "o", "--scale", 0, code=2).err
    strange = write(tmp_path / "strange.txt", ["Wörter", "anderer", "Sprache"])
    assert "none of the 3 tokens" in cawv("reembed", model, strange, "-o", tmp_path / "o", code=1).err
    assert not (tmp_path / "o").exists()


def test_reembed_refuses_counts_of_other_words(tmp_path, model, cawv):
    counts = tmp_path / "counts.npz"
    cawv("reembed", model, write(tmp_path / "text.txt", text()), "-o", counts, "--counts-only")
    rng = np.random.default_rng(1)
    for words in (WORDS[::-1], [*WORDS[:-1], "small"], WORDS[:-1]):
        KeyedVectors(words, rng.normal(size=(len(words), 5))).save(tmp_path / "other.vec")
        for options in ([], ["--counts-only"]):
            output = tmp_path / "o.npz"
            said = cawv("reembed", tmp_path / "other.vec", counts, "-o", output, *options, code=1).err
            assert "counts.npz holds counts of other words" in said
            assert "--counts-only" in said
            assert not output.exists()
    WordCounts.load(counts).save(counts)  # without words
    said = cawv("reembed", model, counts, "-o", tmp_path / "o", code=1).err
    assert "counts.npz does not say which words" in said
    assert "--counts-only" in said
    assert not (tmp_path / "o").exists()


def test_reembed_takes_the_counts_of_a_re_embedded_model(tmp_path, model, cawv):
    cawv("reembed", model, write(tmp_path / "text.txt", text()), "-o", tmp_path / "out")
    cawv("reembed", model, tmp_path / "out/counts.npz", "-o", tmp_path / "again")
    assert (tmp_path / "again/v0.npy").read_bytes() == (tmp_path / "out/v0.npy").read_bytes()


def test_counts_are_written_only_to_a_name_that_is_read_as_counts(tmp_path, model, cawv):
    corpus = write(tmp_path / "text.txt", text())
    for name in ("counts", "counts.npz.tmp", "counts.NPZ"):
        said = cawv("reembed", model, corpus, "-o", tmp_path / name, "--counts-only", code=2).err
        assert "must end in .npz" in said
        assert not (tmp_path / name).exists()


# ------------------------------------------------------------------ embed


@pytest.mark.parametrize("method", ["mean", "idf", "sif", "usif", "ca-sem", "ca-sem-sif"])
def test_embed_is_the_vectorizer(tmp_path, model, cawv, method):
    corpus = write(tmp_path / "text.txt", text())
    said = cawv("embed", model, corpus, "-o", tmp_path / "rows.npy", "--method", method).err
    expected = SentenceVectorizer(KeyedVectors.load(model), method=method).fit_transform(text())
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), expected)
    assert "60 sentences" in said


def test_what_embed_learnt_serves_again(tmp_path, model, cawv):
    corpus = write(tmp_path / "text.txt", text())
    cawv("embed", model, corpus, "-o", tmp_path / "a.npy", "--save-fit", tmp_path / "fit")
    cawv("embed", model, "-", "-o", tmp_path / "b.npy", "--load-fit", tmp_path / "fit", stdin="The cat\n\n")
    fitted = SentenceVectorizer.load(tmp_path / "fit", model)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), fitted.transform(["The cat", ""]))
    cawv("embed", model, "-", "-o", tmp_path / "c.npy", "--fit", corpus, "-q", stdin="The cat\n\n")
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), np.load(tmp_path / "b.npy"))


def test_embed_options_reach_the_vectorizer(tmp_path, model, cawv):
    corpus = write(tmp_path / "text.txt", text())
    counts = write(tmp_path / "counts.tsv", [f"{word}\t{10 - i}" for i, word in enumerate(WORDS)])
    options = {
        "readout": "full", "frequency": "usif", "scale": 1.5, "max_iter": 3, "n_components": 2,
        "tokenizer": "whitespace", "lowercase": False,
    }  # fmt: skip
    given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if name != "lowercase"]
    cawv("embed", model, corpus, "-o", tmp_path / "a.npy", *given, "--no-lowercase", "--counts", counts)
    table = {word: 10 - i for i, word in enumerate(WORDS)}
    made = SentenceVectorizer(KeyedVectors.load(model), counts=table, **options)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), made.fit_transform(text()))
    cawv("embed", model, corpus, "-o", tmp_path / "b.npy", "--frequency", "none", "--scale", 0)
    made = SentenceVectorizer(KeyedVectors.load(model), frequency=None, scale=None)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), made.fit_transform(text()))


def test_embed_refuses(tmp_path, model, cawv):
    corpus = write(tmp_path / "text.txt", text())
    (tmp_path / "rows.npy").write_bytes(b"precious")
    assert "exists" in cawv("embed", model, corpus, "-o", tmp_path / "rows.npy", code=2).err
    assert (tmp_path / "rows.npy").read_bytes() == b"precious"
    assert "read only once" in cawv("embed", model, "-", "-o", tmp_path / "r.npy", code=2).err
    empty = write(tmp_path / "empty.txt", [])
    assert "no sentences" in cawv("embed", model, empty, "-o", tmp_path / "r.npy", code=1).err
    assert not (tmp_path / "r.npy").exists()


def test_each_record_is_a_row(tmp_path):
    """Also one without a text, and one with several: rows are joined to the records by their numbers."""
    texts = [("a", "b\nc"), (None, None), ("d", None), (None, "")]
    pairs = [dict(zip(("title", "body"), pair, strict=True)) for pair in texts]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (tmp_path / "a.csv").write_text('title,body\na,"b\nc"\n,\nd,\n,""\n')
    for name in ("a.jsonl", "a.csv"):
        assert list(TextLines([tmp_path / name], field=["title", "body"])) == ["a b c", "", "d", ""]


def test_lines_of_files(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\r\n\ntwo \xff\n\xe2\x80\xa8x\nno end")
    lines = TextLines([tmp_path / "a.txt"])
    assert list(lines) == ["one", "", "two \ufffd", "\u2028x", "no end"] == list(lines)
    assert lines.repaired == 1


@pytest.mark.parametrize(
    "more", [("mean", "--a", "0.01"), ("sif", "--max-iter", "5"), ("usif", "--readout", "full")]
)
def test_options_of_another_method_are_refused(tmp_path, model, cawv, more):
    outcome = cawv(
        "embed", model, write(tmp_path / "t.txt", ["a"]), "-o", tmp_path / "o.npy", "--method", *more, code=2
    )
    assert f"{more[1]} does nothing with --method {more[0]}" in outcome.err


# ------------------------------------------------------------------ search


def test_pages_in_a_model_directory_leave_an_index_as_it_is(tmp_path, cawv):
    corpus = write(tmp_path / "text.txt", text())
    config = TrainConfig(vector_size=5, min_count=1, epochs=1, workers=1)
    train(corpus, config, output=tmp_path / "m", progress=False)
    assert "indexed in" in cawv("search", tmp_path / "m", corpus, WORDS[0]).err
    cawv("report", tmp_path / "m")
    assert any(path.suffix == ".html" for path in (tmp_path / "m").iterdir())
    assert "index" not in cawv("search", tmp_path / "m", corpus, WORDS[0]).err


def test_search_indexes_once(tmp_path, model, cawv):
    lines = [" ".join(words) for words in combinations(WORDS, 3)]
    corpus = write(tmp_path / "text.txt", lines)
    first = cawv("search", model, corpus, lines[20], "-n", 3)
    assert "indexed in" in first.err
    assert first.out.splitlines()[0].split("\t")[1:] == ["21", lines[20]]
    again = cawv("search", model, corpus, lines[20], "-n", 3)
    assert "indexed in" not in again.err
    assert again.out == first.out
    piped = cawv("search", model, corpus, "--json", "-n", 1, stdin=f"{lines[20]}\n{lines[21]}\n")
    found = [json.loads(line) for line in piped.out.splitlines()]
    assert [row["hits"][0]["text"] for row in found] == lines[20:22]
    both = cawv("search", model, corpus, lines[20], lines[21], "-n", 1).out.splitlines()
    # the results of each query
    assert [row.split("\t")[-1] for row in both] == [lines[20]] * 2 + [lines[21]] * 2
    assert "indexing again" in cawv("search", model, corpus, lines[20], "--method", "sif").err
    write(corpus, lines[::-1])
    changed = cawv("search", model, corpus, lines[20], "--method", "sif", "-n", 1)
    assert "indexing again" in changed.err
    assert lines[20] in changed.out
    assert cawv("search", model, corpus, "xyz", code=1).err.count("no word of the query") == 1
    some = cawv("search", model, corpus, "--json", stdin=f"xyz\n\n{lines[20]}\n", code=1)
    assert some.err.count("no word of the query") == 1
    assert json.loads(some.out)["query"] == lines[20]


# ------------------------------------------------------------------ eval


def test_eval_takes_word_counts_from_a_file(tmp_path, model, cawv):
    lines = [f"{i % 5}\t{a}\t{b}" for i, (a, b) in enumerate(combinations([t for t in text(12) if t], 2))]
    pairs = write(tmp_path / "pairs.tsv", lines)
    counts = write(tmp_path / "counts.tsv", [f"{word}\t{10**i}" for i, word in enumerate(WORDS[::-1])])
    plain, weighted = (
        json.loads(cawv("eval", model, "--tasks", "sts", "--sts", pairs, "--json", *more).out)["metrics"]
        for more in ((), ("--counts", counts))
    )
    assert {"sif", "mean", "usif", "ca-sem", "ca-sem-sif", "ca-sem-full"} <= set(plain)
    assert plain["mean"] == weighted["mean"]
    assert plain["sif"]["value"] != weighted["sif"]["value"]


# ------------------------------------------------------------------ models with attention


@pytest.fixture(scope="module")
def attention_model(tmp_path_factory):
    """A small cbow-attn model of a text of these words."""
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(WORDS, 9, p=[0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])) for _ in range(400)]
    folder = tmp_path_factory.mktemp("attention")
    config = TrainConfig(model="cbow-attn", vector_size=5, window=3, min_count=1, workers=1)
    train([line.split() for line in lines], config, output=folder / "model")
    return folder / "model"


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ([], {"method": "usif", "attention": True}),
        (["--method", "attention"], {"method": "attention"}),
        (["--method", "attention", "--n-components", 0], {"method": "attention", "n_components": 0}),
        (["--method", "sif", "--attention"], {"method": "sif", "attention": True}),
        (["--method", "sif", "--no-attention"], {"method": "sif", "attention": False}),
        (["--readout", "full"], {"method": "ca-sem-sif", "readout": "full", "attention": True}),
    ],
)
def test_embed_takes_the_attention_of_the_model(tmp_path, attention_model, cawv, options, setting):
    corpus = write(tmp_path / "text.txt", text())
    cawv("embed", attention_model, corpus, "-o", tmp_path / "out.npy", "-q", *options)
    expected = SentenceVectorizer(KeyedVectors.load(attention_model), **setting).fit_transform(text())
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-6)


def test_plain_mean_of_an_attention_model_says_what_to_use(tmp_path, attention_model, model, cawv):
    corpus = write(tmp_path / "text.txt", text())
    run = cawv("embed", attention_model, corpus, "-o", tmp_path / "a.npy", "--method", "mean")
    assert run.err.count("Warning:") == 1
    assert "--method attention" in run.err
    run = cawv(
        "embed", attention_model, corpus, "-o", tmp_path / "b.npy", "--method", "mean", "--no-attention"
    )
    assert "Warning:" not in run.err
    run = cawv("search", model, corpus, "cat", "--method", "attention", code=1)
    assert "no attention weights" in run.err


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.glove", "v.kv", "v.safetensors", "v.projector"])
def test_attention_is_folded_into_every_format(tmp_path, attention_model, cawv, name):
    vectors = KeyedVectors.load(attention_model)
    expected = vectors.vectors * vectors.attention[:, None]
    run = cawv("export", attention_model, "-o", tmp_path / name, "--fold-attention")
    assert "multiplied" in run.err
    folded = KeyedVectors.load(tmp_path / name)
    assert folded.index_to_key == vectors.index_to_key
    np.testing.assert_allclose(folded.vectors, expected, rtol=1e-6)
    run = cawv("export", attention_model, "-o", tmp_path / name, "--overwrite")
    assert "--fold-attention" in run.err
    np.testing.assert_array_equal(KeyedVectors.load(tmp_path / name).vectors, vectors.vectors)


def test_programs_that_average_get_folded_vectors_unless_told_otherwise(tmp_path, attention_model, cawv):
    vectors = KeyedVectors.load(attention_model)
    for options, weights in (([], vectors.attention), (["--no-fold-attention"], np.ones(len(WORDS)))):
        cawv("export", attention_model, "-o", tmp_path / "m", "-f", "model2vec", "--overwrite", *options)
        found = KeyedVectors.load(tmp_path / "m")
        for word in WORDS:
            expected = vectors[word] * weights[vectors.get_index(word)]
            np.testing.assert_allclose(found[word], expected, rtol=1e-5)


def test_vectors_without_attention_cannot_be_folded(tmp_path, model, cawv):
    run = cawv("export", model, "-o", tmp_path / "v.txt", "--fold-attention", code=1)
    assert "no attention to fold" in run.err
    assert not (tmp_path / "v.txt").exists()


def test_eval_and_compare_judge_by_the_method_asked(tmp_path, attention_model, model, cawv):
    rng = np.random.default_rng(1)
    pairs = [
        f"{rng.uniform(0, 5):.2f}\t{' '.join(a)}\t{' '.join(b)}" for a, b in rng.choice(WORDS, (40, 2, 4))
    ]
    sets = write(tmp_path / "pairs.tsv", pairs)
    run = cawv("eval", attention_model, "--sts", sets, "--method", "attention-usif", "--json", "-q")
    metrics = json.loads(run.out)["metrics"]
    assert next(iter(metrics)) == "attention-usif"
    assert {"sif", "attention"} <= set(metrics)
    run = cawv("eval", model, "--sts", sets, "--method", "attention", code=1)
    assert "needs attention weights" in run.err
    run = cawv("eval", model, "--sts", sets, "--method", "average", code=2)
    assert "attention-usif" in run.err
