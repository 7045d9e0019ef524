"""`labeler lab`: assessors put together, asked again, and watched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from labeler.agreement.align import parse_scale
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.retest import Retest, retest_of
from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import FORCE, OUTPUT, Folder, FormFlags, OutputFlags
from labeler.cli.output import show, show_json, warn
from labeler.cli.progress import watched
from labeler.cli.reporting import (
    check_complete,
    check_steady,
    show_drift,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.screen import note, say
from labeler.collection.layout import open_collection
from labeler.collection.user_files import Output
from labeler.errors import Incomplete, Misuse
from labeler.files.paths import check_existing
from labeler.judging.job import JudgeResult
from labeler.judging.judge import MOST_TIMES, JudgeOptions, ajudge, aplan_judging
from labeler.lab.control import ControlPairs, adrift, aplan_drift
from labeler.lab.panel.ask import JudgedPanel, PanelPlan, ajudge_panel, aplan_panel, members_named
from labeler.lab.panel.members import PANEL, PanelOptions
from labeler.lab.panel.panel import PanelReportOptions
from labeler.lab.panel.panel import panel as panel_of_sets
from labeler.options import Bounds, option
from labeler.report.render import render


def control(
    folder: Folder,
    *,
    pairs: ControlPairs,
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Judge some graded pairs again, each twice, and nothing else: has the assessor drifted?

    Exit code 5 where it has. Without a prompt that of the set is asked again.
    """
    collection, asked = open_collection(folder), who.asking(options)
    to = output.made_from(collection.folder)
    if flags.dry_run:
        plan = watched(flags, lambda watch: aplan_drift(collection, asked, pairs, watch))
        show_outcome(plan, show_judging_plan, output, to)
        return
    check = watched(flags, lambda watch: adrift(collection, asked, pairs, watch))
    show_outcome(check, show_drift, output, to)
    check_steady(check)


@dataclass(frozen=True)
class _Repeated:
    """What judging gave, and how far the assessor agrees with itself; None where it stopped."""

    result: JudgeResult
    again: Retest | None

    def as_json(self) -> dict[str, Any]:
        retest = {} if self.again is None else {"retest": self.again.as_json()}
        return {**self.result.as_json(), **retest}


