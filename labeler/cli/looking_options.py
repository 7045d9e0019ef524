"""Options of what people say of runs and of themselves, and how that is shown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.numbers import COUNT, DEPTH_LOOKED_AT, number
from labeler.cli.options import OutputFlags
from labeler.cli.output import show, show_json, warn
from labeler.errors import Misuse

if TYPE_CHECKING:
    from labeler.annotate.look import LookChoice
    from labeler.annotate.look_report import LookReport
    from labeler.annotate.raters.status import RatersStatus
    from labeler.annotate.session import RatingTask

DEPTH = 10
LOOK, STATUS = "Pages of results", "What the answers say"


@dataclass(frozen=True, slots=True)
class LookFlags:
    """Runs whose first results people look at, and of which queries."""

    lgtm: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="A query and its first results: good or not? That gives LGTM@10.",
            rich_help_panel=LOOK,
        ),
    ] = None
    side_by_side: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="The first results of two runs, names hidden: which are better?",
            rich_help_panel=LOOK,
        ),
    ] = None
    queries: Annotated[
        int | None,
        number(COUNT, help="Draw so many queries (default: all).", rich_help_panel=LOOK),
    ] = None
    depth: Annotated[
        int, number(DEPTH_LOOKED_AT, help="Results of each query.", rich_help_panel=LOOK)
    ] = DEPTH

    @property
    def is_asked_for(self) -> bool:
        """Whether pages of results are looked at, and not pairs graded."""
        return self.lgtm is not None or self.side_by_side is not None

    def choice(self, seed: int) -> LookChoice:
        """What is looked at, as the library takes it."""
        from labeler.annotate.look import LookChoice, QueryDraw

        draw = QueryDraw(self.queries, self.depth, seed)
        return LookChoice(self.lgtm, self.side_by_side, draw)


@dataclass(frozen=True, slots=True)
class StatusFlags:
    """Whether it is said what the answers show so far, and beside what."""

    status: Annotated[
        bool,
        typer.Option(
            "--status",
            help="Serve no page: how far raters are and how they agree, or what they say of runs.",
            rich_help_panel=STATUS,
        ),
    ] = False
    with_revealed: Annotated[
        bool,
        typer.Option(
            "--with-revealed",
            help="Count what raters changed after they saw the assessor's grade.",
            rich_help_panel=STATUS,
        ),
    ] = False
    weights: Annotated[
        str,
        typer.Option(
            metavar="FIELD",
            help="Of runs: what a query counts, by a field of its metadata.",
            rich_help_panel=STATUS,
        ),
    ] = ""
    qrels: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of runs: the qrels of the measure beside (default: human).",
            rich_help_panel=STATUS,
        ),
    ] = None
    measure: Annotated[
        str,
        typer.Option(
            help="Of runs: the measure beside (default: nDCG at the depth).", rich_help_panel=STATUS
        ),
    ] = ""


def check_look(look: LookFlags, status: StatusFlags, of_pairs: Mapping[str, object]) -> None:
    """`Misuse` where options are given that say nothing of what is asked for."""
    if look.lgtm is not None and look.side_by_side is not None:
        raise Misuse("one run, or two side by side: one at a time", parameter="lgtm")
    of_look = {"queries": look.queries}
    of_results = {
        "weights": status.weights or None,
        "qrels": status.qrels,
        "measure": status.measure or None,
    }
    if look.is_asked_for:
        _refuse(of_pairs, "that is about pairs, and pages of results are asked for")
    else:
        _refuse(of_look, "that is about pages of results; name a run")
        _refuse(of_results, "that is about pages of results; name a run")
    if not status.status:
        _refuse(of_results, "that is about what answers say; ask for the status")
    if status.with_revealed and (look.is_asked_for or not status.status):
        raise Misuse("that is about the status of raters", parameter="with_revealed")


def _refuse(given: Mapping[str, object], problem: str) -> None:
    for parameter, value in given.items():
        if value is not None:
            raise Misuse(problem, parameter=parameter)


def status_command(folder: Path, task: RatingTask) -> str:
    """The command that says what the answers about pages of results show."""
    runs = task.sample.split(" ") if task.name == "side-by-side" else [task.sample]
    depth = task.session["depth"]
    options = [f"--{task.name}", *runs, *([] if depth == DEPTH else ["--depth", str(depth)])]
    return shlex.join(["labeler", "annotate", str(folder), *options, "--status"])


def show_status(
    context: typer.Context,
    folder: Path,
    look: LookFlags,
    status: StatusFlags,
    shown: OutputFlags,
) -> None:
    """Print what the answers of a collection's raters say, or write it to a file."""
    output, form = shown.made_from(folder), shown.format
    result = _result(folder, look, status)
    if form == "json":
        show_json(result.as_json(), output)
        return
    sentences = ["\n".join(result.sentences)] if form == "table" else []
    show([*sentences, *result.tables()], form, output)
    if form == "table":
        warn(context, result.findings)


def _result(folder: Path, look: LookFlags, status: StatusFlags) -> LookReport | RatersStatus:
    from labeler.annotate.look_report import LookOptions, look_report
    from labeler.annotate.raters.status import status_of_raters

    if not look.is_asked_for:
        return status_of_raters(folder, with_revealed=status.with_revealed)
    options = LookOptions(look.depth, status.weights, status.qrels, status.measure)
    return look_report(folder, *(look.side_by_side or (str(look.lgtm),)), options=options)
