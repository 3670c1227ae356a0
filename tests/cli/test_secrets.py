"""No command writes or prints secrets of a source: user, password, signature, token."""

import importlib.util
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guarded_text import PASSWORD, TOKEN, check_no_secret, guarded_text

from wordvec_ca import DataError, TrainConfig, train
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.runs import RunRequest, run_request

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")


@pytest.fixture
def url(monkeypatch):
    monkeypatch.setattr("wordvec_ca.text.remote.FIRST_PATIENCE", 0.2)
    monkeypatch.setattr("wordvec_ca.text.remote.PATIENCE", 0.2)
    with guarded_text() as url:
        yield url


def recorded(command: Any) -> tuple[Callable[..., None], list[str]]:
    """Return a function that runs a command and checks its exit code, and the list of all its output."""
    said: list[str] = []

    def run(*arguments: object, code: int = 0) -> None:
        done = command(*arguments)
        assert done.code == code, done.err
        said.extend((done.out, done.err))

    return run, said


def test_no_command_writes_or_prints_a_secret(command, url, tmp_path):
    run, said = recorded(command)
    small = ("--min-count", 1, "--size", 8, "--epochs", 1, "--workers", 1)
    run("train", url, *small, "-o", "m", "--valid", url, "--keep-cache", "--model", "cbow-attn")
    more = ("--overwrite", "--keep-cache", "--model", "cbow-attn", "--resamples", 2)
    run("train", url, *small, "-o", "m", *more)
    run("train", url, *small, "--no-cache", "--log-json", "log.jsonl")  # the model is named after the text
    run("train", url, *small, "--dry-run")
    assert Path("t.txt.cbow").is_dir() or Path("t.cbow").is_dir()
    run("vocab", url, "-o", "v.tsv")
    run("phrases", url, "--threshold", 0.1, "--min-count", 1, "-o", "p.tsv")
    run("embed", "m", url, "-o", "e.npy", "--save-fit", "fit")
    run("reembed", "m", url, "-o", "again")
    for more in ([], ["--all"], ["--json"]):
        run("info", "m", *more)
    run("nn", "m", "cat")
    run("report", "m", "-o", "r.html")
    run("explore", "m", "-o", "x.html", "--method", "pca")  # compiling t-SNE takes 16 s; the page is the same
    for form in ("safetensors", "word2vec", "huggingface", "model2vec", "sentence-transformers", "projector"):
        run("export", "m", "--format", form, "-o", f"out.{form}")
    run("info", "out.safetensors", "--all")
    for bad in (url.replace("t.txt", "missing"), url.replace("127.0.0.1", "no-such-host.invalid")):
        for name in ("train", "vocab", "phrases"):
            run(name, bad, "-o", "none", code=1)
        run("embed", "m", bad, url, "-o", "e2.npy", "--overwrite", code=1)
        run("reembed", "m", bad, "-o", "none", code=1)
        run("nn", bad, "cat", code=2)
    run("train", url, "--field", "text", "-o", "none", code=1)
    run("train", f"s3://AKIAKEY:{PASSWORD}@bucket/{TOKEN}?x=1", "-o", "none2", "--model", "typo", code=2)
    run("train", f"nosuch://u:{PASSWORD}@h/x", "-o", "none", code=1)
    check_no_secret(tmp_path, *said)


