"""What commands print for a model of ``cawv train --resamples``."""

import random
from pathlib import Path

import pytest
import study

from wordvec_ca import KeyedVectors
from wordvec_ca.vectors import COVERAGE, SHOWN_COVERAGE


@pytest.fixture
def model(command, tmp_path):
    """Return an attention model with three resampled models."""
    rng = random.Random(1)
    lines = [
        " ".join(f"w{(start + 3 * i) % 40}" for i in range(9)) for start in rng.choices(range(40), k=300)
    ]
    Path("c.txt").write_text("\n".join(lines) + "\n")
    Path("pairs.tsv").write_text("".join(f"w{i}\tw{(i * 7) % 40}\t{i % 10}\n" for i in range(30)))
    options = "--model cbow-attn --resamples 3 --epochs 2 -q --vector-size 16 --window 3 --workers 1 -o m"
    assert command("train", "c.txt", *options.split()).out == "m\n"
    return tmp_path / "m"


def test_every_command_says_how_sure_it_is(command, model):
    record = command("nn", model, "w7", "--json", "-n", 3).json
    for one in record["neighbours"]:
        assert one["low"] <= one["high"]
        assert 0 <= one["agreement"] <= one["models"] == 3
        assert 0.5 < one["coverage"][0] < one["coverage"][1] < 1
    for held in (command("nn", model, "w7").out, KeyedVectors.load(model).neighbours("w7")._repr_html_()):
        assert SHOWN_COVERAGE in held
    answers = command("analogy", model, "w1", "w2", "w3", "--json").json["answers"]
    assert sum(one["agreement"] for one in answers) <= 3  # each model has only one nearest word
    context = command("attention", model, "w1 w4 w7 w10 w13", "--target", "w7", "--json").json["context"]
    assert all(0 <= one["low"] <= one["high"] <= 1 for one in context)
    [report] = command("eval", model, "--similarity", "pairs.tsv", "--json", "-q").records
    assert len(report["runs"]) == 3
    assert -1 <= report["one_run"][0] < report["one_run"][1] <= 1
    compared = command("compare", model, model, "--similarity", "pairs.tsv", "-q").out
    assert "lines were sampled" in compared
    assert "300 lines" in command("info", model).out
    [alone] = command("eval", model, "--similarity", "pairs.tsv", "--json", "-q", "--no-runs").records
    assert "runs" not in alone
    assert command("report", model).code == 0
    assert SHOWN_COVERAGE in (model / "report.html").read_text(encoding="utf-8")


def test_the_coverage_that_is_shown_is_the_measured_one():
    rows = [
        int(row[2].removesuffix("%"))
        for table in study.tables_of("resamples")
        if table["columns"][0] == "count of the word"
        for row in table["rows"]
    ]
    assert (min(rows) / 100, max(rows) / 100) == COVERAGE


def test_each_model_can_be_exported(command, model):
    assert command("export", model, "--resample", 2, "-o", "second.kv").code == 0
    written = KeyedVectors.load("second.kv")
    assert (written.vectors == KeyedVectors.load(model).resampled(1).vectors).all()
    command("export", model, "--resample", 4, "-o", "x.kv").says(2, "numbered 1 to 3")
