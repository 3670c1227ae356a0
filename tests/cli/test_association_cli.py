"""The command `cawv axis`, with poles and with lists: tables, JSON, plot, warnings, wrong usage."""

import json
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import KeyedVectors


@pytest.fixture
def model(command):
    """Return vectors of words about 20 subjects, and of pairs of poles, in a file."""
    rng = np.random.default_rng(0)
    middles = rng.normal(size=(20, 10))
    words = [f"t{t}w{i}" for i in range(15) for t in range(20)]
    rows = [middles[t] + 0.7 * rng.normal(size=10) for _ in range(15) for t in range(20)]
    for i in range(3):
        words += [f"low{i}", f"high{i}"]
        rows += [middles[0] + 0.3 * rng.normal(size=10), middles[1] + 0.3 * rng.normal(size=10)]
    KeyedVectors(words, np.array(rows, np.float32)).save("m.kv")
    return "m.kv"


def test_words_are_put_on_an_axis(command, model):
    pairs = ("low0:high0", "low1:high1", "low2:high2")
    outcome = command("axis", model, *pairs, "--words", "t1w3,t0w3,nothing", "--plot", "a.svg").says(0)
    lines = outcome.out.splitlines()
    assert (
        lines[0] == "low0 … high0 and 2 pairs; 3 of 3 pairs fall on their sides when the others make the axis"
    )
    assert [line.split()[0] for line in lines[1:]] == ["word", "t0w3", "t1w3"]
    assert "without a vector: nothing" in outcome.err
    svg = Path("a.svg").read_text(encoding="utf-8")
    assert svg.count("<circle") == 2
    assert ">t0w3<" in svg
    assert "<tspan>low0</tspan>" in svg
    assert "<tspan>high0</tspan>" in svg
    Path("pairs.txt").write_text("\n".join(pairs))
    records = command(
        "axis", model, model, "--pairs", "pairs.txt", "--words", "t1w3", "--json"
    ).out.splitlines()
    assert [json.loads(record)["word"] for record in records] == ["t1w3", "t1w3"]
    assert json.loads(records[0])["value"] > 0.3
    several = (model, model, model, "--pairs", "pairs.txt", "--words", "t1w3,t0w3", "--plot", "curves.svg")
    assert command("axis", *several).code == 0
    curves = Path("curves.svg").read_text(encoding="utf-8")
    assert curves.count('class="mark0"') == curves.count("<polygon") == 2


def test_lists_are_compared_with_random_ones(command, model):
    lists = ["--targets", "t2w1,t2w2,t2w3,t2w4", "t3w1,t3w2,t3w3,zz"]
    lists += ["--attributes", "t4w1,t4w2,t4w3", "t5w1,t5w2,t5w3"]
    outcome = command("axis", model, *lists, "--random-lists", "99").says(0)
    assert outcome.out.splitlines()[1].startswith("effect-size")
    assert "random lists" in outcome.out
    assert "Warning: B: 1 of 4 words have no vector: zz" in outcome.err
    record = command("axis", model, *lists, "--random-lists", "99", "--json").json
    assert record["n_random"] == 99
    assert record["missing"][1] == ["zz"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("axis", "m.kv", "--words", "a"), "give pairs of poles, such as he:she"),
        (("axis", "low0:high0", "--words", "a"), "none of low0:high0 is a model"),
        (("axis", "m.kv", "low0", "--words", "a"), "'low0' is neither a model nor a pair of poles"),
        (("axis", "m.kv", "low0:low0", "--words", "a"), "'low0:low0' is not a pair of two different words"),
        (("axis", "m.kv", "low0:high0", "--words", "words.txt"), "words.txt: no such file"),
        (("axis", "m.kv", "low0:high0", "--words", "a", "--plot", "a.png"), "'a.png' does not end in .svg"),
        (("axis", "m.kv", "--targets", "a", "b"), "give --targets A B and --attributes X Y"),
        (("axis", "m.kv", "--targets", "a,b", "--attributes", "x", "y"), "two lists are needed"),
        (("axis", "m.kv", "--published", "x"), "no published test 'x'"),
        (("axis", "m.kv", "--published", "math-arts"), "list A has 0 word(s) with a vector of 8"),
    ],
)
def test_wrong_usage_says_what_to_do(command, model, arguments, message):
    outcome = command(*arguments)
    assert outcome.code in (1, 2)
    assert message in outcome.err.replace("\n", " ")
