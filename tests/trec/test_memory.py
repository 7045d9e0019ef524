"""Qrels and runs as programs hold them: every shape says the same, and errors name the row."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.data import Qrels, Run
from labeler.errors import BadInput, LabelerError, Misuse
from labeler.trec.files import read_qrels, read_run
from labeler.trec.memory import as_qrels, as_run
from labeler.trec.write import write_qrels, write_run

QRELS: Qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": -1}}
RUN: Run = {"q1": {"d1": 2.5, "d2": 0.0}, "q2": {"d1": -1.0}}


def rows(table: dict[str, dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return [(q, d, value) for q, values in table.items() for d, value in values.items()]


def frame(table: dict[str, dict[str, Any]], *columns: str) -> pd.DataFrame:
    return pd.DataFrame(rows(table), columns=list(columns))


def written(table: dict[str, dict[str, Any]], folder: Path) -> Path:
    path = folder / "table"
    if table is QRELS:
        write_qrels(path, table)
    else:
        write_run(path, table, "tag")
    return path


SHAPES: dict[str, Callable[[dict[str, dict[str, Any]], str, Path], Any]] = {
    "a path": lambda table, value, folder: written(table, folder),
    "the text of a path": lambda table, value, folder: str(written(table, folder)),
    "a dict": lambda table, value, folder: table,
    "tuples": lambda table, value, folder: rows(table),
    "a generator of lists": lambda table, value, folder: (list(row) for row in rows(table)),
    "ir_measures' frame": lambda table, value, folder: frame(table, "query_id", "doc_id", value),
    "PyTerrier's frame": lambda table, value, folder: frame(
        table, "qid", "docno", {"relevance": "label"}.get(value, value)
    ),
    "a frame with more columns": lambda table, value, folder: frame(
        table, "query_id", "doc_id", value
    ).assign(iteration="0", rank=1),
    "objects": lambda table, value, folder: [
        SimpleNamespace(qid=q, docno=d, **{value: v}) for q, d, v in rows(table)
    ],
    "numpy's numbers": lambda table, value, folder: [
        (q, d, np.float32(v)) for q, d, v in rows(table)
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_qrels_says_the_same(shape: str, tmp_path: Path) -> None:
    grades = as_qrels(SHAPES[shape](QRELS, "relevance", tmp_path))
    assert grades == QRELS
    assert {type(grade) for by_doc in grades.values() for grade in by_doc.values()} == {int}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_run_says_the_same(shape: str, tmp_path: Path) -> None:
    scores = as_run(SHAPES[shape](RUN, "score", tmp_path))
    assert scores == RUN
    assert {type(score) for by_doc in scores.values() for score in by_doc.values()} == {float}


def test_the_named_tuples_of_ir_measures_are_rows() -> None:
    assert as_qrels([ir_measures.Qrel(*row) for row in rows(QRELS)]) == QRELS
    assert as_run([ir_measures.ScoredDoc(*row) for row in rows(RUN)]) == RUN


def test_what_comes_out_is_a_copy() -> None:
    grades = as_qrels(QRELS)
    grades["q1"]["d1"] = 7
    assert QRELS["q1"]["d1"] == 2


def test_ids_that_a_frame_holds_as_integers_are_their_digits() -> None:
    table = pd.DataFrame({"query_id": [7, 7], "doc_id": [1, 2], "relevance": [1.0, 0.0]})
    assert as_qrels(table) == {"7": {"1": 1, "2": 0}}


def test_a_query_without_documents_is_left_out_as_in_a_file() -> None:
    assert as_run({"q1": {"d1": 1}, "q2": {}}) == {"q1": {"d1": 1.0}}


def test_a_pair_repeated_with_its_grade_is_counted() -> None:
    warnings: list[str] = []
    assert as_qrels([("q", "d", 1), ("q", "d", 1.0)], warnings.append) == {"q": {"d": 1}}
    assert warnings == ["qrels: 1 repeated line, the same pair with the same grade"]


@every_row(
    ("source", "problem"),
    [
        ([("q", "d", 1), ("q", "e", np.nan)], "qrels, row 2: q e: expected an integer grade"),
        ([("q", "d", 2.5)], "qrels, row 1: q d: expected an integer grade, found 2.5"),
        ([("q", "d", "2")], "qrels, row 1: q d: expected an integer grade, found '2'"),
        ([("q", "d", True)], "expected an integer grade, found True"),
        ([("q", "d", pd.NA)], "expected an integer grade, found <NA>"),
        ([("q", "d", float("inf"))], "expected an integer grade, found inf"),
        ([("q", "d", 2**31)], "expected an integer grade, found 2147483648"),
        ({"q": {"d": None}}, "qrels: q d: expected an integer grade, found None"),
        ([("q", "d", 1), ("q", "d", 2)], "qrels, row 2: q d has 1 and 2 (two grades for one pair)"),
        ({1: {"d": 1}, "1": {"d": 2}}, "qrels: 1 d has 1 and 2"),
        ([("q", " ", 1)], "row 1: expected a document id, found ' '"),
        ([("", "d", 1)], "row 1: expected a query id, found ''"),
        ([(np.nan, "d", 1)], "row 1: expected a query id, found nan"),
        ([("q", "\ud800", 1)], "half a surrogate pair in the id '\\ud800'"),
        ({}, "qrels: no pair of a query and a document in it"),
        ({"q": {}}, "qrels: no pair of a query and a document in it"),
    ],
)
def test_qrels_that_no_file_could_hold_are_refused(source: Any, problem: str) -> None:
    with pytest.raises(BadInput, match=re.escape(problem)):
        as_qrels(source)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ([("q", "d", float("nan"))], "bm25, row 1: q d: expected a finite number as score, found"),
        ([("q", "d", "1.5")], "bm25, row 1: q d: expected a finite number as score, found '1.5'"),
        ([("q", "d", 1), ("q", "d", 1)], "bm25, row 2: q retrieves d a second time"),
    ],
)
def test_runs_that_no_file_could_hold_are_refused(source: Any, problem: str) -> None:
    with pytest.raises(BadInput, match=re.escape(problem)):
        as_run(source, name="bm25")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (3, "qrels: expected a path, a dict, a DataFrame or rows of (query, document, value)"),
        (["q d 1"], "row 1: expected a tuple of three or an object with query_id, doc_id"),
        ([("q", "d")], "row 1: expected a tuple of three"),
        ([ir_measures.ScoredDoc("q", "d", 1.0)], "found ScoredDoc(query_id='q'"),
        ({"q": ["d"]}, "qrels, query 'q': expected {document: value}, found ['d']"),
        (
            pd.DataFrame({"query": ["q"], "doc_id": ["d"], "relevance": [1]}),
            "qrels: the DataFrame has the columns query, doc_id, relevance; expected query_id,"
            " doc_id, relevance (as ir_measures has them) or qid, docno, label (PyTerrier)",
        ),
    ],
)
def test_what_holds_no_qrels_is_misuse_that_says_what_does(source: Any, problem: str) -> None:
    with pytest.raises(Misuse, match=re.escape(problem)):
        as_qrels(source)


IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=2)


@steadily()
@given(st.lists(st.tuples(IDS | VALUES, IDS | VALUES, VALUES), max_size=4))
def test_rows_that_are_accepted_are_what_a_file_keeps(
    tmp_path_factory: pytest.TempPathFactory, source: list[tuple[Any, Any, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("memory")
    try:
        grades = as_qrels(source)
    except LabelerError:
        pass
    else:
        write_qrels(folder / "a.qrels", grades)
        assert read_qrels(folder / "a.qrels") == grades
    try:
        scores = as_run(source)
    except LabelerError:
        pass
    else:
        write_run(folder / "a.trec", scores, "tag")
        assert read_run(folder / "a.trec") == scores
