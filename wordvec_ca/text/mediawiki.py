"""Extracts the running text of articles from the XML dumps of Wikipedia and other MediaWiki sites."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from xml.parsers import expat

from wordvec_ca.errors import DataError
from wordvec_ca.text.answering_processes import (
    AnsweringProcesses,
    EndedError,
    NoAnswerError,
    in_order,
    prompt_exit,
)
from wordvec_ca.text.embedded import markup_version
from wordvec_ca.text.records import RecordTexts

# Largest number of bytes in a page, MediaWiki's own default limit; larger pages are left out.
LARGEST_PAGE = 1 << 21

# Processor time in seconds that removing the markup of one page may take; most pages need a few
# milliseconds.
PAGE_SECONDS = 5.0

# Namespaces of files, categories and media: links to them have no visible text.
HIDDEN_KEYS = {"6", "14", "-2"}

_BEGINNING = re.compile(rb"\s*(<\?xml[^>]{0,200}\?>\s*)?<mediawiki[\s>]")
_REDIRECT = re.compile(r"\s*#\s?\w+:?\s*\[\[")
_PARSED_AT_ONCE = 1 << 16


def is_dump(head: bytes) -> bool:
    """Return whether the beginning of a file is that of a MediaWiki dump."""
    return _BEGINNING.match(head) is not None


class Page(NamedTuple):
    """An article: its title and its source."""

    title: str
    wikitext: str


def article_texts(pieces: Iterable[bytes], texts: RecordTexts) -> Generator[bytes]:
    r"""Yield the text of each article of a dump, one paragraph a line, in order."""
    name, processes, records = texts.name, texts.helpers, texts.records
    if markup_version() is None:
        raise DataError(
            f"{name} is a dump of a wiki, and mwparserfromhell, which removes its markup, is not installed: "
            "pip install mwparserfromhell (it has wheels up to Python 3.13, and needs a C compiler for later)"
        )
    pages = Pages(name, records)
    stream = pages.read(pieces)
    first = next(stream, None)
    if first is None:
        return
    settings = (PAGE_SECONDS, sorted(pages.hidden))
    removers = AnsweringProcesses("wordvec_ca.text.wikitext", processes, settings, quiet=True)

    def work(page: Page) -> tuple[str, bytes | None]:
        try:
            return page.title, removers.ask(page.wikitext.encode("utf-8", "replace"))
        except (NoAnswerError, EndedError):
            return page.title, None

    def everything() -> Iterator[Page]:
        assert first is not None
        yield first
        yield from stream

    with removers, ThreadPoolExecutor(processes) as pool, prompt_exit(pool):
        for title, text in in_order(pool, work, everything(), 8 * processes):
            if text is None:
                what = f"pages that could not be parsed in {PAGE_SECONDS:g} s"
                if not records[what]:
                    warnings.warn(f"{name}: the page {title!r} could not be parsed", stacklevel=2)
                records[what] += 1
            elif not text:
                records["empty pages"] += 1
            else:
                records["articles"] += 1
                yield text


class Pages:
    """Finds the articles in the XML of a dump."""

    # hidden: Namespaces, in lower case, whose links have no visible text, as far as the dump lists them.

    def __init__(self, name: str, records: Counter[str]) -> None:
        self.name = name
        self.records = records
        self.hidden = {"file", "image", "category", "media"}
        self._path: list[str] = []
        self._ready: list[Page] = []
        self._text: list[str] = []
        self._about: dict[str, str] = {}
        self._bytes = 0
        self._key = ""
        self._seen = 0

    def read(self, pieces: Iterable[bytes]) -> Iterator[Page]:
        """Yield the articles; at most a page and a piece are in memory."""
        parser = expat.ParserCreate("UTF-8")
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        try:
            for piece in pieces:
                for start in range(0, len(piece), _PARSED_AT_ONCE):
                    parser.Parse(piece[start : start + _PARSED_AT_ONCE], False)
                    ready, self._ready = self._ready, []
                    yield from ready
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise DataError(
                f"{self.name}: the XML of the dump is damaged or ends early ({error}), "
                f"after {self._seen:,} pages; "
                "fetch it again"
            ) from error
        yield from self._ready

    def _refuse(self, *_: Any) -> None:
        raise DataError(f"{self.name}: a MediaWiki dump has no DOCTYPE; this one could expand without bounds")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        if len(self._path) > 50:
            raise DataError(f"{self.name}: the XML is nested too deep for a MediaWiki dump")
        if name == "page":
            self._about = {}
        elif name == "redirect":
            self._about["redirect"] = "yes"
        elif name == "namespace":
            self._key = attributes.get("key", "")
        if name in ("title", "ns", "model", "text", "namespace"):
            self._text, self._bytes = [], 0

    def _characters(self, data: str) -> None:
        if self._path[-1] in ("title", "ns", "model", "text", "namespace"):
            self._bytes += len(data)
            if self._bytes <= LARGEST_PAGE:
                self._text.append(data)

    def _end(self, name: str) -> None:
        self._path.pop()
        if name in ("title", "ns", "model", "text"):  # if a page has several revisions, the last one is used
            self._about[name] = "".join(self._text)
            if name == "text":
                self._about["size"] = str(self._bytes)
            self._text = []
        elif name == "namespace" and self._key in HIDDEN_KEYS:
            self.hidden.add("".join(self._text).strip().lower())
        elif name == "page":
            self._sort()

    def _sort(self) -> None:
        """Count a page, and keep it if it is an article."""
        self._seen += 1
        about = self._about
        text = about.get("text", "")
        if about.get("ns", "0").strip() != "0":
            self.records["pages outside the main namespace"] += 1
        elif "redirect" in about or _REDIRECT.match(text[:200]):
            self.records["redirects"] += 1
        elif about.get("model", "wikitext") != "wikitext":
            self.records["pages that are not wikitext"] += 1
        elif int(about.get("size", "0")) > LARGEST_PAGE or len(text.encode()) > LARGEST_PAGE:
            what = f"pages over {LARGEST_PAGE >> 20} MiB"
            if not self.records[what]:
                title = about.get("title", "")[:100]
                warnings.warn(f"{self.name}: the page {title!r} is over 2 MiB and is left out", stacklevel=2)
            self.records[what] += 1
        elif not text.strip():
            self.records["empty pages"] += 1
        else:
            self._ready.append(Page(about.get("title", ""), text))
