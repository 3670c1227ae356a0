"""Files behind URLs: the same text as from a file, from a real S3 server that dies and comes back."""

import sys
import threading
from typing import Any

import pytest
from faulty_s3 import FaultyS3

from wordvec_ca import DataError
from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.corpus.encode import encode_corpus
from wordvec_ca.files import is_url
from wordvec_ca.text import TextFiles, find_files, remote
from wordvec_ca.text.remote import RemoteFile, url_identity

fsspec = pytest.importorskip("fsspec")

LINES = "".join(f"line {i} has the word w{i % 97} in it\n" for i in range(40_000))


@pytest.fixture(scope="module")
def s3():
    pytest.importorskip("moto", reason="needs a server: pip install 'moto[server]' s3fs")
    pytest.importorskip("flask")
    pytest.importorskip("s3fs")
    with pytest.MonkeyPatch.context() as patch, FaultyS3() as server:
        patch.setenv("AWS_MAX_ATTEMPTS", "1")  # it is our patience that is tested, not that of s3fs
        patch.setattr("s3fs.S3FileSystem.retries", 1)
        for name, text in (("a/one.txt", LINES), ("a/two.txt", "two\n"), ("b.txt", "bee\n")):
            fsspec.filesystem("s3").pipe_file(f"bucket/{name}", text.encode())
        yield server


def read_on(file: RemoteFile) -> None:
    while file.read(100_000):
        pass


def read(files: list[str], **options: Any) -> str:
    return b"".join(TextFiles(find_files(files), **options).pieces()).decode()


def test_what_is_a_url():
    assert all(map(is_url, ["s3://b/k", "https://x/y.gz", "gs://b", "hdfs:///x", "zip://a::file://b.zip"]))
    assert not any(map(is_url, ["a/b", "c:\\x", "x:y", "/a/b://c", "-"]))


def test_files_folders_and_patterns(s3):
    assert read(["s3://bucket/a/one.txt"]) == LINES
    assert find_files(["s3://bucket/a"]) == ["s3://bucket/a/one.txt", "s3://bucket/a/two.txt"]
    assert find_files(["s3://bucket/*.txt"]) == ["s3://bucket/b.txt"]
    assert read(["s3://bucket/*.txt", "s3://bucket/a/two.txt"]) == "bee\ntwo\n"
    assert TextFiles(["s3://bucket/b.txt"]).bytes_total == 4
    with pytest.raises(DataError, match=r"there is no file 's3://bucket/c.txt'"):
        find_files(["s3://bucket/c.txt"])


def test_a_cache_knows_remote_files(s3, tmp_path):
    def encode():
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


def test_the_server_dies_and_comes_back(s3, monkeypatch):
    monkeypatch.setattr(remote, "_BLOCK", 1 << 16)
    monkeypatch.setattr(remote, "PATIENCE", 60.0)
    with RemoteFile("s3://bucket/a/one.txt") as file:
        first = file.read(100_000)
        s3.fail("refuse", 3)
        with pytest.warns(UserWarning, match="does not answer"):
            rest = b"".join(iter(lambda: file.read(100_000), b""))
    assert first + rest == LINES.encode()


def test_the_server_stays_away(s3, monkeypatch):
    monkeypatch.setattr(remote, "_BLOCK", 1 << 16)
    monkeypatch.setattr(remote, "PATIENCE", 0.5)
    file = RemoteFile("s3://bucket/a/one.txt")
    file.read(10_000)
    s3.fail("refuse", 60)
    with (
        pytest.warns(UserWarning, match="does not answer"),
        pytest.raises(DataError, match="cannot read 's3:"),
    ):
        read_on(file)
    s3.fail("", 0)


def test_a_file_that_changes_while_it_is_read(s3, monkeypatch):
    monkeypatch.setattr(remote, "_BLOCK", 1 << 16)
    monkeypatch.setattr(remote, "PATIENCE", 60.0)
    file = RemoteFile("s3://bucket/a/one.txt")
    file.read(10_000)
    fsspec.filesystem("s3").pipe_file("bucket/a/one.txt", LINES[::-1].encode())
    with pytest.raises(DataError, match="has changed while it was read"):
        read_on(file)


def test_parquet_from_s3_is_the_text_of_a_file(s3, tmp_path):
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


def test_https_without_ranges(tmp_path):
    pytest.importorskip("aiohttp")
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
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


def test_what_cannot_be_opened(monkeypatch):
    with pytest.raises(DataError, match=r"cannot open 'klingon://x'.*URL such as"):
        find_files(["klingon://x"])
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(DataError, match=r"pip install 'wordvec-ca\[remote\]'"):
        find_files(["s3://x/y"])
