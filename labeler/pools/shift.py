"""`shift`: how far scores moved since a collection's documents changed, and through what.

Between the state before and now both the grades and the ranking changed. One state in between tells
them apart: the ranking of before, with each passage replaced by what became of it, scored by the
grades of now. What separates it from before are labels; what separates it from now is retrieval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.collection.corpus import corpus_on_demand
from labeler.collection.history import states
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.corpus.matching import Match, match_passages
from labeler.data import Qrels, Run
from labeler.errors import BadInput, Misuse
from labeler.evaluation.inputs import origin_findings
from labeler.messages import count_of
from labeler.metrics.registry import parse_all
from labeler.metrics.scores import evaluate
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table, table_of
from labeler.stats.means import mean_interval
from labeler.trec.files import ranking, read_qrels, read_run

MEASURE = "nDCG@10"
MANY_HOLES = 0.05
"""The share of first documents without a grade from which on it is said."""


class RunShift(NamedTuple):
    """How a run's mean score moved: by labels, by retrieval, and both together.

    The differences have their intervals over queries; the two add up to the whole.
    """

    run: str
    before: Annotated[float, Column()]
    labels: Annotated[Interval, Column("labels", "through labels", "+.4f", ends="+.3f")]
    retrieval: Annotated[Interval, Column("retrieval", "through retrieval", "+.4f", ends="+.3f")]
    now: Annotated[float, Column()]


@dataclass(frozen=True, eq=False, repr=False)
class Shift(Result):
    """How all runs of both states moved, over the queries that both have grades of.

    `holes` is the share of the first ten documents, of all runs and queries, that have no grade
    now: what they would bring counts as labels and as retrieval, and as 0 until it is judged.
    `findings` say why the grades may not stand for those of a pool.
    """

    measure: str
    qrels: str
    state: Path
    queries: int
    holes: float
    runs: Sequence[RunShift]
    findings: Sequence[Finding] = ()

    @property
    def sentences(self) -> list[str]:
        """What is compared, and how much of it has no grade."""
        queries = count_of(self.queries, "query", "queries")
        compared = f"{self.measure} by {self.qrels}, over {queries}, since {self.state}"
        holes = f"{self.holes:.0%} of the first ten documents have no grade now: judge them first"
        return [compared, *([holes] if self.holes > MANY_HOLES else [])]

    def tables(self) -> list[Table]:
        """A row for each run."""
        return [table_of("shift", RunShift, self.runs)]


def shift(
    collection: AnyCollection,
    qrels: str = "",
    *,
    measure: str = MEASURE,
    state: int = 0,
) -> Shift:
    """How far scores moved since `state` of a collection's history (0 is the last one).

    `qrels` names a set that both states have; the empty name takes the only one. The runs are those
    that both states have: `pool` makes the built-in ones anew.

    >>> from tempfile import TemporaryDirectory
    >>> import labeler
    >>> folder = TemporaryDirectory()
    >>> page, asked, made = (Path(folder.name, name) for name in ("cats.md", "q.txt", "made"))
    >>> _ = page.write_text("# Cats\\n\\n" + "A cat sleeps anywhere. " * 30)
    >>> _ = asked.write_text("where do cats sleep\\n")
    >>> for make in (lambda: labeler.ingest(page, made, asked), lambda: labeler.rechunk(made, 60)):
    ...     _ = make(), labeler.pool(made), labeler.judge(made, model="similarity", name="a")
    >>> len(shift(made).runs)
    3
    >>> folder.cleanup()
    """
    now = open_collection(collection)
    before = _state(now, state)
    common = sorted({*before.qrels_names()} & {*now.qrels_names()})
    name = qrels or (common[0] if len(common) == 1 else "")
    if name not in common:
        problem = f"no qrels {qrels!r} in both states" if qrels else "which qrels?"
        listed = ", ".join(common) or "none"
        raise Misuse(f"{problem}; both have: {listed}", parameter="qrels")
    runs = sorted(before.run_files().keys() & now.run_files().keys())
    if not runs:
        raise BadInput(
            f"{before.folder}: "
            f"no run is in both states; `pool` makes the built-in ones of {now.folder} anew"
        )
    matches = match_passages(corpus_on_demand(before.corpus), corpus_on_demand(now.corpus))
    old_qrels = read_qrels(before.qrels(name))
    new_qrels = read_qrels(now.qrels(name))
    queries = sorted(old_qrels.keys() & new_qrels.keys())
    if not queries:
        raise BadInput(f"{now.qrels(name)}: no query that {before.qrels(name)} has grades of")
    old, new = ({q: grades[q] for q in queries} for grades in (old_qrels, new_qrels))
    shifts = []
    tops = 0
    judged = 0
    for run in runs:
        earlier = read_run(before.run(run))
        later = read_run(now.run(run))
        between = translated(earlier, matches)
        rankings = ((old, earlier), (new, between), (new, later))
        first, second, third = (_scores(grades, ranked, measure) for grades, ranked in rankings)
        through = (_mean(second - first), _mean(third - second))
        shifts.append(RunShift(run, float(first.mean()), *through, float(third.mean())))
        for query, both in product(queries, (between, later)):
            top = ranking(both.get(query, {}))[:10]
            tops += len(top)
            judged = judged + len(new[query].keys() & top)
    holes = 1 - judged / tops if tops else 0.0
    parsed = str(parse_all([measure])[0])
    every = [f for each in (before, now) for f in origin_findings(each.qrels(name), of_pool=True)]
    findings = tuple(dict.fromkeys(every))
    return Shift(parsed, name, before.folder, len(queries), holes, tuple(shifts), findings)


def _state(collection: Collection, number: int) -> Collection:
    earlier = states(collection)
    if not earlier:
        raise Misuse(f"{collection.folder} has no earlier state; `update` and `rechunk` keep one")
    if not number:
        return Collection(earlier[-1])
    numbered = {int(path.name): path for path in earlier}
    if number not in numbered:
        raise Misuse(
            f"no state {number}; there are {', '.join(map(str, numbered))}", parameter="state"
        )
    return Collection(numbered[number])


def translated(run: Run, matches: Mapping[str, Match]) -> Run:
    """A run with each passage replaced by what became of it: the parts of one that was split stand
    one after another, what is gone leaves its place, and of passages that became one the best
    ranked counts.
    """
    result = {}
    for query, scores in run.items():
        new_ids = dict.fromkeys(
            new_id
            for doc_id in ranking(scores)
            for new_id in matches.get(doc_id, Match("gone")).new_ids
        )
        result[query] = {new_id: float(len(new_ids) - n) for n, new_id in enumerate(new_ids)}
    return result


def _scores(qrels: Qrels, run: Run, measure: str) -> Floats:
    """The score of each query of the qrels; that of a query without a ranking is 0."""
    return np.asarray(np.nan_to_num(evaluate(qrels, run, [measure]).values[0]), float)


def _mean(values: Floats) -> Interval:
    low, high = mean_interval(values) or (None, None)
    return Interval(float(values.mean()), low, high)
