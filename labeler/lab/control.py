"""Some pairs judged again, to see whether model and prompt still grade as they did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Container, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple

from labeler.collection.batches import held_back
from labeler.collection.controls import (
    FixedPair,
    control_file,
    fixed_file,
    next_control,
    read_fixed,
    reserve_control,
    write_control,
    write_fixed,
)
from labeler.collection.judgements import JudgementRow, origin_of, read_judgements
from labeler.collection.layout import Collection, check_name, open_collection
from labeler.collection.lock import locked_in_loop
from labeler.collection.stale import stale_pairs
from labeler.data import Judged, Judgement, Pair
from labeler.errors import BadInput, Misuse, about
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.attempts import TRIES
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.job import default_name, texts_of
from labeler.judging.judge import JudgeOptions, JudgingPlan
from labeler.judging.methods.examples import as_shown
from labeler.judging.methods.inquiries import Inquiries, check_reads, unanswered
from labeler.judging.relabel import asked_again
from labeler.judging.status import prompt_source
from labeler.lab.control_check import ControlRun, DriftCheck, PairAgain, PromptAndModel
from labeler.models.call_plan import plan_calls
from labeler.models.control import Control, Underway, run_to_end
from labeler.models.session import Selection, Session, open_session, select_model
from labeler.models.settings import AnyModel, Limits
from labeler.options import COUNT, check_options, option
from labeler.prompt import find_prompt

PAIRS = 20
TIMES = 2
"""How often each pair is asked again: the new grades differ from each other by noise alone."""
FIRST_REPEAT = 1000
"""Repeats of controls count from here, apart from those of judging."""


@dataclass(frozen=True, slots=True)
class ControlPairs:
    """How many pairs a control asks about, and whether those of the last one, or others for good.

    With `fixed` the pairs are drawn once, and are the same from then on; `redraw` draws them anew.
    """

    pairs: int = option(PAIRS, "Judge so many graded pairs again.", COUNT)
    fixed: bool = option(False, "Control the same pairs each time, drawn once.")
    redraw: bool = option(False, "Draw other pairs to be the fixed ones.")

    def __post_init__(self) -> None:
        check_options(self)


def drift(  # noqa: PLR0913  the keywords of a public function are its settings
    collection: Collection | Path | str,
    name: str | None = None,
    *,
    pairs: int = PAIRS,
    prompt: str | None = None,
    model: AnyModel | None = None,
    base_url: str | None = None,
    limits: Limits | None = None,
    control: Control | None = None,
    fixed: bool = False,
    redraw: bool = False,
) -> DriftCheck:
    """Judge some pairs of a set of judgements again, and say whether its assessor has drifted.

    Each of `pairs` pairs, drawn by chance among those with a grade, is asked about twice. Their
    grades stay as they are. The model and the prompt are those of the set, as they are now, where
    none is named. With `fixed` they are the same pairs at every control, but for those whose texts
    were edited since; `redraw` draws others in their place.

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> mild = fake_model('{"grade": 2}')
    >>> first = judge(collection, model=mild, name="first")
    >>> drift(collection, "first", model=mild).verdict
    'no drift shown'
    """
    options = JudgeOptions(prompt or "", model, base_url, name, limits=limits or Limits())
    control = control or Control()
    which = ControlPairs(pairs, fixed, redraw)
    return run_to_end(lambda stop: adrift(collection, options, which, control.with_stop(stop)))


async def adrift(
    collection: Collection | Path | str,
    options: JudgeOptions,
    pairs: int | ControlPairs = PAIRS,
    control: Control | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> DriftCheck:
    """The same for callers that are asynchronous; without a prompt the set's is asked again."""
    opened, control = open_collection(collection), control or Control()
    async with _prepared(opened, options, pairs, control) as prepared:
        again = await _judged_again(prepared, control)
        assessor, name = prepared.assessor, prepared.name
        check = DriftCheck(
            name,
            ControlRun(
                prepared.number,
                now(),
                made_before(opened, name),
                PromptAndModel(assessor.prompt.id, assessor.model.id),
                again,
            ),
            tuple(sorted({row.judged.model for row in prepared.rows if row.judged.model})),
            prepared.changed,
            prepared.fixed,
        )
        async with locked_in_loop(opened, control.stop, control.note):
            path = control_file(opened, name, prepared.number)
            made = {**check.as_json(), "time": check.run.time.isoformat(timespec="seconds")}
            write_control(path, check.run.rows(), opened, made)
    return check


