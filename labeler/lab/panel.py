"""`panel`: several assessors' grades put together, and what that is worth beside people.

A member is what an assessor is everywhere here: a prompt and a model. Each one's judgements are a
set of their own, so that nothing is asked that is in the store, and any of them can be looked at,
compared or put into another panel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from labeler.agreement.align import Rules, scale_of
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.differences import Difference
from labeler.agreement.shown import short, whom
from labeler.agreement.sources import human_grades, made_from
from labeler.agreement.statistics import parse_name
from labeler.collection.judgements import origin_of
from labeler.collection.layout import (
    AnyCollection,
    Collection,
    check_name,
    open_collection,
    safe_name,
)
from labeler.data import Qrels
from labeler.errors import Misuse, about
from labeler.judging.changes import human_beside
from labeler.judging.job import pool_of
from labeler.judging.judge import JudgeOptions, JudgingPlan, judge_set
from labeler.lab.beside_people import (
    Independence,
    PanelBesidePeople,
    beside_people,
    independence,
)
from labeler.lab.members import (
    Member,
    PanelOptions,
    PanelSet,
    check_made_name,
    panel_of,
    read_member,
    write_made,
)
from labeler.messages import count_of
from labeler.models.choose import declared_assessors, find_assessor
from labeler.models.session import Act, Control, sync
from labeler.prompt.read import find_prompt
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Cell, Column, Row, Table, interval_text, shown
from labeler.trec.pairs import PairColumns


@dataclass(frozen=True, eq=False, repr=False)
class PanelResult(Result):
    """A panel's grades, how they compare with people's, and how many judges the panel is worth.

    `name` is that of the set that was written to a collection; `people` is `None` without any.
    """

    panel: PanelSet
    name: str | None
    people: PanelBesidePeople | None
    independence: Independence | None
    findings: Sequence[Finding] = ()

    @property
    def qrels(self) -> Qrels:
        """The panel's grades."""
        return self.panel.qrels

    @property
    def sentences(self) -> list[str]:
        """What was put together, how far it agrees with people, and what it is worth."""
        return [self._counts(), *self._agreement(), *self._worth()]

    def _counts(self) -> str:
        panel = self.panel
        pairs = count_of(panel.judged, "pair has", "pairs have")
        text = f"{panel.options.rule} of {len(panel.members)} members: {pairs} a grade"
        if panel.failed:
            text += f", {panel.failed:,} have none for want of {panel.fewest} members' grades"
        return f"{text}."

    def _agreement(self) -> Iterator[str]:
        beside = self.people
        if beside is None or beside.best is None or beside.panel.value is None:
            return
        best = beside.best
        closer = {
            "first is closer": "The panel is closer, by more than chance",
            "second is closer": "That member alone is closer, by more than chance",
        }
        undecided = "Which of the two is closer cannot be told"
        verdict = closer.get(best.panel_less_it.verdict, undecided)
        yield (
            f"The panel's {beside.statistic} with {whom(beside.human)} is "
            f"{interval_text(beside.panel)}; that of its closest member, {short(best.name)}, is "
            f"{interval_text(best.agreement)}. {verdict}."
        )

    def _worth(self) -> Iterator[str]:
        worth, members = self.independence, len(self.panel.members)
        if worth is None or (number := worth.effective_number).value is None:
            return
        if worth.by_people:
            yield (
                f"Its {members} members are worth {interval_text(number, '.1f')} independent "
                "assessors: among pairs of one human grade their grades correlate by "
                f"{interval_text(worth.correlation, '.2f')}."
            )
        else:
            yield (
                f"Its {members} members are worth {number.value:.1f} independent assessors "
                "or more: without human grades, what they agree on rightly cannot be told from "
                "errors that they share."
            )

    def tables(self) -> list[Table]:
        """A row for the panel and for each member: grades, and what people make of them."""
        columns = [Column("assessor", align="left"), Column("pairs"), Column("failed")]
        of_panel: list[Cell] = ["the panel", self.panel.judged, self.panel.failed]
        rows: list[Row] = [
            [short(m.name), int(m.judged.is_graded.sum()), len(m.judged.failures)]
            for m in self.panel.members
        ]
        title = self.panel.options.rule
        if self.people is not None:
            beside = self.people.members
            columns += [
                Column(self.people.statistic, format=".3f", ends=".3f", undefined="undefined"),
                Column("panel less it", format="+.3f", ends="+.3f"),
                Column("verdict", "closer", align="left"),
            ]
            of_panel += [self.people.panel, None, ""]
            each = [beside[member.name] for member in self.panel.members]
            rows = [
                [*row, m.agreement, m.panel_less_it, _closer(m.panel_less_it)]
                for row, m in zip(rows, each, strict=True)
            ]
            title += f", beside {short(self.people.human)}; verdicts allow for {len(rows)} members"
        return [Table("members", columns, [of_panel, *rows], title)]

    def as_json(self) -> dict[str, Any]:
        """The figures of the command by name."""
        panel = self.panel
        return self.picked(
            *("name", "people", "independence", "findings"),
            rule=panel.options.rule,
            fewest=panel.fewest,
            seed=panel.options.seed,
            members=panel.made.members,
            pairs=len(panel),
            judged=panel.judged,
            failed=panel.failed,
            failures=panel.failures,
            left_out=panel.left_out,
        )


