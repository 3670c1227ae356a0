"""What pages tell the reader to type: commands and options exist, and files are made before they are read."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from wordvec_ca.cli import group

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("*/*.md")),
]

ELSEWHERE = {"--user", "--editable", "--num-cpus", "--include-dashboard", "--long"}
"""Options of other programs that pages name without their program."""

YOURS = re.compile(
    r"my\.|other|books/|wiki|enwiki|part-|reviews|lists\.|tokens\.jsonl|saved/|classes\.tsv|flowers|insects|"
    r"pleasant|unpleasant|1900|1950|2000|more\.txt|new\.txt|mine|corpus|model|MODEL|python\.txt|text|t\.txt"
)
"""Names of the reader's own files, which no page makes."""

FILE = re.compile(
    r"[\w./*-]*\w\.(?:txt|tsv|jsonl|json|csv|npy|kv|bin|toml|html|svg|model|parquet|vec|patch)\b"
)
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.M | re.S)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each ``cawv`` command in blocks of code and in code within a line."""
    blocks = [body.replace("\\\n", " ") for kind, body in FENCE.findall(text) if kind not in ("python", "py")]
    blocks += re.findall(r"^    (cawv [^\n]+)$", text, re.M)
    inline = [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", FENCE.sub("", text))]
    for line in [*"\n".join(blocks).splitlines(), *inline]:
        if (found := re.match(r"(?:\$ )?(?:\w+=\S+ )*cawv (.*)", line.strip())) is not None:
            yield re.split(r" (?:[|&;#>]|2>|\d>)", found[1])[0].split()


@functools.cache
def options() -> dict[str, set[str]]:
    """Return the options of each command."""
    found = {}
    context = click.Context(group, info_name="cawv")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        params = command.get_params(click.Context(command, info_name=name))
        found[name] = {flag for param in params for flag in (*param.opts, *param.secondary_opts)}
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_options_exist(page):
    text = page.read_text(encoding="utf-8").partition("\n## Exercises\n")[0]  # exercises add options
    known = options()
    anywhere = set().union(*known.values()) | ELSEWHERE
    faults = []
    for name, *words in commands(text):
        if name.startswith("-") or not name.islower() or name in ("help", "command"):
            continue
        if name not in known:
            faults.append(f"cawv {name}")
            continue
        flags = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        faults += [f"cawv {name} {flag}" for flag in flags - known[name]]
    for span in re.findall(r"`(--[a-z][\w-]*)", FENCE.sub("", text)):
        faults += [span] if span not in anywhere else []
    assert not faults, f"{page.name}: there is no {', '.join(faults)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_are_made_by_the_page_or_exist(page):
    text = page.read_text(encoding="utf-8")
    python = "\n".join(body for kind, body in FENCE.findall(text) if kind in ("python", "py"))
    made = set(re.findall(r"(?:-o|--output|--page|--plot|--save-fit|>)[ =]([\w./-]+)", text))
    made |= {name.format(part=part, name=part) for name in re.findall(r"[\"']([\w.{}/-]+\.\w+)[\"']", python)
             for part in ("train", "test", "python", "scipy", "functions", "tomorrow")}  # fmt: skip
    read = {name for words in commands(text) for name in FILE.findall(" ".join(words))}
    faults = {
        name
        for name in read - made
        if not YOURS.match(name.split("//")[-1].removeprefix("example.org/"))
        and not (ROOT / name).exists()
        and "*" not in name
        and name.split("/")[0] not in made
    }
    assert not faults, f"{page.name} names {sorted(faults)}, which it does not make"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_of_the_repository_exist(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    named = re.findall(
        r"`(?:python )?((?:scripts|tests|wordvec_ca|kernels|eval|docs|\.github|\.ci)/[\w./-]+)", text
    )
    missing = {name for name in named if not (ROOT / name).exists()}
    assert not missing, f"{page.name} names {sorted(missing)}"