def repeat(
    folder: Folder,
    *,
    times: int = option(3, "Ask about each pair so often.", Bounds(2, MOST_TIMES)),
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Ask about each pair several times: how far do grades differ by chance?

    The first reply gives the grade; the others are kept beside it.
    """
    collection, asked = open_collection(folder), who.asking(options)
    to = output.made_from(collection.folder)
    if flags.dry_run:
        plan = watched(flags, lambda watch: aplan_judging(collection, asked, watch, times))
        show_outcome(plan, show_judging_plan, output, to)
        return
    result = watched(flags, lambda watch: ajudge(collection, asked, watch, times))
    again = None if result.stopped else retest_of(collection, result.name)
    show_outcome(_Repeated(result, again), _show_repeated, output, to)
    check_complete(result)


def _show_repeated(repeated: _Repeated) -> None:
    show_judging(repeated.result)
    if repeated.again is None:
        return
    say()
    for sentence in repeated.again.sentences:
        say(sentence)
    say()
    say(render(repeated.again.tables()[0]).rstrip())


@dataclass(frozen=True, slots=True)
class PanelFlags:
    """What a panel is compared with, and where it is kept beside its collection."""

    people: str | None = option(
        None, "Human qrels: how far do panel and members agree?", metavar="QRELS"
    )
    statistic: str = option("kappa", "By which statistic.", flags="-s --statistic")
    scale: tuple[int, ...] | None = option(
        None,
        "The grades, as LOW:HIGH; else 0:3, or those that occur.",
        metavar="LOW:HIGH",
        rare=True,
        read=parse_scale,
    )
    clip: bool = option(False, "Clip numbers into the scale first.", rare=True)


def panel(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="COLL A B C... | QRELS...",
            help="A collection and sets of its judgements; or files of grades.",
        ),
    ],
    *,
    members: str = option(
        "",
        "Ask these first, as basic,four-grades:gpt-4.1,:qwen3 (PROMPT, PROMPT:MODEL, :MODEL), "
        "each kept as a set of the collection.",
        metavar="MEMBERS",
        panel=PANEL,
    ),
    rules: PanelOptions,
    compared: PanelFlags,
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: Path | None = option(
        None,
        "Write the panel's qrels here; or, to a .jsonl file, its judgements.",
        panel=OUTPUT,
        flags="--output -o",
    ),
    force: bool = option(False, FORCE),
    shown: FormFlags,
) -> None:
    """Put several assessors' grades together, and say how many judges that really is.

    A member without a grade of a pair is left out of it; too few members make a failure.
    """
    if members:
        if len(sources) != 1:
            raise Misuse("members are asked about one collection", parameter="members")
        asking = _Asking(sources[0], members, who.asking(options), rules)
        if flags.dry_run:
            asking.plan(flags, shown)
        else:
            asking.judge(flags, shown)
        return
    people = compared.people
    inputs = [Path(source) for source in (*sources, *([people] if people else []))]
    check_existing(inputs[:1] if Path(sources[0]).is_dir() else inputs)
    to = None
    if output is not None:
        to = Output(output, force, tuple(path for path in inputs if path.exists()))
        to.check()
    statistics = StatisticOptions((compared.statistic,), seed=rules.seed)
    report = PanelReportOptions(replace(rules, scale=compared.scale), statistics, compared.clip)
    result = panel_of_sets(*sources, people=people, name=options.name, output=to, options=report)
    if shown.format == "json":
        show_json(result.as_json())
    elif shown.format == "table":
        show(["\n".join(result.sentences), *result.tables()], "table")
        say()
        warn(context, result.findings)
    else:
        show(result.tables(), shown.format)
    if options.name is not None:
        note(f"kept as {options.name}: labeler agree {sources[0]} human {options.name}")
    if output is not None:
        note(f"wrote {output}")
    _check_all_graded(result.panel.failed, len(result.panel.rows))


def _check_all_graded(failed: int, pairs: int, again: dict[str, object] | None = None) -> None:
    if failed:
        raise Incomplete(f"{failed:,} of {pairs:,} pairs have no grade", again=again)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Members who are asked about a collection's pool before their grades are put together."""

    folder: str
    members: str
    options: JudgeOptions
    rules: PanelOptions

    def plan(self, flags: ShownFlags, shown: FormFlags) -> None:
        """Show what each member's judging would take."""
        collection, named = open_collection(self.folder), members_named(self.members, self.options)
        plan = watched(
            flags,
            lambda watch: aplan_panel(collection, named, self.options.name, self.rules, watch),
        )
        show_outcome(plan, _show_panel_plan, shown)

    def judge(self, flags: ShownFlags, shown: FormFlags) -> None:
        """Ask all members, show what they and the panel gave, and end as judging does."""
        collection, named = open_collection(self.folder), members_named(self.members, self.options)
        judged = watched(
            flags,
            lambda watch: ajudge_panel(collection, named, self.options.name, self.rules, watch),
        )
        show_outcome(judged, _show_judged_panel, shown)
        if judged.stopped:
            raise judged.stopped
        if judged.panel is not None:
            panel = judged.panel
            _check_all_graded(panel.failed, len(panel.rows), again={"retry_failed": True})


def _show_judged_panel(judged: JudgedPanel) -> None:
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


def _show_panel_plan(plan: PanelPlan) -> None:
    """Print what each member's judging would take."""
    for number_of, member in enumerate(plan.members, start=1):
        say(f"== member {number_of}")
        show_judging_plan(member)
        say()
    figures = plan.as_json()
    say(f"calls of all members: {figures['calls']:,}")
