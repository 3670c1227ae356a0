"""The pages as files: limits on their length, links, and what the record of a study must name."""

import json
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
MOST_WORDS = 40_000
DECISIONS = sorted((DOCS / "decisions").glob("0*.md"))
EXERCISES = sorted((DOCS / "exercises").glob("*.patch"))
RECORDS = sorted((DOCS / "evidence" / "data").glob("*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_records_name_command_machine_and_date_and_have_rectangular_tables(path):
    sections = json.loads(path.read_text("utf-8"))["sections"]
    for name in ("command", "machine", "date"):
        heads = [key for section in sections for key in section["head"]]
        assert any(key.startswith(name) for key in heads), f"{path.name} does not name its {name}"
    for table in study.tables_of(path.stem):
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}, table["columns"]


def test_each_record_has_a_paragraph_that_leads_to_it():
    index = (DOCS / "evidence" / "index.md").read_text("utf-8")
    found = re.findall(r'<a id="([\w-]+)"></a>.*?\(data/([\w-]+)\.json\)', index, re.S)
    assert all(anchor == record for anchor, record in found)
    assert {record for _, record in found} == {path.stem for path in RECORDS}


def test_a_script_replaces_its_section_and_nothing_else(tmp_path, monkeypatch):
    place, script = tmp_path / "record.json", str(ROOT / "scripts" / "bench.py")
    monkeypatch.setattr(sys, "argv", [script, "--data", "/somewhere", "--repeat", "3"])
    body = "Some text.\n\n" + study.table(("a", ""), [(1, "x | y".replace("|", r"\|")), ("", 2)])
    study.write_section(place, "Title", "one", "first", seconds=90)
    study.write_section(place, "Title", "two", "second")
    study.write_section(place, "Title", "one", body)
    one, two = json.loads(place.read_text("utf-8"))["sections"]
    assert (one["name"], two["name"], two["parts"]) == ("one", "two", ["second"])
    assert one["parts"] == ["Some text.", {"columns": ["a", ""], "rows": [["1", r"x \| y"], ["", "2"]]}]
    assert one["head"]["command"] == "python scripts/bench.py --repeat 3"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["head"]["date"])


def test_pages_are_short():
    """What people write by hand can be read in an afternoon; tables of studies are data."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert sum(words.values()) <= MOST_WORDS
    assert not [page.name for page in DECISIONS if words[page] > MOST_WORDS_OF_A_DECISION]
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= MOST_LINES_OF_THE_README


def test_relative_links_lead_to_files_of_the_repository():
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
def test_exercises_apply(patch):
    """A change of the code around an exercise must also renew the exercise's patch."""
    command = ["git", "apply", "--check", str(patch)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert f"docs/exercises/{patch.name}" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_contributing_names_every_package():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:wordvec_ca/)?(\w+)`", page))
    packages = {path.parent.name for path in (ROOT / "wordvec_ca").glob("*/__init__.py")}
    assert packages <= named, f"the layout does not name {packages - named}"
