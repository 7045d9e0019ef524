"""Which of two runs people prefer: win rate, sign test, and what an offline measure says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeler.annotate.journal import read_journals
from labeler.annotate.look import (
    DEPTH,
    MEASURE,
    QRELS,
    WEIGHTS,
    RunsSideBySide,
    named_run,
    two_runs,
)
from labeler.annotate.looked_at import (
    Looked,
    OfflineScores,
    QueryWeights,
    goes_with_people,
    looked_at,
    offline_scores,
    weighting_of,
)
from labeler.collection.layout import Collection, open_collection
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.metrics.scores import Weighting
from labeler.options import option
from labeler.report.finding import Finding
from labeler.report.result import notebook_html
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.correlation import UNDEFINED, Association, tau_over_queries
from labeler.stats.means import Preferences, preferences
from labeler.stats.randomization import TIED, holm, sign_test
from labeler.stats.shares import share_interval
from labeler.stats.student import SIGNIFICANT

if TYPE_CHECKING:
    from pandas import DataFrame

# Whether an offline measure prefers the same of two runs as people do, query by query.


@dataclass(frozen=True, eq=False)
class SideBySideBeside:
    """The differences of two runs by an offline measure on the queries that people compared.

    `same` and `opposite` count the queries where people prefer a run and the measure tells the two
    apart; `untold` those where people prefer a run and the measure has a tie. `share` is that of
    `same` among the first two, with its interval over queries; `tau` the rank correlation of
    people's preference with the difference.
    """

    measure: str
    qrels: str
    names: tuple[str, str]
    differences: Mapping[str, float]
    mean: float | None
    same: int
    opposite: int
    untold: int
    share: Interval
    tau: Association

    @property
    def sentences(self) -> list[str]:
        """Whether the measure and people prefer the same run, as far as these queries show."""
        title = f"{self.measure} by {self.qrels}"
        if not self.differences:
            return [f"No query that people compared is in {self.qrels}."]
        decided = self.same + self.opposite
        if not decided:
            return [f"{title} tells the two apart in none of the queries in which people do."]
        queries = count_of(decided, "query", "queries")
        value, low, high = self.share
        share = f"{100 * (value or 0.0):.0f} %"
        ends = "" if low is None else f" [{100 * low:.0f} %, {100 * (high or 0.0):.0f} %]"
        text = f"{title} prefers the same run as people in {share}{ends} of {queries}"
        return [goes_with_people(text, low, high)]

    def table(self) -> Table:
        """How often the measure prefers what people prefer, and how the two go together."""
        columns = [
            Column("beside", align="left"),
            Column("value", format=".3f", ends=".3f"),
            Column("queries"),
        ]
        first, second = self.names
        mean = Interval(self.mean, None, None)
        queries, decided = len(self.differences), self.same + self.opposite
        rows: list[Row] = [
            [f"{self.measure} of {first} less {second}", mean, queries],
            ["the measure prefers what people prefer", self.share, decided],
            ["tau-b over queries", Interval(*self.tau), queries],
        ]
        return Table("side-by-side-beside", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "measure": self.measure,
            "qrels": self.qrels,
            "queries": len(self.differences),
            "mean_difference": self.mean,
            "same": self.same,
            "opposite": self.opposite,
            "tied_by_measure": self.untold,
            "share_same": self.share._asdict(),
            "tau_b": self.tau._asdict(),
        }


def side_by_side_beside(
    values: Mapping[str, float], offline: OfflineScores, runs: RunsSideBySide, seed: int
) -> SideBySideBeside:
    """The offline differences beside people's preferences, `values` above 0 for the first run."""
    first, second = (offline.scores[name] for name in runs.names)
    differences = {
        q: first[q] - second[q]
        for q in values
        if q in first and q in second and not math.isnan(first[q] - second[q])
    }
    people = np.array([values[q] for q in differences])
    measured = np.array(list(differences.values()))
    apart = (np.abs(people) > TIED) & (np.abs(measured) > TIED)
    agreeing = people[apart] * measured[apart] > 0
    ends = share_interval(agreeing.astype(np.float64)) if apart.any() else None
    return SideBySideBeside(
        offline.measure,
        offline.qrels,
        runs.names,
        differences,
        float(measured.mean()) if differences else None,
        int(agreeing.sum()),
        int((~agreeing).sum()),
        int(((np.abs(people) > TIED) & ~apart).sum()),
        Interval(None, None, None) if ends is None else Interval(float(agreeing.mean()), *ends),
        tau_over_queries(people, measured, seed) if differences else UNDEFINED,
    )


# Whether a rater prefers a side of the page, whichever run stands there.


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


