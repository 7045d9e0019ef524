"""`decide`: which of two systems to take, by as few judgements as that needs.

Queries are drawn by how far the two may differ there at most (`labeler.stats.sequential`), and the
pairs of those queries are judged that can change the difference. After each batch it is looked
whether the bounds tell the two apart, or as good within a margin: they hold at every look.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from labeler.collection.card import update_card_entry
from labeler.collection.judged_set import judged_in
from labeler.collection.layout import HUMAN, check_name, locked_in_loop, open_collection
from labeler.collection.people import HumanAnswer, people_path, read_people
from labeler.collection.queries import read_queries
from labeler.collection.user_files import COMPARED, Output
from labeler.collection.whose import CHOSEN, OF_MODELS, whose
from labeler.data import Pair
from labeler.errors import BadInput, BudgetReached, Incomplete, Misuse, about
from labeler.evaluation.differences import Credit, Credits, Differences, Span
from labeler.evaluation.equivalence import DEFAULT_MARGIN
from labeler.evaluation.evaluate import Report
from labeler.evaluation.inputs import Doubt, kin_behind
from labeler.evaluation.verdicts import Trust, merged_grades
from labeler.judging.job import JudgeResult
from labeler.judging.judge import JudgeOptions, JudgingPlan
from labeler.messages import Note, cost_of, count_of, no_query_in_common
from labeler.metrics import parse
from labeler.models.policies.limits import Spending, WithCost
from labeler.models.session import Act, Control, sync
from labeler.people.sample import SheetSample, route_sheet, sheet_scale
from labeler.pipeline.compare import (
    ComparedSystems,
    CompareOptions,
    System,
    ajudge_missing,
    compared_systems,
    loss_or_gain,
    on_other_queries,
    price_of,
    result_of,
    systems_of,
)
from labeler.prompt import checked_prompt
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Merged, Result
from labeler.report.table import Column, Interval, Table, shown, table_of
from labeler.stats.sequential import draw_order, estimate, sum_bounds
from labeler.stats.student import t_of

Grades = Mapping[str, Mapping[str, int]]
FEWEST = 4
"""So many queries are drawn at once, and an eighth of those drawn before if that is more."""
ON_A_SHEET = 20
"""People are handed so many pairs at once, if there are as many."""
CLOSED = 1e-9
"""A difference that can vary by less is settled."""


@dataclass(frozen=True)
class DrawnDifference:
    """What the `judged` pairs tell of the mean difference, once so many queries are drawn.

    `next_set` is where it lies on another set of as many queries like these.
    """

    drawn: int
    judged: int
    difference: float
    low: float
    high: float
    next_set: Annotated[Interval, Column(title="on other queries", format="", ends="+.3f")]

    def verdict(self, margin: float) -> str:
        """What it tells of the new system; empty where it tells nothing yet."""
        if self.low > CLOSED or self.high < -CLOSED:
            return "better" if self.low > 0 else "worse"
        return "as good" if max(-self.low, self.high) <= margin else ""


@dataclass(frozen=True, eq=False)
class Draws:
    """The queries of a decision in the order of drawing, with what was settled of each before.

    `documents` say of each query what its documents count; `before` are the grades that were there.
    """

    differences: Differences
    documents: Mapping[str, Credits]
    before: Grades
    seed: str = ""

    def span(self, query: str, grades: Grades) -> Span:
        """What a query may differ by."""
        return self.differences.span(self.documents[query], grades.get(query, {}))

    @cached_property
    def first(self) -> dict[str, Span]:
        """The span of each query before any is drawn."""
        return {query: self.span(query, self.before) for query in self.documents}

    @cached_property
    def order(self) -> list[str]:
        """The queries that are open, as they are drawn."""
        widths = {q: high - low for q, (low, high) in self.first.items() if high - low > CLOSED}
        return [[*widths][number] for number in draw_order([*widths.values()], self.seed)]

    def further(self, drawn: int) -> int:
        """How many queries are drawn after the next batch."""
        return min(len(self.order), drawn + max(FEWEST, drawn // 8))

    def to_judge(
        self, grades: Grades, drawn: int, asked: Container[Pair] = frozenset()
    ) -> list[Pair]:
        """What to judge next of the first queries that was not `asked`; nothing of settled ones."""
        pairs = list[Pair]()
        for query in self.order[:drawn]:
            low, high = self.span(query, grades)
            documents, judged = self.documents[query], grades.get(query, {})
            left = {
                d: c for d, c in documents.items() if d in judged or Pair(query, d) not in asked
            }
            docs = self.differences.to_judge(left, judged)
            pairs += [Pair(query, doc) for doc in docs if high - low > CLOSED]
        return pairs

    def unjudged(self, grades: Grades) -> list[Pair]:
        """The pairs of open queries that have no grade."""
        pairs = (Pair(query, doc) for query in self.order for doc in self.documents[query])
        return [pair for pair in pairs if pair.doc_id not in grades.get(pair.query_id, ())]

    def look(self, grades: Grades, drawn: int) -> DrawnDifference:
        """What the grades of the first queries tell of the mean difference over all queries."""
        low, high = np.array([self.first[query] for query in self.order]).reshape(-1, 2).T
        now = [self.span(query, grades) for query in self.order[:drawn]]
        least, most = np.array(now).reshape(-1, 2).T
        ends = sum_bounds(low, high, least, most)
        middle = np.clip(estimate(low, high, (least + most) / 2), *ends)
        settled = sum(span[0] for span in self.first.values()) - low.sum()
        # rounded, as both ends of an exact difference are one number
        value, below, above = [
            round(float(settled + s) / len(self.documents), 12) for s in (middle, *ends)
        ]
        return DrawnDifference(
            drawn,
            len(self.unjudged(self.before)) - len(self.unjudged(grades)),
            value,
            below,
            above,
            _on_next_set(
                value, below, above, self.first | dict(zip(self.order, now, strict=False))
            ),
        )


def _on_next_set(difference: float, low: float, high: float, spans: Mapping[str, Span]) -> Interval:
    """A mean difference over queries of these spans, with where another set's lies.

    Both sets vary about the mean of all such queries. A query that is not settled may lie anywhere
    in its span.
    """
    ends = np.array([*spans.values()])
    if len(ends) < 2:
        return Interval(difference, None, None)
    variance = ends.mean(axis=1).var(ddof=1) + (np.diff(ends) ** 2).mean() / 12
    reach = t_of(len(ends) - 1) * float(np.sqrt(2 * variance / len(ends)))
    return Interval(difference, max(low - reach, -1.0), min(high + reach, 1.0))


# The decision, in four lines, as a table and as JSON.


@dataclass(frozen=True, eq=False, repr=False)
class Decision(Result, WithCost):
    """Which of two systems to take, by what an assessor judged of them for that.

    Of `queries`, some are `open`: not settled before anything was judged. `pairs` are theirs that
    nobody had judged. `stopped` is what ended it before it was decided, `sheet` what people are to
    grade next. There is no `report` where nobody has judged anything.
    """

    systems: Hidden[ComparedSystems]
    report: Hidden[Report | None]
    margin: float
    look: Merged[DrawnDifference]
    queries: int
    open: int
    pairs: int
    stopped: BudgetReached | None
    spent: Hidden[Spending]
    is_priced: Hidden[bool]
    sheet: SheetSample | None = None

    @shown
    def verdict(self) -> str:
        """What is decided: better, worse, as good; or that it is not known."""
        return "not known" if self.doubt else self.look.verdict(self.margin) or "not known yet"

    @property
    def doubt(self) -> Doubt | None:
        """Why no number of judgements decides; None where some do."""
        trust = self.report.trust if self.report else Trust()
        measure = self.systems.options.measures[0]
        return trust.of([*self.systems.runs], measure, self.queries, decided=lambda: True)

    def _findings(self) -> Iterator[Finding]:
        """What a reader should know of the runs, and of whoever judged."""
        ids = read_queries(self.systems.collection.queries)
        for name, tops in self.systems.all_tops.items():
            if missing := sum(not tops.get(query) for query in ids):
                what = f"{missing:,} of {count_of(len(ids), 'query', 'queries')} missing"
                yield Finding(f"{name}: {what} from the run; counted as 0", name)
        for finding in self.report.of_judges if self.report else ():
            if CHOSEN not in finding.text:  # its bounds are of all queries, though some were chosen
                yield finding.without_advice()

    @property
    def sentences(self) -> list[str]:
        """Which system, how sure, what would make it surer, and what it took."""
        old, new = self.systems.runs
        look, doubt, options = self.look, self.doubt, self.systems.options
        which = {
            "better": f"take {new}: it is better than {old}",
            "worse": f"keep {old}: {new} is worse",
            "as good": f"either: {new} and {old} differ by {self.margin:g} at most",
            "not known": f"not known, because {doubt and doubt.because}",
            "not known yet": f"not known yet: {self.stopped or 'some pairs have no grade'}",
        }[self.verdict]
        by = f" by {self.report.grades.giver}" if self.report else ""
        left = self.pairs - look.judged
        more = f"at most {count_of(left, 'pair')} more for the exact difference"
        if options.fill:
            price = price_of(self.systems.collection, left, options.fill)
            more += f" ({price or 'at no known price: nothing is judged yet'})"
        surer = f"{doubt.command} ({doubt.price}); " if doubt else ""
        if self.sheet:
            of = count_of(self.sheet.queries, "query", "queries")
            surer += f"people's grades of {count_of(self.sheet.pairs, 'pair')} of {of}; "
        surer += f"{more}; " if look.high > look.low else "it is exact for these queries; "
        return [
            f"Which: {which}; {options.measures[0]}{by}.",
            f"How sure: {new} against {old}: from {loss_or_gain(look.low)} to "
            f"{loss_or_gain(look.high)} at 95 % [{look.low:+.4f}, {look.high:+.4f}], at whatever "
            f"time one looks. {on_other_queries(self.queries, *look.next_set[1:])}",
            f"What would make it surer: {surer}more queries, for what others would show.",
            f"Judged: {look.judged:,} of {count_of(self.pairs, 'pair')} "
            f"({look.judged / max(self.pairs, 1):.0%}), as {look.drawn:,} of {self.open:,} open "
            f"queries were drawn; this run: {cost_of(self.cost, self.cost_at_most)}.",
        ]

    def tables(self) -> list[Table]:
        """One row: the difference with its ends, after how many draws and judgements."""
        return [table_of("decision", DrawnDifference, [self.look])]


# The act: draw, have judged, look.


@dataclass(frozen=True, eq=False)
class _Deciding:
    """Two systems, which difference does not matter, and who judges: people where none fills."""

    systems: ComparedSystems
    margin: float
    judging: JudgeOptions = field(default_factory=JudgeOptions)

    def __post_init__(self) -> None:
        if len(self.systems.runs) != 2:
            raise Misuse("a decision is between two systems", parameter="systems")

    @property
    def name(self) -> str:
        """What the assessor's grades for comparisons are called."""
        return f"{self.systems.options.fill}{COMPARED}"

    def grades(self, without: str = "") -> Grades:
        """What is judged by now, without the grades of one name."""
        layers = replace(self.systems).layers
        return merged_grades(layer for name, layer in layers.items() if name != without)

    @cached_property
    def draws(self) -> Draws:
        """The queries of the collection, with what both systems return for them.

        Other lists are drawn in another order: who changed a system after a look at some queries
        does not meet these first. What people grade for the decision stands among their sheets'
        other grades, so what these are changes no order; what they brought along counts before it.
        """
        systems, others = self.systems, self.grades(without=self.name)
        given = [grade for row in self.grades().values() for grade in row.values()]
        differences = Differences(parse(systems.options.measures[0]), max([1, *self.scale, *given]))
        path, tops = systems.collection.queries, systems.all_tops
        queries = read_queries(path)
        for name, top in tops.items():
            if not queries.keys() & top:
                raise BadInput(no_query_in_common(path, queries, name, top))
        lists = {q: [top.get(q, []) for top in tops.values()] for q in queries}
        # what neither returns counts in the ideal, where it is judged
        documents = {
            query: dict.fromkeys(others.get(query, {}), Credit()) | differences.documents(*two)
            for query, two in lists.items()
        }
        answered = {answer.pair for answer in self._answers if answer.grade is not None}
        before = {
            query: {doc: grade for doc, grade in row.items() if Pair(query, doc) not in answered}
            for query, row in others.items()
        }
        return Draws(differences, documents, before, f"{systems.options.seed} {lists}")

    @property
    def _answers(self) -> list[HumanAnswer]:
        """What people answered in sheets, where they decide."""
        path = people_path(self.systems.collection.folder, self.systems.qrels.stem)
        return read_people(path) if path.exists() and not self.systems.options.fill else []

    @property
    def scale(self) -> Iterable[int]:
        """The grades that whoever judges may give."""
        if not self.systems.options.fill:
            return sheet_scale(self.systems.collection, self._graded)[0]
        prompt = checked_prompt(self.judging.grading_prompt, note=Control().note)
        self._check_prompt(prompt.id)
        return prompt.grades

    @property
    def _graded(self) -> str | None:
        """Whose scale people use: that of their qrels, else of any that are there."""
        names = self.systems.collection.qrels_names()
        return min(names, key=lambda name: name != self.systems.qrels.stem, default=None)

    def by_people(self, output: Output | None, note: Note) -> Decision:
        """What people's grades decide, with a sheet of what they are to grade next, if anything.

        What they skipped stands there again, beside as many other pairs as ever.
        """
        draws, grades, drawn, new = self.draws, self.grades(), 0, list[Pair]()
        skipped = {answer.pair for answer in self._answers if answer.grade is None}
        while len(new) < ON_A_SHEET and drawn < len(draws.order):
            if draws.look(grades, drawn).verdict(self.margin):
                break
            drawn = draws.further(drawn)
            new = draws.to_judge(grades, drawn, skipped)
        decision, pairs = self._decision(drawn), draws.to_judge(grades, drawn)
        if pairs and output and decision.verdict == "not known yet":
            made = {"source": self._graded, "by": "decide", "systems": [*self.systems.runs]}
            sheet = route_sheet(self.systems.collection, pairs, output, made, note)
            decision = replace(decision, sheet=sheet)
        return decision

    async def begin(self, control: Control) -> Decision:
        """Draw and have judged, until it is decided, or nothing is left."""
        draws, drawn, asked, spent = self.draws, 0, dict[Pair, None](), replace(control.spent)
        judged: JudgeResult | None = None
        # a batch is no run of its own for whoever watches
        quiet = replace(control, note=cache(control.note), judging=Control().judging)
        most = len(draws.unjudged(draws.before))
        with control.progress("pairs judged, at most") as advance:
            while not draws.look(grades := self.grades(), drawn).verdict(self.margin):
                if pairs := draws.to_judge(grades, drawn, asked):
                    if self._decision(drawn).doubt:
                        break
                    if not asked:
                        self._check_kin()
                    asked |= dict.fromkeys(pairs)
                    judged = await ajudge_missing(self.systems, self.judging, quiet, [*asked])
                    advance(len(asked), most)
                    quiet = replace(quiet, note=Control().note)  # the first batch said it all
                    if not judged.judged:
                        raise Incomplete(f"{self.name}: none of the first pairs has a grade")
                    if judged.stopped:
                        break
                elif drawn < len(draws.order):
                    drawn = draws.further(drawn)
                else:
                    break
        decision = self._decision(drawn, judged, control.spent.since(spent))
        more = {"seed": self.systems.options.seed, "queries_drawn": draws.order[:drawn]}
        name = f"{self.name} of {' and '.join(self.systems.runs)}"
        async with locked_in_loop(self.systems.collection, control.stop, control.note):
            update_card_entry(self.systems.collection, "decide", name, decision.as_json() | more)
        return decision

    def _decision(
        self, drawn: int, judged: JudgeResult | None = None, spent: Spending | None = None
    ) -> Decision:
        draws, systems = self.draws, replace(self.systems)
        filling = {systems.options.fill, self.name} & {*systems.collection.qrels_names()}
        if systems.qrels.stem == self.name or not filling:  # they fill no others' holes
            systems = replace(systems, options=replace(systems.options, fill=""))
        return Decision(
            self.systems,
            result_of(systems).report if systems.qrels.exists() else None,
            self.margin,
            draws.look(self.grades(), drawn),
            len(draws.documents),
            len(draws.order),
            len(draws.unjudged(draws.before)),
            judged.stopped if judged else None,
            spent or Spending(),
            judged is None or judged.is_priced,
        )

    def _check_prompt(self, prompt: str) -> None:
        """`Misuse` where its grades were given with another prompt than it is asked with now."""
        path = self.systems.collection.judgements(self.name)
        if path.is_file() and (others := judged_in(path).prompts - {prompt}):
            problem = f"{path} was judged with {', '.join(sorted(others))}, not with {prompt}"
            raise Misuse(f"{problem}; name another assessor", parameter="prompt")

    def _check_kin(self) -> None:
        """`Misuse` where a system is kin to the assessor: its grades would decide nothing."""
        asked = self.judging.declared.model or self.judging.model
        of = self.systems.collection.qrels(self.name)
        if kin := kin_behind(of, self.systems.runs, asked if isinstance(asked, str) else ""):
            problem = f"it would be circular: {kin[0]}; name another assessor"
            raise Misuse(problem, parameter="judging")

    async def plan(self, control: Control) -> JudgingPlan:
        """What judging all that may have to be judged would take."""
        pairs = self.draws.unjudged(self.draws.before)
        if pairs:
            self._check_kin()
        return await ajudge_missing(self.systems, self.judging, control, pairs).plan()


