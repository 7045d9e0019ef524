"""`labeler evaluate`: what it prints, refuses and gates."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeler.cli import execute as labeler
from labeler.collection.scale import card_top_grade, top_grade_of
from labeler.evaluation.evaluate import evaluate

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\nq2 0 c 1\nq3 0 d 0\n"
GOOD = "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq2 Q0 a 1 3 t\nq2 Q0 c 2 2 t\nq2 Q0 x 3 1 t\n"
BAD = "q1 Q0 b 1 3 t\nq1 Q0 x 2 2 t\nq2 Q0 x 1 3 t\nq9 Q0 a 1 1 t\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"h.qrels": QRELS, "good.trec": GOOD, "bad.run.txt": BAD}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def printed_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_json_follows_the_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / name) for name in ("h.qrels", "good.trec", "bad.run.txt")]
    assert labeler(["evaluate", *files, "-m", "nDCG@10", "-m", "P@1", "--json", "--per-query"]) == 0
    found = printed_json(capsys)
    sections = [
        "qrels",
        "grades",
        "measures",
        "stale",
        "runs",
        "comparisons",
        "equivalence",
    ]
    assert set(found) == {*sections, "warnings"}
    assert found["qrels"] == files[0]
    assert found["measures"] == ["nDCG@10", "P@1"]
    good, bad = found["runs"]
    assert (good["run"], good["queries"], bad["run"]) == ("good", 3, "bad")
    assert good["scores"]["P@1"]["value"] == pytest.approx(2 / 3)
    assert good["scores"]["P@1"]["low"] <= 2 / 3 <= good["scores"]["P@1"]["high"]
    assert good["judged"] == {"Judged@1": 1.0, "Judged@10": pytest.approx((1 + 2 / 3) / 2)}
    assert good["per_query"]["q2"] == {"nDCG@10": 1.0, "P@1": 1.0}
    assert set(good["scenarios"]["P@1"]) == {"unjudged_irrelevant", "unjudged_top", "low", "high"}
    assert set(good["scenarios"]["nDCG@10"]) == set(good["scenarios"]["P@1"])
    comparison = found["comparisons"][0]
    assert (comparison["run"], comparison["baseline"]) == ("bad", "good")
    assert comparison["verdict"] == "not known"
    assert comparison["doubt"]["because"] == "3 queries are too few (at least 10)"
    assert any("bad: 1 query of the run not in the qrels: ignored" in w for w in found["warnings"])
    assert any("good: 1 of 3 queries missing from the run" in w for w in found["warnings"])
    assert any("1 of 3 queries without a relevant document" in w for w in found["warnings"])
    assert any("only 3 queries: intervals are wide" in w for w in found["warnings"])


def test_a_collection_is_scored_with_its_runs_and_human_qrels(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = folder / "coll"
    (collection / "runs").mkdir(parents=True)
    (collection / "qrels").mkdir()
    (collection / "runs" / "bm25.trec").write_text(GOOD)
    (collection / "qrels" / "human.qrels").write_text(QRELS)
    (collection / "qrels" / "other.qrels").write_text(QRELS.replace("a 1", "a 0"))
    assert labeler(["evaluate", str(collection), "-m", "P@1", "--json"]) == 0
    assert printed_json(capsys)["qrels"] == str(collection / "qrels" / "human.qrels")
    assert labeler(["evaluate", str(collection), "--qrels", "other", "-m", "P@1", "--json"]) == 0
    assert printed_json(capsys)["runs"][0]["scores"]["P@1"]["value"] == pytest.approx(1 / 3)
    (collection / "qrels" / "human.qrels").rename(collection / "qrels" / "third.qrels")
    assert labeler(["evaluate", str(collection)]) == 2
    assert "choose one: other, third" in capsys.readouterr().err


def test_gates_end_with_code_5_and_say_what_failed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sized(folder, 12, bad=0, fair=8)
    bad = [files[0], files[1]]
    assert labeler(["evaluate", *bad, "--require", "nDCG@10:0"]) == 0
    assert labeler(["evaluate", *bad, "--require", "nDCG@10:0.5"]) == 5
    assert "bad: nDCG@10 is 0.0000, below 0.5" in capsys.readouterr().err
    assert labeler(["evaluate", *bad, "--require", "nDCG@10"]) == 2
    good = [files[0], files[2], "-m", "P@1"]
    assert labeler(["evaluate", *good, "--require", "P@1:0.6"]) == 0
    capsys.readouterr()
    assert labeler(["evaluate", *good, "--require-low", "P@1:0.6"]) == 6
    assert "cannot tell: fair: P@1 is 0.6667 [0.354, 0.980], which" in capsys.readouterr().err
    assert labeler(["evaluate", *good, "--require-low", "P@1:0.99"]) == 5
    assert "fair: P@1 is 0.6667, below 0.99" in capsys.readouterr().err
    assert labeler(["evaluate", *good, "--require-low", "P@1:0"]) == 0
    assert labeler(["evaluate", *good, "--require-low", "P@1"]) == 2
    assert "--require-low: cannot read 'P@1'" in capsys.readouterr().err


def comparing(files: list[str]) -> list[str]:
    """`compare` of runs, by qrels that are those of a collection."""
    qrels, *runs = files
    folder = Path(qrels).parent / "compared"
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    shutil.copy(qrels, folder / "qrels" / "human.qrels")
    return ["compare", str(folder), *runs]


def test_no_worse_than_passes_what_is_shown_to_lose_less_than_the_margin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sized(tmp_path, 100, up=60, down=20)
    files += [str(tmp_path / "near.trec"), "-m", "P@1"]
    right = [q for q in range(100) if q < 60 and q != 7]
    lines = [f"q{q} Q0 {'a' if q in right else 'b'} 1 1 t\n" for q in range(100)]
    (tmp_path / "near.trec").write_text("".join(lines))
    assert labeler([*comparing(files), "--no-worse-than", "up"]) == 5
    err = capsys.readouterr().err
    assert "down: P@1 is 0.4000 worse than up's, by more than 0.05 (at least 0.3" in err
    assert "near" not in err  # one query of a hundred is lost: at most .047 of all
    (tmp_path / "down.trec").unlink()
    two = [files[0], files[1], *files[3:]]
    assert labeler([*comparing(two), "--no-worse-than", "up", "--json"]) == 0
    (found,) = printed_json(capsys)["equivalence"]
    assert (found["run"], found["baseline"], found["margin"]) == ("near", "up", 0.05)
    assert found["verdict"] == "equal within the margin"
    assert -0.05 < found["low"] < found["difference"] == pytest.approx(-0.01)
    assert labeler([*comparing(two), "--no-worse-than", "up", "--margin", "0.04"]) == 6
    said = capsys.readouterr().err
    assert "so that a loss of 0.04 is not excluded over all queries like these; about " in said
    assert re.search(r"about 3\d\d of them would settle it with a .* if -0.0100 is true", said)


def test_five_losses_and_no_win_of_thirty_pass_no_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No test tells five losses from chance (p .0625); that shows no run to be as good."""
    files = [*sized(tmp_path, 30, a=30, b=25), "-m", "Success@1"]
    assert labeler([*comparing(files), "--no-worse-than", "a"]) == 6
    said = "b differs from a on 5 queries, of which no outcome has a p below 0.062."
    assert said in capsys.readouterr().out
    assert labeler([*comparing(files), "--no-worse-than", "a", "--margin", "0.2"]) == 6
    assert "b: Success@1 against a's is -0.1667" in capsys.readouterr().err


