"""Options that take a number: how small and how large each kind of number may be."""

from __future__ import annotations

from typing import Any, NamedTuple

import typer


class Bounds(NamedTuple):
    """The least and the largest number that an option takes."""

    least: float
    most: float


COUNT = Bounds(1, 10**9)
COUNT_OR_NONE = Bounds(0, 10**9)
CANDIDATES = Bounds(1, 1000)
DEPTH_LOOKED_AT = Bounds(1, 100)
AT_ONCE = Bounds(1, 4096)
JOBS = Bounds(1, 256)
TOKENS = Bounds(0, 10**12)
DOLLARS = Bounds(0, 10**9)
A_MINUTE = Bounds(0.001, 10**12)
SECONDS = Bounds(0, 10**7)
SECONDS_OF_A_CALL = Bounds(0.1, 10**7)
PORT = Bounds(0, 65_535)
SEED = Bounds(0, 2**62)
DRAWS = Bounds(100, 10**5)
GRADE = Bounds(-(2**31) + 1, 2**31 - 1)
TOP_GRADE = Bounds(1, 1000)
SHARE = Bounds(0, 1)
EXPONENT = Bounds(0, 10)
WIDTH = Bounds(0.001, 1000)
WORDS = Bounds(20, 5000)
SIZE_OF_A_FILE = Bounds(1, 10**6)
SIZE = Bounds(-(10**9), 10**9)


def number(bounds: Bounds, *names: str, **settings: Any) -> Any:
    """A Typer option for a number within bounds; NaN and infinities lie in none.

    The help calls it `N`, so that the types leave room for the texts. It shows a lower bound of 0
    or 1 alone: nobody has to know the others before meeting them.
    """

    def check(value: Any) -> Any:
        for part in value if isinstance(value, list | tuple) else [value]:
            if part is not None and not bounds.least <= part <= bounds.most:
                raise typer.BadParameter(f"expected {bounds.least:,} to {bounds.most:,}")
        return value

    least = bounds.least if bounds.least >= 0 else None
    shown = {"metavar": "N", **settings}
    return typer.Option(*names, min=least, callback=check, **shown)
