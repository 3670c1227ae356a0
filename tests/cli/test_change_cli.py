"""The command `cawv change`: table, JSON, page and plot; wrong usage ends at once."""

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

SMALL = ("-d", "12", "--epochs", "4", "--permutations", "40", "--workers", "1")


@pytest.fixture
def texts(command):
    """Return two texts whose lines have one topic each; in the second text two words are exchanged."""
    rng = np.random.default_rng(0)
    for name in ("old.txt", "new.txt"):
        topics = rng.integers(6, size=700)
        lines = [" ".join(f"t{topic}w{i}" for i in rng.integers(12, size=9)) for topic in topics]
        text = "\n".join(lines) + "\n"
        if name == "new.txt":
            text = text.replace("t0w1 ", "x ").replace("t1w1 ", "t0w1 ").replace("x ", "t1w1 ")
        Path(name).write_text(text)
    return Path("old.txt"), Path("new.txt")


def test_words_that_changed_are_shown_and_written(command, texts):
    outcome = command(
        "change", *texts, *SMALL, "-n", "5", "-o", "t.tsv", "--page", "p.html", "--plot", "p.svg"
    ).says(0)
    lines = outcome.out.splitlines()
    assert lines[0].split()[:2] == ["word", "changed"]
    assert {"t0w1", "t1w1"} < {line.split()[0] for line in lines[1:]}
    assert "rate of 5 %" in outcome.err
    with open("t.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 72
    assert {row["word"] for row in rows if float(row["change"]) > 0.3} == {"t0w1", "t1w1"}
    made = json.loads(Path("t.tsv.provenance.json").read_text())
    assert made["command"].startswith("cawv change old.txt new.txt")
    assert made["seed"] == 1
    assert [one["name"] for one in made["inputs"]] == ["old.txt", "new.txt"]
    assert made["inputs"][0]["sha256"] == hashlib.sha256(Path("old.txt").read_bytes()).hexdigest()
    assert "<svg" in Path("p.svg").read_text()
    assert "t0w1" in Path("p.html").read_text()
    records = command("change", *texts, *SMALL, "--json", "-q").out.splitlines()
    assert [json.loads(line)["word"] for line in records] == [row["word"] for row in rows]
    assert command("change", *texts, *SMALL, "-n", "0", "-q").out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old.txt",), "two texts or more"),
        (("old.txt", "-"), "read twice"),
        (("old.txt", "new.txt", "-o", "x", "--page", "./x"), "is the file of --output, too"),
        (("old.txt", "new.txt", "--plot", "p.png"), "does not end in .svg"),
        (("old.txt", "new.txt", "-o", "-"), "'-' names no file here"),
        (("old.txt", "new.txt", "-o", "old.txt"), "is part of what is read"),
        (("old.txt", "new.txt", "--permutations", "5"), "20"),
    ],
)
def test_wrong_usage_is_said_at_once(command, texts, arguments, message):
    outcome = command("change", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_texts_that_cannot_be_compared_are_refused(command, texts):
    Path("other.txt").write_text(texts[0].read_text().upper())
    command("change", texts[0], "other.txt", "--no-lowercase", *SMALL).says(
        1, "only 0 words occur often enough"
    )
    assert command("train", texts[0], "-d", "12", "--epochs", "1", "-o", "m.model", "-q").code == 0
    outcome = command("change", "m.model", texts[1]).says(
        1, "give the text that it was trained on, or models only"
    )
    outcome = command("change", "m.model", "m.model", "-n", "1")
    assert "with different seeds differ, too" in outcome.err
    outcome = command("change", texts[0], texts[0], *SMALL, "-q").says(0, "the texts have the same lines")


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64])
@pytest.mark.parametrize("name", ["change", "train"])
def test_a_seed_that_cannot_be_is_named_as_it_was_given(command, texts, name, seed):
    given = [*texts, *SMALL] if name == "change" else [texts[0], "-o", "m"]
    command(name, *given, "--seed", seed).says(
        2, f"--seed is {seed}; it must be a whole number from 0 to 9,223,372,036,854,775,807"
    )


def test_a_neighbour_that_was_not_judged_is_on_the_page(command):
    rng = np.random.default_rng(1)
    for name in ("old.txt", "new.txt"):  # a frequent word that only one document has cannot be permuted
        lines = [" ".join(f"w{i}" for i in rng.integers(60, size=12)) for _ in range(700)]
        Path(name).write_text("\n".join([*lines, " ".join(["odd"] * 30)]) + "\n")
    assert command("change", "old.txt", "new.txt", *SMALL, "--page", "p.html", "-q").code == 0
    judged = Path("p.html").read_text().partition('"lost"')[2]
    assert '"odd"' in judged.partition('"trajectory"')[0]


def test_a_failed_page_takes_nothing_with_it(command, texts, monkeypatch):
    def fail(*_):
        raise KeyError("drawing")

    monkeypatch.setattr("wordvec_ca.change.changes_page", fail)
    outcome = command(
        "change", *texts, *SMALL, "-q", "-o", "t.tsv", "--plot", "p.svg", "--page", "p.html"
    ).says(1, "p.html")
    assert "t0w1" in outcome.out
    assert [Path(name).exists() for name in ("t.tsv", "p.svg", "p.html")] == [True, True, False]