@pytest.mark.parametrize("margins", [["0.05"], ["P@1:0.05"], ["AP:0.3", "P@1:0.05"]])
def test_margins_are_for_all_measures_or_for_one(
    margins: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [*sized(tmp_path, 60, a=30, b=29), "-m", "P@1", "-m", "AP"]
    asked = [part for margin in margins for part in ("--margin", margin)]
    assert labeler([*comparing(files), *asked, "--json"]) == 0
    found = {e["measure"]: e["margin"] for e in printed_json(capsys)["equivalence"]}
    everything = {"P@1": 0.05, "AP": 0.05}
    assert found == (everything if margins == ["0.05"] else dict(sorted(found.items())))
    assert found["P@1"] == 0.05
    assert labeler([*comparing(files), *asked]) == 0
    assert "held against a, with a margin" in capsys.readouterr().out


def test_the_same_rankings_are_no_worse_however_few_queries_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [*sized(tmp_path, 9, a=5, b=5), "-m", "P@1"]
    assert labeler([*comparing(files), "--no-worse-than", "a"]) == 0
    err = capsys.readouterr().err
    assert "a and b rank documents of the same grades alike in every query: copies" in err
    assert labeler(["evaluate", *files, "--json"]) == 0
    (only,) = printed_json(capsys)["comparisons"]
    assert only["low"] < 0 < only["high"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["--no-worse-than", "a", "--margin", "nan"],
            "--margin: cannot read 'nan'; write it as 0.05",
        ),
        (
            ["--no-worse-than", "a", "--margin", "AP:0"],
            "--margin: a margin is a number above 0, not 0.0",
        ),
        (["--no-worse-than", "a", "--margin", "AQ:1"], "--margin: no measure 'AQ'"),
        (["--margin", "AP:0.1", "-m", "P@1"], "--margin: AP is no mean over queries, or is not"),
        (["--no-worse-than", "a", "-m", "DCG@5"], "DCG@5 has no largest value"),
        (
            ["--no-worse-than", "a", "--margin", "1.1", "-m", "P@1"],
            "the gate cannot fail: even a run that scores 0",
        ),
    ],
)
def test_gates_that_cannot_be_held_are_refused(
    arguments: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sized(tmp_path, 20, a=15, b=14)
    assert labeler([*comparing(files), *arguments]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("qrels", "run", "guess"),
    [
        ("007 0 a 1\n", "7 Q0 a 1 1 t\n", "padded with zeros"),
        ("q7 0 a 1\n", "7 Q0 a 1 1 t\n", "prefix or suffix"),
        ("q1 0 a 1\n", "Q1 Q0 a 1 1 t\n", "upper and lower case"),
        ("7 0 a 1\n", "7.0 Q0 a 1 1 t\n", "with decimals"),
        ("q007 0 a 1\n", "7 Q0 a 1 1 t\n", "they differ in a prefix and in zeros (q007 and 7)"),
        ("MARCO_7 0 a 1\n", "7 Q0 a 1 1 t\n", "prefix or suffix (MARCO_7 and 7)"),
        ('"7" 0 a 1\n', "7 Q0 a 1 1 t\n", "in quotation marks"),
        ("x 0 a 1\n", "y Q0 a 1 1 t\n", "h.qrels has x; the run r has y"),
    ],
)
def test_nothing_in_common_is_refused_with_a_guess(
    qrels: str, run: str, guess: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "h.qrels").write_text(qrels)
    (tmp_path / "r.trec").write_text(run)
    assert labeler(["evaluate", str(tmp_path / "h.qrels"), str(tmp_path / "r.trec")]) == 65
    assert guess in capsys.readouterr().err


def test_three_ids_of_each_side_stand_in_the_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "h.qrels").write_text("".join(f"a{n} 0 d 1\n" for n in range(5)))
    (tmp_path / "r.trec").write_text("".join(f"{n} Q0 d 1 1 t\n" for n in range(9, 3, -1)))
    assert labeler(["evaluate", str(tmp_path / "h.qrels"), str(tmp_path / "r.trec")]) == 65
    (line,) = capsys.readouterr().err.splitlines()
    assert "h.qrels has a0, a1, a2, …; the run r has 9, 8, 7, …; they differ in a prefix" in line


