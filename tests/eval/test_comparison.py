"""Reports, their intervals and JSON, and paired comparisons."""

import json

import numpy as np
import pytest
from scipy.stats import norm

from wordvec_ca import DataError
from wordvec_ca.eval.comparison import compare, comparison_table, holm
from wordvec_ca.eval.report import Report, report_table, reports_in
from wordvec_ca.eval.statistics.paired import (
    DEVIATIONS,
    PairedDifference,
    variance_of_training,
    with_training,
)
from wordvec_ca.eval.statistics.resampling import bootstrap, interval, sign_flips
from wordvec_ca.eval.summary import summary_lines


def accuracy(right, dataset="x", model="m", units=None):
    report = Report(
        "tagging", dataset, {}, len(right), 1.0, "tokens", 1, "protocol", units=units, model=model
    )
    report.items["right"] = np.asarray(right, dtype=np.float64)
    report.measure("accuracy", "mean", "right")
    return report


def test_interval_of_a_mean_is_that_of_the_binomial():
    right = np.arange(1000) % 5 > 0  # .8
    metric = accuracy(right).metrics["accuracy"]
    assert metric.value == pytest.approx(0.8)
    half = 1.96 * np.sqrt(0.8 * 0.2 / 1000)
    assert metric.low == pytest.approx(0.8 - half, abs=0.004)
    assert metric.high == pytest.approx(0.8 + half, abs=0.004)


def test_items_that_go_together_widen_the_interval():
    right = np.repeat(np.arange(100) % 5 > 0, 10)  # each outcome ten times
    alone = accuracy(right).metrics["accuracy"]
    together = accuracy(right, units=np.repeat(np.arange(100), 10)).metrics["accuracy"]
    assert together.high - together.low == pytest.approx((alone.high - alone.low) * np.sqrt(10), rel=0.2)


def test_the_fast_way_of_the_bootstrap_is_the_slow_one(monkeypatch):
    from wordvec_ca.eval.statistics import resampling

    rng = np.random.default_rng(0)
    units = np.sort(rng.integers(0, 40, 200))
    x = rng.normal(size=200)
    monkeypatch.setitem(resampling.STATISTICS, "average", resampling.mean)
    fast, slow = (bootstrap(name, (x,), units, seed=3, resamples=20) for name in ("mean", "average"))
    np.testing.assert_allclose(slow, fast, atol=1e-12)


def test_the_interval_of_a_v_measure_holds_the_value():
    """Repeated items push every replicate up; a plain quantile interval would lie above the value."""
    rng = np.random.default_rng(1)
    gold = np.repeat(np.arange(9), 5)
    cluster = np.where(rng.random(45) < 0.6, gold, rng.integers(0, 9, 45))
    report = Report(
        "categorization", "x", {}, 45, 1.0, "words", 1, "p", items={"gold": gold, "cluster": cluster}
    )
    report.measure("v-measure", "v-measure", "gold", "cluster")
    metric = report.metrics["v-measure"]
    replicates = bootstrap("v-measure", (gold, cluster), seed=1)
    assert (replicates > metric.value).mean() > 0.9
    assert metric.low < metric.value < metric.high


def test_sign_flips_are_the_exact_test_on_few_items():
    differences = np.array([1.0, 1, 1, 1, 1, 1, -1, 0, 0])
    # 2 * (1 + 7) of the 2^7 sign patterns are as extreme: p = .125
    assert sign_flips(differences, seed=0) == pytest.approx(0.125, abs=0.012)
    assert sign_flips(np.zeros(5), seed=0) == 1.0
    assert sign_flips(np.ones(2000), seed=0) == pytest.approx(1e-4, rel=0.01)  # 2 ** 2000 is not a float


def test_a_clear_difference_a_tie_and_holm():
    rng = np.random.default_rng(2)
    base = rng.random(2000) < 0.7
    better = np.where(rng.random(2000) < 0.15, True, base)
    same = np.where(rng.random(2000) < 0.05, rng.random(2000) < 0.7, base)
    found = compare(
        [accuracy(base, "a", "base"), accuracy(base, "b", "base")],
        [[accuracy(better, "a", "new"), accuracy(same, "b", "new"), accuracy(same, "c", "new")]],
    )
    assert [d.verdict for d in found] == ["better", "tie"]
    assert found[0].difference == pytest.approx(better.mean() - base.mean())
    assert found[0].low < found[0].difference < found[0].high
    assert found[0].low > 0
    assert found[1].low < 0 < found[1].high
    assert "tie" in comparison_table(found)
    back = compare([accuracy(better, "a", "new")], [[accuracy(base, "a", "base")]])
    assert back[0].verdict == "worse"
    assert holm([0.01, float("nan"), 0.02]) == [0.03, 1.0, 0.04]


def test_no_difference_is_found_where_there_is_none():
    """With two equally good models, sixty data sets and no correction, about one p in twenty is below .05."""
    rng = np.random.default_rng(4)
    p = []
    for _ in range(60):
        left, right = (rng.random((2, 300)) < 0.6).astype(float)
        p.append(compare([accuracy(left)], [[accuracy(right)]], resamples=200)[0].p)
    assert np.mean(np.array(p) < 0.05) < 0.15
    assert 0.3 < np.mean(p) < 0.7


