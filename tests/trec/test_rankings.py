"""The fast readers and the slow, obvious ones: one answer, one error, whatever the file holds."""

import gzip
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from examples import steadily
from hypothesis import example, given
from hypothesis import strategies as st
from plain_rankings import plain_rankings

from labeler.errors import BadInput
from labeler.metrics import JudgedPairs, Rankings, evaluate, rankings, score
from labeler.trec.blocks import streamed
from labeler.trec.files import read_qrels, read_qrels_by_line, read_run_by_line
from labeler.trec.pairs import PairColumns

OFTEN = steadily(80)
IDS = st.sampled_from(
    [
        "a",
        "b",
        "c",
        "7",
        "07",
        "d#1",
        "é",
        "\u00a0x",
        "a-much-longer-id-0001",
        "a-much-longer-id-0002",
    ]
)
QUERIES = st.sampled_from(["1", "2", "10", "q-with-a-long-name"])
SCORES = st.one_of(
    st.sampled_from(["1", "2", "3.5", "-0.5", ".25", "+4", "5.", "1e2", "-2E-3", "-0.0", "0"]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
)
GRADES = st.sampled_from(["0", "1", "2", "3", "-1", "+1"])
GAPS = st.sampled_from([" ", "\t", "  ", " \t", "\r"])
ENDS = st.sampled_from(["\n"] * 6 + ["\r\n", " \n", "\n\n", "\n# comment\n", "\n \t\n"])
ODDITIES = st.sampled_from(
    [
        *("nan", "inf", "1_0", "1e999", "0x10", "--1", "1.2.3", "e5", "", "x y", "#", "\0", "\x01"),
        *("٣", "1.0", "2147483648", "00000000001", "\ufeff", "-", ".", "99999999999999999999.5"),
    ]
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property, each of which writes its files anew."""
    return tmp_path_factory.mktemp("scratch")


def lines(*columns: st.SearchStrategy[str], odd: bool) -> st.SearchStrategy[str]:
    usual = st.tuples(*(column for column in columns))
    strange = st.tuples(*(st.one_of(column, ODDITIES) for column in columns))
    line = st.one_of(usual, usual, usual, strange) if odd else usual
    return st.tuples(line, GAPS | st.just(" "), ENDS).map(lambda p: p[1].join(p[0]) + p[2])


def qrels_files(*, odd: bool) -> st.SearchStrategy[bytes]:
    line = lines(QUERIES, st.just("0"), IDS, GRADES, odd=odd)
    return st.lists(line, max_size=12).map(lambda found: "".join(found).encode())


def run_files(*, odd: bool) -> st.SearchStrategy[bytes]:
    rank = st.integers(1, 9).map(str) | IDS
    line = lines(QUERIES, st.just("Q0"), IDS, rank, SCORES, st.just("tag"), odd=odd)
    return st.lists(line, max_size=16).map(lambda found: "".join(found).encode())


def outcome(read: Callable[[], Rankings]) -> Rankings | str:
    try:
        return read()
    except BadInput as error:
        return str(error)


def assert_same(fast: Rankings | str, slow: Rankings | str) -> None:
    if isinstance(fast, str) or isinstance(slow, str):
        assert fast == slow
        return
    assert fast.queries == slow.queries
    for name in ("retrieved", "query", "rank", "grade", "pool_query", "pool_grade"):
        assert np.array_equal(getattr(fast, name), getattr(slow, name)), name
    assert fast.max_grade == slow.max_grade


def check(folder: Path, qrels: bytes, run: bytes, block: int) -> None:
    (folder / "a.qrels").write_bytes(qrels)
    (folder / "a.trec").write_bytes(run)

    def fast() -> Rankings:
        pool = JudgedPairs.of(read_qrels(folder / "a.qrels", print))
        return pool.rank(folder / "a.trec", block=block)[0]

    def slow() -> Rankings:
        judged = read_qrels_by_line(folder / "a.qrels")
        return plain_rankings(judged, read_run_by_line(folder / "a.trec"))

    assert_same(outcome(fast), outcome(slow))


BLOCKS = st.sampled_from([1, 30, 100, 1 << 20])
ONE = b"1 0 a 1\n"
RUN = b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"


@pytest.mark.sweep
@OFTEN
@given(qrels=qrels_files(odd=False), run=run_files(odd=False), block=BLOCKS)
@example(qrels=ONE, run=b"1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 b 2 1 t\n", block=1)
@example(qrels=ONE, run=b"1 Q0 a 1 2 t\n1 Q0 a 1 2 t\n", block=99)
@example(qrels=b"1 0 a\x01b 1\n", run=b"1 Q0 a\x01b 1 2 t\n", block=99)
def test_the_fast_reader_gives_the_slow_readers_answer(
    qrels: bytes, run: bytes, block: int, scratch: Path
) -> None:
    check(scratch, qrels, run, block)


@OFTEN
@given(qrels=qrels_files(odd=True), run=run_files(odd=True), block=BLOCKS)
def test_a_bad_file_is_the_same_error_and_never_a_traceback(
    qrels: bytes, run: bytes, block: int, scratch: Path
) -> None:
    check(scratch, qrels, RUN, block)
    check(scratch, ONE, run, block)


@OFTEN
@given(content=st.binary(max_size=60), block=BLOCKS)
def test_random_bytes_are_the_same_error_and_never_a_traceback(
    content: bytes, block: int, scratch: Path
) -> None:
    check(scratch, content, RUN, block)
    check(scratch, ONE, content, block)


@OFTEN
@given(qrels=qrels_files(odd=False), run=run_files(odd=False))
def test_what_a_program_holds_gives_what_its_files_give(
    qrels: bytes, run: bytes, scratch: Path
) -> None:
    (scratch / "a.qrels").write_bytes(qrels)
    (scratch / "a.trec").write_bytes(run)
    try:
        pool = JudgedPairs.of(read_qrels(scratch / "a.qrels", print))
        wanted, facts = pool.rank(scratch / "a.trec")
    except BadInput:
        return
    grades, scores = read_qrels_by_line(scratch / "a.qrels"), read_run_by_line(scratch / "a.trec")
    assert_same(rankings(grades, scores), wanted)
    held = JudgedPairs.of(PairColumns.of(grades, np.int32))
    assert_same(held.rank(scratch / "a.trec")[0], wanted)
    ranked, counted = held.rank(PairColumns.of(scores, np.float64))
    assert_same(ranked, wanted)
    for name in ("common", "extra", "matched", "tied_pairs"):
        assert getattr(counted, name) == getattr(facts, name), name


@pytest.mark.parametrize(
    ("grade", "score", "problem"),
    [
        (1.5, 2.0, "expected an integer grade, found 1.5"),
        (True, 2.0, "expected an integer grade, found True"),
        (2**31, 2.0, "expected an integer grade, found 2147483648"),
        (1, math.inf, "expected a finite number as score, found inf"),
        (1, math.nan, "expected a finite number as score, found nan"),
        (1, None, "expected a finite number as score, found None"),
    ],
)
def test_unusual_values_of_dicts_are_named(grade: object, score: object, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        rankings({"q": {"a": grade}}, {"q": {"b": 1.0, "a": score}})  # type: ignore[dict-item]


def test_ids_of_dicts_that_are_integers_are_their_digits() -> None:
    ranked = rankings({"1": {"7": 1}}, {1: {7: 2.0, 8: 3.0}})  # type: ignore[dict-item]
    assert ranked.rank.tolist() == [1]


@OFTEN
@given(value=st.floats(allow_nan=False, allow_infinity=False), digits=st.integers(0, 25))
def test_scores_are_read_as_python_reads_them(value: float, digits: int, scratch: Path) -> None:
    texts = [repr(value), f"{value:.{digits}e}", f"{value:.{digits}f}"]
    texts = [text for text in texts if math.isfinite(float(text))]
    path = scratch / "a.trec"
    path.write_text("".join(f"{n} Q0 a 1 {text} t\n" for n, text in enumerate(texts)))
    scores = np.concatenate([batch.score for batch in streamed(path, 1 << 20)])
    assert scores.tolist() == [float(text) for text in texts]


def test_real_runs_score_as_the_slow_reader_has_them(shared: Path) -> None:
    folder = shared / "dl19"
    pool = JudgedPairs.of(read_qrels(folder / "nist.qrels", print))
    qrels = read_qrels_by_line(folder / "nist.qrels")
    measures = ["nDCG@10", "AP", "Bpref", "R@100"]
    for path in sorted((folder / "runs").glob("*.gz"))[:3]:
        fast = score(pool.rank(path)[0], measures)
        slow = evaluate(qrels, read_run_by_line(path), measures)
        assert np.array_equal(fast.values, slow.values, equal_nan=True)


def test_ties_and_contradicting_ranks_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("q 0 a 1\n")
    run = ["q Q0 a 1 1 t", "q Q0 b 2 2 t", "q Q0 c 3 2 t", "q Q0 d 4 2 t", "r Q0 a x 1 t"]
    (tmp_path / "a.trec").write_text("\n".join(run))
    pool = JudgedPairs.of(read_qrels(tmp_path / "a.qrels", print))
    _, facts = pool.rank(tmp_path / "a.trec")
    assert (facts.tied_pairs, facts.contradictions, facts.common, facts.extra) == (3, 1, 1, 1)


def test_a_repeated_pair_of_qrels_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("q 0 a 1\nq 0 a 1\n")
    warnings: list[str] = []
    pool = JudgedPairs.of(read_qrels(tmp_path / "a.qrels", warnings.append))
    assert len(pool.grade) == 1
    assert "1 repeated line" in warnings[0]


def test_a_truncated_gzip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("1 0 a 1\n")
    whole = gzip.compress(b"".join(b"1 Q0 d%d 1 2 t\n" % n for n in range(5000)))
    (tmp_path / "a.trec.gz").write_bytes(whole[:-20])
    pool = JudgedPairs.of(read_qrels(tmp_path / "a.qrels", print))
    with pytest.raises(BadInput, match="damaged gzip"):
        pool.rank(tmp_path / "a.trec.gz")
