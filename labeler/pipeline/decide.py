"""`decide`: which of two systems to take, by as few judgements as that needs.

Queries are drawn by how far the two may differ there at most (`labeler.stats.sequential`), and the
pairs of those queries are judged that can change the difference. After each batch it is looked
whether the bounds tell the two apart, or as good within a margin: they hold at every look.

Where people decide, an assessor may forecast their grades: it judges what people have graded, then
the pairs of all queries, if that is likely to spare people more than it costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.judged_set import judged_in
from labeler.collection.judgements import states_of
from labeler.collection.layout import (
    HUMAN,
    Collection,
    check_name,
    locked_in_loop,
    open_collection,
)
from labeler.collection.people import HumanAnswer, people_path, read_people
from labeler.collection.queries import read_queries
from labeler.collection.user_files import COMPARED, Output
from labeler.collection.whose import CHOSEN, OF_MODELS, whose
from labeler.data import Pair
from labeler.errors import BadInput, BudgetReached, Incomplete, Misuse, about
from labeler.evaluation.differences import Credit, Differences
from labeler.evaluation.draws import GRADED_FIRST, DrawnDifference, Draws, Grades
from labeler.evaluation.equivalence import DEFAULT_MARGIN
from labeler.evaluation.evaluate import Report
from labeler.evaluation.inputs import Doubt, kin_behind
from labeler.evaluation.verdicts import Trust, grade_layers, merged_grades
from labeler.judging.job import JudgeResult
from labeler.judging.judge import JudgeOptions, JudgingPlan
from labeler.messages import cost_of, count_of, dollars, no_query_in_common
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
    mean_price,
    on_other_queries,
    price_of,
    result_of,
    systems_of,
)
from labeler.prompt import checked_prompt
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Merged, Result
from labeler.report.table import Table, shown, table_of

ON_A_SHEET = 20
"""People are handed so many pairs at once, if there are as many."""
SECTION = "decide"
"""The card's section of decisions."""
PILOT = 30
"""An assessor grades so many queries that people graded, to see what its forecasts are worth."""


# The decision, in some lines, as a table and as JSON.


