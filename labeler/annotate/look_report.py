"""What people say of pages of results: how many of a run's are good, or which of two runs wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.several.joint import grade_matrix, together
from labeler.annotate.journal import answers_in, read_journals
from labeler.annotate.look import DEPTH, ResultPages, result_pages
from labeler.arrays import Floats
from labeler.collection.annotations import JournalRow
from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput
from labeler.evaluation.evaluate import scores_of
from labeler.evaluation.groups import QueryFields
from labeler.messages import count_of
from labeler.metrics.scores import Weighting
from labeler.options import option
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Interval, Row, Table, interval_text, shown, table_of
from labeler.stats.correlation import UNDEFINED, Association, concordance, tau_over_queries
from labeler.stats.means import DrawnQueries, Preferences, preferences, query_share, share_interval
from labeler.stats.randomization import TIED, holm, sign_test
from labeler.stats.student import SIGNIFICANT
from labeler.trec.qrels import read_qrels

if TYPE_CHECKING:
    from pandas import DataFrame

AGREEMENT = "alpha-nominal"
HUMAN = "human"
NO_OFFLINE = Finding(
    "the collection has no human qrels of these queries, so that no offline measure stands beside;"
    " name some",
    level="note",
)
CHANCE = 0.5
"""How often a measure that knows nothing of people's preferences agrees with them."""


@dataclass(frozen=True)
class LookOptions:
    """How answers about pages of results are read.

    `depth` is how many results were looked at. `weights` names a field of the queries' metadata
    that says how much each counts, as how often it is asked. `qrels` names those by which `measure`
    is computed beside people's answers: the human ones by default.
    """

    depth: int = DEPTH
    weights: str = option("", "Of runs: the field of queries that says what each counts.")
    qrels: str | None = option(None, "Of runs: the qrels of the measure beside (default: human).")
    measure: str = option("", "Of runs: the measure beside (default: nDCG at the depth).")
    seed: int = 0


class PageRate(NamedTuple):
    """How people answered over some queries, with the interval of the rate.

    Of one run the rate is the share of good pages: `wins` are queries that more than half of their
    raters call good, `losses` those that fewer do. Of two it is the win rate of the first, a tie
    counting half; `p` is that of the sign test, which leaves ties out.
    """

    over: str
    rate: Interval
    wins: int
    ties: int
    losses: int
    queries: int
    p: Annotated[float | None, Column(title="p (sign test)", format=".3g")] = None


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
    p: Annotated[float, Column(title="p (left as often as right)", format=".3g")]
    p_holm: Annotated[float, None]


@dataclass(frozen=True)
class Looked:
    """What raters answered about queries, in the order of the queries' first answers.

    `answers` has rater to answer by query, `rows` all answers by rater. `stale` answers are about
    results that a run does not show any more.
    """

    answers: Mapping[str, Mapping[str, float]]
    rows: Mapping[str, Sequence[JournalRow]]
    cannot_judge: int = 0
    skipped: int = 0
    stale: int = 0

    @property
    def raters(self) -> list[str]:
        """The raters with an answer, sorted."""
        return sorted(self.rows)

    def values(self) -> dict[str, float]:
        """The mean answer of each query."""
        return {q: float(np.mean([*each.values()])) for q, each in self.answers.items()}

    def findings(self, queries: int) -> Iterator[Finding]:
        """What of the raters' work is in no figure, and of how many queries this is a sample."""
        if len(self.answers) < queries:
            whole = count_of(queries, "query", "queries")
            text = f"a sample: {len(self.answers):,} of the {whole} of the run"
            yield Finding(text, level="note")
        if self.stale:
            stands = count_of(self.stale, "answer is", "answers are")
            yield Finding(f"{stands} about other results than are shown now: left out")
        if self.cannot_judge:
            times = count_of(self.cannot_judge, "answer", "answers")
            yield Finding(f"{times} 'cannot judge': in no figure", level="note")


