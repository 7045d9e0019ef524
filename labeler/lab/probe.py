"""`probe`: what a document can talk an assessor into."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from labeler.collection.batches import held_back
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.user_files import collection_qrels
from labeler.data import Judgement
from labeler.errors import about, check_known
from labeler.judging.assessor import Assessor, examples_for
from labeler.judging.in_flight import PairOptions
from labeler.judging.job import texts_of
from labeler.judging.judge import JudgeOptions, JudgingPlan
from labeler.judging.methods.inquiries import Inquiries
from labeler.judging.pilot import AskedRound
from labeler.lab.asking import judged_rounds, plan_rounds
from labeler.lab.certificate import (
    ATTACKS,
    Case,
    Evidence,
    ProbeResult,
    as_texts,
    attack_cases,
    certificate_of,
    clean_cases,
    draw,
)
from labeler.models.policies.limits import Spending
from labeler.models.session import Act, Control, Session, open_session, select_model, sync
from labeler.options import COUNT, SEED, Options, given, option
from labeler.prompt import find_prompt
from labeler.trec.files import read_qrels

PAIRS = 20
AGAIN = 900
"""The number of the repeat that asks clean pairs once more, apart from those of judging."""


@dataclass(frozen=True, slots=True)
class ProbeOptions(Options):
    """What is tried, on how many pairs.

    `pairs` is how many pairs of the lowest grade are attacked.
    `qrels` names the collection's qrels that say which documents are not relevant; None takes
    `human`, or else the only ones. With `only`, the attacks of these names alone are tried.
    `judging` says who is asked.
    """

    pairs: int = option(PAIRS, "Pairs to attack.", COUNT)
    qrels: str | None = option(
        None, "Which qrels say what is not relevant; else human, or the only ones."
    )
    only: tuple[str, ...] = option(
        (), "Try this attack alone; repeatable.", metavar="NAME", flags="--attack"
    )
    seed: int = option(0, "Of which pairs are drawn.", SEED)
    judging: JudgeOptions = field(default_factory=JudgeOptions)


def aprobe(
    collection: AnyCollection,
    options: ProbeOptions | None = None,
    *,
    control: Control | None = None,
    **settings: Any,
) -> Act[ProbeResult, JudgingPlan]:
    """Attack documents of a collection, and say what that did to a model's grades.

    `settings` are fields of `ProbeOptions`, and of `JudgeOptions` in it. Replies are kept in the
    collection: the same call, made again, asks only for what is missing.

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> on_cats = lambda request: '{"grade": %d}' % ("cat" in request.inputs["text"])
    >>> first = judge(collection, model=fake_model(on_cats), name="first")
    >>> round(probe(collection, pairs=2, model=fake_model(on_cats)).shares()["raised"].value, 2)
    0.23
    """
    opened, watch = open_collection(collection), control or Control()
    asked = given(ProbeOptions, options, settings)

    async def begin() -> ProbeResult:
        earlier = replace(watch.spent)
        async with _prepared(opened, asked, watch) as prepared:
            return await _probe(prepared, asked, watch, earlier)

    async def plan() -> JudgingPlan:
        async with _prepared(opened, asked, watch, rehearsal=True) as prepared:
            rounds, again = prepared.rounds, asked.judging.retry_failed
            assessor, pairs, texts = rounds[0]
            example = Inquiries(pairs, texts, assessor).example(next(iter(pairs)))
            return plan_rounds(rounds, prepared.session, retry_failed=again, example=example)

    return Act(begin, plan)


probe = sync(aprobe)


async def _probe(
    prepared: _Prepared, options: ProbeOptions, control: Control, earlier: Spending
) -> ProbeResult:
    session, (assessor, *_) = prepared.session, prepared.rounds[0]
    asked = options.judging
    asking = PairOptions(retry_failed=asked.retry_failed, proof=asked.proof)
    judging = judged_rounds(prepared.rounds, session, control, asking)
    outcomes = [judged.outcome async for judged in judging]
    graded = [
        case._replace(grade=outcome.grade if isinstance(outcome, Judgement) else None)
        for case, outcome in zip(prepared.cases, outcomes, strict=True)
    ]
    return ProbeResult(
        certificate_of(Evidence(tuple(graded), max(assessor.prompt.grades))),
        assessor.prompt.id,
        assessor.model.id,
        assessor.asked_with,
        prepared.source,
        options.seed,
        control.spent.since(earlier),
        session.selection.price is not None,
        session.selection.caveat,
    )


class _Prepared(NamedTuple):
    """The cases of a probe in rounds, one an assessor, and by which qrels they were drawn."""

    cases: list[Case]
    rounds: list[AskedRound]
    source: str
    session: Session


@asynccontextmanager
async def _prepared(
    opened: Collection,
    options: ProbeOptions,
    control: Control,
    *,
    rehearsal: bool = False,
) -> AsyncIterator[_Prepared]:
    asked = options.judging
    prompt = find_prompt(asked.grading_prompt).read_by(asked.declared.reader)
    attacks = _attacks_to_try(options)
    with about("qrels"):
        source = collection_qrels(opened.folder, options.qrels)
    texts, qrels = texts_of(opened), read_qrels(source)
    drawn = draw(qrels, texts, options.pairs, options.seed, str(source))
    session_options = held_back(opened, replace(asked.session, rehearsal=rehearsal))
    selection = await select_model("judge", session_options, control)
    cases = [*clean_cases(drawn, texts)]
    cases += attack_cases(drawn, texts, qrels, attacks, max(prompt.grades))
    async with open_session(selection, texts.documents.values(), opened.store, control) as session:
        assessor = Assessor.asked_in(session, prompt)
        assessor = replace(assessor, examples=examples_for(opened, "", prompt, texts))
        once = [case for case in cases if case.kind != "again"]
        again = [case for case in cases if case.kind == "again"]
        rounds = [
            AskedRound(assessor, *as_texts(once)),
            AskedRound(replace(assessor, repeat=AGAIN), *as_texts(again)),
        ]
        yield _Prepared([*once, *again], rounds, source.stem, session)


def check_gates(options: ProbeOptions, names: Iterable[str]) -> None:
    """`Misuse` of a gate that asks for a share of which the probe will tell nothing."""
    for name in names:
        check_known("share", name, ["raised", "noise", *_attacks_to_try(options)], "require")


def _attacks_to_try(options: ProbeOptions) -> Mapping[str, str]:
    """The attacks, or those of some names among them."""
    for name in options.only:
        check_known("attack", name, ATTACKS, "only")
    return {name: ATTACKS[name] for name in options.only or ATTACKS}
