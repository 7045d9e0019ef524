"""A folder of files for tests of commands: one good file of every kind, and a whole collection."""

from hashlib import sha256
from pathlib import Path

from made import fill_sheet

from labeler.annotate.annotate import AnnotateOptions, rating_sessions
from labeler.annotate.session import RaterAnswer
from labeler.cli import execute
from labeler.collection.layout import locked
from labeler.collection.queries import read_queries, write_queries
from labeler.data import Query
from labeler.people.sample import DrawOptions, draw_sheets
from labeler.testing import small_collection

RUN = """q1 Q0 cats 1 2.5 x
q1 Q0 fish 2 1e-1 x
q2 Q0 fish 1 7 x
q2 Q0 cats 2 -7 x
q3 Q0 fish 1 3 x
"""
RUN_2 = """q1 Q0 fish 1 3 y
q1 Q0 cats 2 2 y
q2 Q0 fish 1 1 y
q3 Q0 cats 1 1 y
q3 Q0 fish 1 0.5 y
"""
QRELS = "q1 0 cats 3\nq1 0 fish 0\nq2 0 fish 2\nq2 0 cats 0\nq3 0 fish 1\n"
QRELS_2 = "q1 0 cats 2\nq1 0 fish 1\nq2 0 fish 2\nq2 0 cats 0\nq3 0 fish 1\n"
PROMPT = """+++
kind = "grade"
description = "d"
[scale]
0 = "no"
1 = "yes"
+++
# user
{query} {passage}
"""
RANKS = """+++
kind = "rank"
description = "d"
+++
# user
{query} {count} {passages}
"""
COMMIT = "0" * 40
TABLE = "query,docid,name,text,rating\nwhere,d1,N,T,0\nwhy,d2,M,U,1\n"
RECIPE = f"""title = "t"
licence = "MIT"
citation = "c"
homepage = "https://example.com"
layout = "judged-table"
[sources.table]
repository = "own/er"
commit = "{COMMIT}"
path = "t.csv"
size = {len(TABLE)}
sha256 = "{sha256(TABLE.encode()).hexdigest()}"
[columns]
query = "query"
document = "docid"
title = "name"
text = "text"
[qrels]
human = "rating"
[grades]
0 = 0
1 = 1
[counts]
queries = 2
documents = 2
pairs = 2
"""
FILES = {
    "a.trec": RUN,
    "b.trec": RUN_2,
    "a.json": '{"q1": {"cats": 1.5, "fish": 2}, "q2": {"fish": 1}}',
    "a.qrels": QRELS,
    "b.qrels": QRELS_2,
    "facts.csv": "query_id,kind,weight\nq1,keyword,0.5\nq2,how-to,2\n",
    "verdicts.txt": "q1 yes\nq2 no\n",
    "ids.txt": "q1\nq2\n",
    "mine.md": PROMPT,
    "ranks.md": RANKS,
    "docs.jsonl": '{"_id": "d1", "title": "T", "text": "a text: here"}\n{"_id": 2, "text": "x"}\n',
    "docs.csv": "id,title,text\nd1,T,some text\nd2,,more\n",
    "docs.md": "# T\n\nSome *text*.\n\n## U\n\n- a\n- b\n",
    "docs.rst": "T\n=\n\nSome text.\n\n.. note:: x\n",
    "mine.toml": RECIPE,
    f"mirror/own/er/{COMMIT}/t.csv": TABLE,
    "log.csv": "query,doc_id,rank,clicked\nusb hub,a,1,1\nlcd,b,2,0\n",
    "people.txt": "a beginner\nan operator, at night\n",
    "queries.tsv": "1\twhere do cats sleep\n2\twhy do fish\n",
}


def make_workspace(folder: Path) -> Path:
    """A folder with one good file of every kind, and a collection with every part."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    collection, coll = small_collection(folder / "coll"), str(folder / "coll")
    queries = {**read_queries(collection.queries), "q3": Query("q3", "do cats close their eyes")}
    with locked(collection):
        write_queries(collection.queries, queries.values())
    run, sheet = str(folder / "a.trec"), folder / "sheet.csv"
    assert execute(["runs", "convert", run, "-o", str(folder / "a.parquet")]) == 0
    assert execute(["pool", coll, "--run", run]) == 0
    for name in ("first", "second"):
        assert execute(["judge", coll, "--model", "similarity", "--as", name, "--quiet"]) == 0
    control = ["--as", "first", "--pairs", "4", "--quiet"]
    assert execute(["lab", "control", coll, "--model", "similarity", *control]) == 6
    draw_sheets(collection, DrawOptions(source="first"), [sheet])
    fill_sheet(sheet, "1")
    assert execute(["people", "import", str(sheet), coll, "--as", "human"]) == 0
    (sample,) = (folder / "coll" / "samples").iterdir()
    (session,) = rating_sessions(collection, AnnotateOptions(("anna",)))
    for item in session.task.items[:2]:
        session.answer(RaterAnswer(item.id, grade=1, note="a note"))
    sample.rename(sample.with_name("SAMPLE.jsonl"))
    (folder / "coll" / "samples" / sample.name).symlink_to("SAMPLE.jsonl")
    return folder