@dataclass(frozen=True)
class OfflineBeside:
    """What an offline measure says of the queries at which people looked.

    `scores` are those of one run by query, or by how much the first run's exceed the second's.
    `goes_with` is how often the measure goes with people, of the `decided` queries: the chance that
    of a good query and one that is not the good one scores higher; or how often the run that people
    prefer has the higher score. `tau_b` is the rank correlation over queries.
    """

    measure: str
    qrels: str
    scores: Hidden[Mapping[str, float]]
    goes_with: Association
    decided: tuple[int, int]
    tau_b: Association
    unscored: int = 0

    @shown
    def queries(self) -> int:
        """How many queries have a score and an answer."""
        return len(self.scores)

    def sentences(self, is_one: bool) -> Iterator[str]:
        """Whether the measure goes with people, as far as these queries show."""
        title = f"{self.measure} by {self.qrels}"
        looked_at = "people looked at" if is_one else "people compared"
        for_sure, against = self.decided
        if not self.scores:
            yield f"No query that {looked_at} is in {self.qrels}."
        elif is_one and not min(self.decided):
            yield f"Whether {title} goes with it cannot be seen: all are good, or none is."
        elif not sum(self.decided):
            yield f"{title} tells the two apart in none of the queries in which people do."
        else:
            often = interval_text(self.goes_with, ".0%")
            first = "Of a good query and one that is not, the good one has the higher"
            queries = count_of(sum(self.decided), "query", "queries")
            same = f"{title} prefers the same run as people in {often} of {queries}"
            text = f"{first} {title} {often} of the time" if is_one else same
            if is_one and self.goes_with.low is None:
                yield f"{text}; with {for_sure:,} good and {against:,} not, that shows little."
            else:
                yield goes_with_people(text, self.goes_with.low, self.goes_with.high)

    def table(self, is_one: bool) -> Table:
        """How often the measure goes with people, and tau over queries."""
        columns = [Column("beside", align="left"), Column("value", format=".3f", ends=".3f")]
        often = "the good one scores higher" if is_one else "the measure prefers what people prefer"
        rows: list[Row] = [
            [f"{self.measure} by {self.qrels}: {often}", self.goes_with, sum(self.decided)],
            ["tau-b over queries", self.tau_b, self.queries],
        ]
        return Table("beside", [*columns, Column("queries")], rows)


def goes_with_people(text: str, low: float | None, high: float | None) -> str:
    """The text, and what the interval of its share says of the measure."""
    if low is not None and low > CHANCE:
        return f"{text}: the measure goes with people."
    if high is not None and high < CHANCE:
        return f"{text}: the measure goes against people."
    return f"{text}: that the measure goes with people is not shown."


