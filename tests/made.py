"""A small collection made by hand, for tests of what works on one."""

import csv
import json
import re
import time
from pathlib import Path

from forked import Forked
from kept import Kept

from labeler.collection.layout import Collection
from labeler.data import Pair
from labeler.judging.judge import JudgeOptions
from labeler.scale.partitions.work import Share, judge_partitions
from labeler.scale.partitions.write import write_partitions
from labeler.testing import Call, FakeServer, fake_model

WORDS = ("anchor", "basil", "copper", "dune", "ember", "fjord", "grove", "harbor", "iris", "jade")


def make_collection(folder: Path, queries: int = 2, documents: int = 5) -> Collection:
    """Queries q0, q1 … and documents d0, d1 …, each pair in the pool; each text names its id."""
    folder.mkdir(parents=True, exist_ok=True)
    _rows(
        folder / "corpus.jsonl",
        [
            {"_id": f"d{i}", "title": WORDS[i % 10], "text": f"about d{i};"}
            for i in range(documents)
        ],
    )
    _rows(
        folder / "queries.jsonl", [{"_id": f"q{i}", "text": f"what q{i}?"} for i in range(queries)]
    )
    _rows(
        folder / "pool.jsonl",
        [
            {"query_id": f"q{q}", "doc_id": f"d{d}"}
            for q in range(queries)
            for d in range(documents)
        ],
    )
    return Collection(folder)


def _rows(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def judged_partitions(collection: Collection, folder: Path, name: str) -> None:
    """Cut a pool into partitions, which is one of so few pairs, and judge it."""
    model = fake_model('{"grade": 1}')
    options = JudgeOptions(model=model, name=name)
    write_partitions(collection, folder, options)
    judge_partitions(folder, Share(model=model), 0)


def fill_sheet(sheet: Path, grade: str) -> None:
    """Give every pair of a sheet that grade, as a person would in a spreadsheet."""
    header, *rows = csv.reader(sheet.read_text("utf-8-sig").splitlines())
    column = next(i for i, name in enumerate(header) if name.startswith("grade"))
    with sheet.open("w", encoding="utf-8", newline="") as out:
        graded = ([*row[:column], grade, *row[column + 1 :]] for row in rows)
        csv.writer(out).writerows([header, *graded])


def pair_of(call: Call) -> Pair | None:
    """The pair that a call is about; None for the call that finds out what the server accepts."""
    return pair_in(call.body["messages"][-1]["content"])


def pair_in(said: str) -> Pair | None:
    """The pair whose texts a request shows."""
    found = re.search(r"what (q\d+)\?.*about (d\d+);", said, re.DOTALL)
    return Pair(found[1], found[2]) if found else None


def pair_calls(server: FakeServer) -> list[Pair]:
    """The pairs that a server was asked about, in the order of the calls."""
    return [pair for call in server.calls if (pair := pair_of(call))]


def wait_for_calls(server: FakeServer, count: int, process: Forked) -> None:
    """Wait until a command that runs has asked for so many pairs."""
    deadline = time.monotonic() + 60
    while len(pair_calls(server)) < count:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def stored_pairs(collection: Collection, kept: Kept | None = None) -> list[Pair]:
    """The pairs whose replies are stored, each of them found to be what `grade_in` answers it."""
    pairs = []
    for request, body in (kept or Kept()).wires(collection):
        pair = pair_in(json.loads(request)["messages"][-1][1])
        assert pair is not None
        said = json.loads(body)["choices"][0]["message"]["content"]
        assert json.loads(said)["grade"] == grade_of(pair), (pair, said)
        pairs.append(pair)
    return pairs


def grade_of(pair: Pair) -> int:
    """The grade that `grade_in` gives a pair."""
    return (int(pair.query_id[1:]) + int(pair.doc_id[1:])) % 4


def grade_in(call: Call) -> str:
    """A grade that depends on the pair alone."""
    pair = pair_of(call)
    return json.dumps({"grade": grade_of(pair) if pair else 1})
