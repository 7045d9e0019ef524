"""Some pairs judged again, to see whether model and prompt still grade as they did."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.collection.batches import held_back
from labeler.collection.controls import (
    ControlRun,
    PairAgain,
    PromptAndModel,
    control_file,
    next_control,
    read_controls,
    reserve_control,
    sessions_in,
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
from labeler.data import Judgement
from labeler.errors import BadInput, Misuse, about
from labeler.judging.assessor import Assessor, Texts, as_shown
from labeler.judging.in_flight import PairOptions
from labeler.judging.job import texts_of
from labeler.judging.judge import JudgeOptions, JudgingPlan
from labeler.judging.methods.inquiries import check_reads
from labeler.judging.pilot import AskedRound
from labeler.judging.relabel import asked_again
from labeler.lab.asking import judged_rounds, plan_rounds
from labeler.messages import count_of
from labeler.models.session import (
    Act,
    Control,
    Selection,
    Session,
    open_session,
    select_model,
    sync,
)
from labeler.options import Bounds, Options, given, option
from labeler.prompt import find_prompt, prompt_source
from labeler.report.result import Result
from labeler.report.table import Interval, Table, figure_table, table_of
from labeler.stats.drift import Departure, Drift, drifts
from labeler.stats.families import each_pair
from labeler.stats.means import bounded_interval

MOST_WITHOUT_GRADE = 0.1
"""The share of new replies without a grade above which a control does not pass."""

DRIFTED, FAILS = "drifted", "too many replies without a grade"
TOO_LITTLE, STEADY = "too little data", "no drift shown"
"""What a control may say; by the last alone a gate passes."""


@dataclass(frozen=True, eq=False, repr=False)
class DriftCheck(Result):
    """What one control says of the assessor of the judgements `name`.

    `judged_as` is what the server called its model when the pairs were judged. `changed` counts the
    pairs that were passed over because their texts are others now. `earlier` are the controls of
    the set before this one. What repeats is a session, so of each day the last control counts:
    replies of the same hours may be alike for that reason alone.
    """

    name: str
    run: ControlRun
    judged_as: Sequence[str] = ()
    changed: int = 0
    earlier: Sequence[ControlRun] = ()

    @cached_property
    def grades(self) -> Floats:
        """The grades of the pairs that compare, `(pairs, 2)`: the old one and the new one."""
        grades = [pair.grades for pair in self.run.pairs if pair.grades]
        return np.array(grades, float).reshape(-1, 2)

    @cached_property
    def sessions(self) -> Floats:
        """A grade a session, `(pairs, sessions)`: the old, one of each earlier day, and the new."""
        by_day = sessions_in(self.earlier)
        by_day.pop(self.run.label, None)
        earlier = list(by_day.values())
        rows = [
            [pair.old, *(of.get((pair.pair, pair.old), math.nan) for of in earlier), pair.new]
            for pair in self.run.pairs
            if pair.grades
        ]
        return np.array(rows, float).reshape(-1, 2 + len(earlier))

    @cached_property
    def drift(self) -> Drift:
        """How far the new grades lie from those of the sessions before, and which are alarms."""
        *_, last = drifts(self.sessions)
        return last

    @cached_property
    def same(self) -> Interval:
        """The share of new grades that equal the old ones."""
        values = (self.grades[:, 1] == self.grades[:, 0]).astype(float)
        ends = bounded_interval(values, (0.0, 1.0)) or (math.nan, math.nan)
        return Interval(float(values.mean()) if len(values) else math.nan, *ends)

    @cached_property
    def shift(self) -> Interval:
        """How far the grades of these pairs moved on average, between these two sessions."""
        most = float(self.grades.max(initial=1.0))
        (verdict,) = each_pair((self.grades[:, 1] - self.grades[:, 0])[None], most)
        return Interval(verdict.estimate, *verdict.ends)

    @property
    def has_drifted(self) -> bool:
        """Whether grades are not as before, by more than sessions and pairs vary."""
        return bool(self.drift.alarms)

    @property
    def verdict(self) -> str:
        """In words."""
        if self.has_drifted:
            return DRIFTED
        if self.fails_often:
            return FAILS
        return TOO_LITTLE if self.drift.missing else STEADY

    @property
    def fails_often(self) -> bool:
        """Whether more than a tenth of the new replies gave no grade."""
        without, replies = self.run.failures
        return without > MOST_WITHOUT_GRADE * replies

    @property
    def compared(self) -> int:
        """How many pairs have a grade again."""
        return len(self.grades)

    @property
    def remembered(self) -> int:
        """How many pairs had a reply that was stored before the control began."""
        return sum(pair.remembered for pair in self.run.pairs)

    @property
    def failed(self) -> int:
        """How many pairs had a grade and now have none."""
        return len(self.run.pairs) - self.compared - self.remembered

    @property
    def sentences(self) -> list[str]:
        """What was asked, what came of it, and what it is held against."""
        first = (
            f"{self.name}: {self.verdict} ({self.compared:,} of "
            f"{count_of(len(self.run.pairs), 'pair')} compared)"
        )
        return [first, *self.changes.values(), *self._left_out(), *self._basis()]

    def _basis(self) -> Iterator[str]:
        """What grades are held against, and what that leaves open."""
        if self.compared < 2:
            pairs = count_of(self.compared, "pair alone compares", "pairs alone compare")
            yield f"{pairs}: nothing is shown either way"
            return
        yield self.beside_sessions()

    def beside_sessions(self) -> str:
        """What lies farther from other sessions than these vary, or how far nothing lies."""
        each = ", a control each, a day apart" if self.drift.missing else ""
        return f"{self.drift.beside('session')}{each}"

    def _left_out(self) -> Iterator[str]:
        """Which pairs are not compared, and why."""
        if self.changed:
            pairs = count_of(self.changed, "pair")
            yield f"{pairs} passed over: to the texts as they are now no reply is stored"
        if self.remembered:
            pairs = count_of(self.remembered, "pair")
            yield f"{pairs} left out: a reply was stored before this control began"
        if self.failed:
            pairs = count_of(self.failed, "pair")
            yield f"{pairs} had a grade and got none now; {self.without_grade()}"

    def without_grade(self) -> str:
        """How many of the new replies gave no grade, and how many may."""
        without, replies = self.run.failures
        return (
            f"{without:,} of {replies:,} new replies, {without / replies:.0%}, gave no grade "
            f"(at most {MOST_WITHOUT_GRADE:.0%} pass)"
        )

    @property
    def changes(self) -> dict[str, str]:
        """What is another one than when the pairs were judged, each in words."""
        both = zip(PromptAndModel._fields, self.run.before, self.run.now, strict=True)
        words = {
            what: f"the {what} is not the same: {old or 'unknown'} when judged, {new} now"
            for what, old, new in both
            if old != new
        }
        then, now = self.judged_as, self.run.names
        if then and now and then != now:
            words["name"] = (
                f"the server called its model {', '.join(then)} when judged, {', '.join(now)} now"
            )
        return words

    def tables(self) -> list[Table]:
        """Shares of equal grades and the mean shift; and how far each session lies from others."""
        figures = {
            "new grades that equal the old": self.same,
            "shift of grades": self.shift,
        }
        sessions = table_of("sessions", Departure, self.drift.departures)
        return [figure_table("drift", figures), *([sessions] if sessions.rows else [])]

    def as_json(self) -> dict[str, Any]:
        """The figures by name; what is undefined is None."""
        return self.picked(
            *("name", "verdict", "compared", "failed", "remembered", "changed"),
            "same",
            "shift",
            control=self.run.number,
            pairs=len(self.run.pairs),
            sessions=self.drift.others,
            departures=self.drift.departures,
            before=self.run.before,
            now=self.run.now,
        )


# The pairs, judged again.

PAIRS = 100
"""Of fewer hardly any shift is seen but one of half of them."""
FIRST_REPEAT = 1000
"""Repeats of controls count from here, apart from those of judging."""


@dataclass(frozen=True, slots=True)
class DriftOptions(Options):
    """How many pairs of a set are judged again, and by whom.

    `judging` names the set, and whom to ask: the model and the prompt of the set, as they are now,
    where it names no others.
    """

    pairs: int = option(PAIRS, "Judge so many graded pairs again.", Bounds(2, 10**9))
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

    Pairs are drawn by chance among those with a grade. Later controls draw the same ones, and more
    where more are asked for. Their grades stay as they are. `settings`
    are fields of `DriftOptions`, and of `JudgeOptions` in it.

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> mild = fake_model('{"grade": 2}')
    >>> first = judge(collection, model=mild, name="first")
    >>> drift(collection, "first", model=mild).verdict
    'too little data'
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
    assessor, name = prepared.rounds[0].assessor, prepared.name
    again = tuple(
        PairAgain.of(row.judged.outcome, answer)
        for row, answer in zip(prepared.rows, answers, strict=True)
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
        raise Misuse(
            "a control asks about every pair anew; there is nothing to retry",
            parameter="retry_failed",
        )
    name = _name_of(collection, options)
    made_by = origin_of(collection.judgements(name))
    source = prompt_source(made_by.prompt) if made_by and made_by.prompt else options.grading_prompt
    options = asked_again(collection, name, replace(options, prompt=options.prompt or source))
    prompt = find_prompt(options.prompt).read_by(options.declared.reader)
    texts = texts_of(collection)
    drawn, changed = drawn_by_chance(collection, name, which.pairs, texts)
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
        asked = [row.judged.outcome.pair for row in drawn]
        # replies that nobody was given before
        rounds = [AskedRound(replace(assessor, repeat=FIRST_REPEAT + number), asked, texts)]
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


def drawn_by_chance(
    collection: Collection, name: str, pairs: int, texts: Texts
) -> tuple[list[JudgementRow], int]:
    """So many rows whose texts are as they were judged, and how many others were passed over.

    By a hash of their ids: the same pairs each time, however many others a set has meanwhile.
    `BadInput` of fewer than two.
    """
    path, stale = collection.judgements(name), stale_pairs(collection, name)
    rows = {
        pair: row
        for row in read_judgements(path)
        if isinstance(row.judged.outcome, Judgement)
        and not row.carried
        and texts.has(pair := row.judged.outcome.pair)
    }
    drawn, passed = list[JudgementRow](), 0
    for pair in sorted(rows, key=lambda pair: sha256("\0".join(pair).encode()).digest()):
        if len(drawn) == pairs:
            break
        if pair in stale:
            passed += 1
        else:
            drawn.append(rows[pair])
    if len(drawn) < 2:
        raise BadInput(
            f"{path}: no two pairs with a grade and the texts that it is of ({passed:,} have "
            "others); nothing to control"
        )
    return drawn, passed
