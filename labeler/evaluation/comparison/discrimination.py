"""How many pairs of runs each measure tells apart: its discriminative power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from labeler.report.table import Cell, Column, Table
from labeler.stats.hsd import AllPairs


@dataclass(frozen=True)
class Discrimination:
    """How many pairs of runs a measure tells apart, allowing for all pairs (randomised HSD, 5 %).

    `share` is the measure's discriminative power, and `least_difference` the smallest difference of
    two means that it tells apart.
    """

    measure: str
    pairs: int
    told_apart: int
    share: float
    least_difference: float


def discrimination(pairs: Mapping[str, AllPairs]) -> tuple[Discrimination, ...]:
    """What each measure tells apart of three runs or more: Sakai (2006), SIGIR."""
    return tuple(
        Discrimination(
            measure,
            tests.pairs,
            tests.told_apart(),
            tests.discriminative_power(),
            tests.least_difference(),
        )
        for measure, tests in pairs.items()
        if len(tests.p) > 2
    )


def discrimination_table(discriminations: Sequence[Discrimination]) -> Table:
    """A row for each measure, the most discriminative first."""
    columns = [
        Column("measure", align="left"),
        *(Column(name) for name in ("pairs", "told apart")),
        Column("share", format=".3f"),
        Column("least difference"),
    ]
    ordered = sorted(discriminations, key=lambda d: -d.share)
    title = "pairs of runs that each measure tells apart (randomised HSD over all pairs)"
    return Table("discrimination", columns, list(map(list, map(_row, ordered))), title)


def _row(d: Discrimination) -> Iterator[Cell]:
    yield from (d.measure, d.pairs, d.told_apart, d.share, d.least_difference)


def discrimination_as_json(discrimination: Discrimination) -> dict[str, Any]:
    """The fields, under the name that the field gives the share."""
    fields = asdict(discrimination)
    return {"discriminative_power" if name == "share" else name: v for name, v in fields.items()}
