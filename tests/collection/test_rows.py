"""Rows of judgements and pools: what is read of them alone is what is read of them as a whole."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.collection.judgements import (
    JudgementLines,
    JudgementRow,
    Origin,
    grades_of,
    read_judgements,
)
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import read_pool, write_pool
from labeler.data import FAILURES, Failure, Judged, Judgement, Pair, Pooled
from labeler.errors import BadInput

T = TypeVar("T")
IDS = st.text(st.characters(codec="utf-8"), min_size=1).filter(
    lambda text: text.split() == [text] and "\0" not in text
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
SHARES = st.none() | st.dictionaries(st.integers(-1, 3), st.floats(0, 1), min_size=1)
COUNTS = st.integers(0, 10**9)
ODD = st.sampled_from(list('"{}:, 0-e\\\0\x1fx\t'))
ORIGIN = Origin(
    "four-grades@01234567", "http://127.0.0.1:1/v1 m", {"temperature": 0.0, "stop": ["}"]}
)


@st.composite
def judged(draw: st.DrawFn) -> Judged:
    pair = Pair(draw(IDS), draw(IDS))
    grade = Judgement(pair, draw(st.integers(-1, 12)), draw(st.none() | TEXTS), draw(SHARES))
    failure = Failure(pair, draw(st.sampled_from(FAILURES)), draw(TEXTS))
    cost = draw(st.none() | st.floats(0, 1e3))
    outcome = draw(st.sampled_from([grade, grade, failure]))
    return Judged(outcome, draw(COUNTS), draw(COUNTS), draw(COUNTS), cost, draw(TEXTS))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows") / "a.jsonl"


def found_or_refused(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except BadInput:
        return None


def one_by_one(path: Path) -> list[JudgementRow]:
    """The rows of a file that is not laid out as it is written here, so that each is read alone."""
    other = path.with_suffix(".other.jsonl")
    other.write_bytes(b"".join(b" " + line for line in path.read_bytes().splitlines(keepends=True)))
    return list(read_judgements(other))


def grades_one_by_one(path: Path) -> list[tuple[str, str, int]]:
    outcomes = [row.judged.outcome for row in one_by_one(path)]
    return [(*o.pair, o.grade) for o in outcomes if isinstance(o, Judgement)]


@steadily(150)
@given(rows=st.lists(judged(), max_size=4))
def test_judgements_read_back_as_they_were(path: Path, rows: list[Judged]) -> None:
    lines = JudgementLines(ORIGIN)
    path.write_text("".join(lines.line(row) + "\n" for row in rows), encoding="utf-8", newline="\n")
    back = list(read_judgements(path))
    assert [row.judged for row in back] == rows
    assert [row.origin for row in back] == [ORIGIN] * len(rows)
    assert one_by_one(path) == back
    assert list(grades_of(path)) == grades_one_by_one(path)


@steadily(400)
@given(
    row=judged(),
    at=st.floats(0, 1),
    cut=st.integers(0, 3),
    put=st.sampled_from(list('"{}:, 0-e\\\0\x1fx\t')) | TEXTS,
)
def test_a_damaged_judgement_gives_its_row_or_is_refused_whoever_reads_it(
    path: Path, row: Judged, at: float, cut: int, put: str
) -> None:
    line = JudgementLines(ORIGIN).line(row)
    place = int(at * len(line))
    path.write_text(line[:place] + put + line[place + cut :] + "\n", encoding="utf-8", newline="\n")
    whole = found_or_refused(lambda: one_by_one(path))
    assert found_or_refused(lambda: list(read_judgements(path))) == whole
    grades = found_or_refused(lambda: grades_one_by_one(path))
    assert found_or_refused(lambda: list(grades_of(path))) == grades


@pytest.mark.parametrize(
    "other",
    [
        ('"grade": 1', '"grade": 01'),
        ('"grade": 1', '"grade": true'),
        ('"grade": 1', '"grade": 1, "grade": 2'),
        ('"status": "judged"', '"status": "refused"'),
        ('"reason": "b', '"detail": "b'),
        ('"reason": "b', '"reason": "b\\u00e9 \\\\ \\" '),
        ('"reason": "b', '"reason": "b\\q'),
        ('"reason": "b', '"reason": "b\t'),
        ('"attempts": 1', '"attempts": 01'),
        ('"attempts": 1', '"attempts": -1'),
        ('"attempts": 1', '"attempts": "1"'),
        ('"attempts": 1', '"attempts": 1.0'),
        ('"attempts": 1', '"attempts": 10000000000000'),
        ('"attempts": 1', '"votes": [1, null], "attempts": 1'),
        ('"attempts": 1', '"votes": {"attempts": 2}, "attempts": 1'),
        ('"attempts": 1', '"more": 1, "attempts": 1'),
        ('"attempts": 1', ', "attempts": 1'),
        ('"model": "m", ', '"model": "m", , '),
        ('"model": "m", ', '"model": "m", }\n'),
        ('"cost": 0.5', '"cost": 1, 2'),
        ('"cost": 0.5', '"cost": -1'),
        ('"cost": 0.5', '"cost": NaN'),
        ('"cost": 0.5', '"cost": "0.5"'),
        ('"model": "m"', '"model": 5'),
        ('"model": "m"', '"model": "m", "shown": "x", "grade": 2'),
        ('"model": "m"', '"model": "m", "list": ["d", "e"]'),
        ('"model": "m"', '"model": "m", "list": ["e"]'),
        ('"model": "m"', '"model": "m", "carried": {"state": "moved"}'),
        ('"query_id": "q"', '"query_id": "q 1"'),
        ('"query_id": "q"', '"query_id": "\u3000"'),
        ('"query_id": "q"', '"query_id": ""'),
        ('"query_id": "q"', '"query_id": 7'),
        ('"doc_id": "d"', '"doc_id": "\\"d"'),
        ('"prompt": ', '"prompt": 3, "asked": '),
        ("}\n", "}}\n"),
        ("}\n", "\n"),
    ],
)
def test_a_line_that_is_laid_out_otherwise_is_read_as_json_is(
    other: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    judged = Judged(Judgement(Pair("q", "d"), 1, "b"), 1, 2, 3, 0.5, "m")
    line = JudgementLines(ORIGIN).line(judged) + "\n"
    changed = line.replace(*other)
    assert changed != line
    path.write_text(line + changed + "\n" + line, encoding="utf-8", newline="\n")
    whole = found_or_refused(lambda: one_by_one(path))
    assert found_or_refused(lambda: list(read_judgements(path))) == whole
    assert whole is None or {row.judged.outcome.pair.doc_id for row in whole} <= {"d", '"d'}
    if whole is None:
        with pytest.raises(BadInput, match=r"a\.jsonl:2: "):
            list(grades_of(path))


@steadily(400)
@given(
    pair=st.builds(Pair, IDS, IDS),
    runs=st.lists(TEXTS, max_size=2),
    rank=st.none() | st.integers(1, 10**6),
    at=st.floats(0, 1),
    cut=st.integers(0, 3),
    put=st.just("") | ODD | TEXTS,
)
def test_a_damaged_pool_gives_its_pairs_or_is_refused_whoever_reads_it(  # noqa: PLR0917 - hypothesis gives the parts of a row
    path: Path, pair: Pair, runs: list[str], rank: int | None, at: float, cut: int, put: str
) -> None:
    row = {"query_id": pair.query_id, "doc_id": pair.doc_id, "runs": runs, "best_rank": rank}
    line = json.dumps(row, ensure_ascii=False)
    place, gone = int(at * len(line)), cut if put else 0
    path.write_text(
        line[:place] + put + line[place + gone :] + "\n", encoding="utf-8", newline="\n"
    )
    strict = found_or_refused(lambda: [entry.pair for entry in read_pool(path)])
    assert found_or_refused(lambda: list(read_pool(path).pairs)) == strict


def test_the_pairs_of_a_pool_come_in_its_order_and_no_pair_twice(tmp_path: Path) -> None:
    pairs = [Pair(f"q{(7 * n) % 5}", f"d{(3 * n) % 11}") for n in range(55)]
    with locked(Collection(tmp_path)):
        write_pool(tmp_path / "pool.jsonl", map(Pooled, pairs))
    found = read_pool(tmp_path / "pool.jsonl").pairs
    assert (list(found), len(found)) == (pairs, 55)
    assert list(found) == pairs
    with (tmp_path / "pool.jsonl").open("a") as out:
        out.write('{"doc_id": "d3", "query_id": "q2"}\n')
    with pytest.raises(BadInput, match=r"pool\.jsonl:56: the pair q2 d3 stands there twice"):
        read_pool(tmp_path / "pool.jsonl")
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert list(read_pool(empty)) == []


@pytest.mark.parametrize("shares", ['{"one": 0.5}', "[0.5]", '{"1": null}', '"1"'])
def test_a_distribution_that_is_none_is_refused_with_its_line(shares: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    row = '{"query_id": "q", "doc_id": "d", "grade": 1, "status": "judged", "distribution": %s}'
    path.write_text(row % shares)
    for read in (grades_of, read_judgements):
        with pytest.raises(BadInput, match=r"a\.jsonl:1: expected 'distribution' to be an object"):
            list(read(path))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1", "1e400", "1" + "0" * 400, '"x"', "[1]"])
def test_numbers_in_a_row_of_judgements_that_are_none_are_unknown(
    value: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    names = ("attempts", "prompt_tokens", "completion_tokens", "cost")
    numbers = ", ".join(f'"{name}": {value}' for name in names)
    row = f'{{"query_id": "q", "doc_id": "d", "grade": 1, "status": "judged", {numbers}}}'
    path.write_text(row)
    (judged,) = (row.judged for row in read_judgements(path))
    assert (judged.attempts, judged.prompt_tokens, judged.completion_tokens) == (0, 0, 0)
    assert judged.cost is None


def test_a_distribution_that_was_computed_as_nan_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    row = '{"query_id": "q", "doc_id": "d", "grade": 1, "status": "judged", "distribution": %s}'
    path.write_text(row % '{"0": NaN, "1": NaN}')
    assert list(grades_of(path)) == [("q", "d", 1)]
    (judged,) = (row.judged for row in read_judgements(path))
    assert judged.outcome == Judgement(Pair("q", "d"), 1)


@pytest.mark.parametrize("grade", ["1" + "0" * 400, "-2147483648", "true", "1.0", "NaN", "[]"])
def test_a_grade_in_a_row_of_judgements_is_an_integer_that_qrels_can_hold(
    grade: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"query_id": "q", "doc_id": "d", "grade": {grade}, "status": "judged"}}')
    with pytest.raises(BadInput, match=r"a\.jsonl:1: grade .{1,100} with status") as caught:
        list(grades_of(path))
    assert len(str(caught.value)) < 400
