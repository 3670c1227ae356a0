"""A small table as HTML, which notebooks show for an object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wordvec_ca.files.control_characters import html_text


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; every cell is escaped, so that a word is never read as HTML.

    Parameters
    ----------
    caption : str
        Above the table.
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Cells; numbers stand at the right.
    """

    def cell(value: object) -> str:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        text = f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if number else str(value)
        return f"<td style='text-align:{'right' if number else 'left'}'>{html_text(text[:200])}</td>"

    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    names = "".join(f"<th style='text-align:left'>{html_text(name)}</th>" for name in head)
    return (
        f"<table><caption style='text-align:left'>{html_text(caption)}</caption>"
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    )