def test_documents_without_one_in_common_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "h.qrels").write_text("q 0 D1 1\n")
    (tmp_path / "r.trec").write_text("q Q0 1 1 1 t\n")
    assert labeler(["evaluate", str(tmp_path / "h.qrels"), str(tmp_path / "r.trec")]) == 0
    assert (
        "none of its documents stands in the qrels; are their ids the same?"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("form", ["table", "csv", "jsonl", "latex", "markdown"])
def test_every_format_holds_the_scores(
    form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / name) for name in ("h.qrels", "good.trec")]
    out = folder / "out"
    assert labeler(["evaluate", *files, "-m", "P@1", "--format", form, "-o", str(out)]) == 0
    assert "0.6667" in out.read_text() or "0.66666666" in out.read_text()
    assert "good" in out.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["h.qrels"], 2, "no run to score"),
        (["h.qrels", "good.trec", "-m", "nDGC"], 2, "did you mean 'nDCG'?"),
        (["h.qrels", "good.trec", "good.trec"], 2, "are both the run 'good'"),
        (
            ["h.qrels", "good.trec", "--format", "pdf"],
            2,
            "--format': 'pdf' is not one of 'table'",
        ),
        (["h.qrels", "good.trec", "--baseline", "x"], 2, "no run 'x'; known: good"),
        (
            ["h.qrels", "good.trec", "--missing", "no"],
            2,
            "--missing': 'no' is not one of 'zero', 'skip'",
        ),
        (["h.qrels", "missing.trec"], 74, "no such file or folder"),
        (["good.trec", "h.qrels"], 65, "expected 4 columns"),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    arguments: list[str], code: int, problem: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = [str(folder / a) if a.endswith((".qrels", ".trec")) else a for a in arguments]
    assert labeler(["evaluate", *there]) == code
    err = capsys.readouterr().err
    assert problem in err
    assert err.count("\n") == 1


