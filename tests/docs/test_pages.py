"""The pages as files: short where they are to be short, complete where a reader counts on it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import study

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MOST_WORDS_OF_A_DECISION = 300
MOST_LINES_OF_THE_README = 120
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
MEASUREMENTS = [page for page in sorted((DOCS / "measurements").glob("*.md")) if page.name != "index.md"]


@pytest.mark.parametrize("page", MEASUREMENTS, ids=lambda page: page.stem)
def test_measurements_name_command_machine_and_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in ("commands?", "machines?", "date"):
        assert re.search(rf"^\| {name} \| \S", text, re.M), f"{page.name} does not name its {name}"
    scripts = re.findall(r"python ((?:scripts|tests)/[\w/]+(?:\.py)?)", text)
    scripts = scripts or re.findall(r"`make (\w+)", text)
    assert scripts, f"{page.name} names no script"
    for script in scripts:
        assert (ROOT / script).exists() or script == "bench", f"{page.name}: there is no {script}"


def test_every_measurement_is_listed() -> None:
    index = (DOCS / "measurements" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(([\w-]+\.md)\)", index)) == {page.name for page in MEASUREMENTS}


def test_a_script_replaces_its_section_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "measurements" / "page.md"
    script = str(ROOT / "scripts" / "bench.py")
    monkeypatch.setattr(sys, "argv", [script, "--data", "/somewhere", "--repeat", "3"])
    study.write_section(page, "Title", "one", "first", seconds=90)
    study.write_section(page, "Title", "two", "second")
    page.write_text(
        page.read_text("utf-8").replace("# Title\n", "# Title\n\nWritten by a person.\n"), "utf-8"
    )
    study.write_section(page, "Title", "one", "third")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Title\n\nWritten by a person.\n")
    assert "first" not in text
    assert text.index("third") < text.index("<!-- end one -->") < text.index("second")
    assert "| command | `python scripts/bench.py --repeat 3` |" in text
    assert re.search(r"\| date \| \d{4}-\d\d-\d\d \|", text)
    assert "/somewhere" not in text


def test_links_between_the_pages_outside_the_site_exist() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert "://" in link or (ROOT / link).exists(), f"{page.name}: {link}"
