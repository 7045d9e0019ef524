"""Some pairs judged again, to see whether model and prompt still grade as they did."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Container, Iterator, Sequence
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
from labeler.options import COUNT, Options, given, option
from labeler.prompt import find_prompt
from labeler.report.result import Result
from labeler.report.table import Cell, Interval, Table, figure_table
from labeler.stats.drift import LEAST_CHANGE, SessionChange, changed
from labeler.stats.families import each_pair
from labeler.stats.means import bounded_interval
from labeler.stats.student import SIGNIFICANT, t_quantile

FOUR_IN_FIVE = 0.8
MOST_WITHOUT_GRADE = 0.1
"""The share of new replies without a grade above which a control does not pass."""
MOST_EARLIER = 4
"""The grades of at most this many earlier controls are held against the new ones."""


@dataclass(frozen=True, eq=False, repr=False)
class DriftCheck(Result):
    """What one control says of the assessor of the judgements `name`.

    `judged_as` is what the server called its model when the pairs were judged. `changed` counts the
    pairs that were passed over because their texts are others now. `earlier` are the controls of
    the set before this one. A stable assessor is called drifted in 5 of 100 controls at most,
    however alike the two new replies are: the first alone decides.
    """

    name: str
    run: ControlRun
    judged_as: Sequence[str] = ()
    changed: int = 0
    earlier: Sequence[ControlRun] = ()

    @cached_property
    def grades(self) -> Floats:
        """The grades of the pairs that compare, `(pairs, 1 + times)`, the old ones first."""
        grades = [pair.grades for pair in self.run.pairs if pair.grades]
        return np.array(grades, float).reshape(len(grades), -1 if grades else 3)

    @cached_property
    def sessions(self) -> Floats:
        """A grade a session, `(pairs, sessions)`: the old, of earlier controls, and the new."""
        runs = [run for run in self.earlier if run.is_of_same_assessor][-MOST_EARLIER:]
        earlier = [{(p.pair, p.old): p.grades[1] for p in run.pairs if p.grades} for run in runs]
        rows = [
            [pair.old, *(of.get((pair.pair, pair.old), math.nan) for of in earlier), pair.grades[1]]
            for pair in self.run.pairs
            if pair.grades
        ]
        return np.array(rows, float).reshape(len(rows), 2 + len(earlier))

    @cached_property
    def change(self) -> SessionChange:
        """How far the new grades differ from the old, and how likely that is by chance."""
        return changed(self.sessions)

    @cached_property
    def same(self) -> Interval:
        """The share of new grades that equal the old ones."""
        values = (self.grades[:, 1:] == self.grades[:, :1]).mean(axis=1)
        ends = bounded_interval(values, (0.0, 1.0)) or (math.nan, math.nan)
        return Interval(_mean(values), *ends)

    @property
    def same_now(self) -> float:
        """The share of pairs whose two new grades are equal."""
        return _mean((self.grades[:, 1] == self.grades[:, 2]).astype(float))

    @property
    def moved(self) -> Floats:
        """By how much each pair's first new grade differs from the old, `(pairs,)`."""
        return np.asarray(self.grades[:, 1] - self.grades[:, 0])

    @cached_property
    def shift(self) -> Interval:
        """How far grades moved on average."""
        most = float(self.grades.max(initial=1.0))
        (verdict,) = each_pair(self.moved[None], most)
        return Interval(verdict.estimate, *verdict.ends)

    @property
    def has_drifted(self) -> bool:
        """Whether a drift of some size is shown at the 5 % level."""
        return self.change.is_shown()

    @property
    def verdict(self) -> str:
        """In words."""
        if self.is_undecided:
            too_few = "one pair alone" if self.compared else "no pair"
            if self.remembered == len(self.run.pairs):
                return "undecided: all replies were stored before"
            return f"undecided: {too_few} has a grade again"
        if self.has_drifted:
            return "drifted"
        return "too many replies without a grade" if self.fails_often else "no drift shown"

    @property
    def is_undecided(self) -> bool:
        """Whether too few pairs compare for any verdict."""
        return self.compared < 2

    @property
    def fails_often(self) -> bool:
        """Whether more than a tenth of the new replies gave no grade."""
        without, replies = self.run.failures
        return without > MOST_WITHOUT_GRADE * replies

    @property
    def has_passed(self) -> bool:
        """Whether a gate may pass: enough pairs compare, few failed, and no drift is shown."""
        return not (self.is_undecided or self.has_drifted or self.fails_often)

    @property
    def compared(self) -> int:
        """How many pairs have a grade again, each time."""
        return len(self.grades)

    @property
    def remembered(self) -> int:
        """How many pairs had a reply that was stored before the control began."""
        return sum(pair.remembered for pair in self.run.pairs)

    @property
    def failed(self) -> int:
        """How many pairs had a grade and now have none, once at least."""
        return len(self.run.pairs) - self.compared - self.remembered

    @property
    def sentences(self) -> list[str]:
        """What was asked, what came of it, and what so few pairs can tell."""
        p = "" if self.is_undecided else f"; p {self.change.p:.2g}"
        first = (
            f"{self.name}: {self.verdict} ({self.compared:,} of "
            f"{count_of(len(self.run.pairs), 'pair')} compared, each asked about twice{p})"
        )
        power = [] if self.is_undecided or self.has_drifted else [self._power()]
        return [first, *self.changes.values(), *self._left_out(), *self._basis(), *power]

    def _basis(self) -> Iterator[str]:
        """Which replies decide, and what they leave open."""
        if self.is_undecided:
            return
        same = f"{self.same_now:.0%} of second replies equal the first"
        yield f"{same}; the first alone decides, as replies of the same minutes may be alike"
        if self.change.tests == 1:
            yield (
                "a mean shift is looked for; moves up and down that cancel out are told from the "
                "next control on, which asks about the same pairs"
            )
        if self.change.p < SIGNIFICANT and not self.has_drifted:
            yield f"what differs is less than {LEAST_CHANGE} grades, and is not called a drift"

    def _left_out(self) -> Iterator[str]:
        """Which pairs are not compared, and why."""
        if self.changed:
            pairs = count_of(self.changed, "pair")
            yield f"{pairs} passed over: to the texts as they are now no reply is stored"
        if self.remembered:
            pairs = count_of(self.remembered, "pair")
            yield f"{pairs} left out: a reply was stored before this control began"
        if self.failed:
            without, replies = self.run.failures
            pairs = count_of(self.failed, "pair")
            yield (
                f"{pairs} had a grade and got none now; {without:,} of {replies:,} new replies, "
                f"{without / replies:.0%}, gave no grade (at most {MOST_WITHOUT_GRADE:.0%} pass)"
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

    def _power(self) -> str:
        """The least shift, or share of changed grades, that as many pairs show as a rule."""
        if not np.ptp(self.grades, axis=1).any():
            compared = "" if self.compared == len(self.run.pairs) else " that compare"
            return (
                f"all grades{compared} are as before; at most {1 - (self.same.low or 0.0):.0%} "
                "of all pairs have another grade now"
            )
        moved = self.moved
        deviation = float(np.std(moved, ddof=1))
        if not deviation:
            return (
                f"the new grade of every pair lies {moved[0]:+.2f} from the old; "
                "which shift so many pairs would show cannot be told"
            )
        reach = t_quantile(1 - SIGNIFICANT / 4, len(moved) - 1) + t_quantile(FOUR_IN_FIVE, 1e6)
        shift = reach * deviation / math.sqrt(len(moved))
        pairs = count_of(len(moved), "pair")
        return f"{pairs} would show a shift of {shift:.2f} grades in four of five controls"

    def tables(self) -> list[Table]:
        """The figures: shares of equal grades, and the mean shift."""
        figures: dict[str, Cell] = {
            "new grades that equal the old": self.same,
            "new grades that equal each other": self.same_now,
            "shift of grades": self.shift,
        }
        return [figure_table("drift", figures)]

    def as_json(self) -> dict[str, Any]:
        """The figures by name; what is undefined is None."""
        return self.picked(
            *("name", "verdict", "compared", "failed", "remembered", "changed"),
            *("same", "same_now", "shift"),
            control=self.run.number,
            drifted=self.has_drifted,
            pairs=len(self.run.pairs),
            passed=self.has_passed,
            p=self.change.p,
            p_shift=self.change.p_shift,
            p_apart=self.change.p_apart,
            before=self.run.before,
            now=self.run.now,
        )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


# The pairs, judged again.

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
