"""Some pairs judged again, to see whether model and prompt still grade as they did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Container, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from labeler.collection.batches import held_back
from labeler.collection.controls import (
    TIMES,
    ControlRun,
    PairAgain,
    PromptAndModel,
    control_file,
    next_control,
    read_controls,
    reserve_control,
    write_control,
)
from labeler.collection.judgements import JudgementRow, origin_of, read_judgements
from labeler.collection.layout import (
    AnyCollection,
    Collection,
    check_name,
    locked_in_loop,
    open_collection,
)
from labeler.collection.stale import stale_pairs
from labeler.data import Judgement, Pair
from labeler.errors import BadInput, Misuse, about
from labeler.judging.assessor import Assessor, Texts, as_shown
from labeler.judging.in_flight import PairOptions
from labeler.judging.job import texts_of
from labeler.judging.judge import JudgeOptions, JudgingPlan
from labeler.judging.methods.inquiries import check_reads
from labeler.judging.pilot import AskedRound
from labeler.judging.relabel import asked_again
from labeler.judging.status import prompt_source
from labeler.lab.asking import judged_rounds, plan_rounds
from labeler.lab.control_check import DriftCheck
from labeler.models.session import (
    Act,
    Control,
    Selection,
    Session,
    open_session,
    select_model,
    sync,
)
from labeler.options import COUNT, Options, given, option
from labeler.prompt import find_prompt

PAIRS = 20
FIRST_REPEAT = 1000
"""Repeats of controls count from here, apart from those of judging."""


@dataclass(frozen=True, slots=True)
class DriftOptions(Options):
    """How many pairs of a set are judged again, and by whom.

    `judging` names the set, and whom to ask: the model and the prompt of the set, as they are now,
    where it names no others.
    """

    pairs: int = option(PAIRS, "Judge so many graded pairs again.", COUNT)
    judging: JudgeOptions = field(default_factory=JudgeOptions)


def adrift(
    collection: AnyCollection,
    name: str | None = None,
    options: DriftOptions | None = None,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    control: Control | None = None,
    **settings: Any,
) -> Act[DriftCheck, JudgingPlan]:
    """Judge some pairs of a set of judgements again, and say whether its assessor has drifted.

    Each pair, drawn by chance among those with a grade, is asked about twice. Later controls draw
    the same pairs, and more where more are asked for. Their grades stay as they are. `settings`
    are fields of `DriftOptions`, and of `JudgeOptions` in it.

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> mild = fake_model('{"grade": 2}')
    >>> first = judge(collection, model=mild, name="first")
    >>> drift(collection, "first", model=mild).verdict
    'no drift shown'
    """
    opened, watch = open_collection(collection), control or Control()
    named = {"name": name} if name is not None else {}
    asked = given(DriftOptions, options, {**named, **settings})

    async def begin() -> DriftCheck:
        async with _prepared(opened, asked, watch) as prepared:
            return await _control(opened, prepared, asked, watch, now)

    async def plan() -> JudgingPlan:
        async with _prepared(opened, asked, watch, rehearsal=True) as prepared:
            return plan_rounds(prepared.rounds, prepared.session)

    return Act(begin, plan)


drift = sync(adrift)


async def _control(
    collection: Collection,
    prepared: _Prepared,
    options: DriftOptions,
    control: Control,
    now: Callable[[], datetime],
) -> DriftCheck:
    asking = PairOptions(proof=options.judging.proof)
    judging = judged_rounds(prepared.rounds, prepared.session, control, asking)
    answers = [judged async for judged in judging]
    assessor, name, pairs_asked = prepared.rounds[0].assessor, prepared.name, len(prepared.rows)
    again = tuple(
        PairAgain.of(row.judged.outcome, answers[number::pairs_asked])
        for number, row in enumerate(prepared.rows)
        if isinstance(row.judged.outcome, Judgement)
    )
    made_by = origin_of(collection.judgements(name))
    check = DriftCheck(
        name,
        ControlRun(
            prepared.number,
            now(),
            PromptAndModel(made_by.prompt, made_by.model) if made_by else PromptAndModel(),
            PromptAndModel(assessor.prompt.id, assessor.model.id),
            again,
        ),
        tuple(sorted({row.judged.model for row in prepared.rows if row.judged.model})),
        prepared.changed,
        read_controls(collection, name),
    )
    async with locked_in_loop(collection, control.stop, control.note):
        path = control_file(collection, name, prepared.number)
        made = {**check.as_json(), "time": check.run.time.isoformat(timespec="seconds")}
        write_control(path, check.run.rows(), collection, made)
    return check


class _Prepared(NamedTuple):
    """The rows to judge again, under which number, and the rounds in which that is asked.

    `changed` counts the rows that were drawn and left out, because their texts are others now.
    """

    name: str
    number: int
    rows: list[JudgementRow]
    changed: int
    rounds: list[AskedRound]
    session: Session


@asynccontextmanager
async def _prepared(
    collection: Collection,
    which: DriftOptions,
    control: Control,
    *,
    rehearsal: bool = False,
) -> AsyncIterator[_Prepared]:
    options = which.judging
    if options.retry_failed:
        problem = "a control asks about every pair anew; there is nothing to retry"
        raise Misuse(problem, parameter="retry_failed")
    name = _name_of(collection, options)
    if which.pairs < 2:
        raise Misuse("a control takes two pairs at least", parameter="control")
    made_by = origin_of(collection.judgements(name))
    source = prompt_source(made_by.prompt) if made_by and made_by.prompt else options.grading_prompt
    options = asked_again(collection, name, replace(options, prompt=options.prompt or source))
    prompt = find_prompt(options.prompt).read_by(options.declared.reader)
    texts = texts_of(collection)
    rows = with_grades(collection, name, texts)
    session_options = held_back(collection, replace(options.session, rehearsal=rehearsal))
    selection: Selection = await select_model("judge", session_options, control)
    check_reads(prompt, selection.choice.name)
    documents = texts.documents.values()
    async with open_session(selection, documents, collection.store, control) as session:
        assessor = Assessor.asked_in(session, prompt)
        assessor = as_shown(assessor, collection, name, texts, options.held_out)
        number = next_control(collection)
        if not rehearsal:
            async with locked_in_loop(collection, control.stop, control.note):
                number = reserve_control(collection, name)
        stale = stale_pairs(collection, name)
        drawn, changed = drawn_by_chance(rows, which.pairs, stale)
        if len(drawn) < 2:
            problem = f"the texts of {changed:,} pairs have changed since they were judged"
            raise BadInput(f"{collection.judgements(name)}: {problem}; too few are left to control")
        asked = [row.judged.outcome.pair for row in drawn]
        # replies that nobody was given before
        numbers = range(FIRST_REPEAT + TIMES * number, FIRST_REPEAT + TIMES * (number + 1))
        rounds = [AskedRound(replace(assessor, repeat=n), asked, texts) for n in numbers]
        yield _Prepared(name, number, drawn, changed, rounds, session)


def _name_of(collection: Collection, options: JudgeOptions) -> str:
    """The set that is meant: the one named, or the only one."""
    names = collection.judgement_names()
    name = options.name
    if name is None and len(names) != 1:
        listed = ", ".join(names) or "none"
        raise Misuse(
            f"which judgements are to be controlled? there are: {listed}", parameter="name"
        )
    with about("name"):
        name = check_name(name if name is not None else names[0])
        collection.existing_judgements(name)
    return name


# Which pairs a control asks about again, drawn by chance.


def with_grades(collection: Collection, name: str, texts: Texts) -> list[JudgementRow]:
    """The rows of a set that a control draws from."""
    path = collection.judgements(name)
    rows = [
        row
        for row in read_judgements(path)
        if isinstance(row.judged.outcome, Judgement)
        and not row.carried
        and row.judged.outcome.pair.query_id in texts.queries
        and row.judged.outcome.pair.doc_id in texts.documents
    ]
    if len(rows) < 2:
        raise BadInput(
            f"{path}: no two pairs with a grade whose texts are there; nothing to control"
        )
    return rows


def drawn_by_chance(
    rows: Sequence[JudgementRow], pairs: int, stale: Container[Pair]
) -> tuple[list[JudgementRow], int]:
    """So many rows whose texts are as they were judged, and how many others were passed over.

    By a hash of their ids: the same pairs each time, however many others a set has meanwhile.
    """

    def by_hash(row: JudgementRow) -> bytes:
        return sha256("\0".join(row.judged.outcome.pair).encode()).digest()

    drawn, passed = list[JudgementRow](), 0
    for row in sorted(rows, key=by_hash):
        if len(drawn) == pairs:
            break
        if row.judged.outcome.pair in stale:
            passed += 1
        else:
            drawn.append(row)
    return drawn, passed
