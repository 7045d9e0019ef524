"""A whole collection is checked; each problem is one line with file and line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.corpus.ingest import ingest
from labeler.judging.judge import judge
from labeler.judging.validate import validate
from labeler.pools.pool import pool
from labeler.testing import fake_model


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "a.md").write_text("# Cats\n\nA cat sleeps anywhere.\n")
    (folder / "b.md").write_text("# Fish\n\nA fish never closes its eyes.\n")
    (folder / "q.txt").write_text("where do cats sleep\nfish eyes\n")
    ingest([folder / "a.md", folder / "b.md"], folder / "coll", folder / "q.txt")
    pool(folder / "coll")
    judge(folder / "coll", model=fake_model('{"grade": 1}'), name="llm")
    return folder / "coll"


@pytest.fixture
def collection(made: Path, tmp_path: Path) -> Collection:
    shutil.copytree(made, tmp_path / "coll")
    return Collection(tmp_path / "coll")


def edit_line(path: Path, number: int, **values: object) -> None:
    lines = path.read_text().splitlines()
    lines[number - 1] = json.dumps({**json.loads(lines[number - 1]), **values})
    path.write_text("\n".join(lines) + "\n")


def change_grades(collection: Collection) -> None:
    """Give every pair the grade 3, in both files that hold grades."""
    for path, old, new in (
        (collection.judgements("llm"), '"grade": 1', '"grade": 3'),
        (collection.qrels("llm"), " 1\n", " 3\n"),
    ):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


def repeat_line(path: Path) -> None:
    path.write_text(path.read_text() + path.read_text().splitlines()[0] + "\n")


CASES: dict[str, tuple[Callable[[Collection], object], str, str]] = {
    "text": (lambda c: edit_line(c.corpus, 1, text="x"), "corpus.jsonl:1: the text of 'a.md:",
             "is not the one that its id was made of"),
    "twice": (lambda c: repeat_line(c.corpus), "corpus.jsonl:3: the id 'a.md:", "twice"),
    "json": (lambda c: c.corpus.write_text(c.corpus.read_text() + "{\n"), "corpus.jsonl:3: ", ""),
    "gone": (lambda c: c.corpus.write_text(c.corpus.read_text().splitlines()[0] + "\n"),
             "pool.jsonl:", "is not in the corpus"),
    "dangling source": (lambda c: edit_line(c.queries, 1, metadata={"source": [{"doc_id": "x"}]}),
                        "queries.jsonl:1: the source 'x' of", "is not in the corpus"),
    "pool": (lambda c: edit_line(c.pool, 1, query_id="q9"), "pool.jsonl:1: the query 'q9'", ""),
    "pool twice": (lambda c: repeat_line(c.pool), "pool.jsonl:", "again"),
    "judged": (lambda c: edit_line(c.judgements("llm"), 1, doc_id="x"),
               "judgements/llm.jsonl:1: the document 'x' is not in the corpus", ""),
    "grade": (lambda c: edit_line(c.judgements("llm"), 1, grade=3), "qrels/llm.qrels:1: ",
              "has the grade 1, and has 3 in llm.jsonl"),
    "origin": (lambda c: edit_line(c.judgements("llm"), 2, prompt="other"),
               "judgements/llm.jsonl:2: made by another prompt", ""),
    "qrels": (lambda c: c.qrels("human").write_text("q1 0 x 1\n"),
              "qrels/human.qrels:1: the document 'x' is not in the corpus", ""),
    "run": (lambda c: c.run("mine").write_text("q1 Q0 x 1 1.0 r\n"),
            "runs/mine.trec:1: the document 'x' is not in the corpus", ""),
}  # fmt: skip


def test_a_collection_that_commands_made_has_no_problem(collection: Collection) -> None:
    result = validate(collection)
    assert [str(problem) for problem in result.problems] == []
    assert (result.checked["documents"], result.checked["queries"]) == (2, 2)


@pytest.mark.parametrize("name", CASES)
def test_each_error_is_named_with_its_file_and_line(name: str, collection: Collection) -> None:
    spoil, begins, says = CASES[name]
    spoil(collection)
    result = validate(collection)
    texts = [str(problem).removeprefix(f"{collection.folder}/") for problem in result.problems]
    assert any(text.startswith(begins) and says in text for text in texts), texts
    assert result.errors


def test_queries_that_stand_twice_and_edited_files_are_warnings(collection: Collection) -> None:
    edit_line(collection.queries, 2, text="Where do  cats sleep")
    result = validate(collection)
    assert [problem.level for problem in result.problems] == ["warning"] * 3
    assert result.as_json()["stale"] > 0  # the grades of the query that was edited
    assert result.is_valid()
    assert not result.is_valid(strict=True)


def test_of_many_equal_problems_the_first_are_named_and_all_are_counted(
    collection: Collection,
) -> None:
    lines = "".join(f"q1 Q0 x{n} {n} {-n} r\n" for n in range(1, 1001))
    collection.run("mine").parent.mkdir(exist_ok=True)
    collection.run("mine").write_text(lines)
    result = validate(collection)
    assert result.errors == 1000
    assert len(result.problems) == 6
    assert "… and 995 more" in result.problems[-1].problem


def test_the_command_ends_with_65_at_errors_and_with_strict_at_warnings(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(collection.folder)
    assert execute(["validate", folder]) == 0
    edit_line(collection.queries, 2, text="where do cats sleep")
    assert execute(["validate", folder]) == 0
    assert execute(["validate", folder, "--strict"]) == 65
    edit_line(collection.pool, 1, doc_id="x")
    capsys.readouterr()
    assert execute(["validate", folder, "--json"]) == 65
    assert json.loads(capsys.readouterr().out)["errors"] >= 1


def test_a_grade_that_no_reply_gave_is_named_wherever_replies_are_checked(
    collection: Collection,
) -> None:
    assert validate(collection).checked["grades with their replies"] == 4
    change_grades(collection)
    result = validate(collection)
    assert (result.errors, result.checked["grades with their replies"]) == (4, 0)
    first = str(result.problems[0])
    assert first.startswith(f"{collection.judgements('llm')}:1: ")
    assert first.endswith("has the grade 3, and its replies give 1")


def test_a_grade_of_a_text_that_has_changed_since_is_not_held_against_replies(
    collection: Collection,
) -> None:
    rows = collection.corpus.read_text().replace("A cat sleeps anywhere.", "A dog barks.")
    collection.corpus.write_text(rows)
    change_grades(collection)
    result = validate(collection)
    assert result.stale == 2
    assert sum("its replies give 1" in str(problem) for problem in result.problems) == 2
