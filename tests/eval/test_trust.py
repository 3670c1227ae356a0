"""Verdicts that can be trusted: common words, many models, biased measures, other questions, lost results."""

import importlib.util
import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from wordvec_ca import DataError, KeyedVectors, TrainConfig, train
from wordvec_ca.cli.compare import command as compare_command
from wordvec_ca.cli.eval import command as eval_command
from wordvec_ca.eval.comparison import compare, comparison_table
from wordvec_ca.eval.controls import common_words, cut_to
from wordvec_ca.eval.data.word_sets import Analogies
from wordvec_ca.eval.lookup import FREQUENT, other_language
from wordvec_ca.eval.report import Metric, Report, reports_in
from wordvec_ca.eval.statistics.crossed import standard_error_of_mean
from wordvec_ca.eval.statistics.paired import paired_difference
from wordvec_ca.eval.statistics.resampling import pearson
from wordvec_ca.eval.statistics.subsamples import subsampled
from wordvec_ca.eval.suite import plan, run
from wordvec_ca.eval.tasks import analogy

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "quality" / "calibration.py"


def calibration():
    spec = importlib.util.spec_from_file_location("calibration", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["calibration"] = module  # dataclasses look up their module there
    spec.loader.exec_module(module)
    return module


DESIGNS = calibration().DESIGNS


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(DESIGNS)), ids=[f"{d.name} {d.size}" for d in DESIGNS])
def test_verdicts_are_calibrated(number):
    found = calibration().calibrate(number, pairs=1000, resamples=300)
    cautious = DESIGNS[number].cautious
    assert cautious or found.called_different >= 0.035
    assert cautious or found.covered <= 0.97
    assert found.called_different <= 0.065
    assert found.zero_left_out <= 0.065
    assert cautious or found.zero_left_out >= 0.035
    assert found.covered >= 0.93


def similarity(rho, rng, dataset, model, n=353):
    gold = np.random.default_rng([7, len(dataset), ord(dataset[-1])]).normal(size=n)
    score = rho * gold + np.sqrt(1 - rho**2) * rng.normal(size=n)
    metric = Metric(0.0, statistic="spearman", columns=("gold", "cosine"))
    items = {"gold": gold, "cosine": score}
    return Report("similarity", dataset, {"spearman": metric}, n, 1, "pairs", 1, "p", items, model=model)


@pytest.mark.parametrize("models", [3, 4, 10])
def test_verdicts_do_not_depend_on_how_many_models_are_compared(models):
    rng = np.random.default_rng(0)
    sets = [f"set {chr(97 + i)}" for i in range(26)]
    base = [similarity(0.05, rng, name, "base", 100) for name in sets]
    others = [[similarity(0.9999, rng, name, f"m{m}", 100) for name in sets] for m in range(models)]
    found = compare(base, others, resamples=100)
    assert len(found) == 26 * models
    assert {d.verdict for d in found} == {"better"}


def accuracy(right, model):
    metric = Metric(0.0, statistic="mean", columns=("right",))
    # of one training: the p of the items, without what another seed would change
    return Report(
        *("sentiment", "x", {"accuracy": metric}, len(right), 1, "texts", 1, "p", {"right": right}),
        model=model,
        trained="one",
    )


def test_what_cannot_be_decided_is_said():
    zeros, four, many = np.zeros(50), np.zeros(50), np.ones(50)
    four[:4] = 1
    few, clear, same = compare(
        [accuracy(zeros, "base")],
        [[accuracy(four, "few")], [accuracy(many, "clear")], [accuracy(zeros, "same")]],
    )
    assert few.p == pytest.approx(2 / 16)  # all patterns of four signs
    assert (few.verdict, clear.verdict, same.verdict) == ("cannot be decided", "better", "tie")
    assert "cannot be decided" in comparison_table([few, clear])
    hundreds = compare([accuracy(zeros, "base")], [[accuracy(many, f"m{i}")] for i in range(120)])
    assert {d.verdict for d in hundreds} == {"better"}


