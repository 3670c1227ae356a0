"""What a person sees: tables that fit, progress that goes away, messages on lines of their own."""

import os
import re
import shutil
import sys
import types
from pathlib import Path

import pytest

from wordvec_ca import TrainConfig, train
from wordvec_ca.cli import COMMANDS
from wordvec_ca.cli.terminal import Column, Table, wrapped
from wordvec_ca.runs.displays import LIVE_NOTEBOOKS

pty = pytest.importorskip("pty")

SMALL = ("--vector-size", "8", "--min-count", "1")
TEXT, MODEL, OTHER = "text-of-these-tests.txt", "model-of-a-long-name.cbow-attn", "other-model-of-a-long-name"
LONG = "word-with-hyphens_of_many_characters"


@pytest.fixture
def text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("c.txt")
    path.write_text("".join(f"w{i % 7} w{i % 5} w{i % 3} walking talking\n" for i in range(300)))
    return path


@pytest.fixture
def seen():
    """Return a function that runs the command on a terminal, and gives what it wrote."""

    def run(*arguments, columns=80, typed=(), **environment):
        pid, terminal = pty.fork()
        if pid == 0:  # the child
            for name in list(os.environ):
                if name in ("NO_COLOR", "COLUMNS", "LINES") or name.startswith(LIVE_NOTEBOOKS):
                    del os.environ[name]
            os.environ.update({"TERM": "xterm", "COLUMNS": str(columns), **environment})
            os.execv(sys.executable, [sys.executable, "-m", "wordvec_ca", *map(str, arguments)])
        written, waiting = b"", list(typed)
        while True:
            try:
                piece = os.read(terminal, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            written += piece
            if waiting and written.endswith(b"> "):  # a prompt
                os.write(terminal, waiting.pop(0))
        os.waitpid(pid, 0)
        os.close(terminal)
        return written.decode().replace("\r\n", "\n")

    return run


def plain(text: str) -> str:
    """Return a terminal's output without colours and without lines that were cleared."""
    text = re.sub(r"[^\n]*\r\x1b\[K", "", text)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def test_a_table_gives_up_columns_and_then_wraps():
    columns = [Column("word", 10), Column("value", 6, right=True), Column("n", 5, right=True, spare=1)]
    row = ["a long word", "0.5", "17"]
    assert Table(columns, 40).row(row[:1] + row[1:]).split() == ["a", "long", "0.5", "17", "word"]
    assert "n" not in Table(columns, 20).head()
    assert Table(columns, 20).left_out() == "No room in this terminal for: n."
    assert not Table(columns, 40).left_out()
    narrow = Table(columns, 14)
    assert max(map(len, narrow.row(row).splitlines())) <= 14 + 2
    assert narrow.row(["宽" * 9, "1", ""]).count("宽") == 9, "nothing is lost"


def test_lines_are_broken_between_words_and_count_wide_characters():
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("宽宽宽宽", 4) == ["宽宽", "宽宽"]
    assert "".join(wrapped("x" * 25, 10)) == "x" * 25


def test_colours_only_where_they_are_wanted(seen, command, text):
    assert command("train", text, *SMALL, "-q", "-o", "m").code == 0
    assert "\x1b[1m" in seen("nn", "m", "w1")
    assert "\x1b[" not in seen("nn", "m", "w1", NO_COLOR="1")
    assert "\x1b[" not in seen("nn", "m", "w1", TERM="dumb")
    assert "\x1b[" not in command("nn", "m", "w1").out
    assert re.search(r"\x1b\[[0-9;]*mError:", seen("nn", "m"))  # after the usage


def test_results_of_eval_are_not_mixed_with_progress(seen, command, text):
    assert command("train", text, *SMALL, "-q", "-o", "m").code == 0
    pairs = "".join(f"w{i}\tw{j}\t{i + j}\n" for i in range(5) for j in range(i))
    Path("some-pairs-of-words.tsv").write_text(pairs)
    for columns in (60, 120):
        shown = seen("eval", "m", "--similarity", "some-pairs-of-words.tsv", columns=columns)
        lines = plain(shown).splitlines()
        assert lines[0].startswith("task"), shown
        assert not any(line.startswith("[1/1]") for line in lines)
        assert max(map(len, lines)) <= columns
        assert any(line.startswith("Similarity of words:") for line in lines)
        assert ("  n  " in lines[0]) == (columns > 60)
        assert "How it was measured" not in shown
    details = command("eval", "m", "--similarity", "some-pairs-of-words.tsv", "--details", "-q")
    assert "pearson" in details.out
    assert "How it was measured" in details.out


@pytest.mark.parametrize("columns", [50, 80])
def test_a_bar_keeps_its_share_and_messages_have_their_own_line(seen, text, columns):
    shown = seen(
        *("train", text, *SMALL, "--epochs", 3, "--valid", text, "-o", "m", "--read-vocab", "/dev/null"),
        columns=columns,
    )
    assert "Error" in plain(shown)
    shown = seen("train", text, *SMALL, "--epochs", 3, "--valid", text, "-o", "m", columns=columns)
    assert "Reading" in shown
    assert "\x1b[?25h" in shown, "the cursor must be visible again"
    ends = [line for line in plain(shown).splitlines() if "epoch 3/3" in line]
    assert any("100.0%" in line and "held-out loss" in line and len(line) <= columns for line in ends), shown
    for line in plain(shown).splitlines():
        assert line.count("%") <= 1, line
        assert "Warning" not in line or line.startswith("Warning"), line


def test_tables_and_messages_break_no_word(seen, command, text):
    Path("other.txt").write_text(text.read_text().replace("w1", "word-with-hyphens_of_many_characters"))
    for name in ("c.txt", "other.txt"):
        assert command("train", name, *SMALL, "-q", "-o", f"{name}.model-of-a-long-name").code == 0
    models = [f"{name}.model-of-a-long-name" for name in ("c.txt", "other.txt")]
    Path("some-pairs-of-words.tsv").write_text(
        "".join(f"w{i}\tw{j}\t{i + j}\n" for i in (0, 2, 3, 4, 5, 6) for j in range(i) if j != 1)
    )
    for arguments in (("change", *models), ("compare", *models, "--similarity", "some-pairs-of-words.tsv")):
        whole = set(plain(seen(*arguments, columns=400)).split())
        shown = plain(seen(*arguments))
        assert max(map(len, shown.splitlines())) <= 80, shown
        shown = re.sub("No room in this terminal for: .*", "", shown)
        assert set(shown.split()) - {set_ for set_ in shown.split() if set_.strip("-") == ""} <= whole, shown


def test_search_marks_words_and_prompts(seen, command, text):
    Path("s.txt").write_text("w1 w2 and then " + "some other words " * 30 + "walking\nw3 talking\n")
    assert command("train", text, *SMALL, "-q", "-o", "m").code == 0
    shown = seen("search", "m", "s.txt", "walking", "--method", "mean", "-q", columns=60)
    assert "\x1b[31m\x1b[1mwalking\x1b[0m" in shown
    lines = plain(shown).splitlines()
    assert max(map(len, lines)) <= 60
    assert any(re.match(r"  1  \d\.\d{4}  line \d$", line) for line in lines), lines
    shown = seen("search", "m", "s.txt", "--method", "mean", typed=(b"walking\n", b"talking\n", b"\x04"))
    assert shown.count("search> ") >= 2
    piped = command("search", "m", "s.txt", "walking", "--method", "mean", "-q").out
    assert all(line.count("\t") == 2 for line in piped.splitlines())


def test_help_is_found_in_every_way(command):
    assert command("help").out == command("--help").out
    assert command("help", "eval").out == command("eval", "--help").out
    assert command("-V").out == command("--version").out


def test_info_says_in_ten_lines_what_people_ask(command, text):
    assert command("train", text, *SMALL, "-q", "-o", "m").code == 0
    short = command("info", "m").out.splitlines()
    assert len([line for line in short if line]) <= 11
    assert "run.toml" in command("info", "m").out
    assert len(command("info", "m", "--all").out.splitlines()) > 50
    assert command("info", "m", "--json").json["config"]["vector_size"] == 8


def test_the_demo_leaves_no_progress_of_the_map(seen, text):
    shown = seen("demo", "--max-words", "2000", "--epochs", "1", "-o", "d")
    assert "neighbours of" in shown
    left = plain(shown)
    assert "words.html" in left
    assert not re.search("neighbours of|t-SNE|neighbours: [0-9]+ %", left)


# ---- notebooks


def test_a_run_in_a_notebook_is_one_line(text, monkeypatch, capfd):
    """The libraries of notebooks are replaced: what `IPython.display` gets is what a cell's output shows."""
    shown: list[list[str]] = []

    class Handle:
        def update(self, data, *, raw):
            assert raw
            shown[-1].append(data["text/plain"])

    def display(data, *, raw, display_id):
        assert raw
        assert display_id  # so that later states replace this one
        shown.append([data["text/plain"]])
        return Handle()

    notebook = types.ModuleType("IPython.display")
    notebook.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    for n_runs in (1, 2):
        train(text, TrainConfig(epochs=3, vector_size=8, min_count=1, workers=1))
        assert len(shown) == n_runs
        assert "100.0%" in shown[-1][-1]
        assert "epoch 3/3" in shown[-1][-1]
    assert capfd.readouterr() == ("", "")


def test_a_command_in_a_cell_of_a_notebook_has_one_line_of_progress(seen, text):
    shown = seen("train", text, *SMALL, "--epochs", 3, "-q", "-o", "first", JPY_PARENT_PID="1")
    assert "%" not in shown
    # the cell may be shown on a page that nbconvert made, where each state would remain
    shown = seen("train", text, *SMALL, "--epochs", 3, "-o", "once", JPY_PARENT_PID="1")
    assert (shown.count("%"), shown.count("100.0%  epoch 3/3")) == (1, 1), shown
    pairs = Path("some-pairs-of-words.tsv")
    pairs.write_text("".join(f"w{i}\tw{j}\t{i + j}\n" for i in range(5) for j in range(i)))
    shown = seen("eval", "once", "--similarity", pairs, JPY_PARENT_PID="1")
    assert "[1/1]" not in shown
    cell = {"JPY_PARENT_PID": "1", "JPY_SESSION_NAME": "a.ipynb"}
    shown = seen("train", text, *SMALL, "--epochs", 3, "--valid", text, "-o", "m", **cell)
    lines = [line.rpartition("\r")[2] for line in shown.split("\n")]  # what remains in the output
    assert len([line for line in lines if "%" in line]) == 1, shown
    assert not re.search("\x1b\\[[0-9]*[ABCDEFGH]", shown)  # no cursor moves there


# ---- 80 columns

ARGUMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "train": ((TEXT, "--model", "cbow-attn", *SMALL, "--epochs", "1", "--progress", "none", "-o", "new"),),
    "vocab": ((TEXT, "-o", "counts-of-the-words-of-this-text.tsv"),),
    "phrases": ((TEXT, "-o", "phrases-of-this-text.txt", "--min-count", "1"),),
    "eval": ((MODEL, "--similarity", "some-pairs-of-words.tsv"),
             (MODEL, "--similarity", "some-pairs-of-words.tsv", "--details")),
    "compare": ((MODEL, OTHER, "--similarity", "some-pairs-of-words.tsv"),),
    "nn": ((MODEL, "w1", LONG), (MODEL, f"w1 - {LONG} + w2"), (MODEL, "unheard-of")),
    "analogy": ((MODEL, "w1", "w2", LONG),),
    "recommend": ((MODEL, "--basket", f"w1,{LONG}"),),
    "attention": ((MODEL, f"w1 w2 {LONG} walking talking", "--target", "w2"),),
    "axis": ((MODEL, OTHER, "w1:w2", f"w3:{LONG}", "--words", "walking,talking,w4"),
             (MODEL, "--targets", "a", "b", "--attributes", "x", "y", "--random-lists", "39")),
    "change": ((MODEL, OTHER),),
    "align": ((MODEL, OTHER, "-o", "aligned.safetensors"),),
    "export": ((MODEL, "-o", "vectors-in-another-format.txt"),),
    "publish": ((MODEL, "--vectors", "input"),),
    "reembed": ((MODEL, TEXT, "-o", "reembedded.model"),),
    "embed": ((MODEL, TEXT, "-o", "sentence-vectors.npy"),),
    "search": ((MODEL, TEXT, "walking", "--method", "mean"),),
    "index": ((MODEL, "-o", "index-of-the-vectors"),),
    "report": ((MODEL, "-o", "report.html"),),
    "explore": ((MODEL, "-o", "words.html", "--method", "pca"),),
    "info": ((MODEL,), (MODEL, "--all"), (MODEL, "--check"), ()),
    "demo": (),  # above
}  # fmt: skip
"""Arguments with which each command is called; without arguments the usage would be wrong."""


