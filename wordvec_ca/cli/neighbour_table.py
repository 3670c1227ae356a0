"""How ``cawv nn`` and ``cawv analogy`` read words and show neighbours."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from wordvec_ca.cli.output import say, styled
from wordvec_ca.cli.terminal import LONGEST, Column, cell, table
from wordvec_ca.errors import DataError
from wordvec_ca.files import whole_lines
from wordvec_ca.vectors import (
    COVERAGE,
    SHOWN_COVERAGE,
    KeyedVectors,
    Neighbours,
    Term,
    shown_interval,
    sum_terms,
)

# Explanation of the columns from resampled models.
MEANING = f"""\
interval: 90 % range of the score in one run on other text, mostly lower than that of the mean of several
runs; {SHOWN_COVERAGE} of such intervals contained it, fewest for frequent words in short
texts; agreement: how many of the runs have the word"""


def each_word(words: Sequence[str]) -> Iterator[str]:
    """Yield the words; ``-`` stands for the non-empty lines of standard input."""
    for word in words:
        if word == "-":
            for line in whole_lines(iter(lambda: sys.stdin.buffer.readline(1 << 16), b"")):
                entry = line.decode("utf-8", "surrogateescape").strip()
                if entry:
                    yield entry
        else:
            yield word


def neighbour_records(neighbours: Neighbours) -> list[dict[str, Any]]:
    """Return neighbours for JSON, with interval and agreement if there are resampled models."""
    records: list[dict[str, Any]] = []
    for one in neighbours:
        records.append({"word": one.word, "score": round(one.score, 6)})
        if neighbours.models:
            ends = {"low": round(one.low, 6), "high": round(one.high, 6)}
            # beside each interval of 90 %, as a program does not read the lines below the table
            records[-1] |= {**ends, "coverage": list(COVERAGE)}
            records[-1] |= {"agreement": one.agreement, "models": neighbours.models}
    return records


def neighbour_table(vectors: KeyedVectors, title: str, neighbours: Neighbours) -> str:
    """Return a table with rank, word and score and, if known, interval, agreement and count."""
    heading = styled(cell(title, 3 * LONGEST), "query")
    if not neighbours:
        return f"{heading}\n   (none)"
    columns = [Column("", 4, right=True, style="aside"), Column("word"), Column("score", right=True)]
    rows = [[str(i), one.word, f"{one.score:.4f}"] for i, one in enumerate(neighbours, 1)]
    if neighbours.models:
        columns += [Column("interval"), Column("agreement", right=True)]
        for row, one in zip(rows, neighbours, strict=True):
            row += [shown_interval(one.low, one.high), f"{one.agreement}/{neighbours.models}"]
    if vectors.counts is not None:
        columns.append(Column("count", right=True, spare=1, style="aside"))
        for row in rows:
            row.append(f"{vectors.get_vecattr(row[1], 'count'):,}")
    meaning = styled(f"\n{MEANING}", "aside") if neighbours.models else ""
    return f"{heading}\n{table(columns, rows)}{meaning}"


def look_up(vectors: KeyedVectors, word: str) -> str | None:
    """Return the form of a word that has a vector: as written, or else in lower case, with a notice."""
    known = vectors.known_form(word)
    if known is not None and vectors.get_index(known, -1) < 0:
        say(f"{known!r} is not in the vocabulary; its vector is made of its n-grams")
        return known
    if known is not None and known != word:
        say(f"{word!r} has no vector; answering for {known!r}")
    return known


def look_up_sum(vectors: KeyedVectors, text: str) -> list[Term]:
    """Return the terms of a sum of words (or of one word), each in the form that has a vector."""

    def is_known(word: str) -> bool:
        form = vectors.known_form(word)
        return form is not None and vectors.get_index(form, -1) >= 0  # n-grams alone do not count

    known = [(term, look_up(vectors, term.word)) for term in sum_terms(text, is_known)]
    unknown = [unknown_word(vectors, term.word) for term, form in known if form is None]
    if unknown:
        parts = text.split("-")
        if len(known) == 1 and len(parts) > 1 and all(map(is_known, parts)):
            unknown.append(f"for a difference put spaces around the sign: {cell(repr(' - '.join(parts)))}")
        raise DataError("\n".join(unknown))
    return [Term(form, term.sign) for term, form in known if form is not None]


def unknown_word(vectors: KeyedVectors, word: str) -> str:
    """Return the message for a word without a vector, with words of similar spelling."""
    close = vectors.close_spellings(word)
    hint = f"did you mean {', '.join(map(cell, close))}?" if close else "no known word is spelled like it"
    return f"the word {cell(repr(word), 2 * LONGEST)} has no vector among the {len(vectors):,} words; {hint}"
