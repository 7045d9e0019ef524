"""Every reader, on files made wrong: what a plain reader reads, or one line that names the file."""

import csv
import gzip
import io
import json
import math
import re
import tomllib
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from fuzzing import mutants, refused
from plain_rankings import plain_rankings

from labeler.agreement.sources import source_of_file
from labeler.collection.annotations import read_journal
from labeler.collection.card import read_card, update_card
from labeler.collection.controls import read_control
from labeler.collection.corpus import read_corpus
from labeler.collection.judgements import grades_of, read_judgements
from labeler.collection.layout import Collection, locked
from labeler.collection.people import read_people, read_sample
from labeler.collection.pool import read_pool
from labeler.collection.queries import parse_ids, read_queries
from labeler.collection.readme import write_readme
from labeler.collection.scale import card_top_grade, grade_names
from labeler.data import Failure, Qrels, Run
from labeler.errors import BadInput
from labeler.exchange.formats import read_query_facts
from labeler.exchange.logs import read_log
from labeler.exchange.queries import read_query_list
from labeler.exchange.runs import hold_run
from labeler.files.jsonl import read_rows
from labeler.files.read import rereadable
from labeler.metrics import JudgedPairs
from labeler.people.sheet import read_sheet
from labeler.prompt import find_prompt
from labeler.trec.blocks import Batch
from labeler.trec.files import (
    last_tag,
    read_loose_run,
    read_qrels,
    read_run,
    read_run_by_line,
    read_tag,
    through_run,
)
from labeler.trec.labels import read_labels
from labeler.trec.pairs import PairColumns

SOME = 120
MANY = 5_000

REFUSED = object()
"""What a plain reader makes of a file that no reader should take."""


class Reader(NamedTuple):
    """A reader, a good file of its kind, and what a plain reader has of any such file."""

    file: str
    good: str
    read: Callable[[Path], Any]
    plain: Callable[[bytes], Any] | None = None


def utf_8(data: bytes) -> bytes:
    """Unpacked, and as UTF-8 where nearly all bytes on one side of each letter are NUL."""
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    head = data[:4096]
    for mark, encoding, zeros, letters in (
        (b"\xff\xfe", "utf-16-le", head[1::2], head[::2]),
        (b"\xfe\xff", "utf-16-be", head[::2], head[1::2]),
    ):
        is_plain = len(head[1::2]) > 1 and 0 not in letters and zeros.count(0) > 0.9 * len(zeros)
        is_marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        is_utf_32 = data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff"))
        if not is_utf_32 and (data.startswith(mark) or (is_plain and not is_marked)):
            return data.decode(encoding).removeprefix("\ufeff").encode()
    return data


def lines_of(data: bytes) -> list[bytes]:
    return utf_8(data).split(b"\n")


def plain_columns(data: bytes, width: int) -> Any:
    """The columns of every line, or `REFUSED`."""
    rows = []
    try:
        lines = lines_of(data)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return REFUSED
    lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
    for line in lines:
        columns = line.split()
        if not columns or columns[0].startswith(b"#"):
            continue
        if len(columns) != width or b"\0" in line or max(map(len, columns[0::2][:2])) > 4096:
            return REFUSED
        rows.append(columns)
    return rows or REFUSED


