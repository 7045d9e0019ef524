"""`route`: which pairs should a person look at?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np

from labeler.agreement.align import drawn_weights
from labeler.agreement.shares import RoutingSources, open_routing, spread
from labeler.arrays import Flags, Floats, Integers
from labeler.collection.layout import Collection
from labeler.collection.user_files import Output
from labeler.data import Pair
from labeler.errors import BadInput, Misuse
from labeler.messages import Note, count_of, no_pair_in_common
from labeler.options import COUNT, Options, option
from labeler.people.sample import SheetSample, route_sheet
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Table, table_of
from labeler.trec.pairs import NONE, PairColumns

Criterion = Literal["disagreement", "doubt"]
ABOUT: dict[Criterion, str] = {
    "disagreement": "how far the assessors' grades of the pair lie apart",
    "doubt": "how often people gave another grade where the assessor gave this one",
}


class RoutedPair(NamedTuple):
    """A pair for a person, the grade that stands until then, and how much it is needed."""

    query_id: Annotated[str, Column("query_id", align="left")]
    doc_id: Annotated[str, Column("doc_id", align="left")]
    grade: int
    need: float


@dataclass(frozen=True, eq=False, repr=False)
class RouteResult(Result):
    """The pairs whose grades people should check, the most needed first.

    `candidates` counts the pairs that nobody has looked at.
    """

    assessors: Sequence[str]
    by: Criterion
    pairs: Sequence[RoutedPair]
    candidates: int
    people: str | None = None
    collection: Hidden[Collection | None] = None
    findings: Sequence[Finding] = ()

    @property
    def sentences(self) -> list[str]:
        """Which pairs these are."""
        pairs = count_of(len(self.pairs), "pair")
        queries = count_of(len({routed.query_id for routed in self.pairs}), "query")
        return [
            f"{pairs} of {self.candidates:,} that nobody has graded, in {queries}: chosen by "
            f"{self.by}, {ABOUT[self.by]}."
        ]

    def tables(self) -> list[Table]:
        """The pairs, the most needed first."""
        return [table_of("pairs", RoutedPair, self.pairs, title="the most needed first")]


@dataclass(frozen=True)
class RouteOptions(Options):
    """How many pairs a person grades.

    `people` are human qrels of pairs drawn by chance; None is a collection's own, where it has
    some.
    """

    budget: int = option(100, "How many pairs people grade.", COUNT, flags="--pairs")
    people: str | None = option(
        None, "Human qrels of pairs drawn by chance, by which doubt is learned.", metavar="QRELS"
    )


def route(*sources: str | Path, options: RouteOptions | None = None) -> RouteResult:
    """Choose the pairs whose grades people should check.

    `sources` are a collection and names of sets of its grades, or files of grades: people's grades
    replace those of the first, the others help to tell which are in doubt. Of one assessor's plain
    grades people's tell it. Pairs that people graded already are not chosen.

    >>> import tempfile
    >>> from labeler.trec.write import write_qrels
    >>> folder = tempfile.TemporaryDirectory()
    >>> first, second = (Path(folder.name) / f"{name}.qrels" for name in ("first", "second"))
    >>> write_qrels(first, {"q": {"a": 2, "b": 0, "c": 1}})
    >>> write_qrels(second, {"q": {"a": 2, "b": 3, "c": 0}})
    >>> [routed.doc_id for routed in route(first, second, options=RouteOptions(2)).pairs]
    ['b', 'c']
    >>> folder.cleanup()
    """
    options = options or RouteOptions()
    opened = open_routing([str(source) for source in sources], options.people)
    by, need = criterion_of(opened), needs(opened)
    pairs = opened.matrix.pairs
    is_new = np.ones(pairs.size, bool)
    for qrels in (*opened.looked_at, opened.human or {}):
        is_new &= pairs.rows_in(PairColumns.of(qrels, np.int64)) == NONE
    candidates = np.flatnonzero(is_new)
    if not len(candidates):
        raise Misuse("people graded every pair already; there is none to route")
    order = order_of(need, candidates)[: options.budget]
    each = zip(order, opened.grades[order].tolist(), need[order].tolist(), strict=True)
    return RouteResult(
        opened.matrix.assessors,
        by,
        tuple(RoutedPair(*pairs.pair(row), grade, needed) for row, grade, needed in each),
        len(candidates),
        opened.human_name or None,
        opened.collection,
        tuple(map(Finding, opened.notes)),
    )


def write_routed(
    result: RouteResult, output: Output | Path, note: Note = lambda _line: None
) -> SheetSample:
    """Write the routed pairs as a sheet for people, which `import_sheet` takes back.

    The collection keeps with the sample that its pairs were routed, so that no statistic takes
    people's grades of them for those of a random sample.

    >>> from labeler.testing import fake_model, small_collection
    >>> import labeler
    >>> collection = small_collection()
    >>> for name in ("low", "high"):
    ...     grade = {"low": 0, "high": 2}[name]
    ...     model = fake_model(f'{{"grade": {grade}}}', name)
    ...     _ = labeler.judge(collection, model=model, name=name)
    >>> result = route(collection.folder, "low", "high", options=RouteOptions(2))
    >>> write_routed(result, collection.folder / "routed.csv").pairs
    2
    """
    if result.collection is None:
        raise Misuse("a sheet is of a collection, whose texts people read; these are files")
    names = list(result.assessors)
    made = {"source": names[0], "by": result.by, "assessors": names}
    pairs = [Pair(each.query_id, each.doc_id) for each in result.pairs]
    return route_sheet(result.collection, pairs, output, made, note)


# How much a person's grade of each pair is needed.


def criterion_of(sources: RoutingSources) -> Criterion:
    """Disagreement, where anything tells of it; else doubt by people's grades.

    `Misuse` where neither distributions nor other assessors nor people tell which are in doubt.
    """
    if sources.tells_disagreement:
        return "disagreement"
    if sources.human is None:
        raise Misuse(
            "one assessor's plain grades do not say which of them are in doubt; name more "
            "assessors, or human qrels, by which doubt can be learned",
            parameter="people",
        )
    return "doubt"


def needs(sources: RoutingSources, learned_from: Flags | None = None) -> Floats:
    """How much a person's grade of each pair is needed; only the order counts.

    Doubt is the share of people's pairs with the same grade by the assessor to which they gave
    another one, of those that it is `learned_from`.
    """
    if sources.tells_disagreement:
        return spread(sources.matrix)
    pairs, human, grades = sources.matrix.pairs, sources.human or {}, sources.grades
    people = pairs.beside(PairColumns.of(human, np.int64), -1)
    weight = np.nan_to_num(drawn_weights(pairs, sources.weights)) * (people >= 0)
    if learned_from is not None:
        weight = weight * learned_from
    if not weight.any():
        labels, name = pairs.holding(grades), sources.matrix.assessors[0]
        raise BadInput(no_pair_in_common(sources.human_name, human, name, labels))
    weight = weight / weight[weight > 0].mean()
    _, grade = np.unique(grades, return_inverse=True)
    all_of, others = (np.bincount(grade, each) for each in (weight, weight * (people != grades)))
    # with one pair more of each grade, half of it another one
    return ((others + 0.5) / (all_of + 1))[grade]


def order_of(values: Floats, candidates: Integers, seed: int = 0) -> Integers:
    """The candidates from the most needed to the least, equal ones in random order."""
    noise = np.random.default_rng(seed).random(len(candidates))
    return candidates[np.lexsort((noise, -values[candidates]))]
