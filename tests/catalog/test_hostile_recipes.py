"""A recipe's files, whatever they hold, end in one line that names the file."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from labeler.catalog.recipes import READERS, Recipe, read_recipe
from labeler.errors import BadInput

RECIPE = Recipe.model_construct(members={"answers": "a.csv", "qrels": "q"}, grades={"1": 1})
XML = "<r><NLM-QUESTION qid='q1'><NLM-Summary>s</NLM-Summary></NLM-QUESTION></r>"
ANSWERS = 'AnswerID,Answer\na1,"Question: q\nURL: u\nAnswer: a"\n'


def files_of(folder: Path, answers: str = ANSWERS, xml: str = XML) -> dict[str, Path]:
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("a.csv", answers)
        archive.writestr("q", "q1 1 a1\n")
    (folder / "q.xml").write_text(xml)
    return {"answers": folder / "a.zip", "questions": folder / "q.xml"}


def encrypted(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(raw)


def of_another_method(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[8] = raw[raw.index(b"PK\1\2") + 10] = 77
    path.write_bytes(raw)


@pytest.mark.parametrize("harm", [encrypted, of_another_method, lambda p: p.write_bytes(b"PK")])
def test_a_zip_file_that_cannot_be_read(harm: Callable[[Path], object], tmp_path: Path) -> None:
    files = files_of(tmp_path)
    harm(files["answers"])
    with pytest.raises(BadInput, match=r"a\.zip: "):
        READERS["liveqa-medquad"](files, RECIPE)


@pytest.mark.parametrize(
    ("answers", "xml", "problem"),
    [
        ("AnswerID,Text\na1,x\n", XML, r"a\.zip: nothing is called 'Answer'"),
        (ANSWERS, "<r>", r"q\.xml:1: "),
        (ANSWERS, "<r>&x;</r>", r"q\.xml:1: undefined entity"),
        (ANSWERS, XML.replace("qid", "id"), r"q\.xml: nothing is called 'qid'"),
    ],
)
def test_a_file_of_another_shape(answers: str, xml: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=problem):
        READERS["liveqa-medquad"](files_of(tmp_path, answers, xml), RECIPE)


@pytest.mark.parametrize("content", ["a = " + "[" * 10_000, "a = " + "1" * 5000, "\ud800", "a = 1"])
def test_a_recipe_that_is_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(BadInput, match=r"r\.toml: "):
        read_recipe(path)
