"""`tune`: which of many prompts and models agrees best with people, said of queries held out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from labeler.agreement.align import Rules, scale_of
from labeler.agreement.baseline import fitted_similarity, why_no_baseline
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.overview import BASELINE
from labeler.agreement.shown import closer
from labeler.agreement.sources import human_grades
from labeler.agreement.statistics.registry import Statistic
from labeler.collection.batches import held_back
from labeler.collection.layout import Collection, open_collection
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, BudgetReached, Misuse
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.attempts import TRIES
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.job import Job, texts_of
from labeler.judging.judge import DEFAULT_PROMPT, JudgingPlan, plan_job
from labeler.judging.methods.examples import examples_for
from labeler.judging.methods.inquiries import check_reads
from labeler.lab.standing import (
    Candidate,
    CandidateAnswers,
    Effort,
    HumanPart,
    QuerySplit,
    Selected,
    Standing,
    TuneResult,
    TuneRound,
    Yardstick,
    better_half,
    distinct,
    figure_of,
    queries_by_round,
    ranked,
    ranking_of,
    split_queries,
    standings,
)
from labeler.messages import count_of
from labeler.model import Model
from labeler.models.control import Control, Underway, run_to_end
from labeler.models.session import Selection, Session, SessionOptions, open_session, select_model
from labeler.models.settings import CONCURRENCY, REDACT, RETRY_FAILED, AnyModel, Limits
from labeler.options import SEED, SHARE, check_options, option
from labeler.prompt import Prompt
from labeler.prompt.read import checked_prompt
from labeler.report.table import Column, Row, Table

# Ask candidates about pairs: one session for each model, one prompt of it after another.


CHOICE = "How the best is chosen"


@dataclass(frozen=True)
class TuneOptions:
    """Who is compared, on which people's grades, by what, and within which limits.

    Every prompt is asked of every model; without any, each assessor's own, or the default.
    `held_out` is the share of queries that nobody is chosen by. Without `halving`, all are
    asked about all pairs. `rules` say how grades are read, `maps` rename them, as of `agree`.
    `concurrency`, `retry_failed`, `redact` and `limits` are as of `JudgeOptions`; the limits
    hold for all candidates together.
    """

    prompts: Sequence[str] = ()
    models: Sequence[AnyModel | None] = (None,)
    base_url: str | None = None
    human: str = option("human", "The collection's human qrels.", metavar="NAME", flags="--people")
    statistic: str = option(
        "kappa", "What the best is best by.", panel=CHOICE, flags="-s --statistic"
    )
    held_out: float = option(
        0.5,
        "The share of queries that nobody is chosen by, and the best is reported on.",
        SHARE,
        panel=CHOICE,
    )
    halving: bool = True
    seed: int = option(0, "Seed of the split and of intervals.", SEED, panel=CHOICE)
    draws: int | None = None
    rules: Rules = field(default_factory=Rules)
    maps: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    concurrency: int | None = option(None, CONCURRENCY)
    retry_failed: bool = option(False, RETRY_FAILED)
    redact: bool = option(False, REDACT)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def intervals(self) -> StatisticOptions:
        """Of which statistic intervals are made, and how."""
        return StatisticOptions((self.statistic,), draws=self.draws, seed=self.seed)

    def session(self, model: AnyModel | None, *, rehearsal: bool = False) -> SessionOptions:
        """How one of the models is asked."""
        return SessionOptions(
            model,
            None if isinstance(model, Model) else self.base_url,
            self.limits,
            self.concurrency,
            self.redact,
            patient=False,
            rehearsal=rehearsal,
        )


@dataclass(frozen=True)
class ModelPrompts:
    """A model that was chosen, and the candidates that it stands behind."""

    selection: Selection
    candidates: tuple[Candidate, ...]


async def selected(
    options: TuneOptions, control: Control, *, rehearsal: bool = False
) -> tuple[ModelPrompts, ...]:
    """Every model with every prompt, in the order in which they were named."""
    checked, selections = dict[str, Prompt](), list[Selection]()
    prompts_of = list[list[Prompt]]()
    for model in dict.fromkeys(options.models):
        selection = await select_model(
            "judge", options.session(model, rehearsal=rehearsal), control
        )
        names = dict.fromkeys(options.prompts or [selection.options.declared.prompt])
        for name in names:
            if name not in checked:
                checked[name] = checked_prompt(name or DEFAULT_PROMPT, note=control.note)
            check_reads(checked[name], selection.choice.name)
        selections.append(selection)
        reader = selection.options.declared.reader
        prompts_of.append([checked[name].read_by(reader) for name in names])
    prompts = list(checked.values())
    if len({prompt.grades for prompt in prompts}) > 1:
        listed = ", ".join(f"{p.name} {p.grades[0]} to {p.grades[-1]}" for p in prompts)
        problem = f"prompts of several scales have no grades to compare: {listed}"
        raise Misuse(problem, parameter="prompts")
    named = distinct(
        [
            Candidate.of(prompt, selection.options.model, selection.name)
            for selection, prompts in zip(selections, prompts_of, strict=True)
            for prompt in prompts
        ]
    )
    if len(named) < 2:
        raise Misuse("one assessor alone cannot be the best; name two prompts", parameter="prompts")
    left = iter(named)
    return tuple(
        ModelPrompts(selection, tuple(islice(left, len(prompts))))
        for selection, prompts in zip(selections, prompts_of, strict=True)
    )


def names_of(models: Sequence[ModelPrompts]) -> list[str]:
    """The candidates' names, in the order in which they were named."""
    return [candidate.name for model in models for candidate in model.candidates]


