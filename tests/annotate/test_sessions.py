"""What a rater is given to grade: drawn or routed pairs."""

import json
import shutil
from pathlib import Path

import pytest
from paged import Page

import labeler
from labeler.annotate.annotate import AnnotateOptions, rating_sessions
from labeler.annotate.export import export_answers
from labeler.annotate.samples import SampleChoice
from labeler.collection.layout import Collection
from labeler.collection.people import read_people, read_sample, sample_path
from labeler.collection.whose import routed_pairs
from labeler.data import Pair, Query
from labeler.errors import BadInput, Misuse
from labeler.people.sample import route_sheet
from labeler.testing import fake_model, small_collection
from labeler.trec.files import read_qrels


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six queries by two documents, judged by an assessor with a reason."""
    queries = [Query(f"q{n}", f"do cats sleep {n}") for n in range(6)]
    collection = small_collection(tmp_path_factory.mktemp("judged") / "coll", queries)
    model = fake_model('{"grade": 2, "reason": "It names <b>a cat</b>."}')
    labeler.judge(collection, model=model, name="llm")
    return collection.folder


@pytest.fixture
def coll(judged: Path, tmp_path: Path) -> Collection:
    return Collection(Path(shutil.copytree(judged, tmp_path / "coll")))


def pages(collection: Collection, *raters: str, **more: object) -> list[Page]:
    drawn = {k: v for k, v in more.items() if k in SampleChoice.__dataclass_fields__}
    choice = SampleChoice(**drawn)  # type: ignore[arg-type]
    own = {k: v for k, v in more.items() if k in AnnotateOptions.__annotations__}
    return [
        Page(s)
        for s in rating_sessions(collection, AnnotateOptions(raters, choice, **own))  # type: ignore[arg-type]
    ]


def page(collection: Collection, **more: object) -> Page:
    return pages(collection, "anna", **more)[0]


def graded(own: Page, grade: int = 1) -> list[dict[str, object]]:
    """Give every item the same grade; the items in their order."""
    items = []
    while (item := own.get("api/item")["item"]) is not None:
        items.append(item)
        own.grade(grade)
    return items


def routed(collection: Collection) -> str:
    made = {"source": "llm", "by": "disagreement", "assessors": ["llm"]}
    pairs = [Pair("q1", "cats"), Pair("q2", "fish")]
    return route_sheet(collection, pairs, collection.folder.parent / "routed.csv", made).id


def test_no_answer_of_the_page_holds_the_assessors_grade(coll: Collection) -> None:
    own = page(coll)
    seen = [own.get("api/session"), own.get("api/item"), own.grade(1)]
    assert "a cat" not in json.dumps(seen)


def test_routed_pairs_and_drawn_ones_never_share_a_session_nor_qrels(coll: Collection) -> None:
    sample = routed(coll)
    drawn = page(coll, pairs=4)
    assert drawn.get("api/session")["purpose"] == "audit"
    fix = page(coll, sample=sample)
    assert fix.get("api/session") | {"csrf": ""} == fix.get("api/session") | {
        "csrf": "",
        "purpose": "fix",
        "sample": sample,
    }
    graded(drawn), graded(fix)
    export_answers(coll, "anna", "audit")
    export_answers(coll, "anna", "fix", sample=sample)
    assert routed_pairs(coll, "fix") == {Pair("q1", "cats"), Pair("q2", "fish")}
    assert routed_pairs(coll, "audit") == frozenset()
    assert None not in {r.probability for r in read_people(coll.folder / "people" / "audit.jsonl")}
    with pytest.raises(BadInput, match="drawn by chance and pairs routed"):
        export_answers(coll, "anna", "audit", sample=sample)


def test_raters_share_a_part_of_a_draw_and_each_has_another_part(coll: Collection) -> None:
    own = pages(coll, "anna", "ben", pairs=10, overlap=0.2)
    items = [{(i["query"]["id"], i["document"]["id"]) for i in graded(p)} for p in own]  # type: ignore[index]
    assert [len(mine) for mine in items] == [6, 6]
    assert len(items[0] & items[1]) == 2
    again = pages(coll, "ben")[0].get("api/session")["sample"]
    assert again == own[1].get("api/session")["sample"]
    with pytest.raises(Misuse, match="no sample of carl: those that were drawn are for anna, ben"):
        pages(coll, "carl")


def test_raters_of_a_draw_come_to_its_queries_in_the_same_order(coll: Collection) -> None:
    own = pages(coll, "anna", "ben", "carla", pairs=12, overlap=0.5)
    orders = [list(dict.fromkeys(item["query"]["id"] for item in graded(page))) for page in own]  # type: ignore[index]
    shared = set(orders[0]).intersection(*orders[1:])
    assert len(shared) > 3
    first, *others = ([query for query in order if query in shared] for order in orders)
    assert all(other == first for other in others)


def test_grades_of_raters_who_shared_a_draw_give_correct_chances_together(
    coll: Collection,
) -> None:
    for own in pages(coll, "anna", "ben", pairs=10, overlap=0.0):
        graded(own)
    for rater in ("anna", "ben"):
        export_answers(coll, rater, "both")
    rows = read_people(coll.folder / "people" / "both.jsonl")
    (alone,) = rating_sessions(
        coll, AnnotateOptions(("carl",), SampleChoice(pairs=10, overlap=0.0))
    )
    whole = read_sample(sample_path(coll.folder, alone.task.sample))
    assert {r.pair: r.probability for r in rows} == pytest.approx(
        {r.pair: r.probability for r in whole}
    )


def test_a_pair_whose_document_is_gone_is_said_and_not_asked(coll: Collection) -> None:
    page(coll, pairs=12)
    lines = coll.corpus.read_text().splitlines(keepends=True)
    coll.corpus.write_text("".join(line for line in lines if '"fish"' not in line))
    said: list[str] = []
    (session,) = rating_sessions(coll, AnnotateOptions(("anna",)), said.append)
    assert len(session.task.items) == 6
    assert said == [
        "6 pairs are not asked about, as query or document is no longer in the collection:"
        " q0 fish, …"
    ]


def test_a_text_that_was_changed_since_the_draw_is_shown_with_a_notice(coll: Collection) -> None:
    assert "notice" not in page(coll).get("api/item")["item"]
    coll.corpus.write_text(coll.corpus.read_text().replace("cat", "dog").replace("Fish", "Eels"))
    coll.corpus.write_text(coll.corpus.read_text().replace('"dogs"', '"cats"'))
    item = page(coll).get("api/item")["item"]
    assert item["notice"] == "This text was changed since the sample was drawn."


def test_an_export_of_work_that_nobody_did_says_so(coll: Collection) -> None:
    fix = page(coll, sample=routed(coll))
    fix.grade(1)
    with pytest.raises(Misuse, match="anna has graded no pair of a random sample"):
        export_answers(coll, "anna")


def test_what_was_taken_back_leaves_the_qrels_at_the_next_export(coll: Collection) -> None:
    own = page(coll)
    own.grade(1)
    own.grade(3)
    assert export_answers(coll, "anna").graded == 2
    own.post("api/undo", {})
    assert export_answers(coll, "anna").graded == 1
    assert sum(map(len, read_qrels(coll.qrels("anna")).values())) == 1


def test_qrels_of_others_are_never_replaced(coll: Collection) -> None:
    before = coll.qrels("llm").read_bytes()
    (own,) = pages(coll, "llm")
    own.grade(1)
    assert export_answers(coll, "llm").name == f"llm-{own.get('api/session')['sample']}"
    with pytest.raises(labeler.LabelerError, match="exists, and is not from a sheet"):
        export_answers(coll, "llm", "llm")
    assert coll.qrels("llm").read_bytes() == before


def test_agreement_takes_what_was_graded_on_the_page(coll: Collection) -> None:
    graded(page(coll), 2)
    export_answers(coll, "anna")
    assert labeler.agree(coll.folder, "anna", "llm").as_json()


def test_where_a_rater_stops_early_all_queries_had_the_same_chance(tmp_path: Path) -> None:
    queries = [Query(f"q{n:02}", f"do cats sleep {n}") for n in range(40)]
    collection = small_collection(tmp_path / "coll", queries)
    (session,) = rating_sessions(collection, AnnotateOptions(("anna",)))
    order = list(dict.fromkeys(item.query_id for item in session.task.items))
    assert order != sorted(order)
    assert sorted(order) == [query.id for query in queries]