async def aplan_drift(
    collection: Collection | Path | str,
    options: JudgeOptions,
    pairs: int | ControlPairs = PAIRS,
    control: Control | None = None,
) -> JudgingPlan:
    """What `adrift` would take; asks nothing and writes nothing."""
    opened, control = open_collection(collection), control or Control()
    async with _prepared(opened, options, pairs, control, rehearsal=True) as prepared:
        by_pair = [
            requests
            for time in range(TIMES)
            for requests in unanswered(
                Inquiries(prepared.pairs, prepared.texts, prepared.again(time))
            )
        ]
        calls = plan_calls(list(chain.from_iterable(by_pair)), prepared.session, tries=TRIES)
        total = TIMES * len(prepared.rows)
        return JudgingPlan(total, total - len(by_pair), calls)


class _Prepared(NamedTuple):
    """The rows to judge again, their texts, and who does it, under which number.

    `changed` counts the rows that were drawn and left out, because their texts are others now.
    """

    name: str
    number: int
    rows: list[JudgementRow]
    changed: int
    fixed: bool
    texts: Texts
    assessor: Assessor
    session: Session

    def again(self, time: int) -> Assessor:
        """The assessor, whose replies of this time nobody was given before."""
        repeat = FIRST_REPEAT + TIMES * self.number + time
        return replace(self.assessor, repeat=repeat)

    @property
    def pairs(self) -> list[Pair]:
        """The pairs of the rows."""
        return [row.judged.outcome.pair for row in self.rows]


@asynccontextmanager
async def _prepared(
    collection: Collection,
    options: JudgeOptions,
    pairs: int | ControlPairs,
    control: Control,
    *,
    rehearsal: bool = False,
) -> AsyncIterator[_Prepared]:
    if options.retry_failed:
        problem = "a control asks about every pair anew; there is nothing to retry"
        raise Misuse(problem, parameter="retry_failed")
    which = pairs if isinstance(pairs, ControlPairs) else ControlPairs(pairs)
    name = _name_of(collection, options)
    _check_pairs(collection, name, which)
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
        number, stale = next_control(collection), stale_pairs(collection, name)
        path = fixed_file(collection, name)
        goes_on = which.fixed and path.exists() and not which.redraw
        if not rehearsal:
            async with locked_in_loop(collection, control.stop, control.note):
                number = reserve_control(collection, name)
                if which.fixed and not goes_on:
                    seed = f"control set\0{name}\0{number}"
                    fix(collection, name, drawn_by_chance(seed, rows, which.pairs, stale)[0])
                    goes_on = True
        if goes_on:
            drawn, changed = fixed_rows(path, rows, stale)
        else:
            drawn, changed = drawn_by_chance(f"control\0{number}", rows, which.pairs, stale)
        if len(drawn) < 2:
            problem = f"the texts of {changed:,} pairs have changed since they were judged"
            raise BadInput(f"{collection.judgements(name)}: {problem}; too few are left to control")
        yield _Prepared(name, number, drawn, changed, which.fixed, texts, assessor, session)


