"""A grade of a text that has changed since is counted by every command, and enters no figure."""

import io
import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import pytest
from every_row import every_row
from made import make_collection

import labeler
from labeler.agreement.agree import AgreeOptions
from labeler.agreement.diff.diff import DiffOptions
from labeler.cli import execute
from labeler.collection.annotations import texts_identity
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection
from labeler.collection.stale import hash_of, rules_of, shown_by, stale_in, stale_pairs
from labeler.collection_report.contents import ReportOptions
from labeler.data import Document, Pair, Query
from labeler.errors import BadInput, Misuse
from labeler.judging.judge import judge
from labeler.judging.status import status
from labeler.prompt import find_prompt, prompt_files
from labeler.prompt.read import read_prompt
from labeler.testing import FakeServer, fake_model
from labeler.trec.write import write_qrels

GRADING = sorted(
    name for name, path in prompt_files().items() if read_prompt(path).front.kind == "grade"
)
QUERIES, DOCUMENTS, CHANGED = 4, 48, 10
STALE = QUERIES * CHANGED


def edit(path: Path, change: Callable[[dict[str, Any]], None], ids: set[str]) -> None:
    """Change the rows of some ids."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if row["_id"] in ids:
            change(row)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def asked(collection: Collection, name: str = "first", prompt: str = "four-grades") -> int:
    """How many calls judging the pool takes now."""
    model = fake_model('{"grade": 2}', "mild")
    return judge(collection, model=model, name=name, prompt=prompt).spent.calls


@pytest.fixture
def collection(changed: Path, tmp_path: Path) -> Collection:
    """192 judged pairs, of which the texts of 40 were then replaced; people's grades, two runs."""
    return Collection(shutil.copytree(changed, tmp_path / "coll"))


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that is copied for each test."""
    made = make_collection(tmp_path_factory.mktemp("changed") / "coll", QUERIES, DOCUMENTS)
    grades = {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(DOCUMENTS)} for q in range(QUERIES)}
    asked(made)
    judge(made, model=fake_model('{"grade": 1}', "strict"), name="second")
    write_qrels(made.qrels("human"), grades)
    made.run("a").parent.mkdir()
    for name in ("a", "b"):
        order = [(q, Random(f"{name}{q}").sample(range(DOCUMENTS), 20)) for q in range(QUERIES)]
        lines = (
            f"q{q} Q0 d{d} {rank} {50 - rank} {name}\n"
            for q, documents in order
            for rank, d in enumerate(documents, start=1)
        )
        made.run(name).write_text("".join(lines))
    replaced = {f"d{number}" for number in range(CHANGED)}
    edit(made.corpus, lambda row: row.update(text="completely other text"), replaced)
    return made.folder


def said(*words: str) -> Any:
    """What a command says as JSON."""
    with redirect_stdout(io.StringIO()) as out:
        assert execute([*words, "--json"]) == 0
    return json.loads(out.getvalue())


COUNTED: dict[str, Callable[[str], int]] = {
    "status": lambda coll: said("status", coll)["judgements"][0]["stale"],
    "evaluate": lambda coll: said("evaluate", coll, "--qrels", "first")["stale"],
    "evaluate a file": lambda coll: said(
        "evaluate", f"{coll}/qrels/first.qrels", f"{coll}/runs/a.trec"
    )["stale"],
    "agree": lambda coll: said("agree", coll, "human", "first")["stale"],
    "agree on files": lambda coll: said(
        "agree", f"{coll}/qrels/human.qrels", f"{coll}/qrels/first.qrels"
    )["stale"],
    "diff": lambda coll: said("diff", coll, "first", "second")["stale"],
    "diff of files": lambda coll: said(
        "diff", f"{coll}/judgements/first.jsonl", f"{coll}/judgements/second.jsonl"
    )["stale"],
    "report": lambda coll: labeler.report_of(coll, ReportOptions(qrels="first")).scores.as_json()[
        "stale"
    ],
    "kept": lambda coll: said("evaluate", coll, "--qrels", "first", "--stale", "keep")["stale"],
}


@pytest.mark.sweep
@pytest.mark.parametrize("command", COUNTED)
def test_every_command_counts_the_grades_of_replaced_documents(
    command: str, collection: Collection
) -> None:
    assert COUNTED[command](str(collection.folder)) == STALE


def test_validate_counts_them_in_each_set(collection: Collection) -> None:
    assert said("validate", str(collection.folder))["stale"] == 2 * STALE


def test_status_names_the_command_that_mends_them_and_it_does(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["status", str(collection.folder)]) == 0
    lines = capsys.readouterr().out
    assert "first: 40 grades are of texts that have changed since" in lines
    assert f"to go on: labeler judge {collection.folder}" in lines
    assert asked(collection) == STALE
    assert asked(collection) == 0
    assert next(status(collection)).stale == 0


def test_no_figure_counts_them_unless_told(collection: Collection) -> None:
    folder = collection.folder
    runs = {name: collection.run(name) for name in ("a", "b")}
    dropped = labeler.evaluate(collection.qrels("first"), runs, ["P@20"])
    kept = labeler.evaluate(collection.qrels("first"), runs, ["P@20"], stale="keep")
    assert all(next(iter(run.judged.values())) == 1.0 for run in kept.runs)
    assert all(next(iter(run.judged.values())) < 1.0 for run in dropped.runs)
    assert any(
        "40 grades are of texts that have changed since, left out" in f for f in dropped.findings
    )
    assert any("counted all the same" in finding for finding in kept.findings)
    pairs = [
        labeler.agree(str(folder), "human", "first", options=AgreeOptions(stale=stale))
        .assessors[0]
        .agreement.pairs
        for stale in ("drop", "keep")
    ]
    assert pairs == [QUERIES * DOCUMENTS - STALE, QUERIES * DOCUMENTS]
    moved = [
        labeler.diff(collection, "first", "second", options=DiffOptions(stale=stale)).pairs
        for stale in ("drop", "keep")
    ]
    assert moved == pairs


def test_where_all_have_changed_there_is_no_figure_but_a_line(collection: Collection) -> None:
    edit(collection.queries, lambda row: row.update(text="else"), {f"q{q}" for q in range(QUERIES)})
    with pytest.raises(BadInput, match="all grades are of texts that have changed"):
        labeler.evaluate(collection.qrels("first"), collection.run("a"))


def test_another_word_than_drop_or_keep_is_refused(collection: Collection) -> None:
    with pytest.raises(Misuse, match="stale is drop or keep, not 'all'"):
        stale_in([collection.qrels("first")], stale="all")


def test_qrels_outside_of_a_collection_are_as_they_are(
    collection: Collection, tmp_path: Path
) -> None:
    copy = tmp_path / "elsewhere.qrels"
    copy.write_bytes(collection.qrels("first").read_bytes())
    assert labeler.evaluate(copy, collection.run("a")).stale == 0
    assert stale_in([collection.qrels("human")]) == set()


def test_a_panel_is_as_stale_as_what_its_members_were_shown(tmp_path: Path) -> None:
    made = make_collection(tmp_path / "coll")
    for name, grade in (("first", 2), ("second", 1), ("third", 2)):
        judge(made, model=fake_model(f'{{"grade": {grade}}}', name), name=name)
    folder = str(made.folder)
    assert execute(["lab", "panel", folder, "first", "second", "third", "--as", "panel"]) == 0
    assert stale_pairs(made, "panel") == set()
    edit(made.corpus, lambda row: row.update(text="other"), {"d3"})
    assert stale_pairs(made, "panel") == {Pair("q0", "d3"), Pair("q1", "d3")}


CHANGES: dict[str, tuple[str, Callable[[dict[str, Any]], None], bool]] = {
    "text": ("corpus", lambda row: row.update(text="other"), True),
    "title": ("corpus", lambda row: row.update(title="other"), True),
    "a document's metadata": ("corpus", lambda row: row.update(metadata={"at": 1}), False),
    "a query's text": ("queries", lambda row: row.update(text="other"), True),
    "a description": ("queries", lambda row: row.update(metadata={"description": "more"}), False),
    "a narrative": ("queries", lambda row: row.update(metadata={"narrative": "more"}), False),
    "any metadata": ("queries", lambda row: row.update(metadata={"kind": "keyword"}), False),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_the_assessor_is_not_shown_is_neither_stale_nor_asked_anew(
    what: str, tmp_path: Path
) -> None:
    made = make_collection(tmp_path / "coll")
    assert asked(made) == 10
    file, change, is_shown = CHANGES[what]
    edit(getattr(made, file), change, {"d0", "q0"})
    expected = {"corpus": 2, "queries": 5}[file] if is_shown else 0
    assert len(stale_pairs(made, "first")) == expected
    assert asked(made) == expected
    assert stale_pairs(made, "first") == set()


@pytest.mark.parametrize("what", ["description", "narrative"])
def test_what_another_prompt_shows_is_asked_anew_by_it_alone(what: str, tmp_path: Path) -> None:
    made, prompt = make_collection(tmp_path / "coll"), tmp_path / "topic.md"
    shipped = prompt_files()["four-grades"].read_text(encoding="utf-8")
    prompt.write_text(shipped.replace("{query}", f"{{query}}\n{{{what}}}", 1), encoding="utf-8")
    assert asked(made) == asked(made, "topic", str(prompt)) == 10
    edit(made.queries, lambda row: row.update(metadata={what: "more"}), {"q0"})
    assert len(stale_pairs(made, "first")) == 0
    assert len(stale_pairs(made, "topic")) == 5
    assert (asked(made), asked(made, "topic", str(prompt))) == (0, 5)


def test_a_title_counts_where_the_prompt_shows_it(tmp_path: Path) -> None:
    made, prompt = make_collection(tmp_path / "coll"), tmp_path / "text.md"
    shipped = prompt_files()["four-grades"].read_text(encoding="utf-8")
    prompt.write_text(shipped.replace("{passage}", "{text}"), encoding="utf-8")
    assert asked(made, "text", str(prompt)) == 10
    edit(made.corpus, lambda row: row.update(title="other"), {"d0"})
    assert stale_pairs(made, "text") == set()
    assert asked(made, "text", str(prompt)) == 0


def test_what_lies_behind_the_cut_counts_by_its_length_alone(tmp_path: Path) -> None:
    made, prompt = make_collection(tmp_path / "coll"), tmp_path / "short.md"
    shipped = prompt_files()["four-grades"].read_text(encoding="utf-8")
    prompt.write_text(shipped.replace("+++\n", "+++\nmax_chars = 8\n", 1), encoding="utf-8")
    with FakeServer(lambda _call: '{"grade": 2}') as server:

        def calls() -> int:
            judge(made, prompt=str(prompt), model="fake", base_url=server.base_url, name="short")
            return len(server.calls)

        first = calls()
        edit(made.corpus, lambda row: row.update(text="abxut d0;"), {"d0"})
        assert stale_pairs(made, "short") == set()
        assert calls() == first
        edit(made.corpus, lambda row: row.update(text="abxut d0; and more"), {"d0"})
        assert len(stale_pairs(made, "short")) == 2  # the prompt says how much is not shown
        assert calls() == first + 2


@every_row("name", GRADING)
def test_a_row_tells_changed_texts_without_the_prompt_that_showed_them(name: str) -> None:
    prompt = find_prompt(name)
    query, document = Query("q", "cats"), Document("d", "they sleep", "Cats")
    shown = shown_by(rules_of(prompt), query, document)
    assert shown_by(shown, query, document) == shown
    assert shown_by(shown, Query("q", "dogs"), document) != shown
    assert shown_by(shown, query, Document("d", "they wake", "Cats")) != shown
    assert shown_by(shown, Query("q", "cats", {"kind": "keyword"}), document) == shown


def test_people_and_assessors_have_one_hash() -> None:
    query, document = Query("q", "cats", {"description": "of home"}), Document("d", "sleep", "Cats")
    assert texts_identity(query, document) == hash_of("cats", "of home", "", "Cats", "sleep")


def test_rows_that_do_not_say_what_was_shown_are_never_stale(collection: Collection) -> None:
    path = collection.judgements("first")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, shown in zip(rows, ("", "a word", "query passage:x 1 2"), strict=False):
        row["shown"] = shown
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert all(row.judged.shown for row in list(read_judgements(path))[3:])
    first = {Pair(row["query_id"], row["doc_id"]) for row in rows[:3]}
    assert len(stale_pairs(collection, "first")) == STALE - len(first)
