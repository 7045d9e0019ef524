"""Runs larger than memory: what is held does not grow with the lines, and nothing else changes."""

import gzip
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from plain_rankings import plain_rankings

from labeler.errors import BadInput
from labeler.evaluation.inputs import rank
from labeler.metrics import JudgedPairs, Rankings
from labeler.trec.blocks import QRELS
from labeler.trec.columns import Irregular
from labeler.trec.files import read_qrels, read_qrels_by_line, read_run_by_line
from labeler.trec.pairs import PairColumns, numbers_in_file

BLOCKS = (1, 300, 1 << 20)


def line(query: int, doc: int, score: float, rank_: int = 1) -> str:
    return f"q{query} Q0 d{doc} {rank_} {score} t\n"


def made_lines(rng: np.random.Generator, queries: int, depth: int) -> list[str]:
    """A run's lines; scores are of few values, so that many tie."""
    return [
        line(query, int(doc), float(rng.integers(0, 4)), place + 1)
        for query in range(queries)
        for place, doc in enumerate(rng.permutation(40)[:depth])
    ]


@pytest.fixture
def pool(tmp_path: Path) -> JudgedPairs:
    path = tmp_path / "a.qrels"
    path.write_text("".join(f"q{q} 0 d{d} {(q + d) % 3}\n" for q in range(1, 30) for d in range(9)))
    return JudgedPairs.of(read_qrels(path))