def _closer(less: Difference) -> str:
    texts = {"first is closer": "the panel", "second is closer": "the member"}
    return texts.get(less.verdict, "cannot tell")


def panel(
    collection: AnyCollection,
    *names: str,
    people: str | None = None,
    name: str | None = None,
    options: PanelOptions | None = None,
) -> PanelResult:
    """Put several assessors' grades of the same pairs together into one grade each.

    `names` are sets of the collection's judgements, or of its qrels. The panel is kept as the set
    `name`. `people` names human qrels of the collection (by default its own, where it has some).

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> said = {"lax": '{"grade": 3}', "strict": '{"grade": 0}'}
    >>> sets = [judge(collection, model=fake_model(r, m), name=m) for m, r in said.items()]
    >>> panel(collection, "lax", "strict").sentences[0]
    'median of 2 members: 4 pairs have a grade.'
    """
    options = options or PanelOptions()
    _check_statistic(options)
    opened = open_collection(collection)
    read = _sources(opened, names, people)
    if name is not None:
        check_made_name(opened, name, options.rule, names)
    if options.scale is None and read.human:
        # from the lowest to the highest grade of the members and of people
        used = {grade for member in read.members for grade in member.judged.used}
        every = used.union(scale_of(read.human, Rules()))
        options = replace(options, scale=tuple(range(min(every), max(every) + 1)))
    judged = panel_of(read.members, options)
    if name is not None:
        write_made(opened, name, judged.made)
    return _result(judged, read, name)


def _check_statistic(options: PanelOptions) -> None:
    with about("statistic"):
        parse_name(options.statistic)


def _result(judged: PanelSet, read: PanelSources, name: str | None) -> PanelResult:
    how = judged.options
    options = StatisticOptions((how.statistic,), how.draws, how.seed)
    human = PairColumns.of(read.human, np.int64)
    human = human.keep(human.value >= 0)
    findings = [Finding(note) for note in read.notes]
    beside = beside_people(judged, read.human, read.human_name, options) if len(human) else None
    if len(human) and beside is None:
        findings.append(Finding(f"{read.human_name} and the panel have no pair in common"))
    worth = None
    if judged.judged:
        worth = independence(judged.votes, human if beside else None, options)
    if judged.left_out:
        pairs = count_of(judged.left_out, "pair is", "pairs are")
        asked = f"fewer than {judged.fewest} members were asked about"
        findings.append(Finding(f"{pairs} left out, which {asked}", level="note"))
    return PanelResult(judged, name, beside, worth, (*findings, *_parts(read)))


def _parts(read: PanelSources) -> Iterator[Finding]:
    """That the human grades were made from members' grades."""
    raters = made_from(read.collection).get(read.human_name, ())
    if names := [member.name for member in read.members if member.name in raters]:
        yield Finding(
            f"{read.human_name} was made from the grades of {', '.join(names)}: panel and "
            "members agree with what they are part of, and errors are none of people's"
        )


# The members of a panel, and people's grades beside them.


class PanelSources(NamedTuple):
    """The members, and people's grades beside them, with the name of these; empty for none.

    `notes` say what of people's grades is left out.
    """

    collection: Collection
    members: Sequence[Member]
    human_name: str
    human: Qrels
    notes: Sequence[str] = ()


