"""The pages as files: limits on their length, links, and what a page of measurements must name."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import study

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MOST_WORDS_OF_A_DECISION = 200
MOST_LINES_OF_THE_README = 120
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
EXERCISES = sorted((DOCS / "exercises").glob("*.patch"))
MEASUREMENTS = [page for page in sorted((DOCS / "measurements").glob("*.md")) if page.name != "index.md"]


@pytest.mark.parametrize("page", MEASUREMENTS, ids=lambda page: page.stem)
def test_measurements_name_command_machine_and_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in ("commands?", "machines?", "date"):
        assert re.search(rf"^\| {name} \| \S", text, re.M), f"{page.name} does not name its {name}"


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


def test_relative_links_lead_to_files_of_the_repository() -> None:
    """On GitHub too: links lead to headings that exist, and not to pages that only ``make docs`` writes."""
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    faults = []
    for page in [*pages, *DOCS.rglob("*.md")]:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s]+)|<(?:img|source)[^>]* (?:src|srcset)=\"([^\"]+)", text):
            path, _, anchor = (link[0] or link[1]).partition("#")
            target = page.parent / path if path else page
            if "://" in path or path.startswith("mailto:"):
                continue
            if not target.exists():
                faults.append(f"{page.relative_to(ROOT)}: there is no {path}")
            elif anchor and target.suffix == ".md" and anchor not in _anchors(target):
                faults.append(f"{page.relative_to(ROOT)}: {path} has no #{anchor}")
    assert not faults, "\n".join(faults)


def _anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as GitHub makes them, and of its other anchors."""
    text = page.read_text(encoding="utf-8")
    headings = (
        re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ (.*)$", text, re.M)
    )
    slugs = {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"(?:id=\"|\{ *#)([\w-]+)", text))


@pytest.mark.parametrize("patch", EXERCISES, ids=lambda patch: patch.stem)
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_exercises_apply(patch: Path) -> None:
    """A change of the code around an exercise must also renew the exercise's patch."""
    command = ["git", "apply", "--check", str(patch)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert f"docs/exercises/{patch.name}" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_contributing_names_every_package() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:wordvec_ca/)?(\w+)`", page))
    packages = {path.parent.name for path in (ROOT / "wordvec_ca").glob("*/__init__.py")}
    assert packages <= named, f"the layout does not name {packages - named}"
