"""A result declares its figures once; JSON, tables, a frame and words are made from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result, as_plain
from labeler.report.table import Column, Interval, Table, interval_text, shown, table_of


class Side(Enum):
    LEFT = "left"


class Point(NamedTuple):
    run: str
    pairs: int
    share: Annotated[float, Column(title="of all", format=".0%")]
    score: Interval
    parts: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Made(Result):
    name: str
    rows: Hidden[Mapping[str, int]]
    score: Interval
    points: tuple[Point, ...] = ()
    findings: tuple[Finding, ...] = field(default=())

    @shown
    def pairs(self) -> int:
        return len(self.rows)

    @property
    def sentences(self) -> list[str]:
        return [f"It is {interval_text(self.score)}."]

    def tables(self) -> list[Table]:
        return [table_of("points", Point, self.points)]


POINT = Point("a", 1200, 0.25, Interval(0.5, 0.25, 0.75))
MADE = Made(
    "x",
    {"a": 1, "b": 2},
    Interval(0.5, float("nan"), None),
    (POINT,),
    (Finding("few queries"), Finding("all is well", level="note")),
)


def test_json_has_all_fields_but_hidden_ones_and_what_is_shown() -> None:
    assert MADE.as_json() == {
        "name": "x",
        "score": {"value": 0.5, "low": None, "high": None},
        "points": [{**POINT._asdict(), "score": POINT.score._asdict(), "parts": []}],
        "pairs": 2,
        "warnings": ["few queries"],
    }
    assert json.loads(json.dumps(MADE.as_json())) == MADE.as_json()


def test_a_table_of_records_has_a_column_for_each_field_that_a_cell_can_show() -> None:
    (table,) = MADE.tables()
    assert table.titles == ["run", "pairs", "of all", "score"]
    assert table.texts() == [["a", "1,200", "25%", "0.500 [0.250, 0.750]"]]
    assert [column.align for column in table.shown] == ["left", "right", "right", "right"]
    assert list(MADE.frame()) == ["run", "pairs", "share", "score", "score low", "score high"]


def test_a_column_may_stand_in_place_of_a_declared_one() -> None:
    table = table_of("points", Point, [POINT], instead={"share": Column("part", format=".1%")})
    assert table.keys[2] == "part"


def test_a_notebook_and_markdown_show_sentences_tables_and_findings() -> None:
    for view in (MADE._repr_html_(), MADE.markdown()):
        assert all(words in view for words in ("It is 0.500", "of all", "few queries"))
    assert repr(MADE) == "Made(name='x', pairs=2)"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float64("inf"), None),
        (np.int64(3), 3),
        (np.array([[1, 2]]), [[1, 2]]),
        (Side.LEFT, "left"),
        (Path("a") / "b", "a/b"),
        ({2, 1}, [1, 2]),
        ({1: (POINT.score,)}, {"1": [{"value": 0.5, "low": 0.25, "high": 0.75}]}),
        (ValueError("stopped"), "stopped"),
    ],
)
def test_values_become_what_json_can_say(value: object, plain: object) -> None:
    assert as_plain(value) == plain


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        as_plain(object())


def test_a_value_without_an_interval_is_said_alone() -> None:
    assert interval_text(Interval(-0.0001, None, None), "+.2f") == "0.00"
    assert interval_text(None) == "undefined"
    assert (
        interval_text(Interval(1234.5, 1000.0, 1500.0), "$") == "$1,234.50 [$1,000.00, $1,500.00]"
    )
