"""Files behind URLs: the same text as from a file, from a real S3 server that dies and comes back."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.corpus.encode import encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.files import is_url
from wordvec_ca.text import TextFiles, find_files, remote
from wordvec_ca.text.remote import RemoteFile, url_identity

fsspec = pytest.importorskip("fsspec")

LINES = "".join(f"line {i} has the word w{i % 97} in it\n" for i in range(40_000))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


SERVER = """
import sys
from pathlib import Path
from moto.s3.models import s3_backends
from moto.server import main

folder = Path(sys.argv.pop())
bucket = s3_backends["123456789012"]["aws"]
bucket.create_bucket("bucket", "us-east-1")
for file in sorted(folder.rglob("*.*")):
    bucket.put_object("bucket", str(file.relative_to(folder)), file.read_bytes())
main()
"""
"""A server that already has its files when it first answers, like a real server after a restart."""


class S3:
    """A process of moto's server, with a bucket of the files of a folder."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port, self.folder = port, folder
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-c", SERVER, "-H", "127.0.0.1", "-p", str(self.port), str(self.folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/moto-api/", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    pytest.importorskip("moto", reason="needs a server: pip install 'moto[server]' s3fs")
    pytest.importorskip("flask")
    pytest.importorskip("s3fs")
    port = free_port()
    settings = {
        "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_MAX_ATTEMPTS": "1",
    }  # fmt: skip
    before = dict(os.environ)
    os.environ.update(settings)
    folder = tmp_path_factory.mktemp("bucket")
    (folder / "a").mkdir()
    (folder / "a" / "one.txt").write_text(LINES)
    (folder / "a" / "two.txt").write_text("two\n")
    (folder / "b.txt").write_text("bee\n")
    server = S3(port, folder)
    yield server
    server.kill()
    os.environ.clear()
    os.environ.update(before)


def read_on(file: RemoteFile) -> None:
    while file.read(100_000):
        pass


def read(files: list[str], **options: Any) -> str:
    return b"".join(TextFiles(find_files(files), **options).pieces()).decode()


def test_what_is_a_url() -> None:
    assert all(map(is_url, ["s3://b/k", "https://x/y.gz", "gs://b", "hdfs:///x", "zip://a::file://b.zip"]))
    assert not any(map(is_url, ["a/b", "c:\\x", "x:y", "/a/b://c", "-"]))


def test_files_folders_and_patterns(s3: S3) -> None:
    assert read(["s3://bucket/a/one.txt"]) == LINES
    assert find_files(["s3://bucket/a"]) == ["s3://bucket/a/one.txt", "s3://bucket/a/two.txt"]
    assert find_files(["s3://bucket/*.txt"]) == ["s3://bucket/b.txt"]
    assert read(["s3://bucket/*.txt", "s3://bucket/a/two.txt"]) == "bee\ntwo\n"
    assert TextFiles(["s3://bucket/b.txt"]).bytes_total == 4
    with pytest.raises(DataError, match=r"there is no file 's3://bucket/c.txt'"):
        find_files(["s3://bucket/c.txt"])


def test_a_cache_knows_remote_files(s3: S3, tmp_path: Path) -> None:
    def encode() -> Any:
        return encode_corpus(
            "s3://bucket/c.txt", TextOptions(min_count=1), cache_dir=tmp_path / "c", keep=True
        )

    system = fsspec.filesystem("s3")
    system.pipe_file("bucket/c.txt", b"one two\n")
    assert not encode().reused
    assert encode().reused
    system.pipe_file("bucket/c.txt", b"two one\n")
    again = encode()
    assert not again.reused
    assert "has changed" in again.reason


def test_the_server_dies_and_comes_back(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_BLOCK", 1 << 16)
    monkeypatch.setattr(remote, "PATIENCE", 60.0)
    with RemoteFile("s3://bucket/a/one.txt") as file:
        first = file.read(100_000)
        s3.kill()
        back = threading.Timer(1.0, s3.start)
        back.start()
        with pytest.warns(UserWarning, match="does not answer"):
            rest = b"".join(iter(lambda: file.read(100_000), b""))
        back.join()
    assert first + rest == LINES.encode()


def test_the_server_stays_away(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_BLOCK", 1 << 16)
    file = RemoteFile("s3://bucket/a/one.txt", patience=0.5)
    file.read(10_000)
    s3.kill()
    try:
        with (
            pytest.warns(UserWarning, match="does not answer"),
            pytest.raises(DataError, match="cannot read 's3:"),
        ):
            read_on(file)
    finally:
        s3.start()


def test_a_file_that_changes_while_it_is_read(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_BLOCK", 1 << 16)
    monkeypatch.setattr(remote, "PATIENCE", 60.0)
    file = RemoteFile("s3://bucket/a/one.txt")
    file.read(10_000)
    s3.kill()
    (s3.folder / "a" / "one.txt").write_text(LINES[::-1])
    s3.start()
    with pytest.raises(DataError, match="has changed while it was read"):
        read_on(file)


def test_parquet_from_s3_is_the_text_of_a_file(s3: S3, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(
        pa.table({"text": LINES.splitlines(), "n": range(40_000)}), path, row_group_size=5_000
    )
    fsspec.filesystem("s3").put_file(str(path), "bucket/t.parquet")
    assert read(["s3://bucket/t.parquet"], field="text") == LINES
    options = TextOptions(field="text")
    assert count_corpus("s3://bucket/t.parquet", options)[0] == count_corpus(path, options)[0]


def test_https_without_ranges(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    import gzip

    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(LINES.encode()))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/a.txt.gz"
        assert read([url]) == LINES
        assert url_identity(url)["size"] == (tmp_path / "a.txt.gz").stat().st_size
        with pytest.raises(DataError, match="there is no file"):
            read([url + "x"])
    finally:
        server.shutdown()


def test_what_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"cannot open 'klingon://x'.*URL such as"):
        find_files(["klingon://x"])
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(DataError, match=r"pip install 'wordvec-ca\[remote\]'"):
        find_files(["s3://x/y"])
