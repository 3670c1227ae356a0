"""Detects unsegmented text in scripts without spaces: Chinese, Japanese, Thai, Lao, Khmer and Burmese."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.text.blocks import TokenLines
from wordvec_ca.text.segmenters import segmenter_version

# Number of bytes at the beginning of a corpus that decide its script.
FIRST_PAGES = 1 << 18

# Number of bytes of each later sample.
LATER_PAGES = 1 << 16

BETWEEN_SAMPLES = 1 << 22

# If at least this share of a corpus's letters is in a script without spaces, the corpus is in that script.
MOST = 0.5

# Smallest share of letters in a script without spaces that causes a warning.
SOME = 0.1

# Length of the shortest text that causes a warning.
_LEAST = 200

_KANA = "\u3041-\u309f\u30a0-\u30ff"
_IDEOGRAPHS = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Characters of each script, marks included, and the mean length from which runs are too long to be words.
#
# The length of runs is averaged over characters. Measured on the sentences of tests/text/scripts, as they
# are and segmented by ICU: see tests/text/test_scripts.py.
_SCRIPTS = {
    "Chinese or Japanese": (_KANA + _IDEOGRAPHS, 5.0),
    "Thai": ("\u0e01-\u0e3a\u0e40-\u0e4e", 10.0),
    "Lao": ("\u0e81-\u0ece", 10.0),
    "Burmese": ("\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f", 10.0),
    "Khmer": ("\u1780-\u17d3\u17dd", 10.0),
}

_RUNS = {name: re.compile(f"[{characters}]+") for name, (characters, _) in _SCRIPTS.items()}
_ANY = re.compile(b"[\xe3-\xe9]|\xe0[\xb8-\xbb]|\xe1[\x80-\x82\x9e\x9f]|\xea[\xa7\xa9]|\xf0[\xa0-\xbf]")
_LETTERS = re.compile(r"[^\W\d_]")


class Unspaced(NamedTuple):
    """A script without spaces in a text: its name, its share of all letters, and the mean length of its runs.

    The length of runs is averaged over characters.
    """

    script: str
    share: float
    run: float


def unspaced(text: bytes) -> Unspaced | None:
    """Return the script without spaces in a text; None if it is rare there or its words are separated."""
    if sum(1 for _ in _ANY.finditer(text)) < _LEAST:
        return None
    spelled = text.decode("utf-8", "ignore")
    best: Unspaced | None = None
    letters = 0
    for name, (_, longest) in _SCRIPTS.items():
        lengths = [len(run) for run in _RUNS[name].findall(spelled)]
        characters = sum(lengths)
        if characters < _LEAST:
            continue
        run = sum(length * length for length in lengths) / characters
        if not letters:
            marks = sum(len(found) for pattern in _RUNS.values() for found in pattern.findall(spelled))
            letters = marks + sum(1 for _ in _LETTERS.finditer(_without_runs(spelled)))
        share = characters / letters
        if run > longest and share >= SOME and (best is None or share > best.share):
            best = Unspaced(name, share, run)
    return best


def _without_runs(text: str) -> str:
    for pattern in _RUNS.values():
        text = pattern.sub(" ", text)
    return text


def watched(pieces: Iterable[bytes], tokenizer: str) -> Iterator[bytes]:
    """Yield text unchanged, and check its script at the beginning and at intervals.

    A corpus that is mostly in a script without spaces is refused: its "words" would be whole clauses, most of
    which occur once, and training would be useless. Instead there is a warning if the tokenizer is
    "whitespace", which means that words are separated already, if such text is a smaller share of the corpus,
    or if it occurs only later.
    """
    sample: list[bytes] = []
    length = read = 0
    wanted, next_sample, first = FIRST_PAGES, 0, True
    warned = False
    for piece in pieces:
        if isinstance(piece, TokenLines):  # its words are separated
            yield piece
            continue
        if not warned and read >= next_sample:
            sample.append(piece[: wanted - length])
            length += len(sample[-1])
            if length >= wanted:
                warned = _tell(b"".join(sample), tokenizer, first=first)
                sample, length, wanted, first = [], 0, LATER_PAGES, False
                next_sample = read + BETWEEN_SAMPLES
        read += len(piece)
        yield piece
    if length and not warned:
        _tell(b"".join(sample), tokenizer, first=first)


def _tell(sample: bytes, tokenizer: str, *, first: bool) -> bool:
    """Raise an error or warn if a sample is in a script without spaces; return whether it is."""
    found = unspaced(sample)
    if found is None:
        return False
    pages = "the first pages are" if first else "later pages are"
    what = (
        f"{pages} {found.share:.0%} {found.script} without spaces between words (runs of about "
        f"{found.run:.0f} characters)"
    )
    jieba = ", or jieba for Chinese," if found.script.startswith("Chinese") else ""
    missing = "" if segmenter_version("icu") != "unknown" else " (pip install icu4py)"
    advice = (
        Option("tokenizer", "icu"),
        f"{missing}{jieba} segments it, and so does a function of yours, MODULE:FUNCTION",
    )
    if first and found.share >= MOST and tokenizer == "words":
        raise DataError(
            f"{what}, so that a whole clause would become one word; ",
            *advice,
            "; ",
            Option("tokenizer", "whitespace"),
            " trains on the text between spaces",
        )
    warnings.warn(OptionWarning(f"{what}; there a whole clause becomes one word: ", *advice), stacklevel=3)
    return True
