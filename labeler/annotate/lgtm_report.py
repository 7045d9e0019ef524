"""What people say of a run's first results: the share of queries whose page is good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.several.joint import Together, grade_matrix, joint_agreement
from labeler.annotate.journal import read_journals
from labeler.annotate.look import (
    DEPTH,
    MEASURE,
    QRELS,
    WEIGHTS,
    Firsts,
    first_results,
    item_id,
    named_run,
)
from labeler.annotate.looked_at import (
    Looked,
    OfflineScores,
    goes_with_people,
    looked_at,
    offline_scores,
    weighting_of,
)
from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.options import option
from labeler.report.finding import Finding
from labeler.report.result import notebook_html
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.correlation import UNDEFINED, Association, concordance, tau_over_queries
from labeler.stats.shares import QueryShare, query_share

if TYPE_CHECKING:
    from pandas import DataFrame

# Whether an offline measure goes with what people say of the same queries' results.


@dataclass(frozen=True, eq=False)
class LgtmBeside:
    """The offline scores of the queries that people looked at, by whether they are good.

    `tau` is the rank correlation over queries of the share of raters who say good with the score;
    `concordance` the chance that of a good query and one that is not, the good one scores higher.
    Queries of which half of the raters say good are neither.
    """

    measure: str
    qrels: str
    scores: Mapping[str, float]
    means: tuple[float | None, float | None]
    counts: tuple[int, int]
    tau: Association
    concordance: Association
    unscored: int = 0

    @property
    def sentences(self) -> list[str]:
        """Whether the measure and people go together, as far as these queries show."""
        title = f"{self.measure} by {self.qrels}"
        if not self.scores:
            return [f"No query that people looked at is in {self.qrels}."]
        if not min(self.counts):
            return [f"Whether {title} goes with it cannot be seen: all are good, or none is."]
        chance = self.concordance
        text = (
            f"Of a good query and one that is not, the good one has the higher {title} "
            f"{_percent(chance)} of the time"
        )
        if chance.low is None or chance.high is None:
            good, not_good = self.counts
            return [f"{text}; with {good:,} good and {not_good:,} not, that shows little."]
        return [goes_with_people(text, chance.low, chance.high)]

    def table(self) -> Table:
        """The mean score of good queries and of the others, and how they go together."""
        columns = [
            Column("beside", align="left"),
            Column("value", format=".3f", ends=".3f"),
            Column("queries"),
        ]
        good, others = self.counts
        rows: list[Row] = [
            [f"{self.measure} of good queries", Interval(self.means[0], None, None), good],
            [f"{self.measure} of the others", Interval(self.means[1], None, None), others],
            ["the good one scores higher", Interval(*self.concordance), good + others],
            ["tau-b over queries", Interval(*self.tau), len(self.scores)],
        ]
        return Table("lgtm-beside", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "measure": self.measure,
            "qrels": self.qrels,
            "queries": len(self.scores),
            "unscored": self.unscored,
            "mean_of_good": self.means[0],
            "mean_of_others": self.means[1],
            "good": self.counts[0],
            "others": self.counts[1],
            "tau_b": self.tau._asdict(),
            "concordance": self.concordance._asdict(),
        }


def lgtm_beside(
    good: Mapping[str, float], offline: OfflineScores, run: str, seed: int
) -> LgtmBeside:
    """The offline scores of one run beside what people say of it."""
    by_query = offline.scores[run]
    scores = {q: by_query[q] for q in good if q in by_query and not np.isnan(by_query[q])}
    shares = np.array([good[q] for q in scores])
    values = np.array(list(scores.values()))
    above, below = shares > 0.5, shares < 0.5
    decided = above | below
    return LgtmBeside(
        offline.measure,
        offline.qrels,
        scores,
        (_mean(values[above]), _mean(values[below])) if scores else (None, None),
        (int(above.sum()), int(below.sum())) if scores else (0, 0),
        tau_over_queries(shares, values, seed) if scores else UNDEFINED,
        concordance(above[decided], values[decided]) if scores else UNDEFINED,
        len(good) - len(scores),
    )


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _percent(share: Association) -> str:
    ends = ""
    if share.low is not None and share.high is not None:
        ends = f" [{100 * share.low:.0f} %, {100 * share.high:.0f} %]"
    return f"{100 * (share.value or 0.0):.0f} %{ends}"


AGREEMENT = "alpha-nominal"


@dataclass(frozen=True)
class LgtmOptions:
    """How answers about a run are read.

    `depth` is how many results were looked at. `weights` names a field of the queries' metadata
    that says how much each counts, as how often it is asked. `qrels` names those by which `measure`
    is computed beside people's answers: the human ones by default.
    """

    depth: int = DEPTH
    weights: str = option("", WEIGHTS)
    qrels: str | None = option(None, QRELS)
    measure: str = option("", MEASURE)
    seed: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class LgtmReport:
    """The share of queries of a run that people call good, and what stands beside it.

    `good` is the share of raters of each query who called it good. `agreement` is that of several
    raters, `beside` what an offline measure says of the same queries.
    """

    run: str
    depth: int
    share: QueryShare
    good: Mapping[str, float]
    looked: Looked
    agreement: Together | None
    beside: LgtmBeside | None
    findings: tuple[Finding, ...]
    weights: str = ""

    @property
    def measure(self) -> str:
        """What the share is called."""
        return f"LGTM@{self.depth}"

    @property
    def interval(self) -> Interval:
        """The share with its interval."""
        return Interval(self.share.value, self.share.low, self.share.high)

    @property
    def headline(self) -> list[str]:
        """The share, how far raters agree, and whether an offline measure goes with it."""
        queries = count_of(len(self.good), "query", "queries")
        raters = count_of(len(self.looked.raters), "rater", "raters")
        share = f"{self.share.value:.2f} [{self.share.low:.2f}, {self.share.high:.2f}]"
        counted = f" weighted by {self.weights}" if self.weights else ""
        whole = f"{self.measure} of {self.run}{counted}: {share}, by {raters} on {queries}."
        return [whole, *self._agreement_said(), *(self.beside.sentences if self.beside else [])]

    def _agreement_said(self) -> list[str]:
        if len(self.looked.raters) < 2:
            return []
        both = sum(len(answers) > 1 for answers in self.looked.answers.values())
        if not both or self.agreement is None:
            return ["No query has the answers of two raters, so how far they agree is not known."]
        same = sum(share in (0.0, 1.0) for q, share in self.good.items() if self._has_two(q))
        alpha = self.agreement.statistics[AGREEMENT]
        queries = count_of(both, "query", "queries")
        text = f"Of {queries} with several raters, all say the same of {same:,}"
        if alpha.value is None:
            return [f"{text}; alpha is undefined, as nobody used both answers."]
        ends = "" if alpha.low is None else f" [{alpha.low:.2f}, {alpha.high:.2f}]"
        return [f"{text} (alpha {alpha.value:.2f}{ends})."]

    def _has_two(self, query_id: str) -> bool:
        return len(self.looked.answers[query_id]) > 1

    def table(self) -> Table:
        """One row: the share with its interval, queries, raters, and what they could not judge."""
        columns = [
            Column("run", align="left"),
            Column(self.measure, format=".3f", ends=".3f"),
            Column("queries"),
            Column("raters"),
            Column("cannot judge"),
        ]
        row: Row = [
            self.run,
            self.interval,
            len(self.good),
            len(self.looked.raters),
            self.looked.cannot_judge,
        ]
        return Table("lgtm", columns, [row])

    def query_table(self) -> Table:
        """A row for each query: the share of raters who call it good, and the offline score."""
        beside = self.beside.scores if self.beside else {}
        columns = [Column("query", align="left"), Column("good", format=".2f"), Column("raters")]
        if self.beside:
            columns.append(Column(self.beside.measure, format=".4f"))
        rows = [
            [q, share, len(self.looked.answers[q]), *([beside.get(q)] if self.beside else [])]
            for q, share in self.good.items()
        ]
        return Table("lgtm-queries", columns, rows)

    def tables(self) -> list[Table]:
        """The share, and where there is one, what the offline measure says of the same queries."""
        return [self.table(), *([self.beside.table()] if self.beside else [])]

    def frame(self) -> DataFrame:
        """A row for each query as a pandas DataFrame."""
        return self.query_table().frame()

    def as_json(self) -> dict[str, Any]:
        """All figures by name; what is undefined is None."""
        agreement = self.agreement.statistics[AGREEMENT] if self.agreement else None
        return {
            "run": self.run,
            "measure": self.measure,
            "value": self.share.value,
            "low": self.share.low,
            "high": self.share.high,
            "queries": len(self.good),
            "weights": self.weights,
            **self.looked.as_json(),
            "agreement": None
            if agreement is None
            else {
                "statistic": AGREEMENT,
                "value": agreement.value,
                "low": agreement.low,
                "high": agreement.high,
            },
            "beside": self.beside.as_json() if self.beside else None,
            "by_query": self.query_table().records(),
            "sentences": self.headline,
            "warnings": [str(finding) for finding in self.findings],
        }

    def __repr__(self) -> str:
        queries = count_of(len(self.good), "query", "queries")
        return f"<LgtmReport of {self.run}: {self.measure} {self.share.value:.3f}, {queries}>"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings, self.headline)


def lgtm_report(
    collection: Collection | Path | str, run: str | Path, options: LgtmOptions | None = None
) -> LgtmReport:
    """The share of a run's queries that people call good, by what they answered on the page.

    Answers to results that the run does not show any more are left out, and counted.

    >>> from labeler.annotate.look import LookChoice, look_sessions
    >>> from labeler.annotate.session import RaterAnswer
    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> collection.run("bm25").parent.mkdir()
    >>> _ = collection.run("bm25").write_text("q1 Q0 cats 1 2 bm25\\nq2 Q0 cats 1 1 bm25\\n")
    >>> (session,) = look_sessions(collection, LookChoice(lgtm="bm25"), ["anna"])
    >>> while item := session.state()["item"]:
    ...     good = "cats" in item["query"]["text"]
    ...     _ = session.answer(RaterAnswer(item["id"], answer="good" if good else "not"))
    >>> lgtm_report(collection, "bm25").headline[0]
    'LGTM@10 of bm25: 0.50 [0.09, 0.91], by 1 rater on 2 queries.'
    """
    options, opened = options or LgtmOptions(), open_collection(collection)
    name, path = named_run(opened, run, "run")
    firsts = first_results(opened, path, options.depth)
    items = {item_id(query_id, firsts): query_id for query_id in firsts}
    looked = looked_at(read_journals(opened), "lgtm", name, items)
    if not looked.answers:
        raise BadInput(_nobody(name, options.depth, looked))
    good = {q: _share_good(list(answers.values())) for q, answers in looked.answers.items()}
    weighting = weighting_of(opened, looked, list(firsts), options.weights)
    counted = [q for q in good if weighting.counts(q)]
    values = np.array([good[q] for q in counted])
    ratings = np.array([float(len(looked.answers[q])) for q in counted])
    share = query_share(values, ratings, weighting.drawn(counted))
    measure = options.measure or f"nDCG@{options.depth}"
    offline = offline_scores(opened, {name: path}, [firsts.keys()], options.qrels, measure)
    return LgtmReport(
        name,
        options.depth,
        share,
        {q: good[q] for q in counted},
        looked,
        _agreement(looked, name, options.seed),
        _beside(offline, name, good, options.seed),
        (
            *looked.findings(len(firsts)),
            *_unanswered(opened, firsts),
            *weighting.findings,
            *_no_offline(offline),
        ),
        options.weights,
    )


def _share_good(answers: Sequence[str]) -> float:
    return Counter(answers)["good"] / len(answers)


def _nobody(run: str, depth: int, looked: Looked) -> str:
    if looked.stale:
        others = count_of(looked.stale, "answer is", "answers are")
        return f"{run}: {others} about other results than its first {depth} now; look again"
    return f"nobody has looked at the first {depth} results of {run} yet"


def _agreement(looked: Looked, run: str, seed: int) -> Together | None:
    if len(looked.raters) < 2:
        return None
    graded = {
        rater: {q: {run: int(a[rater] == "good")} for q, a in looked.answers.items() if rater in a}
        for rater in looked.raters
    }
    matrix = grade_matrix(graded, (0, 1))
    return joint_agreement(matrix, looked.raters, (), StatisticOptions(seed=seed)).people


def _beside(
    offline: OfflineScores | None, run: str, good: Mapping[str, float], seed: int
) -> LgtmBeside | None:
    return None if offline is None else lgtm_beside(good, offline, run, seed)


def _unanswered(collection: Collection, firsts: Firsts) -> list[Finding]:
    """That the run lacks queries, which its system may not have been asked."""
    lacking = len(read_queries(collection.queries)) - len(firsts)
    if not lacking:
        return []
    queries = count_of(lacking, "query", "queries")
    return [Finding(f"{queries} of the collection not in the run: nobody looks at them")]


def _no_offline(offline: OfflineScores | None) -> list[Finding]:
    if offline is not None:
        return []
    lacks = "the collection has no human qrels of these queries"
    text = f"{lacks}, so that no offline measure stands beside; name some"
    return [Finding(text, level="note")]
