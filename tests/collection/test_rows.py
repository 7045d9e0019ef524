"""Rows of judgements and pools: what is read of them alone is what is read of them as a whole."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.collection.judgements import JudgementLines, Origin, grades_of, read_judgements
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


def strictly(path: Path) -> list[tuple[str, str, int]]:
    outcomes = [row.judged.outcome for row in read_judgements(path)]
    return [(*o.pair, o.grade) for o in outcomes if isinstance(o, Judgement)]


@steadily(150)
@given(rows=st.lists(judged(), max_size=4))
def test_judgements_read_back_as_they_were(path: Path, rows: list[Judged]) -> None:
    lines = JudgementLines(ORIGIN)
    path.write_text("".join(lines.line(row) + "\n" for row in rows), encoding="utf-8", newline="\n")
    back = list(read_judgements(path))
    assert [row.judged for row in back] == rows
    assert [row.origin for row in back] == [ORIGIN] * len(rows)
    assert list(grades_of(path)) == strictly(path)


@steadily(400)
@given(
    row=judged(),
    at=st.floats(0, 1),
    cut=st.integers(0, 3),
    put=st.sampled_from(list('"{}:, 0-e\\\0\x1fx\t')) | TEXTS,
)
def test_a_damaged_judgement_gives_its_grade_or_is_refused_whoever_reads_it(
    path: Path, row: Judged, at: float, cut: int, put: str
) -> None:
    line = JudgementLines(ORIGIN).line(row)
    place = int(at * len(line))
    path.write_text(line[:place] + put + line[place + cut :] + "\n", encoding="utf-8", newline="\n")
    assert found_or_refused(lambda: list(grades_of(path))) == found_or_refused(
        lambda: strictly(path)
    )


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