def plain_run(data: bytes) -> Any:
    rows, run = plain_columns(data, 6), dict[str, dict[str, float]]()
    if rows is REFUSED:
        return REFUSED
    for query, _, document, _, score, _ in rows:
        if not re.fullmatch(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", score):
            return REFUSED
        try:
            scores, name = run.setdefault(query.decode(), {}), document.decode()
        except UnicodeDecodeError:
            return REFUSED
        if name in scores or not math.isfinite(float(score)):
            return REFUSED
        scores[name] = float(score)
    return run


def plain_qrels(data: bytes) -> Any:
    rows, qrels = plain_columns(data, 4), dict[str, dict[str, int]]()
    if rows is REFUSED:
        return REFUSED
    for query, _, document, grade in rows:
        if not re.fullmatch(rb"[+-]?\d{1,10}(\.0{0,10})?", grade) or abs(float(grade)) >= 2**31:
            return REFUSED
        whole = int(grade.partition(b".")[0])
        try:
            grades, name = qrels.setdefault(query.decode(), {}), document.decode()
        except UnicodeDecodeError:
            return REFUSED
        if grades.setdefault(name, whole) != whole:
            return REFUSED
    return qrels


def plain_json_run(data: bytes) -> Any:
    """BEIR's JSON by the standard library, on whatever our reader took."""
    run = json.loads(utf_8(data).decode("utf-8-sig"))
    return {q: {d: float(s) for d, s in scores.items()} for q, scores in run.items() if scores}


def plain_rows(data: bytes) -> list[dict[str, Any]]:
    """The objects of JSON Lines by the standard library."""
    lines = [line.decode() for line in lines_of(data)]
    lines[0] = lines[0].removeprefix("\ufeff")
    return [json.loads(line) for line in lines if line.strip()]


def of_journal(data: bytes) -> list[tuple[str, int | None]]:
    """The items and grades of a journal, of which the last line of ours may be cut short."""
    whole, last = data[: data.rfind(b"\n") + 1], data[data.rfind(b"\n") + 1 :]
    is_ours = b'{"task": "'.startswith(last[:10]) or not last.strip(b"\0")
    try:
        rows = plain_rows(data)
    except ValueError:
        if not is_ours or not last:
            raise
        rows = plain_rows(whole) if whole else []
    return [(row["item"], row.get("grade")) for row in rows]


def by_blocks(path: Path) -> Run:
    """All lines of a run, a few queries at a time."""
    return through_run(path, run_in, 64)


def run_in(parts: Iterable[Batch]) -> Run:
    """The scores in all lines of a run."""
    run: Run = {}
    for batch in parts:
        batch.refuse_repeated()
        texts = batch.texts(batch.query * 0 + range(len(batch.query)))
        for query, document, score in zip(
            batch.query.tolist(), texts, batch.score.tolist(), strict=True
        ):
            run.setdefault(batch.names[query].decode(), {})[document.decode()] = score
    return run


def by_rankings(path: Path) -> Run:
    """The run, which must be ranked as its slow twin is."""
    qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}, "quí": {"d3": 0}}
    ranked, _ = JudgedPairs.of(PairColumns.of(qrels, np.int32)).rank(path, block=64)
    run = read_run_by_line(path)
    slow = plain_rankings(qrels, run)
    for name in ("retrieved", "query", "rank", "grade"):
        assert getattr(ranked, name).tolist() == getattr(slow, name).tolist(), name
    return run


def by_pool(path: Path) -> Qrels:
    """The qrels through their pool, whose counts must be those of the slow reader."""
    qrels = read_qrels(path)
    pool = JudgedPairs.of(qrels)
    assert sorted(pool.queries) == sorted(qrels)
    assert len(pool.grade) == sum(map(len, qrels.values()))
    return qrels


def by_format(path: Path) -> Run:
    """A run of any format, a few queries at a time."""
    with rereadable():
        hold_run(path)
        return through_run(path, run_in)


def by_card(path: Path) -> Any:
    """All that reads the card."""
    collection = Collection(path.parent)
    card = read_card(collection)
    assert grade_names(collection, "first") is not None
    assert isinstance(card_top_grade(path.parent, "first"), int | None)
    with locked(collection):
        collection.readme.unlink(missing_ok=True)
        write_readme(collection)
        update_card(collection, "ingest", {"documents": 3})
    collection.readme.read_text(encoding="utf-8")
    assert {**card, "ingest": {"documents": 3}} == read_card(collection)
    return card


def graded_pairs(path: Path) -> list[tuple[Any, ...]]:
    """Each pair with its grade, by both readers of judgements."""
    rows = list(read_judgements(path))
    read = [(*row.judged.outcome.pair, getattr(row.judged.outcome, "grade", None)) for row in rows]
    assert list(grades_of(path)) == [row for row in read if row[2] is not None]
    assert all(
        isinstance(r.judged.outcome, Failure) or r.judged.outcome.grade < 2**31 for r in rows
    )
    for row in rows:
        assert math.isfinite(row.judged.cost or 0.0)
        json.dumps(dict(row.origin.parameters))
    return read


def plain_judgements(data: bytes) -> list[tuple[Any, ...]]:
    return [(str(r["query_id"]), str(r["doc_id"]), r.get("grade")) for r in plain_rows(data)]


def plain_grades_of_sheet(data: bytes) -> list[Any]:
    """The grades of the one column that is called so."""
    text = data.decode("utf-8-sig")
    header = text.split("\n", 1)[0]
    separator = max(",;\t", key=lambda s: len(header.split(s)) if s != ";" else 0)
    rows = [
        row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(row)
    ]
    (column,) = [
        i for i, n in enumerate(rows[0]) if re.fullmatch(r"grade( \(-?\d.*)?", n.strip().lower())
    ]
    cells = [row[column].strip() if column < len(row) else "" for row in rows[1:]]
    return [int(float(cell)) if cell else None for cell in cells]


def plain_scale(data: bytes) -> Any:
    front = data.decode().replace("\r\n", "\n").split("+++\n")[1]
    return tuple(sorted(map(int, tomllib.loads(front)["scale"])))


