"""Several inputs, folders with other files in them, words in other case, runs that cannot continue."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from small_runs import Killed, killed_after

from wordvec_ca import KeyedVectors, SearchIndex, TrainConfig, train

SMALL = ("--epochs", "1", "-d", "8", "--workers", "1")


@pytest.fixture
def broken(text):
    """Return a file whose compressed data end early."""
    path = Path("broken.gz")
    whole = gzip.compress(np.random.default_rng(1).bytes(50_000).hex().encode())
    path.write_bytes(whole[: len(whole) // 2])
    return path


# ---- outputs that are inputs ------------------------------------------------------------------------------


def test_a_name_of_a_compressed_file_is_refused_where_nothing_is_compressed(command, text):
    command("train", text, *SMALL, "-o", "model")
    command("embed", "model", text, "-o", "rows.npy.gz", "--method", "mean").says(
        2, "would not be compressed: leave .gz out"
    )
    assert command("vocab", text, "-o", "v.tsv.gz").code == 0
    assert Path("v.tsv.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_where_memory_is_short_messages_say_memory(command, text):
    """Below 600 MiB of address space not all libraries fit; near the limit Python gives SystemError."""
    assert command("train", text, *SMALL, "-o", "model").code == 0
    Path("s.tsv").write_text("w1\tw2\t1\nw3\tw4\t2\nw5\tw6\t3\n")
    for limit in (300, 500, 520):
        run = f"ulimit -v {limit * 1024}; exec {sys.executable} -m wordvec_ca eval model --similarity s.tsv"
        outcome = subprocess.run(["bash", "-c", run], capture_output=True, text=True, timeout=120)
        assert "Traceback" not in outcome.stderr
        assert outcome.returncode == 0 or "not enough memory" in outcome.stderr, outcome.stderr


def test_resuming_does_not_replace_the_text_that_it_reads(command, text):
    with pytest.raises(Killed):
        train(text, TrainConfig(epochs=2), output="m", callbacks=[killed_after(0)], checkpoint_every="1k")
    before = text.read_bytes()
    command("train", "--resume", "m", "--save-vocab", text, "--overwrite").says(2, "is part of what is read")
    assert text.read_bytes() == before


def test_options_that_would_do_nothing(command, text):
    command("train", text, *SMALL, "-o", "model")
    command("export", "model", "-f", "gensim", "--overwrite", "--max-words", "3").says(
        2, "--max-words goes with -o OUT"
    )
    for options, told in (
        (("--nodes", "5"), "--nodes goes with --cluster"),
        (("--min-n", "4"), "--min-n goes with --subwords"),
        (("--buckets", "4000"), "--buckets goes with --subwords"),
        (("--merges", "4"), "--merges goes with several --replicas"),
        (("--cache-dir", "c", "--no-cache"), "--cache-dir and --no-cache"),
        (("--alpha", "0"), "nothing would be learnt"),
    ):
        command("train", text, *SMALL, *options, "-o", "another").says(2, told)
    command("train", text, *SMALL, "--model", "CBOW", "--subwords", "--min-n", "4", "-o", "b").says(0)


def test_training_without_standard_streams(command, text):
    run = [sys.executable, "-m", "wordvec_ca", "train", str(text), *SMALL, "-o", "model"]
    subprocess.run(["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *run], check=True)
    assert len(KeyedVectors.load("model")) > 10


# ---- several inputs ---------------------------------------------------------------------------------------


def test_embed_keeps_what_can_be_read_and_names_the_rest(command, text, broken):
    command("train", text, *SMALL, "-o", "model")
    assert command("embed", "model", text, "-o", "alone.npy").code == 0
    command("embed", "model", broken, text, "missing.txt", "-o", "rows.npy").says(
        1, "Not run:", "broken.gz", "truncated", "missing.txt"
    )
    assert np.array_equal(np.load("rows.npy"), np.load("alone.npy"))
    command("embed", "model", broken, "missing.txt", "-o", "none.npy").says(1, "missing.txt")
    assert not Path("none.npy").exists()


def test_reembed_keeps_what_can_be_read_and_names_the_rest(command, text, broken):
    command("train", text, *SMALL, "-o", "model")
    assert command("reembed", "model", text, "-o", "c.npz", "--counts-only").code == 0
    Path("bad.npz").write_bytes(b"PK\3\4 not counts")
    command("reembed", "model", "bad.npz", "c.npz", broken, "-o", "out").says(
        1, "Not run:", "bad.npz", "broken.gz"
    )
    assert command("reembed", "model", text, "-o", "whole").code == 0
    assert Path("out/v0.npy").read_bytes() == Path("whole/v0.npy").read_bytes()
    assert command("reembed", "model", "bad.npz", broken, "-o", "none").code == 1
    assert not Path("none").exists()


# ---- folders ----------------------------------------------------------------------------------------------


def docx() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<w:document/>" * 100)
    return file.getvalue()


@pytest.mark.parametrize("name", ["folder", "folder/*"])
def test_a_document_and_a_model_in_a_folder_are_left_out_and_counted(command, text, name):
    folder = Path("folder")
    folder.mkdir()
    text.rename(folder / "a.txt")
    command("train", "folder/a.txt", *SMALL, "-o", "folder/model")
    command("train", "folder/a.txt", *SMALL, "-o", "alone")
    (folder / "letter.docx").write_bytes(docx())
    (folder / "scan.pdf").write_bytes(b"%PDF-1.7\n%\xe2\xe3\n")
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"w1 w2\n"))
    (folder / "z.bin.gz").write_bytes(gzip.compress(b"\0\1\2\3" * 1000))
    os.mkfifo(folder / "pipe")
    outcome = command("train", name if name == "folder" else "folder", *SMALL, "-o", "all").says(
        0, "left out 4 files that are not text, the first 'folder/letter.docx' and 1 folders"
    )
    assert outcome.err.count("left out") == 1
    record = command("info", "all", "--json").json
    assert record["raw_tokens"] == 4002
    outcome = command("vocab", "folder", "-o", "v.tsv", "--min-count", "1")
    assert "left out 4 files" in outcome.err
    assert command("train", "folder/letter.docx", *SMALL, "-o", "none").code == 1
    assert command("train", "folder/model", *SMALL, "-o", "none").code == 1


def test_a_folder_with_nothing_but_documents_says_what_they_are(command):
    Path("folder").mkdir()
    Path("folder/letter.docx").write_bytes(docx())
    command("train", "folder", *SMALL).says(1, "letter.docx")


# ---- capitals ---------------------------------------------------------------------------------------------


def test_look_ups_forgive_capitals_and_say_so(command, vectors_of):
    path = vectors_of(["paris", "rome", "france", "italy", "USA"])
    outcome = command("nn", path, "Paris", "-n", 2).says(0)
    assert outcome.out == command("nn", path, "paris", "-n", 2).out
    assert outcome.err == "'Paris' has no vector; answering for 'paris'\n"
    assert command("nn", path, "USA").err == ""
    found = command("nn", path, "Paris", "--json").json
    assert (found["word"], found["given"]) == ("paris", "Paris")
    outcome = command("analogy", path, "Paris", "FRANCE", "rome")
    assert outcome.out == command("analogy", path, "paris", "france", "rome").out
    assert outcome.err.count("answering for") == 2
    assert [
        entry["count"]
        for entry in command("analogy", path, "Paris", "France", "rome", "--json").json["answers"]
    ]
    vectors = KeyedVectors.load(path)
    with pytest.raises(KeyError, match=r"'Paris' has no vector .* but 'paris' has"):
        vectors["Paris"]
    with pytest.raises(KeyError, match=r"did you mean 'USA'\?$"):
        vectors.most_similar("Usa")
    assert vectors.known_form("Rome") == "rome"
    assert vectors.known_form("usa") is None


def test_search_forgives_capitals(command, vectors_of):
    path = vectors_of(["paris", "rome", "is", "nice", "France"])
    Path("c.txt").write_text("paris is nice\nrome is nice\nFrance is\n")
    search = ("search", path, "c.txt", "--no-lowercase", "-n", 1, "-q")
    outcome = command(*search, "Paris IS France").says(0)
    assert outcome.out == command(*search, "paris is France").out
    assert "'Paris' has no vector; answering for 'paris'" in outcome.err


# ---- runs that cannot go on -------------------------------------------------------------------------------


def test_a_kill_before_the_first_checkpoint_says_how_to_start_again(text):
    command = [sys.executable, "-m", "wordvec_ca", "train", "-", *SMALL, "-o", "model"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(text.read_bytes())
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not Path("model.run/run.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    done = subprocess.run(
        [sys.executable, "-m", "wordvec_ca", "train", "--resume", "model"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "the run has no checkpoint yet" in done.stderr
    begun = "cawv train - --epochs 1 -d 8 --workers 1 -o model --overwrite"
    assert begun in done.stderr
    again = [sys.executable, "-m", "wordvec_ca", *begun.split()[1:]]
    subprocess.run(again, input=text.read_bytes(), check=True)
    Path("early.run").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "wordvec_ca", "train", "--resume", "early"], capture_output=True, text=True
    )
    assert "the command that began it" in done.stderr


def test_report_of_vectors_that_it_cannot_show(command, text):
    command("train", text, *SMALL, "-o", "model")
    command("export", "model", "-o", "v.txt")
    command("reembed", "model", text, "-o", "again")
    for name in ("v.txt", "again", "model.none"):
        command("report", name).says(2 if name == "model.none" else 1, name)
    assert "cawv nn" in command("report", "v.txt").err
    assert "trained model" in command("report", "again").err


def test_exceptions_name_no_option_of_the_command_line(text, command):
    from wordvec_ca import OutputExistsError

    config = TrainConfig(epochs=1, vector_size=4, workers=1)
    train(text, config, output="model")
    with pytest.raises(OutputExistsError, match="overwrite=True") as error:
        train(text, config, output="model")
    assert "--" not in str(error.value)
    with pytest.raises(OutputExistsError) as error:
        KeyedVectors.load("model").save(text, format="word2vec", overwrite=False)
    assert "--" not in str(error.value)
    assert "--overwrite" in command("train", text, *SMALL, "-o", "model").err


# ---- notebooks --------------------------------------------------------------------------------------------


def test_objects_show_themselves_and_escape_what_they_show(command, text):
    from wordvec_ca import SentenceVectorizer
    from wordvec_ca.eval.report import Metric, Report
    from wordvec_ca.gensim.models import Word2Vec
    from wordvec_ca.models import ContextWeight, WindowAttention

    lines = ["<script>a \x1b[31m b", "c d", "a d"]
    vectors = KeyedVectors(["a", "b", "<script>", "d"], np.eye(4, dtype="f4"), [4, 3, 2, 1])
    index = SearchIndex.build(lines, SentenceVectorizer(vectors, method="mean").fit(lines), "index")
    model = train(
        [["<script>", "b", "\u202e"]] * 50, TrainConfig(epochs=1, vector_size=4, min_count=1, workers=1)
    )
    assert "<polyline" not in model._repr_html_()  # one epoch is not a curve
    attended = WindowAttention(
        [ContextWeight("b", -1, 0.75), ContextWeight("<script>", 1, 0.25), ContextWeight("\x1b", 2, None)],
        "a",
    )
    drop_in = Word2Vec([["<script>", "b", "\u202e"]] * 50, vector_size=4, min_count=1, workers=1)
    metrics = {"spearman": Metric(0.5, 0.4, 0.6)}
    report = Report("similarity", "<script>", metrics, 9, 0.9, "pairs", 1, "", items={"x": np.zeros(10**6)})
    neighbours = vectors.most_similar("a")
    for shown in (vectors, index, model, report, model.vocab, neighbours, attended, drop_in, drop_in.wv):
        page = shown._repr_html_()
        assert page.startswith("<table>")
        assert "<script>" not in page
        assert "&lt;script&gt;" in page
        assert "\x1b" not in page + repr(shown)
        assert "\u202e" not in page + repr(shown)
        assert len(repr(shown)) < 300
    assert neighbours == list(neighbours)
    model.record["loss_by_epoch"] = [2.0, 1.5, 1.25]
    assert "points='2.0,2.0 120.0,39.3 238.0,58.0'" in model._repr_html_()


def test_train_shows_a_bar_on_a_terminal_and_nothing_elsewhere(text, capfd, monkeypatch):
    config = TrainConfig(epochs=2, vector_size=4, workers=1)
    train(text, config)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    train(text, config)
    assert "epoch 2/2" in capfd.readouterr().err
    train(text, config, callbacks=[lambda record: None])
    train(text, config, progress=False)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    train(text, config, progress=True)
    assert "epoch 2/2" in capfd.readouterr().err


def test_a_slip_in_the_name_of_a_model_gets_the_nearest(command, vectors_of):
    path = vectors_of(["paris", "rome"])
    wrong = f"{path}x"
    command("nn", wrong, "paris").says(2, f"Did you mean {path}?")
    os.mkdir(f"{path}.run")  # as if the run that made the model had left it
    assert f"Did you mean {path}?" in command("nn", wrong, "paris").err


def test_a_slip_in_the_name_of_a_text_gets_the_nearest(command, text):
    assert "there is no file 'cc.txt'. Did you mean c.txt?" in command("train", "cc.txt", *SMALL).err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_that_are_no_utf8_are_names_like_others(command, text):
    name, model = os.fsdecode(b"caf\xe9.txt"), os.fsdecode(b"m\xe9")
    text.rename(name)
    assert command("train", name, *SMALL, "-o", model).code == 0
    assert command("nn", model, "w1").code == 0
    assert os.fsdecode(b"caf\xe9.txt") in command("info", model, "--json").json["command"]
    assert command("train", name, "--config", Path(model, "run.toml"), "-o", "again").code == 0


def test_a_damaged_model_is_not_trained_further_and_named(command, text):
    command("train", text, *SMALL, "-o", "model")
    path = Path("model/config.json")
    record = json.loads(path.read_text())
    record["config"]["vector_size"] = 10**15
    path.write_text(json.dumps(record))
    command("train", text, "--continue-from", "model", "-o", "more").says(
        1, "config.json' is not as it was saved"
    )
    Path("model/SHA256SUMS").unlink()
    command("train", text, "--continue-from", "model", "-o", "more").says(
        1, "config.json is damaged: vector_size is 1000000000000000"
    )
