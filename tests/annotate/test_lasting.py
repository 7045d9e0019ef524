"""Journals in the life of a collection: checked, kept with its states, and true after changes."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from paged import Page

from labeler.annotate.annotate import AnnotateOptions, rating_sessions
from labeler.annotate.export import export_answers
from labeler.annotate.journal import RatingJournal, read_journal
from labeler.annotate.session import RaterAnswer
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection, is_own_file, locked
from labeler.collection.people import read_people
from labeler.collection.pool import write_pool
from labeler.collection.queries import write_queries
from labeler.corpus.ingest import ingest
from labeler.corpus.update import update
from labeler.data import Pair, Pooled, Query
from labeler.errors import BadInput, Misuse
from labeler.judging.validate import validate
from labeler.people.import_labels import ImportOptions, import_sheet
from labeler.people.sample import DrawOptions, draw_sheets
from labeler.testing import small_collection


@pytest.fixture
def coll(tmp_path: Path) -> Collection:
    return small_collection(tmp_path / "coll")


def page_of(collection: Collection) -> Page:
    return Page(rating_sessions(collection, AnnotateOptions(("anna",)))[0])


def append(collection: Collection, **changes: object) -> None:
    path = collection.annotations / "anna.jsonl"
    row = replace(read_journal(path)[0], **changes)  # type: ignore[arg-type]
    journal = RatingJournal(path)
    with journal.held():
        journal.append(row)


def test_validate_finds_nothing_wrong_with_what_the_page_writes(coll: Collection) -> None:
    page_of(coll).grade(2)
    found_valid = validate(coll)
    assert (found_valid.problems, found_valid.checked["annotations"]) == ((), 1)


def test_validate_names_the_line_of_what_is_no_answer(coll: Collection) -> None:
    page_of(coll).grade(2)
    path = coll.annotations / "anna.jsonl"
    with path.open("ab") as file:
        file.write(b'{"task": "gr')
    (problem,) = validate(coll).problems
    assert (problem.level, "cut short" in problem.problem) == ("warning", True)
    path.write_bytes(b'{"task": "grade"}\n')
    (problem,) = validate(coll).problems
    assert (problem.level, problem.line) == ("error", 1)


def test_no_command_writes_its_output_onto_a_journal(coll: Collection) -> None:
    page_of(coll).grade(2)
    assert is_own_file(coll.annotations / "anna.jsonl")


def test_a_grade_of_a_text_that_was_changed_since_is_in_no_qrels_and_asked_anew(
    coll: Collection,
) -> None:
    page_of(coll).grade(2)
    before = export_answers(coll, "anna")
    assert (before.graded, before.outdated) == (1, 0)
    assert coll.qrels("anna").read_text()
    coll.corpus.write_text(
        coll.corpus.read_text().replace("piano", "oven").replace("fin,", "tail,")
    )
    done = export_answers(coll, "anna")
    assert (done.graded, done.open, done.outdated) == (0, before.open + 1, 1)
    assert coll.qrels("anna").read_text() == ""
    (session,) = rating_sessions(coll, AnnotateOptions(("anna",)))
    state = session.state()
    assert (state["progress"]["done"], state["item"]["previous"]) == (0, None)
    assert session.answer(RaterAnswer(state["item"]["id"], grade=1))["progress"]["done"] == 1
    again = export_answers(coll, "anna")
    assert (again.graded, again.outdated) == (1, 0)


@pytest.mark.parametrize("file", ["corpus", "queries"])
def test_no_grade_is_taken_for_texts_that_were_written_anew_under_an_open_page(
    coll: Collection, file: str
) -> None:
    (session,) = rating_sessions(coll, AnnotateOptions(("anna",)))
    item = session.state()["item"]["id"]
    path = getattr(coll, file)
    text = path.read_text()
    path.unlink()
    path.write_text(text.replace("piano", "oven"))
    with pytest.raises(Misuse, match="was written anew since: nothing more is taken in; end"):
        session.answer(RaterAnswer(item, grade=1))
    journal = coll.annotations / "anna.jsonl"
    assert not (journal.exists() and journal.read_bytes())


def test_grades_of_a_sheet_stay_beside_those_of_the_page(coll: Collection, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    draw_sheets(coll, DrawOptions(4), [sheet])
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows_of_sheet = list(csv.DictReader(file))
    rows_of_sheet[0]["grade"] = "2"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows_of_sheet[0]))
        writer.writeheader()
        writer.writerows(rows_of_sheet)
    import_sheet(coll, sheet, ImportOptions("anna", "anna", "2026-01-01T00:00:00+00:00"))
    page = page_of(coll)
    items = []
    while (item := page.get("api/item")["item"]) is not None:
        items.append(item["id"])
        page.post("api/answer", {"item": item["id"], **answer_to(item["id"])})
    assert export_answers(coll, "anna").graded == 3
    rows = read_people(coll.folder / "people" / "anna.jsonl")
    assert sorted(row.grade for row in rows if row.grade is not None) == [1, 1, 1, 2]


def answer_to(item: str) -> dict[str, object]:
    return {"cannot_judge": True} if item == "1" else {"grade": 1}


def test_a_journal_that_cannot_be_read_is_said_before_anybody_grades(coll: Collection) -> None:
    coll.annotations.mkdir()
    (coll.annotations / "anna.jsonl").write_text("{}\n")
    with pytest.raises(BadInput, match=r"anna\.jsonl:1: expected 'task'"):
        page_of(coll)


CATS = "Cats sleep anywhere: on any table, on any chair, on the top of a piano, on a window ledge."
FISH = "Fish never close their eyes, since they have no lids to close, and rest without a move."


def test_an_update_of_the_documents_leaves_the_journal_and_the_grades_true(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "cats.md").write_text(f"# Cats\n\n{CATS}\n")
    (docs / "fish.md").write_text(f"# Fish\n\n{FISH}\n")
    collection = Collection(tmp_path / "coll")
    ingest([docs], collection)
    ids = {doc.title: doc.id for doc in read_corpus(collection.corpus).values()}
    with locked(collection):
        write_queries(collection.queries, [Query("q1", "where do cats sleep")])
        write_pool(collection.pool, [Pooled(Pair("q1", doc_id)) for doc_id in ids.values()])
    page = page_of(collection)
    for _ in ids:
        page.grade(3 if page.get("api/item")["item"]["document"]["id"] == ids["Cats"] else 0)
    journal = (collection.annotations / "anna.jsonl").read_bytes()
    (docs / "cats.md").rename(docs / "felines.md")
    (docs / "fish.md").unlink()
    update([docs], collection)
    assert (collection.annotations / "anna.jsonl").read_bytes() == journal
    assert (collection.folder / "history" / "1" / "annotations" / "anna.jsonl").exists()
    done = export_answers(collection, "anna")
    (new_id,) = read_corpus(collection.corpus)
    rows = read_people(collection.folder / "people" / "anna.jsonl")
    assert [(row.pair, row.grade) for row in rows] == [(Pair("q1", new_id), 3)]
    assert (done.graded, done.open, done.outdated) == (1, 0, 0)
    assert new_id != ids["Cats"]
    assert page_of(collection).get("api/item")["progress"]["done"] == 1
    assert validate(collection).errors == 0


def test_an_export_without_grades_says_who_has_any(coll: Collection) -> None:
    with pytest.raises(Misuse, match=r"^ben has graded nothing, nor has anybody else$"):
        export_answers(coll, "ben")
    (anna,) = rating_sessions(coll, AnnotateOptions(("anna",)))
    anna.answer(RaterAnswer(anna.state()["item"]["id"], grade=1))
    with pytest.raises(Misuse, match=r"^ben has graded nothing; there are answers of anna$"):
        export_answers(coll, "ben")
