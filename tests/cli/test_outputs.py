"""No command replaces its input, or a model that somebody trained; damaged models are noticed."""

from pathlib import Path

import pytest

from wordvec_ca import DataError

SMALL = ("--vector-size", "8", "--epochs", "1", "--min-count", "1", "--quiet")


@pytest.fixture
def text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("c.txt")
    path.write_text("".join(f"w{i % 7} w{i % 5} w{i % 3} walking talking\n" for i in range(300)))
    return path


def contents(folder: str = ".") -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_no_output_is_or_lies_in_what_is_read(command, text):
    assert command("train", text, *SMALL, "-o", "m").code == 0
    assert command("vocab", text, "-o", "v.tsv", "-q").code == 0
    Path("other").write_text("a b c\n" * 50)
    before = contents()
    for line in (
        ("reembed", "m", text, "-o", "m", "--overwrite"),
        ("reembed", "m", text, "-o", "m/inside"),
        ("reembed", "m", text, "-o", text, "--overwrite"),
        ("report", "m", "-o", "m/vocab.tsv", "--overwrite"),
        ("report", "m", "-o", "m/other.html"),
        ("vocab", text, "-o", text, "--overwrite"),
        ("vocab", ".", "-o", "new.tsv"),
        ("phrases", "c.*", "-o", text, "--overwrite"),
        ("embed", "m", text, "-o", "m/config.json", "--overwrite"),
        ("embed", "m", text, "-o", "e.npy", "--save-fit", "m"),
        ("embed", "m", text, "-o", "e.npy", "--counts", "v.tsv", "--save-fit", "v.tsv"),
        ("export", "m", "-o", "m/vocab.tsv", "--format", "glove", "--overwrite"),
        ("index", "m", "-o", "m"),
        ("search", "m", text, "w1", "--index", "m"),
        ("embed", "m", "other", "--fit", text, "-o", text, "--overwrite"),
        ("train", text, *SMALL, "--save-vocab", text, "-o", "another", "--overwrite"),
        ("train", "other", *SMALL, "--valid", text, "--save-vocab", text, "-o", "another", "--overwrite"),
        ("export", "m", "-f", "gensim", "-o", "m/vectors.kv", "--max-words", "3", "--overwrite"),
    ):
        outcome = command(*line).says(2)
        assert "is part of what is read" in outcome.err, line
        assert contents() == before, line
    assert command("report", "m").code == 0
    assert command("report", "m", "-o", "m/report.html", "--overwrite").code == 0


def test_a_folder_in_place_of_a_file_is_not_to_be_overwritten(command, text):
    Path("mine").mkdir()
    for line in (("vocab", text, "-o", "mine"), ("train", text, *SMALL, "--save-vocab", "mine")):
        assert "--overwrite to" not in command(*line).says(2, "is a directory").err, line


DEMO = ("demo", "--max-words", "2000", "--epochs", "1", "-o")


def test_the_demo_replaces_only_what_it_made(command, text):
    assert command("train", text, *SMALL, "-o", "m").code == 0
    before = contents("m")
    command(*DEMO, "m").says(2, "--overwrite")
    assert contents("m") == before
    assert command(*DEMO, "d").code == 0
    assert command(*DEMO, "d").code == 0
    assert command(*DEMO, "m", "--overwrite").code == 0


def test_a_picture_and_a_fit_do_not_replace_other_files(command, text):
    assert command("train", text, *SMALL, "--model", "cbow-attn", "-o", "m").code == 0
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("notes")
    command("embed", "m", text, "-o", "e.npy", "--save-fit", "mine", "-q", "--overwrite").says(1, "notes.txt")
    assert not Path("e.npy").exists(), "the fit is refused before the work"
    for _ in range(2):
        assert command("embed", "m", text, "-o", "e.npy", "--save-fit", "fit", "-q", "--overwrite").code == 0
    Path("fit/.sentences.json.partial").mkdir()  # as a killed process leaves it
    Path("fit/.sentences.json.0123abcd.tmp").write_text("a process was killed")
    assert command("embed", "m", text, "-o", "e.npy", "--save-fit", "fit", "-q", "--overwrite").code == 0
    assert not list(Path("fit").glob(".*")), "what is left of it is cleared"
    look = ("attention", "m", "w1 w2 w3", "--target", "w2", "--plot", "p.png")
    assert command(*look).code == 0
    assert command(*look).code == 2
    assert command(*look, "--overwrite").code == 0


def test_a_page_or_picture_that_fails_takes_nothing_with_it(command, text, monkeypatch):
    def fail(*_):
        raise KeyError("drawing")

    def refuse(*_):
        raise DataError("no page")

    assert command("train", text, *SMALL, "--model", "cbow-attn", "-o", "m").code == 0
    monkeypatch.setattr("wordvec_ca.cli.attention._picture", fail)
    outcome = command("attention", "m", "w1 w2 w3", "--target", "w2", "--plot", "p.png").says(1, "p.png")
    assert "w3" in outcome.out
    monkeypatch.setattr("wordvec_ca.report.explorer.page._page", refuse)
    command("explore", "m", "--method", "pca").says(1, "of the 20 nearest")
    monkeypatch.setattr("wordvec_ca.report.explorer.page._page", fail)
    assert "next:" in command(*DEMO, "d").says(1, "words.html").out


def flip(name: str, place: int = -3) -> None:
    data = bytearray(Path(name).read_bytes())
    data[place] ^= 64
    Path(name).write_bytes(data)


def test_flipped_bytes_are_noticed(command, text):
    assert command("train", text, *SMALL, "--subwords", "--ngram-min-count", "1", "-o", "m").code == 0
    assert command("info", "m", "--check").code == 0
    names = [line.split()[1] for line in command("info", "m", "--check").out.splitlines()]
    assert {"vectors.kv.vectors.npy", "outputs.npy", "ngrams.npy", "ngrams.tsv", "vocab.tsv"} <= set(names)
    for name in names:
        flip(f"m/{name}")
        outcome = command("info", "m", "--check").says(1)
        assert f"changed  {name}" in outcome.out
        if name not in ("run.toml", "vectors.kv"):
            outcome = command("train", text, *SMALL, "--continue-from", "m", "-o", "more").says(1, name)
            assert "alpha" not in outcome.err
        flip(f"m/{name}")
    assert command("info", "m", "--check").code == 0


@pytest.mark.parametrize("old", [False, True])
def test_a_model_without_its_ngrams_is_refused(command, text, old):
    assert command("train", text, *SMALL, "--subwords", "--ngram-min-count", "1", "-o", "m").code == 0
    Path("m/ngrams.tsv").write_bytes(b"")
    if old:
        Path("m/SHA256SUMS").unlink()
    for line in (
        ("info", "m"),
        ("embed", "m", text, "-o", "e.npy"),
        ("export", "m", "-o", "m.bin"),
        ("train", text, *SMALL, "--continue-from", "m", "-o", "more"),
    ):
        command(*line).says(1, "ngrams.tsv")
