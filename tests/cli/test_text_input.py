"""Text of every kind at the command line: encodings, tables, segmenters; a model cannot name code to run."""

import gzip
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

QUICK = ("-q", "--min-count", "1", "-d", "8", "--epochs", "1", "--workers", "1", "--model", "cbow-attn")

MODULE = """
from pathlib import Path

def halves(line):
    Path("it-ran").touch()
    return [word[i : i + 2] for word in line.split() for i in range(0, len(word), 2)]
"""


@pytest.fixture
def cawv(command, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return command


def config(model: str) -> dict[str, Any]:
    found = json.loads(Path(model, "config.json").read_text())
    return dict(found["config"])


def test_encoding_and_its_warning(cawv):
    Path("c.txt").write_bytes("grüne Bäume überall\n".encode("cp1252") * 500)
    assert "--encoding cp1252" in cawv("train", "c.txt", *QUICK, "-o", "m").err
    assert not Path("m").exists()
    assert cawv("train", "c.txt", *QUICK, "-o", "m", "--encoding", "windows-1252").code == 0
    assert config("m")["encoding"] == "windows-1252"
    assert cawv("train", "c.txt", *QUICK, "-o", "n", "--encoding", "klingon").code == 2
    Path("d.txt").write_bytes(b"one two three\n" * 999 + b"caf\xe9\n")
    assert "1 sequences" in cawv("train", "d.txt", *QUICK, "-o", "n").err


def test_several_fields_are_kept_in_model_and_settings(cawv):
    Path("c.csv").write_text("title,text,n\n" + "red apple,on a tree,1\n" * 50)
    assert cawv("train", "c.csv", *QUICK, "-o", "m", "--field", "title", "--field", "text").code == 0
    assert config("m")["field"] == ["title", "text"]
    assert tomllib.loads(Path("m/run.toml").read_text())["field"] == ["title", "text"]
    assert cawv("train", "--config", "m/run.toml", "-o", "n").code == 0
    assert Path("m/vectors.kv.vectors.npy").read_bytes() == Path("n/vectors.kv.vectors.npy").read_bytes()
    assert cawv("vocab", "c.csv", "--field", "text", "-o", "v.tsv").code == 0
    assert "tree\t50" in Path("v.tsv").read_text()


def test_a_function_of_the_user_runs_only_when_the_user_names_it(cawv, monkeypatch):
    Path("own_splitter.py").write_text(MODULE)
    Path("c.txt").write_text("abcd efgh\n" * 50)
    name = "own_splitter:halves"
    assert cawv("train", "c.txt", *QUICK, "-o", "m", "--tokenizer", name).code == 0
    assert config("m")["tokenizer"] == name
    assert Path("m/vocab.tsv").read_text().startswith("ab\t50\ncd\t50\nef\t50\n")
    commands = [
        ("attention", "m", "abcd", "--target", "cd"),
        ("embed", "m", "c.txt", "-o", "e.npy"),
        ("reembed", "m", "c.txt", "-o", "r"),
        ("train", "--config", "m/run.toml", "-o", "n"),
        ("train", "c.txt", "--continue-from", "m", "-o", "o"),
    ]
    Path("it-ran").unlink()
    for command in commands:
        refused = cawv(*command)
        assert refused.code == 1
        assert f"--tokenizer {name}" in refused.err
    assert not Path("it-ran").exists()
    for command in commands:
        assert cawv(*command, "--tokenizer", name).code == 0, command
    monkeypatch.setenv("CAWV_TOKENIZER", name)
    assert cawv(*commands[0]).code == 0


def test_the_choice_of_segmenters_is_named(cawv):
    Path("c.txt").write_text("您可以查看页面的历史记录和讨论。\n" * 50)
    told = cawv("train", "c.txt", *QUICK, "-o", "m").err
    assert "100% Chinese or Japanese without spaces" in told
    assert re.search(r"--tokenizer icu( \(pip install icu4py\))?, or jieba for Chinese, segments it", told)
    assert cawv("train", "c.txt", *QUICK, "-o", "m", "--tokenizer", "mecab").code == 2
    pytest.importorskip("icu4py")
    assert cawv("train", "c.txt", *QUICK, "-o", "m", "--tokenizer", "icu").code == 0
    assert "历史" in cawv("attention", "m", "您可以查看页面的历史记录", "--target", "查看").out


def test_encodings_and_nested_fields_wherever_text_is_read(command):
    lines = ["the cat sat on the mat", "a dog ate the cat", "dogs and cats"] * 20
    Path("utf16.txt").write_bytes("\n".join(lines).encode("utf-16"))
    Path("r.jsonl").write_text("".join(json.dumps({"meta": {"text": line}}) + "\n" for line in lines))
    Path("plain.txt").write_text("\n".join(lines) + "\n")
    small = ("--vector-size", "8", "--epochs", "1", "--min-count", "1", "--workers", "1", "-q")
    assert command("train", "plain.txt", *small, "-o", "m").code == 0
    for name, how in (("utf16.txt", ("--encoding", "utf-16")), ("r.jsonl", ("--field", "meta.text"))):
        assert command("train", name, *how, *small, "-o", "other").code == 0
        assert (
            Path("other/vectors.kv.vectors.npy").read_bytes() == Path("m/vectors.kv.vectors.npy").read_bytes()
        )
        assert command("embed", "m", name, *how, "-o", f"{name}.npy", "-q").code == 0
        assert command("embed", "m", "plain.txt", "-o", "plain.npy", "-q", "--overwrite").code == 0
        assert Path(f"{name}.npy").read_bytes() == Path("plain.npy").read_bytes()
        assert command("reembed", "m", name, *how, "-o", f"{name}.model", "-q").code == 0
        found = command("search", "m", name, *how, "a dog ate", "-n", "1", "-q").out
        assert found == command("search", "m", "plain.txt", "a dog ate", "-n", "1", "-q").out
        shutil.rmtree("other")


def test_a_malformed_record_is_named_by_its_line_even_when_quiet(command):
    Path("r.jsonl").write_text('{"text": "a b c"}\n{"text": "two\\nlines"}\n{bad\n{"text": "d e f"}\n')
    command("vocab", "r.jsonl", "--field", "text", "--min-count", "1", "-o", "v.tsv", "-q").says(
        0, "1 of 4 records left out as malformed; the first: line 3 cannot be used"
    )


def test_outputs_are_compressed_as_their_names_say(command):
    Path("c.txt").write_text("new york is big\n" * 50)
    assert command("vocab", "c.txt", "-o", "v.tsv.gz", "-q").code == 0
    assert gzip.decompress(Path("v.tsv.gz").read_bytes()).startswith(b"big\t50")
    small = ("--vector-size", "8", "--epochs", "1", "-q")
    assert command("train", "c.txt", "--read-vocab", "v.tsv.gz", *small, "-o", "m").code == 0
    command("phrases", "c.txt", "-o", "p.tsv.gz", "-q", "--threshold", "0", "--min-count", "1").says(0)
    assert gzip.decompress(Path("p.tsv.gz").read_bytes())
    assert command("train", "c.txt", "--phrases", "p.tsv.gz", *small, "-o", "p").code == 0


@pytest.fixture
def pipe(tmp_path):
    """Return a function that makes a pipe of a name, into which somebody writes a text once."""
    writers: list[subprocess.Popen[bytes]] = []

    def make(name, text):
        os.mkfifo(tmp_path / name)
        (tmp_path / f"{name}.text").write_text(text)
        writers.append(subprocess.Popen(f"exec cat {name}.text > {name}", shell=True, cwd=tmp_path))
        return name

    yield make
    for writer in writers:
        writer.kill()
        writer.wait()


TEXT = "the cat sat on the mat\n" * 50
SMALL = ("--min-count", 1, "--size", 4, "--epochs", 2, "--workers", 1)


def test_a_pipe_is_read_once_as_standard_input_is(command, pipe):
    assert command("train", pipe("a", TEXT), *SMALL, "-q", "-o", "m").code == 0
    assert "corpus =" not in Path("m/run.toml").read_text()
    assert command("vocab", pipe("b", TEXT), "-o", "v.tsv").code == 0
    assert "the\t100" in Path("v.tsv").read_text()
    for given in (
        ("train", pipe("c", TEXT), *SMALL, "--no-cache", "-o", "n"),
        ("phrases", pipe("d", TEXT), "-o", "p.tsv"),
        ("train", "m/vocab.tsv", *SMALL, "--phrases", pipe("e", "the cat\n"), "-o", "n"),
        ("train", "m/vocab.tsv", *SMALL, "--read-vocab", pipe("f", "the\t9\n"), "-o", "n"),
        ("nn", pipe("g", "the 1 2\ncat 2 1\n"), "the"),
        ("search", "m", pipe("h", TEXT), "cat"),
        ("embed", "m", pipe("i", TEXT), "-o", "e.npy"),
        ("change", pipe("j", TEXT), "m/vocab.tsv"),
    ):
        done = command(*given)
        assert done.code in (1, 2), done.err
        assert re.search("once|twice", done.err), done.err