@dataclass(frozen=True)
class PeopleForecast:
    """What an assessor who forecasts people's grades spares them.

    With its grades of all queries `with_it` pairs are likely to be left to people, else `without`.
    It would judge `pairs` yet, for about `cost` dollars; none are left where it has judged all.
    """

    assessor: str
    with_it: int
    without: int
    pairs: int
    cost: float | None

    def is_worth(self, person_price: float | None) -> bool:
        """Whether it spares more than it costs; anything, where nobody says what people cost."""
        spared = self.without - self.with_it
        return spared > 0 and (person_price is None or spared * person_price > (self.cost or 0.0))

    def __str__(self) -> str:
        if not self.pairs:
            return (
                f"people; {self.assessor}'s forecasts leave about {self.with_it:,} pairs to them, "
                f"where {self.without:,} are left without"
            )
        price = "a price that is not known" if self.cost is None else dollars(self.cost)
        return (
            f"people alone; forecasts by {self.assessor} would leave about {self.with_it:,} pairs "
            f"to them, not {self.without:,}, for {price}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Decision(Result, WithCost):
    """Which of two systems to take, by what an assessor judged of them for that.

    Of `queries`, some are `open`: not settled before anything was judged. `pairs` are theirs that
    nobody had judged, of which about `likely` ones are yet to be judged. `stopped` is what ended it
    before it was decided, `sheet` what people are to grade next, `forecast` what an assessor spares
    them. There is no `report` where nobody has judged anything.
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
    likely: int | None = None
    forecast: PeopleForecast | None = None
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
                what = f"{missing:,} of {count_of(len(ids), 'query')} missing"
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
            "better": f"take {new}: it is better than {old} on these queries",
            "worse": f"keep {old}: {new} is worse on these queries",
            "as good": f"either: on these queries they differ by {self.margin:g} at most",
            "not known": f"not known, because {doubt and doubt.because}",
            "not known yet": f"not known yet: {self.stopped or 'some pairs have no grade'}",
        }[self.verdict]
        by = f" by {self.report.grades.giver}" if self.report else ""
        left = self.pairs - look.judged
        surer = f"{doubt.command} ({doubt.price}); " if doubt else ""
        if self.sheet:
            of = count_of(self.sheet.queries, "query")
            surer += (
                f"people's grades of {count_of(self.sheet.pairs, 'pair')} of {of}; counting these, "
            )
        if self.likely is not None:
            pairs = count_of(self.likely, "pair")
            surer += f"about {pairs} more are likely to decide it{self._price(self.likely)}; "
        more = f"at most {count_of(left, 'pair')} more for the exact difference{self._price(left)}"
        surer += f"{more}; " if look.high > look.low else "it is exact for these queries; "
        later = f"people; {options.fill} once {GRADED_FIRST} queries have their grades"
        asked = self.forecast or (later if self.sheet and options.fill else "")
        whom = [f"Whom to ask next: {asked}."] if asked else []
        return [
            f"Which: {which}; {options.measures[0]}{by}.",
            f"How sure: {new} against {old}: from {loss_or_gain(look.low)} to "
            f"{loss_or_gain(look.high)} at 95 % [{look.low:+.4f}, {look.high:+.4f}], at whatever "
            f"time one looks. {on_other_queries(self.queries, *look.next_set[1:])}",
            f"What would make it surer: {surer}more queries, for what others would show.",
            *whom,
            f"Judged: {look.judged:,} of {count_of(self.pairs, 'pair')} "
            f"({look.judged / max(self.pairs, 1):.0%}), as {look.drawn:,} of {self.open:,} open "
            f"queries were drawn; this run: {cost_of(self.cost, self.cost_at_most)}.",
        ]

    def _price(self, pairs: int) -> str:
        """What so many pairs would cost, in parentheses: of people, or of the assessor."""
        options = self.systems.options
        if options.people is None:
            price = price_of(self.systems.collection, pairs, options.fill)
            return f" ({price or 'at no known price: nothing is judged yet'})"
        return f" ({dollars(pairs * options.person_price)})" if options.person_price else ""

    def tables(self) -> list[Table]:
        """One row: the difference with its ends, after how many draws and judgements."""
        return [table_of("decision", DrawnDifference, [self.look])]


# The act: draw, have judged, look.


@dataclass(frozen=True, eq=False)
class _Deciding:
    """Two systems, which difference does not matter, and who judges, or forecasts people's grades.

    The assessor is called as the set that fills holes; where none is, people alone are asked.
    """

    systems: ComparedSystems
    margin: float
    judging: JudgeOptions

    def __post_init__(self) -> None:
        if len(self.systems.runs) != 2:
            raise Misuse("a decision is between two systems", parameter="systems")

    @property
    def is_by_people(self) -> bool:
        """Whether people's grades alone decide."""
        return self.systems.options.people is not None

    @property
    def name(self) -> str:
        """What the assessor's grades for comparisons are called."""
        return f"{self.systems.options.fill}{COMPARED}"

    @property
    def entry(self) -> str:
        """The name under which the card has this decision."""
        options = self.systems.options
        by = self.systems.qrels.stem if self.is_by_people else self.name
        systems = " and ".join(self.systems.runs)
        return f"{by} of {systems} by {options.measures[0]}, seed {options.seed}"

    @cached_property
    def _layers(self) -> Mapping[str, Grades]:
        """What is judged at the first look; each look goes through the corpus."""
        return replace(self.systems).layers

    def grades(self, without: str = "") -> Grades:
        """What was judged then, without the grades of one name."""
        people = {*self._layers} - {self.systems.qrels.stem}
        others = people if self.is_by_people else {without}
        return merged_grades(layer for name, layer in self._layers.items() if name not in others)

    @cached_property
    def forecasts(self) -> Grades:
        """The assessor's grades, those that it gave for other purposes among them."""
        of = self.systems.collection
        paths = [of.qrels(name) for name in (self.systems.options.fill, self.name) if name]
        read = (grade_layers(path, "", Control().note)[0] for path in paths if path.exists())
        return merged_grades(read)

    def to_forecast(self, queries: Iterable[str]) -> list[Pair]:
        """What the systems return for some queries, and the assessor was never asked about."""
        pairs = (Pair(q, doc) for q in queries for doc in self.without_forecasts.returned[q])
        left = (pair for pair in pairs if pair not in self._asked)
        return [p for p in left if p.doc_id not in self.forecasts.get(p.query_id, ())]

    @cached_property
    def _asked(self) -> set[Pair]:
        """What the assessor was asked for comparisons, as it stands at the first look."""
        return {pair for pair, _ in states_of(self.systems.collection.judgements(self.name))}

    @cached_property
    def draws(self) -> Draws:
        """The queries in their order; with people's forecasts, once all of these are there.

        Which forecasts are there must not depend on what is drawn. They count for later draws.
        """
        draws = self.without_forecasts
        if not (self.is_by_people and self.forecasts) or self.to_forecast(draws.order):
            return draws
        entry = card_section(read_card(self.systems.collection), SECTION).get(self.entry, {})
        drawn, since = entry.get("queries_drawn", []), entry.get("forecast_since")
        draws = replace(draws, forecasts=self.forecasts)
        if drawn != draws.order[: len(drawn)]:
            return draws
        is_known = since is not None and entry.get("forecasts") == draws.forecasts_hash
        return replace(draws, since=since if is_known else len(drawn))

    @cached_property
    def without_forecasts(self) -> Draws:
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
        return read_people(path) if path.exists() and self.is_by_people else []

    @property
    def scale(self) -> Iterable[int]:
        """The grades that whoever judges may give."""
        if self.is_by_people:
            return sheet_scale(self.systems.collection, self._graded)[0]
        prompt = checked_prompt(self.judging.grading_prompt, note=Control().note)
        self._check_prompt(prompt.id)
        return prompt.grades

    @property
    def _graded(self) -> str | None:
        """Whose scale people use: that of their qrels, else of any that are there."""
        names = self.systems.collection.qrels_names()
        return min(names, key=lambda name: name != self.systems.qrels.stem, default=None)

    async def by_people(self, output: Output | None, control: Control) -> Decision:
        """What people's grades decide; else a sheet of what they are to grade next.

        Before it the assessor is asked, where there is one: what people have graded, then the rest,
        if its forecasts are likely to spare people more than that costs.
        """
        spent, act, judged = replace(control.spent), self, None
        decision = self._decision(self.drawn_for_people)
        for is_pilot in (True, False) if self.systems.options.fill else ():
            graded = act.draws.graded(act.grades())
            if len(graded) < GRADED_FIRST or decision.verdict != "not known yet":
                break
            pairs = act.to_forecast(graded[:PILOT] if is_pilot else act.draws.order)
            worth = None if is_pilot else act.forecast
            if pairs and (worth is None or worth.is_worth(self.systems.options.person_price)):
                judged = await ajudge_missing(self.systems, self.judging, control, pairs)
                act = replace(self)
            if judged and judged.stopped:
                break
        if judged:
            decision = act._decision(act.drawn_for_people, judged, control.spent.since(spent))
        if decision.verdict == "not known yet":
            pairs = act.draws.to_judge(act.grades(), act.drawn_for_people)
            names = {"source": act._graded, "by": "decide", "qrels": act.systems.qrels.stem}
            if pairs and output:
                of, note = act.systems.collection, control.note
                decision = replace(decision, sheet=route_sheet(of, pairs, output, names, note))
        return await act._ended(decision, control)

    @cached_property
    def drawn_for_people(self) -> int:
        """How many queries are drawn: until it is decided, or a sheet is full.

        What people skipped stands there again, beside as many other pairs as ever.
        """
        draws, grades, drawn, new = self.draws, self.grades(), 0, list[Pair]()
        skipped = {answer.pair for answer in self._answers if answer.grade is None}
        while len(new) < ON_A_SHEET and drawn < len(draws.order):
            if draws.look(grades, drawn).verdict(self.margin):
                break
            drawn = draws.further(drawn)
            new = draws.to_judge(grades, drawn, skipped)
        return drawn

    @cached_property
    def forecast(self) -> PeopleForecast | None:
        """What the assessor's forecasts spare people; None before anybody can say."""
        of, fill = self.systems.collection, self.systems.options.fill
        if not (self.is_by_people and self.forecasts):
            return None
        with_it, without = (
            self.draws.likely(self.grades(), self.margin, by) for by in (self.forecasts, {})
        )
        if with_it is None or without is None:
            return None
        pairs, (_, price) = len(self.to_forecast(self.draws.order)), mean_price(of, fill)
        return PeopleForecast(fill, with_it, without, pairs, price and price * pairs)

    async def _ended(self, decision: Decision, control: Control) -> Decision:
        """What was decided, or is likely to be left, as the card keeps it."""
        draws = self.draws
        if decision.verdict == "not known yet":
            forecast = self.forecast
            likely = (
                draws.likely(self.grades(), self.margin, draws.forecasts)
                if forecast is None
                else (forecast.with_it if draws.forecasts else forecast.without)
            )
            decision = replace(decision, likely=likely, forecast=forecast)
        entry = decision.as_json() | {
            "seed": self.systems.options.seed,
            "queries_drawn": draws.order[: decision.look.drawn],
            "forecast_since": draws.since if draws.forecasts else None,
            "forecasts": draws.forecasts_hash,
        }
        async with locked_in_loop(self.systems.collection, control.stop, control.note):
            update_card_entry(self.systems.collection, SECTION, self.entry, entry)
        return decision

    async def begin(self, control: Control) -> Decision:
        """Draw and have judged, until it is decided, or nothing is left."""
        draws, drawn, asked, spent = self.draws, 0, dict[Pair, None](), replace(control.spent)
        judged: JudgeResult | None = None
        act, batches = self, 0
        # a batch is no run of its own for whoever watches
        quiet = replace(control, note=cache(control.note), judging=Control().judging)
        most = len(draws.unjudged(draws.before))
        with control.progress("pairs judged, at most") as advance:
            while not draws.look(grades := act.grades(), drawn).verdict(self.margin):
                if pairs := draws.to_judge(grades, drawn, asked):
                    # who judges is known after the first batch
                    if batches < 2 and act._decision(drawn).doubt:
                        break
                    if not asked:
                        self._check_kin()
                    asked |= dict.fromkeys(pairs)
                    judged = await ajudge_missing(self.systems, self.judging, quiet, [*asked])
                    act, batches = replace(self), batches + 1
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
        return await act._ended(act._decision(drawn, judged, control.spent.since(spent)), control)

    def _decision(
        self, drawn: int, judged: JudgeResult | None = None, spent: Spending | None = None
    ) -> Decision:
        draws, systems = self.draws, replace(self.systems)
        filling = {systems.options.fill, self.name} & {*systems.collection.qrels_names()}
        # they fill no others' holes
        if self.is_by_people or systems.qrels.stem == self.name or not filling:
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
        if self.is_by_people:
            pairs = self.to_forecast(self.draws.documents)
        elif pairs := self.draws.unjudged(self.draws.before):
            self._check_kin()
        return await ajudge_missing(self.systems, self.judging, control, pairs).plan()


def adecide(  # noqa: PLR0913 - whoever calls it names the few that are needed
    collection: Any,
    systems: Mapping[str, System] | Iterable[System],
    measure: str = "nDCG@10",
    *,
    judging: JudgeOptions | None = None,
    people: str | None = None,
    sheet: Output | Path | None = None,
    margin: float = DEFAULT_MARGIN,
    qrels: str | None = None,
    person_price: float | None = None,
    seed: int = 0,
    control: Control | None = None,
) -> Act[Decision, JudgingPlan]:
    """Decide between two systems, by as few judgements as that needs.

    Systems are as `compare` takes them, the first the one in use. It ends once the new one is shown
    to be better or worse, or as good: apart by `margin` at most, in the mean over the collection's
    queries with all first documents of both judged. Grades that are there count. The `seed` decides
    in which order queries are drawn; the same call, made again, pays for nothing twice.

    A named assessor judges. Where `people` names their qrels, or a `sheet` is to be written of what
    they are to grade next, theirs alone decide (those called `human`). Once the sheet is imported
    (`people import`), the same call goes on. An assessor forecasts their grades then, if that is
    likely to spare them more than it costs, where a pair's grade by people costs `person_price`.

    >>> from labeler.testing import fake_model, small_collection
    >>> two = {"old": {"q1": {"cats": 1.0}}, "new": {"q1": {"dogs": 1.0}}}
    >>> judging = JudgeOptions(model=fake_model('{"grade": 2}'), name="llm")
    >>> decide(small_collection(), two, judging=judging).doubt.because
    '2 queries are too few (at least 10)'
    """
    watch, opened = control or Control(), open_collection(collection)
    name = judging.name or judging.declared.name if judging else ""
    people = HUMAN if people is None and sheet is not None else people
    if not name and (judging or people is None):
        raise Misuse("name the assessor who judges", parameter="judging")
    options = CompareOptions(
        (measure,), qrels, name or "", seed=seed, people=people, person_price=person_price
    )
    if people is None:
        both = compared_systems(opened, systems, options, watch, f"{name}{COMPARED}")
    else:
        runs = systems_of(opened, systems, watch)
        path = _people_in(opened, options, is_new=sheet is not None)
        both = ComparedSystems(opened, path, runs, options)
    act = _Deciding(both, margin, judging or JudgeOptions())
    output = None if sheet is None else Output.of(sheet, [opened.folder])
    if output:
        output.check()
    return Act(
        lambda: act.by_people(output, watch) if act.is_by_people else act.begin(watch),
        lambda: act.plan(watch),
    )


decide = sync(adecide)


def _people_in(collection: Collection, options: CompareOptions, *, is_new: bool) -> Path:
    """The qrels of people who decide; `Misuse` of a model's, or of none, if it may not be new."""
    given = Path(options.people or HUMAN)
    name = given.name.removesuffix(".qrels")
    if options.qrels is not None:
        raise Misuse("people's grades alone decide; leave it out", parameter="qrels")
    with about("people", "name"):
        check_name(name)
    path = collection.qrels(name)
    if given.is_file() and not (path.is_file() and given.samefile(path)):
        problem = f"{given} is no set of {collection.folder}; import it first, as {name}"
        raise Misuse(problem, parameter="people")
    if whose(path) in OF_MODELS:
        problem = f"{path} holds grades of a model, and people's decide"
        raise Misuse(f"{problem}; name another set", parameter="people")
    if not is_new and name != HUMAN:
        with about("people", "name"):
            collection.existing_qrels(name)
    return path
