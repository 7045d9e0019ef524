"""`tune`: which of many prompts and models agrees best with people, said of queries held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

from labeler.agreement.align import Rules, scale_of
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.sources import human_grades
from labeler.collection.batches import held_back
from labeler.collection.judged_set import set_of_blocks
from labeler.collection.judgements import blocks_of
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.data import Judged, Pair
from labeler.errors import BadInput, BudgetReached, Misuse, TooManyFailed
from labeler.judging.assessor import Assessor, Texts, examples_for
from labeler.judging.in_flight import PairOptions
from labeler.judging.job import Job, default_name, texts_of
from labeler.judging.judge import DEFAULT_PROMPT, JudgingPlan, plan_job
from labeler.judging.methods.inquiries import check_reads
from labeler.judging.methods.inquiry import TRIES
from labeler.judging.pilot import AskedRound
from labeler.lab.asking import judged_rounds
from labeler.lab.standing import (
    CandidateAnswers,
    QuerySplit,
    Standing,
    TuneResult,
    TuneRound,
    Yardstick,
    better_half,
    queries_by_round,
    ranked,
    split_queries,
)
from labeler.messages import count_of
from labeler.model import Model
from labeler.models.session import (
    Act,
    CallOptions,
    Control,
    Selection,
    Session,
    SessionOptions,
    open_session,
    select_model,
    sync,
)
from labeler.models.settings import AnyModel, Proof
from labeler.options import SEED, Bounds, check_options, given, option
from labeler.prompt import Prompt
from labeler.prompt.read import checked_prompt
from labeler.report.result import Result
from labeler.report.table import Column, Table

CHOICE = "How the best is chosen"


@dataclass(frozen=True)
class TuneOptions(CallOptions):
    """Who is compared, on which people's grades, by what, and within which limits.

    Every prompt is asked of every model; without any, each assessor's own, or the default.
    `held_out` is the share of queries that nobody is chosen by. `proof` is as of `JudgeOptions`;
    the limits hold for all candidates together.
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
        Bounds(0.01, 0.99),
        panel=CHOICE,
    )
    seed: int = option(0, "Seed of the split and of intervals.", SEED, panel=CHOICE)
    proof: Proof = field(default_factory=Proof)

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("prompts", "models"):
            if isinstance(alone := getattr(self, name), str):
                object.__setattr__(self, name, (alone,))

    def session(self, model: AnyModel | None, *, rehearsal: bool = False) -> SessionOptions:
        """How one of the models is asked."""
        base_url = None if isinstance(model, Model) else self.base_url
        return self.session_of(model, base_url, patient=False, rehearsal=rehearsal)


class Candidate(NamedTuple):
    """A prompt with a model, under the name that its judgements would have."""

    name: str
    prompt: Prompt
    selection: Selection


async def candidates_of(
    options: TuneOptions, control: Control, *, rehearsal: bool = False
) -> Sequence[Candidate]:
    """Every model with every prompt, in the order in which they were named."""
    checked, named = dict[str, Prompt](), list[Candidate]()
    for model in dict.fromkeys(options.models):
        session_options = options.session(model, rehearsal=rehearsal)
        selection = await select_model("judge", session_options, control)
        declared = selection.options.declared
        for name in dict.fromkeys(options.prompts or [declared.prompt]):
            if name not in checked:
                checked[name] = checked_prompt(name or DEFAULT_PROMPT, note=control.note)
            check_reads(checked[name], selection.choice.name)
            prompt = checked[name].read_by(declared.reader)
            named.append(Candidate(default_name(prompt.name, selection.name), prompt, selection))
    prompts = list(checked.values())
    if len({prompt.grades for prompt in prompts}) > 1:
        listed = ", ".join(f"{p.name} {p.grades[0]} to {p.grades[-1]}" for p in prompts)
        raise Misuse(
            f"prompts of several scales have no grades to compare: {listed}", parameter="prompts"
        )
    if len(named) < 2:
        raise Misuse("one assessor alone cannot be the best; name two prompts", parameter="prompts")
    names = [candidate.name for candidate in named]
    return tuple(
        each if names.count(each.name) == 1 else each._replace(name=f"{each.name}-{number}")
        for number, each in enumerate(named, start=1)
    )