@pytest.mark.parametrize("statistic", ["purity", "v-measure"])
def test_intervals_of_agreement_are_centred_at_the_difference_and_agree_with_p(statistic):
    rng = np.random.default_rng(1)
    gold = np.arange(45) % 9
    for skills in ((0.1, 0.8), (0.5, 0.6), (0.5, 0.5)):
        for _ in range(20):
            a, b = (np.where(rng.random(45) < s, gold, rng.integers(0, 9, 45)) for s in skills)
            found = paired_difference(statistic, (gold, a), (gold, b), seed=1, resamples=200)
            assert (found.low + found.high) / 2 == pytest.approx(found.difference)
            assert (found.p < 0.05) == (not found.low <= 0 <= found.high)


def test_subsamples_in_bulk_are_those_one_by_one(monkeypatch):
    from wordvec_ca.eval.statistics import subsamples

    rng = np.random.default_rng(2)
    gold, state, units = rng.integers(0, 5, 200), rng.integers(0, 4, 200), rng.integers(0, 40, 200)
    cases = [
        ("v-measure", (gold, state), units),
        ("purity", (gold, state), None),
        ("v-measure", (gold, np.stack([state, gold, 3 - state], axis=1)), units),
    ]
    fast = [subsampled(*case, seed=3, resamples=20)[0] for case in cases]
    monkeypatch.setattr(subsamples, "OF_TABLES", {})
    for case, expected in zip(cases, fast, strict=True):
        np.testing.assert_allclose(subsampled(*case, seed=3, resamples=20)[0], expected, atol=1e-12)


def test_a_correlation_with_cosines_in_float32_is_computed_in_float64():
    gold, cosine = np.random.default_rng(3).normal(size=(2, 300)).astype(np.float32)
    assert pearson(gold, cosine) == pearson(gold.astype(np.float64), cosine.astype(np.float64))


def searched(rng, gold, luck, n_searches):
    """Return the clusters of several searches, which are of random quality."""
    skill = np.clip(0.5 + luck * rng.normal(size=n_searches), 0, 1)
    return np.where(
        rng.random((len(gold), n_searches)) < skill, gold[:, None], rng.integers(0, 20, (len(gold), 1))
    )


def test_the_luck_of_a_search_is_part_of_the_test():
    rng = np.random.default_rng(8)
    gold = np.arange(400) % 20
    p = {1: [], 5: []}
    for _ in range(60):
        models = [searched(rng, gold, 0.05, 5) for _ in range(2)]
        for n in p:
            first, second = ((gold, model[:, :n]) for model in models)
            found = paired_difference("purity", first, second, seed=1, resamples=200)
            p[n].append(found.p)
            if n > 1:
                assert (found.p < 0.05) == (not found.low <= 0 <= found.high)
    assert np.mean(np.array(p[5]) < 0.05) <= 0.12  # 3 of 60 are expected
    assert np.mean(np.array(p[1]) < 0.05) >= 0.3  # with a single search, many pairs are called different


def test_results_of_searches_survive_json_and_are_compared_with_their_like(tmp_path):
    def report(model, n_searches):
        rng = np.random.default_rng(len(model))
        gold = np.arange(100) % 20
        cluster = searched(rng, gold, 0.1, n_searches).astype(np.float64)
        cluster[3] = np.nan
        items = {"gold": gold, "cluster": cluster[:, 0] if n_searches == 1 else cluster}
        made = Report("categorization", "x", {}, 99, 0.99, "words", 1, "p", items=items, model=model)
        made.measure("purity", "purity", "gold", "cluster")
        return made

    one, other = report("a", 4), report("bb", 4)
    again = Report.from_dict(json.loads(other.to_json(items=True)))
    np.testing.assert_array_equal(again.items["cluster"], other.items["cluster"])
    (expected,), (found,) = compare([one], [[other]]), compare([one], [[again]])
    assert found.to_dict() == expected.to_dict()
    assert found.n == 99
    with pytest.raises(DataError, match=r"4 search.*of 1; run both"):
        compare([one], [[report("c", 1)]])


