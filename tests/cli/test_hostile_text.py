"""Texts, models and names from others cannot control the terminal or damage JSON and files."""

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import KeyedVectors
from wordvec_ca.cli import COMMANDS

ACTING = [
    *map(chr, [*range(1, 0x20), *range(0x7F, 0xA0)]),
    *map(chr, [0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]),
    *map(chr, [0xAD, 0x180E, 0x200B, 0x2060, 0xFEFF, 0xE0041, 0x2028, 0x2029]),
]
"""Every control character except NUL, which arguments and names cannot hold, and characters that turn or hide
text."""

RAW = re.compile("[" + re.escape("".join(set(ACTING) - {"\n", "\t"})) + "]")
WORDS = [f"x{character}y" for character in ACTING]
IN_TEXT = [word for word in WORDS if len(word.split()) == 1]
"""The words that the tokeniser at white space does not split."""


@pytest.fixture
def hostile(command):
    """Return a working directory full of control characters: texts, models, sets for evaluation."""
    here = Path.cwd()
    lines = [" ".join(IN_TEXT[i:] + IN_TEXT[:i]) for i in range(len(IN_TEXT))] * 3
    (here / "c.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ("--tokenizer", "whitespace", "--epochs", "1", "-d", "4", "--workers", "1", "--min-count", "1")
    options += ("--vectors", "input")  # each line has all words, and the mean of centred vectors is zero
    for model in ("cbow-attn", "cbow"):
        assert command("train", "c.txt", *options, "--model", model, "-o", model).code == 0
    rng = np.random.default_rng(1)
    KeyedVectors(WORDS, rng.normal(size=(len(WORDS), 4)).astype("f4"), range(len(WORDS), 0, -1)).save("v.kv")
    record = json.loads((here / "cbow/config.json").read_text())
    record.update({word: [word, {word: word}] for word in WORDS})
    record["command"] = "".join(WORDS)
    (here / "cbow/config.json").write_text(json.dumps(record))
    (here / "cbow/SHA256SUMS").unlink()
    pairs = [f"{a}\t{b}\t{i % 5}" for i, (a, b) in enumerate(itertools.pairwise(IN_TEXT))]
    (here / "pairs\x1b[31m\u202e.tsv").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    return here


def lines_of(command, *arguments: object, stdin: str | None = None) -> list[str]:
    """Run a command, check that nothing raw comes out, and return the lines of its standard output."""
    outcome = command(*arguments, stdin=stdin)
    assert not RAW.search(outcome.out), (arguments, RAW.findall(outcome.out))
    assert not RAW.search(outcome.err), (arguments, RAW.findall(outcome.err))
    return outcome.out.split("\n")[:-1]


NAME = "no\x1b]0;title\x07\x9b31m\u202e\u200b\nforged"
"""A name that exists for no command, neither as a file nor as an option."""


def test_no_command_prints_a_control_character_raw(command, hostile):
    for name in WORDS:
        assert len(lines_of(command, "nn", "v.kv", name, "-n", 3)) == 6
        assert len(lines_of(command, "analogy", "v.kv", name, WORDS[0], WORDS[1], "-n", 3)) == 6
    n = len(WORDS)
    assert len(lines_of(command, "nn", "v.kv", WORDS[0], "-n", n)) == n + 2
    for line in lines_of(command, "nn", "v.kv", *WORDS, "--json"):
        assert json.loads(line)["word"] in WORDS
    assert json.loads("\n".join(lines_of(command, "analogy", "v.kv", *WORDS[:3], "-n", n, "--json")))
    for query in IN_TEXT:
        search = ("search", "cbow", "c.txt", query, "-n", 3, "--tokenizer", "whitespace")
        assert len(lines_of(command, *search)) == 3
        assert len(json.loads(lines_of(command, *search, "--json")[0])["hits"]) == 3
    sentence = " ".join(IN_TEXT)
    place = str(len(IN_TEXT) // 2)
    lines_of(command, "attention", "cbow-attn", sentence, "--target", place)
    lines_of(command, "attention", "cbow-attn", sentence, "--target", place, "--json")
    lines_of(command, "attention", "cbow-attn", sentence, "--target", "none\x1b")
    lines_of(command, "index", "v.kv", "-o", "i\x1b", "--json")
    for arguments in (
        ["info", "cbow"],
        ["info", "cbow", "--json"],
        ["info"],
        ["report", "cbow-attn"],
        ["report", "cbow-attn", "-o", "-"],
        ["vocab", "c.txt", "-o", "o\x1b.tsv", "--json"],
        ["phrases", "c.txt", "-o", "p\u202e.tsv", "--threshold", "0", "--tokenizer", "whitespace"],
        ["export", "v.kv", "-o", "e\x9b.safetensors"],
        ["reembed", "cbow", "c.txt", "-o", "r\x1b"],
        ["embed", "cbow", "c.txt", "-o", "e\x1b.npy"],
        ["train", "c.txt", "-o", "m\x1b[2J", "--epochs", "1", "-d", "4"],
        ["train", "c.txt", "--dry-run"],
        ["--completion", "bash"],
        ["eval", "v.kv", "--similarity", "pairs\x1b[31m\u202e.tsv"],
        ["eval", "v.kv", "--similarity", "pairs\x1b[31m\u202e.tsv", "--json", "--items"],
        ["eval", "v.kv", "--similarity", "none\x1b[31m\u202e.tsv"],
        ["compare", "v.kv", "cbow", "--similarity", "pairs\x1b[31m\u202e.tsv"],
    ):
        lines_of(command, *arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_messages_about_names_and_options_are_not_raw(command, vectors_of, name):
    vectors_of(["a", "b"])
    for arguments in (
        [NAME],
        [f"--{NAME}"],
        [NAME, NAME, NAME, "-o", NAME],
        ["v.safetensors", NAME, NAME, NAME],
    ):
        outcome = command(name, *arguments)
        assert outcome.code in (0, 1, 2)
        assert not RAW.search(outcome.out + outcome.err), arguments
        assert not re.search("^forged", outcome.err, re.M), outcome.err


def test_words_of_any_length_stay_in_their_line(command, vectors_of):
    words = ["a", "b" * 1_000_000, "\x1b" * 100_000, "e" + "\u0301" * 100_000, "宽" * 10_000]
    path = vectors_of(words)
    outcome = command("nn", path, "a", "-n", 4).says(0)
    assert len(outcome.out.splitlines()) == 7
    assert max(map(len, outcome.out.splitlines())) < 500
    assert [entry["word"] for entry in command("nn", path, "a", "-n", 4, "--json").json["neighbours"]]
    outcome = command("nn", path, "c" * 100_000).says(1)
    assert len(outcome.err) < 1_000


def test_report_does_not_follow_a_link_in_the_model(command, hostile):
    precious = hostile / "precious"
    precious.write_text("mine")
    (hostile / "cbow-attn/report.html").symlink_to(precious)
    assert command("report", "cbow-attn").code == 0
    assert precious.read_text() == "mine"
    assert not (hostile / "cbow-attn/report.html").is_symlink()
    assert "<html" in (hostile / "cbow-attn/report.html").read_text()
    (hostile / "cbow-attn/report.html").unlink()
    (hostile / "cbow-attn/report.html").symlink_to(hostile / "not-yet")
    assert command("report", "cbow-attn").code == 0
    assert not (hostile / "not-yet").exists()


def test_gensim_index_does_not_follow_a_link_in_the_model(command, hostile):
    pytest.importorskip("gensim")
    precious = hostile / "precious"
    precious.write_text("mine")
    index = hostile / "cbow-attn/vectors.kv"
    index.unlink()
    index.symlink_to(precious)
    command("export", "cbow-attn", "--format", "gensim", "--overwrite")
    assert precious.read_text() == "mine"


def test_resuming_does_not_follow_links_in_the_folder_of_a_run(command, tmp_path):
    from wordvec_ca.files import atomic_file

    precious, link = tmp_path / "precious", tmp_path / "000002.checkpoint"
    precious.write_text("mine")
    link.symlink_to(precious)
    with atomic_file(link, follow_links=False) as file:
        file.write(b"new")
    assert (precious.read_text(), link.read_bytes(), link.is_symlink()) == ("mine", b"new", False)
    link.unlink()
    link.symlink_to("/dev/null")
    with atomic_file(link, follow_links=False) as file:
        file.write(b"new")
    assert link.read_bytes() == b"new"
    with atomic_file(precious) as file:
        file.write(b"followed as before")


def test_a_terminal_gets_no_escapes_but_our_own(hostile):
    done = subprocess.run(
        [sys.executable, "-m", "wordvec_ca", "search", "cbow", "c.txt", IN_TEXT[27], "-n", "5"],
        capture_output=True, text=True, env={**os.environ, "TERM": "xterm", "FORCE_COLOR": "1"}, check=True,
    )  # fmt: skip
    assert not RAW.search(done.stdout + done.stderr)
