"""``cawv eval`` and ``cawv compare`` from the command line: results, missing data, malformed files."""

import json

import numpy as np
import pytest
from click import Context
from click.testing import CliRunner

from wordvec_ca import KeyedVectors, TrainConfig, train
from wordvec_ca.cli.compare import command as compare
from wordvec_ca.cli.eval import command as evaluate
from wordvec_ca.eval.suite import TASKS, plan, shipped_with_gensim
from wordvec_ca.eval.suite import run as run_jobs


@pytest.fixture
def folder(tmp_path):
    """Return a small data folder in the documented layout, with two models beside it."""
    rng = np.random.default_rng(0)
    words = [f"{kind}{i}" for kind in ("noun", "verb") for i in range(20)]
    for model, noise in (("good", 0.3), ("bad", 30.0)):
        matrix = np.repeat(np.eye(2), 20, axis=0) @ rng.normal(size=(2, 6)) + noise * rng.normal(size=(40, 6))
        lines = [
            f"{word} {' '.join(f'{x:.5f}' for x in row)}" for word, row in zip(words, matrix, strict=True)
        ]
        (tmp_path / f"{model}.txt").write_text(f"40 6\n{chr(10).join(lines)}\n")
    data = tmp_path / "data"

    def write(name, text):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text)

    def text(n):
        return [[str(w) for w in rng.choice(words, 8)] for _ in range(n)]

    pairs = [(*rng.choice(words, 2),) for _ in range(150)]
    write("wordsim/pairs.tsv", "".join(f"{a}\t{b}\t{int(a[:4] == b[:4])}\n" for a, b in pairs))
    write("analogy/q.txt", ": s\n" + "".join(f"noun{i} verb{i} noun{i + 1} verb{i + 1}\n" for i in range(19)))
    write("categorization/c.tsv", "".join(f"{word}\t{word[:4]}\n" for word in words))
    for part, n in (("train", 60), ("test", 30)):
        write(
            f"pos/tiny.{part}.tsv",
            "\n\n".join("\n".join(f"{w}\t{w[:4].upper()}" for w in sentence) for sentence in text(n)) + "\n",
        )
        write(
            f"sentences/sst/binary.{part}.tsv",
            "".join(f"{int(sum(w[0] == 'v' for w in s) > 4)}\t{' '.join(s)}\n" for s in text(2 * n)),
        )
    for name in ("sts2012/a", "sick/trial"):
        write(
            f"sentences/{name}.tsv",
            "".join(f"{i % 5}\t{' '.join(a)}\t{' '.join(a[:4])}\n" for i, a in enumerate(text(30))),
        )
    write("pos/brown.tsv", "a\tNN\n")
    return tmp_path


def run(command, *arguments):
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_everything_in_a_folder_runs_from_one_command(folder):
    result = run(evaluate, folder / "good.txt", "--data", folder / "data", "--json", "--controls")
    reports = list(map(json.loads, result.stdout.splitlines()))
    real = {r["task"]: r for r in reports if r["model"].endswith("good.txt")}
    given = {name for name, task in TASKS.items() if task.by_default and task.in_folder(folder / "data")}
    assert set(real) == given > {"similarity", "analogy", "pos-induction", "tagging", "sentiment", "sts"}
    for report in reports:
        (name, metric), *_ = report["metrics"].items()
        assert report["n"] > 0
        assert 0 <= report["coverage"] <= 1
        assert report["seed"] == 1
        assert report["protocol"]
        assert metric["value"] is not None, (report["task"], name)
        assert metric["low"] <= metric["value"] + 1e-9
        assert metric["value"] <= metric["high"] + 1e-9
        assert "items" not in report
    assert real["pos-induction"]["metrics"]["v-measure"]["value"] > 0.9
    assert real["pos-induction"]["dataset"] == "tiny.test"
    floor = next(r for r in reports if r["task"] == "tagging" and "random" in r["model"])
    assert floor["metrics"]["accuracy"]["value"] < real["tagging"]["metrics"]["accuracy"]["value"]
    assert "[1/8] similarity pairs" in result.stderr
    assert "restart 10 of 10" in result.stderr
    assert "60 training sentences: " in result.stderr
    assert "brown: its 472 tags" in result.stderr