@dataclass
class TuneSession:
    """What was asked so far: of each candidate its answers, by the candidate's name.

    A prompt that shows examples of people's grades shows none of the queries `held_out`.
    """

    collection: Collection
    texts: Texts
    options: TuneOptions
    control: Control
    held_out: frozenset[str] = frozenset()
    answers: dict[str, CandidateAnswers] = field(default_factory=dict)

    async def ask(
        self, models: Sequence[ModelPrompts], names: Sequence[str], pairs: Sequence[Pair]
    ) -> None:
        """Ask the named candidates about further pairs; `BudgetReached` ends it.

        A model's prompts are asked one after another, each with its queries in order, so that what
        requests have in common at their beginning is sent in a row.
        """
        for model in models:
            asked = [candidate for candidate in model.candidates if candidate.name in names]
            if asked:
                async with self.open(model.selection) as session:
                    for candidate in asked:
                        await self._ask_one(candidate, session, pairs)

    @asynccontextmanager
    async def open(self, selection: Selection) -> AsyncIterator[Session]:
        """A model that can be asked, as long as the block runs."""
        store, documents = self.collection.store, self.texts.documents.values()
        selection = selection._replace(options=held_back(self.collection, selection.options))
        async with open_session(selection, documents, store, self.control) as session:
            yield session

    async def _ask_one(self, candidate: Candidate, session: Session, pairs: Sequence[Pair]) -> None:
        assessor, guard = self.assessor(candidate, session), session.guard
        answers = self.answers.setdefault(candidate.name, CandidateAnswers())
        underway = Underway(len(pairs), guard, asks=assessor.model.is_server)
        with self.control.judging(underway) as on_judged:
            in_hand = guard.limiter.limits.in_hand
            how = PairOptions(in_hand, self.options.retry_failed, on_judged, guard.stop)
            async for judged in judge_pairs(pairs, self.texts, assessor, how):
                answers.add(judged)

    def assessor(self, candidate: Candidate, session: Session) -> Assessor:
        """The candidate as an assessor that can be asked in a session."""
        prompt = candidate.prompt
        examples = examples_for(self.collection, "", prompt, self.texts, self.held_out)
        return replace(Assessor.asked_in(session, prompt), examples=examples)


# What `tune` would take, before anything is asked.


@dataclass(frozen=True)
class CandidatePlan:
    """What a candidate would take in the first round, and at most: asked about every pair."""

    name: str
    first: JudgingPlan
    at_most: JudgingPlan