@pytest.fixture
def inputs(text, command, monkeypatch):
    """Make what `ARGUMENTS` name: a text, two models, pairs and lists of words."""
    pytest.importorskip("rich")
    Path(TEXT).write_text(text.read_text().replace("w0", LONG))
    for seed, model in enumerate((MODEL, OTHER)):
        config = TrainConfig(model="cbow-attn", epochs=1, vector_size=8, min_count=1, workers=1, seed=seed)
        train(TEXT, config, output=model, progress=False)
    Path("some-pairs-of-words.tsv").write_text(
        "".join(f"w{i}\tw{j}\t{i + j}\n" for i in range(2, 7) for j in range(1, i))
    )
    for name, words in {"a": "w1 w2", "b": "w3 w4", "x": "w5 w6", "y": f"walking {LONG}"}.items():
        Path(name).write_text(words.replace(" ", "\n"))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_commands_print_fits_80_columns_and_breaks_no_word(name, inputs, command, monkeypatch):
    monkeypatch.setattr("wordvec_ca.cli.output.is_terminal", lambda stream: True)
    monkeypatch.setenv("NO_COLOR", "1")
    before = set(os.listdir())

    def shown(columns, arguments):
        monkeypatch.setenv("COLUMNS", str(columns))
        outcome = command(name, *arguments)
        assert outcome.code in (0, 1, 2), outcome.err
        for made in set(os.listdir()) - before:
            shutil.rmtree(made) if os.path.isdir(made) else os.unlink(made)
        found = plain(outcome.out + outcome.err)
        found = re.sub("No room in this terminal for: [^.]*\\.", "", found)
        return re.sub(r"[\d.,]+", "0", found).splitlines()  # times differ between two runs

    wrong = () if name == "demo" else (("--no-such-option",), ("a-file-that-is-missing",) * 3)
    for arguments in (*ARGUMENTS[name], *wrong):
        narrow, wide = shown(80, arguments), shown(400, arguments)
        for line in narrow:
            assert len(line) <= 80 or max(map(len, line.split())) > 60, line  # a path is not broken
        whole = {word for line in wide for word in line.split()}
        assert {word for line in narrow for word in line.split() if word.strip("-─")} <= whole, arguments


def test_every_command_is_among_them():
    assert set(ARGUMENTS) == set(COMMANDS)
