"""Options that take a number: how small and how large each kind of number may be."""

from __future__ import annotations

from typing import Any

import typer

from labeler.options import *  # noqa: F403
from labeler.options import Bounds


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
