"""What is said of the replies that a store keeps, whatever keeps it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from labeler.errors import BadInput
from labeler.messages import moment
from labeler.report.table import Column, Table

ROWS_AT_ONCE = 500
FORGOTTEN_AT_ONCE = 10_000
"""How many replies one transaction forgets, so that processes that judge meanwhile wait little."""


class Verified(NamedTuple):
    """How many replies there are, and what is not as it was written."""

    replies: int
    problems: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The count, and the problems as they are said."""
        return self._asdict()


class ModelCount(NamedTuple):
    """What is kept of one model; the cost is None where no price was known."""

    model: str
    replies: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    first: float
    last: float


_COLUMNS = (
    Column("model", align="left"),
    Column("replies", format=",d"),
    Column("tokens in", format=",d"),
    Column("tokens out", format=",d"),
    Column("cost", format="$", undefined="unknown"),
    Column("last", align="left"),
)


def statistics_table(counts: Sequence[ModelCount], note: str = "") -> Table:
    """What is kept as a table, with the time of each model's last reply."""
    rows = [
        (
            count.model,
            count.replies,
            count.tokens_in,
            count.tokens_out,
            count.cost,
            moment(count.last)[:16],
        )
        for count in counts
    ]
    return Table("store", _COLUMNS, rows, note=note)


def timestamp_of(day: str) -> float:
    """When a day (`2026-01-31`) begins, by the clock of this machine."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
        raise BadInput(f"{day!r} is not a day; expected one as 2026-01-31")
    try:
        return datetime.fromisoformat(day).astimezone().timestamp()
    except ValueError as error:
        raise BadInput(f"{day!r} is not a day: {error}") from error