def test_two_seeds_are_a_tie_however_many_items_there_are():
    """Every item of a large set says that one seed is better, by as little as seeds differ."""
    base = np.arange(200_000) % 10 < 8
    near, far = base.copy(), base.copy()
    near[9 : 9 + 10 * int(100_000 * DEVIATIONS["tagging"]) : 10] = True
    far[9::20] = True

    def found(other, **attributes):
        reports = [accuracy(items, model=name) for items, name in ((base, "one"), (other, "other"))]
        for name, (first, second) in attributes.items():
            setattr(reports[0], name, first)
            setattr(reports[1], name, second)
        (difference,) = compare([reports[0]], [[reports[1]]])
        return difference

    tie = found(near)
    assert (tie.verdict, tie.training_from) == ("tie", "seeds")
    assert tie.low < 0 < tie.difference < tie.high
    assert tie.p_of_items < 0.001 < 0.05 < tie.p
    assert tie.training == pytest.approx(2**0.5 * DEVIATIONS["tagging"])
    assert "tagging x" in comparison_table([tie]).partition("two seeds differ")[2]
    assert found(far).verdict == "better"
    steady = found(near, runs=([0.8, 0.8001, 0.8], [0.801, 0.801, 0.8011]))
    assert (steady.verdict, steady.training_from) == ("better", "runs")
    assert found(near, runs=([], [0.7, 0.9, 0.8])).training_from == "seeds and runs"
    forms = found(near, trained=("a", "a"))
    assert (forms.verdict, forms.training, forms.training_from) == ("better", 0, "one run")
    assert found(near, trained=("", "")).verdict == found(near, trained=("a", "b")).verdict == "tie"


def test_p_and_interval_hold_both_kinds_of_noise():
    """Differences with variance 1 over items and 3 of the trainings: 5 % of p are below .05."""
    rng = np.random.default_rng(6)
    p, outside = [], []
    for difference in rng.normal(scale=2, size=2000):
        alone = PairedDifference(
            0, 0, difference, difference - 1.96, difference + 1.96, 2 * norm.sf(abs(difference)), 0
        )
        both = with_training(alone, 3.0)
        p.append(both.p)
        outside.append(not both.low < 0 < both.high)
        assert with_training(alone, 0.0) == alone
    assert 0.035 < np.mean(np.array(p) < 0.05) < 0.065
    assert np.mean(outside) == pytest.approx(np.mean(np.array(p) < 0.05), abs=0.002)
    assert with_training(PairedDifference(0, 1, 1, 1, 1, 0.0, 0), 1.0).p == pytest.approx(2 * norm.sf(1))
    undefined = PairedDifference(0, 0, 0, np.nan, np.nan, np.nan, 1)
    assert with_training(undefined, 1.0) is undefined
    assert variance_of_training("a task of one's own", []) == max(DEVIATIONS.values()) ** 2


def test_correlations_are_compared_on_the_pairs_that_both_cover():
    rng = np.random.default_rng(5)
    gold = rng.normal(size=400)

    def report(noise, missing, model):
        score = gold + noise * rng.normal(size=400)
        score[missing] = np.nan
        items = {"gold": gold, "cosine": score}
        made = Report("similarity", "x", {}, 400, 1.0, "pairs", 1, "p", items=items, model=model)
        made.measure("spearman", "spearman", "gold", "cosine")
        return made

    found = compare([report(1.0, slice(0, 10), "a")], [[report(0.3, slice(5, 20), "b")]])[0]
    assert found.n == 380
    assert found.verdict == "better"
    assert found.low > 0.1
    one = report(1.0, slice(0, 10), "a")
    (same,) = compare([one], [[one]])
    assert (same.difference, same.low, same.high, same.verdict) == (0, 0, 0, "tie")


def test_reports_on_different_items_are_refused():
    one, other = accuracy([1, 0, 1]), accuracy([1, 0])
    with pytest.raises(DataError, match="not about the same items"):
        compare([one], [[other]])
    with pytest.raises(DataError, match="nothing to compare"):
        compare([one], [[accuracy([1, 0, 1], "other")]])
    bare = Report.from_dict(json.loads(one.to_json()))
    with pytest.raises(DataError, match="--json --items"):
        compare([one], [[bare]])


def test_json_keeps_everything_that_a_comparison_needs(tmp_path):
    gold, score = np.arange(20.0), np.arange(20.0)[::-1].copy()
    score[3] = np.nan
    items = {"gold": gold, "cosine": score}
    report = Report("similarity", "naïve", {}, 19, 0.95, "pairs", 7, "p", items=items, notes=["n"])
    report.measure("spearman", "spearman", "gold", "cosine")
    path = tmp_path / "a.json"
    path.write_text(report.to_json(items=True) + "\n", encoding="utf-8")
    (again,) = reports_in(path)
    assert again.metrics == report.metrics
    np.testing.assert_array_equal(again.items["cosine"], score)
    assert compare([report], [[again]])[0].difference == 0
    assert "naïve" in report_table([report])
    path.write_text("")
    assert reports_in(path) == []
    path.write_text("no json")
    with pytest.raises(DataError, match="these are not reports"):
        reports_in(path)


def test_a_constant_score_has_no_correlation_and_no_interval():
    report = Report(
        "similarity", "x", {}, 5, 1.0, "pairs", 1, "p", items={"gold": np.arange(5.0), "cosine": np.ones(5)}
    )
    report.measure("spearman", "spearman", "gold", "cosine")
    assert np.isnan(report.value)
    assert report.to_dict()["metrics"]["spearman"]["value"] is None
    assert np.isnan(interval(0.5, np.empty(0))).all()


def test_the_summary_rounds_as_the_table_does():
    summary = "\n".join(summary_lines([accuracy(np.arange(1000) < 595)]))
    assert "tags right 0.595 [0.56" in summary
    assert "every set" not in summary, "there is only one"
