"""`tune`: which of many prompts and models agrees best with people, said of queries held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from labeler.agreement.align import scale_of
from labeler.agreement.baseline.beside import fitted_similarity
from labeler.agreement.baseline.shown import BASELINE
from labeler.agreement.baseline.similarity import why_no_baseline
from labeler.agreement.sources import human_grades
from labeler.agreement.statistics.registry import Statistic
from labeler.agreement.tune.asking import ModelPrompts, TuneOptions, TuneSession, names_of, selected
from labeler.agreement.tune.candidates import CandidateAnswers
from labeler.agreement.tune.plan import TunePlan, plan_tuning
from labeler.agreement.tune.result import Effort, Selected, TuneResult, TuneRound, ranking_of
from labeler.agreement.tune.rounds import (
    QuerySplit,
    better_half,
    queries_by_round,
    split_queries,
)
from labeler.agreement.tune.standing import HumanPart, Yardstick, ranked, standings
from labeler.collection.layout import Collection, open_collection
from labeler.data import Qrels
from labeler.errors import BadInput, BudgetReached, Misuse
from labeler.judging.assessor import Texts
from labeler.judging.job import texts_of
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.models.limits import Limits
from labeler.models.loop import run_to_end
from labeler.models.settings import AnyModel


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
