"""The built-in engines over some fields of the documents."""

import json
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.errors import LabelerError
from labeler.runs.retrieve_run import FieldEngine, field_run, shape_of
from labeler.testing import small_collection
from labeler.trec.runs import read_run, read_tag

ROWS = [
    {"_id": "cats", "title": "Animals", "text": "cats sleep", "metadata": {"by": "fish"}},
    {"_id": "fish", "title": "Where fish sleep", "text": "in water", "metadata": {}},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    collection = small_collection(tmp_path / "coll")
    collection.corpus.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return collection.folder


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ("text", {"q1": {"cats"}}),
        ("title", {"q1": {"fish"}, "q2": {"fish"}}),
        ("title,text", {"q1": {"cats", "fish"}, "q2": {"fish"}}),
        ("metadata.by", {"q2": {"cats"}}),
    ],
)
def test_a_run_finds_what_stands_in_its_fields_alone(
    fields: str, found: dict[str, set[str]], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["retrieve", str(folder), "--as", "mine", "--engine", "bm25", "--fields", fields]
    assert execute([*words, "--json"]) == 0
    path = folder / "runs" / "mine.trec"
    assert {q: set(scores) for q, scores in read_run(path).items()} == found
    assert read_tag(path).endswith(f"-{fields.replace(',', '+')}")
    assert json.loads(capsys.readouterr().out)["empty"] == [
        q for q in ("q1", "q2") if q not in found
    ]


@pytest.mark.parametrize(
    ("engine", "fields", "problem"),
    [
        ("lucene", ("text",), "no engine 'lucene'; there are: bm25, dense"),
        ("bm25", ("author",), "no field 'author'; there are: title, text, metadata.NAME"),
        ("bm25", (), "expected fields"),
        ("bm25", ("metadata.none",), "no document has anything in metadata.none"),
    ],
)
def test_what_cannot_be_indexed_is_refused(
    engine: str, fields: tuple[str, ...], problem: str, folder: Path
) -> None:
    with pytest.raises(LabelerError, match=problem):
        field_run(folder, FieldEngine(engine, fields), "mine")


def test_an_engine_and_a_system_exclude_each_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["retrieve", str(folder), "--as", "x", "--engine", "bm25", "--command", "cat {query}"]
    assert execute(words) == 2
    assert "labeler: --engine: two systems are described; leave this out" in capsys.readouterr().err


def test_indexes_of_different_fields_are_kept_apart_whatever_fields_are_called() -> None:
    choices = [("a", "b"), ("a+b",), ("a,b",), ('a", "b',), ("b", "a"), ("a",)]
    assert len({shape_of(fields) for fields in choices}) == len(choices)
