"""Scores of groups of queries: what is said of the worst, what a gate on it does, and weights."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeler.cli import execute as labeler
from labeler.errors import BadInput, Misuse
from labeler.evaluation.evaluate import evaluate
from labeler.evaluation.gates import outcome_of, read_gates
from labeler.evaluation.groups import group_rows
from labeler.evaluation.rulings import Ruling
from labeler.metrics.scores import Weighting
from labeler.stats.means import bounded_interval

KINDS = {f"k{n}": "keyword" for n in range(20)} | {f"h{n}": "how-to" for n in range(20)}
QRELS = {query: {"d": 1, "e": 0} for query in KINDS}
FIRST, SECOND = {"d": 2.0, "e": 1.0}, {"e": 2.0, "d": 1.0}


def run(found: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """A run that finds the document first in a share of each kind's queries."""
    ranks = {}
    for query, kind in KINDS.items():
        ranks[query] = FIRST if int(query[1:]) < 20 * found[kind] else SECOND
    return ranks


GOOD_AT_KEYWORDS = run({"keyword": 1.0, "how-to": 0.1})
GOOD_AT_HOW_TO = run({"keyword": 0.1, "how-to": 1.0})
BETTER_AT_BOTH = run({"keyword": 0.9, "how-to": 0.9})
WORSE_AT_BOTH = run({"keyword": 0.3, "how-to": 0.3})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection of queries with kinds, and the same as plain files."""
    coll = tmp_path / "coll"
    for name in ("runs", "qrels"):
        (coll / name).mkdir(parents=True)
    rows = [
        {"_id": q, "text": f"query {q}", "metadata": {"kind": kind, "source": [{"doc_id": "d"}]}}
        for q, kind in KINDS.items()
    ]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (coll / "queries.jsonl").write_text(lines)
    (coll / "corpus.jsonl").write_text('{"_id": "d", "text": "x"}\n{"_id": "e", "text": "y"}\n')
    qrels = "".join(f"{q} 0 d 1\n{q} 0 e 0\n" for q in KINDS)
    (coll / "qrels" / "human.qrels").write_text(qrels)
    for name, of in (("a", GOOD_AT_KEYWORDS), ("b", GOOD_AT_HOW_TO)):
        text = "".join(f"{q} Q0 {d} 0 {s} t\n" for q, docs in of.items() for d, s in docs.items())
        (coll / "runs" / f"{name}.trec").write_text(text)
    (tmp_path / "kinds.csv").write_text(
        "query_id,group\n" + "".join(f"{q},{kind}\n" for q, kind in KINDS.items())
    )
    return tmp_path


def printed_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_groups_score_is_that_of_its_queries_alone() -> None:
    report = evaluate(QRELS, GOOD_AT_KEYWORDS, "P@1 RR", by=KINDS)
    alone = {q: docs for q, docs in QRELS.items() if KINDS[q] == "how-to"}
    plain = evaluate(alone, GOOD_AT_KEYWORDS, "P@1 RR").runs[0]
    of_group = [s for s in report.by[0].scores if s.group == "how-to"]
    for score in of_group:
        assert score.value == plain.scores.means()[score.measure]
        assert (score.low, score.high) == plain.intervals[score.measure]
    assert [s.queries for s in of_group] == [20, 20]


def failures(require: str, fewest: int = 10, **given: Any) -> list[str]:
    gates = read_gates([require])
    runs = given.pop("runs", GOOD_AT_KEYWORDS)
    options = {"by": KINDS, "min_queries": fewest} | given
    report = evaluate(given.pop("qrels", QRELS), runs, "RR", **options)
    return whys(outcome_of(report, gates), "fail", "cannot tell")


def whys(rulings: Sequence[Ruling], *verdicts: str) -> list[str]:
    """Why gates have some verdict, the first verdicts first."""
    return [r.why for verdict in verdicts for r in rulings if r.verdict == verdict]


@pytest.mark.parametrize(
    ("gate", "fails"),
    [
        ("RR:0.5@worst-group", False),
        ("RR:0.6@worst-group", True),
        ("RR:0.9@group=keyword", False),
        ("RR:0.6@group=how-to", True),
    ],
)
def test_a_gate_holds_the_worst_group_or_a_named_one(gate: str, *, fails: bool) -> None:
    found = failures(gate)
    assert bool(found) == fails
    if fails:
        assert "run, group how-to: RR is 0.5500 [0." in found[0]
        assert "open whether it is 0.6 or more over all queries like these; about " in found[0]
        assert failures(gate.replace("0.6", "0.9").replace("worst-group", "group=how-to")) == [
            "run, group how-to: RR is 0.5500, below 0.9"
        ]


def test_a_thin_group_fails_a_gate_however_high_it_scores() -> None:
    thin = {q: kind for q, kind in KINDS.items() if kind == "how-to" or q in ("k0", "k1")}
    few = ["RR by group: keyword (2): fewer than 10 queries decide no gate; so many of each would"]
    qrels = {q: QRELS[q] for q in thin}
    report = evaluate(qrels, GOOD_AT_KEYWORDS, "RR", by=thin)
    assert any("to decide a gate: group=keyword (2)" in str(f) for f in report.findings)
    for gate in ("RR:0.1@worst-group", "RR:0.1@group=keyword"):
        assert whys(outcome_of(report, read_gates([gate])), "cannot tell") == few


def test_a_group_without_a_judged_query_fails_the_gate_on_the_worst() -> None:
    kinds = KINDS | {"v1": "vague"}
    report = evaluate(QRELS, BETTER_AT_BOTH, "RR", by=kinds)
    (found,) = whys(outcome_of(report, read_gates(["RR:0.1@worst-group"])), "cannot tell")
    assert "vague (0)" in found
    assert any("1 of 41 queries of the queries is not in" in str(f) for f in report.findings)


def test_thin_groups_of_several_runs_are_named_once() -> None:
    runs = {"a": GOOD_AT_KEYWORDS, "b": WORSE_AT_BOTH}
    assert failures("RR:0.1@worst-group", fewest=30, runs=runs) == [
        "RR by group: how-to (20), keyword (20): fewer than 30 queries decide no gate; "
        "so many of each would"
    ]


def test_a_collections_queries_are_grouped_by_their_metadata(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll = str(folder / "coll")
    assert labeler(["evaluate", coll, "-m", "RR", "--by", "kind"]) == 0
    out = capsys.readouterr().out
    assert "by kind" in out
    rows = [line for line in out.splitlines() if line.startswith(("how-to", "keyword"))]
    assert max(map(len, rows)) <= 80
    command = ["evaluate", coll, "-m", "RR"]
    assert labeler([*command, "--require", "RR:0.9@worst-kind"]) == 5
    assert "a, kind how-to: RR is 0.5500, below 0.9" in capsys.readouterr().err
    assert labeler([*command, "--require", "RR:0.6@worst-kind"]) == 6
    assert "a, kind how-to: RR is 0.5500 [0.4" in capsys.readouterr().err
    assert labeler([*command, "--require", "RR:0.5@worst-kind"]) == 0
    assert labeler([*command, "--require-low", "RR:0.45@worst-kind"]) == 0
    assert labeler([*command, "--require-low", "RR:0.5@worst-kind"]) == 6
    assert "which leaves open whether it is 0.5 or more" in capsys.readouterr().err


def test_a_gate_is_not_blamed_where_there_is_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run_file in (folder / "coll" / "runs").iterdir():
        run_file.unlink()
    assert labeler(["evaluate", str(folder / "coll")]) == 2
    assert capsys.readouterr().err.startswith(f"labeler: {folder / 'coll'}/runs holds no run")


def test_plain_files_are_grouped_by_a_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll = folder / "coll"
    files = [str(coll / "qrels" / "human.qrels"), *map(str, sorted(coll.glob("runs/*")))]
    table = ["--queries", str(folder / "kinds.csv"), "--by", "group"]
    assert labeler(["evaluate", *files, *table, "-m", "RR", "--json"]) == 0
    (grouped,) = printed_json(capsys)["groups"]
    assert grouped["sizes"] == {"keyword": 20, "how-to": 20}
    assert labeler(["evaluate", *files, *table, "-m", "RR", "--format", "csv"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header == "by,group,run,measure,queries,value,low,high,judged,thin,effective"
    assert len(rows) == 4
    for form in ("markdown", "latex"):
        assert labeler(["evaluate", *files, *table, "-m", "RR", "--format", form]) == 0
        assert "how-to" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--by knd", "--by: no query of"),
        ("--by knd", "did you mean 'kind'?"),
        ("--by source", "--by: source of the query h0 is no single value"),
        ("--require RR:0.4@worst-", "--require: cannot read 'RR:0.4@worst-'"),
        ("--require RR:0.4@kind=", "write it as nDCG@10:0.4@worst-kind"),
        ("--require RR:0.4@worst-knd", "--require: no query of"),
        ("--require RR:x@worst-kind", "--require: cannot read"),
        ("--require-low RR:0.4@kind=vague", "--require-low: no query has kind=vague"),
        ("--weights kind", "kind of the query k0: expected a number above 0, found 'keyword'"),
        ("--by kind --min-queries 1", "greater than or equal to 2"),
        ("--queries kinds.csv", "--queries: these queries are read for groups or weights"),
        ("--min-queries 5", "--min-queries: this is how many queries a group needs, and no"),
        ("--min-queries 5 --require RR:0.4", "--min-queries: this is how many queries a group"),
        ("--weights weight --scenarios", "--scenarios: of weighted means it is not known"),
    ],
)
def test_what_cannot_be_grouped_is_one_line(
    folder: Path, words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = words.replace("kinds.csv", str(folder / "kinds.csv")).split()
    assert labeler(["evaluate", str(folder / "coll"), "-m", "RR", *given]) in (2, 65)
    err = capsys.readouterr().err
    assert said in " ".join(err.replace("│", " ").split())


def test_qrels_without_a_collection_ask_for_a_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "h.qrels").write_text("k0 0 d 1\n")
    files = [str(folder / "h.qrels"), str(folder / "coll" / "runs" / "a.trec")]
    assert labeler(["evaluate", *files, "--by", "kind"]) == 2
    assert "--queries: the qrels stand in no collection" in capsys.readouterr().err


def test_a_file_of_one_query_is_a_file_of_queries(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"_id": "k0", "text": "x", "metadata": {"kind": "keyword"}}
    (folder / "one.jsonl").write_text(json.dumps(row))
    (folder / "h.qrels").write_text("k0 0 d 1\nk0 0 e 0\n")
    files = [str(folder / "h.qrels"), str(folder / "coll" / "runs" / "a.trec")]
    table = ["--queries", str(folder / "one.jsonl"), "--by", "kind"]
    assert labeler(["evaluate", *files, *table, "-m", "RR", "--json"]) == 0
    assert printed_json(capsys)["groups"][0]["sizes"] == {"keyword": 1}


def test_a_mean_by_weight_is_that_of_queries_repeated_as_often() -> None:
    weights = {query: 1.0 + (query[0] == "k") * 2 for query in KINDS}
    report = evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", weights=weights)
    assert report.runs[0].scores.means()["RR"] == pytest.approx((3 * 1.0 + 0.55) / 4)
    low, high = report.runs[0].intervals["RR"]
    assert low < (3 * 1.0 + 0.55) / 4 < high
    assert "40 queries by weight (as precise as 32 queries of equal weight)" in report.sentences[0]
    assert report.as_json()["weights"] == "weight"


def test_equal_weights_compare_runs_as_no_weights_do() -> None:
    runs = {"a": WORSE_AT_BOTH, "b": BETTER_AT_BOTH}
    (plain,) = evaluate(QRELS, runs, "RR", baseline="a").comparisons
    (weighted,) = evaluate(
        QRELS, runs, "RR", baseline="a", weights=dict.fromkeys(KINDS, 0.025)
    ).comparisons
    assert weighted.difference == pytest.approx(plain.difference)
    assert weighted.p == plain.p
    assert weighted.low == pytest.approx(plain.low, abs=0.02)


def test_queries_without_a_weight_are_left_out_and_counted() -> None:
    weights = {query: 1.0 for query in KINDS if query[0] == "k"}
    report = evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", weights=weights)
    assert report.runs[0].scores.means()["RR"] == 1.0
    assert len(report.runs[0].scores.queries) == 20
    assert report.runs[0].intervals["RR"][0] < 0.9
    assert any("20 queries of the qrels are not in" in str(f) for f in report.findings)


def test_weights_that_no_query_has_or_that_are_none_are_refused() -> None:
    with pytest.raises(BadInput, match="share no query"):
        evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", weights={"other": 1.0})
    with pytest.raises(BadInput, match="expected a number above 0, found -1"):
        evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", weights={"k0": -1.0})
    with pytest.raises(Misuse, match="no query of the queries has 'group'"):
        evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", by=dict.fromkeys(KINDS, ""))


def test_ten_equal_weights_are_as_precise_as_ten_queries() -> None:
    ten = {query: kind for query, kind in KINDS.items() if int(query[1:]) < 10}
    qrels = {query: QRELS[query] for query in ten}
    for weight in (0.1, 0.3, 1e-12, 1e12):
        weights = dict.fromkeys(ten, weight)
        queries = {q: {"kind": ten[q], "w": weights[q]} for q in ten}
        options: dict[str, Any] = {"by": "kind", "weights": "w", "queries": queries}
        report = evaluate(qrels, GOOD_AT_KEYWORDS, "RR", **options)
        assert {score.effective for score in report.by[0].scores} == {10.0}
        assert not report.by[0].thin
        outcome = outcome_of(report, read_gates(["RR:0.1@worst-kind"]))
        assert [ruling.verdict for ruling in outcome] == ["pass", "pass"]


def test_a_number_of_equal_weights_is_the_same_in_warning_table_and_gate() -> None:
    weights = {query: 1.0 + (int(query[1:]) < 6) * 3 for query in KINDS}
    queries = {q: {"kind": KINDS[q], "w": weights[q]} for q in KINDS}
    options: dict[str, Any] = {"by": "kind", "weights": "w", "queries": queries}
    report = evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", **options, min_queries=15)
    assert report.by[0].scores[0].effective == pytest.approx(13.1, abs=0.05)
    near = evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", **options, min_queries=13)
    assert not near.by[0].thin
    (warning,) = [str(f) for f in report.findings if "too few" in str(f)]
    (failed,) = whys(outcome_of(report, read_gates(["RR:0.1@worst-kind"])), "cannot tell")
    assert "keyword (13)" in warning
    assert "keyword (13" in failed
    assert report.group_tables()[0].rows[0][1] == "thin 13"


def test_queries_just_short_of_a_bound_are_never_rounded_up_to_it() -> None:
    weights = {query: 1.0 + (int(query[1:]) < 8) * 4 for query in KINDS}
    queries = {q: {"kind": KINDS[q], "w": weights[q]} for q in KINDS}
    options: dict[str, Any] = {"by": "kind", "weights": "w", "queries": queries}
    report = evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", **options, min_queries=13)
    assert report.by[0].scores[0].effective == pytest.approx(12.755, abs=0.01)
    (failed,) = whys(outcome_of(report, read_gates(["RR:0.1@worst-kind"])), "cannot tell")
    assert "keyword (12)" in failed
    assert report.group_tables()[0].rows[0][1] == "thin 12"


@pytest.mark.parametrize("gate", ["RR:0.1@worst-group", "RR:0.1@group=keyword"])
def test_a_judged_group_that_a_run_does_not_answer_is_never_passed_over(gate: str) -> None:
    how_to = {q: docs for q, docs in BETTER_AT_BOTH.items() if KINDS[q] == "how-to"}
    (found,) = failures(gate, runs=how_to, missing="skip")
    few = "RR by group: keyword (0): fewer than 10 queries decide no gate"
    assert found == f"{few}; so many of each would"


def test_a_sum_is_not_said_to_be_by_weight() -> None:
    weights = {query: 1.0 + (query[0] == "k") for query in KINDS}
    (said,) = evaluate(QRELS, GOOD_AT_KEYWORDS, "NumRet", weights=weights).sentences
    assert said == "run: NumRet is 80 over 40 queries."


def test_a_file_of_rows_holds_groups_only_where_they_are_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", str(folder / "coll"), "-m", "RR", "--format", "csv"]
    for words in ([], ["--per-query"]):
        assert labeler([*command, *words]) == 0
        plain = capsys.readouterr().out
        assert labeler([*command, *words, "--require", "RR:0.1@worst-kind"]) == 0
        assert capsys.readouterr().out == plain
    for words in ("--per-query", "--scenarios"):
        assert labeler([*command, "--by", "kind", words]) == 2
        said = f"--by: csv holds one table; leave this out, or {words}, or take json"
        assert said in capsys.readouterr().err
        assert labeler([*command[:-1], "json", "--by", "kind", words]) == 0
        capsys.readouterr()


def test_a_weighted_mean_of_perfect_scores_is_perfect_whatever_the_weights() -> None:
    perfect = run({"keyword": 1.0, "how-to": 1.0})
    for weight in (0.1, 0.3, 0.7):
        weights = {query: weight * (1 + int(query[1:])) for query in KINDS}
        report = evaluate(QRELS, perfect, "RR nDCG@10", weights=weights)
        assert set(report.runs[0].scores.means().values()) == {1.0}
        assert set(report.runs[0].judged.values()) == {1.0}


def test_rows_of_groups_are_those_of_the_fields_asked_for() -> None:
    queries = {q: {"kind": kind, "half": int(q[1:]) % 2} for q, kind in KINDS.items()}
    report = evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", by=("kind", "half"), queries=queries)
    assert {row[0] for row in group_rows(report.by).rows} == {"kind", "half"}
    assert {row[0] for row in group_rows(report.by[:1]).rows} == {"kind"}


def test_a_census_of_a_log_leaves_nothing_open_and_counts_alone_are_warned_of() -> None:
    rng = np.random.default_rng(3)
    scores, times = rng.random(300), np.ceil(1000 / np.arange(1, 301))
    every = Weighting(times, np.ones(300))
    low, high = bounded_interval(scores, (0.0, 1.0), weighting=every) or (0.0, 1.0)
    assert low == high == pytest.approx(np.average(scores, weights=times))
    half = Weighting(times[::2], np.full(150, 0.5))
    widths = [
        high - low
        for weighting in (half, Weighting(times[::2]))
        if (ends := bounded_interval(scores[::2], (0.0, 1.0), weighting=weighting))
        for low, high in [ends]
    ]
    assert widths[0] == pytest.approx(widths[1] * 0.5**0.5)
    facts = {query: {"weight": 2.0, "chance": 0.5, "searches": 2} for query in KINDS}
    by_chance, counts = (
        evaluate(QRELS, GOOD_AT_KEYWORDS, "RR", queries=facts, weights=field)
        for field in ("weight", "searches")
    )
    assert not any("counts, and no chance" in str(each) for each in by_chance.findings)
    assert any("counts, and no chance" in str(each) for each in counts.findings)
    (first, second) = (of.runs[0] for of in (by_chance, counts))
    mean, other = first.intervals["RR"], second.intervals["RR"]
    assert mean[1] - mean[0] < other[1] - other[0]
    # another set's queries are drawn anew, whatever this log had
    assert first.next_set() == second.next_set()