def adecide(  # noqa: PLR0913 - whoever calls it names the few that are needed
    collection: Any,
    systems: Mapping[str, System] | Iterable[System],
    measure: str = "nDCG@10",
    *,
    judging: JudgeOptions,
    margin: float = DEFAULT_MARGIN,
    qrels: str | None = None,
    seed: int = 0,
    control: Control | None = None,
) -> Act[Decision, JudgingPlan]:
    """Decide between two systems, by as few judgements of a named assessor as that needs.

    Systems are as `compare` takes them, the first the one in use. It ends once the new one is shown
    to be better or worse, or as good: apart by `margin` at most, in the mean over the collection's
    queries with all first documents of both judged. Grades that are there count. The `seed` decides
    in which order queries are drawn; the same call, made again, pays for nothing twice.

    >>> from labeler.testing import fake_model, small_collection
    >>> two = {"old": {"q1": {"cats": 1.0}}, "new": {"q1": {"dogs": 1.0}}}
    >>> judging = JudgeOptions(model=fake_model('{"grade": 2}'), name="llm")
    >>> decide(small_collection(), two, judging=judging).doubt.because
    '2 queries are too few (at least 10)'
    """
    watch, name = control or Control(), judging.name or judging.declared.name
    if not name:
        raise Misuse("name the assessor who judges", parameter="judging")
    options = CompareOptions((measure,), qrels, name, seed=seed)
    both = compared_systems(collection, systems, options, watch, f"{name}{COMPARED}")
    act = _Deciding(both, margin, judging)
    return Act(lambda: act.begin(watch), lambda: act.plan(watch))


