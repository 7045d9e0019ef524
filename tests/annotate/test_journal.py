"""The journal of a rater: what was confirmed is there, whatever happened to the process."""

import json
import resource
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from labeler.annotate.journal import RatingJournal, read_journal
from labeler.collection.annotations import AnswersGiven, JournalRow
from labeler.errors import BadInput, FileProblem

ROW = JournalRow("grade", "audit", "s1", "1", "q1", "d1", grade=2, note="Ä ✓\n\u2028", seconds=2.5)


def written(path: Path, *rows: JournalRow) -> RatingJournal:
    journal = RatingJournal(path)
    for row in rows:
        with journal.held():
            journal.append(row)
    return journal


def test_what_is_appended_reads_back(tmp_path: Path) -> None:
    rows = [
        ROW,
        replace(ROW, item="2", grade=None, cannot_judge=True, probability=0.25),
        replace(ROW, undo=True, grade=None),
    ]
    path = tmp_path / "anna.jsonl"
    written(path, *rows)
    assert read_journal(path) == rows


def test_a_last_line_that_was_cut_anywhere_is_no_answer_and_harms_no_other(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    written(path, ROW, replace(ROW, item="2"))
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for cut in range(start, len(whole) - 1, 7):
        path.write_bytes(whole[:cut])
        assert read_journal(path) == [ROW]
        written(path, replace(ROW, item="3"))
        assert [row.item for row in read_journal(path)] == ["1", "3"]


def test_what_is_no_line_of_ours_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    for content in (b"[[[[", b"my notes", b"\x1f\x8b\x08", ROW.line() + b'{"other": '):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"anna\.jsonl"):
            read_journal(path)
        with pytest.raises(BadInput, match=r"anna\.jsonl"):
            written(path, ROW)
        assert path.read_bytes() == content


def test_zeros_that_the_file_system_left_at_the_end_are_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    path.write_bytes(ROW.line() + b"\0" * 300)
    assert read_journal(path) == [ROW]
    written(path, replace(ROW, item="2"))
    assert [row.item for row in read_journal(path)] == ["1", "2"]


def test_a_last_line_that_only_lacks_its_end_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    path.write_bytes(ROW.line().rstrip(b"\n"))
    assert read_journal(path) == [ROW]
    written(path, replace(ROW, item="2"))
    assert [row.item for row in read_journal(path)] == ["1", "2"]


def test_a_line_in_the_middle_that_is_no_answer_is_an_error_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    path.write_bytes(ROW.line() + b"{\n" + ROW.line())
    with pytest.raises(BadInput, match=r"anna\.jsonl:2: not JSON"):
        read_journal(path)


def test_a_longer_line_than_a_block_is_mended_as_well(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    long = replace(ROW, note="x" * 3_000_000).line()
    path.write_bytes(ROW.line() + long[:-2])
    written(path, replace(ROW, item="2"))
    assert [row.item for row in read_journal(path)] == ["1", "2"]


def test_a_reader_sees_what_other_processes_append(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    one, other = RatingJournal(path), RatingJournal(path)
    assert one.fresh() == ([], False)
    written(path, ROW)
    assert one.fresh() == ([ROW], True)
    written(path, replace(ROW, item="2"))
    assert [row.item for row in one.fresh()[0]] == ["2"]
    assert [row.item for row in other.fresh()[0]] == ["1", "2"]
    assert one.fresh() == ([], False)


def test_a_journal_that_was_put_back_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    journal = written(path, ROW, replace(ROW, item="2"))
    journal.fresh()
    path.write_bytes(ROW.line())
    assert journal.fresh() == ([ROW], True)
    path.unlink()
    assert journal.fresh() == ([], True)
    assert journal.fresh() == ([], False)


def test_many_writers_lose_nothing_and_tear_nothing(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"

    def write(number: int) -> None:
        written(path, *(replace(ROW, item=f"{number}-{n}") for n in range(10)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    items = [row.item for row in read_journal(path)]
    assert sorted(items) == sorted(f"{number}-{n}" for number in range(4) for n in range(10))


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_where_the_disk_is_full_the_journal_is_as_before(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    written(path, ROW)
    before = path.read_bytes()
    with no_file_longer_than(len(before) + 20), pytest.raises(FileProblem, match=r"anna\.jsonl"):
        written(path, replace(ROW, item="2"))
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "annotations").write_text("a file")
    with pytest.raises(FileProblem, match="annotations: "):
        written(tmp_path / "annotations" / "anna.jsonl", ROW)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"task": "x"}, "expected 'task' to be one of grade, found 'x'"),
        ({"purpose": None}, "expected 'purpose' to be one of audit, fix"),
        ({"grade": "2"}, "grade"),
        ({"grade": 10**12}, "grade"),
        ({"undo": 1}, "expected 'undo' to be true or false"),
        ({"probability": 0}, "to be a probability above 0"),
        ({"probability": 1.5}, "to be a probability above 0"),
        ({"note": None, "item": 7}, "expected 'item' to be a string"),
    ],
    ids=str,
)
def test_a_row_that_no_rater_could_write_is_named(
    tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    path = tmp_path / "anna.jsonl"
    row = {**json.loads(ROW.line()), **change}
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(BadInput, match=problem) as caught:
        read_journal(path)
    assert "anna.jsonl:1" in str(caught.value)


def test_of_two_answers_the_last_stands_and_taking_it_back_brings_the_first() -> None:
    given = AnswersGiven()
    for row in (ROW, replace(ROW, grade=0)):
        given.take(row)
    last = given.row_of("1")
    assert last is not None
    assert last.grade == 0
    given.take(replace(ROW, grade=None, undo=True))
    first = given.row_of("1")
    assert first is not None
    assert first.grade == 2
    given.take(replace(ROW, grade=None, undo=True))
    given.take(replace(ROW, grade=None, undo=True))
    assert (given.row_of("1"), given.last, given.answered) == (None, None, set())
