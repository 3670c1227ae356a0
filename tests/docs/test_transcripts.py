"""README and the guides show real output: every block is run, and its output compared."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    DOCS / "first-vectors.md",
    DOCS / "long-runs.md",
    *sorted((DOCS / "guides").glob("*.md")),
]


def module(name: str) -> ModuleType:
    """Import a module of this folder, whatever pytest's import mode."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # dataclasses look up their module there
    spec.loader.exec_module(made)
    return made


transcripts = module("transcripts")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_does_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    follow(page, tmp_path)


def follow(page: Path, folder: Path) -> None:
    """Do what a page shows, in a folder."""
    session = transcripts.Session(folder)
    found = list(transcripts.blocks(page.read_text(encoding="utf-8")))
    assert found, f"{page} shows nothing that could be run"
    for block in found:
        if block.runs:
            problem = session.run(block)
            assert not problem, f"{page.relative_to(ROOT)}, line {block.line}\n{problem}"


# ---- the checker itself: it must see a difference ---------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "printed", "mark"),
    [
        ("one\ntwo", "one\ntwo\n", ""),
        ("one …", "one thing", ""),
        ("one\n…\nfour", "one\ntwo\nthree\nfour", ""),
        ("one\n…", "one", ""),
        ("loss 2.5  -3 words", "loss 12.25   4 words", "figures vary"),
        (
            "7 read in …; as in …/long, done in … s",
            "8 read in 1 s; as in /a/long, done in 3 s",
            "figures vary",
        ),
        ("1 cat 0.8\n2 dog 0.7", "1 cat 0.6\n2 cow 0.5", "words vary"),
    ],
)
def test_what_agrees(shown, printed, mark):
    assert not transcripts.differs(shown, printed, mark)


@pytest.mark.parametrize(
    ("shown", "printed", "mark"),
    [
        ("one\ntwo", "one\n2", ""),
        ("one\ntwo", "one", ""),
        ("one", "one\ntwo", ""),
        ("one … three", "one two", ""),
        ("one\n…\nfour", "one\ntwo", ""),
        ("loss 2.5", "lost 2.5", "figures vary"),
        ("loss 2.5", "loss nan", "figures vary"),
        ("1 cat 0.8\n2 dog 0.7\n3 ape 0.7", "1 cat 0.6\n2 cow 0.5\n3 hen 0.3", "words vary"),
        ("1 cat 0.8\n2 dog 0.7", "1 cat 0.6", "words vary"),
    ],
)
def test_what_differs(shown, printed, mark):
    assert transcripts.differs(shown, printed, mark)


def test_blocks_are_found_with_their_marks_and_output():
    page = (
        "# Page\n\n<!-- figures vary -->\n```console\n$ echo 1 \\\n    2\n1 2\n$ true\n```\n\n"
        "```python\nprint(3)\n```\n\n```text\n3\n```\n\n```sh\nignored\n```\n"
        "<!-- not run: long -->\n```console\n$ x\n```\n"
    )
    console, python, long = transcripts.blocks(page)
    assert (console.mark, console.line) == ("figures vary", 3)
    assert list(transcripts.commands(console.body)) == [("echo 1 \\\n    2", "1 2"), ("true", "")]
    assert python.output == "3\n"
    assert not long.runs


def test_a_wrong_page_is_found(tmp_path):
    session = transcripts.Session(tmp_path)
    right, wrong, failing = transcripts.blocks(
        "```console\n$ echo a > file; cat file\na\n```\n"
        "```console\n$ echo a\nb\n```\n```console\n$ false\n```\n"
    )
    assert not session.run(right)
    assert (tmp_path / "file").exists()
    assert "printed:\na" in session.run(wrong)
    assert "exit code 1" in session.run(failing)
