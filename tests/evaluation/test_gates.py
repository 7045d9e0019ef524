"""What comes of gates: pass, fail or cannot tell, and how many queries would settle it."""

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labeler
from labeler.cli import execute
from labeler.evaluation.equivalence import bounds
from labeler.evaluation.rulings import Gate, number_needed
from labeler.metrics import parse
from labeler.report.table import Interval
from labeler.trec.write import write_qrels, write_run

AT_HALF = Interval(0.5, 0.4, 0.6)
UNKNOWN = Interval(0.5, None, None)


@pytest.mark.parametrize(
    ("bound", "require", "require_low"),
    [
        (0.39, "pass", "pass"),
        (0.4, "pass", "pass"),
        (0.45, "pass", "cannot tell"),
        (0.5, "pass", "cannot tell"),
        (0.55, "cannot tell", "cannot tell"),
        (0.6, "cannot tell", "cannot tell"),
        (0.61, "fail", "fail"),
    ],
)
def test_a_gate_fails_only_what_is_shown_to_lie_beyond_it(
    bound: float, require: str, require_low: str
) -> None:
    for low_end, verdict in ((False, require), (True, require_low)):
        gate = Gate("nDCG@10", bound, low_end)
        assert gate.of("a", AT_HALF, 40).verdict == verdict
        turned = Interval(-0.5, -0.6, -0.4)
        less = Gate("mae", -bound, low_end, better=-1)
        assert less.of("a", turned, 40).verdict == verdict
    # without an interval the value alone tells
    assert Gate("NumRet", bound).of("a", UNKNOWN, 40).verdict == (
        "pass" if bound <= 0.5 else "fail"
    )


@pytest.mark.parametrize("bound", [0.45, 0.5, 0.55])
def test_what_is_open_names_the_number_that_would_settle_it(bound: float) -> None:
    ruling = Gate("nDCG@10", bound, pairs=20).of("a", AT_HALF, 40)
    assert "a: nDCG@10 is 0.5000 [0.400, 0.600], which leaves open whether" in ruling.why
    if bound == 0.5:
        assert ruling.needed == math.inf
        assert ruling.why.endswith("no number of them would settle it if 0.5000 is true")
    else:
        assert ruling.needed == 360  # twice as near takes four times as many, and 1.5 ** 2 for .8
        assert "about 360 of them, with 7,200 pairs, would settle it" in ruling.why


@pytest.mark.parametrize("name", ["nDCG@10", "AP", "RR@10"])
def test_so_many_queries_settle_it_in_four_of_five_samples(name: str, shared: Path) -> None:
    """Of pairs of real systems, and margins that their 43 queries leave open."""
    report = labeler.evaluate(shared / "dl19/nist.qrels", shared / "dl19/runs", name)
    values = [run.scores.values[0] for run in report.runs]
    rng, measure, told = np.random.default_rng(0), parse(name), list[bool]()
    for (run, base), margin in itertools.product(itertools.permutations(values, 2), (0.01, 0.05)):
        truth, (low, high) = float((run - base).mean()), bounds(run, base, measure)
        end = low if truth > -margin else high
        number = number_needed(truth, end, -margin, len(run))
        if low < -margin < high and number < 2000:
            rows = rng.integers(len(run), size=int(number))
            low, high = bounds(run[rows], base[rows], measure)
            told.append(low > -margin if truth > -margin else high < -margin)
    assert len(told) > 30
    assert np.mean(told) > 0.8 - 3 * math.sqrt(0.8 * 0.2 / len(told))


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    """A hundred queries of one relevant document, which two runs have first in 60 and 57."""
    queries = [f"q{n:03}" for n in range(100)]
    (tmp_path / "qrels").mkdir()
    (tmp_path / "runs").mkdir()
    write_qrels(tmp_path / "qrels/human.qrels", {q: {"right": 1, "wrong": 0} for q in queries})
    for name, right in (("old", 60), ("new", 57)):
        docs = {q: {"right" if n < right else "wrong": 1.0} for n, q in enumerate(queries)}
        write_run(tmp_path / f"runs/{name}.trec", docs, name)
    return tmp_path


@pytest.mark.parametrize(
    ("threshold", "code", "verdicts"),
    [
        ("0.4", 0, ["pass", "pass"]),
        ("0.58", 6, ["cannot tell", "pass"]),
        ("0.9", 5, ["fail", "fail"]),
    ],
)
def test_every_form_of_output_tells_the_same_of_a_gate(
    threshold: str, code: int, verdicts: list[str], coll: Path, capsys: Any
) -> None:
    asked = ["evaluate", str(coll), "-m", "P@1", "--require", f"P@1:{threshold}"]
    problems = set()
    for form in ("json", "table", "markdown", "html", "csv"):
        assert execute([*asked, "--format", form]) == code
        out, err = capsys.readouterr()
        problems.add("".join(line for line in err.splitlines() if line.startswith("labeler: ")))
        if form == "json":
            assert [gate["verdict"] for gate in json.loads(out)["gates"]] == verdicts
        elif form != "csv":
            cells = re.findall(r"cannot tell|\bpass\b|\bfail\b", out.partition("P@1:")[2])
            assert cells == verdicts
            is_open = code == 6
            assert out.removeprefix("<p>").startswith("What these queries cannot") == is_open
    assert len(problems) == 1
    if code == 6:
        assert re.search(r"about \d+,?\d* of them would settle it", problems.pop())


def test_a_threshold_that_is_passed_by_less_than_these_queries_resolve_is_said_first(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["compare", str(coll), "old", "new", "-m", "P@1", "--require", "P@1:0.55"]
    assert execute(asked) == 0
    before, _, _ = capsys.readouterr().out.partition("Which: ")
    assert "What these queries cannot show: old: P@1 is 0.6000 [0.50" in before
    assert before.endswith("of them would settle it with a chance of 80 % if 0.5700 is true.\n")


@pytest.mark.parametrize("queries", [3, 5, 10])
@pytest.mark.parametrize("measure", ["P@1", "RR@10"])
def test_bounds_of_a_margin_lie_within_the_interval_beside_them(
    queries: int, measure: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(queries)
    names = [f"q{n}" for n in range(queries)]
    qrels = {q: {f"d{n}": int(n == 0) for n in range(5)} for q in names}
    (tmp_path / "qrels").mkdir()
    write_qrels(tmp_path / "qrels/human.qrels", qrels)
    for _ in range(20):
        runs = {
            name: {q: {f"d{n}": float(s) for n, s in enumerate(rng.random(5))} for q in names}
            for name in ("old", "new")
        }
        report = labeler.compare(tmp_path, runs, measure, margin=0.1).report
        (held,), (interval,) = report.equivalences, report.comparisons
        assert interval.low <= held.low <= held.difference <= held.high <= interval.high
