"""What `import` takes of a file whose name says nothing, what it asks, and what it refuses.

None may be taken for something that it is not: rows of pairs for documents, lists of passages for
queries alone, scores for grades.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from specimen import lines, table

from labeler.cli import execute
from labeler.corpus.documents import read_documents
from labeler.errors import BadInput
from labeler.exchange.qrels import read_qrels
from labeler.exchange.runs import read_run
from labeler.files.read import made_once, rereadable
from labeler.pools.import_qrels import look_at

PASSAGE = {"docid": "d1", "title": "Shoes", "text": "A red shoe is a shoe that is red."}
OTHER = {"docid": "d2", "title": "Hats", "text": "A hat is worn on the head."}
ASKED = {"query_id": "q1", "query": "red shoes"}
TREC_DISK = """<DOC>
<DOCNO> AP1 </DOCNO>
<HEAD>Shoes &amp; hats</HEAD>
<TEXT>
A red shoe <B>is</B> a shoe.

It is red.
</TEXT>
</DOC>
<DOC>
<DOCNO>AP2</DOCNO>
<TEXT>A hat.</TEXT>
</DOC>
"""

TAKEN: dict[str, tuple[Any, dict[str, int]]] = {
    "dpr_retrieved.json": (
        [{"question": "red shoes", "answers": ["x"], "ctxs": [{"id": "d1", "score": "8.5"}]}],
        {"queries": 1, "rankings": 1},
    ),
    "dpr_training.json": (
        [
            {
                "question": "red shoes",
                "positive_ctxs": [{"passage_id": "d1", "text": "A red shoe."}],
                "negative_ctxs": [],
                "hard_negative_ctxs": [{"passage_id": "d2", "text": "A hat."}],
            }
        ],
        {"documents": 2, "queries": 1, "grades": 1},
    ),
    "rank_llm.jsonl": (
        lines(
            {
                "query": {"text": "red shoes", "qid": "q1"},
                "candidates": [{"docid": "d1", "score": 2.5, "doc": {"contents": "A red shoe."}}],
            }
        ),
        {"documents": 1, "queries": 1, "rankings": 1},
    ),
    "miracl.jsonl": (
        lines({**ASKED, "positive_passages": [PASSAGE], "negative_passages": [OTHER]}),
        {"documents": 2, "queries": 1, "grades": 1},
    ),
    "bright.jsonl": (
        lines({"query": "red shoes", "id": "q1", "gold_ids": ["d1", "d2"], "gold_answer": "x"}),
        {"queries": 1, "grades": 2},
    ),
    "lotte.jsonl": (
        lines({"qid": 0, "query": "red shoes", "answer_pids": [1, 2]}),
        {"queries": 1, "grades": 2},
    ),
    "scored.json": ({"q1": {"d1": 1.5, "d2": 3}}, {"rankings": 2}),
    "integers.json": ({"q1": {"d1": 1, "d2": 3}}, {"grades": 2, "rankings": 2}),
    "colbert.tsv": (table(("q1", "d1", 1, 30.5), ("q1", "d2", 2, 20.1), by="\t"), {"rankings": 2}),
    "ap": (TREC_DISK, {"documents": 2}),
    "search_console.csv": (
        table(("Top queries", "Clicks", "Position"), ("red shoes", 120, 4.2)),
        {"queries": 1},
    ),
    "german.csv": ("id;frage\n1;Wie funktionieren Impfstoffe?\n", {"queries": 1}),
    "arxiv.jsonl": (
        lines(*[{"id": f"{n}", "title": "Shoes", "abstract": "We tie shoes."} for n in (1, 2)]),
        {"documents": 2},
    ),
    "scores.csv": (
        table(("query_id", "doc_id", "score"), ("q1", "d1", 9), ("q1", "d2", 7)),
        {"rankings": 2},
    ),
    "snippets.json": (
        [{"title": "Red shoes", "snippet": "They are sold here", "link": "x"}],
        {"documents": 1},
    ),
    "plots.json": ([{"_id": "d1", "title": "Shoes", "plot": "x", "score": 0.9}], {"documents": 1}),
    "issues.csv": (
        table(("Issue key", "Summary", "Description"), ("AB-1", "Login broken", "Nobody gets in")),
        {"documents": 1},
    ),
}

ASKING: dict[str, tuple[Any, str]] = {
    "esci.csv": (
        table(("query", "query_id", "product_id", "esci_label"), ("shoes", "q1", "d1", "E")),
        "grade_map='e:3'",
    ),
    "wands.csv": (
        table(("query_id", "product_id", "label"), ("q1", "d1", "Exact"), ("q1", "d2", "Partial")),
        "grade_map='exact:3,partial:1'",
    ),
    "truth.csv": (
        table(("query", "doc_id", "relevant"), ("red shoes", "d1", "TRUE")),
        "grade_map='true:1'",
    ),
    "halves.csv": (
        table(("query_id", "doc_id", "relevance"), ("q1", "d1", 2.5), ("q1", "d2", 3)),
        "grade_map='2.5:",
    ),
}

REFUSED: dict[str, tuple[Any, str]] = {
    "two_raters.csv": (
        table(("query_id", "doc_id", "rater1", "rater2"), ("q1", "d1", 3, 2)),
        "as documents: a table of queries and documents",
    ),
    "preferences.csv": (
        table(("query_id", "doc_a", "doc_b", "winner"), ("q1", "d1", "d2", "a")),
        "as documents: a table of queries",
    ),
    "bedrock.json": (
        {"retrievalResults": [{"location": {"type": "WEB"}, "score": 0.5}]},
        "its hits have no id",
    ),
    "pinecone.json": ({"matches": [{"id": "d1", "score": 0.9}]}, "does not say for which query"),
    "reranked.json": (
        {"id": "x", "results": [{"index": 0, "relevance_score": 0.9}]},
        "which column is the text",
    ),
    "langsmith.jsonl": (
        lines(*[{"inputs": {"question": q}, "outputs": {"answer": "x"}} for q in ("a", "b")]),
        "as documents: a table of queries",
    ),
    "program.py": ("def f():\n    return 1\n", "nothing says that it holds queries"),
    "pages.json": (
        {"results": [{"id": "1", "title": "Home", "body": {"storage": {"value": "<p>Hello</p>"}}}]},
        "the text is nested, in body.storage.value",
    ),
    "numbers.csv": ("id,bezeichnung\n1,Rote Schuhe\n", "which column is the text"),
    "prose.txt": ("Refunds are paid at once. They go to your card.\n", "labeler corpus ingest"),
    "page.md": ("# Refunds\n\nThey are paid at once, or so we say.\n", "labeler corpus ingest"),
    "page.pdf": ("%PDF-1.7\n", "labeler corpus ingest page.pdf -o COLL"),
    "corpus.tar": ("\0" * 257 + "ustar" + "\0" * 250, "tar xf corpus.tar"),
    "cut.sgml": (TREC_DISK.rsplit("</DOC>", 1)[0], "line 10|the document has no </DOC>"),
    "nameless.sgml": (TREC_DISK + "<DOC>\n<TEXT>x</TEXT>\n</DOC>\n", "without <DOCNO>"),
}


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("name", TAKEN)
def test_a_file_is_taken_for_all_that_it_holds(tmp_path: Path, name: str) -> None:
    content, parts = TAKEN[name]
    plan = look_at(written(tmp_path, name, content))
    assert {part.what: part.count for part in plan.taken} == parts
    assert not plan.refused


@pytest.mark.parametrize("name", ASKING)
def test_words_and_fractions_are_asked_for_and_then_taken(tmp_path: Path, name: str) -> None:
    content, rule = ASKING[name]
    path = written(tmp_path, name, content)
    asks = [part.asks for part in look_at(path).taken if part.what == "grades"]
    assert len(asks) == 1
    assert rule in asks[0]
    mapping = asks[0].partition("grade_map='")[2].partition("'")[0]
    queries = {"q1": "red shoes", "q2": "shoes"}
    grades = read_qrels(path, grade_map=mapping, queries=queries).as_dict()
    assert sum(map(len, grades.values())) == content.count("\n") - 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_reader_knows_is_refused_and_not_garbled(tmp_path: Path, name: str) -> None:
    content, problem = REFUSED[name]
    with pytest.raises(BadInput, match=problem):
        look_at(written(tmp_path, name, content))


def test_documents_of_queries_that_are_not_read_are_told(tmp_path: Path) -> None:
    row = {"query": "red shoes", "passages": [{"is_selected": 1, "passage_text": "A red shoe."}]}
    plan = look_at(written(tmp_path, "marco.jsonl", lines(row, row | {"query": "hats"})))
    assert [part.what for part in plan.taken] == ["queries"]
    assert "as query_id, doc_id, grade" in plan.refused[0]
    clicks = table(("query", "doc_id", "clicks"), ("red shoes", "d1", 3))
    plan = look_at(written(tmp_path, "clicks.csv", clicks))
    assert [part.what for part in plan.taken] == ["queries"]
    assert "columns query, doc_id, clicks" in plan.refused[0]
    assert "to take its queries alone, name it queries.csv" in plan.refused[0]
    answered = [{"query": query, "response": {"grouped": {"x": []}}} for query in ("red", "blue")]
    plan = look_at(written(tmp_path, "grouped.jsonl", lines(*answered)))
    assert "columns query, response" in plan.refused[0]


def test_what_is_refused_ends_the_command(tmp_path: Path) -> None:
    clicks = table(("query", "doc_id", "clicks"), ("red shoes", "d1", 3))
    path = written(tmp_path, "clicks.csv", clicks)
    assert execute(["import", str(path)]) == 65
    assert execute(["import", str(path), "--into", str(tmp_path / "coll")]) == 65
    assert not (tmp_path / "coll").exists()


def test_what_is_made_of_a_file_is_made_once_while_it_is_looked_at(tmp_path: Path) -> None:
    path, reads = written(tmp_path, "mine.json", {"q1": {"d1": 1}}), list[Path]()
    with rereadable():
        assert made_once(path, lambda path: reads.append(path) or 1) == 1
        assert made_once(path, lambda path: reads.append(path) or 2) == 1
    assert made_once(path, lambda path: reads.append(path) or 3) == 3
    assert len(reads) == 2


def test_lists_of_documents_keep_ids_scores_and_order(tmp_path: Path) -> None:
    content, _ = TAKEN["miracl.jsonl"]
    path = written(tmp_path, "miracl.jsonl", content)
    assert read_qrels(path).as_dict() == {"q1": {"d1": 1}}
    assert {*read_documents([str(path)]).documents} == {"d1", "d2"}
    hits = [{"id": "d2", "score": 9.5}, {"id": "d1", "score": 8}]
    rows = [{"question": "red shoes", "ctxs": hits}, {"question": "hats", "ctxs": []}]
    path = written(tmp_path, "dpr.json", rows)
    assert read_run(path, queries={"q1": "Red shoes"}).as_dict() == {"q1": {"d2": 9.5, "d1": 8}}


def test_documents_of_trecs_disks_lose_their_tags_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "ap.txt", TREC_DISK)
    documents = read_documents([str(path)]).documents
    assert documents["AP1"].title == "Shoes & hats"
    assert documents["AP1"].text == "A red shoe is a shoe.\nIt is red."
    assert documents["AP2"].text == "A hat."


def test_files_of_a_folder_go_by_singular_names_too(tmp_path: Path) -> None:
    folder = tmp_path / "wands"
    folder.mkdir()
    written(folder, "query.csv", table(("query_id", "query"), ("q1", "red shoes"), by="\t"))
    product = table(("product_id", "product_name", "product_description"), (1, "shoe", "a shoe"))
    written(folder, "product.csv", product)
    written(folder, "label.csv", table(("query_id", "product_id", "label"), ("q1", 1, "Exact")))
    plan = look_at(folder)
    assert {part.what for part in plan.taken} == {"documents", "queries", "grades"}
    coll = tmp_path / "coll"
    command = ["import", str(folder), "--into", str(coll), "--map", "exact:2"]
    assert execute(command) == 0
    assert (coll / "qrels/human.qrels").read_text().endswith(" 2\n")
