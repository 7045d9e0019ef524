"""Documents whose texts lie in a file while they are read."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from work import peak

from labeler.collection.corpus import read_corpus
from labeler.corpus.documents import StoredDocuments, read_documents
from labeler.corpus.ingest import ingest
from labeler.data import Document

FIRST = Document("a.md:1", "The same.\n", "Title", {"source": "a.md", "headings": []})
SECOND = Document("b.md:1", "The same.\n", "Title", {"source": "b.md", "headings": ["é"]})
THIRD = Document("c.md:1", "Half a pair \ud800 is kept.", "", {"source": "c.md", "n": [1, None]})


@pytest.mark.parametrize("held", [0, 1 << 20])
def test_documents_come_back_as_they_were(held: int) -> None:
    stored = StoredDocuments(held)
    for document in (FIRST, THIRD, SECOND):
        stored.add(document)
        assert stored[document.id] == document
    assert list(stored) == [FIRST.id, THIRD.id, SECOND.id]
    assert list(stored.values()) == [FIRST, THIRD, SECOND]
    assert "d.md:1" not in stored
    with pytest.raises(KeyError):
        stored["d.md:1"]


def test_a_passage_of_the_same_title_and_text_is_found() -> None:
    stored = StoredDocuments()
    assert stored.add_passage(FIRST)
    assert not stored.add_passage(SECOND)
    assert dict(stored) == {FIRST.id: FIRST}


def test_what_was_added_since_a_mark_is_forgotten() -> None:
    stored = StoredDocuments()
    stored.add_passage(FIRST)
    mark = stored.mark()
    stored.add_passage(THIRD)
    assert stored.is_before(FIRST.id, mark)
    assert not stored.is_before(THIRD.id, mark)
    stored.go_back(mark)
    assert dict(stored) == {FIRST.id: FIRST}
    assert stored.add_passage(THIRD)
    assert dict(stored) == {FIRST.id: FIRST, THIRD.id: THIRD}


def write_rows(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_file_with_a_bad_row_at_its_end_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nA passage that stands twice.\n")
    same = {"title": "A", "text": "A passage that stands twice."}
    write_rows(tmp_path / "b.jsonl", [same, {"title": "B", "text": "Another."}, {"text": 3}])
    result = read_documents([str(tmp_path)])
    assert [d.metadata["source"] for d in result.documents.values()] == ["a.md"]
    assert (result.duplicates, result.files, len(result.unread)) == (0, 1, 1)


def test_an_id_of_an_earlier_file_leaves_the_later_file_out(tmp_path: Path) -> None:
    rows = [{"_id": f"d{n}", "text": f"text {n}"} for n in range(3)]
    write_rows(tmp_path / "a.jsonl", rows)
    write_rows(tmp_path / "b.jsonl", [{"_id": "new", "text": "first"}, rows[1]])
    result = read_documents([str(tmp_path)])
    assert list(result.documents) == ["d0", "d1", "d2"]
    assert "b.jsonl:2: the id 'd1' stands in an earlier file too" in result.unread[0]


def test_a_large_file_has_progress_within(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", [{"_id": f"d{n}", "text": "x" * 2**20} for n in range(20)])
    told: list[tuple[int, int]] = []
    read_documents([str(tmp_path)], (), lambda done, total: told.append((done, total)))
    assert len(told) > 3
    assert told == sorted(set(told))
    assert told[-1][0] == told[-1][1]


@pytest.mark.sweep
def test_reading_rows_holds_no_texts(tmp_path: Path) -> None:
    peaks = []
    for count in (1, 450, 600):  # a first, and more bytes than stay in the memory
        folder = tmp_path / str(count)
        folder.mkdir()
        rows: list[dict[str, object]] = [
            {"_id": f"d{n}", "text": f"{n} {'x' * 40_000}"} for n in range(count)
        ]
        write_rows(folder / "rows.jsonl", rows)
        del rows
        peaks.append(peak(lambda folder=folder: ingest(folder, tmp_path / "out", force=True)))
    assert len(read_corpus(tmp_path / "out" / "corpus.jsonl")) == 600
    assert peaks[2] - peaks[1] < 150 * 10_000


FULL = """
import resource, signal
from labeler.corpus.documents import StoredDocuments
from labeler.data import Document
from labeler.errors import FileProblem

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for count in (100, 6):  # the few are written when they are read
    stored = StoredDocuments(held=0)
    try:
        for number in range(count):
            stored.add(Document(f"d{number}", "x" * 1000))
        print(stored["d0"])
    except FileProblem as error:
        print("one line:", error)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no such limit")
def test_a_full_temporary_folder_is_one_line() -> None:
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"one line: {tempfile.gettempdir()}") for line in lines)
    assert done.stderr == ""
