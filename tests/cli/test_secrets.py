"""No command writes or prints what gives access to a source: user, password, signature, token."""

from __future__ import annotations

import os
import stat
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from wordvec_ca import TrainConfig, train
from wordvec_ca.errors import DataError

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

PASSWORD, TOKEN = "s3cretpassw0rd", "t0ken/of+access"
MARKS = (PASSWORD, TOKEN, quote(TOKEN, safe=""))
TEXT = "".join(f"the cat w{i % 7} sat on the w{i % 5} mat\n" for i in range(400)).encode()


class Handler(BaseHTTPRequestHandler):
    """Serves one text to those who know both secrets."""

    def do_GET(self) -> None:
        known = "Basic " + b64encode(f"user:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != known or f"token={TOKEN}" not in unquote(self.path):
            self.send_error(403)
        elif "/missing" in self.path:
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(TEXT)))
            self.send_header("ETag", '"1"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(TEXT)

    do_HEAD = do_GET

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr("wordvec_ca.text.remote.FIRST_PATIENCE", 0.2)
    monkeypatch.setattr("wordvec_ca.text.remote.PATIENCE", 0.2)
    yield f"http://user:{PASSWORD}@127.0.0.1:{server.server_port}/t.txt?token={quote(TOKEN, safe='')}"
    server.shutdown()


def check_no_secret(folder: Path, *texts: str) -> None:
    for text in texts:
        assert not [mark for mark in MARKS if mark in text], text
    for path in folder.rglob("*"):
        assert not [mark for mark in MARKS if mark in path.name], path
        if path.is_file():
            content = path.read_bytes()
            assert not [mark for mark in MARKS if mark.encode() in content], path


def test_no_command_writes_or_prints_a_secret(command: Any, url: str, tmp_path: Path) -> None:
    said: list[str] = []

    def run(*arguments: object, code: int = 0) -> None:
        done = command(*arguments)
        assert done.code == code, done.err
        said.extend((done.out, done.err))

    small = ("--min-count", 1, "--size", 8, "--epochs", 1, "--workers", 1)
    run("train", url, *small, "-o", "m", "--valid", url, "--keep-cache", "--model", "cbow-attn")
    run(
        "train",
        url,
        *small,
        "-o",
        "m",
        "--overwrite",
        "--keep-cache",
        "--model",
        "cbow-attn",
        "--resamples",
        2,
    )
    run(
        "train", url, *small, "--no-cache", "--log-json", "log.jsonl"
    )  # the name of the model is that of the text
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
    run("explore", "m", "-o", "x.html")
    for form in (
        "safetensors",
        "word2vec",
        "huggingface",
        "model2vec",
        "sentence-transformers",
        "projector",
    ):
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


def test_from_python(url: str, tmp_path: Path) -> None:
    import traceback

    config = TrainConfig(min_count=1, vector_size=8, epochs=1, workers=1)
    train([url], config, output=tmp_path / "m", command=f"train {url}", valid=url)
    check_no_secret(tmp_path)
    with pytest.raises(DataError) as error:
        train(url.replace("t.txt", "missing"), config, output=tmp_path / "none")
    check_no_secret(tmp_path, "".join(traceback.format_exception(error.value)))


def test_an_unfinished_run_alone_keeps_the_whole_name(url: str, tmp_path: Path) -> None:
    from wordvec_ca import resume

    def fail(progress: Any) -> None:
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
