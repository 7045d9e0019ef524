"""`labeler judge`: a model's grades for the pairs of a collection's pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeler.cli import model_options, options
from labeler.cli.batches import BatchCommand, BatchFlags
from labeler.cli.expanding import EXPANDING, MAX_ROUNDS, NEIGHBORS, REL, Neighbors, check_expanded
from labeler.cli.numbers import COUNT, COUNT_OR_NONE, SHARE, TOP_GRADE, number
from labeler.cli.on_ray import RayFlags, judge_on_ray
from labeler.cli.panel_options import (
    PANEL,
    PanelRuleFlags,
    check_panel,
    show_judged_panel,
    show_panel_plan,
)
from labeler.cli.progress import control_of
from labeler.cli.reporting import (
    check_complete,
    check_steady,
    show_drift,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.screen import note, say
from labeler.cli.signals import run_until_stopped
from labeler.errors import Misuse
from labeler.models.encoder_options import EncoderOptions
from labeler.models.settings import Limits, Proof

if TYPE_CHECKING:
    from labeler.agreement.retest import Retest
    from labeler.collection.layout import Collection
    from labeler.collection.user_files import Output
    from labeler.judging.job import JudgeResult
    from labeler.judging.judge import JudgeOptions
    from labeler.models.control import Control
    from labeler.pools.expand import ExpandedJudging


def command(
    folder: options.Folder,
    *,
    prompt: Annotated[
        str | None,
        typer.Option(
            help="A prompt's name, or a file's path. Default: four-grades; of a control, the set's."
        ),
    ] = None,
    model: model_options.ModelName = None,
    model_file: model_options.ModelFile = None,
    base_url: model_options.BaseUrl = None,
    name: model_options.NewName = None,
    control: Annotated[
        int,
        number(
            COUNT_OR_NONE,
            help="Judge so many graded pairs again, nothing else: has the assessor drifted?",
        ),
    ] = 0,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="Control the same pairs each time, drawn once.")
    ] = False,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Draw other pairs to be the fixed ones.")
    ] = False,
    repeat: Annotated[
        int, number(COUNT, help="Ask so often, to see how far grades differ by chance.")
    ] = 1,
    votes: Annotated[int, number(COUNT, help="Ask so often; the grade is what most say.")] = 1,
    expand: Annotated[
        float | None,
        number(
            SHARE,
            metavar="SHARE",
            help="Go on with neighbors of what is relevant, until a round brings less than this"
            " share of all relevant documents, as .05.",
            rich_help_panel=EXPANDING,
        ),
    ] = None,
    max_rounds: Annotated[
        int, number(COUNT, help="The most rounds.", rich_help_panel=EXPANDING)
    ] = MAX_ROUNDS,
    max_pairs: Annotated[
        int,
        number(
            COUNT_OR_NONE,
            help="Pool by rank up to so many pairs in all; 0 is any number.",
            rich_help_panel=EXPANDING,
        ),
    ] = 0,
    neighbors: Neighbors = NEIGHBORS,
    rel: Annotated[
        int,
        number(
            TOP_GRADE,
            help="The lowest grade that counts as relevant.",
            rich_help_panel=EXPANDING,
        ),
    ] = REL,
    panel: Annotated[
        str,
        typer.Option(
            metavar="MEMBERS",
            help="Several assessors, as basic,four-grades:gpt-4.1,:qwen3 (PROMPT, PROMPT:MODEL, "
            ":MODEL), each kept as a set, put together as one.",
            rich_help_panel=PANEL,
        ),
    ] = "",
    together: PanelRuleFlags,
    batches: BatchFlags,
    workers: RayFlags,
    encoder: EncoderOptions,
    limits: Limits,
    proof: Proof,
    flags: model_options.RunFlags,
    output: options.OutputFlags,
) -> None:
    """Have a model grade the pairs of the pool.

    Replies are kept as they arrive: the same command, run again, asks only for what is missing.
    """
    from labeler.collection.layout import open_collection
    from labeler.judging.judge import JudgeOptions, ajudge, aplan_judging
    from labeler.models.choose import model_in

    collection, watched = open_collection(folder), control_of(flags)
    to = output.made_from(collection.folder)
    asks = model_in(model, model_file, flags.assessor)
    settings = (flags.concurrency, flags.retry_failed, flags.redact, limits)
    asked = JudgeOptions(prompt or "", asks, base_url, name, *settings, proof=proof, votes=votes)
    ways = {"control": bool(control), "expand": expand is not None, "panel": bool(panel)}
    ways |= {"batch": bool(batches.batch or batches.batch_file), "repeat": repeat != 1}
    _check_one_way(ways | {"votes": votes != 1, "ray": workers.is_asked()})
    growth = {"max_rounds": max_rounds, "max_pairs": max_pairs, "neighbors": neighbors, "rel": rel}
    check_expanded(expand is not None, {**growth, **asdict(encoder)})
    _check_of_control(control, fixed=fixed, redraw=redraw)
    if control:
        _control(collection, asked, (control, fixed, redraw), watched, (flags.dry_run, output, to))
        return
    if ways["batch"]:
        command = BatchCommand(collection, asked, batches, watched, output, to)
        command.run(dry_run=flags.dry_run)
        return
    if panel:
        _panel(collection, (panel, asked), together, watched, (flags.dry_run, output, to))
        return
    if flags.dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_judging(collection, asked, watched.with_stop(stop), repeat)
        )
        show_outcome(plan, show_judging_plan, output, to)
        if expand is not None:
            note("that is the pool as it is; what rounds add to it is not known before")
        return
    if workers.ray:
        judge_on_ray(collection, asked, workers, watched, (output, to))
        return
    if expand is not None:
        from labeler.models.encoders import Encoding
        from labeler.pools.expand import Rounds, aexpand_until  # what others need not load

        how = Rounds(expand, max_rounds, rel, neighbors, max_pairs)
        encoding = Encoding(encoder, limits)
        grown = run_until_stopped(
            lambda stop: aexpand_until(collection, asked, how, watched.with_stop(stop), encoding)
        )
        show_outcome(grown, _show_expanded, output, to)
        check_complete(grown.judging)
        return
    result = run_until_stopped(
        lambda stop: ajudge(collection, asked, watched.with_stop(stop), repeat)
    )
    show_outcome(_Shown(result, _retest(result, repeat)), _show, output, to)
    check_complete(result)


_WHY = {
    "control": "it judges a few pairs again, each twice",
    "expand": "it adds pairs that are judged once",
    "panel": "its members judge the pool once",
    "batch": "it asks about each pair of the pool once",
    "repeat": "it asks about each pair several times",
    "votes": "it makes one grade of several replies",
}
"""What each way of judging does, which says why it goes without the others."""


def _check_one_way(ways: Mapping[str, bool]) -> None:
    """`Misuse` where the pool is to be judged in two ways at once."""
    given = [way for way, is_given in ways.items() if is_given]
    if len(given) > 1:
        others = ", ".join(f"--{way}" for way in ways if way != given[0])
        raise Misuse(f"{_WHY[given[0]]}; it goes without {others}", parameter=given[0])


def _check_of_control(control: int, *, fixed: bool, redraw: bool) -> None:
    if (fixed or redraw) and not control:
        problem = "it says which pairs a control asks about; it goes with --control"
        raise Misuse(problem, parameter="fixed" if fixed else "redraw")


def _panel(
    collection: Collection,
    members: tuple[str, JudgeOptions],
    together: PanelRuleFlags,
    control: Control,
    shown: tuple[bool, options.OutputFlags, Output | None],
) -> None:
    """Have several assessors judge the pool, and put their grades together."""
    from labeler.lab.panel.ask import ajudge_panel, aplan_panel, members_named
    from labeler.lab.panel.members import PanelOptions

    (text, asked), (dry_run, output, to) = members, shown
    panel_options = PanelOptions(together.rule, together.fewest)
    how = collection, members_named(text, asked), asked.name, panel_options
    if dry_run:
        plan = run_until_stopped(lambda stop: aplan_panel(*how, control.with_stop(stop)))
        show_outcome(plan, show_panel_plan, output, to)
        return
    judged = run_until_stopped(lambda stop: ajudge_panel(*how, control.with_stop(stop)))
    show_outcome(judged, show_judged_panel, output, to)
    check_panel(judged)


@dataclass(frozen=True)
class _Shown:
    """What judging gave, and what asking again did, where that was asked for."""

    result: JudgeResult
    again: Retest | None

    def as_json(self) -> dict[str, Any]:
        """The counts, and the figures of asking again."""
        retest = {} if self.again is None else {"retest": self.again.as_json()}
        return {**self.result.as_json(), **retest}


def _retest(result: JudgeResult, repeat: int) -> Retest | None:
    """How far the assessor agrees with itself, where all was asked about several times."""
    from labeler.agreement.retest import retest_of

    asked_again = repeat > 1 and not result.stopped
    return retest_of(result.job.collection, result.name) if asked_again else None


def _show(shown: _Shown) -> None:
    show_judging(shown.result)
    if shown.again is None:
        return
    from labeler.report.render import render

    say("")
    for sentence in shown.again.sentences:
        say(sentence)
    say("")
    say(render(shown.again.table()).rstrip())


def _show_expanded(grown: ExpandedJudging) -> None:
    """Print what the last judging left, each round, and why there is no other."""
    show_judging(grown.judging)
    for each in grown.rounds:
        say(str(each))
    say(grown.sentence())


def _control(
    collection: Collection,
    asked: JudgeOptions,
    pairs: tuple[int, bool, bool],
    control: Control,
    shown: tuple[bool, options.OutputFlags, Output | None],
) -> None:
    """Judge some pairs again; `GateFailed` where their assessor has drifted."""
    from labeler.lab.control import ControlPairs, adrift, aplan_drift

    (dry_run, output, to), which = shown, ControlPairs(*pairs)
    if dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_drift(collection, asked, which, control.with_stop(stop))
        )
        show_outcome(plan, show_judging_plan, output, to)
        return
    check = run_until_stopped(
        lambda stop: adrift(collection, asked, which, control.with_stop(stop))
    )
    show_outcome(check, show_drift, output, to)
    check_steady(check)
