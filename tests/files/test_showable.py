"""Secrets of a source (users, passwords, signatures, tokens) are shown nowhere."""

import pytest

from wordvec_ca import DataError
from wordvec_ca.errors import Option
from wordvec_ca.showable import has_secrets, showable, showable_name, showable_record

NAMES = {
    "https://user:PASSWORD@host:8080/a/t.txt?token=TOKEN12345#part": "https://host:8080/a/t.txt",
    "s3://KEY:SEC/RET+x@bucket/a@b/t.txt": "s3://bucket/a@b/t.txt",
    "s3://KEY:SECRET@bucket/a/*.parquet": "s3://bucket/a/*.parquet",
    "s3://bucket/a#1.txt": "s3://bucket/a#1.txt",
    "https://b.s3.amazonaws.com/k?X-Amz-Credential=AK%2F1&X-Amz-Signature=abc": "https://b.s3.amazonaws.com/k",
    "https://ghp_TOKEN@raw.example.org/a/b.txt": "https://raw.example.org/a/b.txt",
    "https://u:p@ss@host/a.txt": "https://host/a.txt",
    "ftp://me:PASS WORD@host/a b.txt": "ftp://host/a b.txt",
    "simplecache::https://u:p@host/a.gz?sig=X1Y2Z3": "simplecache::https://host/a.gz",
    "zip://in.txt::https://u:p@host/a.zip?sig=a::b": "zip://in.txt::https://host/a.zip",
    "--valid=https://u:p@host/v.txt?t=1": "--valid=https://host/v.txt",
    "abfs://container@account.dfs.core.windows.net/a.txt": "abfs://container@account.dfs.core.windows.net/a.txt",
    "abfs://c@account.net/a.txt?sv=1&sig=SECRET": "abfs://c@account.net/a.txt",
    "https://host:8080/a@b.txt": "https://host:8080/a@b.txt",
    "https://host/Talk:A@b": "https://host/Talk:A@b",
    "https://host/t.txt;jsessionid=SECRET": "https://host/t.txt",
    "https://u:p@host/a;sid=SECRET1;v=2/b%3Btoken=T.txt;x?q=1#f": "https://host/a/b",
    "https://user:pass;word@host:8080/t.txt": "https://host:8080/t.txt",
    "simplecache::ftp://host/a;type=i;sid=SECRET/a.gz": "simplecache::ftp://host/a/a.gz",
    "s3://bucket/a;b.txt": "s3://bucket/a;b.txt",
    "plain/a;b.txt": "plain/a;b.txt",
    "plain/a?b@c.txt": "plain/a?b@c.txt",
    "-": "-",
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    shown = NAMES[name]
    assert showable_name(name) == shown
    assert showable_name(shown) == shown
    assert has_secrets([name]) == (shown != name)


def test_messages():
    source = "s3://KEYKEY:SEC/RET@bucket/t.txt"
    text = f"cannot read {source!r}: Invalid bucket name 'KEYKEY:SEC/RET@bucket' (https://x.org/?q=SEC%2FRET)"
    assert showable(text, [source]) == (
        "cannot read 's3://bucket/t.txt': Invalid bucket name '***@bucket' (https://x.org/)"
    )
    signed = "https://host/t.txt?sig=AB%2BCD%2F12&page=1"
    assert showable("404, url='https://host/t.txt?sig=AB+CD/12&page=1', sig AB+CD/12, page 1", [signed]) == (
        "404, url='https://host/t.txt', sig ***, page 1"
    )
    session = "https://host/a;sid=SESSION9/t.txt;v=1?page=12"
    shown = showable(f"404 (SESSION9) at {session}; try again", [session])
    assert shown == "404 (***) at https://host/a/t.txt; try again"
    assert showable("see https://host/a;sid=SESSION9/t.txt; or (https://host/b;x=1).") == (
        "see https://host/a/t.txt; or (https://host/b)."
    )
    error = DataError("cannot read 'https://u:p@host/t?x=1'; give ", Option("field", "a"))
    assert str(error) == "cannot read 'https://host/t'; give field='a'"


def test_records():
    record = {"command": "cawv train 'https://u:p@h/t?x=1'", "settings": {"corpus": ["s3://k:s@b/t"]}, "n": 1}
    assert showable_record(record) == {
        "command": "cawv train 'https://h/t'",
        "settings": {"corpus": ["s3://b/t"]},
        "n": 1,
    }
