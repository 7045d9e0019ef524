"""What the default tests try of many examples and rows; the second tier tries all of them.

How many examples a property is tried on: a quarter of them by default, all in the second tier.

`EXAMPLES=all scripts/test -m hypothesis` draws as many as each property names; `.ci/run` does so.
"""

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")

ALL = os.environ.get("EXAMPLES") == "all"
FEWEST = 15


def steadily(most: int = 100) -> settings:
    """The same examples in every run, `most` of them where all are asked for."""
    drawn = most if ALL else max(most // 4, min(most, FEWEST))
    return settings(derandomize=True, deadline=None, max_examples=drawn)


def tiers(rows: Iterable[T], *by_default: T) -> list[Any]:
    """The rows of a parametrised test: those that follow run by default, the others as sweep.

    Texts are their own names; other rows are named as pytest names them.
    """
    rows = list(rows)
    assert set(by_default) <= set(rows), set(by_default) - set(rows)
    marks = {row: [] if row in by_default else [pytest.mark.sweep] for row in rows}
    return [
        pytest.param(row, marks=marks[row], id=row if isinstance(row, str) else None)
        for row in rows
    ]
