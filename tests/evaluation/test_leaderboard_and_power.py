"""Comparing systems: intervals, tests, power and leaderboards."""

import json
import math
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from labeler.arrays import Floats
from labeler.cli import execute as labeler
from labeler.data import Run
from labeler.evaluation.evaluate import evaluate as evaluate_runs
from labeler.evaluation.leaderboard import leaderboard
from labeler.evaluation.power import power as power_of_runs
from labeler.evaluation.scores import Comparing, Comparison
from labeler.metrics import Scores, evaluate
from labeler.stats.correlation import correlations
from labeler.stats.intervals import (
    Interval,
    Replicates,
    cluster_bootstrap,
    jackknife,
    quantiles,
)
from labeler.stats.means import mean_interval
from labeler.stats.power import detectable, power, queries_needed
from labeler.stats.student import t_below, t_quantile, two_sided
from labeler.trec.files import read_qrels, read_run
from labeler.trec.write import write_qrels, write_run

OFTEN = steadily()


def compared(runs: dict[str, Scores]) -> list[Comparison]:
    """All runs against the run x, by their only measure."""
    comparing = Comparing(runs, "x", 0)
    return comparing.by(comparing.measures[0])


@OFTEN
@given(st.floats(-50, 50), st.integers(1, 500))
def test_students_t_equals_scipy(t: float, freedom: int) -> None:
    assert t_below(t, freedom) == pytest.approx(stats.t.cdf(t, freedom), abs=1e-12)
    assert two_sided(t, freedom) == pytest.approx(2 * stats.t.sf(abs(t), freedom), abs=1e-12)


@every_row("freedom", [1, 2, 10, 49, 1000])
@every_row("probability", [0.005, 0.025, 0.5, 0.9, 0.975, 0.9995])
def test_quantiles_of_students_t_equal_scipy(probability: float, freedom: int) -> None:
    wanted = stats.t.ppf(probability, freedom)
    assert t_quantile(probability, freedom) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@every_row("queries", [5, 10, 25, 50, 200])
@every_row("effect", [0.1, 0.3, 0.5, 1.0])
def test_power_equals_scipys_noncentral_t(queries: int, effect: float) -> None:
    bound = stats.t.ppf(0.975, queries - 1)
    shift = effect * math.sqrt(queries)
    # by symmetry: SciPy 1.15 has no value of the lower tail far from its center
    wanted = stats.nct.sf(bound, queries - 1, shift) + stats.nct.sf(bound, queries - 1, -shift)
    assert power(queries, effect, 1.0) == pytest.approx(wanted, abs=1e-6)


def simulated_power(queries: int, difference: float, deviation: float) -> float:
    drawn = np.random.default_rng(7).normal(difference, deviation, size=(20_000, queries))
    t = drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / math.sqrt(queries))
    return float(np.mean(np.abs(t) > t_quantile(0.975, queries - 1)))


def test_power_holds_in_simulation() -> None:
    assert simulated_power(50, 0.05, 0.15) == pytest.approx(power(50, 0.05, 0.15), abs=0.01)
    found = detectable(50, 0.15)
    assert simulated_power(50, found, 0.15) == pytest.approx(0.8, abs=0.01)
    assert simulated_power(queries_needed(0.03, 0.15), 0.03, 0.15) == pytest.approx(0.8, abs=0.01)


@pytest.mark.sweep
def test_power_holds_for_real_systems_whose_differences_are_no_normal_ones(shared: Path) -> None:
    folder = shared / "dl19"
    runs = sorted((folder / "runs").iterdir())
    qrels = folder / "nist.qrels"
    report = evaluate_runs(qrels, runs, "nDCG@10", scenarios=False)
    values = np.array([run.scores.values[0] for run in report.runs])
    rng = np.random.default_rng(0)
    shares = []
    for i, j in combinations(range(len(runs)), 2):
        differences = values[i] - values[j]
        around = differences - differences.mean()
        drawn = rng.choice(around, (400, 50)) + detectable(50, float(differences.std()))
        t = drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / math.sqrt(50))
        shares.append(float(np.mean(np.abs(t) > t_quantile(0.975, 49))))
    assert sum(shares) / len(shares) == pytest.approx(0.8, abs=0.02)
    assert min(shares) > 0.65
    assert max(shares) < 0.95