def test_standard_error_of_crossed_units_is_the_sum_over_questions_that_share_a_pair():
    rng = np.random.default_rng(3)
    units = rng.integers(0, 30, (100, 2))
    values = rng.normal(size=30)[units].sum(axis=1)
    residuals = values - values.mean()
    shared = sum(
        residuals[i] * residuals[j] for i in range(100) for j in range(100) if set(units[i]) & set(units[j])
    )
    n_units = len(np.unique(units))
    expected = np.sqrt(shared * n_units / (n_units - 1)) / 100
    error, n = standard_error_of_mean(values, units)
    assert (error, n) == (pytest.approx(expected), n_units)
    assert standard_error_of_mean(values, units[:, ::-1])[0] == pytest.approx(expected)


def planted(n, seed=0):
    """Return pairs of words with one offset, and other words that come between."""
    rng = np.random.default_rng(seed)
    base, offset = rng.normal(size=(40, 20)), rng.normal(size=20)
    noisy = base + offset + 0.9 * rng.normal(size=(40, 20))
    words = [f"a{i}" for i in range(40)] + [f"b{i}" for i in range(40)] + [f"w{i}" for i in range(n)]
    matrix = np.concatenate([base, noisy, rng.normal(size=(n, 20)) * 1.4]).astype(np.float32)
    return KeyedVectors(words, matrix)


QUESTIONS = [(0, f"a{i}", f"b{i}", f"a{j}", f"b{j}") for i in range(40) for j in range(40) if i != j]


def test_a_smaller_vocabulary_is_no_better_model(tmp_path):
    """Vectors and the first rows of the same vectors are equally good among the words that both have."""
    whole = planted(20_000)
    part = KeyedVectors(whole.index_to_key[:100], whole.vectors[:100])
    path = tmp_path / "q.txt"
    path.write_text(": s\n" + "".join(f"{' '.join(question[1:])}\n" for question in QUESTIONS))
    jobs, _ = plan(files={"analogy": [path]})
    alone = [list(run(vectors, jobs, name=str(len(vectors)))) for vectors in (whole, part)]
    assert alone[1][0].value > alone[0][0].value + 0.05
    with pytest.raises(DataError, match=r"20080 was judged among 20,080 words, 100 among 100"):
        compare(alone[0], alone[1:])
    words = common_words(vectors.index_to_key for vectors in (whole, part))
    assert words == part.index_to_key
    both = [list(run(vectors, jobs, common=words)) for vectors in (whole, part)]
    (found,) = compare(both[0], both[1:])
    assert (found.difference, found.verdict, found.candidates) == (0, "tie", 100)
    assert "analogy q: 100 words" in comparison_table([found])
    for name, vectors in (("whole", whole), ("part", part)):
        vectors.save_word2vec_format(tmp_path / f"{name}.txt")
    result = CliRunner().invoke(
        compare_command,
        [str(tmp_path / "whole.txt"), str(tmp_path / "part.txt"), "--analogy", str(path), "--json"],
    )
    assert "100 words" in result.stderr
    assert [d["verdict"] for d in map(json.loads, result.stdout.splitlines())] == ["tie"]


def test_cut_vectors_keep_words_rows_and_counts():
    kv = KeyedVectors(["a", "b", "c"], np.eye(3, dtype=np.float32), [3, 2, 1])
    assert cut_to(kv, ["a", "b", "c"]) is kv
    cut = cut_to(kv, ["c", "a"])
    assert (cut.index_to_key, cut.counts.tolist()) == (["c", "a"], [1, 3])
    np.testing.assert_array_equal(cut.vectors, kv.vectors[[2, 0]])


def test_results_on_other_questions_of_equal_number_are_refused_by_name():
    kv = planted(50)
    one, other = (
        analogy.evaluate(kv, Analogies("q", ["s"], questions)) for questions in (QUESTIONS, QUESTIONS[::-1])
    )
    one.model, other.model = "first.json", "second.json"
    with pytest.raises(DataError, match=r"first\.json and second\.json are not about the same items.*digest"):
        compare([one], [[other]])
    again = Report.from_dict(json.loads(one.to_json(items=True)))
    assert compare([one], [[again]])[0].difference == 0
    assert again.units.shape == (len(QUESTIONS), 2)