decide = sync(adecide)


def decide_by_people(  # noqa: PLR0913 - whoever calls it names the few that are needed
    collection: Any,
    systems: Mapping[str, System] | Iterable[System],
    measure: str = "nDCG@10",
    *,
    sheet: Output | Path | None = None,
    margin: float = DEFAULT_MARGIN,
    qrels: str | None = None,
    seed: int = 0,
    control: Control | None = None,
) -> Decision:
    """Decide between two systems by people's grades, of no more pairs than that takes.

    As `decide`, but people judge: a `sheet` is written of the pairs that they are to grade next.
    Once it is imported (`people import`), the same call goes on from there. Their grades are the
    collection's `human`, or `qrels`; those of other sheets count when their query is drawn. No
    assessor's grade has a part in it.

    >>> from labeler.testing import small_collection
    >>> two = {"old": {"q1": {"cats": 1.0}}, "new": {"q1": {"dogs": 1.0}}}
    >>> decide_by_people(small_collection(), two).doubt.because
    '2 queries are too few (at least 10)'
    """
    watch, opened, name = control or Control(), open_collection(collection), qrels or HUMAN
    with about("qrels", "name"):
        check_name(name)
    options = CompareOptions((measure,), name, seed=seed)
    both = ComparedSystems(opened, opened.qrels(name), systems_of(opened, systems, watch), options)
    act = _Deciding(both, margin)
    output = None if sheet is None else Output.of(sheet, [opened.folder])
    if output:
        output.check()
        if whose(both.qrels) in OF_MODELS:
            problem = f"{both.qrels} holds grades of a model, and people's are to be added"
            raise Misuse(f"{problem}; name another set", parameter="qrels")
    return act.by_people(output, watch.note)
