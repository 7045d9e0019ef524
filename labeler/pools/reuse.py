"""Whether a pool judges a system fairly that did not help to fill it: each run left out in turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Annotated

from labeler.collection.card import card_section, read_card
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.pool import read_pool
from labeler.collection.user_files import collection_runs, runs_by_name
from labeler.collection.whose import drawn_by_chance, routed_pairs
from labeler.data import Pair, Pooled, Qrels, Run
from labeler.errors import Misuse
from labeler.exchange.runs import read_run
from labeler.metrics import evaluate
from labeler.metrics.registry import parse_all
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Table, shown, table_of
from labeler.trec.qrels import read_qrels
from labeler.trec.runs import ranking

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
    runs: tuple[RunLeftOut, ...]

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
            least = min(other.judged_left_out for other in self.runs if other is not row)
            if row.judged < least:
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
    grades = drawn_by_chance(read_qrels(path), routed_pairs(opened, qrels), path)
    runs = {name: read_run(p) for name, p in runs_by_name(collection_runs(opened.folder)).items()}
    if len(runs) < 2:
        raise Misuse("leaving a run out takes two runs or more")
    (parsed,) = parse_all([measure])
    pool = read_pool(opened.pool)
    finders = _finders(pool, runs, _depth(opened))
    full = {name: _scores(grades, run, str(parsed)) for name, run in runs.items()}
    rows = []
    for name in runs:
        alone = brought_alone(pool, finders, {name})
        reduced = _without(grades, alone)
        scores = {other: _scores(reduced, run, str(parsed), grades) for other, run in runs.items()}
        gone = [grades[q][d] for q, d in alone if d in grades.get(q, {})]
        (score, judged), (left_out, judged_left_out) = full[name], scores[name]
        rows.append(
            RunLeftOut(
                name,
                len(gone),
                sum(grade >= 1 for grade in gone),
                score,
                left_out,
                _rank(full, name),
                _rank(scores, name),
                judged,
                judged_left_out,
            )
        )
    return Reusability(str(parsed), tuple(sorted(rows, key=lambda row: (row.rank, row.run))))


def _depth(collection: Collection) -> int:
    depth = card_section(read_card(collection), "pool").get("depth")
    return depth if isinstance(depth, int) and depth > 0 else DEPTH


def _finders(pool: Iterable[Pooled], runs: Mapping[str, Run], depth: int) -> dict[Pair, set[str]]:
    """The runs that have each pair within its depth, for the pairs of the pool that runs brought.

    A pair that an expansion brought has none, unless a run has it there, too.
    """
    tops = {
        name: {query_id: set(ranking(scores)[:depth]) for query_id, scores in run.items()}
        for name, run in runs.items()
    }
    finders = {}
    for entry in pool:
        query_id, doc_id = entry.pair
        now = {name for name, top in tops.items() if doc_id in top.get(query_id, ())}
        names = now | {name for name in entry.runs if name not in runs}
        if entry.inclusion is None and (names or entry.runs or entry.seeds):
            finders[entry.pair] = names or (set() if entry.round else set(entry.runs))
    return finders


def brought_alone(
    pool: Iterable[Pooled], finders: Mapping[Pair, Set[str]], family: Set[str]
) -> set[Pair]:
    """The pairs that would not be in the pool without some runs.

    No other run has them. If an expansion added them, every relevant document that led to them
    would be gone, too.
    """
    alone = {pair for pair, names in finders.items() if names <= family}
    neighbors: dict[Pair, list[Pair]] = {}
    for entry in pool:
        if entry.pair in alone:
            for seed in entry.seeds:
                neighbors.setdefault(Pair(entry.pair.query_id, seed), []).append(entry.pair)
    reached = [seed for seed in neighbors if seed not in alone]
    while reached:
        for pair in neighbors.get(reached.pop(), ()):
            if pair in alone:
                alone.remove(pair)
                reached.append(pair)
    return alone


def _without(grades: Qrels, pairs: set[Pair]) -> Qrels:
    return {
        query_id: {d: grade for d, grade in row.items() if Pair(query_id, d) not in pairs}
        for query_id, row in grades.items()
    }


def _scores(
    grades: Qrels, run: Run, measure: str, queries: Qrels | None = None
) -> tuple[float, float]:
    """The mean score over the queries of the qrels, where a query without grades counts 0."""
    judged = f"Judged@{DEPTH}"
    values = evaluate({q: row for q, row in grades.items() if row}, run, [measure, judged])
    by_query, of = values.per_query(), len(queries or grades)
    score, share = (
        sum(row[name] for row in by_query.values() if row[name] == row[name]) / of
        for name in (measure, judged)
    )
    return score, share


def _rank(scores: Mapping[str, tuple[float, float]], name: str) -> int:
    return 1 + sum(score > scores[name][0] for score, _ in scores.values())