RUN_LINES = """q1 Q0 d1 1 12.5 bm25
q1 Q0 d2 2 3.25e-1 bm25
q2 Q0 d1 1 7 bm25
quí Q0 d3 1 -0.5 bm25
"""
QRELS_LINES = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\nquí 0 d3 -1\n"
FIRST = {"model": "m", "served": ["m-1"], "scale": {"0": "no", "1": "yes"}, "judged": 4}
CARD = {
    "fetch": {"grades": {"bad": 0, "good": 3}, "scale": {"0": "bad"}, "license": "MIT"},
    "ingest": {"documents": 2, "seconds": 0.5},
    "generate": {"model": "m", "queries": 2, "prompt": "p@1"},
    "pool": {"runs": {"bm25": "tag"}, "depth": 10, "pairs": 4},
    "judge": {"first": FIRST},
    "samples": {"s1": {"draw": "ab", "drawn": 4, "scale": {"0": "no"}}},
}
CORPUS = """{"_id": "d1", "title": "T", "text": "x: y", "metadata": {"url": "u"}}
{"_id": "d2", "text": "é"}
"""
QUERIES = """{"_id": "q1", "text": "x", "metadata": {"origin": "real"}}
{"_id": 2, "text": "y"}
"""
POOL = """{"query_id": "q1", "doc_id": "d1", "runs": ["a"], "best_rank": 1}
{"query_id": "q1", "doc_id": 2}
"""
JUDGED = """{"query_id": "q1", "doc_id": "d1", "grade": 2, "status": "judged", "reason": "r", \
"distribution": {"0": 0.25, "2": 0.75}, "attempts": 1, "prompt_tokens": 9, "cost": 0.001, \
"completion_tokens": 3, "model": "m", "prompt": "basic@1", "asked": "m", "parameters": {"t": 0}}
{"query_id": "q1", "doc_id": "d2", "grade": null, "status": "refused", "detail": "no"}
"""
PEOPLE = """{"query_id": "q1", "doc_id": "d1", "grade": 2, "assessor": "A", "time": "t", \
"comment": "c", "probability": 0.5, "sample": "s1"}
{"query_id": "q1", "doc_id": "d2", "grade": null, "probability": 1}
"""
CONTROLLED = """{"query_id": "q1", "doc_id": "d1", "old": 1, "new": 2, "model": ["m"]}
{"query_id": "q1", "doc_id": "d2", "old": 0, "new": "refused", "model": []}
"""
ANNOTATED = """{"task": "grade", "purpose": "fix", "sample": "s", "item": "1", "query_id": "q"}
{"task": "grade", "purpose": "audit", "sample": "s", "item": "2", "query_id": "q", "grade": 2}
"""
SAMPLE = """{"row": 1, "query_id": "q1", "doc_id": "d1", "probability": 0.5}
"""
PROMPT = """+++
kind = "grade"
description = "d"
temperature = 0.5
max_tokens = 100
stop = ["x"]
[scale]
0 = "no"
2 = "yes"
+++
# system
You grade.

# user
{query} {passage}
"""
SHEET = """\ufeffsample,row,query_id,query,doc_id,title,text,grade,assessor\r
s1,1,'q1,what?,'d1,T,"a, b",1,Anna\r
s1,2,'q1,what?,'d2,T,x,,\r
s1,3,'q2,w,'d1,,x,0.0,\r
"""
JSON_RUN = """{"q1": {"d1": 1.5, "d2": 2},
 "q2": {"é": 1e3}}
"""


def ids_and_texts(data: bytes) -> list[tuple[str, str]]:
    return [(str(row["_id"]), row["text"]) for row in plain_rows(data)]


def pairs_of(data: bytes) -> list[tuple[str, str]]:
    return [(str(row["query_id"]), str(row["doc_id"])) for row in plain_rows(data)]