@dataclass(frozen=True, eq=False, repr=False)
class LookReport(Result):
    """What people say of the pages of one run, or of two side by side.

    `values` are means over each query's raters: of one run 1 for good and 0 for not; of two 1 for
    the first run, 0 for a tie, -1 for the second. `asked` is over the queries that people answered;
    in `overall` queries with the same results count as ties, in the proportion that they have among
    all queries (`alike` of `queries`). `agreement` is alpha of several raters.
    """

    runs: tuple[str, ...]
    depth: int
    values: Mapping[str, float]
    asked: PageRate
    overall: PageRate
    alike: int
    queries: int
    looked: Looked
    agreement: Association | None
    sides: tuple[SideChosen, ...]
    beside: OfflineBeside | None
    findings: tuple[Finding, ...] = ()
    weights: str = ""

    @property
    def is_one(self) -> bool:
        """Whether these are the pages of one run."""
        return len(self.runs) == 1

    @property
    def measure(self) -> str:
        """What the rate is called."""
        return f"LGTM@{self.depth}" if self.is_one else f"win rate of {self.runs[0]}"

    @property
    def verdict(self) -> str:
        """Which of two runs people prefer, as far as the sign test tells it from chance."""
        if self.overall.p is None or not self.overall.p < SIGNIFICANT:
            return "cannot tell apart"
        return f"{self.runs[0 if self.asked.wins > self.asked.losses else 1]} is preferred"

    @property
    def sentences(self) -> list[str]:
        """The rate, how far raters agree, and whether an offline measure goes with it."""
        rates = self._of_one_run() if self.is_one else self._of_two_runs()
        beside = self.beside.sentences(self.is_one) if self.beside else ()
        return [*rates, *self._agreement(), *beside]

    def _of_one_run(self) -> Iterator[str]:
        raters = count_of(len(self.looked.raters), "rater", "raters")
        counted = f" weighted by {self.weights}" if self.weights else ""
        rate = f"{interval_text(self.asked.rate, '.2f')}, by {raters}"
        queries = count_of(len(self.values), "query", "queries")
        yield f"{self.measure} of {self.runs[0]}{counted}: {rate} on {queries}."

    def _of_two_runs(self) -> Iterator[str]:
        (first, second), asked = self.runs, self.asked
        raters = count_of(len(self.looked.raters), "rater", "raters")
        p = "below .001" if (asked.p or 0.0) < 0.001 else f"{asked.p:.3f}"
        yield (
            f"{first} wins {asked.wins:,} and {second} {asked.losses:,} of "
            f"{count_of(asked.queries, 'query', 'queries')}, "
            f"{count_of(asked.ties, 'is a tie', 'are ties')}, by {raters}: "
            f"{self.verdict} (sign test without ties, p {p})."
        )
        counted = f", weighted by {self.weights}" if self.weights else ""
        rate = f"{interval_text(self.overall.rate, '.2f')}{counted}"
        same = ""
        if self.alike:
            of = count_of(self.queries, "query", "queries")
            same = (
                f"; {self.alike:,} of {of} have the same first {self.depth} documents, are not "
                "asked about, and are ties in that proportion (without them "
                f"{interval_text(asked.rate, '.2f')})"
            )
        yield f"Win rate of {first}, a tie counting half: {rate}{same}."

    def _agreement(self) -> Iterator[str]:
        several = [answers for answers in self.looked.answers.values() if len(answers) > 1]
        if len(self.looked.raters) < 2:
            return
        if not several or self.agreement is None:
            yield "No query has the answers of two raters, so how far they agree is not known."
            return
        same = sum(len(set(answers.values())) == 1 for answers in several)
        queries = count_of(len(several), "query", "queries")
        text = f"Of {queries} with several raters, all say the same of {same:,}"
        if self.agreement.value is None:
            yield f"{text}; alpha is undefined, as nobody used both answers."
        else:
            yield f"{text} (alpha {interval_text(self.agreement, '.2f')})."

    def tables(self) -> list[Table]:
        """The rate, what the offline measure says, and which sides raters prefer."""
        first, *others = self.runs
        called = ("good", "not") if self.is_one else (f"{first} wins", f"{others[0]} wins")
        own = {
            "rate": Column("rate", self.measure, ".3f", ".3f"),
            "wins": Column("wins", called[0]),
            "losses": Column("losses", called[1]),
        }
        rows = [self.asked, self.overall] if self.alike else [self.asked]
        note = "" if self.is_one else "a tie counts half a win, and has no part in the sign test"
        rates = table_of("pages", PageRate, rows, note=note, instead=own)
        beside = [self.beside.table(self.is_one)] if self.beside else []
        sides = [table_of("sides", SideChosen, self.sides)] if self.sides else []
        return [rates, *beside, *sides]

    def query_table(self) -> Table:
        """A row for each query: what people say, how many of them, and the offline score."""
        own = Column("good", format=".2f") if self.is_one else Column("preference", format="+.2f")
        columns = [Column("query", align="left"), own, Column("raters")]
        if self.beside:
            name = self.beside.measure if self.is_one else "difference"
            columns.append(Column(name, format=".4f" if self.is_one else "+.4f"))
        scores = self.beside.scores if self.beside else {}
        rows: list[Row] = [
            (q, value, len(self.looked.answers[q]), scores.get(q))[: len(columns)]
            for q, value in self.values.items()
        ]
        return Table("queries", columns, rows)

    def frame(self) -> DataFrame:
        """A row for each query as a pandas DataFrame."""
        return self.query_table().frame()

    def as_json(self) -> dict[str, Any]:
        """All figures by name; what is undefined is None."""
        rate = self.overall.rate
        return self.picked(
            *("runs", "depth", "measure", "asked", "overall", "queries", "weights", "agreement"),
            *("sides", "beside", "sentences"),
            **rate._asdict(),
            verdict=None if self.is_one else self.verdict,
            same_results=self.alike,
            raters=self.looked.raters,
            cannot_judge=self.looked.cannot_judge,
            skipped=self.looked.skipped,
            stale=self.looked.stale,
            by_query=self.query_table().records(),
            warnings=self.findings,
        )


def look_report(
    collection: Collection | Path | str, *runs: str | Path, options: LookOptions | None = None
) -> LookReport:
    """What people answered on the page about the results of a run, or of two side by side.

    Answers to results that a run does not show any more are left out, and counted.

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
    >>> look_report(collection, "bm25").sentences[0]
    'LGTM@10 of bm25: 0.50 [0.09, 0.91], by 1 rater on 2 queries.'
    """
    options, opened = options or LookOptions(), open_collection(collection)
    pages = result_pages(opened, runs, options.depth)
    looked = _looked_at(opened, pages)
    if not looked.answers:
        raise BadInput(_nobody(pages, options.depth, looked))
    weights, unweighted = _weights(opened, list(looked.answers), options.weights)
    values = {q: v for q, v in looked.values().items() if not options.weights or q in weights}
    counted = np.array([weights[q] for q in values]) if weights else None
    asked, overall = _rates(pages, looked, values, counted, options.seed)
    beside = _beside(opened, pages, values, options)
    sides = () if len(pages.names) == 1 else tuple(sides_chosen(looked.rows))
    return LookReport(
        pages.names,
        options.depth,
        values,
        asked,
        overall,
        len(pages.alike),
        len(pages.queries) if sides else len(values),
        looked,
        _alpha(looked, pages.sample, options.seed),
        sides,
        beside,
        (
            *looked.findings(len(pages.asked)),
            *(_unanswered(opened, pages) if not sides else ()),
            *unweighted,
            *(() if beside else (NO_OFFLINE,)),
            *_bias(sides),
        ),
        options.weights,
    )


