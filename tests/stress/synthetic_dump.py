"""Write a made-up MediaWiki dump (.xml.bz2) of any size, with everything that makes real dumps difficult.

Nested templates, tables, references, files and categories, redirects, empty pages, talk pages, broken markup,
pages on which the parser would work for minutes, and one page of 20 MB. The same seed gives the same bytes::

    python tests/stress/synthetic_dump.py dump.xml.bz2 --megabytes 220
    cawv train dump.xml.bz2 -o model
"""

from __future__ import annotations

import argparse
import bz2
import random
from collections.abc import Iterator
from xml.sax.saxutils import escape

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <namespaces>
      <namespace key="-2" case="first-letter">Medium</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Diskussion</namespace>
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""

PAGE = """  <page>
    <title>{title}</title>
    <ns>{ns}</ns>
    <id>{number}</id>{redirect}
    <revision>
      <id>{number}</id>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="{size}" xml:space="preserve">{text}</text>
    </revision>
  </page>
"""


class Author:
    """Writes pages of words that follow Zipf's law."""

    def __init__(self, seed: int, n_words: int = 60_000) -> None:
        self.random = random.Random(seed)
        syllables = ["ka", "lo", "mi", "ne", "ru", "sta", "ven", "tor", "ip", "dal", "qui", "or", "es", "ün"]
        words = [
            "".join(self.random.choice(syllables) for _ in range(self.random.randint(1, 5)))
            for _ in range(n_words)
        ]
        self.pool = self.random.choices(words, [1 / (i + 2) for i in range(n_words)], k=1_000_000)

    def words(self, n: int) -> str:
        """Return n words."""
        start = self.random.randrange(len(self.pool) - n)
        return " ".join(self.pool[start : start + n])

    def sentence(self) -> str:
        """Return a sentence with links, emphasis, a reference now and then."""
        parts = [self.words(self.random.randint(3, 12)).capitalize()]
        for _ in range(self.random.randint(0, 2)):
            parts.append(
                self.random.choice(
                    [
                        f"[[{self.words(2)}|{self.words(1)}]]",
                        f"[[{self.words(1)}]]",
                        f"''{self.words(2)}''",
                        f"'''{self.words(1)}'''",
                        f'<ref name="r{self.random.randrange(99)}">{{{{cite web|url=http://example.org/'
                        f"{self.random.randrange(10**6)}|title={self.words(4)}}}}}</ref>",
                        f"[http://example.org {self.words(2)}]",
                        "&nbsp;&ndash; 3&times;4",
                        f"{{{{convert|{self.random.randrange(99)}|km}}}}",
                    ]
                )
                + " "
                + self.words(self.random.randint(1, 8))
            )
        return " ".join(parts) + "."

    def infobox(self, depth: int = 3) -> str:
        """Return a template with templates in it."""
        inner = self.infobox(depth - 1) if depth else f"[[Datei:{self.words(1)}.jpg|thumb|{self.words(4)}]]"
        rows = "".join(f"| {self.words(1)} = {self.words(2)}\n" for _ in range(4))
        return f"{{{{Infobox {self.words(1)}\n{rows}| list = {inner}\n}}}}\n"

    def table(self) -> str:
        """Return a table, perhaps with another one in a cell."""
        rows = "".join(
            f"|-\n| {self.words(2)} || [[{self.words(1)}]] || {i}\n" for i in range(self.random.randint(2, 9))
        )
        return f'{{| class="wikitable"\n! {self.words(1)} !! {self.words(1)}\n{rows}|}}\n'

    def broken(self) -> str:
        """Return markup that somebody forgot to close, or closed twice."""
        return self.random.choice(
            [
                f"{{{{Box|{self.words(3)}\n", f"[[{self.words(2)}\n", "<ref>" + self.words(3),
                "'''" + self.words(2),
                "{|\n| " + self.words(2) + "\n", "</div></span>", "}}", "]]", "<!-- " + self.words(3) + "\n",
                "<b><i>" + self.words(2) + "</b></i>\n", "&notanentity; &#xZZ;",
            ]
        )  # fmt: skip

    def article(self) -> str:
        """Return an article."""
        text = self.infobox() if self.random.random() < 0.6 else ""
        for _ in range(self.random.randint(1, 6)):
            for _ in range(self.random.randint(1, 4)):
                sentences = " ".join(self.sentence() for _ in range(self.random.randint(2, 9)))
                text += sentences + "\n\n"
            if self.random.random() < 0.3:
                text += self.table()
            if self.random.random() < 0.3:
                text += "".join(f"* {self.sentence()}\n" for _ in range(self.random.randint(2, 6)))
            if self.random.random() < 0.05:
                text += self.broken()
            text += f"== {self.words(2)} ==\n"
        return text + f"[[Kategorie:{self.words(1)}]]\n[[en:{self.words(1)}]]\n"

    def pages(self, n_bytes: int) -> Iterator[str]:
        """Yield the pages of a dump of about ``n_bytes`` bytes."""
        special = [
            ("Monster", "0", "", "[[a|b]] {{c}} and so on " * (20_000_000 // 24)),
            ("Slow templates", "0", "", "{{a|[[b|" * 5_000),
            ("Slow tables", "0", "", "{|\n|-\n| a\n" * 3_000),
            ("Deep", "0", "", "{{" * 20_000 + "text" + "}}" * 20_000),
            ("Empty", "0", "", ""),
            ("Only a template", "0", "", "{{stub}}"),
        ]
        written = number = 0
        while written < n_bytes or special:
            number += 1
            kind = self.random.random()
            title = f"{self.words(2)} {number}"
            if special and written > n_bytes / 10 * (7 - len(special)):
                title, ns, redirect, text = special.pop(0)
            elif kind < 0.2:
                ns, text = "0", f"#WEITERLEITUNG [[{self.words(1)}]]"
                redirect = f'\n    <redirect title="{self.words(1)}" />'
            elif kind < 0.3:
                ns, redirect, text = "1", "", self.article()
            else:
                ns, redirect, text = "0", "", self.article()
            text = escape(text)
            size, title = len(text.encode()), escape(title)
            page = PAGE.format(title=title, ns=ns, number=number, redirect=redirect, size=size, text=text)
            written += len(page.encode())
            yield page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output", help="file to write, .xml.bz2")
    parser.add_argument("--megabytes", type=float, default=220, help="size of the XML (default 220)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    n_bytes = 0
    with bz2.open(options.output, "wb", compresslevel=1) as file:
        n_bytes += file.write(HEAD.encode())
        for page in Author(options.seed).pages(int(options.megabytes * 1e6)):
            n_bytes += file.write(page.encode())
        n_bytes += file.write(b"</mediawiki>\n")
    print(f"{options.output}: {n_bytes / 1e6:,.0f} MB of XML")


if __name__ == "__main__":
    main()
