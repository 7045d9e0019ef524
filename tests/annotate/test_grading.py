"""A rater's work: what is asked next, what an answer does, and where the work goes on."""

from pathlib import Path

import pytest
from paged import Page

from labeler.annotate.annotate import AnnotateOptions, rating_sessions
from labeler.annotate.journal import read_journal
from labeler.collection.layout import Collection
from labeler.testing import small_collection


@pytest.fixture
def coll(tmp_path: Path) -> Collection:
    return small_collection(tmp_path / "coll")


def page_of(collection: Collection, rater: str = "anna") -> Page:
    (session,) = rating_sessions(collection, AnnotateOptions((rater,)))
    return Page(session)


def journal(collection: Collection, rater: str = "anna") -> Path:
    return collection.annotations / f"{rater}.jsonl"


def test_a_grade_is_in_the_journal_when_the_answer_comes_back(coll: Collection) -> None:
    page = page_of(coll)
    item = page.get("api/item")["item"]
    state = page.grade(3, note="exact", seconds=4.5)
    (row,) = read_journal(journal(coll))
    assert (row.doc_id, row.grade, row.note, row.seconds) == (
        item["document"]["id"],
        3,
        "exact",
        4.5,
    )
    assert (row.task, row.purpose, row.probability) == ("grade", "audit", 1.0)
    assert state["progress"] == {"done": 1, "of": 4, "skipped": 0}


def test_another_start_goes_on_where_the_rater_stopped(coll: Collection) -> None:
    page = page_of(coll)
    page.grade(0)
    second = page.get("api/item")["item"]["id"]
    again = page_of(coll).get("api/item")
    assert again["item"]["id"] == second
    assert again["progress"]["done"] == 1


def test_undo_takes_the_last_answer_back_and_gives_its_words_again(coll: Collection) -> None:
    page = page_of(coll)
    first = page.get("api/item")["item"]["id"]
    page.grade(1, note="hm")
    state = page.post("api/undo", {}).json()
    assert state["item"]["id"] == first
    assert state["undone"]["note"] == "hm"
    assert (state["can_undo"], state["item"]["previous"]) == (False, None)
    assert [row.undo for row in read_journal(journal(coll))] == [False, True]


def test_a_second_answer_stands_and_its_undo_brings_the_first_back(coll: Collection) -> None:
    page = page_of(coll)
    first = page.get("api/item")["item"]["id"]
    page.grade(1)
    assert page.post("api/goto", {"item": first}).json()["item"]["previous"]["grade"] == 1
    page.grade(2)
    assert page.post("api/undo", {}).json()["item"]["previous"]["grade"] == 1


def test_an_answer_to_another_item_than_the_current_is_not_written(coll: Collection) -> None:
    one, other = page_of(coll), page_of(coll)
    item = one.get("api/item")["item"]["id"]
    one.grade(1)
    late = other.post("api/answer", {"item": item, "grade": 3})
    assert late.status_code == 409
    assert [row.grade for row in read_journal(journal(coll))] == [1]


def test_what_is_skipped_comes_last_and_is_offered_in_the_end(coll: Collection) -> None:
    page = page_of(coll)
    first = page.get("api/item")["item"]["id"]
    state = page.post("api/answer", {"item": first, "skip": True}).json()
    assert state["item"]["id"] != first
    for _ in range(3):
        state = page.grade(1)
    assert state["item"] is None
    assert state["first_skipped"] == first
    assert state["progress"] == {"done": 3, "of": 4, "skipped": 1}


def test_two_raters_write_two_journals(coll: Collection) -> None:
    anna, ben = page_of(coll, "anna"), page_of(coll, "ben")
    anna.grade(0)
    ben.grade(3)
    assert [row.grade for row in read_journal(journal(coll, "anna"))] == [0]
    assert [row.grade for row in read_journal(journal(coll, "ben"))] == [3]