def test_a_table_names_what_is_missing_and_where_to_get_it(folder):
    result = run(
        evaluate,
        folder / "good.txt",
        "--data",
        folder / "data" / "wordsim",
        "--tasks",
        "sts,sick,similarity",
        "--similarity",
        folder / "data/wordsim/pairs.tsv",
        "-q",
    )
    assert "spearman" in result.stdout
    assert "95 % interval" in result.stdout
    assert "sts: needs sentences/sts20YY/*.tsv" in result.stdout
    assert "sick: needs sentences/sick/test.tsv" in result.stdout
    assert "SICK is at zenodo.org" in result.stdout
    assert result.stderr == ""


def test_files_alone_choose_their_tasks(folder):
    result = run(evaluate, folder / "good.txt", "--similarity", folder / "data/wordsim/pairs.tsv", "--json")
    assert [report["task"] for report in map(json.loads, result.stdout.splitlines())] == ["similarity"]
    with pytest.raises(ValueError, match=r"not enough for tagging, which needs NAME\.train"):
        run(evaluate, folder / "good.txt", "--tagging", folder / "data/pos/tiny.train.tsv")


def test_without_data_the_sets_of_gensim_are_planned():
    pytest.importorskip("gensim")
    assert set(shipped_with_gensim()) == {"similarity", "analogy"}
    jobs, missing = plan()
    assert [(job.task, job.dataset) for job in jobs] == [
        ("similarity", "wordsim353"),
        ("similarity", "simlex999"),
        ("analogy", "questions-words"),
    ]
    assert {entry.task for entry in missing} == {*TASKS} - {"similarity", "analogy", "bilstm-tagging"}


def test_options_and_suite_know_the_same_tasks():
    options = [name[2:] for parameter in evaluate.get_params(Context(evaluate)) for name in parameter.opts]
    of_tasks = [task.option for task in TASKS.values()]
    assert [name for name in options if name in of_tasks] == of_tasks


def test_wrong_usage_and_malformed_files(folder):
    model = folder / "good.txt"
    result = run(evaluate, model, "--tasks", "similarity,poetry")
    assert result.exit_code == 2
    assert "'poetry' is not a task" in result.output
    result = run(evaluate, model, "--tasks", "sts")
    assert result.exit_code == 2
    assert "nothing to run" in result.output
    (folder / "data/wordsim/pairs.tsv").write_text("a\tb\n")
    with pytest.raises(ValueError, match=r"pairs\.tsv, line 1: 2 column\(s\)"):
        run(evaluate, model, "--data", folder / "data")


