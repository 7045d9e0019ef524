"""A pipe in the place of a collection's file: one line, and no wait."""

import os
import select
from pathlib import Path

import pytest
from forked import Forked
from made import make_collection
from running import environment, finish

from labeler.cli import execute
from labeler.collection.card import read_card
from labeler.collection.layout import Collection
from labeler.collection.pool import read_pool
from labeler.collection.queries import read_queries
from labeler.errors import FileProblem
from labeler.store import open_store

PLACES = (
    "corpus.jsonl", "queries.jsonl", "pool.jsonl", "card.json", "replies.db", "rejected.jsonl",
    "README.md", ".lock", "judgements/a.jsonl", "qrels/a.qrels", "runs/a.trec", "people/a.jsonl",
    "samples/a.jsonl",
)  # fmt: skip
COMMANDS = {
    "judge": ["judge", "c", "--model", "similarity"],
    "dry run": ["judge", "c", "--model", "similarity", "--dry-run"],
    "relabel": ["relabel", "c", "--from", "a", "--model", "similarity", "--as", "b"],
    "generate": ["generate", "c"],
    "pool": ["pool", "c"],
    "sample": ["people", "sample", "c", "-o", "sheet.csv"],
    "import-labels": ["people", "import", "sheet.csv", "c", "--as", "human"],
    "ingest": ["corpus", "ingest", "docs", "-o", "c", "--force"],
    "status": ["status", "c"],
    "evaluate": ["evaluate", "c"],
    "agree": ["agree", "c", "a", "b"],
    "store": ["store", "verify", "c"],
}


def pipe_at(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("command", "place"),
    [("judge", place) for place in PLACES]
    + [(command, "replies.db") for command in COMMANDS]
    + [
        pytest.param(command, place, marks=pytest.mark.slow)
        for command in COMMANDS
        for place in PLACES
    ],
)
def test_a_pipe_in_a_file_s_place_is_one_line_and_no_wait(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    place: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    make_collection(tmp_path / "c")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nText.\n")
    (tmp_path / "sheet.csv").write_text("sample,row,query id,query,doc id,title,text,grade\n")
    pipe_at(tmp_path / "c" / place)
    assert execute(COMMANDS[command]) in {65, 74}
    last = capsys.readouterr().err.strip().splitlines()[-1]
    if command != "import-labels":  # whose sheet is read first, and has no row
        assert last == f"labeler: c/{place}: expected a file, found a pipe, a device or a socket"


def test_each_reader_refuses_a_pipe_by_itself(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    for path in (collection.queries, collection.pool, collection.card, collection.store):
        pipe_at(path)
    for read in (
        lambda: read_queries(collection.queries),
        lambda: read_pool(collection.pool),
        lambda: read_card(collection),
        lambda: open_store(collection.store).__enter__(),
        lambda: open_store(collection.store, reading=True).__enter__(),
    ):
        with pytest.raises(FileProblem, match="found a pipe"):
            read()
    assert collection.store.is_fifo()


def test_a_pipe_that_somebody_names_is_read_and_a_signal_ends_the_wait_for_it(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "run")

    def start() -> Forked:
        return Forked(["runs", "stats", "run"], environment(), cwd=tmp_path)

    process = start()
    (tmp_path / "run").write_text("q1 Q0 d1 1 2.0 x\n")
    assert finish(process)[0] == 0
    process = start()
    descriptor = os.open(tmp_path / "run", os.O_WRONLY)  # open now on both sides, and empty
    for _ in range(30):  # a signal just before the wait begins is only told once the wait ends
        process.terminate()
        if select.select([process], [], [], 2)[0]:
            break
    assert finish(process)[0] == 143
    os.close(descriptor)
