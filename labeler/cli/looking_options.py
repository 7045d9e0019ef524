"""Options of what people say of runs and of themselves, and how that is shown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from labeler.cli.options import OutputFlags
from labeler.cli.output import show, show_json, warn
from labeler.errors import Misuse
from labeler.options import COUNT, DEPTH_LOOKED_AT, option

if TYPE_CHECKING:
    from labeler.annotate.lgtm_report import LgtmReport
    from labeler.annotate.look import LookChoice
    from labeler.annotate.raters.status import RatersStatus
    from labeler.annotate.session import RatingTask
    from labeler.annotate.side_by_side_report import SideBySideReport

DEPTH = 10
LOOK, STATUS = "Pages of results", "What the answers say"


@dataclass(frozen=True, slots=True)
class LookFlags:
    """Runs whose first results people look at, and of which queries."""

    lgtm: str | None = option(
        None,
        "A query and its first results: good or not? That gives LGTM@10.",
        metavar="RUN",
        panel=LOOK,
    )
    side_by_side: tuple[str, str] | None = option(
        None,
        "The first results of two runs, names hidden: which are better?",
        metavar="A B",
        panel=LOOK,
    )
    queries: int | None = option(None, "Draw so many queries (default: all).", COUNT, panel=LOOK)
    depth: int = option(DEPTH, "Results of each query.", DEPTH_LOOKED_AT, panel=LOOK)
    by: str = option(
        "",
        "Draw as many queries of each group, by a field of their metadata.",
        metavar="FIELD",
        panel=LOOK,
    )

    @property
    def is_asked_for(self) -> bool:
        """Whether pages of results are looked at, and not pairs graded."""
        return self.lgtm is not None or self.side_by_side is not None

    def choice(self, seed: int) -> LookChoice:
        """What is looked at, as the library takes it."""
        from labeler.annotate.look import LookChoice, QueryDraw

        draw = QueryDraw(self.queries, self.depth, self.by, seed)
        return LookChoice(self.lgtm, self.side_by_side, draw)


@dataclass(frozen=True, slots=True)
class StatusFlags:
    """Whether it is said what the answers show so far, and beside what."""

    status: bool = option(
        False,
        "Serve no page: how far raters are and how they agree, or what they say of runs.",
        panel=STATUS,
    )
    with_revealed: bool = option(
        False, "Count what raters changed after they saw the assessor's grade.", panel=STATUS
    )
    weights: str = option(
        "",
        "Of runs: what a query counts, by a field of its metadata.",
        metavar="FIELD",
        panel=STATUS,
    )
    qrels: str | None = option(
        None,
        "Of runs: the qrels of the measure beside (default: human).",
        metavar="NAME",
        panel=STATUS,
    )
    measure: str = option(
        "", "Of runs: the measure beside (default: nDCG at the depth).", panel=STATUS
    )


def check_look(look: LookFlags, status: StatusFlags, of_pairs: Mapping[str, object]) -> None:
    """`Misuse` where options are given that say nothing of what is asked for."""
    if look.lgtm is not None and look.side_by_side is not None:
        raise Misuse("one run, or two side by side: one at a time", parameter="lgtm")
    of_look = {"queries": look.queries, "by": look.by or None}
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
    sentences = ["\n".join(result.headline)] if form == "table" else []
    show([*sentences, *result.tables()], form, output)
    if form == "table":
        warn(context, result.findings)


def _result(
    folder: Path, look: LookFlags, status: StatusFlags
) -> LgtmReport | SideBySideReport | RatersStatus:
    from labeler.annotate.lgtm_report import LgtmOptions, lgtm_report
    from labeler.annotate.raters.status import status_of_raters
    from labeler.annotate.side_by_side_report import SideBySideOptions, side_by_side_report

    beside = (look.depth, status.weights, status.qrels, status.measure)
    if look.side_by_side is not None:
        return side_by_side_report(folder, *look.side_by_side, SideBySideOptions(*beside))
    if look.lgtm is not None:
        return lgtm_report(folder, look.lgtm, LgtmOptions(*beside))
    return status_of_raters(folder, with_revealed=status.with_revealed)
