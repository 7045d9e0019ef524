"""What people say of pages of results: of one run, and of two side by side."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from labeler.annotate.look import LookChoice, QueryDraw, ResultPages, look_sessions
from labeler.annotate.look_report import look_report
from labeler.annotate.session import RaterAnswer
from labeler.collection.layout import Collection
from labeler.errors import BadInput, Misuse
from labeler.report.render import rendered_all
from labeler.stats.means import wilson
from tests.annotate.looks import (
    QUERIES,
    answer_all,
    better_side,
    first_is_right,
    lgtm_session,
    two_sessions,
    with_runs,
)


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return with_runs(tmp_path)


def good_or_not(item: dict) -> str:
    return "good" if first_is_right(item["results"]) else "not"


def test_the_share_of_good_pages_is_lgtm_with_its_interval(collection: Collection) -> None:
    answer_all(lgtm_session(collection, "bad"), good_or_not)
    report = look_report(collection, "bad")
    import numpy as np

    low, high = wilson(np.array([0.25]), QUERIES)
    assert report.asked.rate == (0.25, low[0], high[0])
    assert report.sentences[0] == (
        f"LGTM@10 of bad: 0.25 [{low[0]:.2f}, {high[0]:.2f}], by 1 rater on {QUERIES} queries."
    )
    assert not report.findings


def test_raters_of_one_query_are_one_query(collection: Collection) -> None:
    for rater in ("anna", "ben"):
        answer_all(lgtm_session(collection, "bad", rater=rater), good_or_not)
    report = look_report(collection, "bad")
    assert report.asked.rate.value == pytest.approx(0.25)
    assert report.agreement is not None
    assert report.agreement.value == 1.0
    assert "Of 24 queries with several raters, all say the same of 24" in report.sentences[1]


def test_more_queries_are_the_first_ones_and_others(collection: Collection) -> None:
    ids = [f"q{n:02}" for n in range(QUERIES)]
    few, more = (QueryDraw(n).of(ids) for n in (5, 10))
    assert more[:5] == few
    assert QueryDraw(5, seed=1).of(ids) != few
    session = lgtm_session(collection, "bad", QueryDraw(5))
    assert {item.probability for item in session.task.items} == {5 / QUERIES}


def test_other_results_are_asked_about_again(collection: Collection) -> None:
    answer_all(lgtm_session(collection, "bad"), good_or_not)
    path = collection.run("bad")
    path.write_text(path.read_text().replace("q01 Q0 q01-b 1 2", "q01 Q0 q01-b 1 0"))
    report = look_report(collection, "bad")
    assert len(report.values) == QUERIES - 1
    assert "1 answer is about other results than are shown now: left out" in map(
        str, report.findings
    )
    (item,) = [lgtm_session(collection, "bad").state()["item"]]
    assert item["query"]["id"] == "q01"


def test_what_nobody_can_tell_is_counted_and_in_no_figure(collection: Collection) -> None:
    session = lgtm_session(collection, "bad")
    session.answer(RaterAnswer(session.state()["item"]["id"], cannot_judge=True, note="no"))
    answer_all(session, good_or_not)
    report = look_report(collection, "bad")
    assert len(report.values) == QUERIES - 1
    assert report.as_json()["cannot_judge"] == 1


def test_an_answer_that_is_none_of_the_task_is_refused(collection: Collection) -> None:
    session = lgtm_session(collection, "bad")
    with pytest.raises(Misuse, match="expected one of the answers good, not"):
        session.answer(RaterAnswer(session.state()["item"]["id"], answer="left"))
    (session,) = two_sessions(collection)
    with pytest.raises(Misuse, match="expected one of the answers left, right, tie"):
        session.answer(RaterAnswer(session.state()["item"]["id"], answer="good"))


def test_the_preferred_run_wins_by_the_sign_test(collection: Collection) -> None:
    (session,) = two_sessions(collection)
    assert session.task.notes == ("6 queries of 24 not asked about: both show the same",)
    answer_all(session, better_side)
    report = look_report(collection, "good", "bad")
    assert report.asked[2:5] == (18, 0, 0)
    assert report.asked.rate.value == 1.0
    assert report.asked.p == pytest.approx(2**-17)
    assert report.overall[2:5] == (18, 6, 0)
    assert report.overall.rate.value == (18 + 3) / 24
    assert report.verdict == "good is preferred"
    turned = look_report(collection, "bad", "good")
    assert turned.asked.rate.value == 0.0
    assert turned.verdict == "good is preferred"


def test_the_journal_and_no_page_says_which_run_stands_left(collection: Collection) -> None:
    (session,) = two_sessions(collection)
    sides = Counter()
    while (item := session.state()["item"]) is not None:
        assert not {"good", "bad"} & set(json.dumps(item).replace('"', " ").split())
        session.answer(RaterAnswer(item["id"], answer="left"))
    for row in session.answers.values():
        sides[row.detail["left"]] += 1
        assert {row.detail["left"], row.detail["right"]} == {"good", "bad"}
    assert min(sides.values()) > 3


def test_sides_are_drawn_for_each_query_and_rater() -> None:
    queries = [str(number) for number in range(400)]
    a_b, b_a = (ResultPages(names, (), {}, ()) for names in (("a", "b"), ("b", "a")))
    drawn = {rater: [a_b.sides(0, rater, query)[0] for query in queries] for rater in ("x", "y")}
    assert 160 < drawn["x"].count("a") < 240
    same = sum(x == y for x, y in zip(drawn["x"], drawn["y"], strict=True))
    assert 160 < same < 240
    assert drawn["x"] == [b_a.sides(0, "x", query)[0] for query in queries]


def test_a_rater_who_takes_one_side_favors_no_run(collection: Collection) -> None:
    anna, ben = two_sessions(collection, raters=("anna", "ben"))
    answer_all(anna, better_side)
    answer_all(ben, lambda _item: "left")
    report = look_report(collection, "good", "bad")
    assert report.asked.queries == 18
    assert report.asked.losses == 0
    assert report.asked.wins + report.asked.ties == 18


def test_runs_that_cannot_be_looked_at_say_why(collection: Collection) -> None:
    runs = collection.folder / "runs"
    (runs / "same.trec").write_text((runs / "good.trec").read_text().replace(" good", " same"))
    (runs / "empty.trec").write_text("")
    (runs / "alien.trec").write_text("x1 Q0 d 1 1 alien\n")
    for choice, error in (
        (LookChoice(lgtm="god"), "no run 'god'; there are: "),
        (LookChoice(lgtm="alien"), "share no query"),
        (LookChoice(lgtm="empty"), "empty.trec"),
        (LookChoice(side_by_side=("good", "good")), "found 'good' twice"),
        (LookChoice(side_by_side=("good", "same")), "there is nothing to compare"),
        (LookChoice(), "expected one run to look at"),
        (LookChoice(lgtm="good", draw=QueryDraw(25)), "cannot draw 25 of 24 queries"),
    ):
        with pytest.raises((Misuse, BadInput), match=error):
            look_sessions(collection, choice, ["anna"])
    with pytest.raises(Misuse, match="expected 1 to 100"):
        QueryDraw(depth=0)


def test_a_report_of_nothing_says_so(collection: Collection) -> None:
    with pytest.raises(BadInput, match="nobody has answered anything yet"):
        look_report(collection, "good")
    answer_all(lgtm_session(collection, "bad"), good_or_not, most=1)
    with pytest.raises(BadInput, match="nobody has looked at the first 10 results of good yet"):
        look_report(collection, "good")
    with pytest.raises(BadInput, match="nobody has compared"):
        look_report(collection, "good", "bad")
    (only,) = look_report(collection, "bad").tables()[0].records()
    assert only["queries"] == 1


def test_few_comparisons_have_no_interval_and_are_shown(collection: Collection) -> None:
    (session,) = two_sessions(collection)
    answer_all(session, better_side, most=1)
    report = look_report(collection, "good", "bad")
    assert report.asked.rate.low is None
    assert report.verdict == "cannot tell apart"
    assert "p 1.000" in report.sentences[0]


def test_every_form_of_a_report_shows_its_figures(collection: Collection) -> None:
    answer_all(lgtm_session(collection, "bad"), good_or_not)
    (session,) = two_sessions(collection)
    answer_all(session, better_side)
    for report in (look_report(collection, "bad"), look_report(collection, "good", "bad")):
        assert json.loads(json.dumps(report.as_json()))["queries"] == QUERIES
        assert len(report.frame()) in (QUERIES, 18)
        assert report.sentences[0].replace("<", "&lt;") in report._repr_html_()
        assert rendered_all(report.tables()).count("\n") > 1
        assert repr(report).startswith("LookReport(")


def test_a_run_that_lacks_a_query_returned_nothing_for_it(collection: Collection) -> None:
    path = collection.run("bad")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("q01")))
    (session,) = two_sessions(collection)
    by_query = {item.query_id: item for item in session.task.items}
    assert len(by_query) == 18
    shown = session.task.show(by_query["q01"])
    empty = "left" if not shown["left"] else "right"
    assert shown["notice"] == f"The system on the {empty} returned nothing for this query."
    answer_all(lgtm_session(collection, "bad"), good_or_not)
    findings = map(str, look_report(collection, "bad").findings)
    assert "1 query of the collection not in the run: nobody looks at them" in findings
