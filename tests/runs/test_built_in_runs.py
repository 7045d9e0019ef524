"""The built-in engines as runs of their own names."""

import json
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.errors import LabelerError
from labeler.runs.retrieve_run import BuiltIn, built_in_run
from labeler.testing import small_collection
from labeler.trec.files import read_run, read_tag


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_collection(tmp_path / "coll").folder


def test_a_built_in_engine_makes_a_run_of_its_own_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["retrieve", str(folder), "--as", "mine", "--engine", "bm25", "--json"]
    assert execute(words) == 0
    path = folder / "runs" / "mine.trec"
    assert "cats" in read_run(path)["q1"]
    assert (read_tag(path) or "").startswith("bm25")
    assert json.loads(capsys.readouterr().out)["answered"] == 2


def test_an_engine_that_is_none_is_refused(folder: Path) -> None:
    with pytest.raises(LabelerError, match="no engine 'lucene'; known: bm25, dense"):
        built_in_run(folder, BuiltIn("lucene"), "mine")


def test_an_engine_and_a_system_exclude_each_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["retrieve", str(folder), "--as", "x", "--engine", "bm25", "--command", "cat {query}"]
    assert execute(words) == 2
    assert "name one system" in capsys.readouterr().err
