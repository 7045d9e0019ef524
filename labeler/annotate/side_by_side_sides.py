"""Whether a rater prefers a side of the page, whichever run stands there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from labeler.annotate.looked_at import Looked
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.table import Column, Row, Table
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.randomization import holm, sign_test


class SideChosen(NamedTuple):
    """How often a rater preferred what stood left and right, and how often neither.

    Sides are drawn for each query by chance, so that whoever looks at the results alone prefers
    the left as often as the right. `p` is the chance of so uneven a choice, `p_holm` allows for
    several raters.
    """

    rater: str
    left: int
    right: int
    ties: int
    p: float
    p_holm: float

    def as_json(self) -> dict[str, Any]:
        """The counts by name."""
        return self._asdict()


def sides_chosen(looked: Looked) -> list[SideChosen]:
    """The sides that each rater preferred."""
    counts = {rater: Counter(row.answer for row in rows) for rater, rows in looked.rows.items()}
    p = [sign_test(count["left"], count["right"]) for count in counts.values()]
    corrected = holm(np.array(p)).tolist()
    return [
        SideChosen(rater, count["left"], count["right"], count["tie"], alone, allowed)
        for (rater, count), alone, allowed in zip(counts.items(), p, corrected, strict=True)
    ]


def sides_table(sides: Sequence[SideChosen]) -> Table:
    """A row for each rater."""
    columns = [
        Column("rater", align="left"),
        Column("left"),
        Column("right"),
        Column("ties"),
        Column("p", "p (left as often as right)", format=".3g"),
    ]
    rows: list[Row] = [[side.rater, side.left, side.right, side.ties, side.p] for side in sides]
    return Table("sides", columns, rows)


def bias_findings(sides: Sequence[SideChosen]) -> Iterator[Finding]:
    """Which raters prefer a side more than chance allows for."""
    for side in sides:
        if side.p_holm < SIGNIFICANT:
            decided = side.left + side.right
            more, count = ("left", side.left) if side.left > side.right else ("right", side.right)
            times = count_of(decided, "time", "times")
            text = (
                f"{side.rater} preferred the {more} side {count:,} of {times}, more than chance "
                "allows for; sides are drawn by chance, so that this favors neither run, but it "
                "makes real differences smaller"
            )
            yield Finding(text, about=side.rater)