def test_commands_that_read_a_text_or_a_model_show_no_secret(command, url, tmp_path, monkeypatch):
    """Search, change, eval, compare, axis, association, align, index, attention and check."""
    monkeypatch.setenv("CAWV_DATA", "")
    run, said = recorded(command)
    small = ("--min-count", 1, "--size", 8, "--epochs", 1, "--workers", 1)
    run("train", url, *small, "-o", "m", "--model", "cbow-attn")
    run("train", url, *small, "-o", "m2", "--model", "cbow-attn", "--seed", 2)
    missing = url.replace("t.txt", "missing")
    unknown = url.replace(url[url.rindex(":") : url.index("/t.txt")], ":1")  # no server uses this port

    for text in (url, missing):  # an index needs the text's file, which may have changed
        run("search", "m", text, "cat", code=2)
    page, plot = ("--page", "c.html"), ("--plot", "c.svg")
    few = ("--permutations", 20, "--repeats", 1, "--size", 8, "--epochs", 1, "--least", 1)
    run("change", url, url.replace("t.txt", "u.txt"), *few, "-o", "c.tsv", *page, *plot, "--json")
    run("change", "m", "m2", "-o", "d.tsv", "--page", "d.html")
    Path("pairs.tsv").write_text("".join(f"w{i}\tw{j}\t{i * j}\n" for i in range(7) for j in range(i)))
    for model in ("m", "m2"):
        run("eval", model, "--similarity", "pairs.tsv", "--no-runs", "--json", "--items")
        Path(f"{model}.json").write_text(said[-2])
    run("eval", "m", "--similarity", "pairs.tsv", "--details", "--controls")
    run("compare", "m", "m2", "--similarity", "pairs.tsv", "--json")
    run("compare", "m.json", "m2.json")
    run("align", "m", "m2", "-o", "a.safetensors")
    run("info", "a.safetensors", "--all")
    run("index", "m", "--json")
    run("nn", "m", "cat", "--index", "m.cawv-neighbours")
    picture = ("--plot", "a.png") if importlib.util.find_spec("matplotlib") else ()
    run("attention", "m", "the cat sat on the mat", "--target", "cat", "--json", *picture)
    run("axis", "m", "cat:mat", "the:sat", "--words", "w1,w2", "--json")
    run(
        *("axis", "m", "--targets", "w0,w1", "w2,w3", "--attributes", "cat,mat", "sat,on"),
        *("--random-lists", 39, "--json"),
    )
    run("info", "m", "--check")
    for bad in (missing, unknown):
        run("change", bad, url, code=1)
        for name in ("axis", "eval", "index", "explore", "report", "info"):
            said.extend(command(name, bad)[1:])
        run("eval", "m", "--similarity", bad, code=2)
        said.extend(command("compare", bad, "m", "--similarity", "pairs.tsv")[1:])
        said.extend(command("align", "m", bad, "-o", "none.vec")[1:])
        said.extend(command("attention", bad, "the cat", "--target", "cat")[1:])
        said.extend(command("axis", bad, "cat:mat", "--words", "w1")[1:])
    check_no_secret(tmp_path, *said)


def test_from_python(url, tmp_path):
    import traceback

    config = TrainConfig(min_count=1, vector_size=8, epochs=1, workers=1)
    run_request(
        RunRequest(
            config=ResolvedConfig.of(config),
            corpus=[url],
            output=tmp_path / "m",
            command=f"train {url}",
            valid=url,
            validates=True,
        )
    )
    check_no_secret(tmp_path)
    with pytest.raises(DataError) as error:
        train(url.replace("t.txt", "missing"), config, output=tmp_path / "none")
    check_no_secret(tmp_path, "".join(traceback.format_exception(error.value)))


def test_an_unfinished_run_alone_keeps_the_whole_name(url, tmp_path):
    from wordvec_ca import resume

    def fail(progress):
        if list((tmp_path / "m.run").glob("*.checkpoint")):
            raise RuntimeError("enough")

    config = TrainConfig(min_count=1, vector_size=8, epochs=50, workers=1)
    with pytest.raises(RuntimeError, match="enough"):
        train([url], config, output=tmp_path / "m", callbacks=[fail], checkpoint_every="1k")
    record = tmp_path / "m.run" / "run.json"
    assert PASSWORD in record.read_text()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    kept = record.read_bytes()
    os.unlink(record)
    check_no_secret(tmp_path)
    record.write_bytes(kept)
    resume(tmp_path / "m", callbacks=[lambda progress: None])
    check_no_secret(tmp_path)
