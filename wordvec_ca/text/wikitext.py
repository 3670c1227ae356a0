"""Converts wikitext to plain text, one paragraph a line, in a process with limited time and memory.

mwparserfromhell's tokeniser finds the markup. The text is taken from its tokens directly, since building the
library's tree would take longer than finding the tokens. Some pages of a few kilobytes keep it busy for
minutes, and only ending its process can stop it. So an answering process converts one page after another, and
is killed by a page that takes too long.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection
from typing import Any

from wordvec_ca.files import split_lines
from wordvec_ca.text.answering_processes import NoAnswerError

# Largest address space of the process in bytes.
LARGEST_MEMORY = 1 << 30

# Tags whose content is not running text.
DROPPED = frozenset(
    {
        "ref", "references", "table", "math", "chem", "ce", "gallery", "imagemap", "timeline", "score",
        "graph", "hiero", "inputbox", "categorytree", "section", "templatedata", "mapframe",
        "maplink", "source", "syntaxhighlight", "style", "script", "pre", "code",
    }
)  # fmt: skip

# Tags that begin a new line.
BREAKS = frozenset(
    {
        "br", "p", "div", "hr", "blockquote", "center", "li", "dt", "dd", "ul", "ol", "dl", "tr", "td", "th",
        "h1", "h2", "h3", "h4", "h5", "h6",
    }
)  # fmt: skip

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z-]{2,12})?", re.ASCII)
_QUOTES = re.compile("'{2,}")
_SCRAPS = re.compile(r"__[A-Z]+__|</?[A-Za-z][^<>]{0,300}>|\{\{|\}\}|\[\[|\]\]")
_TABLE_LINE = ("{|", "|", "!")


def plain_text(wikitext: str, hidden: Collection[str] = ("file", "image", "category")) -> str:
    r"""Return the running text of a page: paragraphs, headings and list items, one a line.

    Templates, tables, references, comments, files, categories and links to other languages are left out; of
    other links the visible text is kept. Broken markup is read as text, without its brackets.
    """
    from mwparserfromhell.parser import tokens

    T: Any = tokens
    out: list[str] = []
    stack: list[
        tuple[list[str], list[str]]
    ] = []  # per open element: the output so far, and what is known about the element
    for token in _tokenizer().tokenize(wikitext, 0, False):
        kind = type(token)
        if kind is T.Text:
            out.append(token.text)
        elif kind in (
            T.TemplateOpen, T.ArgumentOpen, T.CommentStart, T.WikilinkOpen, T.ExternalLinkOpen,
            T.HTMLEntityStart, T.TagOpenOpen,
        ):  # fmt: skip
            bare = kind is T.ExternalLinkOpen and not token.brackets
            stack.append((out, ["", "bare"] if bare else []))
            out = []
        elif kind in (T.WikilinkSeparator, T.ExternalLinkSeparator):
            stack[-1][1].append("".join(out))
            out = []
        elif kind in (T.TagAttrStart, T.TagCloseOpen, T.TagOpenClose):
            if not stack[-1][1]:
                stack[-1][1].append("".join(out).strip().lower())
            if kind is T.TagOpenClose:
                stack[-1][1].append("".join(out))
            out = []
        elif kind in (T.HeadingStart, T.HeadingEnd):
            out.append("\n")
        elif kind in (T.TemplateClose, T.ArgumentClose, T.CommentEnd):
            out, _ = stack.pop()
        elif kind is T.WikilinkClose:
            inside = "".join(out)
            out, title = stack.pop()
            out.append(_shown(title[0] if title else inside, inside, bool(title), hidden))
        elif kind is T.ExternalLinkClose:
            inside = "".join(out)
            out, title = stack.pop()
            if len(title) == 1:
                out.append(inside)
        elif kind is T.HTMLEntityNumeric:
            out.append("#")
        elif kind is T.HTMLEntityHex:
            out.append(token.char)
        elif kind is T.HTMLEntityEnd:
            inside = "".join(out)
            out, _ = stack.pop()
            out.append(html.unescape(f"&{inside};"))
        elif kind is T.TagCloseSelfclose:
            name = "".join(out).strip().lower()
            out, known = stack.pop()
            out.append("\n" if (known[0] if known else name) in BREAKS else "")
        elif kind is T.TagCloseClose:
            out, known = stack.pop()
            if known[0] not in DROPPED:
                out.append(f"\n{known[1]}\n" if known[0] in BREAKS else known[1])
    lines = []
    for line in split_lines("".join(out)):
        line = line.strip()
        if line.startswith(_TABLE_LINE):
            continue
        line = " ".join(_SCRAPS.sub(" ", _QUOTES.sub("", line)).split())
        if any(map(str.isalnum, line)):
            lines.append(line + "\n")
    return "".join(lines)


def _tokenizer() -> Any:
    try:
        from mwparserfromhell.parser._tokenizer import CTokenizer
    except ImportError:  # compiled without this function
        from mwparserfromhell.parser.tokenizer import Tokenizer

        return Tokenizer()
    return CTokenizer()


def _shown(title: str, inside: str, has_text: bool, hidden: Collection[str]) -> str:
    """Return the visible text of a link."""
    title = title.strip()
    if ":" in title and not title.startswith(":"):
        namespace = title.partition(":")[0].strip().lower().replace("_", " ")
        if namespace in hidden or (not has_text and _LANGUAGE.fullmatch(namespace)):
            return ""
    if has_text:
        return inside
    return title.removeprefix(":").partition("#")[0] or title.partition("#")[2]


def prepare(seconds: float, hidden: Collection[str]) -> Callable[[bytes], bytes]:
    """Set the limits of the process, and return a function that converts a page to text."""

    def answer(page: bytes) -> bytes:
        _limit_time(seconds)
        try:
            return plain_text(page.decode("utf-8", "replace"), hidden).encode("utf-8", "replace")
        except (MemoryError, RecursionError, LookupError, ValueError, TypeError) as error:
            # the last three: broken markup confuses the library
            raise NoAnswerError(f"the page cannot be parsed: {type(error).__name__}") from error
        finally:
            _limit_time(0)

    _limit_memory()
    return answer


def _limit_time(seconds: float) -> None:
    import signal

    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most > LARGEST_MEMORY:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (LARGEST_MEMORY, most))
        except (OSError, ValueError):  # macOS refuses this limit
            pass
