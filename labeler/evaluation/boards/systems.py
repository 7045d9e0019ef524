"""Systems with their means by two qrels, the pairs that swap, and both as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from labeler.messages import count_of
from labeler.report.table import Cell, Column, Table
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.pairwise import Decisions
from labeler.stats.rankings import Correlation


@dataclass(frozen=True)
class System:
    """A run's mean score and rank by two qrels, and the second's mean minus the first's.

    `low` and `high` are of that difference, over queries; `None` for fewer than two. `judged` is
    the share of its first documents that each of the two judged.
    """

    run: str
    first: float
    second: float
    first_rank: int
    second_rank: int
    difference: float
    low: float | None
    high: float | None
    judged: tuple[float, float] = (math.nan, math.nan)


@dataclass(frozen=True)
class Swap:
    """Two systems whose order differs: `better` is so by the first qrels, not by the second.

    `first` and `second` are their differences by each, `p_first` and `p_second` of these, of this
    pair alone: of pairs without a difference, 5 of 100 are below .05.
    """

    better: str
    worse: str
    first: float
    second: float
    p_first: float
    p_second: float

    @property
    def significant(self) -> bool:
        """Whether the first qrels tell the two apart, this pair alone at 5 %."""
        return self.p_first < SIGNIFICANT

    @property
    def significant_by_second(self) -> bool:
        """The same by the second qrels."""
        return self.p_second < SIGNIFICANT

    @property
    def verdict(self) -> str:
        """By which qrels the difference can be told from chance."""
        by_both = (self.significant, self.significant_by_second)
        words = {(True, True): "both", (True, False): "the first alone"}
        return words.get(by_both, "the second alone" if by_both[1] else "neither")


def system_table(
    systems: Sequence[System], measure: str, names: tuple[str, str], judged: str = ""
) -> Table:
    """A row for each system, from the first qrels' best: means, ranks, and how far it moves up.

    Where `judged` names a measure of how much was judged, its value by either stands beside.
    """
    columns = [Column("run", align="left")]
    for name in names:
        columns += [Column(f"{measure} by {name}"), Column(f"rank by {name}")]
    columns += [Column("moves", only="programs"), Column("moves", only="people")]
    columns += [Column(f"{judged} by {name}", format=".2f") for name in names if judged]
    ordered = sorted(systems, key=lambda system: (system.first_rank, system.run))
    rows = [[*_system_row(system), *(system.judged if judged else ())] for system in ordered]
    return Table("runs", columns, rows)


def _system_row(system: System) -> Iterator[Cell]:
    up = system.first_rank - system.second_rank
    yield from (system.run, system.first, system.first_rank, system.second, system.second_rank)
    yield from (up, f"{up:+d}" if up else "=")


def statistic_table(
    statistics: Mapping[str, Correlation], queries: int, names: tuple[str, str]
) -> Table:
    """How alike the two orders are, a row for each statistic."""
    columns = [
        Column("statistic", only="programs"),
        Column(f"over {count_of(queries, 'query', 'queries')}", align="left", only="people"),
        *(Column(name, only="programs") for name in ("value", "low", "high")),
        *(Column(name, only="people") for name in ("value", "95 % interval")),
    ]
    titles = {
        "tau_b": "Kendall's tau-b",
        "tau_ap": f"tau-ap ({names[0]} is the truth)",
        "tau_ap_b": "tau-ap,b (neither is)",
        "rbo": "RBO, p .9",
        "max_drop": "max drop",
    }
    rows: list[list[Cell]] = [
        [name, titles[name], *correlation[:3], *_texts(name, correlation)]
        for name, correlation in statistics.items()
    ]
    return Table("statistics", columns, rows)


def _texts(name: str, correlation: Correlation) -> tuple[str, str]:
    """The value and its interval; a drop is in whole ranks."""
    spec = ".0f" if name == "max_drop" else ".3f"
    value, low, high, is_open = correlation
    ends = "-" if low is None or high is None else f"[{low:{spec}}, {high:{spec}}]"
    ends = "nearly anything" if is_open else ends
    return "undefined" if value is None else f"{value:{spec}}", ends


SHOWN = 20
"""So many pairs that swap are shown to people beside other tables."""


def swap_table(
    swaps: Sequence[Swap], measure: str, names: tuple[str, str], most: int | None = None
) -> Table:
    """A row for each pair of systems whose order differs, the surest by the first qrels at the top.

    At `most` so many, and a note of how many more there are.
    """
    first, second = names
    columns = [
        *(Column(name, align="left") for name in (f"better by {first}", "than")),
        *(Column(name, format="+.4f") for name in (f"{measure} by {first}", f"by {second}")),
        *(Column(f"p alone, {name}") for name in names),
        Column("told apart by"),
    ]
    words = {"the first alone": f"{first} alone", "the second alone": f"{second} alone"}
    ordered = sorted(swaps, key=lambda swap: swap.p_first)[:most]
    rows = [
        (
            *(s.better, s.worse, s.first, s.second, s.p_first, s.p_second),
            words.get(s.verdict, s.verdict),
        )
        for s in ordered
    ]
    more = len(swaps) - len(ordered)
    return Table("swaps", columns, rows, note=f"and {more:,} more pairs that swap" if more else "")


TESTS = {"alone": "each pair alone", "hsd": "allowing for all pairs (HSD)"}
"""How pairs are tested, and what tables call it."""


def significance_table(decisions: Mapping[str, Decisions], names: tuple[str, str]) -> Table:
    """Which pairs both qrels tell apart, one of the two, or neither, and whether they agree."""
    first, second = names
    columns = [
        Column("test", only="programs"),
        Column("test", "pairs told apart at 5 %", align="left", only="people"),
        *(Column(name) for name in ("AA", "AD", "MA", "MD", "PA", "PD")),
        Column("first", f"by {first}"),
        Column("second", f"by {second}"),
        Column("unconfirmed", f"not by {first}"),
        Column("share", format=".0%"),
    ]
    rows = [
        [name, TESTS[name], *_counts(of), of.first, of.second, of.unconfirmed, of.unconfirmed_share]
        for name, of in decisions.items()
    ]
    key = (
        "first letter: both tell the pair apart (A), one does (M), neither does (P); "
        "second: the same system is first (A), or not (D)"
    )
    return Table("significance", columns, rows, note=key)


def _counts(of: Decisions) -> Iterator[int]:
    yield from (of.active_agreements, of.active_disagreements)
    yield from (of.mixed_agreements, of.mixed_disagreements)
    yield from (of.passive_agreements, of.passive_disagreements)


def decisions_as_json(of: Decisions) -> dict[str, float | None]:
    """The counts under the names that the field gives them."""
    names = ("AA", "AD", "MA", "MD", "PA", "PD")
    return {
        **dict(zip(names, _counts(of), strict=True)),
        "significant_first": of.first,
        "significant_second": of.second,
        "unconfirmed": of.unconfirmed,
        "unconfirmed_share": of.unconfirmed_share,
        "missed": of.missed,
    }
