"""Votes of repeats as the grade: what most replies say, and none where most say nothing."""

import json
from pathlib import Path

import pytest
from made import make_collection, pair_in

from labeler.cli import execute
from labeler.collection.judgements import origin_of, read_judgements
from labeler.data import Failure, Judgement, Outcome, Pair
from labeler.judging.judge import JudgeOptions, judge
from labeler.judging.methods.inquiries import elected
from labeler.judging.relabel import arelabel, areparse
from labeler.model import Request
from labeler.models.session import run_to_end
from labeler.testing import FakeServer, fake_model

PAIR = Pair("q", "d")
ELECTED: dict[str, tuple[list[int | None], int | None]] = {
    "all alike": ([2, 2, 2], 2),
    "two of three": ([0, 3, 3], 3),
    "one failed": ([1, None, 1], 1),
    "all differ: the middle": ([3, 0, 1], 1),
    "a tie: the lower median": ([3, 0, 0, 3], 0),
    "a tie round a middle": ([0, 0, 1, 3, 3], 1),
    "one failed, the others differ": ([0, None, 3], 0),
    "most failed": ([2, None, None], None),
    "half failed": ([2, 2, None, None], None),
    "one vote": ([2], 2),
}


def outcome(grade: int | None) -> Outcome:
    if grade is None:
        return Failure(PAIR, "unparsable", "nothing")
    return Judgement(PAIR, grade, f"says {grade}")


@pytest.mark.parametrize(("votes", "grade"), ELECTED.values(), ids=list(ELECTED))
def test_the_grade_is_what_most_votes_say(votes: list[int | None], grade: int | None) -> None:
    made = elected([outcome(vote) for vote in votes])
    if grade is None:
        assert isinstance(made, Failure)
        return
    assert isinstance(made, Judgement)
    assert (made.grade, made.votes, made.reason) == (grade, tuple(votes), f"says {grade}")


def test_a_pair_with_an_unasked_vote_has_no_outcome() -> None:
    assert elected([outcome(2), None, outcome(2)]) is None


def voter(request: Request) -> str:
    """One voter in three says 0 of every pair, the others the number of its document."""
    pair = pair_in(request.messages[-1].content)
    assert pair is not None
    return json.dumps({"grade": 0 if request.repeat == 1 else int(pair.doc_id[1:]) % 4})


def test_each_pair_is_asked_about_three_times_and_all_votes_are_kept(tmp_path: Path) -> None:
    collection = make_collection(tmp_path / "c")
    result = judge(collection, model=fake_model(voter), name="a", votes=3)
    assert (result.judged, result.spent.calls) == (10, 30)
    for row in read_judgements(result.judgements):
        made = row.judged.outcome
        assert isinstance(made, Judgement)
        says = int(made.pair.doc_id[1:]) % 4
        assert (made.grade, made.votes) == (says, (says, 0, says))
    assert judge(collection, model=fake_model(voter), name="a", votes=3).spent.calls == 0
    origin = origin_of(result.judgements)
    assert origin is not None
    assert origin.parameters["votes"] == 3


def test_votes_are_read_anew_as_votes(tmp_path: Path) -> None:
    collection = make_collection(tmp_path / "c")
    judge(collection, model=fake_model(voter), name="a", votes=3)
    again = run_to_end(lambda _stop: areparse(collection, "a", "b"))
    assert (again.judging.judged, again.judging.spent.calls) == (10, 0)
    assert not again.changes.moved


def test_votes_have_a_name_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collection = make_collection(tmp_path / "c")
    with FakeServer('{"grade": 1}') as server:
        where = ["judge", str(collection.folder), "--model", "fake", "--as", "a", "--quiet"]
        where += ["--base-url", server.base_url]
        assert execute([*where, "--votes", "3"]) == 0
        assert execute(where) == 2
        assert "give another name" in capsys.readouterr().err
        plan = ["--dry-run", "--format", "json", "--retry-failed"]
        assert execute([*where[:5], "new", *where[6:], "--votes", "5", *plan]) == 0
        assert json.loads(capsys.readouterr().out)["calls"] == 20  # of 50, 30 are remembered


def test_relabeling_takes_votes_too(tmp_path: Path) -> None:
    collection = make_collection(tmp_path / "c")
    judge(collection, model=fake_model('{"grade": 0}', "first"), name="a")
    options = JudgeOptions(model=fake_model(voter, "second"), name="b", votes=3)
    result = run_to_end(lambda _stop: arelabel(collection, "a", options))
    assert (result.judging.judged, result.judging.spent.calls) == (10, 30)
