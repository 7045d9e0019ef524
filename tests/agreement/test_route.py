"""Routing: what a person should look at in made worlds, and what that brings."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import labeler
from labeler.agreement.align import GradeMatrix
from labeler.agreement.shares import spread
from labeler.cli import execute
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.people import read_people, read_sample, sample_path
from labeler.collection.pool import write_pool
from labeler.collection.queries import write_queries
from labeler.collection.whose import routed_pairs
from labeler.data import Document, Pair, Pooled, Qrels, Query
from labeler.errors import BadInput, Misuse
from labeler.lab.route import (
    RouteResult,
    write_routed,
)
from labeler.trec.pairs import PairColumns
from labeler.trec.write import write_qrels

QUERIES, DOCS = 20, 15


def made_grades() -> tuple[Qrels, Qrels, Qrels]:
    """People, and two assessors that are right where they agree, and one in two where not."""
    rng = np.random.default_rng(5)
    people: Qrels = {}
    first: Qrels = {}
    second: Qrels = {}
    for q in range(QUERIES):
        for d in range(DOCS):
            truth, name, document = int(rng.integers(0, 2)), f"q{q}", f"d{d}"
            disputed = d < 5
            wrong = disputed and rng.random() < 0.5
            people.setdefault(name, {})[document] = truth
            first.setdefault(name, {})[document] = 1 - truth if wrong else truth
            second.setdefault(name, {})[document] = 1 - first[name][document] if disputed else truth
    return people, first, second


PEOPLE, FIRST, SECOND = made_grades()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    paths = tuple(tmp_path / f"{name}.qrels" for name in ("people", "first", "second"))
    for path, qrels in zip(paths, (PEOPLE, FIRST, SECOND), strict=True):
        write_qrels(path, qrels)
    return paths  # type: ignore[return-value]


def some_of(people: Path, documents: range) -> str:
    """The grades of some documents of each query, as a file beside the whole."""
    path = people.with_name("some.qrels")
    kept = {q: {f"d{d}": row[f"d{d}"] for d in documents} for q, row in PEOPLE.items()}
    write_qrels(path, kept)
    return str(path)


def routed(files: tuple[Path, ...], **options: object) -> RouteResult:
    return labeler.route(*files, options=labeler.RouteOptions(**options))  # type: ignore[arg-type]


def test_disputed_pairs_come_first(files: tuple[Path, Path, Path]) -> None:
    _, first, second = files
    result = routed((first, second), budget=100)
    assert {row.doc_id for row in result.pairs} == {f"d{d}" for d in range(5)}
    assert len(result.pairs) == 100


def test_doubt_is_learned_from_people_where_one_assessor_gave_plain_grades(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    llm = {f"q{q}": {f"d{d}": int(rng.integers(0, 3)) for d in range(12)} for q in range(30)}
    # people agree with every 0 and 2, and with half of the 1s
    people = {
        q: {d: g if g != 1 else int(rng.integers(0, 2)) for d, g in row.items()}
        for q, row in llm.items()
    }
    known = {q: {d: row[d] for d in list(row)[:6]} for q, row in people.items()}
    write_qrels(tmp_path / "llm.qrels", llm)
    write_qrels(tmp_path / "people.qrels", known)
    result = routed((tmp_path / "llm.qrels",), budget=30, people=str(tmp_path / "people.qrels"))
    assert result.by == "doubt"
    assert {row.grade for row in result.pairs} == {1}


def test_one_assessors_plain_grades_alone_say_nothing_of_doubt(
    files: tuple[Path, Path, Path],
) -> None:
    with pytest.raises(Misuse, match="do not say which of them are in doubt"):
        routed(files[1:2])


def test_pairs_that_people_graded_are_not_routed_again(files: tuple[Path, Path, Path]) -> None:
    people, first, second = files
    result = routed((first, second), budget=1000, people=some_of(people, range(3, 10)))
    assert len(result.pairs) == result.candidates == QUERIES * 8
    assert not {row.doc_id for row in result.pairs} & {f"d{d}" for d in range(3, 10)}


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = Collection(tmp_path / "coll")
    made.folder.mkdir()
    with locked(made):
        write_corpus(made.corpus, [Document(f"d{d}", f"text {d}") for d in range(DOCS)])
        write_queries(made.queries, [Query(f"q{q}", f"query {q}") for q in range(QUERIES)])
        write_pool(made.pool, [Pooled(Pair(q, d)) for q, row in PEOPLE.items() for d in row])
        write_qrels(made.qrels("first"), FIRST)
        write_qrels(made.qrels("second"), SECOND)
    return made


def test_pairs_that_are_as_far_apart_are_needed_alike_whoever_said_what() -> None:
    several = [(0, 0, 3), (0, 3, 0), (3, 3, 0), (3, 0, 0), (1, 2, 1), (2, 2, 1)]
    pairs = PairColumns.of_pairs({Pair("q", f"d{n}"): 0 for n in range(len(several))}, np.int64)
    matrix = GradeMatrix(("a", "b", "c"), (0, 1, 2, 3), pairs, np.array(several))
    assert len(set(spread(matrix).tolist())) == 2


def test_a_routed_sheet_is_taken_back_and_keeps_that_it_was_routed(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, sheet = str(collection.folder), tmp_path / "sheet.csv"
    words = ["lab", "route", folder, "first", "second", "--pairs", "30", "--sheet", str(sheet)]
    assert execute(words) == 0
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    assert {row["grade"] for row in rows} == {""}
    (sample,) = {row["sample"] for row in rows}
    assert {r.probability for r in read_sample(sample_path(collection.folder, sample))} == {None}
    entry = json.loads(collection.card.read_text())["samples"][sample]
    assert (entry["routed"], entry["by"], entry["source"]) == (True, "disagreement", "first")
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "grade": PEOPLE[row["query_id"]][row["doc_id"]]})
    assert execute(["people", "import", str(sheet), folder, "--as", "checked"]) == 0
    both = f"{collection.qrels('checked')} {collection.qrels('first')} --prefer checked"
    assert f"next: labeler qrels merge {both}" in capsys.readouterr().err
    assert len(routed_pairs(collection, "checked")) == 30
    assert {r.probability for r in read_people(collection.folder / "people/checked.jsonl")} == {
        None
    }
    capsys.readouterr()
    # the next round sends other pairs, and no doubt is learned from these
    assert execute(["lab", "route", folder, "first", "second", "--pairs", "300", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["candidates"] == QUERIES * DOCS - 30
    with pytest.raises(BadInput, match="all 30 pairs were chosen for a person"):
        labeler.route(folder, "first", options=labeler.RouteOptions(people="checked"))
    with pytest.raises(BadInput, match="all 30 pairs were chosen for a person"):
        labeler.calibrate(folder, "first", people="checked")


def test_files_have_no_sheet(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    result = routed(files[1:])
    with pytest.raises(Misuse, match="these are files"):
        write_routed(result, tmp_path / "sheet.csv")


def test_one_grade_by_people_throughout_is_no_reason_not_to_route(
    files: tuple[Path, Path, Path],
) -> None:
    people, first, second = files
    ones = {q: {"d9": 1, "d8": 1} for q in PEOPLE}
    write_qrels(people, ones)
    for sets in ((first, second), (first,)):
        result = routed(sets, budget=5, people=str(people))
        assert len(result.pairs) == 5
    with pytest.raises(BadInput, match="the grade 1 throughout"):
        labeler.calibrate(first, people=str(people))