def assert_same(ours: Rankings, theirs: Rankings) -> None:
    for name in ("queries", "retrieved", "query", "rank", "grade"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


def as_written(path: Path) -> Rankings:
    qrels = read_qrels_by_line(path.with_name("a.qrels"))
    return plain_rankings(qrels, read_run_by_line(path))


ORDERS: dict[str, Callable[[list[str], np.random.Generator], list[str]]] = {
    "by query": lambda lines, _: lines,
    "by rank": lambda lines, _: sorted(lines, key=lambda text: int(text.split()[3])),
    "shuffled": lambda lines, rng: [lines[i] for i in rng.permutation(len(lines))],
    "one line apart": lambda lines, _: [*lines[1:], lines[0]],
    "comments": lambda lines, _: ["# made\n", *lines[:9], "\n", *lines[9:]],
}


@pytest.mark.sweep
@pytest.mark.parametrize("order", ORDERS)
def test_blocks_give_what_the_whole_file_gives(
    order: str, pool: JudgedPairs, tmp_path: Path
) -> None:
    rng = np.random.default_rng(7)
    lines = ORDERS[order](made_lines(rng, 16, 7), rng)
    forms = {
        "plain": "".join(lines).encode(),
        "last line without its end": "".join(lines).encode()[:-1],
        "crlf": "".join(lines).replace("\n", "\r\n").encode(),
    }
    middle = len(forms["plain"]) // 2  # inside of a line
    members = [gzip.compress(forms["plain"][:middle]), gzip.compress(forms["plain"][middle:])]
    for content in (*forms.values(), b"".join(members)):
        path = tmp_path / "a.trec"
        path.write_bytes(content)
        whole = as_written(path)
        for block in BLOCKS:
            assert_same(pool.rank(path, block=block)[0], whole)


def test_a_pipe_is_read_whatever_the_order_of_its_lines(pool: JudgedPairs, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    lines = made_lines(rng, 25, 12)
    whole, pipe = tmp_path / "a.trec", tmp_path / "pipe"
    for order in ("by query", "shuffled"):
        text = "".join(ORDERS[order](lines, rng))
        whole.write_text(text)
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(text,))
        writer.start()
        assert_same(rank(pipe, pool)[0], as_written(whole))
        writer.join()
        pipe.unlink()


BAD = {
    "a document again": lambda lines, i: [*lines[:i], lines[i // 2], *lines[i:]],
    "two again": lambda lines, i: [*lines[:i], lines[2], *lines[i:], lines[1]],
    "a column less": lambda lines, i: [*lines[:i], "q1 Q0 d1 1 2\n", *lines[i:], lines[0]],
    "no number": lambda lines, i: [*lines[:i], "q1 Q0 dx 1 nan t\n", *lines[i:], lines[0]],
    "again before no number": lambda lines, i: [*lines[:i], lines[0], *lines[i:], "q Q0 d 1 x t\n"],
    "a long id": lambda lines, i: [*lines[:i], f"q1 Q0 {'d' * 5000} 1 2 t\n", *lines[i:]],
    "a byte-order mark": lambda lines, _: ["\ufeff" + lines[0], *lines[1:], lines[0], lines[3]],
    "nothing but comments": lambda _lines, _i: ["# one\n", "# two\n"],
}


@pytest.mark.parametrize("problem", BAD)
def test_the_first_bad_line_is_named_as_the_slow_reader_names_it(
    problem: str, pool: JudgedPairs, tmp_path: Path
) -> None:
    rng = np.random.default_rng(9)
    path = tmp_path / "a.trec"
    for order in ("by query", "shuffled", "comments"):
        lines = ORDERS[order](made_lines(rng, 15, 5), rng)
        path.write_text("".join(BAD[problem](lines, int(rng.integers(20, 60)))))
        with pytest.raises(BadInput) as wanted:
            read_run_by_line(path)
        for block in BLOCKS:
            with pytest.raises(BadInput) as found:
                pool.rank(path, block=block)
            assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("again", [False, True])
def test_a_damaged_gzip_is_named_at_its_line_and_after_what_is_wrong_before(
    again: bool, pool: JudgedPairs, tmp_path: Path
) -> None:
    path = tmp_path / "a.trec.gz"
    lines = [line(q, d, q * d % 7 / 3) for q in range(30) for d in range(100)]
    packed = gzip.compress("".join([*lines[:9], lines[2], *lines[9:]] if again else lines).encode())
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(BadInput) as wanted:
        read_run_by_line(path)
    for block in (64, 1 << 20):
        with pytest.raises(BadInput) as found:
            pool.rank(path, block=block)
        assert str(found.value) == str(wanted.value)


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_is_held_does_not_grow_with_the_lines(pool: JudgedPairs, tmp_path: Path) -> None:
    path = tmp_path / "a.trec"

    def held(queries: int) -> int:
        lines = [line(q + 30, d, d / 7) for q in range(queries) for d in range(50)]
        path.write_text("".join([line(1, 1, 1), *lines]))
        return peak(lambda: pool.rank(path, block=1 << 15))

    assert held(400) < 1.5 * held(100)


@pytest.mark.parametrize("block", BLOCKS)
def test_repeated_judgements_are_left_out_and_counted(block: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    lines = [f"q{q} 0 d{d} {rng.integers(-1, 4)}\n" for q in range(12) for d in range(9)]
    again = [lines[int(i)] for i in rng.integers(0, len(lines), 15)]
    path = tmp_path / "b.qrels"
    path.write_text("".join([*lines, *again]))
    warnings: list[str] = []
    with pytest.raises(Irregular):  # what is repeated is left to the reader by line
        numbers_in_file(path, QRELS, block)
    ours = JudgedPairs.of(read_qrels(path, warnings.append))
    whole = JudgedPairs.of(PairColumns.of(read_qrels_by_line(path), np.int32))
    for name in ("queries", "query", "grade"):
        assert np.array_equal(getattr(ours, name), getattr(whole, name)), name
    assert np.array_equal(ours.documents.words, whole.documents.words)
    assert warnings == [f"{path}: 15 repeated lines, the same pair with the same grade"]


def test_the_first_bad_line_of_qrels_is_named_before_two_grades_of_a_pair(tmp_path: Path) -> None:
    path = tmp_path / "b.qrels"
    lines = [f"q{q} 0 d{d} 1\n" for q in range(9) for d in range(9)]
    for bad in ("q1 0 d1 x\n", "q1 0 d1\n", f"q1 0 {'d' * 5000} 1\n", "q1 0 d1 2\n"):
        path.write_text("".join([*lines[:40], "q0 0 d0 2\n", *lines[40:], bad]))
        with pytest.raises(BadInput) as wanted:
            read_qrels_by_line(path)
        with pytest.raises(BadInput) as found:
            read_qrels(path)
        assert str(found.value) == str(wanted.value)
        for block in BLOCKS:
            with pytest.raises((BadInput, Irregular)):
                numbers_in_file(path, QRELS, block)
