"""Whether a pool judges a system fairly that did not help to fill it: each run left out in turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from labeler.arrays import Flags
from labeler.collection.card import card_section, read_card
from labeler.collection.layout import AnyCollection, open_collection
from labeler.collection.pool import Pairs, Pool, read_pool
from labeler.collection.user_files import collection_runs, runs_by_name
from labeler.collection.whose import drawn_by_chance, routed_pairs
from labeler.data import Pair, Run
from labeler.errors import Misuse
from labeler.exchange.runs import read_run
from labeler.metrics import evaluate
from labeler.metrics.registry import parse_all
from labeler.pools.pool import first_documents
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Table, shown, table_of
from labeler.trec.files import read_qrels
from labeler.trec.pairs import PairColumns

DEPTH = 10


@dataclass(frozen=True)
class RunLeftOut:
    """A run with the pool's judgements, and without those that it alone brought.

    `unique` judged pairs are those, `unique_relevant` have a grade of 1 or more. Scores are means
    over the queries of the qrels; ranks count from 1 among all runs. `judged` is the share of its
    first 10 documents that have a grade.
    """

    run: str
    unique: Annotated[int, Column("unique", title="unique pairs")]
    unique_relevant: Annotated[int, Column("unique_relevant", title="relevant")]
    score: float
    score_left_out: Annotated[float, Column("score_left_out", title="left out")]
    rank: int
    rank_left_out: Annotated[int, Column("rank_left_out", title="rank left out")]
    judged: Annotated[float, Column("judged", title="Judged@10")]
    judged_left_out: Annotated[float, Column("judged_left_out", title="Judged@10 left out")]

    @shown
    def change(self) -> Annotated[float, Column(format="+.4f")]:
        """What its score would lose."""
        return self.score_left_out - self.score


@dataclass(frozen=True, eq=False, repr=False)
class Reusability(Result):
    """How each run would have fared as a new system that the pool had not known; best first."""

    measure: str
    runs: Sequence[RunLeftOut]

    def tables(self) -> list[Table]:
        """A row for each run, best first."""
        score = {"score": Column("score", title=self.measure)}
        return [table_of("reuse", RunLeftOut, self.runs, instead=score)]

    @property
    def sentences(self) -> list[str]:
        """What that means for a system that comes later."""
        worst = min(self.runs, key=lambda row: row.change)
        moved = [row.run for row in self.runs if row.rank != row.rank_left_out]
        ranks = f"these would change their rank: {', '.join(moved)}" if moved else "no rank changes"
        of_score = f"up to {-worst.change:.4f} of {self.measure} ({worst.run}, with Judged@10"
        loses = f"a run would lose {of_score} {worst.judged_left_out:.3f})"
        loss = loses if worst.change < 0 else f"no run would lose any of its {self.measure}"
        return [f"left out of the pool, {loss}; {ranks}"]

    @property
    def findings(self) -> list[Finding]:
        """The runs that were judged too little to be compared with the others."""
        findings = []
        for row in self.runs:
            if row.judged < min(other.judged_left_out for other in self.runs if other is not row):
                text = (
                    f"{row.run} has Judged@10 {row.judged:.3f}, less than any other run would have"
                    " that was left out: too little to compare it; pool it and judge what is new"
                )
                findings.append(Finding(text, about=row.run))
        return findings


def reuse(
    collection: AnyCollection,
    qrels: str,
    measure: str = "nDCG@10",
) -> Reusability:
    """Leave each run out of a collection's pool, and score it again.

    The pairs that none of the others has within the pool's depth lose their grades. After Zobel
    (SIGIR 1998).

    >>> from labeler.judging.judge import judge
    >>> from labeler.pools.pool import pool
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> _ = pool(collection, depth=1)
    >>> _ = judge(collection, model=fake_model('{"grade": 1}'), name="llm")
    >>> "bm25" in {row.run for row in reuse(collection, "llm").runs}
    True
    """
    opened = open_collection(collection)
    path = opened.existing_qrels(qrels)
    drawn = drawn_by_chance(read_qrels(path), routed_pairs(opened, qrels), path)
    grades = PairColumns.of(drawn, np.int64)
    runs = {name: read_run(p) for name, p in runs_by_name(collection_runs(opened.folder)).items()}
    if len(runs) < 2:
        raise Misuse("leaving a run out takes two runs or more")
    (parsed,) = parse_all([measure])
    depth = card_section(read_card(opened), "pool").get("depth")
    depth = depth if isinstance(depth, int) and depth > 0 else DEPTH
    finders = Finders.of(read_pool(opened.pool), runs, depth)

    def scores(left: PairColumns[int]) -> dict[str, _Scored]:
        """Means over all queries of the qrels, where one without grades counts 0."""
        names = (str(parsed), f"Judged@{DEPTH}")
        means = {}
        for run_name, run in runs.items():
            rows = evaluate(left, run, names).per_query().values()
            values = ([row[name] for row in rows if row[name] == row[name]] for name in names)
            means[run_name] = _Scored(*(sum(each) / len(grades) for each in values))
        return means

    full = scores(grades)
    rows = []
    for name in runs:
        alone = finders.pool.pairs.keep(finders.brought_alone({name}))
        is_gone = Pairs.in_columns(grades).within(alone)
        gone = grades.value[is_gone]
        without = scores(grades.keep(~is_gone))
        row = RunLeftOut(
            name,
            unique=len(gone),
            unique_relevant=int((gone >= 1).sum()),
            score=full[name].score,
            score_left_out=without[name].score,
            rank=1 + sum(other.score > full[name].score for other in full.values()),
            rank_left_out=1 + sum(o.score > without[name].score for o in without.values()),
            judged=full[name].judged,
            judged_left_out=without[name].judged,
        )
        rows.append(row)
    return Reusability(str(parsed), tuple(sorted(rows, key=lambda row: (row.rank, row.run))))


@dataclass(frozen=True, eq=False)
class Finders:
    """Which of `m` runs have each of the `n` pairs of a pool within its depth: `finds`, `(n, m)`.

    A pair that an expansion brought has none, unless a run has it there, too. `counts`, `(n,)`,
    is false of pairs that neither runs nor an expansion brought.
    """

    pool: Pool
    names: Sequence[str]
    finds: Flags
    counts: Flags

    @classmethod
    def of(cls, pool: Pool, runs: Mapping[str, Run], depth: int) -> Finders:
        """The runs as they are now, and those that the pool names and that are not there."""
        others = {name for source in pool.sources for name in source.runs} - runs.keys()
        names = (*runs, *sorted(others))
        listed = np.array([[n in source.runs for n in names] for source in pool.sources])
        listed = listed.reshape(-1, len(names))[pool.source]
        finds = listed.copy()
        for column, run in enumerate(runs.values()):
            top, _ = first_documents(run, depth)
            finds[:, column] = pool.pairs.within(Pairs.in_columns(top))
        is_old = ~finds.any(axis=1) & (pool.rounds == 0)  # no run has it there any more
        finds[is_old] = listed[is_old]
        return cls(pool, names, finds, finds.any(axis=1) | listed.any(axis=1) | _has_seeds(pool))

    def brought_alone(self, family: Set[str]) -> Flags:
        """The pairs that would not be in the pool without some runs, `(n,)`.

        No other run has them. If an expansion added them, every relevant document that led to them
        would be gone, too.
        """
        others = [column for column, name in enumerate(self.names) if name not in family]
        alone = self.counts & ~self.finds[:, others].any(axis=1)
        rows = np.flatnonzero(alone & _has_seeds(self.pool))
        entries = list(self.pool.keep(rows))
        row_of = {entry.pair: row for entry, row in zip(entries, rows.tolist(), strict=True)}
        neighbors = defaultdict(list)
        for entry in entries:
            for seed in entry.seeds:
                neighbors[Pair(entry.pair.query_id, seed)].append(entry.pair)
        is_gone = Pairs.of(neighbors).within(self.pool.pairs.keep(alone))
        reached = [seed for seed, gone in zip(neighbors, is_gone, strict=True) if not gone]
        while reached:
            for pair in neighbors.get(reached.pop(), ()):
                if alone[row_of[pair]]:
                    alone[row_of[pair]] = False
                    reached.append(pair)
        return alone


def _has_seeds(pool: Pool) -> Flags:
    return np.array([bool(s.seeds) for s in pool.sources], bool)[pool.source]


class _Scored(NamedTuple):
    """A run's mean score and the mean share of its first documents that are judged."""

    score: float
    judged: float
