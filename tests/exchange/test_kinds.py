"""Qrels and runs of other tools are told by their content, and mean what their tools mean."""

import bz2
import csv
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import lz4.frame
import pytest
from fuzzing import mutants, refused

from labeler.cli import execute
from labeler.errors import BadInput, Misuse
from labeler.exchange.qrels import NamedByText, read_qrels
from labeler.exchange.ratings import UnmappedRatings
from labeler.exchange.runs import read_run
from labeler.messages import told_what_files_are
from labeler.trec.memory import as_qrels

QRELS = {"q1": {"d1": 2, "007": 0}, "1e5": {"d1": 1}}
ROWS = [(q, d, grade) for q, grades in QRELS.items() for d, grade in grades.items()]
RUN = {"q1": {"d1": 2.5, "007": 1.0}, "1e5": {"d1": -3.0}}
SCORED = [(q, d, score) for q, scores in RUN.items() for d, score in scores.items()]


def table(header: str, by: str = ",", end: str = "\n", rows: list = ROWS, value: str = "{}") -> str:
    lines = [by.join((q, d, value.format(v))) for q, d, v in rows]
    return end.join([header, *lines]) + end


QRELS_FILES = {
    "TREC": "q1 0 d1 2\nq1 0 007 0\n1e5 0 d1 1\n",
    "TREC with decimals": "q1 0 d1 2.0\nq1 0 007 0.\n1e5 0 d1 1.00\n",
    "TREC with a mark": "\ufeffq1 0 d1 2\r\nq1 0 007 0\r\n1e5 0 d1 1\r\n",
    "BEIR": table("query-id\tcorpus-id\tscore", "\t"),
    "BEIR, CRLF and a mark": "\ufeff" + table("query-id\tcorpus-id\tscore", "\t", "\r\n"),
    "CSV of pandas": table("query_id,doc_id,relevance", value="{}.0"),
    "CSV of PyTerrier": table("qid,docno,label"),
    "CSV with semicolons": table("Query ID;Doc ID;Rating", ";"),
    "CSV with quotes": table('"query","docid","judgement"', value='"{}"'),
    "CSV with an iteration": "qid,iteration,docno,grade\nq1,0,d1,2\nq1,0,007,0\n1e5,0,d1,1\n",
    "white space below a header": table("query_id doc_id relevance", " "),
    "ranx": json.dumps(QRELS, indent=2),
    "JSON with decimals": json.dumps(
        {q: {d: float(g) for d, g in r.items()} for q, r in QRELS.items()}
    ),
    "JSON Lines": "".join(
        json.dumps({"query_id": q, "doc_id": d, "relevance": g}) + "\n" for q, d, g in ROWS
    ),
    "JSON array": json.dumps([{"qid": q, "docno": d, "label": str(g)} for q, d, g in ROWS]),
    "_rank_eval": json.dumps(
        {
            "requests": [
                {"id": q, "ratings": [{"_index": "p", "_id": d, "rating": g} for d, g in r.items()]}
                for q, r in QRELS.items()
            ]
        }
    ),
}

RUN_FILES = {
    "TREC": "".join(f"{q} Q0 {d} 1 {s} tag\n" for q, d, s in SCORED),
    "BEIR": json.dumps(RUN),
    "PyTerrier": "qid,docno,score,rank\n" + "".join(f"{q},{d},{s},7\n" for q, d, s in SCORED),
    "TSV": table("query_id\tdoc_id\tscore", "\t", rows=SCORED),
    "JSON Lines": "".join(
        json.dumps({"qid": q, "docno": d, "score": s}) + "\n" for q, d, s in SCORED
    ),
    "JSON array": json.dumps([{"query_id": q, "doc_id": d, "score": s} for q, d, s in SCORED]),
}


@pytest.mark.parametrize("kind", QRELS_FILES)
@pytest.mark.parametrize("packed", [False, True])
def test_qrels_of_every_kind_are_the_same_qrels(tmp_path: Path, kind: str, packed: bool) -> None:
    path = tmp_path / "file.bin"  # a name that says nothing
    data = QRELS_FILES[kind].encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    assert read_qrels(path) == QRELS