def _looked_at(collection: Collection, pages: ResultPages) -> Looked:
    """The answers about the questions that stand now."""
    items = {pages.item_id(query_id): query_id for query_id in pages.asked}
    answers: dict[str, dict[str, float]] = {}
    rows: dict[str, list[JournalRow]] = {}
    counts: Counter[str] = Counter()
    for rater, journal in read_journals(collection).items():
        own = (pages.kind, pages.sample, "audit")
        given = answers_in([r for r in journal if (r.task, r.sample, r.purpose) == own])
        counts["skipped"] += given.skipped
        for row in given.standing:
            if row.item not in items:
                counts["stale"] += 1
            elif row.answer is None:
                counts["cannot judge"] += 1
            else:
                answers.setdefault(row.query_id, {})[rater] = _value(row, pages.names[0])
                rows.setdefault(rater, []).append(row)
    return Looked(answers, rows, counts["cannot judge"], counts["skipped"], counts["stale"])


def _value(row: JournalRow, first: str) -> float:
    """1 of a good page or a first run that is preferred, -1 of a second one, else 0."""
    if row.answer not in ("left", "right"):
        return float(row.answer == "good")
    return 1.0 if row.detail.get(row.answer) == first else -1.0


def _nobody(pages: ResultPages, depth: int, looked: Looked) -> str:
    names = " and ".join(pages.names)
    if looked.stale:
        others = count_of(looked.stale, "answer is", "answers are")
        return f"{names}: {others} about other results than its first {depth} now; look again"
    done = "looked at" if len(pages.names) == 1 else "compared"
    return f"nobody has {done} the first {depth} results of {names} yet"


def _weights(
    collection: Collection, answered: Sequence[str], field: str
) -> tuple[dict[str, float], list[Finding]]:
    """What queries count by a field of their metadata, and how many lack it."""
    if not field:
        return {}, []
    path = collection.queries
    fields = QueryFields({q.id: q.metadata for q in read_queries(path).values()}, str(path))
    by_field = fields.weights(field).weights
    weights = {q: by_field[q] for q in answered if q in by_field}
    lacks = count_of(len(answered) - len(weights), "query has", "queries have")
    text = f"{lacks} no {field}, and so no part in a mean: left out"
    return weights, [Finding(text)] if len(weights) < len(answered) else []


def _rates(
    pages: ResultPages,
    looked: Looked,
    values: Mapping[str, float],
    weights: Floats | None,
    seed: int,
) -> tuple[PageRate, PageRate]:
    """How people answered over the queries asked about, and over all."""
    array = np.array([*values.values()])
    if len(pages.names) == 1:
        ratings = np.array([float(len(looked.answers[q])) for q in values])
        share = query_share(array, ratings, DrawnQueries(weights))
        good, bad = int((array > 0.5).sum()), int((array < 0.5).sum())
        ties = len(array) - good - bad
        only = PageRate(pages.names[0], Interval(*share[:3]), good, ties, bad, len(array))
        return only, only
    weighting = None if weights is None else Weighting(weights)
    asked = _row("queries asked about", preferences(array, weighting, seed))
    # queries of the same results are ties, as many for each that was asked about as there are
    same = round(len(array) * len(pages.alike) / len(pages.asked))
    if weights is not None:
        weighting = Weighting(np.append(weights, np.full(same, float(weights.mean()))))
    every = preferences(np.append(array, np.zeros(same)), weighting, seed)
    return asked, _row("all, the same as ties", every)


def _row(over: str, of: Preferences) -> PageRate:
    rate = Interval(of.win_rate, of.low, of.high)
    return PageRate(over, rate, of.wins, of.ties, of.losses, of.queries, of.p)