def test_questions_depend_on_both_pairs():
    """The pair a:b is the same unit on the right side, in the other order and in another section."""
    kv = planted(0)
    questions = [
        (0, "a1", "b1", "a2", "b2"),
        (0, "a2", "b2", "a1", "b1"),
        (1, "b1", "a1", "a3", "b3"),
    ]
    units = analogy.evaluate(kv, Analogies("q", ["s", "t"], questions)).units
    assert units.tolist() == [[0, 1], [1, 0], [0, 2]]


def test_english_sets_say_so_to_vectors_of_other_languages():
    rng = np.random.default_rng(0)
    other = KeyedVectors([f"mot{i}" for i in range(2000)], rng.normal(size=(2000, 2)))
    english = KeyedVectors(
        [*sorted(FREQUENT), *other.index_to_key], rng.normal(size=(2000 + len(FREQUENT), 2))
    )
    assert "the set is English" in other_language(other, "questions-words")
    assert other_language(english, "questions-words") is None
    assert other_language(other, "palabras") is None


@pytest.mark.parametrize("language", ["tr", "lt", "ko", "ar", "hi", "he"])
def test_english_sets_say_so_to_a_model_of_real_text(language):
    sentences = Path(__file__).parents[1] / "text/scripts/sentences.tsv.xz"
    with lzma.open(sentences, "rt", encoding="utf-8") as file:
        lines = [line.split("\t")[1].split() for line in file if line.startswith(f"{language}\t")]
    config = TrainConfig(vector_size=4, min_count=1, epochs=1, workers=1)
    model = train(lines, config, progress=False)
    reports = list(run(model.vectors, plan(["similarity"])[0], name=language))
    assert len(reports) == 2
    assert all("the set is English" in report.notes[0] for report in reports)


@pytest.fixture
def model(tmp_path):
    planted(20).save_word2vec_format(tmp_path / "model.txt")
    (tmp_path / "good.tsv").write_text("".join(f"a{i}\tb{i + 1}\t{i % 7}\n" for i in range(30)))
    (tmp_path / "bad.tsv").write_text("a1\tb1\t1\na1\tb1\n")
    return tmp_path


def test_results_before_and_after_a_set_that_cannot_be_read_are_kept(model, command):
    files = [f"--similarity={model / name}.tsv" for name in ("good", "bad", "good")]
    told = "bad.tsv, line 2: 2 column(s)"
    said = command("eval", model / "model.txt", *files, "-q").says(1, told)
    assert said.out.count("\nsimilarity  good ") == 2
    assert "Not run:" in said.out
    assert told in said.out
    results = model / "results.json"
    results.write_text(command("eval", model / "model.txt", *files, "--json", "--items", "-q").out)
    assert len(results.read_text().splitlines()) == 2
    (report,) = reports_in(results)  # of two reports on one set, the last one is used
    assert report.dataset == "good"
    said = command("compare", model / "model.txt", model / "model.txt", *files[:2], "-q").says(1, told)
    assert " tie" in said.out


def test_models_that_cannot_be_read_do_not_stop_the_others_from_being_compared(model, command):
    whole = model / "model.txt"
    broken, no_results = model / "broken.txt", model / "broken.json"
    broken.write_text(whole.read_text()[:-30])
    no_results.write_text("x")
    good = (f"--similarity={model}/good.tsv", "-q")
    for others in ([broken, whole], [no_results, whole, broken]):
        said = command("compare", whole, *others, *good).says(1)
        assert " tie" in said.out
        assert all(said.err.count(str(path)) == 1 for path in others if path != whole)
    for baseline, others in ((broken, [whole, whole]), (no_results, [whole]), (whole, [broken])):
        said = command("compare", baseline, *others, *good).says(1, "nothing to compare with")
        assert said.out == ""


def test_a_result_is_written_when_it_comes(model, monkeypatch):
    """The run dies in the second set: the first one is on the screen."""
    from wordvec_ca.eval.tasks import similarity

    judge, seen = similarity.evaluate, []

    def dying(*arguments, **options):
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return judge(*arguments, **options)

    monkeypatch.setattr(similarity, "evaluate", dying)
    files = [f"--similarity={model}/good.tsv"] * 2
    for more, shown in ((["--json"], '"dataset": "good"'), ([], "spearman")):
        seen.clear()
        result = CliRunner().invoke(eval_command, [str(model / "model.txt"), *files, *more])
        assert shown in result.stdout