@dataclass
class Tuning:
    """A collection with people's grades, the queries split, and what was asked so far by name.

    A prompt that shows examples of people's grades shows none of the queries held out.
    """

    collection: Collection
    texts: Texts
    options: TuneOptions
    control: Control
    split: QuerySplit
    by: Yardstick
    notes: Sequence[str]
    asked: dict[str, list[Judged]] = field(default_factory=dict)

    @classmethod
    def of(cls, collection: Collection, options: TuneOptions, control: Control) -> Tuning:
        """A collection's pairs that people graded, and what is said of those that are left out."""
        texts, notes = texts_of(collection), list[str]()
        human, weights = human_grades(collection, options.human, notes.append)
        graded = {
            query: row
            for query in human
            if query in texts.queries
            and (row := {d: g for d, g in human[query].items() if d in texts.documents and g >= 0})
        }
        path = collection.qrels(options.human)
        if not graded:
            raise BadInput(f"{path}: no pair whose query and document are in the collection")
        every = sum(grade >= 0 for row in human.values() for grade in row.values())
        if missing := every - sum(map(len, graded.values())):
            pairs = count_of(missing, "pair is", "pairs are")
            notes.append(f"{path}: {pairs} left out: query or document not in the collection")
        for note in notes:
            control.note(note)
        words = {query: texts.queries[query].text for query in graded}
        split = split_queries(words, options.held_out, options.seed)
        by = Yardstick(graded, StatisticOptions((options.statistic,), seed=options.seed), weights)
        by.statistic(scale_of(graded, Rules()))  # refused before anybody is asked
        return cls(collection, texts, options, control, split, by, tuple(notes))

    async def ask(self, candidates: Sequence[Candidate], pairs: Sequence[Pair]) -> None:
        """Ask candidates about further pairs; `BudgetReached` ends it.

        A model's prompts are asked one after another, each with its queries in order, so that what
        requests have in common at their beginning is sent in a row.
        """
        how = PairOptions(retry_failed=self.options.retry_failed, proof=self.options.proof)
        for selection, group in groupby(candidates, lambda candidate: candidate.selection):
            async with self.open(selection) as session:
                for candidate in group:
                    rows = self.asked.setdefault(candidate.name, [])
                    asked = AskedRound(self.assessor(candidate, session), pairs, self.texts)
                    every = len(self.by.pairs)
                    try:
                        async for judged in judged_rounds(
                            [asked], session, self.control, how, every
                        ):
                            rows.append(judged)
                    except TooManyFailed as error:
                        raise error.of(candidate.name) from None

    @property
    def answers(self) -> dict[str, CandidateAnswers]:
        """What every candidate said so far."""
        return {
            name: CandidateAnswers(set_of_blocks(blocks_of(rows)))
            for name, rows in self.asked.items()
        }

    def open(self, selection: Selection) -> AbstractAsyncContextManager[Session]:
        """A model that can be asked, as long as the block runs."""
        store, documents = self.collection.store, self.texts.documents.values()
        selection = selection._replace(options=held_back(self.collection, selection.options))
        return open_session(selection, documents, store, self.control)

    def assessor(self, candidate: Candidate, session: Session) -> Assessor:
        """The candidate as an assessor that can be asked in a session."""
        prompt, held_out = candidate.prompt, frozenset(self.split.held_out)
        examples = examples_for(self.collection, "", prompt, self.texts, held_out)
        return replace(Assessor.asked_in(session, prompt), examples=examples)


@dataclass(frozen=True, eq=False, repr=False)
class TunePlan(Result):
    """What tuning would take: the queries of each round, and each candidate by its name.

    A candidate takes at most what asking about every pair does.
    """

    queries_by_round: Sequence[int]
    assessors: Mapping[str, JudgingPlan]

    def tables(self) -> list[Table]:
        """A row for each candidate."""
        columns = [
            Column("assessor", align="left"),
            Column("calls at most"),
            Column("tokens in at most", "tokens in"),
            Column("tokens out at most", "tokens out"),
            Column("cost at most", "dollars", format=",.2f", undefined="unknown"),
        ]
        calls = {name: at_most.calls for name, at_most in self.assessors.items()}
        rows = [(n, of.calls * TRIES, *of.at_most, of.at_most_cost) for n, of in calls.items()]
        return [Table("tuning", columns, rows)]