@dataclass(frozen=True)
class SideBySideOptions:
    """How answers about two runs are read; as `LgtmOptions` says of one."""

    depth: int = DEPTH
    weights: str = option("", WEIGHTS)
    qrels: str | None = option(None, QRELS)
    measure: str = option("", MEASURE)
    seed: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class SideBySideReport:
    """Which of two runs people prefer, over the queries asked about and over all.

    `values` are means over each query's raters of 1 for the first run, 0 for a tie, -1 for the
    second. `asked` is over these; in `overall` queries with the same results count as ties, in the
    proportion that they have among all queries (`alike` of `queries`).
    """

    names: tuple[str, str]
    depth: int
    values: Mapping[str, float]
    asked: Preferences
    overall: Preferences
    alike: int
    queries: int
    looked: Looked
    sides: tuple[SideChosen, ...]
    beside: SideBySideBeside | None
    findings: tuple[Finding, ...]
    weights: str = ""

    @property
    def verdict(self) -> str:
        """Which run people prefer, as far as the sign test tells it from chance."""
        if not self.overall.p < SIGNIFICANT:
            return "cannot tell apart"
        return f"{self.names[0 if self.asked.wins > self.asked.losses else 1]} is preferred"

    @property
    def headline(self) -> list[str]:
        """Which run is preferred, of how many queries, and whether an offline measure says so."""
        (first, second), asked = self.names, self.asked
        raters = count_of(len(self.looked.raters), "rater", "raters")
        text = (
            f"{first} wins {asked.wins:,} and {second} {asked.losses:,} of "
            f"{count_of(asked.queries, 'query', 'queries')}, "
            f"{count_of(asked.ties, 'is a tie', 'are ties')}, by {raters}: "
            f"{self.verdict} (sign test without ties, p {_p(asked.p)})."
        )
        rates = [f"Win rate of {first}, a tie counting half: {_rate(self.overall)}{self._counted}"]
        if self.alike:
            of = count_of(self.queries, "query", "queries")
            rates.append(
                f"; {self.alike:,} of {of} have the same first {self.depth} documents, are not "
                f"asked about, and are ties in that proportion (without them {_rate(asked)})"
            )
        return [text, f"{''.join(rates)}.", *(self.beside.sentences if self.beside else [])]

    @property
    def _counted(self) -> str:
        return f", weighted by {self.weights}" if self.weights else ""

    def table(self) -> Table:
        """A row for the queries asked about, and one for all, with those of the same results."""
        first, second = self.names
        columns = [
            Column("over", align="left"),
            Column("win rate", f"win rate of {first}", format=".3f", ends=".3f"),
            Column("wins", f"{first} wins"),
            Column("ties"),
            Column("losses", f"{second} wins"),
            Column("queries"),
            Column("p", "p (sign test)", format=".3g"),
        ]
        rows = [_row("queries asked about", self.asked)]
        if self.alike:
            rows.append(_row("all, the same as ties", self.overall))
        note = "a tie counts as half a win, and has no part in the sign test"
        return Table("side-by-side", columns, rows, note=note)

    def query_table(self) -> Table:
        """A row for each query: the preference, raters, and the difference of offline scores."""
        differences = self.beside.differences if self.beside else {}
        columns = [
            Column("query", align="left"),
            Column("preference", format="+.2f"),
            Column("raters"),
        ]
        if self.beside:
            columns.append(Column("difference", f"difference of {self.beside.measure}", "+.4f"))
        rows = [
            [q, v, len(self.looked.answers[q]), *([differences.get(q)] if self.beside else [])]
            for q, v in self.values.items()
        ]
        return Table("side-by-side-queries", columns, rows)

    def tables(self) -> list[Table]:
        """Who wins, what the offline measure says, and which sides raters prefer."""
        beside = [self.beside.table()] if self.beside else []
        return [self.table(), *beside, sides_table(self.sides)]

    def frame(self) -> DataFrame:
        """A row for each query as a pandas DataFrame."""
        return self.query_table().frame()

    def as_json(self) -> dict[str, Any]:
        """All figures by name; what is undefined is None."""
        return {
            "runs": list(self.names),
            "depth": self.depth,
            "verdict": self.verdict,
            "asked": self.asked._asdict(),
            "overall": self.overall._asdict(),
            "same_results": self.alike,
            "queries": self.queries,
            "weights": self.weights,
            **self.looked.as_json(),
            "sides": [side.as_json() for side in self.sides],
            "beside": self.beside.as_json() if self.beside else None,
            "by_query": self.query_table().records(),
            "sentences": self.headline,
            "warnings": [str(finding) for finding in self.findings],
        }

    def __repr__(self) -> str:
        queries = count_of(self.asked.queries, "query", "queries")
        return f"<SideBySideReport of {' and '.join(self.names)}: {self.verdict}, {queries}>"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings, self.headline)