READERS: dict[str, Reader] = {
    "run": Reader("a.trec", RUN_LINES, read_run, plain_run),
    "run by blocks": Reader("a.trec", RUN_LINES, by_blocks, plain_run),
    "run by rankings": Reader("a.trec", RUN_LINES, by_rankings, plain_run),
    "loose run": Reader("a.trec", RUN_LINES, lambda p: (read_loose_run(p), last_tag(p))[0]),
    "tag": Reader("a.trec", RUN_LINES, read_tag),
    "qrels": Reader("a.qrels", QRELS_LINES, read_qrels, plain_qrels),
    "qrels by pool": Reader("a.qrels", QRELS_LINES, by_pool, plain_qrels),
    "labels": Reader("a.qrels", QRELS_LINES, read_labels),
    "labels of judgements": Reader("a.jsonl", JUDGED, lambda p: source_of_file(p, "a")),
    "run in JSON": Reader("a.json", JSON_RUN, by_format, plain_json_run),
    "corpus": Reader(
        "corpus.jsonl",
        CORPUS,
        lambda p: [(d.id, d.text) for d in read_corpus(p).values()],
        ids_and_texts,
    ),
    "queries": Reader(
        "queries.jsonl",
        QUERIES,
        lambda p: [(q.id, q.text) for q in read_queries(p).values()],
        ids_and_texts,
    ),
    "queries, listed": Reader("q.txt", "where do cats sleep\nwhy é\n", read_query_list),
    "queries, in TSV": Reader(
        "q.tsv", "qid\ttext\tkind\n1\twhere\tk\n2\twhy\tk\n", read_query_list
    ),
    "queries, in rows": Reader(
        "q.jsonl",
        '{"id": 1, "question": "where"}\n{"id": "b", "text": "why"}\n',
        read_query_list,
    ),
    "log": Reader(
        "log.csv",
        "query,doc_id,rank,clicked\nusb hub,a,1,1\nlcd,b,2,0\n",
        lambda path: list(read_log(path)),
    ),
    "facts about queries": Reader(
        "kinds.csv",
        "query_id,kind,weight\n1,keyword,0.5\nb,how-to,2\n",
        read_query_facts,
    ),
    "facts about queries, in rows": Reader(
        "queries.jsonl",
        '{"_id": "1", "text": "x", "metadata": {"kind": "a"}}\n{"_id": "b", "kind": "c"}\n',
        read_query_facts,
    ),
    "pool": Reader(
        "pool.jsonl",
        POOL,
        lambda p: [tuple(entry.pair) for entry in read_pool(p)],
        pairs_of,
    ),
    "judgements": Reader("a.jsonl", JUDGED, graded_pairs, plain_judgements),
    "sample": Reader(
        "s1.jsonl",
        SAMPLE,
        lambda p: [(r.number, r.probability) for r in read_sample(p)],
        lambda data: [(r["row"], r["probability"]) for r in plain_rows(data)],
    ),
    "annotations": Reader(
        "anna.jsonl", ANNOTATED, lambda p: [(r.item, r.grade) for r in read_journal(p)], of_journal
    ),
    "control": Reader(
        "llm.1.jsonl",
        CONTROLLED,
        lambda p: [pair.old for pair in read_control(p)],
        lambda data: [r["old"] for r in plain_rows(data) if type(r.get("old")) is int],
    ),
    "people": Reader(
        "a.jsonl",
        PEOPLE,
        lambda p: [(r.grade, r.probability) for r in read_people(p)],
        lambda data: [(r.get("grade"), r["probability"]) for r in plain_rows(data)],
    ),
    "card": Reader("card.json", json.dumps(CARD, indent=1), by_card),
    "sheet": Reader(
        "sheet.csv", SHEET, lambda p: [row.grade for row in read_sheet(p)], plain_grades_of_sheet
    ),
    "prompt": Reader("mine.md", PROMPT, lambda p: find_prompt(str(p)).grades, plain_scale),
    "ids": Reader("ids.txt", "q1\nq2 # a note\n# none\n", lambda p: parse_ids(str(p), "only")),
    "rows": Reader(
        "rows.jsonl",
        '{"a": 1, "b": {"c": [1.5, "x"]}}\n',
        lambda p: [row for _, row in read_rows(p)],
        plain_rows,
    ),
}


def check(name: str, folder: Path, mutant: bytes) -> bool:
    """Whether the reader took the file; what it read must then be what the plain reader has."""
    reader = READERS[name]
    path = folder / reader.file
    path.write_bytes(mutant)
    read = refused(path, lambda: reader.read(path))
    if reader.plain in (plain_run, plain_qrels):
        plain = reader.plain(mutant)
        assert isinstance(read, BadInput) == (plain is REFUSED), (mutant, read, plain)
    if isinstance(read, BadInput):
        return False
    if reader.plain is not None:
        assert same(read, reader.plain(mutant)), (mutant, read)
    return True


def same(read: Any, plain: Any) -> bool:
    return repr(read) == repr(plain) or bool(read == plain)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_reads_what_a_plain_one_does_or_names_the_file(name: str, tmp_path: Path) -> None:
    good = READERS[name].good.encode()
    assert check(name, tmp_path, good)
    read = [check(name, tmp_path, mutant) for mutant in mutants(good, SOME)]
    assert 0 < sum(read) < len(read)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_reader_does_so_on_many_files(name: str, tmp_path: Path) -> None:
    good = READERS[name].good.encode()
    for mutant in mutants(good, MANY, seed=1):
        check(name, tmp_path, mutant)