def test_the_number_of_queries_is_the_smallest_that_is_enough() -> None:
    n = queries_needed(0.05, 0.16)
    assert n is not None
    assert power(n, 0.05, 0.16) >= 0.8 > power(n - 1, 0.05, 0.16)
    assert detectable(n, 0.16) <= 0.05 < detectable(n - 1, 0.16)


@pytest.mark.sweep
@pytest.mark.parametrize("queries", [8, 50])
@pytest.mark.parametrize("method", [cluster_bootstrap, jackknife])
def test_intervals_cover_the_truth_about_as_often_as_they_say(
    queries: int, method: Callable[[Replicates], Interval]
) -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for seed in range(400):
        low, high = mean_interval(rng.beta(2, 1, size=queries), method, seed) or (0, 0)
        hits += low <= 2 / 3 <= high
    assert 0.93 <= hits / 400 <= 0.98  # plain percentiles: .89 for 8 queries


@OFTEN
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=50))
def test_quantiles_are_numpys(values: list[float]) -> None:
    assert quantiles(np.array(values), 0.025, 0.975) == tuple(np.percentile(values, [2.5, 97.5]))


def test_undefined_draws_are_left_out_of_quantiles_unless_they_are_many() -> None:
    values = np.arange(100.0)
    values[:5] = math.nan
    assert quantiles(values, 0.0, 1.0) == (5, 99)
    values[5] = math.nan
    assert quantiles(values, 0.0, 1.0) is None


@OFTEN
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_run_against_itself_cannot_be_told_apart(values: list[float]) -> None:
    qrels = {str(i): {"a": 1} for i in range(len(values))}
    run = {str(i): {"a": v, "b": 0.5} for i, v in enumerate(values)}
    scores = evaluate(qrels, run, ["RR"])
    (found,) = compared({"x": scores, "y": scores})
    assert (found.difference, found.p, found.verdict) == (0, 1, "cannot tell apart")
    assert (found.wins, found.ties, found.losses) == (0, len(values), 0)


def test_percent_is_of_the_baseline_over_the_queries_where_both_are_defined() -> None:
    qrels = {str(i): {"a": 1} for i in range(3)}
    lists = {"x": ("an", "a", "a"), "y": ("a", "a", "")}  # of query 2 y has nothing
    scores = {}
    for name, documents in lists.items():
        run = {str(i): {d: -float(n) for n, d in enumerate(ids)} for i, ids in enumerate(documents)}
        scores[name] = evaluate(qrels, run, ["Judged@2"])
    (found,) = compared(scores)
    assert (found.queries, found.difference) == (2, 0.25)
    assert found.percent == pytest.approx(100 / 3)  # of 0.75, not of x's mean over all, 5 / 6


def test_a_pair_agrees_with_a_paired_t_test() -> None:
    rng = np.random.default_rng(5)
    qrels = {str(i): {"a": 1} for i in range(60)}
    places = rng.integers(1, 8, size=(2, 60))

    def run(row: Floats) -> dict[str, dict[str, float]]:
        return {
            str(i): {"a": -float(place), **{f"x{n}": -float(n) - 0.5 for n in range(8)}}
            for i, place in enumerate(row)
        }

    scores = {
        name: evaluate(qrels, run(row), ["RR"]) for name, row in zip("xy", places, strict=True)
    }
    (found,) = compared(scores)
    wanted = stats.ttest_rel(scores["y"].values[0], scores["x"].values[0])
    assert found.p == pytest.approx(wanted.pvalue, abs=0.02)