def side_by_side_report(
    collection: Collection | Path | str,
    first: str | Path,
    second: str | Path,
    options: SideBySideOptions | None = None,
) -> SideBySideReport:
    """Which of two runs people prefer, by what they answered on the page.

    Answers to results that the runs do not show any more are left out, and counted.

    >>> from labeler.annotate.look import LookChoice, look_sessions
    >>> from labeler.annotate.session import RaterAnswer
    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> collection.run("a").parent.mkdir()
    >>> _ = collection.run("a").write_text("q1 Q0 cats 1 2 a\\nq2 Q0 fish 1 1 a\\n")
    >>> _ = collection.run("b").write_text("q1 Q0 fish 1 2 b\\nq2 Q0 fish 1 1 b\\n")
    >>> (session,) = look_sessions(collection, LookChoice(side_by_side=("a", "b")), ["anna"])
    >>> while item := session.state()["item"]:
    ...     is_left = item["left"][0]["document"]["id"] == "cats"
    ...     _ = session.answer(RaterAnswer(item["id"], answer="left" if is_left else "right"))
    >>> side_by_side_report(collection, "a", "b").asked.wins
    1
    """
    options, opened = options or SideBySideOptions(), open_collection(collection)
    runs = two_runs(opened, first, second, options.depth)
    items = {runs.item_id(query_id): query_id for query_id in runs.apart}
    looked = looked_at(read_journals(opened), "side-by-side", runs.sample, items)
    if not looked.answers:
        names = " and ".join(runs.names)
        raise BadInput(f"nobody has compared the first {options.depth} results of {names} yet")
    weighting = weighting_of(opened, looked, runs.apart, options.weights)
    values = {q: v for q, v in _values(looked, runs).items() if weighting.counts(q)}
    array = np.array(list(values.values()))
    measure = options.measure or f"nDCG@{options.depth}"
    paths = _paths(opened, first, second)
    answered = [{q for q, documents in of.items() if documents} for of in runs.firsts]
    offline = offline_scores(opened, paths, answered, options.qrels, measure)
    sides = sides_chosen(looked)
    return SideBySideReport(
        runs.names,
        options.depth,
        values,
        preferences(array, weighting.weighting(list(values)), options.seed),
        _overall(array, runs, weighting, list(values), options.seed),
        len(runs.alike),
        len(runs.queries),
        looked,
        tuple(sides),
        None if offline is None else side_by_side_beside(values, offline, runs, options.seed),
        (*looked.findings(len(runs.apart)), *weighting.findings, *bias_findings(sides)),
        options.weights,
    )


def _paths(collection: Collection, *runs: str | Path) -> dict[str, Path]:
    return dict(named_run(collection, run, "side_by_side") for run in runs)


def _values(looked: Looked, runs: RunsSideBySide) -> dict[str, float]:
    """The mean over raters of each query: 1 where the first run was preferred, -1 the second."""
    by_query: dict[str, list[int]] = {query_id: [] for query_id in looked.answers}
    for rows in looked.rows.values():
        for row in rows:
            preferred = row.detail.get(row.answer) if row.answer in ("left", "right") else None
            value = 0 if preferred is None else 1 if preferred == runs.names[0] else -1
            by_query[row.query_id].append(value)
    return {query_id: float(np.mean(values)) for query_id, values in by_query.items()}


def _overall(
    values: np.ndarray,
    runs: RunsSideBySide,
    weighting: QueryWeights,
    queries: Sequence[str],
    seed: int,
) -> Preferences:
    """The same with queries of the same results as ties, as many for each as there are."""
    same = round(len(values) * len(runs.alike) / len(runs.apart))
    weights = weighting.weighting(queries)
    if weights is not None:
        mean = float(weights.weights.mean())
        weights = Weighting(np.append(weights.weights, np.full(same, mean)))
    return preferences(np.append(values, np.zeros(same)), weights, seed)


def _row(over: str, of: Preferences) -> list[Any]:
    rate = Interval(of.win_rate, of.low, of.high)
    return [over, rate, of.wins, of.ties, of.losses, of.queries, of.p]


def _rate(of: Preferences) -> str:
    ends = "" if of.low is None else f" [{of.low:.2f}, {of.high:.2f}]"
    return f"{of.win_rate:.2f}{ends}"


def _p(p: float) -> str:
    return "below .001" if p < 0.001 else f"{p:.3f}"
