"""Every export is read back by the tool that it is for, or as that tool's reader reads it."""

import csv
import html
import json
import re
from pathlib import Path
from typing import Any, get_args

import ir_datasets
import pyarrow.parquet as pq
import pytest

import labeler
from labeler.cli import execute
from labeler.collection.corpus import write_corpus
from labeler.collection.export import ExportOptions, export
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import write_queries
from labeler.collection.user_files import Output
from labeler.data import Document, Query
from labeler.errors import BadInput, Misuse
from labeler.exchange.export.content import FormatName
from labeler.exchange.export.formats import EXPORTS
from labeler.testing import fake_model, small_collection
from labeler.trec.write import write_qrels, write_run

DOCUMENTS = (
    Document("1", 'a "quoted"\ttab, and\nanother line', "Title\twith a tab\nand a line"),
    Document("007", "ünïcode 日本 \u2028 {{ template }}", "Größe & <b>tags</b>"),
    Document("1e5", "=SUM(A1:A9)\r\nfile", ""),
    Document('"d', "</TEXT></DOC> <DOC>", "it's"),
    Document("2024-01-01", "file:///etc/passwd", "a date"),
    Document("ünï", "not judged at all"),
)
QUERIES = (
    Query("1", 'where do "cats" sleep, and why?', {"description": "a <b> & c"}),
    Query("0x1f", "größe\tof\n a {{thing}}"),
    Query("q3", "never judged"),
)
QRELS = {
    "1": {"007": 0, "1": 3, "1e5": 1, "2024-01-01": 2},
    "0x1f": {'"d': 2, "1": 0, "ünï": 1},
}
RUN = {"1": {"007": 2.5, "1": 1.0}, "0x1f": {'"d': 0.25, "1e5": 0.125}}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Ids that look like numbers, dates and quotes, and texts with all that breaks a format."""
    made = Collection(tmp_path_factory.mktemp("made") / "coll")
    with locked(made):
        write_corpus(made.corpus, DOCUMENTS)
        write_queries(made.queries, QUERIES)
    write_qrels(made.qrels("human"), QRELS)
    write_run(made.run("bm25"), RUN, "bm25")
    return made


def written(collection: Collection, to: FormatName, folder: Path, **options: Any) -> list[str]:
    """The lines about what is lost."""
    losses: list[str] = []
    export(collection, folder, to, ExportOptions(**options), losses.append)
    return losses


def graded(rows: Any) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in rows:
        qrels.setdefault(query_id, {})[doc_id] = int(grade)
    return qrels


def json_lines(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_beir_reads_what_was_exported_to_it(collection: Collection, tmp_path: Path) -> None:
    losses = written(collection, "beir", tmp_path)
    corpus = {
        row["_id"]: (row["title"], row["text"]) for row in json_lines(tmp_path / "corpus.jsonl")
    }
    queries = {row["_id"]: row["text"] for row in json_lines(tmp_path / "queries.jsonl")}
    with (tmp_path / "qrels" / "test.tsv").open(encoding="utf-8") as lines:  # as its loader does
        header, *rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
    assert corpus == {d.id: (d.title, d.text) for d in DOCUMENTS}
    assert queries == {q.id: q.text for q in QUERIES}
    assert header == ["query-id", "corpus-id", "score"]
    assert graded(rows) == QRELS
    dropped = "which BEIR's evaluate drops unless ignore_identical_ids=False"
    assert losses == [f"1 query has the id of a document, {dropped}"]


def test_a_beir_folder_that_was_exported_is_a_collection_to_start_from(
    collection: Collection, tmp_path: Path
) -> None:
    written(collection, "beir", tmp_path)
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t007\t2\n")
    labeler.import_qrels(tmp_path / "qrels" / "test.tsv", tmp_path)
    assert labeler.read_qrels(tmp_path / "qrels" / "human.qrels") == {"1": {"007": 2}}


@pytest.mark.parametrize("to", ["hf", "mteb"])
def test_parquet_keeps_every_id_as_a_text(
    collection: Collection, tmp_path: Path, to: FormatName
) -> None:
    assert written(collection, to, tmp_path) == []
    corpus = pq.read_table(tmp_path / "corpus.parquet").to_pylist()
    assert [(d["_id"], d["title"], d["text"]) for d in corpus] == [
        (d.id, d.title, d.text) for d in DOCUMENTS
    ]
    queries = pq.read_table(tmp_path / "queries.parquet").to_pylist()
    assert [(q["_id"], q["text"]) for q in queries] == [(q.id, q.text) for q in QUERIES]
    rows = pq.read_table(tmp_path / "qrels.parquet").to_pylist()
    assert graded((r["query-id"], r["corpus-id"], r["score"]) for r in rows) == QRELS
    for name in re.findall(r"path: (\S+)", (tmp_path / "README.md").read_text()):
        assert (tmp_path / name).is_file()


def test_trec_documents_and_topics_say_the_same(collection: Collection, tmp_path: Path) -> None:
    losses = written(collection, "trec", tmp_path, runs=("bm25",))
    parts = ir_datasets.util.LocalDownload
    qrels = ir_datasets.formats.TrecQrels(parts(str(tmp_path / "qrels.txt")), {})
    assert graded((r.query_id, r.doc_id, r.relevance) for r in qrels.qrels_iter()) == QRELS
    topics = ir_datasets.formats.TrecQueries(parts(str(tmp_path / "topics.trec")))
    told = {q.query_id: html.unescape(q.title) for q in topics.queries_iter()}
    assert told == {q.id: " ".join(q.text.split()) for q in QUERIES}
    text = (tmp_path / "documents.trec").read_bytes().decode()
    shape = r"<DOC>\n<DOCNO>(.*?)</DOCNO>\n(?:<TITLE>(.*?)</TITLE>\n)?<TEXT>(.*?)</TEXT>\n</DOC>\n"
    documents = [tuple(map(html.unescape, row)) for row in re.findall(shape, text, re.DOTALL)]
    assert documents == [(d.id, d.title, d.text) for d in DOCUMENTS]
    assert labeler.read_run(tmp_path / "runs" / "bm25.trec") == RUN
    assert losses == ["1 query's text is put on one line"]


def test_quepid_knows_queries_by_their_text(collection: Collection, tmp_path: Path) -> None:
    export(collection, tmp_path / "ours.csv", "quepid")
    with (tmp_path / "ours.csv").open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    assert header == ["query", "docid", "rating"]
    ids = {query.text: query.id for query in QUERIES}
    assert graded((ids[text], doc_id, grade) for text, doc_id, grade in rows) == QRELS


def test_opensearch_takes_documents_queries_and_judgements(
    collection: Collection, tmp_path: Path
) -> None:
    written(collection, "opensearch", tmp_path)
    lines = json_lines(tmp_path / "documents.ndjson")
    ids = [line["index"]["_id"] for line in lines[::2]]
    assert ids == [d.id for d in DOCUMENTS]
    assert [(s["title"], s["text"]) for s in lines[1::2]] == [(d.title, d.text) for d in DOCUMENTS]
    judged = json.loads((tmp_path / "judgments.json").read_text(encoding="utf-8"))
    assert (judged["type"], judged["name"]) == ("IMPORT_JUDGMENT", "coll")
    by_text = {query.text: query.id for query in QUERIES}
    rows = [
        (by_text[query["query"]], rating["docId"], float(rating["rating"]))
        for query in judged["judgmentRatings"]
        for rating in query["ratings"]
    ]
    assert graded(rows) == QRELS
    queries = json.loads((tmp_path / "queryset.json").read_text(encoding="utf-8"))
    assert [q["queryText"] for q in queries["querySetQueries"]] == [q.text for q in QUERIES]


def test_two_queries_of_one_text_cannot_go_where_texts_are_the_ids(tmp_path: Path) -> None:
    collection = Collection(tmp_path / "coll")
    with locked(collection):
        write_corpus(collection.corpus, DOCUMENTS)
        write_queries(collection.queries, [Query("a", "cats"), Query("b", "cats")])
    write_qrels(collection.qrels("human"), {"a": {"1": 1}, "b": {"1": 2}})
    for to in ("quepid", "opensearch"):
        with pytest.raises(BadInput, match="the queries a and b have one text, 'cats'"):
            export(collection, tmp_path / "out", to)


@pytest.mark.parametrize("to", get_args(FormatName))
def test_a_failure_is_never_exported_as_a_grade(to: FormatName, tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")

    def answer(request: Any) -> str:
        return '{"grade": 2}' if "cats" in str(request.messages) else "I cannot say."

    labeler.judge(collection, model=fake_model(answer), name="llm")
    failed = [
        line for line in collection.judgements("llm").read_text().splitlines() if "null" in line
    ]
    warnings: list[str] = []
    exported = export(collection, tmp_path / "out", to, warn=warnings.append)
    assert exported.pairs == len(labeler.read_qrels(collection.qrels("llm")).get("q1", {})) == 2
    assert failed
    assert (
        f"{collection.judgements('llm')}: 2 pairs failed and have no grade: not exported"
        in warnings
    )


@pytest.mark.parametrize("to", get_args(FormatName))
def test_a_pair_that_nobody_judged_leaves_only_where_trec_s_minus_one_is_known(
    to: FormatName, tmp_path: Path
) -> None:
    collection = small_collection(tmp_path / "coll")
    write_qrels(collection.qrels("human"), {"q1": {"cats": 2, "fish": -1}, "q9": {"cats": 1}})
    warnings: list[str] = []
    exported = export(collection, tmp_path / "out", to, warn=warnings.append)
    keeps = to == "trec"
    assert exported.pairs == (2 if keeps else 1)
    assert any("1 pair has a negative grade" in line for line in warnings) is not keeps
    assert any("1 query (q9)" in line for line in warnings)


@pytest.mark.parametrize("to", get_args(FormatName))
def test_an_export_replaces_its_own_files_and_no_others(to: FormatName, tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")
    write_qrels(collection.qrels("human"), {"q1": {"cats": 2}})
    first = export(collection, tmp_path / "out", to)
    assert export(collection, tmp_path / "out", to).files == first.files
    first.files[0].write_text("mine")
    with pytest.raises(Misuse, match="holds something else than what was written there before"):
        export(collection, tmp_path / "out", to)
    export(collection, Output(tmp_path / "out", force=True), to)
    with pytest.raises(Misuse):
        export(collection, collection.folder, "beir")


def test_every_name_of_a_format_is_one() -> None:
    assert set(EXPORTS) == set(get_args(FormatName))


def test_the_command_says_what_was_written_and_who_reads_it(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(collection.folder)
    assert execute(["export", folder, "--to", "trec", "-o", str(tmp_path), "--run", "bm25"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        *(str(tmp_path / name) for name in ("documents.trec", "topics.trec", "qrels.txt")),
        str(tmp_path / "runs/bm25.trec"),
    ]
    assert "human: 7 pairs; 3 queries, 6 documents" in shown.err
    for more, problem in (
        (["--to", "beir", "--run", "bm25"], "--run: beir takes no runs"),
        (["--to", "trec", "--run", "no"], "--run: no run 'no'; known: bm25"),
        (["--to", "trec", "--qrels", "no"], f"{folder} has no qrels 'no'; there are: human"),
    ):
        assert execute(["export", folder, "-o", str(tmp_path / "x"), *more]) in (2, 65)
        assert capsys.readouterr().err.splitlines()[-1].startswith(f"labeler: {problem}")
