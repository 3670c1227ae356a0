"""Models of documents in the commands, on sentences of SUBJ; and unusual documents."""

import csv
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import EmbeddingModel, KeyedVectors, SentenceVectorizer
from wordvec_ca.gensim import models as gensim
from wordvec_ca.models import document_vectors
from wordvec_ca.tables import NoWordVectorsError

SMALL = ("--vector-size", 24, "--min-count", 2, "--epochs", 8, "--workers", 1, "--quiet")


@pytest.fixture(scope="module")
def subj(data, tmp_path_factory):
    """Return a folder with 1,500 sentences, as text and as records with tags, and two models of them."""
    from wordvec_ca.cli import main

    here = tmp_path_factory.mktemp("subj")
    lines = (data / "sentences/subj/all.tsv").read_text("utf-8").split("\n")[:-1][::6][:1500]
    labelled = [line.split("\t") for line in lines]
    (here / "text.txt").write_text("".join(f"{text}\n" for _, text in labelled))
    (here / "labelled.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in labelled))
    records = [{"id": f"s{i}", "text": text} for i, (_, text) in enumerate(labelled)]
    (here / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    fields = ("--field", "text", "--tag-field", "id")
    for arguments in (
        ("text.txt", "--model", "pv-dbow", "-o", "dbow"),
        ("records.jsonl", "--model", "pv-dm-attn", *fields, "-o", "attn"),
    ):
        named = [
            str(here / one) if str(one) in ("text.txt", "records.jsonl", "dbow", "attn") else one
            for one in arguments
        ]
        with pytest.raises(SystemExit) as stop:
            main(["train", *map(str, named), *map(str, SMALL)])
        assert not stop.value.code
    return here


def test_texts_are_inferred(command, subj):
    assert command("embed", subj / "dbow", subj / "text.txt", "-o", "e.npy").code == 0
    rows = np.load("e.npy")
    trained = np.load(subj / "dbow/documents.npy")
    cosines = (rows * trained).sum(1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(trained, axis=1)
    assert cosines.mean() > 0.9
    text = subj.joinpath("text.txt").read_text().split("\n")[7]
    outcome = command("embed", subj / "dbow", "-", "-o", "one.npy", stdin=f"{text}\n\nzzzz qqqq\n").says(0)
    one = np.load("one.npy")
    assert np.array_equal(one[0], rows[7])  # the same text gives the same vector, whatever else is inferred
    assert not one[1:].any()
    assert "(1 empty, 1 without" in outcome.err
    mean = ("-o", "m.npy", "--method", "mean", "--overwrite")
    assert command("embed", subj / "attn", subj / "text.txt", *mean).code == 0
    inferred = ("-o", "i.npy", "--method", "infer")
    assert command("embed", subj / "attn", subj / "text.txt", *inferred).code == 0
    assert not np.allclose(np.load("m.npy"), np.load("i.npy"))
    command("embed", subj / "dbow", subj / "text.txt", *mean).says(1, "--dbow-words")
    command("embed", subj / "dbow", "-", "-o", "x.npy", "--method", "infer", "--a", 1, stdin="a\n").says(2)
    KeyedVectors.load(subj / "attn").save("v.safetensors")
    command("embed", "v.safetensors", subj / "text.txt", "-o", "x.npy", "--method", "infer").says(
        2, "models of documents"
    )


def test_search_infers_the_query(command, subj):
    lines = subj.joinpath("text.txt").read_text().split("\n")
    Path("c.txt").write_text("\n".join(lines[:300]))
    for _ in range(2):  # the second search uses the index of the first
        outcome = command("search", subj / "attn", "c.txt", lines[42], "-n", 3)
        score, line, text = outcome.out.splitlines()[0].split("\t")
        assert (float(score), int(line), text) == (1.0, 43, lines[42])
    assert "indexed" not in outcome.err
    again = command("search", subj / "dbow", "c.txt", lines[42])
    assert "indexing again" in again.err
    assert again.out.split("\t")[1] == "43"
    records = [{"text": f"{lines[2 * i]}\n\n{lines[2 * i + 1]}"} for i in range(50)]
    Path("r.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    query = f"{lines[60]} {lines[61]}"
    found = command("search", subj / "dbow", "r.jsonl", "--field", "text", query, "-n", 1)
    assert found.out.split("\t")[1] == "31"  # a record is a document, whatever line ends are in it


def test_documents_are_called_by_their_tags(command, subj):
    """The model remembers the fields of its text; what is found has the tag, not the number of a line."""
    records = subj.joinpath("records.jsonl").read_text().splitlines()[200:300]
    Path("part.jsonl").write_text("\n".join(records) + "\n")
    text = json.loads(records[42])["text"]
    for _ in range(2):  # made, then opened
        found = command("search", subj / "attn", "part.jsonl", text, "-n", 1)
        assert found.out.split("\t")[1] == "s242"
    hit = json.loads(command("search", subj / "attn", "part.jsonl", text, "-n", 1, "--json").out)["hits"][0]
    assert (hit["tag"], hit["line"]) == ("s242", 43)
    assert command("embed", subj / "attn", "part.jsonl", "-o", "e.npy").code == 0
    assert json.loads(Path("e.tags.json").read_text()) == [f"s{i}" for i in range(200, 300)]
    # a table for a database, by the ending; another ending is refused, not filled with an array
    inferred = np.load("e.npy")
    for name in ("e.jsonl", "e.csv"):
        assert command("embed", subj / "attn", "part.jsonl", "-o", name).code == 0
    rows = [json.loads(line) for line in Path("e.jsonl").read_text().splitlines()]
    assert [row["tag"] for row in rows] == [f"s{i}" for i in range(200, 300)]
    assert np.array_equal(np.array([row["vector"] for row in rows], np.float32), inferred)
    with open("e.csv", newline="") as file:
        header, *cells = csv.reader(file)
    assert header == ["tag", "vector"]
    assert json.loads(cells[42][1]) == rows[42]["vector"]
    command("embed", subj / "attn", "part.jsonl", "-o", "e.vec").says(2, ".npy", ".parquet")
    # plain text has no fields, and the numbers of its lines
    Path("part.txt").write_text(text + "\n")
    assert command("search", subj / "attn", "part.txt", text, "-q").out.split("\t")[1] == "1"


def test_neighbours_tables_and_pages(command, subj):
    assert command("nn", subj / "attn", "--document", "s3", "--document", "nowhere", "-n", 2).code == 1
    facts = command("info", subj / "attn").out
    assert "documents  1,500\n" in facts
    assert command("export", subj / "attn", "--table", "documents", "-o", "d.txt").code == 0
    assert command("export", subj / "attn", "--table", "both", "-o", "b.safetensors").code == 0
    documents, both = KeyedVectors.load("d.txt"), KeyedVectors.load("b.safetensors")
    words = KeyedVectors.load(subj / "attn", vectors="input")
    assert documents.index_to_key == [f"s{i}" for i in range(1500)]
    assert len(both) == 1500 + len(words)
    assert np.array_equal(both["*dt_s3"], np.load(subj / "attn/documents.npy")[3])
    assert np.array_equal(both[words.index_to_key[5]], words.vectors[5])
    assert command("export", subj / "attn", "--table", "both", "--vectors", "output", "-o", "x.txt").code == 2
    assert command("export", "d.txt", "--table", "documents", "-o", "x.txt").code == 1
    command("report", subj / "attn", "-o", "r.html").says(0)
    assert "1,500 documents, some of them by their tags" in Path("r.html").read_text()


def test_documents_stand_on_the_map_beside_words(command, subj):
    read_table = pytest.importorskip("pyarrow.parquet").read_table
    map_of = ("-q", "--no-cache", "--method", "pca", "-o")
    command("explore", subj / "attn", "--words", 200, "--documents", 50, *map_of, "m.parquet").says(0)
    shown = read_table("m.parquet")["word"].to_pylist()
    assert len(shown) == 250
    assert shown[200] == "*dt_s0"
    assert command("explore", subj / "dbow", "--documents", 100, *map_of, "a.parquet").code == 0
    shown = read_table("a.parquet")["word"].to_pylist()
    assert shown == [str(i) for i in range(0, 1500, 15)]  # only documents: pv-dbow does not train words


def test_attention_shows_the_document(command, subj):
    sentence = subj.joinpath("text.txt").read_text().split("\n")[11]
    given = ("attention", subj / "attn", sentence, "--target", "2", "--json")
    found = [command(*given, *more).json["context"] for more in ((), ("--document", "s11"))]
    model = EmbeddingModel.load(subj / "attn")
    assert model.documents is not None
    logits = model.documents.logits[11], model.documents.logits.mean()
    for context in found:
        assert context[-1]["word"] == "[document]"
        assert sum(one["weight"] or 0 for one in context) == pytest.approx(1)
    ratio = [context[-1]["weight"] / context[0]["weight"] for context in found]
    assert ratio[1] / ratio[0] == pytest.approx(np.exp(logits[0] - logits[1]), rel=1e-3)
    assert command(*given, "--document", "s9999").code == 1
    # sentences read its attention too, although the place of the document comes after those of words
    command("embed", subj / "attn", subj / "text.txt", "-o", "a.npy", "--method", "attention").says(0)
    assert command("export", subj / "attn", "-o", "f.txt", "--fold-attention").code == 0


def test_evaluation_infers(command, subj, data):
    pairs = data / "sentences/sts2012/OnWN.tsv"
    outcome = command(
        "eval", subj / "dbow", "--sentiment", subj / "labelled.tsv", "--sts", pairs, "--json", "-q"
    )
    sentiment, sts = outcome.records
    assert sentiment["metrics"]["accuracy"]["value"] > 0.6  # 0.5 is always giving the same class
    assert "inferred" in sentiment["protocol"]
    assert next(iter(sts["metrics"])) == "infer"


ODD = [
    {"id": "empty", "text": ""},
    {"id": "unknown", "text": "seldom heard"},
    {"id": "t" * 10_000, "text": "a b a b c"},
    {"id": ["8", "all"], "text": "a b c a b c"},
    {"id": [7, "all"], "text": "c b a"},
    {"id": "long", "text": "a b c " * 300_000},
    {"id": "lines", "text": "a b\nc a\r\n\nb"},
]


def test_odd_documents(command):
    Path("odd.jsonl").write_text("".join(json.dumps(record) + "\n" for record in ODD))
    options = ("--field", "text", "--tag-field", "id", "--min-count", 3, "--workers", 1, "--epochs", 2)
    options += ("--vector-size", 16)
    for model in ("pv-dbow", "pv-dm", "pv-dm-concat", "pv-dm-attn"):
        assert command("train", "odd.jsonl", "-o", model, "--model", model, *options).code == 0
        table, row_of = document_vectors(model)
        assert table.index_to_key == ["empty", "unknown", "t" * 10_000, "8", "all", "7", "long", "lines"]
        assert np.isfinite(table.vectors).all()
        assert (row_of("8"), row_of("7"), row_of(7)) == (3, 5, 5)
        trained = np.abs(table.vectors).max(axis=1)
        # still the initial values: these documents have no word to predict
        assert (trained[:2] <= 0.5 / 16).all()
        assert (trained[6] > 0.5 / 16).all()
        shown = command("nn", model, "--document", "t" * 10_000).says(0)
        assert max(map(len, shown.out.splitlines())) < 300


def test_one_document_and_one_tag_for_all(command):
    options = ("--model", "pv-dm", "--vector-size", 16, "--min-count", 1, "--workers", 1)
    Path("one.txt").write_text("only one document here\n")
    assert command("train", "one.txt", "-o", "one", *options).code == 0
    assert len(document_vectors("one")[0]) == 1
    alone = command("nn", "one", "--document", 0).says(0)
    assert "(none)" in alone.out
    records = [{"tag": "all", "text": f"word{i % 7} here and there"} for i in range(50)]
    Path("all.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    command("train", "all.jsonl", "-o", "all", "--field", "text", "--tag-field", "tag", *options).says(0)
    assert document_vectors("all")[0].index_to_key == ["all"]
    for bad in ({}, {"tag": None}, {"tag": 1.5}, {"tag": {}}):
        bad["text"] = "some text"
        Path("bad.jsonl").write_text(json.dumps(bad) + "\n")
        command("train", "bad.jsonl", "-o", "bad", "--field", "text", "--tag-field", "tag", *options).says(
            1, "tag"
        )
    Path("both.jsonl").write_text('{"tag": 7, "text": "a b"}\n{"tag": "7", "text": "b a"}\n')
    command("train", "both.jsonl", "-o", "both", "--field", "text", "--tag-field", "tag", *options).says(
        1, "as a number and as the text '7'"
    )
    Path("none.txt").write_text("\n\n\n")
    assert command("train", "none.txt", "-o", "none", *options).code == 1


@pytest.mark.parametrize("how", ["rotated", "missing", "nan", "vectors", "no checksums"])
def test_exchanged_files_are_refused(tmp_path, how):
    from wordvec_ca import DataError

    folder = tmp_path / "m"
    texts = [["a", "b", "c"], ["b", "c", "d"]] * 20
    from wordvec_ca import TrainConfig, train

    config = TrainConfig(model="pv-dm", vector_size=8, epochs=1, min_count=1, workers=1)
    train(texts, config, output=folder)
    if how in ("rotated", "missing"):
        (folder / "documents.tags").write_text("".join(f'"t{i}"\n' for i in range(40)))
        from wordvec_ca.files import write_checksums

        write_checksums(folder)
        lines = (folder / "documents.tags").read_text().splitlines(keepends=True)
        (folder / "documents.tags").unlink()
        if how == "rotated":
            (folder / "documents.tags").write_text("".join(lines[1:] + lines[:1]))
    elif how == "no checksums":
        (folder / "SHA256SUMS").write_text("")
    else:
        path = folder / ("documents.npy" if how == "nan" else "vectors.kv.vectors.npy")
        rows = np.load(path)
        np.save(path, np.full_like(rows, np.nan) if how == "nan" else rows[::-1])
    with pytest.raises(DataError, match="SHA256SUMS"):
        KeyedVectors.load(folder) if how in ("vectors", "no checksums") else document_vectors(folder)


def test_a_sample_of_a_large_file_is_compared(tmp_path):
    from wordvec_ca import DataError
    from wordvec_ca.files import check_sample, write_checksums

    rows = np.random.default_rng(1).standard_normal((5000, 100), np.float32)
    np.save(tmp_path / "v.npy", rows)
    write_checksums(tmp_path)
    check_sample(tmp_path / "v.npy")
    for other in (np.roll(rows, 1, axis=0), rows.reshape(10_000, 50), np.copy(rows)):
        other[1915:1975] = 0  # no block of bytes at 64 places has these rows, but some of 256 rows are
        np.save(tmp_path / "v.npy", other)
        with pytest.raises(DataError, match="SHA256SUMS"):
            check_sample(tmp_path / "v.npy")


def test_a_file_that_is_listed_and_missing_or_exchanged_is_an_error_everywhere(command):
    Path("text.txt").write_text("a b c d\nb c d a\n" * 30)
    train = ("train", "text.txt", "--model", "pv-dm-attn", "--min-count", 1, "-d", 8, "--epochs", 1, "-q")
    assert command(*train, "-o", "m").code == 0
    weights = ("attention", "m", "a b c", "--target", "b", "--document", 0)
    logits = np.load("m/attention_documents.npy")
    np.save("m/attention_documents.npy", logits + 1)
    command(*weights).says(1, "attention_documents.npy", "SHA256SUMS")
    np.save("m/attention_documents.npy", logits)
    assert command(*weights).code == 0
    Path("m/history.tsv").unlink()  # which no command reads but report
    embed = ("embed", "m", "text.txt", "-o", "e.npy")
    for line in (weights, ("nn", "m", "a"), ("nn", "m", "--document", 0), ("info", "m"), embed):
        command(*line).says(1, "history.tsv", "SHA256SUMS")


def test_words_that_were_not_trained_are_refused(command, tmp_path):
    Path("text.txt").write_text(
        "a a b c d e f g h i j k l m n o p q\nb c d a e f g h i j k l m n o p q\n" * 30
    )
    train = ("train", "text.txt", "--model", "pv-dbow", "--min-count", 1, "-d", 8, "--epochs", 1, "-q")
    assert command(*train, "-o", "m").code == 0
    assert command(*train, "--dbow-words", "-o", "trained").code == 0
    Path("sim.tsv").write_text("a\tb\t1\nb\tc\t2\nc\td\t3\n")
    for arguments in (
        ("nn", "m", "a"),
        ("analogy", "m", "a", "b", "c"),
        ("recommend", "m", "--basket", "a"),
        ("axis", "m", "a:b", "--words", "c"),
        ("axis", "m", "--targets", "a,b", "c,d", "--attributes", "a,c", "b,d"),
        ("align", "m", "trained", "-o", "a.safetensors"),
        ("align", "trained", "m", "-o", "a.safetensors"),
        ("reembed", "m", "text.txt", "-o", "re"),
        ("embed", "m", "text.txt", "-o", "e.npy", "--method", "mean"),
        ("eval", "m", "--similarity", "sim.tsv"),
        ("eval", "m", "--controls", "--similarity", "sim.tsv"),
        ("compare", "trained", "m", "--similarity", "sim.tsv"),
        ("publish", "m", "-o", "x.bin"),
        ("export", "m", "-o", "h", "-f", "huggingface", "--table", "words"),
        ("export", "m", "-o", "h.txt", "--table", "both"),
        ("train", "text.txt", "--init-vectors", "m", "-d", 8, "--min-count", 1, "-o", "n", "-q"),
        ("index", "m"),
        ("search", "m", "text.txt", "a b", "--method", "mean"),
        ("export", "m", "-o", "w.txt", "--table", "words"),
    ):
        command(*arguments).says(1, "--dbow-words")
    assert command("export", "m", "-o", "d.txt").code == 0
    assert len(Path("d.txt").read_text().splitlines()) == 61
    assert command("nn", "m", "--document", 0).code == 0
    for encoder in ("sentence-transformers", "model2vec", "spacy"):
        assert command("export", "m", "-o", "e", "-f", encoder).code == 2
    for page in (("explore", "m", "--method", "pca", "-q"), ("report", "m"), ("info", "m")):
        assert command(*page).code == 0, page
    words = KeyedVectors.load("m")
    assert (words.index_to_key[0], words.vector_size, int(words.counts[0])) == ("a", 8, 90)
    for vectors in (words, pickle.loads(pickle.dumps(words)), EmbeddingModel.load("m").vectors):
        for use in (
            lambda of: of.vectors,
            lambda of: of["a"],
            lambda of: of.most_similar("a"),
            lambda of: of.save("v.safetensors"),
            lambda of: SentenceVectorizer(of).fit(["a b"]),
        ):
            with pytest.raises(NoWordVectorsError, match="dbow_words"):
                use(vectors)
    with pytest.raises(NoWordVectorsError):
        gensim.KeyedVectors.load("m")


def test_a_map_of_documents_shows_their_texts(command, subj):
    """Documents have the beginnings of their texts, the colours of a field, and topics of their words."""

    def page_of(*options):
        options = ("-o", "e.html", "--overwrite", "--method", "pca", "--colour-by", "text", *options)
        assert command("explore", subj / "attn", *options).code == 0
        page = Path("e.html").read_text()
        of = {one: page.partition(f'id="{one}">')[2].partition("</script>")[0] for one in ("words", "about")}
        return {**json.loads(of["about"]), "words": json.loads(of["words"])}

    about = page_of()
    words = about["words"]
    texts = {one["id"]: one["text"] for one in map(json.loads, (subj / "records.jsonl").open())}
    row = words.index("*dt_s3")
    assert about["snippets"][row]
    assert texts["s3"].startswith(about["snippets"][row].strip())
    assert about["snippets"][0] == ""  # a word
    assert texts["s3"].strip() in about["classes"]
    assert any(len(region[7]) == 3 for region in about["models"][0]["regions"])
    assert about["near"] == {}  # all are shown
    few = page_of("--documents", 2)
    name = few["words"][-1].removeprefix("*dt_")
    near = [few["others"][number] for number, _ in few["near"][str(len(few["words"]) - 1)]]
    exact = document_vectors(subj / "attn")[0].neighbours(name, 10)
    assert [name.removeprefix("*dt_") for name, _ in near] == [one.word for one in exact]
    assert all(texts[name.removeprefix("*dt_")].startswith(text.strip()) for name, text in near)
    command("explore", subj / "attn", "-o", "n.html", "--colour-by", "title").says(1, "title")