def _sources(collection: Collection, names: Sequence[str], people: str | None) -> PanelSources:
    """The members by name; without `people`, a collection's own human qrels that are no member."""
    members = tuple(read_member(collection, name) for name in names)
    if people in names:
        problem = f"{people} is a member of the panel, and cannot tell how good it is"
        raise Misuse(problem, parameter="people")
    human = people or human_beside(collection, *names)
    if human is None:
        return PanelSources(collection, members, "", {})
    notes: list[str] = []
    with about("people"):
        grades, _ = human_grades(collection, human, notes.append)
    return PanelSources(collection, members, human, grades, tuple(notes))


# Ask every member about the pool first.


@dataclass(frozen=True)
class PanelPlan(Result):
    """What each member's judging would take."""

    members: Sequence[JudgingPlan]

    @shown
    def calls(self) -> int:
        """The calls of all members together."""
        return sum(plan.calls.calls for plan in self.members)

    @shown
    def cost_at_most(self) -> float | None:
        """What all calls cost at most; None where that is not known."""
        costs = [plan.calls.at_most_cost for plan in self.members if plan.calls.calls]
        return None if None in costs else sum(cost or 0.0 for cost in costs)


def ajudge_panel(
    collection: AnyCollection,
    members: Sequence[JudgeOptions],
    *,
    name: str | None = None,
    options: PanelOptions | None = None,
    control: Control | None = None,
) -> Act[PanelResult, PanelPlan]:
    """Have several assessors grade the pool, and put their grades together as the set `name`.

    Each member's grades are a set too, called PROMPT-MODEL where its options give no name. The
    limits hold for all members together, which are asked one after another. Where a budget ends
    that, nothing is put together: a panel of part of the members would be another panel.

    >>> from labeler.testing import fake_model, small_collection
    >>> said = {"lax": '{"grade": 3}', "fair": '{"grade": 2}', "strict": '{"grade": 0}'}
    >>> members = [JudgeOptions(model=fake_model(r, m), name=m) for m, r in said.items()]
    >>> judge_panel(small_collection(), members, name="panel").sentences[0]
    'median of 3 members: 4 pairs have a grade.'
    """
    opened, watch = open_collection(collection), control or Control()
    asked = options or PanelOptions()
    panel_name = _checked(opened, members, name, asked)
    judging = [judge_set(opened, pool_of, member, watch) for member in members]

    async def begin() -> PanelResult:
        names = []
        for member in judging:
            result = await member
            if result.stopped:
                raise result.stopped
            names.append(result.name)
        return panel(opened, *names, name=panel_name, options=asked)

    async def plan() -> PanelPlan:
        return PanelPlan(tuple([await member.plan() for member in judging]))

    return Act(begin, plan)


judge_panel = sync(ajudge_panel)


def _checked(
    collection: Collection,
    members: Sequence[JudgeOptions],
    name: str | None,
    options: PanelOptions,
) -> str:
    """The panel's name; `Misuse` of a panel that cannot be, before anything is asked."""
    asked = [(member.grading_prompt, member.model, member.base_url) for member in members]
    if twice := [member for member in asked if asked.count(member) > 1]:
        raise Misuse(f"{twice[0][0]} with one model is named twice", parameter="members")
    options.needed(len(members))
    _check_statistic(options)
    name = check_name(name or safe_name(f"panel-{options.rule}"))
    path = collection.judgements(name)
    earlier = origin_of(path)
    if earlier is not None and not earlier.is_panel:
        raise Misuse(f"{path} was made by no panel; give another name", parameter="name")
    return name


def members_named(text: str, common: JudgeOptions) -> list[JudgeOptions]:
    """`basic,four-grades:gpt-4.1,:qwen3:8b` as members: PROMPT, PROMPT:MODEL, :MODEL, ASSESSOR.

    An assessor that is declared goes before a prompt of the same name. What a member does not name
    is that of `common`.
    """
    members, declared = list[JudgeOptions](), declared_assessors()
    for part in map(str.strip, text.split(",")):
        if part in declared:
            settings = find_assessor(part)
            prompt = "" if settings.prompt else common.prompt
            members.append(replace(common, prompt=prompt, model=settings, name=None))
            continue
        prompt, _, model = part.partition(":")
        if not prompt and not model:
            raise Misuse(
                f"expected PROMPT, PROMPT:MODEL or :MODEL with commas between; got {text!r:.80}",
                parameter="members",
            )
        with about("members", "prompt"):
            find_prompt(prompt or common.grading_prompt, "grade")
        prompt, own = prompt or common.prompt, model or common.model
        members.append(replace(common, prompt=prompt, model=own, name=None))
    return members