@pytest.mark.parametrize("kind", ["TREC", "BEIR", "CSV with semicolons", "JSON Lines", "ranx"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_qrels_in_utf_16_are_read_with_a_mark_and_without(
    tmp_path: Path, kind: str, encoding: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(QRELS_FILES[kind].encode(encoding))
    lines = list[str]()
    with told_what_files_are(lines.append):
        assert read_qrels(path) == QRELS
    assert f"{path}: UTF-16, read as such" in lines


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress, lz4.frame.compress])
def test_qrels_are_unpacked_whatever_packed_them(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "file"
    path.write_bytes(pack(QRELS_FILES["BEIR"].encode()))
    assert read_qrels(path) == QRELS


def test_ids_with_white_space_are_one_id_in_every_kind_and_come_back(tmp_path: Path) -> None:
    pairs = {"red shoes": {"SKU 12": 2, "a\tb\u00a0c": 0}, "#1": {"d": 1}}
    path, table = tmp_path / "a.json", tmp_path / "a.csv"
    path.write_text(json.dumps(pairs))
    with table.open("w", newline="") as out:
        rows = [(q, d, g) for q, grades in pairs.items() for d, g in grades.items()]
        csv.writer(out).writerows([("query_id", "doc_id", "grade"), *rows])
    lines = list[str]()
    with told_what_files_are(lines.append):
        assert read_qrels(path) == read_qrels(table) == as_qrels(pairs)
    assert any("white space in ids is kept as ␠" in line for line in lines)
    for name in ("a.qrels", "b.json", "c.qrels", "d.parquet", "e.tsv", "f.json"):
        assert execute(["qrels", "convert", str(path), "-o", str(tmp_path / name)]) == 0
        path = tmp_path / name
    assert json.loads(path.read_text()) == pairs
    assert "red␠shoes 0 SKU␠12 2\n" in (tmp_path / "a.qrels").read_text()


@pytest.mark.parametrize("kind", RUN_FILES)
def test_runs_of_every_kind_are_the_same_run(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file.bin"
    path.write_text(RUN_FILES[kind], encoding="utf-8")
    assert read_run(path) == RUN


def test_parquet_is_read_with_any_usual_columns(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "x"
    frame = pandas.DataFrame(ROWS, columns=["query-id", "corpus-id", "score"])
    frame.astype({"score": float}).to_parquet(path)
    assert read_qrels(path) == QRELS
    pandas.DataFrame(SCORED, columns=["qid", "docno", "score"]).to_parquet(path)
    assert read_run(path) == RUN


def test_ranks_of_ms_marco_order_the_documents(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    path.write_text("q\tb\t2\nq\ta\t1\nq\tc\t3\n")
    scores = read_run(path)["q"]
    assert sorted(scores, key=scores.__getitem__, reverse=True) == ["a", "b", "c"]


def test_the_command_says_what_it_took_a_file_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels, run = tmp_path / "human.tsv", tmp_path / "run.json"
    qrels.write_text(QRELS_FILES["BEIR"])
    run.write_text(RUN_FILES["BEIR"])
    assert execute(["evaluate", str(qrels), str(run)]) == 0
    told = capsys.readouterr().err
    assert told.count(f"{qrels}: qrels from TSV (columns query-id, corpus-id, score)\n") == 1
    assert told.count(f"{run}: a run from JSON ({{query: {{document: score}}}})\n") == 1


def test_of_trec_columns_nothing_is_told(tmp_path: Path) -> None:
    path, lines = tmp_path / "a", list[str]()
    path.write_text(QRELS_FILES["TREC"])
    with told_what_files_are(lines.append):
        read_qrels(path)
    assert lines == []


COMMANDS = {
    "evaluate": ["evaluate", "QRELS", "RUN"],
    "leaderboard": ["lab", "leaderboard", "QRELS", "QRELS2", "RUN", "RUN2"],
    "power": ["power", "QRELS", "RUN", "RUN2"],
    "agree": ["agree", "QRELS", "QRELS2"],
    "agree with runs": ["agree", "QRELS", "QRELS2", "--run", "RUN", "--run", "RUN2"],
    "qrels stats": ["qrels", "stats", "QRELS"],
    "qrels validate": ["qrels", "validate", "QRELS"],
    "qrels compare": ["qrels", "compare", "QRELS", "QRELS2"],
    "qrels merge": ["qrels", "merge", "QRELS", "QRELS2", "-o", "OUT", "--conflict", "max"],
    "qrels map": ["qrels", "map", "QRELS", "-o", "OUT", "--map", "0:0,1:1,2:1"],
    "qrels subset": ["qrels", "subset", "QRELS", "-o", "OUT", "--queries", "q1"],
    "runs stats": ["runs", "stats", "RUN"],
    "runs cut": ["runs", "cut", "RUN", "-o", "OUT", "--depth", "1"],
    "fuse": ["runs", "fuse", "RUN", "RUN2", "-o", "OUT"],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", ["BEIR", "ranx"])
def test_what_one_command_reads_all_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    names = {"OUT": str(tmp_path / "out")}
    answers = []
    for suffix, qrels, run in (
        ("trec", QRELS_FILES["TREC"], RUN_FILES["TREC"]),
        ("trec", QRELS_FILES[kind], RUN_FILES["PyTerrier" if kind == "BEIR" else "BEIR"]),
    ):
        contents = {
            "QRELS": qrels,
            "RUN": run,
            "QRELS2": qrels.replace("2", "1"),
            "RUN2": run.replace("2.5", "0.5"),
        }
        for word, content in contents.items():
            path = tmp_path / f"{word.casefold()}.{suffix}"
            path.write_text(content, encoding="utf-8")
            names[word] = str(path)
        assert execute([names.get(word, word) for word in COMMANDS[name]]) == 0
        out = Path(names["OUT"])
        answers.append((capsys.readouterr().out, out.read_text() if out.exists() else ""))
        out.unlink(missing_ok=True)
    assert answers[0] == answers[1]


WRONG = {
    "a run": RUN_FILES["TREC"],
    "a run in JSON": RUN_FILES["BEIR"],
    "a run in CSV": RUN_FILES["PyTerrier"],
    "a table without names": "q1,d1,2\nq1,d2,1\n",
    "other columns": "name,price\na,1\n",
    "other JSON": '{"a": [1, 2]}',
    "JSON of texts": '{"q1": {"d1": "good"}}',
    "HTML": "<html></html>",
    "UTF-32": "q1 0 d1 2\n".encode("utf-32"),
    "a ZIP": b"PK\x03\x04....",
    "LZ4": b"\x04\x22\x4d\x18....",
    "fractions": "query_id,doc_id,grade\nq,d,0.5\n",
    "hundreds": "query_id,doc_id,rating\nq,d,100\n",
    "an id of nothing but a space": "query_id,doc_id,grade\nq, ,1\n",
    "a query's text": "query,doc_id,grade\ntwo words,d,1\n",
    "nothing": "query_id,doc_id,grade\n",
}


REFUSING = {
    "evaluate": ["evaluate", "WRONG", "RUN"],
    "agree": ["agree", "WRONG", "GOOD"],
    "agree with another": ["agree", "GOOD", "WRONG"],
    "leaderboard": ["lab", "leaderboard", "GOOD", "WRONG", "RUN", "RUN2"],
    "power": ["power", "WRONG", "RUN", "RUN2"],
    "qrels stats": ["qrels", "stats", "WRONG"],
}
IN_EVERY_COMMAND = ("a run", "a run in JSON", "a run in CSV", "fractions")


@pytest.mark.parametrize(
    ("what", "command"),
    [(what, c) for what in WRONG for c in REFUSING if what in IN_EVERY_COMMAND or c == "evaluate"],
)
def test_what_is_no_qrels_is_refused_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, command: str
) -> None:
    content = WRONG[what]
    paths = {word: str(tmp_path / word) for word in ("WRONG", "GOOD", "RUN", "RUN2")}
    Path(paths["WRONG"]).write_bytes(content.encode() if isinstance(content, str) else content)
    Path(paths["GOOD"]).write_text(QRELS_FILES["TREC"])
    for run in ("RUN", "RUN2"):
        Path(paths[run]).write_text(RUN_FILES["TREC"])
    assert execute([paths.get(word, word) for word in REFUSING[command]]) == 65
    assert paths["WRONG"] in capsys.readouterr().err


def test_ratings_that_are_no_grades_need_a_rule_and_get_a_proposal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("query_id,doc_id,rating\nq,a,0.0\nq,b,0.5\nq,c,1.0\n")
    with pytest.raises(UnmappedRatings, match=r"grade_map='0:0,0\.5:2,1:3'"):
        read_qrels(path)
    assert execute(["qrels", "stats", str(path)]) == 65
    said = capsys.readouterr().err
    assert "grade_map" not in said
    assert said.endswith("-o NEW.qrels --map 0:0,0.5:2,1:3\n")
    assert read_qrels(path, grade_map="0:0,0.5:2,1:3") == {"q": {"a": 0, "b": 2, "c": 3}}
    assert read_qrels(path, scale="1:2") == {"q": {"a": 0, "b": 1, "c": 2}}
    with pytest.raises(BadInput, match="the mapping says nothing of the grades 1"):
        read_qrels(path, grade_map="0:0,0.5:2")
    with pytest.raises(Misuse, match="write each rating and its grade"):
        read_qrels(path, grade_map="0:0,0:1")
    path.write_text("query_id,doc_id,rating\n" + "".join(f"q,{n},{n}\n" for n in range(0, 101, 5)))
    with pytest.raises(UnmappedRatings, match="scale='100:3'"):
        read_qrels(path)


@pytest.mark.parametrize(
    ("ratings", "mapping"),
    [
        ("100 10 1 0", "0:0,1:1,10:2,100:3"),
        ("100 10 0", "0:0,10:2,100:3"),
        ("0 25 50 75", "0:0,25:1,50:2,75:3"),
        ("0.1 0.4 0.7 0.9", "0.1:0,0.4:1,0.7:2,0.9:3"),
        ("0 0.5 1", "0:0,0.5:2,1:3"),
    ],
)
def test_as_many_ratings_as_grades_are_these_in_their_order(
    tmp_path: Path, ratings: str, mapping: str
) -> None:
    path = tmp_path / "a.csv"
    rows = [f"q,d{n},{rating}\n" for n, rating in enumerate(ratings.split())]
    path.write_text("query_id,doc_id,rating\n" + "".join(rows))
    with pytest.raises(UnmappedRatings, match=f"grade_map='{mapping}'".replace(".", r"\.")):
        read_qrels(path)


def test_a_run_that_names_queries_by_text_says_what_makes_one_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, queries = tmp_path / "run.csv", tmp_path / "q.csv"
    path.write_text("query,docid,score\nRed shoes,d1,3\nred  shoes,d2,1\nno such,d1,1\n")
    queries.write_text("id,query\n7,red shoes\n")
    assert execute(["runs", "stats", str(path)]) == 65
    how = f"labeler runs convert {path} -o NEW.trec --queries COLL"
    assert how in capsys.readouterr().err
    out = str(tmp_path / "new.trec")
    assert execute(["runs", "convert", str(path), "-o", out, "--queries", str(queries)]) == 0
    assert read_run(out) == {"7": {"d1": 3.0, "d2": 1.0}}
    assert "1 query matches none of yours, left out: 'no such'" in capsys.readouterr().err


BY_TEXT = {
    "workbench": {
        "judgmentRatings": [
            {"query": "Red  Shoes?", "ratings": [{"docId": "d1", "rating": "3"}]},
            {"query": "hats", "ratings": [{"docId": "d1", "rating": "1"}]},
            {"query": "coats", "ratings": [{"docId": "d1", "rating": "1"}]},
        ]
    },
    "book": {
        "query_doc_pairs": [
            {"query_text": text, "doc_id": "d1", "judgements": [{"rating": grade}]}
            for text, grade in (("Red  Shoes?", 3.0), ("hats", 1.0), ("coats", 1.0))
        ]
    },
}
TEXTS = {"q1": "red shoes", "q2": "coats", "q3": "coats"}


@pytest.mark.parametrize("kind", BY_TEXT)
def test_queries_named_by_text_get_ids_and_what_matches_none_or_several_is_listed(
    tmp_path: Path, kind: str
) -> None:
    path, warnings = tmp_path / "a.json", list[str]()
    path.write_text(json.dumps(BY_TEXT[kind]))
    assert read_qrels(path, warnings.append, queries=TEXTS) == {"q1": {"d1": 3}}
    assert any("1 query matches none of yours, left out: 'hats'" in w for w in warnings)
    assert any(
        "1 query matches several of yours, left out: 'coats' (q2, q3)" in w for w in warnings
    )
    with pytest.raises(NamedByText, match="names queries by their text"):
        read_qrels(path)


def test_ids_come_from_a_collection_or_from_a_file_of_queries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "quepid.csv", tmp_path / "out.qrels"
    path.write_text("query,docid,rating\nred shoes,d1,3\nred shoes,d2,\n")
    (tmp_path / "coll").mkdir()
    (tmp_path / "coll/queries.jsonl").write_text('{"_id": "7", "text": "red shoes"}\n')
    assert read_qrels(path, queries=tmp_path / "coll") == {"7": {"d1": 3}}
    command = ["qrels", "map", str(path), "-o", str(out)]
    assert execute([*command, "--queries", str(tmp_path / "coll/queries.jsonl")]) == 0
    assert out.read_text() == "7 0 d1 3\n"
    assert "1 pair has no grade, left out" in capsys.readouterr().err
    assert execute(["evaluate", str(path), str(path)]) == 65
    told = capsys.readouterr().err
    assert f"labeler qrels map {path} -o NEW.qrels --queries COLL" in told


@pytest.mark.parametrize("kind", ["CSV of PyTerrier", "ranx", "JSON Lines", "BEIR", "_rank_eval"])
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    for data in mutants(QRELS_FILES[kind].encode(), 60):
        path.write_bytes(data)
        refused(path, lambda: read_qrels(path))
        refused(path, lambda: read_run(path))