MALFORMED = {
    "wordsim/x.tsv": ("old\tnew\t1\nold\tnew\n", "line 2: 2 column(s)"),
    "analogy/x.txt": (": s\na b c\n", "line 2: 3 word(s)"),
    "categorization/x.tsv": ("cat\tanimal\ndog\n", "line 2: 'dog' is not two columns"),
    "sentences/sick/test.tsv": ("pair_ID\tsentence_A\n1\ta\n", "line 1: the header"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_of_any_format_ends_with_its_name_and_line(tmp_path, command, name):
    """The exit code is 1, with one message; the model has the words without which nothing would be judged."""
    text, message = MALFORMED[name]
    (tmp_path / "data" / name).parent.mkdir(parents=True)
    (tmp_path / "data" / name).write_text(text)
    model = tmp_path / "model.txt"
    model.write_text("3 2\na 1 0\nb 0 1\nc 1 1\n")
    done = command("eval", model, "--data", tmp_path / "data", "-q")
    done.says(1, f"{name.rpartition('/')[2]}, {message}")
    assert done.out == ""


def test_data_in_another_language_are_named_and_the_rest_is_run(folder, command):
    words = "".join(f"chat{i}\t{'xy'[i % 2]}\n" for i in range(9))
    (folder / "data/categorization/french.tsv").write_text(words)
    (folder / "data/pos/french.tsv").write_text("".join(f"chat{i}\tN\n\n" for i in range(9)))
    result = run(
        evaluate,
        *(folder / "good.txt", "--data", folder / "data", "--tasks", "categorization,pos-induction"),
        "--details",
    )
    assert "* categorization: french: 0 of 9 words have vectors" in result.stdout
    assert "* pos-induction: french: none of its 9 words has a vector" in result.stdout
    assert "purity" in result.stdout
    assert "many-to-one" in result.stdout
    french = folder / "data/categorization/french.tsv"
    command("eval", folder / "good.txt", "--categorization", french).says(1, "nothing could be judged")


def test_vectors_of_gensim_are_judged_like_ours(folder):
    """A gensim object, word2vec's binary format and GloVe's without a header give the results of the text."""
    gensim = pytest.importorskip("gensim.models")
    theirs = gensim.KeyedVectors.load_word2vec_format(str(folder / "good.txt"))
    theirs.save_word2vec_format(str(folder / "good.bin"), binary=True)
    headless = (folder / "good.txt").read_text().partition("\n")[2]
    (folder / "glove.txt").write_text(headless)
    jobs, _ = plan(folder=folder / "data")
    assert len({job.task for job in jobs}) == 8
    expected = [report.value for report in run_jobs(KeyedVectors.load(folder / "good.txt"), jobs)]
    others = [theirs, KeyedVectors.load(folder / "good.bin"), KeyedVectors.load(folder / "glove.txt")]
    for vectors in others:
        found = [report.value for report in run_jobs(vectors, jobs)]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_two_models_are_compared_directly_and_from_saved_reports(folder):
    options = ("--data", folder / "data", "--tasks", "similarity,pos-induction,tagging,sentiment")
    result = run(compare, folder / "bad.txt", folder / "good.txt", *options, "--json")
    found = list(map(json.loads, result.stdout.splitlines()))
    assert [d["task"] for d in found] == ["similarity", "pos-induction", "tagging", "sentiment"]
    assert {d["verdict"] for d in found if d["task"] != "sentiment"} == {"better"}
    for name in ("good", "bad"):
        saved = run(evaluate, folder / f"{name}.txt", *options, "--json", "--items")
        (folder / f"{name}.json").write_text(saved.stdout)
    result = run(compare, folder / "bad.json", folder / "good.json", "--json")
    again = list(map(json.loads, result.stdout.splitlines()))
    for one, other in zip(found, again, strict=True):
        assert one["difference"] == pytest.approx(other["difference"])
        assert one["holm"] == pytest.approx(other["holm"])
    same = run(compare, folder / "good.json", folder / "good.json")
    assert same.stdout.count(" tie") >= 4


def test_compare_names_the_options_that_differ_and_the_items_that_are_left_out(folder):
    (folder / "text.txt").write_text("We saw Paris and Rome and trees and rivers there\n" * 60)
    (folder / "pairs.tsv").write_text("paris\trome\t3\ntrees\trivers\t2\nparis\ttrees\t1\nrome\tmars\t0\n")
    for lowercase in (True, False):
        config = TrainConfig(vector_size=4, min_count=1, epochs=1, lowercase=lowercase, workers=1)
        train(folder / "text.txt", config).save(folder / f"lower-{lowercase}")
    result = run(compare, folder / "lower-True", folder / "lower-False", "--similarity", folder / "pairs.tsv")
    assert "lowercase True / False" in result.stderr
    assert " 3 of 4 " in result.stdout
    assert "Holm, " not in result.stdout, "one comparison is not adjusted"