def atune(
    collection: AnyCollection,
    options: TuneOptions | None = None,
    *,
    control: Control | None = None,
    **settings: Any,
) -> Act[TuneResult, TunePlan]:
    """Ask every prompt of every model about pairs that people judged, and say which agrees best.

    The best is chosen on a part of the queries, and reported on the others alone. `settings` are
    fields of `TuneOptions`. Nothing is written but replies, which are asked for once.

    >>> from labeler.data import Query
    >>> from labeler.testing import fake_model, small_collection
    >>> queries = [Query(f"q{n}", f"where do {n} cats sleep") for n in range(8)]
    >>> collection = small_collection(queries=queries)
    >>> people = "".join(f"{query.id} 0 cats 3\\n{query.id} 0 fish 0\\n" for query in queries)
    >>> collection.qrels("human").parent.mkdir()
    >>> _ = collection.qrels("human").write_text(people)
    >>> mild = fake_model('{"grade": 2}', "mild")
    >>> fair = fake_model(lambda r: '{"grade": %d}' % (3 * ("chair" in r.inputs["text"])), "fair")
    >>> tune(collection, prompts="four-grades", models=[mild, fair]).best
    'four-grades-fair'
    """
    asked = given(TuneOptions, options, settings)
    tuning = Tuning.of(open_collection(collection), asked, control or Control())
    return Act(lambda: _tune(tuning), lambda: _plan(tuning))


tune = sync(atune)


async def _tune(tuning: Tuning) -> TuneResult:
    options, control = tuning.options, tuning.control
    earlier = replace(control.spent)
    candidates = await candidates_of(options, control)
    tuning.control = replace(control, note=lambda _line: None)
    rounds, stopped = list[TuneRound](), None
    held_out: Standing | None = None
    try:
        await _run_rounds(tuning, candidates, rounds)
        best, on_held_out = rounds[-1].ranking[0], tuning.by.on(tuning.split.held_out)
        await tuning.ask([each for each in candidates if each.name == best], on_held_out.pairs)
        held_out = Standing.of(best, tuning.answers[best], on_held_out)
    except BudgetReached as reached:
        stopped = reached
    # those of the last round by its ranking, before them who left it earlier
    chosen_by = tuning.by.on(tuning.split.chosen_by)
    order = list(dict.fromkeys(name for r in reversed(rounds) for name in r.ranking))
    return TuneResult(
        options.human,
        options.statistic,
        tuning.split,
        tuple(rounds),
        tuple(Standing.of(name, tuning.answers[name], chosen_by) for name in order),
        held_out,
        sum(answers.pairs for answers in tuning.answers.values()),
        control.spent.since(earlier),
        all(candidate.selection.price is not None for candidate in candidates),
        stopped,
        tuning.notes,
    )


async def _run_rounds(
    tuning: Tuning, candidates: Sequence[Candidate], rounds: list[TuneRound]
) -> None:
    """Ask round after round, the better half of the last one about further queries."""
    left, done, chosen_by = [each.name for each in candidates], 0, tuning.split.chosen_by
    for size in queries_by_round(len(candidates), len(chosen_by)):
        if rounds:
            left = better_half(rounds[-1].ranking)
        named = [each for each in candidates if each.name in left]
        await tuning.ask(named, tuning.by.on(chosen_by[done:size]).pairs)
        ranking = ranked(left, tuning.answers, tuning.by.on(chosen_by[:size]))
        rounds.append(TuneRound(size, tuple(ranking)))
        done = size


async def _plan(tuning: Tuning) -> TunePlan:
    candidates = await candidates_of(tuning.options, tuning.control, rehearsal=True)
    plans = {}
    for candidate in candidates:
        async with tuning.open(candidate.selection) as session:
            assessor = tuning.assessor(candidate, session)
            job = Job(tuning.collection, candidate.name, tuning.by.pairs, tuning.texts)
            plans[candidate.name] = plan_job(job, assessor, session)
    return TunePlan(queries_by_round(len(plans), len(tuning.split.chosen_by)), plans)
