"""Example sentences of a word in each text, as evidence that a person can read, and which words are names.

The typical example of a text is the one whose context is nearest to the mean context of the word in that
text. The different example is the one whose context is least like those in the other texts.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from wordvec_ca.corpus import TextOptions
from wordvec_ca.errors import DataError
from wordvec_ca.showable import showable_name
from wordvec_ca.text import (
    Documents,
    Line,
    field_names,
    find_files,
    located_lines,
    tokenize,
)

# Largest number of occurrences of a word that are compared in a text; each is on a different line.
OCCURRENCES = 400

# Number of words shown on each side.
AROUND = 12


@dataclass(frozen=True)
class Example:
    """A word in its sentence.

    Attributes
    ----------
    text : int
        Number of the text, from 0 on.
    kind : {"typical", "different"}
        Nearest to the mean context of the text, or most unlike the other texts.
    source : str
        File or other source of the line.
    line : int
        Number of the line in that source, from 1 on; for a record, the number of the record.
    left, word, right : str
        The words before it, the word, and those after it.
    """

    text: int
    kind: Literal["typical", "different"]
    source: str
    line: int
    left: str
    word: str
    right: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.left} [{self.word}] {self.right}".replace("  ", " ")


def examples(
    texts: Sequence[Any],
    words: Sequence[str],
    context_vectors: Mapping[str, np.ndarray],
    options: TextOptions,
    window: int,
) -> dict[str, tuple[Example, ...]]:
    """Return example sentences of words: from each text a typical one and the one that differs most."""
    if options.phrases or not words:
        return {}
    found: dict[str, list[list[tuple[np.ndarray, str, int, list[str], int]]]] = {
        word: [[] for _ in texts] for word in words
    }
    flags = re.IGNORECASE if options.lowercase else 0
    any_of = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))), flags)
    for number, text in enumerate(texts):
        for source, line, content in numbered_lines(text, options):
            if isinstance(content, str):
                if not any_of.search(content):
                    continue
                tokens = tokenize(content, options.tokenizer, options.lowercase)
            else:
                tokens = list(content)
            for word in found.keys() & set(tokens):
                occurrences = found[word][number]
                if len(occurrences) < OCCURRENCES:
                    at = tokens.index(word)
                    context = _context(tokens, at, context_vectors, window)
                    if context is not None:
                        occurrences.append((context, source, line, tokens, at))
    return {word: tuple(_chosen(word, of_texts)) for word, of_texts in found.items()}


def _context(
    tokens: Sequence[str], at: int, vectors: Mapping[str, np.ndarray], window: int
) -> np.ndarray | None:
    """Return the direction of the context at a position; None if it has no direction."""
    total: np.ndarray | None = None
    for place in range(max(0, at - window), min(len(tokens), at + window + 1)):
        vector = vectors.get(tokens[place])
        if place != at and vector is not None:
            near = vector * ((window + 1 - abs(place - at)) / window)
            total = near if total is None else total + near
    length = 0.0 if total is None else float(np.linalg.norm(total))
    return None if total is None or length == 0 else total / length


def _chosen(
    word: str, of_texts: Sequence[Sequence[tuple[np.ndarray, str, int, list[str], int]]]
) -> Iterator[Example]:
    means = [
        np.mean([one[0] for one in occurrences], axis=0) if occurrences else None for occurrences in of_texts
    ]
    for text, occurrences in enumerate(of_texts):
        others = [mean for place, mean in enumerate(means) if place != text and mean is not None]
        own = means[text]
        if own is None:
            continue
        contexts = np.stack([one[0] for one in occurrences])
        picked = [("typical", int((contexts @ own).argmax()))]
        if others and len(occurrences) > 1:
            apart = contexts @ (own - np.mean(others, axis=0))
            apart[picked[0][1]] = -np.inf
            picked.append(("different", int(apart.argmax())))
        for kind, place in picked:
            _, source, line, tokens, at = occurrences[place]
            left, right = tokens[max(0, at - AROUND) : at], tokens[at + 1 : at + 1 + AROUND]
            yield Example(
                text,
                kind,  # type: ignore[arg-type]
                showable_name(source),
                line,
                ("… " if at > AROUND else "") + " ".join(left),
                word,
                " ".join(right) + (" …" if len(tokens) > at + 1 + AROUND else ""),
            )


def numbered_lines(text: Any, options: TextOptions) -> Iterator[tuple[str, int, Line]]:
    """Yield source, number and content of each line of a text, as far as it can be read again."""
    fields, encoding = field_names(options.field), options.encoding
    if isinstance(text, Documents):
        if text.paths is None:
            for number, document in enumerate(text, 1):
                for line, content in enumerate(document, 1):
                    yield f"document {number}", line, content
            return
        text, fields, encoding = text.paths, text.fields, text.encoding
    paths = [text] if isinstance(text, str | os.PathLike) else text
    if isinstance(paths, Iterable) and not isinstance(paths, list | tuple):
        return
    if not all(isinstance(one, str | os.PathLike) for one in paths):
        yield from (("sentence", number, content) for number, content in enumerate(paths, 1))
        return
    try:
        for path in find_files(paths):
            yield from ((path, number, line) for number, _, line in located_lines(path, fields, encoding))
    except (DataError, OSError):
        return  # no examples from a text that cannot be read again; the words were judged without them


# A capital after one of these tokens may only begin a sentence, a quotation or a heading.
ENDS = frozenset(".!?:;…\"'“”‘’«»()[]—-*_")


def names(texts: Sequence[Any], options: TextOptions) -> set[str]:
    """Return the words of texts that have a capital in more than half of their places inside sentences."""
    inside: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in texts:
        for _, _, line in numbered_lines(text, options):
            tokens = tokenize(line, options.tokenizer, lowercase=False) if isinstance(line, str) else line
            for before, token in pairwise(tokens):
                if before in ENDS:
                    continue
                word = token.lower() if options.lowercase else token
                inside[word] += 1
                capital[word] += token[:1].isupper()
    return {word for word, n in capital.items() if 2 * n > inside[word]}