def test_a_shared_mean_of_one_has_no_empty_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "h.qrels").write_text("".join(f"q{q} 0 a 1\n" for q in range(43)))
    (tmp_path / "r.trec").write_text("".join(f"q{q} Q0 a 1 1 t\n" for q in range(43)))
    files = [str(tmp_path / name) for name in ("h.qrels", "r.trec")]
    assert labeler(["evaluate", *files, "-m", "Success@5", "--json"]) == 0
    found = printed_json(capsys)["runs"][0]["scores"]["Success@5"]
    # Wilson's interval of 43 of 43: n / (n + z²)
    assert found == {"value": 1.0, "low": pytest.approx(43 / (43 + 1.959964**2)), "high": 1.0}


def test_queries_of_which_a_measure_is_undefined_are_counted_and_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / "h.qrels"), str(folder / "good.trec"), str(folder / "bad.run.txt")]
    assert labeler(["evaluate", *files, "-m", "Judged@1", "--json"]) == 0
    found = printed_json(capsys)
    assert found["runs"][0]["scores"]["Judged@1"]["value"] == 1.0
    assert "good: Judged@1 is undefined for 1 of 3 queries: left out" in found["warnings"]


def test_runs_of_different_queries_are_compared_over_those_that_all_have(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / name) for name in ("h.qrels", "good.trec", "bad.run.txt")]
    (folder / "one.trec").write_text("q2 Q0 x 1 2 t\nq2 Q0 a 2 1 t\n")
    arguments = ["evaluate", *files, str(folder / "one.trec"), "-m", "P@1", "--missing", "skip"]
    assert labeler([*arguments, "--json"]) == 0
    found = printed_json(capsys)
    assert [run["queries"] for run in found["runs"]] == [2, 2, 1]
    assert {(c["baseline"], c["queries"]) for c in found["comparisons"]} == {("good", 1)}
    assert "runs are compared over the 1 query that all of them have" in found["warnings"]
    (folder / "one.trec").write_text("q3 Q0 x 1 2 t\n")
    assert labeler([*arguments, "--json"]) == 0
    found = printed_json(capsys)
    assert found["comparisons"] == []
    assert "runs are compared over the 0 queries that all of them have" in found["warnings"]


def test_what_was_asked_for_under_another_name_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / "h.qrels"), str(folder / "good.trec")]
    assert labeler(["evaluate", *files, "-m", "MRR@10", "-m", "Q-measure", "--json"]) == 0
    found = printed_json(capsys)
    assert list(found["runs"][0]["scores"]) == ["RR@10", "Q-measure"]
    assert "MRR@10 goes by the name RR@10 here" in found["warnings"]


def test_no_column_stands_there_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / "h.qrels"), str(folder / "good.trec")]
    assert labeler(["evaluate", *files, "-m", "Judged@10", "-m", "P@1", "--format", "csv"]) == 0
    header = capsys.readouterr().out.splitlines()[0].split(",")
    assert len(set(header)) == len(header)
    assert {"Judged@10", "Judged@1"} <= set(header)


