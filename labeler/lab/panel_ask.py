"""Judge with a panel: ask every member about the pool, then put their grades together.

A member is what an assessor is everywhere here: a prompt and a model. Each one's judgements are a
set of their own, made by `judge_set`, so that nothing is asked that is in the store, and any of
them can be looked at, compared or put into another panel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeler.collection.judgements import origin_of
from labeler.collection.layout import Collection, check_name, open_collection
from labeler.errors import BudgetReached, Misuse, about
from labeler.judging.job import JudgeResult, pool_of
from labeler.judging.judge import JudgeOptions, JudgingPlan, judge_set, plan_set
from labeler.lab.members import (
    PanelOptions,
    PanelSet,
    default_panel_name,
    panel_of,
    read_member,
    write_panel,
)
from labeler.lab.panel_rules import find_rule
from labeler.models.choose import declared_assessors, find_assessor, project_file
from labeler.models.control import Control, run_to_end
from labeler.prompt.read import find_prompt
from labeler.report.table import Column, Row, Table

if TYPE_CHECKING:
    from pandas import DataFrame

MANY = 50
"""A panel has so many members at most."""


@dataclass(frozen=True, repr=False)
class JudgedPanel:
    """What each member's judging gave, and the panel of them.

    `panel` is `None` where a budget ended the run before every member was done: a panel of part of
    the members would be another panel.
    """

    name: str
    members: tuple[JudgeResult, ...]
    panel: PanelSet | None

    @property
    def stopped(self) -> BudgetReached | None:
        """What ended the run before all members were done."""
        return next((member.stopped for member in self.members if member.stopped), None)

    def as_json(self) -> dict[str, Any]:
        """The counts of the panel and of each member."""
        panel = self.panel
        return {
            "name": self.name,
            "pairs": len(panel.rows) if panel else None,
            "judged": panel.judged if panel else None,
            "failed": panel.failed if panel else None,
            "rule": panel.options.rule if panel else None,
            "fewest": panel.fewest if panel else None,
            "stopped": str(self.stopped) if self.stopped else None,
            "members": [member.as_json() for member in self.members],
        }

    def table(self) -> Table:
        """A row for each member and one for the panel: pairs with a grade, and without."""
        columns = [
            Column("assessor", align="left"),
            Column("judged", format=",d"),
            Column("failed", format=",d"),
            Column("calls", format=",d"),
        ]
        rows: list[Row] = [[m.name, m.judged, m.failed, m.spent.calls] for m in self.members]
        if self.panel is not None:
            rows.append([self.name, self.panel.judged, self.panel.failed, 0])
        return Table("panel", columns, rows, self.name)

    def frame(self) -> DataFrame:
        """The same as a pandas DataFrame."""
        return self.table().frame()

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        if self.panel is None:
            return f"JudgedPanel({self.name!r}, not put together)"
        counts = f"judged={self.panel.judged:,} of {len(self.panel.rows):,}"
        return f"JudgedPanel({self.name!r}, {counts}, {len(self.members)} members)"


@dataclass(frozen=True)
class PanelPlan:
    """What each member's judging would take."""

    members: tuple[JudgingPlan, ...]

    def as_json(self) -> dict[str, Any]:
        """The calls of all members together, and the figures of each."""
        calls = [plan.calls for plan in self.members]
        costs = [plan.at_most_cost for plan in calls if plan.calls]
        return {
            "calls": sum(plan.calls for plan in calls),
            "cost_at_most": None if None in costs else sum(cost or 0.0 for cost in costs),
            "members": [plan.as_json() for plan in self.members],
        }


def judge_panel(
    collection: Collection | Path | str,
    members: Sequence[JudgeOptions],
    *,
    name: str | None = None,
    options: PanelOptions | None = None,
    control: Control | None = None,
) -> JudgedPanel:
    """Have several assessors grade the pool, and put their grades together as the set `name`.

    Each member's grades are a set too, called PROMPT-MODEL where its options give no name. The
    limits hold for all members together.

    >>> from labeler.testing import fake_model, small_collection
    >>> said = {"lax": '{"grade": 3}', "fair": '{"grade": 2}', "strict": '{"grade": 0}'}
    >>> members = [JudgeOptions(model=fake_model(r, m), name=m) for m, r in said.items()]
    >>> judge_panel(small_collection(), members, name="panel")
    JudgedPanel('panel', judged=4 of 4, 3 members)
    """
    control = control or Control()
    return run_to_end(
        lambda stop: ajudge_panel(collection, members, name, options, control.with_stop(stop))
    )