def test_leaderboards_of_real_systems_by_two_qrels(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    runs = sorted(map(str, (folder / "runs").glob("*.gz")))
    qrels = [str(folder / "nist.qrels"), str(folder / "gpt-4o.qrels")]
    assert labeler(["lab", "leaderboard", *qrels, *runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (len(found["runs"]), found["queries"]) == (11, 43)
    x = [row["first"] for row in found["runs"]]
    y = [row["second"] for row in found["runs"]]
    value = found["statistics"]["tau_b"]
    assert value["value"] == pytest.approx(stats.kendalltau(x, y).statistic)
    assert value["low"] <= value["value"] <= value["high"]
    assert len(found["swaps"]) == round((1 - value["value"]) / 2 * 55)
    assert {swap["significant_by"] for swap in found["swaps"]} == {"neither"}


def test_a_leaderboard_and_power_advise_no_setting_that_they_lack() -> None:
    qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 0}, "q3": {"d1": 1}}
    second_scores = {"a": 1.0, "b": 3.0}
    runs = {n: {"q1": {"d1": 2.0, "d2": s}, "q2": {}} for n, s in second_scores.items()}
    board = leaderboard(qrels, qrels, runs, "ERR@10")
    plan = power_of_runs(qrels, runs, "ERR@10")
    assert plan.as_json()["warnings"] == [str(finding) for finding in plan.findings]
    for findings in (board.findings, plan.findings):
        said = [str(finding) for finding in findings]
        assert "a: 2 of 3 queries missing from the run; counted as 0" in said


def test_a_leaderboard_with_itself_is_perfect_and_one_run_is_none(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    runs = sorted(map(str, (folder / "runs").glob("m*.gz")))
    nist = str(folder / "nist.qrels")
    assert labeler(["lab", "leaderboard", nist, nist, *runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: row["value"] for name, row in found["statistics"].items()} == {
        "tau_b": pytest.approx(1),
        "tau_ap": pytest.approx(1),
    }
    assert labeler(["lab", "leaderboard", nist, nist, runs[0]]) == 2
    assert "at least two runs" in capsys.readouterr().err


def test_power_says_first_what_the_queries_find_and_what_a_difference_takes(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    asked = ["power", str(folder / "nist.qrels"), str(folder / "runs"), "--difference", "0.02"]
    assert labeler(asked) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == (
        "43 queries find a difference of 0.092 in nDCG@10 80% of the time where the best of 10 runs"
        " is compared with the others; one of 0.02 takes about 821 queries, anything from 515 to"
        " 1,324."
    )
    assert labeler([*asked, "--compared", "2"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("43 queries find a difference of 0.062 in nDCG@10 80% of the time, ")
    assert "one of 0.02 takes about 402 queries" in first


def test_plans_that_cannot_be_made_are_refused(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert labeler(["power", str(coll), "--compared", "1"]) == 2
    assert "'--compared': Input should be greater than or equal to 2" in capsys.readouterr().err


def test_power_of_real_systems(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared / "dl19"
    runs = sorted(map(str, (folder / "runs").glob("mono*.gz")))
    arguments = ["power", str(folder / "nist.qrels"), *runs, "--queries", "43", "--json"]
    assert labeler([*arguments, "--difference", "0.02"]) == 0
    found = json.loads(capsys.readouterr().out)
    (needed,) = found["needed"].values()
    assert needed == queries_needed(0.02, found["deviation"])
    assert labeler(["power", str(folder / "nist.qrels"), runs[0]]) == 2
    assert "two or more runs" in capsys.readouterr().err
    assert labeler([*arguments, "--power", "1"]) == 2


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    """Twelve queries, three runs that differ, and two sets of qrels that order them differently."""
    folder = tmp_path / "coll"
    for name in ("runs", "qrels"):
        (folder / name).mkdir(parents=True)
    queries = range(12)
    for name, first in (("a", 1), ("b", 2), ("c", 3)):
        rows = [
            f"q{q} Q0 d{(place + q * first) % 5} {place + 1} {9 - place} t\n"
            for q in queries
            for place in range(5)
        ]
        (folder / "runs" / f"{name}.trec").write_text("".join(rows))
    for name, relevant in (("human", 1), ("llm", 3)):
        rows = [f"q{q} 0 d{d} {int(d == relevant)}\n" for q in queries for d in range(5)]
        (folder / "qrels" / f"{name}.qrels").write_text("".join(rows))
    return folder


@pytest.mark.parametrize("form", ["csv", "json", "latex", "markdown"])
def test_leaderboards_and_power_in_every_format(
    form: str, coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["lab", "leaderboard", str(coll), "human", "llm"], ["power", str(coll)]):
        assert labeler([*command, "-m", "RR", "--format", form, "-o", str(coll / "out")]) == 0
        assert capsys.readouterr().out == ""
        assert "0." in (coll / "out").read_text()


def test_the_files_of_a_collection_give_what_their_names_give(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(coll / part) for part in ("qrels/human.qrels", "qrels/llm.qrels")]
    runs = [str(coll / "runs" / f"{name}.trec") for name in "abc"]
    for by_name, by_file in (
        (["lab", "leaderboard", str(coll), "human", "llm"], ["lab", "leaderboard", *files, *runs]),
        (["power", str(coll)], ["power", files[0], *runs]),
    ):
        printed = []
        for command in (by_name, by_file):
            assert labeler([*command, "-m", "RR"]) == 0
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1]
    assert labeler(["lab", "leaderboard", str(coll), "human"]) == 2
    assert labeler(["lab", "leaderboard", str(coll), "human", "nobody"]) == 2
    assert "has no qrels 'nobody'; there are: human, llm" in capsys.readouterr().err


def test_the_runs_are_the_table_for_other_programs(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["lab", "leaderboard", str(coll), "human", "llm", "-m", "RR", "--format", "csv"]
    assert labeler(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("run,")
    assert {line.split(",")[0] for line in lines[1:]} == {"a", "b", "c"}


@pytest.mark.parametrize(("queries", "seed"), [(2, 0), (5, 1), (26, 26)])
def test_intervals_of_correlations_hold_the_value_and_stay_in_range(
    queries: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first = rng.random((5, queries))
    second = first + rng.normal(0, 0.3, (5, queries))
    for value, low, high, is_open in correlations(first, second).values():
        assert value is not None
        if is_open:
            assert low is None
            assert high is None
            continue
        assert low is not None
        assert high is not None
        assert -1 <= low <= value + 1e-9
        assert value - 1e-9 <= high <= 1


def reversed_grades(folder: Path, out: Path) -> Path:
    """NIST's labels with every grade turned over."""
    qrels = read_qrels(folder / "nist.qrels")
    write_qrels(out, {q: {d: 3 - g for d, g in row.items()} for q, row in qrels.items()})
    return out


def many_systems(folder: Path, out: Path, count: int) -> Path:
    """So many systems between two of DL 2019's each, one as far down a list as the other is up."""
    rng = np.random.default_rng(4)
    runs = [read_run(path) for path in sorted((folder / "runs").iterdir())]
    orders = [
        {q: sorted(scores, key=scores.__getitem__, reverse=True)[:60] for q, scores in run.items()}
        for run in runs
    ]
    for number in range(count):
        i, j = rng.choice(len(orders), 2, replace=False)
        share, noise = rng.random(), 2 * rng.random()
        made: Run = {}
        for query, order in orders[i].items():
            scores: dict[str, float] = {}
            for part, docs in ((share, order), (1 - share, orders[j].get(query, []))):
                for place, doc in enumerate(docs):
                    scores[doc] = scores.get(doc, 0.0) + part / (10 + place)
            made[query] = {d: s * float(np.exp(noise * rng.normal())) for d, s in scores.items()}
        write_run(out / f"run{number:02}.trec", made, "t")
    return out


@pytest.mark.slow
def test_a_reversed_judge_of_many_systems_is_called_what_it_is(
    tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    qrels = [str(folder / "nist.qrels"), str(reversed_grades(folder, tmp_path / "rev.qrels"))]
    runs = str(many_systems(folder, tmp_path / "runs", 40))
    assert labeler(["lab", "leaderboard", *qrels, runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["swaps"]) > 300
    told_apart = [swap for swap in found["swaps"] if swap["p_first"] < 0.05]
    assert len(told_apart) > 0.5 * len(found["swaps"])
    counts = found["significance"]
    assert sum(counts[name] for name in ("AA", "AD", "MA", "MD", "PA", "PD")) == 780
    assert counts["unconfirmed_share"] > 0.4
    assert labeler(["lab", "leaderboard", *qrels, runs]) == 0
    shown = capsys.readouterr().out
    assert "rev orders 40 systems not as nist does" in shown
    assert "the other way round" in shown
    assert "none of those" not in shown
    assert "more pairs that swap" in shown


def test_the_significance_of_differences_stands_in_sentences_and_in_json(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    files = [str(folder / name) for name in ("nist.qrels", "llama-3.1-8b.qrels", "runs")]
    assert labeler(["lab", "leaderboard", *files]) == 0
    shown = capsys.readouterr().out
    expected = (
        "nist's grades tell 9 of the 55 pairs apart, llama-3.1-8b's 7 (allowing for all pairs"
    )
    assert expected in shown
    assert "the latter are all among the former" in shown
    assert "which is no sign of equality" in shown
    assert "graded by nist, would order these systems with a tau-b of about 0.4" in shown
    assert labeler(["agree", *files[:2], "--run", files[2], "-s", "kappa"]) == 0
    assert expected in capsys.readouterr().out
    assert labeler(["agree", *files[:2], "--run", files[2], "-s", "kappa", "--json"]) == 0
    board = json.loads(capsys.readouterr().out)["leaderboard"]
    assert board["significance"]["unconfirmed"] == 0
    assert 0.3 < board["noise_ceiling"] < 0.6
