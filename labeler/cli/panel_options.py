"""Options of the commands that put several assessors' grades together, and what they print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from labeler.cli.numbers import COUNT, number
from labeler.cli.reporting import show_judging, show_judging_plan
from labeler.cli.screen import note, say
from labeler.errors import Incomplete

if TYPE_CHECKING:
    from labeler.lab.panel.ask import JudgedPanel, PanelPlan

Rule = Literal["median", "majority", "mean", "dawid-skene", "bias"]
PANEL = "Panel"


@dataclass(frozen=True, slots=True)
class PanelRuleFlags:
    """How the grades of a pair become one, and how many there must be."""

    rule: Annotated[
        Rule,
        typer.Option(
            help="How the grades of a pair become one; ties lean to neither side.",
            rich_help_panel=PANEL,
        ),
    ] = "median"
    fewest: Annotated[
        int | None,
        number(
            COUNT,
            help="Members that must have a grade of a pair; else more than half.",
            rich_help_panel=PANEL,
        ),
    ] = None


def show_judged_panel(judged: JudgedPanel) -> None:
    """Print the counts of each member, then those of the panel."""
    for member in judged.members:
        say(f"== {member.name}")
        show_judging(member)
        say()
    panel = judged.panel
    if panel is None:
        say("the panel is put together when all members are done; run it again")
        return
    say(f"== {judged.name}: {panel.title}")
    say(f"{panel.judged:,} of {len(panel.rows):,} pairs have a grade")
    names = " ".join(member.name for member in judged.members)
    folder = judged.members[0].job.collection.folder
    made_by = "" if panel.options.rule == "median" else f" --rule {panel.options.rule}"
    if panel.options.fewest is not None:
        made_by += f" --fewest {panel.options.fewest}"
    again = f"labeler lab panel {folder} {names}{made_by} --as {judged.name}"
    note(f"how far it agrees with people: {again}")


def show_panel_plan(plan: PanelPlan) -> None:
    """Print what each member's judging would take."""
    for number_of, member in enumerate(plan.members, start=1):
        say(f"== member {number_of}")
        show_judging_plan(member)
        say()
    figures = plan.as_json()
    say(f"calls of all members: {figures['calls']:,}")


def check_panel(judged: JudgedPanel) -> None:
    """Raise what stopped the run early, else `Incomplete` where the panel lacks grades."""
    if judged.stopped:
        raise judged.stopped
    panel = judged.panel
    if panel is not None and panel.failed:
        problem = f"{panel.failed:,} of {len(panel.rows):,} pairs have no grade"
        raise Incomplete(problem, again={"retry_failed": True})
