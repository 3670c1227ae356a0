"""An error keeps its meaning on its way through a command: a library's exception is not mistaken for ours."""

import bz2
import errno
import gzip
import io
import lzma
import struct
import sys
import zipfile
from pathlib import Path

import click
import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors, OutputExistsError, cli
from wordvec_ca.cli.output import write
from wordvec_ca.errors import Option, OptionError
from wordvec_ca.models.documents import _read_tags
from wordvec_ca.tables import CutOffError


class Panic(BaseException):
    """The kind of exception that a library in Rust raises for a fault of its own."""


REPORTED = "internal error, "
ERRORS: list[tuple[BaseException, int, str]] = [
    (DataError("the data are bad"), 1, "Error: the data are bad"),
    (CutOffError("the file ends"), 1, "Error: the file ends"),
    (EOFError("the stream ends"), 1, "the stream ends"),
    (OutputExistsError("it exists"), 2, "Error: it exists"),
    (OptionError("not ", Option("min_count", 3)), 2, "not --min-count 3"),
    (BrokenPipeError(errno.EPIPE, "Broken pipe", "a storage"), 1, "Error: 'a storage': Broken pipe"),
    (OSError(errno.ENOSPC, "No space left on device", "out"), 1, "Error: 'out': No space left on device"),
    (OSError("compressed data ended"), 1, "Error: compressed data ended"),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 1, "Error: 'utf-8' codec"),
    (MemoryError("4 TB"), 1, "Error: not enough memory (4 TB)"),
    (ModuleNotFoundError("No module named 'x'"), 1, "Error: No module named 'x'"),
    (StopIteration(), 1, REPORTED + "StopIteration"),
    (KeyError("word"), 1, REPORTED + "KeyError"),
    (struct.error("unpack"), 1, REPORTED + "error"),
    (zipfile.BadZipFile("File is not a zip file"), 1, REPORTED + "BadZipFile"),
    (lzma.LZMAError("Corrupt input data"), 1, REPORTED + "LZMAError"),
    (RecursionError("too deep"), 1, REPORTED + "RecursionError"),
    (Panic("a fault"), 1, REPORTED + "Panic"),
    (KeyboardInterrupt(), 130, "Interrupted."),
]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_error_of_each_command_is_reported_as_what_it_is(name, capsys, monkeypatch):
    command = cli.group.get_command(click.Context(cli.group), name)
    monkeypatch.setattr(command, "make_context", lambda *_, **__: click.Context(command, info_name=name))
    for error, code, told in ERRORS:

        def fail(error=error):
            raise error

        monkeypatch.setattr(command, "callback", cli._spelling_options(fail))
        with pytest.raises(SystemExit) as stop:
            cli.main([name])
        shown = capsys.readouterr().err
        assert (stop.value.code, told in shown, "Interrupted" in shown) == (code, True, code == 130), (
            f"{error!r}: {shown}"
        )


def read(name: str) -> list[tuple[str, ...]]:
    """Return the commands that read a file of vectors."""
    return [
        ("nn", name, "w1"),
        ("analogy", name, "w1", "w2", "w3"),
        ("align", name, name, "-o", "out.vec"),
        ("export", name, "-o", "out.kv", "--format", "gensim"),
        ("eval", name, "--similarity", "pairs.tsv"),
        ("compare", name, name, "--similarity", "pairs.tsv"),
        ("reembed", name, "text.txt", "-o", "out"),
        ("embed", name, "text.txt", "-o", "out.npy"),
        ("search", name, "text.txt", "w1"),
        ("index", name),
        ("explore", name, "-o", "out.html"),
        ("info", name),
    ]


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """Return files of vectors that end early, by name."""
    folder = tmp_path_factory.mktemp("cut")
    vectors = KeyedVectors([f"w{i}" for i in range(9)], np.random.default_rng(1).normal(size=(9, 5)))
    found = {}
    for form in ("word2vec", "word2vec-binary"):
        vectors.save(folder / "v", format=form)
        whole = (folder / "v").read_bytes()
        few = b"\n".join(whole.split(b"\n")[:8]) + b"\n" if form == "word2vec" else whole[:-30]
        found[form] = few
        found[f"{form}.gz"] = gzip.compress(few)  # the gzip file is whole, its content ends early
        found[f"{form}.cut.gz"] = gzip.compress(whole)[:-40]
        found[f"{form}.bz2"] = bz2.compress(few)
    return found


@pytest.mark.parametrize("place", range(len(read(""))))
def test_a_file_that_ends_early_is_no_ctrl_c(command, cut, place):
    Path("text.txt").write_text("w1 w2 w3\nw4 w5\n" * 5)
    Path("pairs.tsv").write_text("w1\tw2\t1\nw2\tw3\t2\nw3\tw4\t3\n")
    for name, content in cut.items():
        Path(name).write_bytes(content)
        done = command(*read(name)[place])
        assert (done.code, "Interrupted" in done.err) == (1, False)
        assert name in done.err
        if ".cut" in name:
            assert "data ends early" in done.err
        else:
            assert "promise" in done.err, done.err


def test_a_member_of_a_zip_may_have_a_name_that_no_file_system_has(command):
    with zipfile.ZipFile("v.zip", "w") as archive:
        archive.writestr("n" * 300 + ".txt", "2 2\nfoo 1 2\nbar 1 2.1\n")
    assert "bar" in command("nn", "v.zip", "foo").out


def test_nested_tags_are_refused_with_their_file(tmp_path):
    path = tmp_path / "documents.tags"
    path.write_text("[" * 100_000 + "]" * 100_000 + "\n")
    with pytest.raises(DataError, match=r"documents\.tags"):
        _read_tags(path, 1)


def test_an_encoding_of_the_output_that_lacks_a_character_is_named(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "latin-1"))
    with pytest.raises(DataError, match=r"latin-1.*PYTHONIOENCODING"):
        write("lód, łódź")
