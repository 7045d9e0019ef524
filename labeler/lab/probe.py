"""`probe`: what a document can talk an assessor into, and what moves its grades."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from labeler.collection.batches import held_back
from labeler.collection.layout import Collection, open_collection
from labeler.data import Judgement
from labeler.errors import BadInput, Misuse, about
from labeler.judging.assessor import Assessor, examples_for
from labeler.judging.job import texts_of
from labeler.judging.judge import JudgeOptions, JudgingPlan
from labeler.judging.methods.inquiries import Inquiries
from labeler.lab.asking import AskedRound, judged_rounds, plan_rounds
from labeler.lab.certificate import (
    OTHER_SHARES,
    Evidence,
    Graded,
    ProbeResult,
    certificate_of,
)
from labeler.lab.probe_cases import (
    ATTACKS,
    CHANGES,
    IDLE,
    Attack,
    Case,
    as_texts,
    attack_cases,
    change_cases,
    clean_cases,
    draw,
    read_attacks,
)
from labeler.models.session import Control, Session, open_session, run_to_end, select_model
from labeler.models.settings import AnyModel, Limits
from labeler.options import COUNT, SEED, check_options, option
from labeler.prompt import find_prompt
from labeler.trec.qrels import read_qrels

PAIRS = 20
AGAIN = 900
"""The number of the repeat that asks clean pairs once more, apart from those of judging."""


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """What is tried, on how many pairs.

    `pairs` is how many pairs of the lowest grade are attacked, and how many of any grade changed.
    `qrels` names the collection's qrels that say which documents are not relevant; None takes
    `human`, or else the only ones. `attacks` is a file of further attacks; with `only`, those of
    these names alone are tried.
    """

    pairs: int = option(PAIRS, "Pairs to attack, and as many of any grade to change.", COUNT)
    qrels: str | None = option(
        None, "Which qrels say what is not relevant; else human, or the only ones."
    )
    attacks: Path | None = option(
        None, "Further attacks: a JSON object of lists of texts.", metavar="FILE"
    )
    only: tuple[str, ...] = option(
        (), "Try this attack alone; repeatable.", metavar="NAME", flags="--attack"
    )
    seed: int = option(0, "Of which pairs are drawn.", SEED)

    def __post_init__(self) -> None:
        check_options(self)


def probe(  # noqa: PLR0913  the keywords of a public function are its settings
    collection: Collection | Path | str,
    *,
    prompt: str = "",
    model: AnyModel | None = None,
    base_url: str | None = None,
    concurrency: int | None = None,
    options: ProbeOptions | None = None,
    limits: Limits | None = None,
    control: Control | None = None,
) -> ProbeResult:
    """Attack and change documents of a collection, and say what that did to a model's grades.

    Replies are kept in the collection: the same call, made again, asks only for what is missing.

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> on_cats = lambda request: '{"grade": %d}' % ("cat" in request.inputs["text"])
    >>> first = judge(collection, model=fake_model(on_cats), name="first")
    >>> probe(collection, model=fake_model(on_cats), options=ProbeOptions(pairs=2))
    ProbeResult(raised=0.23 of 30)
    """
    asked = JudgeOptions(prompt, model, base_url, None, concurrency, limits=limits or Limits())
    control, settings = control or Control(), options or ProbeOptions()
    return run_to_end(lambda stop: aprobe(collection, asked, settings, control.with_stop(stop)))


async def aprobe(
    collection: Collection | Path | str,
    asked: JudgeOptions,
    options: ProbeOptions | None = None,
    control: Control | None = None,
) -> ProbeResult:
    """The same for callers that are asynchronous."""
    control, settings = control or Control(), options or ProbeOptions()
    earlier = replace(control.spent)
    async with _prepared(collection, asked, settings, control) as prepared:
        session, (assessor, *_) = prepared.session, prepared.rounds[0]
        judging = judged_rounds(prepared.rounds, session, control, retry_failed=asked.retry_failed)
        outcomes = [judged.outcome async for judged in judging]
    graded = [
        Graded(case, outcome.grade if isinstance(outcome, Judgement) else None)
        for case, outcome in zip(prepared.cases, outcomes, strict=True)
    ]
    grades = assessor.prompt.grades
    evidence = Evidence(tuple(graded), max(grades), min(grades))
    return ProbeResult(
        certificate_of(evidence),
        assessor.prompt.id,
        assessor.model.id,
        assessor.asked_with,
        prepared.source,
        settings.seed,
        control.spent.since(earlier),
        session.selection.price is not None,
        session.selection.caveat,
    )


async def aplan_probe(
    collection: Collection | Path | str,
    asked: JudgeOptions,
    options: ProbeOptions | None = None,
    control: Control | None = None,
) -> JudgingPlan:
    """What `aprobe` would take; asks nothing and writes nothing."""
    control, settings = control or Control(), options or ProbeOptions()
    async with _prepared(collection, asked, settings, control, rehearsal=True) as prepared:
        rounds = prepared.rounds
        assessor, pairs, texts = rounds[0]
        example = Inquiries(pairs, texts, assessor).example(pairs[0])
        again = asked.retry_failed
        return plan_rounds(rounds, prepared.session, retry_failed=again, example=example)


class _Prepared(NamedTuple):
    """The cases of a probe in rounds, one an assessor, and by which qrels they were drawn."""

    cases: list[Case]
    rounds: list[AskedRound]
    source: str
    session: Session


def _by_assessor(cases: Sequence[Case], assessor: Assessor) -> Iterator[_CasesOf]:
    """The cases of the assessor, and of the same asked once more."""
    for is_again, of in ((False, assessor), (True, replace(assessor, repeat=AGAIN))):
        own = [case for case in cases if (case.kind == "again") is is_again]
        yield _CasesOf(own, AskedRound(of, *as_texts(own)))


class _CasesOf(NamedTuple):
    """Cases, and the round in which they are asked about."""

    cases: list[Case]
    round: AskedRound


@asynccontextmanager
async def _prepared(
    collection: Collection | Path | str,
    asked: JudgeOptions,
    options: ProbeOptions,
    control: Control,
    *,
    rehearsal: bool = False,
) -> AsyncIterator[_Prepared]:
    opened = open_collection(collection)
    prompt = find_prompt(asked.grading_prompt).read_by(asked.declared.reader)
    attacks = _attacks_to_try(options)
    source = _source(opened, options.qrels)
    texts, qrels = texts_of(opened), read_qrels(opened.qrels(source))
    drawn = draw(qrels, texts, options.pairs, options.seed, str(opened.qrels(source)))
    session_options = held_back(opened, replace(asked.session, rehearsal=rehearsal))
    selection = await select_model("judge", session_options, control)
    cases = [*clean_cases(drawn, texts)]
    cases += attack_cases(drawn, texts, qrels, attacks, max(prompt.grades))
    cases += change_cases(drawn, texts, selection.choice.name)
    async with open_session(selection, texts.documents.values(), opened.store, control) as session:
        assessor = Assessor.asked_in(session, prompt)
        assessor = replace(assessor, examples=examples_for(opened, "", prompt, texts))
        parts = list(_by_assessor(cases, assessor))
        ordered = [case for part in parts for case in part.cases]
        yield _Prepared(ordered, [part.round for part in parts], source, session)


def check_gates(options: ProbeOptions, names: Iterable[str], parameter: str = "require") -> None:
    """`Misuse` of a gate that asks for a share of which the probe will tell nothing."""
    shares = ["noise", "raised", "worst", *_attacks_to_try(options), *IDLE]
    for name in names:
        if name not in shares:
            problem = f"no share {name!r} to ask for; known: {', '.join(shares)}"
            raise Misuse(problem, parameter=parameter)


def _attacks_to_try(options: ProbeOptions) -> Mapping[str, Attack]:
    """The shipped attacks and those of the file, or those of some names among them."""
    attacks = {**ATTACKS, **(_attacks_in(Path(options.attacks)) if options.attacks else {})}
    for name in options.only:
        if name not in attacks:
            problem = f"no attack {name!r}; known: {', '.join(attacks)}"
            raise Misuse(problem, parameter="only")
    return {name: attacks[name] for name in options.only or attacks}


def _attacks_in(path: Path) -> Mapping[str, Attack]:
    """The attacks of a file, which may have no name that a certificate has already."""
    attacks = read_attacks(path)
    if taken := {*ATTACKS, *CHANGES, *OTHER_SHARES}.intersection(attacks):
        problem = f"{min(taken)!r} has another meaning in a certificate"
        raise BadInput(f"{path}: {problem}; give this kind another name")
    return attacks


def _source(collection: Collection, name: str | None) -> str:
    """The qrels that say which documents are not relevant."""
    names = collection.qrels_names()
    if name is None and "human" not in names and len(names) != 1:
        listed = ", ".join(names) or "none yet; `labeler judge` makes them"
        problem = f"which qrels say what is not relevant? there are: {listed}"
        raise Misuse(problem, parameter="qrels")
    source = name or ("human" if "human" in names else names[0])
    with about("qrels"):
        collection.existing_qrels(source)
    return source
