"""The same runs by two qrels, on the pairs that both judged.

Where the two did not judge the same pairs, their scores differ by what was judged as much as by how
it was graded: a document that one of them lacks counts 0 on its side. So both are scored on the
pairs that both judged, and all other documents are taken out of the rankings, which makes condensed
lists of them: Sakai (2007), SIGIR, "Alternatives to Bpref". Documents that neither judged go, too:
were they left in, both sides would give them 0, and look more alike for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.data import Qrels
from labeler.evaluation.inputs import RunsByName, rank
from labeler.messages import count_of
from labeler.metrics import Measure, Rankings, parse, score
from labeler.metrics.judged import Facts, JudgedPairs
from labeler.metrics.rankings import top_grade
from labeler.metrics.scores import summed_up
from labeler.report.finding import Finding
from labeler.report.table import Column, Table, shown
from labeler.stats.correlation import Correlation
from labeler.stats.student import SIGNIFICANT
from labeler.trec.pairs import PairColumns, joined_pairs

FEW = 0.05
"""Pairs of one side alone that are a smaller share of those of both are taken out alone."""
_AT_ONCE = 1 << 18
"""Runs are scored by queries of about so many pairs at a time, as each copy takes 80 bytes a pair.
"""
_ABSENT = -(2**62)
"""Stands for the grade of a pair that qrels do not hold."""


@dataclass(frozen=True)
class PairCounts:
    """How many pairs of the common queries both qrels judged, and how many one of them alone."""

    both: int
    first_only: int
    second_only: int

    @shown
    def on_shared_pairs(self) -> bool:
        """Whether scores are on the pairs that both judged, as one of the two judged others."""
        return self.first_only + self.second_only > 0

    @property
    def nearly_same(self) -> bool:
        """Whether the pairs that one of the two alone judged are few."""
        return self.first_only + self.second_only < FEW * self.both


@dataclass(frozen=True, eq=False)
class TwoQrels:
    """Two qrels over their common queries as one pool, whose grades are codes of both grades.

    `grades` is `(2, codes)`; `tops` are the top grades of the two. Queries of which no
    pair was judged by both are left out.
    """

    pool: JudgedPairs
    grades: Integers
    tops: tuple[int, int]
    counts: PairCounts

    def own(self, ranked: Rankings, side: int) -> Rankings:
        """The rankings by all that one of the two judged."""
        return _regraded(ranked, self.grades[side], self.grades[side] > _ABSENT, self.tops[side])

    def on_shared_pairs(self, ranked: Rankings, side: int) -> Rankings:
        """The rankings by one of the two, without the documents that one of them alone judged.

        Without those that neither judged, too, where the former are more than a few.
        """
        few = self.counts.nearly_same
        left = _without(ranked, (self.grades >= 0).sum(axis=0) == 1) if few else ranked
        by_side = _regraded(left, self.grades[side], self.grades.min(axis=0) >= 0, self.tops[side])
        return by_side if few else by_side.condensed


def two_qrels(
    first: Qrels,
    second: Qrels,
    tops: tuple[int | None, int | None] = (None, None),
    name: str = "the qrels",
) -> TwoQrels | None:
    """The two over the queries that both hold; `None` where no query is left.

    `tops` are the top grades of the scales, the largest grades where they are not known.
    """
    sides = [PairColumns.of(qrels, np.int32) for qrels in (first, second)]
    common = {query for query in first.keys() & second.keys() if first[query] and second[query]}
    sides = [
        side.keep(np.isin(side.query, [side.place_of_query[query] for query in common]))
        for side in sides
    ]
    joined = joined_pairs(sides)
    # of each pair one number: the places of both grades, 0 where there is none
    own, other = distinct = [np.unique(side.value) for side in sides]
    before, after = (
        joined.values(column, 1 + np.searchsorted(grades, side.value).astype(np.int32), 0)
        for column, (side, grades) in enumerate(zip(sides, distinct, strict=True))
    )
    width = len(other) + 1
    cells = before * width + after
    used = np.flatnonzero(np.bincount(cells))
    code = np.searchsorted(used, cells).astype(np.int32)
    grades = np.stack(
        [np.append(_ABSENT, own)[used // width], np.append(_ABSENT, other)[used % width]]
    )
    by_first, by_second = grades >= 0
    pairs = np.bincount(code, minlength=len(used))
    kinds = (by_first & by_second, by_first & ~by_second, by_second & ~by_first)
    counts = PairCounts(*(int(pairs[kind].sum()) for kind in kinds))
    # of queries of which both judged some pair
    rows = np.flatnonzero(
        np.isin(joined.query, joined.query[kinds[0][code]]) | (not counts.on_shared_pairs)
    )
    if not len(rows):
        return None
    coded: PairColumns[int] = joined.columns(rows).holding(code[rows])
    del joined, before, after, cells, code, rows  # of millions of pairs, and the pool is made yet
    first_top, second_top = (
        top_grade(side.value) if top is None else top for side, top in zip(sides, tops, strict=True)
    )
    return TwoQrels(JudgedPairs.of(coded, name), grades, (first_top, second_top), counts)


def _without(ranked: Rankings, out: Flags) -> Rankings:
    """The rankings without the documents of some codes; those below move up."""
    leaves = out[ranked.grade]
    above: Integers = np.cumsum(leaves) - leaves
    starts = np.searchsorted(ranked.query, np.arange(ranked.n))
    # how many of the documents above each, of the same query, leave
    moved: Integers = above - above[np.minimum(starts, max(len(above) - 1, 0))][ranked.query]
    stays = ~leaves
    return replace(
        ranked,
        retrieved=ranked.retrieved - np.bincount(ranked.query[leaves], minlength=ranked.n),
        query=ranked.query[stays],
        rank=(ranked.rank - moved)[stays],
        grade=ranked.grade[stays],
    )


def _regraded(ranked: Rankings, grades: Integers, counts: Flags, top: int) -> Rankings:
    """The rankings with grades in place of codes; pairs of codes that do not count are no more."""
    hits, pairs = counts[ranked.grade], counts[ranked.pool_grade]
    pool_query, pool_grade = ranked.pool_query[pairs], grades[ranked.pool_grade[pairs]]
    distinct, worse = np.unique(-grades, return_inverse=True)
    of_pair = pool_query.astype(np.int64) * len(distinct) + worse[ranked.pool_grade[pairs]]
    order = np.argsort(of_pair, kind="stable")
    return replace(
        ranked,
        query=ranked.query[hits],
        rank=ranked.rank[hits],
        grade=grades[ranked.grade[hits]],
        pool_query=pool_query[order],
        pool_grade=pool_grade[order],
        max_grade=top,
    )


@dataclass(frozen=True, eq=False)
class TwoScores:
    """The scores of runs by two qrels, `(2, runs, queries)`, and what they stand on.

    `judged` is `(2, runs)`: the share of each run's first documents that each of the two judged;
    `facts` are of each run.
    """

    queries: tuple[str, ...]
    values: Floats
    judged: Floats
    facts: tuple[Facts, ...]


def judged_name(measure: Measure) -> str:
    """The measure of how much was judged, as deep as the measure looks, or 10 documents deep."""
    return f"Judged@{measure.cutoff if isinstance(measure.cutoff, int) else 10}"


def score_twice(two: TwoQrels, runs: RunsByName, measure: Measure) -> TwoScores:
    """Score each run by both; a run is read once."""
    shares = parse(judged_name(measure))
    values, judged, facts = [], [], []
    block = two.pool.starts[:-1] // _AT_ONCE
    for run in runs.values():
        ranked, facts_of_run = rank(run, two.pool)
        parts = []  # of some queries each, by either side the scores and the shares
        for number in np.unique(block).tolist():
            part = ranked.choose(block == number)
            own = scored = [two.own(part, side) for side in (0, 1)]
            if two.counts.on_shared_pairs:
                scored = [two.on_shared_pairs(part, side) for side in (0, 1)]
            both = [*(score(side, [measure]) for side in scored)]
            both += [score(side, [shares]) for side in own]
            parts.append([each.values[0] for each in both])
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        values.append(columns[:2])
        judged.append([summed_up(shares, column) for column in columns[2:]])
        facts.append(facts_of_run)
        del ranked  # before the next run is read
    of_sides = np.ascontiguousarray(np.array(values).swapaxes(0, 1))
    return TwoScores(two.pool.queries, of_sides, np.array(judged).T, tuple(facts))


def pair_findings(counts: PairCounts, names: tuple[str, str]) -> Iterator[Finding]:
    """That the two did not judge the same pairs, and on which of them systems are scored."""
    if not counts.on_shared_pairs:
        return
    alone = ((counts.first_only, names[0]), (counts.second_only, names[1]))
    which = " and ".join(
        f"{count_of(number, 'pair')} by {name} alone" for number, name in alone if number
    )
    both = f"{count_of(counts.both, 'pair')} by both"
    judged = f"the two did not judge the same pairs ({both}, {which})"
    others = "the latter" if counts.nearly_same else "other documents"
    how = f"systems are scored on what both judged, {others} taken out of the rankings"
    yield Finding(f"{judged}: {how}")


# Tests of every two systems by two qrels, and how far the two agree on which pairs differ.
#
# Two qrels may order systems alike and still tell other pairs apart, so that what one of them calls
# proven, the other does not. The six counts are those of Moffat, Scholer and Thomas (2012), ADCS,
# and of Ferro and Sanderson (2019), SIGIR; Faggioli and Ferro (2021), ECIR, use them as they stand.


@dataclass(frozen=True)
class Decisions:
    """How far two sets of tests agree on pairs of systems, under the names that the field has.

    The first letter: both tell a pair apart (A, active), one of them does (M, mixed), neither does
    (P, passive). The second: both put the same system first or one ties the pair (A), or not (D).
    `significant_first` and `significant_second` count the pairs that each tells apart.
    """

    AA: int
    AD: int
    MA: int
    MD: int
    PA: int
    PD: int
    significant_first: int
    significant_second: int

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.AA + self.AD + self.MA + self.MD + self.PA + self.PD

    @shown
    def unconfirmed(self) -> int:
        """How many pairs the second tells apart and the first does not, or not that way round."""
        return self.significant_second - self.AA

    @shown
    def unconfirmed_share(self) -> float | None:
        """Their share of all that the second tells apart; `None` where it tells none apart."""
        return self.unconfirmed / self.significant_second if self.significant_second else None

    @shown
    def missed(self) -> int:
        """How many pairs the first tells apart and the second does not, or not that way round."""
        return self.significant_first - self.AA


def decisions(means: Floats, p: Sequence[Floats]) -> Decisions:
    """The counts over all pairs of systems, from `(2, systems)` means and the p of either side."""
    upper = np.triu_indices(means.shape[1], 1)
    signs = [np.sign(side[upper[0]] - side[upper[1]]) for side in means]
    alike = signs[0] * signs[1] >= 0
    by_first, by_second = (side[upper] < SIGNIFICANT for side in p)
    active, mixed = by_first & by_second, by_first ^ by_second
    masks = [kind & way for kind in (active, mixed, ~(active | mixed)) for way in (alike, ~alike)]
    return Decisions(*(int(mask.sum()) for mask in (*masks, by_first, by_second)))


# Systems with their means by two qrels, the pairs that swap, and both as tables.


@dataclass(frozen=True)
class System:
    """A run's mean score and rank by two qrels, and the second's mean minus the first's.

    `low` and `high` are of that difference, over queries; `None` for fewer than two.
    `judged_first` and `judged_second` are the shares of its first documents that each judged.
    """

    run: str
    first: float
    second: float
    rank_first: int
    rank_second: int
    difference: float
    low: float | None
    high: float | None
    judged_first: float
    judged_second: float


@dataclass(frozen=True)
class Swap:
    """Two systems whose order differs: `better` is so by the first qrels, not by the second.

    `first` and `second` are their differences by each, `p_first` and `p_second` of these, which
    allow for all pairs of systems.
    """

    better: str
    worse: str
    first: float
    second: float
    p_first: float
    p_second: float

    @shown
    def significant_by(self) -> str:
        """Which qrels tell the two apart at 5 %, allowing for all pairs."""
        if self.p_first < SIGNIFICANT:
            return "both" if self.p_second < SIGNIFICANT else "the first alone"
        return "the second alone" if self.p_second < SIGNIFICANT else "neither"


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
    rows = []
    for s in sorted(systems, key=lambda system: (system.rank_first, system.run)):
        up = s.rank_first - s.rank_second
        moves = up, f"{up:+d}" if up else "="
        shares = (s.judged_first, s.judged_second) if judged else ()
        rows.append((s.run, s.first, s.rank_first, s.second, s.rank_second, *moves, *shares))
    return Table("runs", columns, rows)


def statistic_table(
    statistics: Mapping[str, Correlation], queries: int, names: tuple[str, str]
) -> Table:
    """How alike the two orders are, a row for each statistic."""
    columns = [
        Column("statistic", only="programs"),
        Column(f"over {count_of(queries, 'query')}", align="left", only="people"),
        Column("value", format=".3f", ends=".3f", undefined="undefined"),
    ]
    titles = {
        "tau_b": "Kendall's tau-b",
        "tau_ap": f"tau-ap ({names[0]} is the truth)",
    }
    rows = [(name, titles[name], each) for name, each in statistics.items()]
    is_open = any(each.open for each in statistics.values())
    note = "where there is no interval, it would be nearly anything" if is_open else ""
    return Table("statistics", columns, rows, note=note)


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
        *(Column(f"p, {name}") for name in names),
        Column("told apart by"),
    ]
    words = {"the first alone": f"{first} alone", "the second alone": f"{second} alone"}
    ordered = sorted(swaps, key=lambda swap: swap.p_first)[:most]
    rows = [(*vars(s).values(), words.get(s.significant_by, s.significant_by)) for s in ordered]
    more = len(swaps) - len(ordered)
    return Table("swaps", columns, rows, note=f"and {more:,} more pairs that swap" if more else "")
