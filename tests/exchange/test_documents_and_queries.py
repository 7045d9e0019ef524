"""Files of documents and queries of other tools are never taken for something else."""

import json
from pathlib import Path

import pytest
from fuzzing import mutants, refused

from labeler.cli import execute
from labeler.corpus.ingest import ingest
from labeler.corpus.read import documents_in
from labeler.errors import BadInput
from labeler.exchange.queries import read_query_list

TEXTS = {"007": ("Red speaker", "A red speaker."), "8": ("Lamp", "It is blue.")}
HITS = [
    {"_index": "p", "_id": id_, "_score": 1.5, "_source": {"title": title, "body": text}}
    for id_, (title, text) in TEXTS.items()
]
PLAIN = [{"id": id_, "title": title, "text": text} for id_, (title, text) in TEXTS.items()]


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


DOCUMENTS = {
    "hits": lines(HITS),
    "a response": json.dumps({"took": 3, "hits": {"total": {"value": 2}, "hits": HITS}}, indent=1),
    "responses": json.dumps({"responses": [{"hits": {"hits": [hit]}} for hit in HITS]}),
    "returned fields": lines(
        [
            {"_index": "p", "_id": id_, "fields": {"title": [title], "body": [text]}}
            for id_, (title, text) in TEXTS.items()
        ]
    ),
    "_bulk": "".join(
        lines([{"index": {"_id": id_, "_index": "p"}}, {"title": title, "body": text}])
        for id_, (title, text) in TEXTS.items()
    )
    + '{"delete": {"_id": "9"}}\n',
    "_bulk updates": "".join(
        lines([{"update": {"_id": id_}}, {"doc": {"title": title, "body": text}}])
        for id_, (title, text) in TEXTS.items()
    ),
    "a feed of Vespa": lines(
        [
            {"put": f"id:shop:product::{id_}", "fields": {"title": title, "body": text}}
            for id_, (title, text) in TEXTS.items()
        ]
        + [{"remove": "id:shop:product::9"}]
    ),
    "a visit of Vespa": lines(
        [
            {"id": f"id:shop:product::{id_}", "fields": {"title": title, "body": text}}
            for id_, (title, text) in TEXTS.items()
        ]
    ),
    "BEIR": lines(
        [{"_id": i, "title": t, "text": x, "metadata": {}} for i, (t, x) in TEXTS.items()]
    ),
    "an array": json.dumps(PLAIN),
    "an array in an object": json.dumps({"count": 2, "products": PLAIN}),
    "Solr": json.dumps(
        {"response": {"docs": [{**row, "title": [row["title"]], "_version_": 1} for row in PLAIN]}}
    ),
    "by id": json.dumps({i: {"title": t, "text": x} for i, (t, x) in TEXTS.items()}),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("name", ["a.json", "a.ndjson", "dump"])
def test_documents_are_what_was_indexed(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / name
    path.write_text(DOCUMENTS[kind])
    read = ingest(path, tmp_path / "out").documents.values()
    assert {d.id: (d.title, d.text) for d in read} == TEXTS


def test_pages_of_ms_marco_need_no_header(tmp_path: Path) -> None:
    path = tmp_path / "docs.tsv"
    path.write_text('D1\thttps://a\tA "title\tThe body.\n')
    (document,) = ingest(path, tmp_path / "out").documents.values()
    assert (document.id, document.title, document.text) == ("D1", 'A "title', "The body.")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"_index": "p", "_id": "1", "_score": 1}\n', "a hit without what was indexed"),
        (
            '{"_id": "1", "_score": 1, "data": {"long": "x"}}\n',
            r"the text is nested, in data\.long",
        ),
        ('{\n"name": "x",\n"version": "1"\n}', "an object with the keys 'name', 'version'"),
    ],
)
def test_a_row_without_a_text_of_its_own_is_refused(
    tmp_path: Path, content: str, problem: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(BadInput, match=problem):
        ingest(path, tmp_path / "out")


def test_fields_are_called_as_options_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, queries, out = tmp_path / "a.json", tmp_path / "q.csv", tmp_path / "out"
    path.write_text('[{"sku": "A1", "data": {"name": "Lamp", "long": "A long text."}, "price": 3}]')
    queries.write_text("nr,anliegen\n7,wo ist die Lampe\n")
    command = ["corpus", "ingest", str(path), "-o", str(out)]
    assert execute(command) == 65
    assert "--text-field: " in capsys.readouterr().err
    assert execute([*command, "--text-field", "data.nothing"]) == 65
    assert "--text-field: " in capsys.readouterr().err
    names = ["--text-field", "data.long", "--title-field", "data.name", "--id-field", "sku"]
    command += [*names, "--queries-file", str(queries)]
    assert execute(command) == 65
    assert "--query-field: " in capsys.readouterr().err
    assert execute([*command, "--query-field", "anliegen"]) == 0
    assert json.loads((out / "corpus.jsonl").read_text())["text"] == "A long text."
    assert json.loads((out / "queries.jsonl").read_text())["text"] == "wo ist die Lampe"
    assert f"{queries}: queries from CSV (columns anliegen)" in capsys.readouterr().err


WANTED = {"1": "where do cats sleep", "2": 'why, "oh" why'}
QUERIES = {
    "CSV": 'id,query\n1,where do cats sleep\n2,"why, ""oh"" why"\n',
    "CSV without a header": '1,where do cats sleep\n2,"why, ""oh"" why"\n',
    "CSV with semicolons": 'Query ID;Query Text\n1;where do cats sleep\n2;"why, ""oh"" why"\n',
    "TSV": 'qid\ttext\n1\twhere do cats sleep\n2\twhy, "oh" why\n',
    "TSV without a header": '1\twhere do cats sleep\n2\twhy, "oh" why\n',
    "JSON by id": json.dumps(WANTED, indent=1),
    "a JSON array": json.dumps([{"_id": int(i), "text": t} for i, t in WANTED.items()]),
    "JSON in an object": json.dumps(
        {"queries": [{"id": i, "query": t} for i, t in WANTED.items()]}
    ),
    "JSON Lines": lines([{"query_id": i, "question": t} for i, t in WANTED.items()]),
    "a _bulk file": "".join(
        lines([{"index": {"_id": "x"}}, {"query_id": i, "user_query": t}])
        for i, t in WANTED.items()
    ),
    "topics": "".join(
        f"<top>\n<num> Number: {i}\n<title> {t}\n\n<desc> Description:\nmore\n</top>\n"
        for i, t in WANTED.items()
    ),
    "closed topics": "".join(
        f"<top><num>{i}</num><title>{t}</title><desc>more</desc></top>\n" for i, t in WANTED.items()
    ),
    "XML": "<topics>"
    + "".join(
        f'<topic number="{i}"><query>{t.replace(chr(34), "&quot;")}</query></topic>'
        for i, t in WANTED.items()
    )
    + "</topics>",
}
TEXTS_ALONE = {
    "lines": 'where do cats sleep\nwhy, "oh" why\n',
    "one column": 'query\nwhere do cats sleep\n"why, ""oh"" why"\n',
    "JSON texts": json.dumps([*WANTED.values()]),
    "the workbench": json.dumps({"querySetQueries": [{"queryText": t} for t in WANTED.values()]}),
    "Quepid": "Query Text,Doc ID,Rating\n"
    'where do cats sleep,a,1\nwhere do cats sleep,b,0\n"why, ""oh"" why",a,1\n',
}


@pytest.mark.parametrize("kind", [*QUERIES, *TEXTS_ALONE])
def test_queries_are_what_the_file_says(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "q"
    path.write_text({**QUERIES, **TEXTS_ALONE}[kind])
    ids = {} if kind in QUERIES else {"1": "q1", "2": "q2"}
    read = read_query_list(path)
    assert {id_: q.text for id_, q in read.items()} == {ids.get(i, i): t for i, t in WANTED.items()}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("suche,nr\nLampen,a\nHosen,b\n", "a table with the first row suche, nr; which column"),
        ('{"a": {"b": 1}}', "an object with the keys 'a'; expected queries"),
        ('{"a": 3}', "an object with the keys 'a'; expected queries"),
        ("[1, 2]", "expected an object, found 1"),
        ("q1 0 d1 2\nq1 0 d2 1\n", "these are qrels in TREC's columns"),
        ("q1 Q0 d1 1 2.5 t\n", "this is a run in TREC's columns"),
        ("<top>\n<title> x\n</top>\n", "a topic without a number"),
        ("<top>\n<num> 1\n<title> x\n", "a topic that is not closed"),
        ("<html>x</html>", "no query in it"),
        ("a\tb\nc\n", "expected 2 columns"),
        ("query,text\nx,1\n", "'query' and 'text' could each be the query's text"),
    ],
)
def test_what_is_no_list_of_queries_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "q"
    path.write_text(content)
    with pytest.raises(BadInput, match=problem):
        read_query_list(path)


@pytest.mark.parametrize("kind", ["CSV", "topics", "JSON in an object", "a _bulk file", "lines"])
def test_damaged_queries_are_read_or_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "q"
    for data in mutants({**QUERIES, **TEXTS_ALONE}[kind].encode(), 100):
        path.write_bytes(data)
        refused(path, lambda: read_query_list(path))


@pytest.mark.parametrize("kind", ["hits", "_bulk", "a response", "Solr"])
def test_damaged_documents_are_read_or_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.json"
    for data in mutants(DOCUMENTS[kind].encode(), 100):
        path.write_bytes(data)
        refused(path, lambda: list(documents_in(path)))


def test_topics_with_colons_are_known_in_a_long_file_and_beside_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "topics.txt"
    lines = [f"{number}:the topic with the number {number}" for number in range(3_000)]
    path.write_text("\n\n".join(lines))
    queries = read_query_list(path)
    assert len(queries) == 3_000
    assert queries["2999"].text == "the topic with the number 2999"
