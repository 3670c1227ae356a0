"""Each command that writes, with a limit on the size of files in place of a full disk."""

import contextlib
import os
import random
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from wordvec_ca.cli import main

resource = pytest.importorskip("resource", reason="Windows has no limit of file sizes")

LITTLE = ("--min-count", "1", "--size", "8", "--epochs", "1", "--workers", "1")
TRAIN = ("train", "c.txt", *LITTLE, "-o", "new")
SHORT = ("--method", "sif", "--quiet")
CHANGE = ("change", "c.txt", "d.txt", *LITTLE[2:6], "--permutations", "20", "--repeats", "1", "--quiet")
AXIS = ("axis", "m", "w1:w2", "w3:w4", "--words", "w5,w6")
ATTENTION = ("attention", "m", "w1 w2 w3", "--target", "w2")


COMMANDS = {
    "train": (*TRAIN, "--overwrite"),
    "train-resamples": (*TRAIN, "--overwrite", "--resamples", "2"),
    "train-save-vocab": (*TRAIN, "--overwrite", "--save-vocab", "v.tsv"),
    "train-cache": (*TRAIN, "--overwrite", "--keep-cache", "--cache-dir", "k"),
    "vocab": ("vocab", "c.txt", "-o", "v.tsv", "--overwrite"),
    "phrases": ("phrases", "c.txt", "-o", "p.tsv", "--threshold", "1e-9", "--min-count", "1", "--overwrite"),
    "reembed": ("reembed", "m", "d.txt", "-o", "again", "--max-iter", "2", "--overwrite"),
    "reembed-counts": ("reembed", "m", "d.txt", "-o", "c.npz", "--counts-only", "--overwrite"),
    "publish": ("publish", "m", "-o", "p", "--vectors", "input", "--overwrite"),
    "publish-in-place": ("publish", "own", "--vectors", "input"),
    "embed": ("embed", "m", "d.txt", "-o", "e.npy", *SHORT, "--overwrite"),
    "embed-fit": ("embed", "m", "d.txt", "-o", "e.npy", "--save-fit", "fit", *SHORT, "--overwrite"),
    "search": ("search", "m", "d.txt", "w1 w2", *SHORT, "--rebuild"),
    "align": ("align", "m", "n", "-o", "a.safetensors", "--overwrite"),
    "index": ("index", "m", "--queries", "1"),
    "explore": ("explore", "m", "-o", "x.html", "--overwrite", "--method", "pca", "--words", "30"),
    "report": ("report", "m", "-o", "r.html", "--overwrite"),
    "change": (*CHANGE, "-o", "c.tsv", "--overwrite"),
    "change-all": (*CHANGE, "-o", "c.tsv", "--plot", "c.svg", "--page", "c.html", "--overwrite"),
    "change-page": (*CHANGE, "--page", "c.html", "--overwrite"),
    "change-plot": (*CHANGE, "--plot", "c.svg", "--overwrite"),
    "axis-plot": (*AXIS, "--plot", "a.svg", "--overwrite"),
    "attention-plot": (*ATTENTION, "--plot", "a.png", "--overwrite"),
    **{
        f"export-{form}": ("export", "m", "-o", f"out.{form}", "--format", form, "--overwrite")
        for form in ("word2vec", "word2vec-binary", "glove", "gensim", "safetensors", "projector")
    },
    "export-huggingface": ("export", "m", "-o", "out", "--format", "huggingface", "--overwrite"),
}
NOT_AGAIN = {"train-cache": "k"}
"""Files that a command does not write again when it is run again."""
LIBRARIES = {"attention-plot": "matplotlib"}


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Return a folder of texts and small models."""
    folder = tmp_path_factory.mktemp("given")
    rng = random.Random(1)
    words = [f"w{i}" for i in range(120)]
    lines = [" ".join(rng.choices(words, k=12)) + "\n" for _ in range(300)]
    (folder / "c.txt").write_text("".join(lines))
    (folder / "d.txt").write_text("".join(reversed(lines[:200])))
    (folder / "pairs.tsv").write_text(
        "".join(f"w{i}\tw{j}\t{i * j % 17}\n" for i in range(9) for j in range(i))
    )
    for name, seed in (("m", "1"), ("n", "2"), ("own", "3")):
        model = ("--model", "cbow-attn", "--seed", seed, "-o", str(folder / name), "--quiet")
        with pytest.raises(SystemExit) as end:
            main(["train", str(folder / "c.txt"), *LITTLE, *model])
        assert not end.value.code
    # numba keeps what it compiles in a file, which a limit would prevent in the first test that explores
    with pytest.raises(SystemExit):
        main(["explore", str(folder / "m"), "-o", str(folder / "x.html"), "--method", "pca", "--no-cache"])
    (folder / "x.html").unlink()
    return folder


@contextmanager
def file_limit(n_bytes: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return all files below a folder, hidden ones too, with their contents."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def run(given, tmp_path, capsys, monkeypatch):
    """Return a function that runs a command in this process, in a copy of the folder, under a limit."""
    shutil.copytree(given, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here" / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "here" / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    # capsys, not capfd: the limit would apply to the files of capfd too
    def run(arguments, limit=resource.RLIM_INFINITY):
        capsys.readouterr()
        with warnings.catch_warnings(), file_limit(limit), pytest.raises(SystemExit) as end:
            main(list(arguments))
        return int(end.value.code or 0), capsys.readouterr().err

    return run


def check_failed(code: int, said: str, names: set[str]) -> None:
    """Check that a command says which of its files it could not write, and what to do."""
    assert code == 1, said
    assert "Traceback" not in said
    assert "internal error" not in said
    assert "ulimit -f" in said
    assert any(name in said for name in names), (names, said)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_cannot_be_written_is_an_error_and_leaves_what_was_there(run, name):
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    arguments, here = COMMANDS[name], Path.cwd()
    before = tree(here)
    first = run(arguments, 40)
    assert tree(here) == before
    code, said = run(arguments)  # no file that the failure has left prevents this
    assert code == 0, said
    after = tree(here)
    new = {file: len(content) for file, content in after.items() if content and before.get(file) != content}
    names = {part for file in new for part in Path(file).parts} | {"here/tmp"}
    check_failed(*first, names)
    again = [size for file, size in new.items() if Path(file).parts[0] != NOT_AGAIN.get(name)]
    for limit in (40, max(again) * 3 // 4):  # so that the first file fails, or the largest one
        check_failed(*run(arguments, limit), names)
        assert tree(here) == after
    code, said = run(arguments)
    assert code == 0, said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(
    "name", ["vocab", "phrases", "report", "change-page", "axis-plot", "export-word2vec"]
)
def test_a_device_that_is_full_is_named(run, name):
    given = COMMANDS[name]
    output = next(i for i, word in enumerate(given) if word in ("-o", "--page", "--plot"))
    code, said = run((*given[: output + 1], "/dev/full", *given[output + 2 :]))
    assert code == 1
    assert "/dev/full" in said
    assert "No space left on device" in said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [("nn", "m", "w1"), ("nn", "m", "w1", "--json"), ("info", "m")])
def test_standard_output_that_is_full_is_named(run, arguments, monkeypatch):
    full = open("/dev/full", "w")  # noqa: SIM115  # closing it fails, as it has text left
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        code, said = run(arguments)
    with contextlib.suppress(OSError):
        full.close()
    assert code == 1
    assert "'standard output': No space left on device; make room on the disk" in said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_eval_goes_on_when_a_result_cannot_be_written(run, monkeypatch):
    files = ("--similarity", "pairs.tsv", "--similarity", "again.tsv")
    shutil.copy("pairs.tsv", "again.tsv")
    full = open("/dev/full", "w")  # noqa: SIM115  # closing it fails, as it has text left
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        code, said = run(("eval", "m", *files, "--no-runs", "--quiet"))
    with contextlib.suppress(OSError):
        full.close()
    assert code == 1
    assert "make room on the disk" in said
    assert {"pairs:", "again:"} <= set(said.split())


def test_the_name_of_standard_output_makes_no_file(run):
    before = tree(Path.cwd())
    code, said = run(("export", "m", "-o", "-", "--format", "word2vec"))
    assert code == 2
    assert "'-' names no file here" in said
    assert tree(Path.cwd()) == before