def _check_pairs(collection: Collection, name: str, which: ControlPairs) -> None:
    """`Misuse` of too few pairs, and of another number than the fixed ones of a set are."""
    if which.redraw and not which.fixed:
        raise Misuse("only fixed pairs are drawn once, and again", parameter="redraw")
    count = len(read_fixed(fixed_file(collection, name)))
    if which.fixed and not which.redraw and count not in (0, which.pairs):
        problem = f"the fixed pairs of {name} are {count:,}; control so many, or draw others"
        raise Misuse(problem, parameter="redraw")
    if which.pairs < 2:
        raise Misuse("a control takes two pairs at least", parameter="control")


def _name_of(collection: Collection, options: JudgeOptions) -> str:
    """The set that is meant: the one named, that of the prompt and the model, or the only one."""
    names = collection.judgement_names()
    name = options.name
    if name is None and isinstance(options.model, str) and options.prompt:
        name = default_name(find_prompt(options.prompt).name, options.model)
    if name is None and len(names) != 1:
        listed = ", ".join(names) or "none"
        raise Misuse(
            f"which judgements are to be controlled? there are: {listed}", parameter="name"
        )
    with about("name"):
        name = check_name(name if name is not None else names[0])
        collection.existing_judgements(name)
    return name


def made_before(collection: Collection, name: str) -> PromptAndModel:
    """The prompt and the model that made a set of judgements."""
    made_by = origin_of(collection.judgements(name))
    return PromptAndModel(made_by.prompt, made_by.model) if made_by else PromptAndModel()


# Which pairs a control asks about again: drawn anew by chance, or the same as the last time.


def with_grades(collection: Collection, name: str, texts: Texts) -> list[JudgementRow]:
    """The rows of a set that a control draws from, in the order of pairs."""
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
    return sorted(rows, key=lambda row: row.judged.outcome.pair)


def drawn_by_chance(
    seed: str, rows: Sequence[JudgementRow], pairs: int, stale: Container[Pair]
) -> tuple[list[JudgementRow], int]:
    """So many rows whose texts are as they were judged, and how many others were passed over."""
    drawn, passed = list[JudgementRow](), 0
    for row in Random(seed).sample(rows, len(rows)):
        if len(drawn) == pairs:
            break
        if row.judged.outcome.pair in stale:
            passed += 1
        else:
            drawn.append(row)
    return drawn, passed


def fix(collection: Collection, name: str, rows: Sequence[JudgementRow]) -> None:
    """Let the controls of a set ask about these pairs from now on; the collection is locked."""
    fixed = (FixedPair(row.judged.outcome.pair, row.judged.shown) for row in rows)
    write_fixed(collection, name, sorted(fixed))


def fixed_rows(
    path: Path, rows: Sequence[JudgementRow], stale: Container[Pair]
) -> tuple[list[JudgementRow], int]:
    """The rows of the fixed pairs whose texts are as they were when drawn, and how many are not.

    A pair that has no grade any more counts among the latter.
    """
    by_pair = {row.judged.outcome.pair: row for row in rows}
    fixed = read_fixed(path)
    unchanged = [
        by_pair[each.pair]
        for each in fixed
        if each.pair in by_pair and each.pair not in stale
        if by_pair[each.pair].judged.shown == each.shown
    ]
    return unchanged, len(fixed) - len(unchanged)


async def _judged_again(prepared: _Prepared, control: Control) -> tuple[PairAgain, ...]:
    """Each row's pair with what it was given again."""
    guard, answers = prepared.session.guard, list[list[Judged]]()
    underway = Underway(TIMES * len(prepared.rows), guard, asks=prepared.assessor.model.is_server)
    with control.judging(underway) as on_judged:
        options = PairOptions(guard.limiter.limits.in_hand, False, on_judged, guard.stop)
        for time in range(TIMES):
            judging = judge_pairs(prepared.pairs, prepared.texts, prepared.again(time), options)
            answers.append([judged async for judged in judging])
    rows = zip(prepared.rows, *answers, strict=True)
    return tuple(
        PairAgain.of(row.judged.outcome, again)
        for row, *again in rows
        if isinstance(row.judged.outcome, Judgement)
    )