def test_scenarios_and_bounds_are_a_table_when_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / "h.qrels"), str(folder / "good.trec")]
    assert labeler(["evaluate", *files, "-m", "P@5", "-m", "Bpref"]) == 0
    printed = capsys.readouterr()
    assert "irrelevant" not in printed.out
    assert "were the rest judged, its P@5 could be anything from 0.200 to 0.267" in printed.err
    assert labeler(["evaluate", *files, "-m", "P@5", "-m", "Bpref", "--scenarios"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "run   measure   score  unjudged irrelevant  unjudged of top grade    least and most",
        "good  P@5      0.2000               0.2000                 0.2667  [0.2000, 0.2667]",
        "good  Bpref    0.6667               0.6667                 0.6667                 -",
    ]


def test_programs_get_the_scenarios_as_the_one_table_of_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / "h.qrels"), str(folder / "good.trec")]
    assert labeler(["evaluate", *files, "-m", "P@5", "--scenarios", "--format", "csv"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header == "run,measure,score,unjudged irrelevant,unjudged of top grade,least,most"
    assert row.split(",")[:2] == ["good", "P@5"]
    assert list(map(float, row.split(",")[2:])) == pytest.approx([0.2, 0.2, 4 / 15, 0.2, 4 / 15])


def test_a_mean_at_its_ceiling_has_no_empty_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "h.qrels").write_text("".join(f"q{q} 0 a 1\n" for q in range(25)))
    (tmp_path / "r.trec").write_text("".join(f"q{q} Q0 a 1 1 t\n" for q in range(25)))
    files = [str(tmp_path / name) for name in ("h.qrels", "r.trec")]
    assert labeler(["evaluate", *files, "-m", "RR", "-m", "DCG", "--json"]) == 0
    found = printed_json(capsys)["runs"][0]["scores"]
    # Wilson's interval of 25 of 25, with 0 for a query that is not among them
    assert found["RR"] == {"value": 1.0, "low": pytest.approx(25 / (25 + 1.959964**2)), "high": 1.0}
    # DCG has no ceiling: a query that is not among them may have twice as much, or nothing
    low = found["RR"]["low"]
    assert found["DCG"] == {"value": 1.0, "low": pytest.approx(low), "high": pytest.approx(2 - low)}


def test_a_binary_gain_needs_no_top_grade(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / "h.qrels"), str(folder / "good.trec")]
    for measure, warned in (("RBP(p=0.9,rel=1)", False), ("RBP(p=0.9)", True)):
        assert labeler(["evaluate", *files, "-m", measure]) == 0
        assert ("the scale's top" in capsys.readouterr().err) == warned