def _alpha(looked: Looked, sample: str, seed: int) -> Association | None:
    """Alpha of what several raters say of the same queries."""
    if len(looked.raters) < 2:
        return None
    graded = {
        rater: {q: {sample: int(a[rater])} for q, a in looked.answers.items() if rater in a}
        for rater in looked.raters
    }
    answers = {int(value) for each in looked.answers.values() for value in each.values()}
    matrix = grade_matrix(graded, tuple(sorted(answers | {0, 1})))
    people = together(matrix, looked.raters, StatisticOptions(seed=seed))
    if people is None:
        return None
    of = people.statistics[AGREEMENT]
    return Association(of.value, of.low, of.high)


def _beside(
    collection: Collection, pages: ResultPages, values: Mapping[str, float], options: LookOptions
) -> OfflineBeside | None:
    """The offline scores by the qrels of that name, else by people's; `None` without any."""
    answered = [{q for q, ids in of.items() if ids} for of in pages.firsts.values()]
    if options.qrels is None and not _has_human(collection, answered):
        return None
    name, measure = options.qrels or HUMAN, options.measure or f"nDCG@{options.depth}"
    paths: dict[str, Any] = dict(zip(pages.names, pages.paths, strict=True))
    of = scores_of(collection.existing_qrels(name), paths, measure, name)
    rows = [of.values[of.runs.index(run)] for run in pages.names]
    whole = rows[0] if len(rows) == 1 else rows[0] - rows[1]
    every = dict(zip(of.queries, whole.tolist(), strict=True))
    scores = {q: every[q] for q in values if q in every and not np.isnan(every[q])}
    people, measured = np.array([values[q] for q in scores]), np.array([*scores.values()])
    goes_with, decided, tau = UNDEFINED, (0, 0), UNDEFINED
    if scores:
        go = _goes_with if len(rows) == 1 else _prefers
        goes_with, decided = go(people, measured)
        tau = tau_over_queries(people, measured, options.seed)
    return OfflineBeside(measure, name, scores, goes_with, decided, tau, len(values) - len(scores))


def _has_human(collection: Collection, answered: Sequence[set[str]]) -> bool:
    """Whether the collection has people's qrels of some query of each run."""
    if HUMAN not in collection.qrels_names():
        return False
    judged = read_qrels(collection.qrels(HUMAN)).keys()
    return all(not judged.isdisjoint(queries) for queries in answered)


def _goes_with(people: Floats, measured: Floats) -> tuple[Association, tuple[int, int]]:
    """How often a good query scores higher than one that is not, and how many of each there are.

    Queries of which half of the raters say good are neither.
    """
    above, below = people > 0.5, people < 0.5
    decided = above | below
    often = concordance(above[decided], measured[decided])
    return often, (int(above.sum()), int(below.sum()))


def _prefers(people: Floats, measured: Floats) -> tuple[Association, tuple[int, int]]:
    """How often people and measure prefer the same run, and in how many queries they do and not.

    Queries in which one of them tells none apart are left out.
    """
    apart = (np.abs(people) > TIED) & (np.abs(measured) > TIED)
    same = people[apart] * measured[apart] > 0
    counts = int(same.sum()), int((~same).sum())
    if not apart.any():
        return UNDEFINED, counts
    return Association(float(same.mean()), *share_interval(same.astype(np.float64))), counts


def _unanswered(collection: Collection, pages: ResultPages) -> Iterator[Finding]:
    """That the run lacks queries, which its system may not have been asked."""
    lacking = len(read_queries(collection.queries)) - len(pages.queries)
    if lacking:
        queries = count_of(lacking, "query", "queries")
        yield Finding(f"{queries} of the collection not in the run: nobody looks at them")


# Whether a rater prefers a side of the page, whichever run stands there.


def sides_chosen(rows: Mapping[str, Sequence[JournalRow]]) -> list[SideChosen]:
    """The sides that each rater preferred."""
    counts = {rater: Counter(row.answer for row in own) for rater, own in rows.items()}
    p = [sign_test(count["left"], count["right"]) for count in counts.values()]
    corrected = holm(np.array(p)).tolist()
    return [
        SideChosen(rater, count["left"], count["right"], count["tie"], alone, allowed)
        for (rater, count), alone, allowed in zip(counts.items(), p, corrected, strict=True)
    ]


def _bias(sides: Sequence[SideChosen]) -> Iterator[Finding]:
    """Which raters prefer a side more than chance allows for."""
    for side in sides:
        if side.p_holm < SIGNIFICANT:
            more, count = ("left", side.left) if side.left > side.right else ("right", side.right)
            times = count_of(side.left + side.right, "time", "times")
            text = (
                f"{side.rater} preferred the {more} side {count:,} of {times}, more than chance "
                "allows for; sides are drawn by chance, so that this favors neither run, but it "
                "makes real differences smaller"
            )
            yield Finding(text, about=side.rater)