@dataclass(frozen=True)
class TunePlan:
    """What tuning would take: `sizes` are the queries of each round."""

    sizes: tuple[int, ...]
    candidates: tuple[CandidatePlan, ...]

    def table(self) -> Table:
        """A row for each candidate, and one for all of them."""
        columns = [
            Column("assessor", align="left"),
            Column("calls", "calls, first round", format=",d"),
            Column("calls at most", format=",d"),
            Column("tokens in at most", "tokens in", format=",d"),
            Column("tokens out at most", "tokens out", format=",d"),
            Column("cost at most", "dollars", format=",.2f", undefined="unknown"),
        ]
        rows: list[Row] = [
            [
                plan.name,
                plan.first.calls.calls,
                plan.at_most.calls.calls * TRIES,
                plan.at_most.calls.at_most.inside,
                plan.at_most.calls.at_most.outside,
                plan.at_most.calls.at_most_cost,
            ]
            for plan in self.candidates
        ]
        return Table("tuning", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The figures of each candidate by its name."""
        return {
            "queries_by_round": list(self.sizes),
            "assessors": {
                plan.name: {"first": plan.first.as_json(), "at_most": plan.at_most.as_json()}
                for plan in self.candidates
            },
        }


async def plan_tuning(
    asked: TuneSession,
    models: Sequence[ModelPrompts],
    first: Sequence[Pair],
    pairs: Sequence[Pair],
    sizes: tuple[int, ...],
) -> TunePlan:
    """What each candidate would take about the pairs of the first round, and about all of them."""
    plans = list[CandidatePlan]()
    for model in models:
        async with asked.open(model.selection) as session:
            for candidate in model.candidates:
                job = Job(asked.collection, candidate.name, first, asked.texts)
                assessor = asked.assessor(candidate, session)
                both = (plan_job(j, assessor, session) for j in (job, job._replace(pairs=pairs)))
                plans.append(CandidatePlan(candidate.name, *both))
    return TunePlan(sizes, tuple(plans))


def tune(  # noqa: PLR0913  the keywords of a public function are its settings
    collection: Collection | Path | str,
    prompts: Sequence[str] | str,
    models: Sequence[AnyModel | None] | AnyModel = (None,),
    *,
    human: str = "human",
    statistic: str = "kappa",
    held_out: float = 0.5,
    halving: bool = True,
    seed: int = 0,
    base_url: str | None = None,
    limits: Limits | None = None,
    control: Control | None = None,
) -> TuneResult:
    """Ask every prompt of every model about pairs that people judged, and say which agrees best.

    The best is chosen on a part of the queries, and reported on the others alone. `TuneOptions`
    says what the settings mean. Nothing is written but replies, which are asked for once.

    >>> from labeler.data import Query
    >>> from labeler.testing import fake_model, small_collection
    >>> queries = [Query(f"q{n}", f"where do {n} cats sleep") for n in range(8)]
    >>> collection = small_collection(queries=queries)
    >>> people = "".join(f"{query.id} 0 cats 3\\n{query.id} 0 fish 0\\n" for query in queries)
    >>> collection.qrels("human").parent.mkdir()
    >>> _ = collection.qrels("human").write_text(people)
    >>> mild = fake_model('{"grade": 2}', "mild")
    >>> fair = fake_model(lambda r: '{"grade": %d}' % (3 * ("chair" in r.inputs["text"])), "fair")
    >>> tune(collection, ["four-grades"], [mild, fair])
    TuneResult('four-grades-fair' of 2, kappa 1.000 on 4 queries held out)
    """
    options = TuneOptions(
        (prompts,) if isinstance(prompts, str) else tuple(prompts),
        (models,) if isinstance(models, AnyModel) else tuple(models),
        base_url,
        human,
        statistic,
        held_out,
        halving,
        seed,
        limits=limits or Limits(),
    )
    control = control or Control()
    return run_to_end(lambda stop: atune(collection, options, control.with_stop(stop)))


async def atune(
    collection: Collection | Path | str, options: TuneOptions, control: Control | None = None
) -> TuneResult:
    """The same for callers that are asynchronous."""
    control = control or Control()
    work = _prepared(open_collection(collection), options, control)
    earlier = replace(control.spent)
    models = await selected(options, control)
    names = names_of(models)
    asked = _session(work, options, replace(control, note=_say_nothing))
    rounds, selection, stopped = list[TuneRound](), None, None
    try:
        await _run_rounds(work, models, asked, rounds)
        reported = list(dict.fromkeys([rounds[-1].ranking[0], names[0]]))
        await asked.ask(models, reported, work.by.on(work.split.held_out).human.pairs)
        selection = _selected(work, asked, reported)
    except BudgetReached as reached:
        stopped = reached
    order = ranking_of(rounds)
    return TuneResult(
        work.by.human.name,
        options.statistic,
        work.split,
        tuple(rounds),
        standings(order, asked.answers, work.by.on(work.split.chosen_by)) if order else (),
        selection,
        _effort(work, len(names), asked, reported=2 if selection and selection.first else 1),
        control.spent.since(earlier),
        all(model.selection.price is not None for model in models),
        work.statistic.better,
        (work.statistic.low, work.statistic.high),
        stopped,
        work.notes,
    )


async def aplan_tuning(
    collection: Collection | Path | str, options: TuneOptions, control: Control | None = None
) -> TunePlan:
    """What `atune` would take; asks nothing and writes nothing."""
    control = control or Control()
    work = _prepared(open_collection(collection), options, control)
    models = await selected(options, control, rehearsal=True)
    asked = _session(work, options, control)
    sizes = _sizes(work, len(names_of(models)))
    first = work.by.on(work.split.chosen_by[: sizes[0]]).human.pairs
    return await plan_tuning(asked, models, first, work.by.human.pairs, sizes)


@dataclass(frozen=True)
class _Work:
    """A collection with people's grades, the queries split, and what candidates are held to."""

    collection: Collection
    texts: Texts
    split: QuerySplit
    by: Yardstick
    statistic: Statistic
    halving: bool
    notes: tuple[str, ...] = ()


def _prepared(collection: Collection, options: TuneOptions, control: Control) -> _Work:
    if not 0 < options.held_out < 1:
        raise Misuse("the share held out lies between 0 and 1", parameter="held_out")
    texts = texts_of(collection)
    notes = list[str]()
    grades, weights = human_grades(collection, options.human, notes.append)
    graded = {
        query: row
        for query in grades
        if query in texts.queries
        and (row := {d: g for d, g in grades[query].items() if d in texts.documents and g >= 0})
    }
    path = collection.qrels(options.human)
    if not graded:
        raise BadInput(f"{path}: no pair whose query and document are in the collection")
    if missing := sum(g >= 0 for row in grades.values() for g in row.values()) - _pairs_in(graded):
        pairs = count_of(missing, "pair is", "pairs are")
        notes.append(f"{path}: {pairs} left out: query or document not in the collection")
    for note in notes:
        control.note(note)
    human = HumanPart(options.human, graded, weights)
    split = split_queries(
        {query: texts.queries[query].text for query in graded}, options.held_out, options.seed
    )
    by = Yardstick(human, options.rules, options.maps, options.intervals)
    statistic = by.statistic(scale_of(graded, options.rules))
    return _Work(collection, texts, split, by, statistic, options.halving, tuple(notes))


def _pairs_in(grades: Qrels) -> int:
    return sum(map(len, grades.values()))


def _session(work: _Work, options: TuneOptions, control: Control) -> TuneSession:
    held_out = frozenset(work.split.held_out)
    return TuneSession(work.collection, work.texts, options, control, held_out)


def _sizes(work: _Work, candidates: int) -> tuple[int, ...]:
    return queries_by_round(candidates, len(work.split.chosen_by), halving=work.halving)


async def _run_rounds(
    work: _Work, models: Sequence[ModelPrompts], asked: TuneSession, rounds: list[TuneRound]
) -> None:
    """Ask round after round, the better half of the last one about further queries."""
    left, done = names_of(models), 0
    for size in _sizes(work, len(left)):
        if rounds:
            left = better_half(rounds[-1].ranking)
        further = work.by.on(work.split.chosen_by[done:size]).human.pairs
        await asked.ask(models, left, further)
        so_far = work.by.on(work.split.chosen_by[:size])
        rounds.append(TuneRound(size, tuple(ranked(left, asked.answers, so_far))))
        done = size


def _selected(work: _Work, asked: TuneSession, reported: Sequence[str]) -> Selected:
    """What the queries held out say of the best, of the first named and of the baseline."""
    grades, why_none = _baseline(work)
    answers = {**asked.answers, BASELINE: CandidateAnswers(grades)}
    names = [*reported, *([BASELINE] if grades else [])]
    best, *others = standings(names, answers, work.by.on(work.split.held_out))
    baseline = others.pop() if grades else None
    return Selected(best, others[0] if others else None, baseline, why_none)


def _baseline(work: _Work) -> tuple[Qrels, str]:
    """The baseline's grades of all pairs that people graded; or none, and why."""
    by = work.by
    if any(by.maps.values()):
        return {}, "its cut points are fitted on people's grades as they are, and these are mapped"
    if why_none := why_no_baseline(work.collection, by.human.grades, asked=False):
        return {}, why_none
    scale = scale_of(by.human.grades, replace(by.rules, cut=None))
    return fitted_similarity(work.collection, by.human.grades, scale, by.options.seed), ""


def _effort(work: _Work, candidates: int, asked: TuneSession, reported: int) -> Effort:
    chosen_by, held_out = (len(work.by.on(part).human.pairs) for part in work.split)
    answered = sum(answers.pairs for answers in asked.answers.values())
    return Effort(answered, candidates * chosen_by + reported * held_out)


def _say_nothing(_message: str) -> None:
    return None


# What tuning found, in sentences: the best, beside the one named first, and what was saved.


def sentences_of(result: TuneResult) -> Iterator[str]:
    """Who agrees best, how sure that is, and what was saved."""
    if result.selected is None:
        yield "Stopped before the queries held out were judged, so no best can be reported."
        return
    best, first, baseline, _ = result.selected
    queries, many = count_of(best.queries, "query", "queries"), len(result.standings)
    yield (
        f"Of {many} assessors {best.name} agrees best with {result.human}: {result.statistic} "
        f"{_with_ends(best)} on {queries} held out."
    )
    own = result.standings[0]
    yield (
        f"On the {own.queries} queries that it was chosen by it has {figure_of(own)}, which is too "
        f"high as a rule: it was chosen as the best of {many}."
    )
    if first is not None:
        yield _beside_first(result.selected, first)
    if baseline is not None:
        yield _beside_baseline(best, baseline)
    yield _saved(result)


def _beside_first(selected: Selected, first: Standing) -> str:
    beside = first.beside
    verdict = closer(beside.verdict, (first.name, selected.best.name)) if beside else "undefined"
    return f"{first.name}, named first, has {_with_ends(first)} on them{_apart(first)}: {verdict}."


def _beside_baseline(best: Standing, baseline: Standing) -> str:
    verdict = baseline.beside.verdict if baseline.beside else "undefined"
    beats = {"second is closer": "beats it", "first is closer": "is beaten by it"}
    return (
        f"The baseline, how alike words are with cut points fitted on people's grades of other "
        f"queries, has {_with_ends(baseline)} on them{_apart(baseline)}: {best.name} "
        f"{beats.get(verdict, 'does not beat it by more than chance')}."
    )


def _apart(other: Standing) -> str:
    """What the best has more than another, with its interval."""
    beside = other.beside
    if beside is None or None in (beside.value, beside.low, beside.high):
        return ""
    return f"; difference {_less(beside.value)} [{_less(beside.high)}, {_less(beside.low)}]"


def _saved(result: TuneResult) -> str:
    pairs, full = result.effort
    if len(result.rounds) == 1:
        return f"All {full:,} pairs were asked about; nothing was saved by halving."
    rounds = ", ".join(str(r.queries) for r in result.rounds)
    return (
        f"Asked about {pairs:,} pairs instead of {full:,}, {1 - pairs / full:.0%} less: the better "
        f"half of each round went on (to {rounds} queries)."
    )


def _less(value: float | None) -> str:
    """What the best has more, where another has this much more than the best."""
    return "undefined" if value is None else f"{-value:+.3f}"


def _with_ends(standing: Standing) -> str:
    low, high = standing.value.low, standing.value.high
    ends = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return f"{figure_of(standing)}{ends}"
