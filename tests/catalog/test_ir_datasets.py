"""`fetch ir_datasets:NAME` makes a collection of a data set that the package knows."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
import pytest
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import (
    BaseDocs,
    BaseQrels,
    BaseQueries,
    GenericQuery,
    TrecQrel,
    TrecQuery,
)

import labeler
from labeler.catalog.ir_datasets import fetch_dataset
from labeler.cli import execute
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.pool import read_pool
from labeler.collection.queries import read_queries
from labeler.data import Document
from labeler.errors import BadInput, FileProblem, Misuse


class Page(NamedTuple):
    doc_id: str
    url: str
    title: str
    body: str

    def default_text(self) -> str:
        return f"{self.title} {self.body}"


class Parts(NamedTuple):
    doc_id: str
    head: str
    tail: str

    def default_text(self) -> str:
        return f"{self.head} {self.tail}"


class Docs(BaseDocs):
    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def docs_iter(self) -> Iterator[Any]:
        for row in self.rows:
            if isinstance(row, Exception):
                raise row
            yield row

    def docs_count(self) -> int:
        return len(self.rows)

    def docs_cls(self) -> type:
        return Page


class Queries(BaseQueries):
    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def queries_iter(self) -> Iterator[Any]:
        return iter(self.rows)

    def queries_cls(self) -> type:
        return GenericQuery


class Grades(BaseQrels):
    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def qrels_iter(self) -> Iterator[Any]:
        return iter(self.rows)

    def qrels_defs(self) -> dict[int, str]:
        return {}

    def qrels_cls(self) -> type:
        return TrecQrel


DOCUMENTS = [
    Page("007", "http://a.example", "Cats", "sleep\ton the piano"),
    Parts("1e5", "fish", "swim"),
]
QUERIES = [GenericQuery("007", "where do\ncats sleep"), TrecQuery("2", "fish", "a desc", "a narr")]
GRADES = [("007", "007", 2), ("007", "1e5", 0), ("2", "1e5", 1), ("2", "007", -1)]


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A data set that ir_datasets has, named after the test."""
    own = f"made-{request.node.name}"
    ir_datasets.registry.register(own, Dataset(Docs([*DOCUMENTS])))
    grades = [TrecQrel(query, document, grade, "0") for query, document, grade in GRADES]
    parts = (Docs([*DOCUMENTS]), Queries([*QUERIES]), Grades(grades))
    ir_datasets.registry.register(f"{own}/test", Dataset(*parts))
    return own


def test_a_data_set_becomes_a_collection_with_its_qrels_as_human(name: str, tmp_path: Path) -> None:
    collection = Collection(tmp_path / "coll")
    fetched = fetch_dataset(f"ir_datasets:{name}/test", collection)
    assert (fetched.passed_on, len(fetched.queries)) == (2, 2)
    assert read_corpus(collection.corpus) == {
        "007": Document("007", "sleep\ton the piano", "Cats", {"url": "http://a.example"}),
        "1e5": Document("1e5", "fish swim"),
    }
    queries = read_queries(collection.queries)
    assert queries["007"].text == "where do cats sleep"
    assert queries["2"].metadata == {
        "origin": "real",
        "description": "a desc",
        "narrative": "a narr",
    }
    grades = labeler.read_qrels(collection.qrels("human"))
    assert grades == {"007": {"007": 2, "1e5": 0}, "2": {"007": -1, "1e5": 1}}
    pool = {entry.pair for entry in read_pool(collection.pool)}
    assert pool == {("007", "007"), ("007", "1e5"), ("2", "1e5")}


def test_fetching_again_replaces_what_was_fetched_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    collection = Collection(tmp_path / "coll")
    fetch_dataset(f"{name}/test", collection)
    fetch_dataset(f"{name}/test", collection)
    collection.qrels("human").write_text("2 0 1e5 3\n")
    with pytest.raises(Misuse, match="was not written by this command"):
        fetch_dataset(f"{name}/test", collection)
    ir_datasets.registry.register(f"{name}/b", Dataset(Docs([]), Queries([])))
    with pytest.raises(Misuse, match="holds another collection"):
        fetch_dataset(f"{name}/b", collection)


