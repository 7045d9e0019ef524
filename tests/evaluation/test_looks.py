"""A gate that is looked at after every commit: what all looks err in, and losses that add up."""

import json
from pathlib import Path
from typing import Any

import pytest

import labeler
from labeler.cli import execute
from labeler.evaluation.looks import read_looks
from labeler.pipeline.compare import SystemComparison
from labeler.stats.power import level_of

QUERIES = [f"q{n:03}" for n in range(300)]
GRADES = "".join(f"{q} 0 right 1\n{q} 0 wrong 0\n" for q in QUERIES)


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/human.qrels").write_text(GRADES)
    return tmp_path


def run(right: int) -> dict[str, dict[str, float]]:
    """A run that has the relevant document first in so many queries."""
    return {q: {"right" if n < right else "wrong": 1.0} for n, q in enumerate(QUERIES)}


def look(coll: Path, old: int, new: int, policy: Any = "sequential") -> SystemComparison:
    """One look at a gate with a margin of .01."""
    systems = {"old": run(old), "new": run(new)}
    history = coll / "gates.jsonl"
    return labeler.compare(coll, systems, "P@1", margin=0.01, history=history, policy=policy)


def test_the_levels_of_all_looks_add_up_to_five_in_a_hundred() -> None:
    levels = [level_of(look) for look in range(1, 100_001)]
    assert levels == sorted(levels, reverse=True)
    # of 1 / x ** 1.6 the integral from the last look on stands for all looks after it
    rest = level_of(1) * 100_000**-0.6 / 0.6
    assert sum(levels) < 0.05
    assert sum(levels) + rest == pytest.approx(0.05, abs=1e-6)


def test_each_look_at_something_new_spends_less_and_is_one_line(coll: Path) -> None:
    for new in (250, 249, 248):
        look(coll, 250, new)
    first, second, third = read_looks(coll / "gates.jsonl")
    assert (first.verdict, first.error) == ("pass", 0.0)  # the same rankings: nothing is tested
    assert (second.error, third.error) == (level_of(1), level_of(2))
    assert third.spent == second.error + third.error
    assert (third.queries, third.baseline, third.system) == (300, "old", "new")
    assert third.difference == pytest.approx(-2 / 300)


def test_the_same_look_again_spends_nothing_and_adds_no_line(coll: Path) -> None:
    look(coll, 250, 240)
    lines = (coll / "gates.jsonl").read_text()
    assert look(coll, 250, 240).looks == read_looks(coll / "gates.jsonl")
    assert (coll / "gates.jsonl").read_text() == lines
    look(coll, 250, 239)
    assert (coll / "gates.jsonl").read_text().startswith(lines)


def test_a_history_whose_last_line_was_left_without_its_end_goes_on(coll: Path) -> None:
    look(coll, 250, 240)
    history = coll / "gates.jsonl"
    history.write_text(history.read_text().rstrip("\n"))
    look(coll, 250, 239)
    assert [of.difference for of in read_looks(history)] == pytest.approx([-10 / 300, -11 / 300])


def test_a_loss_that_one_look_shows_may_be_no_failure_of_a_series(coll: Path) -> None:
    for again in range(40):
        look(coll, 250, 251 + again)
    (of_series,) = look(coll, 250, 240).looks
    (alone,) = look(coll, 250, 239, policy="each").looks
    assert (of_series.error, of_series.verdict) == (level_of(41), "cannot tell")
    assert (alone.error, alone.verdict) == (0.05, "fail")


def test_small_losses_in_a_row_fail_once_they_add_up(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (coll / "runs").mkdir()
    codes = []
    for commit in range(14):
        for name, right in (("old", 250 - 2 * commit), ("new", 248 - 2 * commit)):
            lines = [f"{q} Q0 {d} 1 1 t\n" for q, row in run(right).items() for d in row]
            (coll / f"runs/{name}.trec").write_text("".join(lines))
        asked = ["compare", str(coll), "old", "new", "-m", "P@1", "--margin", "0.01"]
        asked += ["--history", str(coll / "gates.jsonl"), "--policy", "sequential"]
        codes.append(execute(asked))
    assert set(codes[:5]) == {6}
    assert codes[-1] == 5
    said = capsys.readouterr()
    assert "14 looks since old of 2" in said.out
    assert "lost 0.093 in all [0.0" in said.err
    assert "]: fail, as that is more than 0.01" in said.err
    last = read_looks(coll / "gates.jsonl")[-1]
    assert last.most is not None
    assert last.most > -last.margin  # against its own baseline nothing is shown


def test_losses_add_up_by_the_same_grades_alone(coll: Path) -> None:
    look(coll, 250, 249)
    (second,) = look(coll, 249, 248).looks
    assert second.since is not None
    assert not second.scores
    (coll / "qrels/human.qrels").write_text(f"{GRADES}q000 0 other 1\n")
    (third,) = look(coll, 248, 247).looks
    assert third.since is None
    assert len(third.scores) == len(QUERIES)
    assert third.error == level_of(3)


def test_scores_that_nobody_may_rely_on_are_not_tested(coll: Path) -> None:
    few = "".join(GRADES.splitlines(keepends=True)[:16])
    (coll / "qrels/human.qrels").write_text(few)
    (only,) = look(coll, 8, 2).looks
    assert (only.verdict, only.error, only.scores) == ("cannot tell", 0.0, {})


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        ("--policy sequential", 2, "--policy: name the file that counts the looks"),
        ("--history new.jsonl", 2, "--history: a history is kept of two systems and a margin"),
        ("--history other.jsonl --margin 0.01", 65, "other.jsonl:1: "),
    ],
)
def test_what_is_no_history_is_refused_and_stays(
    words: str, code: int, problem: str, coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words.replace("--history ", f"--history {coll}/")
    (coll / "other.jsonl").write_text('{"_id": "d1", "text": "a document"}\n')
    for name in ("old", "new"):
        (coll / f"{name}.trec").write_text("q000 Q0 right 1 1 t\n")
    runs = [str(coll / f"{name}.trec") for name in ("old", "new")]
    assert execute(["compare", str(coll), *runs, *words.split()]) == code
    assert problem in capsys.readouterr().err
    assert json.loads((coll / "other.jsonl").read_text())["_id"] == "d1"
    assert not (coll / "new.jsonl").exists()


def test_what_these_queries_cannot_show_is_said_first(coll: Path) -> None:
    first, second, *_ = look(coll, 250, 248).sentences
    cannot = "What these queries cannot show: "
    assert (
        first
        == f"{cannot}new differs from old on 2 queries, of which no outcome has a p below 0.5."
    )
    assert second.startswith(
        f"{cannot}a loss of 0.01 in P@1, as 300 queries like these resolve 0.0"
    )
    assert second.endswith(" would settle it with a chance of 80 % if both are alike.")
    enough = labeler.compare(coll, {"old": run(250), "new": run(220)}, "P@1", margin=0.2)
    assert enough.sentences[0].startswith("Which: ")
