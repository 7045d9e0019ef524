"""Folders and archives become one collection, and queries are never documents."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from bundles import BUNDLES, COUNTS, DOCS
from specimen import reading

from labeler.cli import execute
from labeler.corpus.documents import read_documents
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.pools.import_qrels import import_plan, look_at
from labeler.trec.files import read_qrels


def source(folder: Path, name: str) -> Path:
    BUNDLES[name](folder)
    archives = list(folder.glob("*.zip"))
    return archives[0] if archives else folder


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_becomes_a_collection_by_one_command(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, coll = source(tmp_path / "in", name), tmp_path / "coll"
    plan = look_at(path)
    assert plan.refused == ()
    assert not (tmp_path / "coll").exists()
    assert execute(["import", str(path), "--into", str(coll), "--json"]) == 0
    imported = json.loads(capsys.readouterr().out)
    counts = {"documents": imported["documents"], "queries": imported["queries"]}
    assert counts | {"grades": imported["qrels"]["pairs"]} == COUNTS
    grades = read_qrels(coll / "qrels" / "human.qrels")
    assert grades.as_dict() == {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
    names = {Path(left).name for left in imported["left"]}
    assert names <= {"train.tsv", "dev.tsv", "data-00000-of-00001.arrow"}


@pytest.mark.parametrize(
    "name", [name for name in BUNDLES if name not in ("BEIR as a ZIP", "tables")]
)
def test_its_queries_are_no_documents(name: str, tmp_path: Path) -> None:
    read = read_documents([str(source(tmp_path / "in", name))])
    ids = {id_ for id_ in read.documents if not id_.startswith("README")}
    assert ids == {document["_id"] for document in DOCS}


def test_a_folder_of_beirs_says_how_its_grades_come_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    BUNDLES["BEIR"](tmp_path)
    how = f"labeler import {tmp_path}/qrels/test.tsv"
    assert execute(["status", str(tmp_path)]) == 0
    assert how in capsys.readouterr().out
    assert execute(["evaluate", str(tmp_path)]) == 2
    assert how in capsys.readouterr().err
    assert execute(["import", str(tmp_path), "--into", str(tmp_path)]) == 0
    assert (tmp_path / "qrels" / "human.qrels").exists()


def test_an_archive_that_leads_out_of_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../corpus.jsonl", '{"_id": "1", "text": "x"}\n')
    with pytest.raises(BadInput, match="leads out of the archive"):
        look_at(path)
    path.write_bytes(b"PK\x03\x04 and no archive")
    with pytest.raises(BadInput, match=r"bad\.zip: a ZIP file"):
        look_at(path)


def test_a_folder_with_nothing_of_the_kind_says_what_takes_it(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nA text.\n")
    (refusal,) = look_at(tmp_path).refused
    assert f"labeler corpus ingest {tmp_path} -o COLL" in refusal
    with pytest.raises(BadInput, match="labeler corpus ingest"):
        import_plan(tmp_path, tmp_path / "coll")


def test_a_set_of_tests_for_rag_is_a_whole_collection(tmp_path: Path) -> None:
    rows = [
        {"user_input": "what is red?", "reference_contexts": ["A red speaker."], "reference": "x"},
        {"user_input": "what is blue?", "reference_contexts": ["A blue hat."], "reference": "y"},
    ]
    path = tmp_path / "ragas.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    imported = import_plan(path, tmp_path / "coll")
    assert (imported.documents, imported.queries) == (2, 2)
    assert imported.qrels is not None
    assert imported.qrels.pairs == 2


def archive(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as out:
        for name, text in files.items():
            out.writestr(name, text)
    return path


BEIR = {
    "scifact/corpus.jsonl": '{"_id": "d1", "title": "", "text": "A red hat."}\n',
    "scifact/queries.jsonl": '{"_id": "q1", "text": "red hat"}\n',
    "scifact/qrels/train.tsv": "query-id\tcorpus-id\tscore\nq9\td1\t1\n",
    "scifact/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
}


def test_an_archive_is_ingested_as_the_folder_that_it_holds(tmp_path: Path) -> None:
    path, coll = archive(tmp_path / "beir.zip", BEIR), tmp_path / "coll"
    assert execute(["corpus", "ingest", str(path), "-o", str(coll)]) == 0
    (row,) = map(json.loads, (coll / "corpus.jsonl").read_text().splitlines())
    assert row["_id"] == "d1"
    assert execute(["corpus", "update", str(path), str(coll)]) == 0
    pages = archive(tmp_path / "pages.zip", {"site/a.md": "# Cats\n\nCats sleep all day.\n"})
    (document,) = read_documents([str(pages)]).documents.values()
    assert document.metadata["source"] == "a.md"
    with pytest.raises(Misuse, match="an archive is read alone"):
        read_documents([str(pages), str(tmp_path)])
    empty = archive(tmp_path / "empty.zip", {"a.bin": "\0"})
    with pytest.raises(BadInput, match=r"empty\.zip: no file of a kind that can be read"):
        read_documents([str(empty)])


def test_grades_queries_and_runs_are_read_from_an_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "beir.zip", BEIR)
    assert reading("grades", path) == {"q1": {"d1": 1}}
    assert reading("queries", path) == {"red hat"}
    run = archive(tmp_path / "run.zip", {"bm25.csv": "qid,docno,score\nq1,d1,2.5\n"})
    assert reading("rankings", run) == {"q1": ["d1"]}
    assert "a ZIP archive with 4 files; take it in by import" in reading("rankings", path)


QUESTION = {"_id": "7", "text": "when are refunds paid"}
PASSAGE = {"_id": "7", "text": "Refunds are paid within ten days of the return. " * 4}
ACTION = {"index": {"_index": "shop", "_id": "7"}}
TITLED = {"title": "Refunds", "text": "Paid within ten days."}
WITH_BODY = {"id": "7", "title": "Refunds", "content": "Paid within ten days."}
FED = {"put": "id:shop:page::7", "fields": {"text": "Paid within ten days."}}


@pytest.mark.parametrize(
    ("rows", "held", "other"),
    [
        ([QUESTION], "queries", "documents"),
        ([PASSAGE], "documents", "queries"),
        ([ACTION, TITLED], "documents", "queries"),
        ([ACTION, {"text": "Paid within ten days."}], "documents", "queries"),
        ([WITH_BODY], "documents", "queries"),
        ([FED, {"id": "id:shop:page::8", "fields": {"text": "Free."}}], "documents", "queries"),
    ],
)
def test_a_file_of_no_name_holds_what_its_texts_look_like(
    rows: list[dict[str, Any]],
    held: str,
    other: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = look_at(path)
    assert [part.what for part in plan.taken] == [held]
    why = f"its texts look like {held}; as {other}, it needs a name such as {other}.jsonl"
    assert plan.left == (f"mine.jsonl: {why}",)
    assert execute(["import", str(path), "--into", str(tmp_path / "coll")]) == 0
    assert why in capsys.readouterr().err


CHANGED = {"update": "id:shop:page::7", "fields": {"text": {"assign": "Paid."}}}
GONE = {"remove": "id:shop:page::9"}


def test_updates_and_removals_of_a_feed_are_left_and_no_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (FED, CHANGED, CHANGED, GONE)))
    plan = look_at(path)
    assert [(part.what, part.count) for part in plan.taken] == [("documents", 1)]
    assert plan.left == ("documents.jsonl: 2 updates", "documents.jsonl: 1 removal")
    assert reading("documents", path) == {"7"}
    assert execute(["corpus", "ingest", str(path), "-o", str(tmp_path / "coll")]) == 0
    assert "left: 2 updates; left: 1 removal" in capsys.readouterr().err


@pytest.mark.parametrize("row", [CHANGED, GONE])
def test_a_feed_without_a_document_is_refused(row: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(BadInput, match=r"documents\.jsonl: nothing but updates"):
        look_at(path)
    assert "nothing but updates and removals" in reading("documents", path)


@pytest.mark.parametrize(
    ("header", "held"),
    [
        ("sku,title,description", "documents"),
        ("sku,title,description,price", "documents"),
        ("qid,title,description", "queries"),
        ("number,title,description,narrative", "queries"),
        ("sku,title", "queries"),
    ],
)
def test_a_header_says_that_short_texts_are_a_catalogue(
    header: str, held: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.csv"
    rows = [["7", "Red shoes", "They are red.", "9"], ["8", "Blue hat", "It is blue.", "5"]]
    width = len(header.split(","))
    path.write_text("".join(f"{','.join(row[:width])}\n" for row in [header.split(","), *rows]))
    assert [part.what for part in look_at(path).taken] == [held]


def test_the_name_that_would_tell_keeps_how_the_file_is_packed(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(WITH_BODY).encode()))
    assert look_at(path).left[0].endswith("a name such as queries.jsonl.gz")


def test_endings_of_qrels_and_runs_say_what_files_of_a_folder_hold(tmp_path: Path) -> None:
    folder = tmp_path / "dl"
    folder.mkdir()
    for name in ("nist.qrels", "gpt.qrels"):
        (folder / name).write_text("q1 0 d1 1\nq1 0 d2 0\n")
    (folder / "bm25.trec").write_text("q1 Q0 d1 1 2.5 bm25\n")
    taken = [(Path(each.file).name, each.what, each.count) for each in look_at(folder).taken]
    assert taken == [
        ("bm25.trec", "rankings", 1),
        ("gpt.qrels", "grades", 2),
        ("nist.qrels", "grades", 2),
    ]
    with pytest.raises(Misuse, match="several qrels, none of them called test"):
        import_plan(folder, tmp_path / "coll")
    (folder / "gpt.qrels").unlink()
    (folder / "nist.qrels").unlink()
    with pytest.raises(Misuse, match="rankings alone; labeler pool and evaluate"):
        import_plan(folder, tmp_path / "coll")


def test_a_folder_of_ms_marco_has_passages_without_names(tmp_path: Path) -> None:
    folder = tmp_path / "msmarco"
    folder.mkdir()
    passage = "Shoes for running are light, and their soles are made to be soft on hard ground."
    (folder / "collection.tsv").write_text(f"0\t{passage}\n1\t{passage} They are red.\n")
    (folder / "queries.dev.small.tsv").write_text("10\tred shoes\n")
    (folder / "qrels.dev.small.tsv").write_text("10\t0\t1\t1\n")
    imported = import_plan(folder, tmp_path / "coll")
    assert imported.qrels
    assert (imported.documents, imported.queries, imported.qrels.pairs) == (2, 1, 1)


def test_pages_beside_queries_and_grades_are_named_with_what_takes_them(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "docs").mkdir(parents=True)
    for name in ("a.md", "b.txt"):
        (folder / "docs" / name).write_text("Cats sleep in warm places.\n")
    (folder / "questions.txt").write_text("where do cats sleep\nblue hats\n")
    plan = look_at(folder)
    assert plan.refused == ()
    assert [part.what for part in plan.taken] == ["queries"]
    assert [line.partition(": ")[0] for line in plan.left] == ["docs/a.md", "docs/b.txt"]
    assert all(f"labeler corpus ingest {folder / 'docs'} -o COLL" in line for line in plan.left)


def test_what_a_collection_has_already_is_not_said_to_be_the_same(tmp_path: Path) -> None:
    docs = tmp_path / "documents.jsonl"
    docs.write_text(json.dumps(WITH_BODY) + "\n")
    import_plan(docs, tmp_path / "coll")
    with pytest.raises(Misuse, match="coll has documents of its own, which stay as they are"):
        import_plan(docs, tmp_path / "coll")


def test_the_plan_of_a_run_names_the_command_that_takes_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "mine.trec"
    run.write_text("q1 Q0 d1 1 2.5 bm25\n")
    assert execute(["import", str(run)]) == 0
    assert f"to take it: labeler pool COLL --run {run}\n" in capsys.readouterr().err


def test_an_archive_behind_a_password_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "locked.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("corpus.jsonl", json.dumps(WITH_BODY))
    raw = bytearray(path.read_bytes())
    raw[6] |= 1  # the flag of a locked member, in its own header and in the archive's list
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    with pytest.raises(BadInput, match="it takes a password; unpack it"):
        look_at(path)


def test_the_name_of_a_data_set_finds_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["import"], ["corpus", "ingest", "-o", "coll"]):
        assert execute([*command, "beir/scifact"]) == FileProblem.exit_code
        assert capsys.readouterr().err.endswith("data set: labeler fetch beir/scifact\n")