def test_a_pair_of_two_grades_is_in_no_qrels_and_counted(name: str, tmp_path: Path) -> None:
    rows = [TrecQrel("2", "1e5", grade, "0") for grade in (0, 1)]
    parts = (Docs([*DOCUMENTS]), Queries([*QUERIES]), Grades(rows))
    ir_datasets.registry.register(f"{name}/two", Dataset(*parts))
    collection = Collection(tmp_path / "coll")
    assert fetch_dataset(f"{name}/two", collection).conflicts == [("2", "1e5")]
    assert collection.qrels_names() == ()
    assert [entry.pair for entry in read_pool(collection.pool)] == [("2", "1e5")]


@pytest.mark.parametrize(
    ("document", "kind", "problem"),
    [
        (Page(" ", "", "", "x"), BadInput, "white space"),
        (ConnectionError("no route to it"), FileProblem, "no route to it"),
        (ValueError("odd bytes"), BadInput, "odd bytes"),
        (RuntimeError("checksum differs"), BadInput, "checksum differs"),
        (ModuleNotFoundError("no bs4", name="bs4"), Exception, "needs the package 'bs4' too"),
    ],
)
def test_what_ir_datasets_cannot_read_is_one_line(
    name: str, tmp_path: Path, document: Any, kind: type[Exception], problem: str
) -> None:
    parts = (Docs([*DOCUMENTS, document]), Queries([*QUERIES]), Grades([]))
    ir_datasets.registry.register(f"{name}/bad", Dataset(*parts))
    with pytest.raises(kind, match=problem):
        fetch_dataset(f"{name}/bad", Collection(tmp_path / "coll"))
    assert not (tmp_path / "coll" / "corpus.jsonl").exists()


def test_the_command_names_what_is_close_and_what_has_queries(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "coll")
    assert execute(["fetch", f"ir_datasets:{name}/test", "-o", folder]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        f"{folder}: 2 queries, 2 documents",
        f"{folder}/qrels/human.qrels: 4 judged pairs",
    ]
    assert execute(["fetch", f"ir_datasets:{name}", "-o", f"{folder}2"]) == Misuse.exit_code
    assert f"{name} has no queries; its parts: {name}/test" in capsys.readouterr().err
    assert execute(["fetch", "beir/scifact", "-o", f"{folder}2"]) == Misuse.exit_code
    said = capsys.readouterr().err
    assert "ir_datasets:beir/scifact has no qrels; its parts: beir/scifact/test" in said
    assert execute(["fetch", "msmarco", "-o", f"{folder}2"]) == Misuse.exit_code
    assert "or ir_datasets:msmarco if that package has it" in capsys.readouterr().err
    assert execute(["fetch", "ir_datasets:beir/scifacts", "-o", f"{folder}2"]) == Misuse.exit_code
    assert "did you mean beir/scifact" in capsys.readouterr().err
    assert execute(["fetch", f"ir_datasets:{name}/test"]) == Misuse.exit_code
    assert (
        json.loads((tmp_path / "coll" / "card.json").read_text())["fetch"]["title"]
        == f"{name}/test"
    )


def test_without_the_package_one_line_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "ir_datasets.py").write_text("raise ImportError('none here')")
    program = "import sys; sys.path.insert(0, '.'); from labeler.cli import main; main()"
    words = ["fetch", "ir_datasets:beir/scifact/test", "-o", "coll"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 78
    assert done.stderr.splitlines() == [
        "labeler: ir_datasets:beir/scifact/test needs the 'ir_datasets' extra:"
        " pip install 'ir-labeler[ir_datasets]'"
    ]
