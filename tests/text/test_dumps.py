"""MediaWiki dumps: what is read from a page, which pages are read, and hostile pages."""

import bz2
import subprocess
import sys
from collections import Counter
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordvec_ca import DataError
from wordvec_ca.corpus import TextOptions
from wordvec_ca.corpus.encode import count_corpus, encode_corpus
from wordvec_ca.text import answering_processes
from wordvec_ca.text import mediawiki as mediawiki_dump
from wordvec_ca.text.wikitext import plain_text

pytest.importorskip("mwparserfromhell")

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">
  <siteinfo><namespaces><namespace key="6">Fitxer</namespace><namespace key="14">Categoria</namespace>
  </namespaces></siteinfo>"""


def page(text: str, title: str = "T", ns: str = "0", more: str = "", model: str = "wikitext") -> str:
    return (
        f"<page><title>{escape(title)}</title><ns>{ns}</ns>{more}<revision><model>{model}</model>"
        f'<text xml:space="preserve">{escape(text)}</text></revision></page>\n'
    )


def dump(*pages: str) -> bytes:
    return (HEAD + "".join(pages) + "</mediawiki>\n").encode()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'''Foo''' is a [[city|large city]] <ref>{{cite|x}}</ref> ''It''.", "Foo is a large city It."),
        ("{{Infobox|a={{b|c}}|d=[[File:x.jpg|thumb|e]]}}After", "After"),
        ("One\n{| class=\"x\"\n! a !! b\n|-\n| 1 || {|\n| 2\n|}\n|}\nTwo", "One\nTwo"),
        ("[[Fitxer:A.png|thumb|200px|of [[this]]]][[Image:b.jpg]] [[Categoria:Y]] [[de:Z]] left", "left"),
        ("see [[:Categoria:Y|them]] and [[A#b]]", "see them and A"),
        ("== H ==\n* one\n** two\n# three\n: four", "H\none\ntwo\nthree\nfour"),
        ("[http://a.b text of it] http://c.d [http://e.f]", "text of it"),
        ("a &amp; b&nbsp;c &eacute;&#233;&#xe9;", "a & b c ééé"),
        ("x<br>y<br/>z <!-- n --><div id='a'>d <b>e</b></div>f<nowiki>[[g]]</nowiki>", "x\ny\nz\nd e\nf g"),
        ("E <math>m c^2</math> H<sub>2</sub>O <syntaxhighlight>code()</syntaxhighlight>", "E H2O"),
        ("__NOTOC__\n----\n{{a|\n\n[[unclosed '''bold\n| cell\n}}", ""),
        ("{{open [[x]] '''bold", "open x bold"),
        ("<ref>never closed", "never closed"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_is_read_of_a_page(source, text):
    hidden = {"file", "image", "category", "fitxer", "categoria"}
    assert plain_text(source, hidden) == "".join(line + "\n" for line in text.split("\n") if line)


MARKUP = st.sampled_from(
    ["[[", "]]", "{{", "}}", "|", "''", "'''", "<ref>", "</ref>", "<b", ">", "/>", "{|", "|}", "\n", "|-",
     "*", "&", ";", "#", "http://a", "[", "]", "=", "<!--", "-->", "<nowiki>", "x", "é ", ":",
     "&#x41;", "{{{", "}}}"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(MARKUP, max_size=25).map("".join))
def test_any_markup_ends_in_clean_lines(source):
    text = plain_text(source)
    assert not any(scrap in text for scrap in ("[[", "]]", "{{", "}}", "''"))
    assert all(any(map(str.isalnum, line)) for line in text.splitlines())


def test_which_pages_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(mediawiki_dump, "LARGEST_PAGE", 5000)
    pages = [
        page("First [[page]].\n\nOf two lines."),
        page("#REDIRECT [[First]]", more='<redirect title="First" />'),
        page("#redirecció [[First]]"),
        page("talk", ns="1"),
        page("body { }", model="css"),
        page("  \n"),
        page("{{stub}}"),
        page("long " * 2000, title="Long one"),
        page("Last & <b>least</b>.").replace(
            "<revision>", "<revision><text>an older one</text></revision><revision>"
        ),
    ]
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(
        bz2.compress(b'<?xml version="1.0"?>\n' + dump(*pages[:4])[:-13])
        + bz2.compress("".join(pages[4:]).encode() + b"</mediawiki>\n")
    )  # as multistream dumps
    for workers, block_bytes in [(1, 1), (2, 1 << 20)]:
        options: Any = {"min_count": 1, "workers": workers, "block_bytes": block_bytes}
        with pytest.warns(UserWarning, match="'Long one' is over 2 MiB"):
            result = encode_corpus(path, TextOptions(**options), cache_dir=tmp_path / "c")
        words = [result.vocab.words[i] if i >= 0 else "|" for i in result.tokens.tolist()]
        assert " ".join(words) == "first page . | of two lines . | last & least . |"
        assert result.stats.records == {
            "articles": 2, "redirects": 2, "pages outside the main namespace": 1,
            "pages that are not wikitext": 1, "empty pages": 2, "pages over 0 MiB": 1,
        }  # fmt: skip


def test_a_page_that_takes_too_long(tmp_path, monkeypatch):
    """The parser works for minutes on these 40 kB; the other pages are still read."""
    monkeypatch.setattr(mediawiki_dump, "PAGE_SECONDS", 0.5)
    path = tmp_path / "dump"
    path.write_bytes(dump(page("before"), page("{{a|[[b|" * 5_000, title="Trap"), *[page("after")] * 20))
    with pytest.warns(UserWarning, match="'Trap'"):
        vocab, stats = count_corpus(path, TextOptions(min_count=1, workers=2))
    assert vocab.words == ["after", "before"]
    assert vocab.counts.tolist() == [20, 1]
    assert stats.records == {"articles": 21, "pages that could not be parsed in 0.5 s": 1}


def test_a_page_that_takes_too_much_memory(tmp_path, monkeypatch):
    code = "import wordvec_ca.text.wikitext as w; w.LARGEST_MEMORY = 1 << 27; a.answer_requests(w.prepare)"
    code = f"import wordvec_ca.text.answering_processes as a; {code}"
    requests = [b"[60, []]", b"'''a''' " * 200_000, b"small"]
    given = b"".join(answering_processes.LENGTH.pack(len(text)) + text for text in requests)
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, check=False)
    head = answering_processes.HEAD
    refused = b"the page cannot be parsed: MemoryError"
    first = head.pack(b"+", 0) + head.pack(b"!", len(refused)) + refused
    # Either the library says that there is no memory, or the process dies and is replaced.
    assert done.stdout in (first + head.pack(b"+", 6) + b"small\n", first[: head.size])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (dump(page("a"))[:-9], r"the XML of the dump is damaged or ends early .* after 1 pages"),
        (dump(page("a"), "<page></title></page>"), "damaged or ends early .mismatched tag"),
        (dump("<a>" * 100), "nested too deep"),
        (dump(page("{{stub}}")), "the corpus is empty"),
    ],
)  # fmt: skip
def test_damaged_dumps(tmp_path, data, message):
    (tmp_path / "dump").write_bytes(data)
    with pytest.raises(DataError, match=message):
        count_corpus(tmp_path / "dump", TextOptions(min_count=1))


def test_entities_do_not_expand():
    bomb = b'<mediawiki><!DOCTYPE a [<!ENTITY b "cccc">]>'
    for data in (bomb, b'<!DOCTYPE a [<!ENTITY b "cccc">]><mediawiki>&b;</mediawiki>'):
        with pytest.raises(DataError, match=r"DOCTYPE|damaged"):
            list(mediawiki_dump.Pages("x", Counter()).read([data]))


def test_processes_end_with_the_reading(tmp_path):
    path = tmp_path / "dump"
    path.write_bytes(dump(*[page("some words in an article, again and again")] * 500))
    started: list[Any] = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", Recorded)

        def stop(*_):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            count_corpus(path, TextOptions(min_count=1, workers=2, block_bytes=100), progress=stop)
    assert started
    assert all(process.poll() is not None for process in started)