def test_the_top_grade_comes_from_the_card(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = folder / "coll"
    for name in ("runs", "qrels"):
        (collection / name).mkdir(parents=True)
    (collection / "runs" / "a.trec").write_text(GOOD)
    (collection / "qrels" / "human.qrels").write_text(QRELS)
    assert labeler(["evaluate", str(collection), "-m", "ERR", "--json"]) == 0
    before = printed_json(capsys)
    assert any("took 2 for the scale's top" in warning for warning in before["warnings"])
    (collection / "card.json").write_text('{"fetch": {"grades": {"bad": 0, "good": 3}}}')
    assert labeler(["evaluate", str(collection), "-m", "ERR", "--json"]) == 0
    after = printed_json(capsys)
    assert not any("the scale's top" in warning for warning in after["warnings"])
    scores = [found["runs"][0]["scores"]["ERR"]["value"] for found in (before, after)]
    assert scores[1] < scores[0]


@pytest.mark.parametrize(
    ("card", "name", "top"),
    [
        ({}, "human", None),
        ({"judge": {"x": {"scale": {"0": "no", "2": "yes"}}}}, "x", 2),
        ({"judge": {"x": {"scale": {"0": "no", "2": "yes"}}}}, "human", 2),
        ({"judge": {"x": {"scale": {"2": ""}}}, "fetch": {"grades": {"a": 4}}}, "x", 2),
        ({"judge": {"x": {"scale": {"2": ""}}}, "fetch": {"grades": {"a": 4}}}, "human", 4),
        ({"samples": {"s": {"scale": {"0": "", "3": ""}}}}, "human", 3),
        ({"samples": {"s": {}}}, "human", None),
    ],
)
def test_the_scale_is_that_of_the_labels_themselves_if_the_card_has_it(
    card: dict[str, Any], name: str, top: int | None, tmp_path: Path
) -> None:
    (tmp_path / "card.json").write_text(json.dumps(card))
    assert card_top_grade(tmp_path, name) == top
    assert top_grade_of(tmp_path / "qrels" / f"{name}.qrels") == top
    assert top_grade_of(tmp_path / f"{name}.qrels") is None


def test_a_report_is_a_data_frame_for_notebooks(folder: Path) -> None:
    report = evaluate(folder / "h.qrels", folder / "good.trec", ("P@1", "AP"))
    scores = report.frame().set_index(["run", "measure"])
    assert list(scores.columns) == ["queries", "value", "low", "high"]
    assert scores.loc[("good", "P@1"), "value"] == pytest.approx(2 / 3)
    queries = report.frame(per_query=True)
    assert list(queries.columns) == ["run", "query", "P@1", "AP"]
    assert len(queries) == 3


@pytest.fixture
def piped() -> Iterator[Callable[[str], str]]:
    """Makes of a text the path of a pipe that holds it and can be read once."""
    ends: list[int] = []

    def make(text: str) -> str:
        reading, writing = os.pipe()
        os.write(writing, text.encode())
        os.close(writing)
        ends.append(reading)
        return f"/dev/fd/{reading}"

    yield make
    for end in ends:
        os.close(end)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have no path on this system")
def test_what_comes_through_a_pipe_is_read_as_from_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str], piped: Callable[[str], str]
) -> None:
    lines = GOOD.splitlines(keepends=True)
    scattered = "".join([*lines[::2], *lines[1::2]])
    qrels = QRELS + QRELS.splitlines(keepends=True)[0]
    assert labeler(["evaluate", piped(qrels), piped(scattered), "-m", "P@2", "--json"]) == 0
    found = printed_json(capsys)
    assert found["runs"][0]["scores"]["P@2"]["value"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert any("1 repeated line" in warning for warning in found["warnings"])
    assert labeler(["evaluate", str(folder / "h.qrels"), piped(GOOD + "q3 Q0 d 1 nan t\n")]) == 65
    assert ":6: expected a finite number" in capsys.readouterr().err


def test_a_measure_that_is_undefined_everywhere_holds_no_gate(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sized(folder, 12, g=12, b=0)
    asked = [*comparing(files), "-m", "P@1", "--no-worse-than", "g", "--margin", "0.1"]
    assert labeler(asked) == 5
    assert "b: P@1 is 1.0000 worse than g's, by more than 0.1" in capsys.readouterr().err
    for name, queries in (("g", range(6)), ("b", range(6, 12))):  # none has a document of both
        rows = (f"q{q} Q0 a 1 1 t\n" for q in queries)
        (folder / f"{name}.trec").write_text("".join(rows))
    assert labeler([*asked[:-4], "-m", "Judged@1", *asked[-4:]]) == 2
    assert "Judged@1 of b is undefined for all queries" in capsys.readouterr().err


def test_an_interval_of_differences_is_possible_and_not_empty(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels, good, bad = (str(folder / name) for name in ("f.qrels", "g.trec", "b.trec"))
    Path(qrels).write_text("q1 0 a 1\nq2 0 a 1\n")
    Path(good).write_text("q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\n")
    Path(bad).write_text("q1 Q0 x 1 1 t\nq2 Q0 y 1 2 t\nq2 Q0 a 1 1 t\n")
    assert labeler(["evaluate", qrels, good, bad, "-m", "AP", "--json"]) == 0
    found = printed_json(capsys)
    assert found["comparisons"][0]["low"] == -1
    assert -1 < found["comparisons"][0]["high"] <= 1
    same = "".join(f"q{i} Q0 a 1 1 t\n" for i in range(5))
    Path(qrels).write_text("".join(f"q{i} 0 a 1\n" for i in range(5)))
    Path(good).write_text(same)
    Path(bad).write_text(same.replace("a", "x"))
    assert labeler(["evaluate", qrels, good, bad, "-m", "AP", "--json"]) == 0
    only = printed_json(capsys)["comparisons"][0]
    assert (only["difference"], only["low"]) == (-1, -1)
    assert only["p"] >= 2 / 32
    assert only["high"] > -0.3


def test_no_result_takes_the_place_of_an_input(folder: Path) -> None:
    files = [str(folder / name) for name in ("h.qrels", "good.trec", "bad.run.txt")]
    for command in (["evaluate"], ["power"], ["lab", "leaderboard", files[0]]):
        assert labeler([*command, *files, "-o", files[1]]) == 2
    assert (folder / "good.trec").read_text() == GOOD


def sized(folder: Path, queries: int, **first_places: int) -> list[str]:
    """Qrels of so many queries, and runs that have the relevant document first in some of them."""
    return crossed(folder, queries, **{n: k.__gt__ for n, k in first_places.items()})


def test_a_sentence_first_says_who_leads_and_how_sure_that_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sized(tmp_path, 40, low=10, best=30, near=26)
    assert labeler(["evaluate", *files, "-m", "p@1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    leads = "best or near may be the best by P@1. best has the highest P@1, 0.7500 over 40 queries."
    leads += " Against it, low is worse (p "
    assert lines[0].startswith(leads)
    assert "; too few queries differ to tell near apart by any outcome." in lines[0]
    assert [line.split()[0] for line in lines[2:6]] == ["run", "best", "near", "low"]
    assert "unresolvable" in lines[10]
    (tmp_path / "near.trec").unlink()
    assert labeler(["evaluate", *files[:2], "-m", "p@1"]) == 0
    assert capsys.readouterr().out.startswith("low: P@1 is 0.2500 [0.110, 0.402] over 40 queries.")


def test_runs_of_one_score_lead_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sized(tmp_path, 10, one=10, other=10)
    assert labeler(["evaluate", *files, "-m", "NumRet"]) == 0
    assert capsys.readouterr().out.startswith(
        "one has the highest NumRet, 10 over 10 queries, as has other.\n"
    )


def test_people_see_runs_compared_by_the_first_measure_and_programs_by_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [*sized(tmp_path, 30, one=28, other=3), "-m", "P@1", "-m", "AP"]
    assert labeler(["evaluate", *files]) == 0
    assert "against one by P@1\n" in capsys.readouterr().out
    assert labeler(["evaluate", *files, "--json"]) == 0
    assert [c["measure"] for c in printed_json(capsys)["comparisons"]] == ["P@1", "AP"]


def test_against_a_baseline_the_sentence_says_who_is_better_and_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sized(tmp_path, 40, low=2, base=20, high=38)
    assert labeler(["evaluate", *files, "-m", "P@1", "--baseline", "base"]) == 0
    said = capsys.readouterr().out.splitlines()[0]
    assert said.startswith("high has the highest P@1, 0.9500 over 40 queries. Against base, high")
    assert "high is better (p " in said
    assert "; low is worse (p " in said


def test_warnings_of_one_kind_are_one_line_after_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "h.qrels").write_text("".join(f"q{q} 0 a 1\n" for q in range(30)))
    files = [str(tmp_path / "h.qrels")]
    for name, tied in (("one", 2), ("two", 5), ("three", 3), ("four", 4)):
        lines = [f"q{q} Q0 {doc} 1 1 t\n" for q in range(tied) for doc in "ab"]
        lines += [f"q{q} Q0 a 1 1 t\n" for q in range(tied, 30)]
        (tmp_path / f"{name}.trec").write_text("".join(lines))
        files.append(str(tmp_path / f"{name}.trec"))
    assert labeler(["evaluate", *files, "-m", "P@1"]) == 0
    tied_lines = [line for line in capsys.readouterr().err.splitlines() if "tied" in line]
    expected = "4 runs: 2 to 5 pairs of documents tied in score; ordered as trec_eval does"
    assert tied_lines == [f"warning: {expected}"]
    assert labeler(["evaluate", *files, "-m", "P@1", "--json"]) == 0
    assert sum("tied in score" in warning for warning in printed_json(capsys)["warnings"]) == 4


def crossed(folder: Path, queries: int, **first: Callable[[int], bool]) -> list[str]:
    """Qrels of so many queries, and runs whose first document is relevant where they say so."""
    (folder / "h.qrels").write_text("".join(f"q{q} 0 a 1\nq{q} 0 b 0\n" for q in range(queries)))
    for name, right in first.items():
        lines = [f"q{q} Q0 {'a' if right(q) else 'b'} 1 1 t\n" for q in range(queries)]
        (folder / f"{name}.trec").write_text("".join(lines))
    return [str(folder / "h.qrels"), *(str(folder / f"{name}.trec") for name in first)]


def test_each_verdict_names_the_family_that_it_allows_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {f"r{k}": (lambda q, k=k: (q * 7 + k * 5) % 11 < 3 + k) for k in range(5)}
    files = [*crossed(tmp_path, 40, **runs), "-m", "P@1"]
    verdicts = {}
    for named in ([], ["--baseline", "r4"]):
        assert labeler(["evaluate", *files, *named, "--json"]) == 0
        found = printed_json(capsys)["comparisons"]
        assert {c["baseline"] for c in found} == {"r4"}
        verdicts[bool(named)] = [c["verdict"] for c in found]
        for c in found:
            assert c["family"] == ("baseline" if named else "best")
            assert (c["verdict"] == "worse") == (c["p"] < 0.05) == (c["high"] < 0)
    assert verdicts[True].count("worse") >= verdicts[False].count("worse") > 0
    notes = {
        (): "allow for the choice of the best of 5 runs",
        ("--baseline", "r4"): "allow for the 4 runs compared with the baseline",
        ("--compare", "all"): "allow for all 10 pairs of runs",
        ("--compare", "hsd"): "allow for all 10 pairs of runs (HSD)",
    }
    for named, note in notes.items():
        assert labeler(["evaluate", *files, *named]) == 0
        assert f"p and intervals {note}" in capsys.readouterr().out


def test_of_two_runs_it_is_one_whether_the_best_was_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = crossed(tmp_path, 20, a=lambda q: q < 12, b=lambda q: q < 3)
    found = []
    for named in ([], ["--baseline", "a"], ["--compare", "all"]):
        assert labeler(["evaluate", *files, "-m", "P@1", *named, "--json"]) == 0
        (comparison,) = printed_json(capsys)["comparisons"]
        found.append({name: comparison[name] for name in ("family", "p", "verdict")})
    assert found[0] == found[1]
    assert found[2]["p"] == found[0]["p"]


def test_runs_with_the_same_score_share_the_highest() -> None:
    qrels = {"q1": {"d": 1}, "q2": {"d": 1}}
    first, later = {"d": 2.0, "x": 1.0}, {"x": 2.0, "d": 1.0}
    good, bad = {"q1": first, "q2": first}, {"q1": later, "q2": later}
    two = evaluate(qrels, {"a": good, "b": good, "c": bad}, "RR").sentences
    assert two[0] == "a has the highest RR, 1.0000 over 2 queries, as has b."
    three = evaluate(qrels, {"a": good, "b": good, "c": good}, "RR").sentences
    assert three[0] == "a has the highest RR, 1.0000 over 2 queries, as have b and c."


def test_a_difference_has_its_size_in_standard_deviations_and_its_place_on_another_set() -> None:
    qrels = {f"q{n}": {"d": 1} for n in range(30)}
    first = {q: {"d": 2.0, "e": 1.0} for q in qrels}
    second = {q: {"e": 2.0 if n % 3 == 0 else 0.0, "d": 1.0} for n, q in enumerate(qrels)}
    report = evaluate(qrels, {"first": first, "second": second}, "RR")
    (comparison,) = report.comparisons
    differences = np.array([-0.5 if n % 3 == 0 else 0.0 for n in range(30)])
    assert comparison.effect.value == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert comparison.effect.low is not None
    assert comparison.effect.high is not None
    assert comparison.effect.low < comparison.effect.value < comparison.effect.high < 0
    low, high = comparison.low, comparison.high
    assert comparison.next_set.low == pytest.approx(
        comparison.difference - 2**0.5 * (comparison.difference - low)
    )
    assert comparison.next_set.high is not None
    assert comparison.next_set.high > high
    figures = report.as_json()
    assert figures["comparisons"][0]["effect"] == comparison.effect._asdict()
    assert figures["runs"][0]["next_set"]["RR"]["high"] == 1.0
    assert {"effect", "effect low", "next set low"} <= set(report.tables()[1].keys)