async def ajudge_panel(
    collection: Collection | Path | str,
    members: Sequence[JudgeOptions],
    name: str | None = None,
    options: PanelOptions | None = None,
    control: Control | None = None,
) -> JudgedPanel:
    """The same for callers that are asynchronous; the members are asked one after another."""
    opened, control, options = _with_defaults(collection, control, options)
    name = name or default_panel_name(options.rule)
    _check(opened, members, name, options)
    results: list[JudgeResult] = []
    for member in members:
        result = await judge_set(opened, pool_of, member, control)
        results.append(result)
        if result.stopped:
            return JudgedPanel(name, tuple(results), None)
    panel = panel_of([read_member(opened, result.name) for result in results], options)
    write_panel(opened, name, panel, control.note)
    return JudgedPanel(name, tuple(results), panel)


async def aplan_panel(
    collection: Collection | Path | str,
    members: Sequence[JudgeOptions],
    name: str | None = None,
    options: PanelOptions | None = None,
    control: Control | None = None,
) -> PanelPlan:
    """What `ajudge_panel` would take; asks nothing and writes nothing."""
    opened, control, options = _with_defaults(collection, control, options)
    _check(opened, members, name or default_panel_name(options.rule), options)
    plans = [await plan_set(opened, pool_of, member, control) for member in members]
    return PanelPlan(tuple(plans))


def _with_defaults(
    collection: Collection | Path | str, control: Control | None, options: PanelOptions | None
) -> tuple[Collection, Control, PanelOptions]:
    return open_collection(collection), control or Control(), options or PanelOptions()


def _check(
    collection: Collection, members: Sequence[JudgeOptions], name: str, options: PanelOptions
) -> None:
    """`Misuse` of a panel that cannot be, before anything is asked."""
    if not 2 <= len(members) <= MANY:
        problem = f"a panel takes 2 to {MANY} members, and there are {len(members)}"
        raise Misuse(problem, parameter="panel")
    asked = [(member.grading_prompt, member.model, member.base_url) for member in members]
    if twice := [member for member in asked if asked.count(member) > 1]:
        raise Misuse(f"{twice[0][0]} with one model is named twice", parameter="panel")
    find_rule(options.rule, len(members))
    if options.fewest is not None and not 1 <= options.fewest <= len(members):
        problem = f"expected 1 to {len(members)}, found {options.fewest}"
        raise Misuse(problem, parameter="fewest")
    check_name(name)
    path = collection.judgements(name)
    earlier = origin_of(path)
    if earlier is not None and not earlier.is_panel:
        raise Misuse(f"{path} was made by no panel; give another name", parameter="name")


def members_named(text: str, common: JudgeOptions) -> list[JudgeOptions]:
    """`basic,four-grades:gpt-4.1,:qwen3:8b` as members: PROMPT, PROMPT:MODEL, :MODEL, ASSESSOR.

    An assessor that is declared goes before a prompt of the same name. What a member does not name
    is that of `common`.
    """
    members, declared = list[JudgeOptions](), declared_assessors(project=project_file())
    for part in text.split(","):
        if part.strip() in declared:
            settings = find_assessor(part.strip(), project=project_file())
            prompt = "" if settings.prompt else common.prompt
            members.append(replace(common, prompt=prompt, model=settings, name=None))
            continue
        prompt, _, model = part.strip().partition(":")
        if not prompt and not model:
            problem = (
                f"expected PROMPT, PROMPT:MODEL or :MODEL with commas between; got {text!r:.80}"
            )
            raise Misuse(problem, parameter="panel")
        with about("panel", "prompt"):
            find_prompt(prompt or common.grading_prompt, "grade")
        members.append(
            replace(common, prompt=prompt or common.prompt, model=model or common.model, name=None)
        )
    return members
