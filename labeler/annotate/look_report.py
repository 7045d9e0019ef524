"""What people say of pages of results: how many of a run's are good, or which of two runs wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.several.joint import grade_matrix
from labeler.annotate.journal import answers_in, read_journals
from labeler.annotate.look import DEPTH, ResultPages, result_pages
from labeler.annotate.status import alpha_of
from labeler.collection.annotations import JournalRow
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table, interval_text, table_of
from labeler.stats.means import Preferences, preferences, query_share
from labeler.stats.student import SIGNIFICANT

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class LookOptions:
    """How answers about pages of results are read: `depth` is how many results were looked at."""

    depth: int = DEPTH
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
    agreement: Interval | None
    findings: tuple[Finding, ...] = ()

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
        """The rate, and how far raters agree."""
        rates = self._of_one_run() if self.is_one else self._of_two_runs()
        return [*rates, *self._agreement()]

    def _of_one_run(self) -> Iterator[str]:
        raters = count_of(len(self.looked.raters), "rater", "raters")
        rate = f"{interval_text(self.asked.rate, '.2f')}, by {raters}"
        queries = count_of(len(self.values), "query", "queries")
        yield f"{self.measure} of {self.runs[0]}: {rate} on {queries}."

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
        rate = interval_text(self.overall.rate, ".2f")
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
        """The rate, and how people answered."""
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
        return [rates]

    def query_table(self) -> Table:
        """A row for each query: what people say, and how many of them."""
        own = Column("good", format=".2f") if self.is_one else Column("preference", format="+.2f")
        columns = [Column("query", align="left"), own, Column("raters")]
        rows = [(q, value, len(self.looked.answers[q])) for q, value in self.values.items()]
        return Table("queries", columns, rows)

    def frame(self) -> DataFrame:
        """A row for each query as a pandas DataFrame."""
        return self.query_table().frame()

    def as_json(self) -> dict[str, Any]:
        """All figures by name; what is undefined is None."""
        rate = self.overall.rate
        return self.picked(
            *("runs", "depth", "measure", "asked", "overall", "queries", "agreement"),
            "sentences",
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
    collection: AnyCollection, *runs: str | Path, options: LookOptions | None = None
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
    values, is_one = looked.values(), len(pages.names) == 1
    asked, overall = _rates(pages, looked, values, options.seed)
    return LookReport(
        pages.names,
        options.depth,
        values,
        asked,
        overall,
        len(pages.alike),
        len(values) if is_one else len(pages.queries),
        looked,
        _alpha(looked, pages.sample, options.seed),
        (*looked.findings(len(pages.asked)), *(_unanswered(opened, pages) if is_one else ())),
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


def _rates(
    pages: ResultPages, looked: Looked, values: Mapping[str, float], seed: int
) -> tuple[PageRate, PageRate]:
    """How people answered over the queries asked about, and over all."""
    array = np.array([*values.values()])
    if len(pages.names) == 1:
        share = query_share(array, np.array([float(len(looked.answers[q])) for q in values]))
        good, bad = int((array > 0.5).sum()), int((array < 0.5).sum())
        ties = len(array) - good - bad
        only = PageRate(pages.names[0], Interval(*share[:3]), good, ties, bad, len(array))
        return only, only
    # queries of the same results are ties, as many for each that was asked about as there are
    same = round(len(array) * len(pages.alike) / len(pages.asked))
    every = preferences(np.append(array, np.zeros(same)), seed)
    asked = _row("queries asked about", preferences(array, seed))
    return asked, _row("all, the same as ties", every)


def _row(over: str, of: Preferences) -> PageRate:
    rate = Interval(of.win_rate, of.low, of.high)
    return PageRate(over, rate, of.wins, of.ties, of.losses, of.queries, of.p)


def _alpha(looked: Looked, sample: str, seed: int) -> Interval | None:
    """Alpha of what several raters say of the same queries."""
    graded = {
        rater: {q: {sample: int(a[rater])} for q, a in looked.answers.items() if rater in a}
        for rater in looked.raters
    }
    answers = {int(value) for each in looked.answers.values() for value in each.values()}
    matrix = grade_matrix(graded, tuple(sorted(answers | {0, 1})))
    return alpha_of(matrix, "alpha-nominal", StatisticOptions(seed=seed))


def _unanswered(collection: Collection, pages: ResultPages) -> Iterator[Finding]:
    """That the run lacks queries, which its system may not have been asked."""
    lacking = len(read_queries(collection.queries)) - len(pages.queries)
    if lacking:
        queries = count_of(lacking, "query", "queries")
        yield Finding(f"{queries} of the collection not in the run: nobody looks at them")
