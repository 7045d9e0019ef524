"""Options of `labeler monitor`: when there is an alarm, how logs are read, who judges again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli import model_options, options
from labeler.cli.numbers import COUNT_OR_NONE, SHARE, TOP_GRADE, Bounds, number
from labeler.errors import Misuse

if TYPE_CHECKING:
    from labeler.collection.user_files import Output
    from labeler.monitoring.log_values import LogOptions

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{0,9})?")
ALARMS, AGAIN, LOG = "Alarms", "Judge again", "Log"


@dataclass(frozen=True, slots=True)
class AlarmFlags:
    """From where on there is an alarm, and which alarms end a run with 5."""

    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="End with 5 at this alarm alone, as judge-drift; repeatable. Default: at any.",
            rich_help_panel=ALARMS,
        ),
    ] = None
    stale: Annotated[
        float,
        number(
            SHARE,
            metavar="SHARE",
            help="The share of judged pairs that may be stale.",
            rich_help_panel=ALARMS,
        ),
    ] = 0.05
    fresh: Annotated[
        float,
        number(
            SHARE,
            metavar="SHARE",
            help="The share of first places that new documents may take.",
            rich_help_panel=ALARMS,
        ),
    ] = 0.1
    rel: Annotated[
        int,
        number(TOP_GRADE, help="The lowest grade that counts as relevant.", rich_help_panel=ALARMS),
    ] = 1


@dataclass(frozen=True, slots=True)
class AgainFlags:
    """Whether fixed pairs are judged again first, and by which model."""

    control: Annotated[
        int,
        number(
            COUNT_OR_NONE,
            help="Judge so many fixed pairs again first; this asks a model.",
            rich_help_panel=AGAIN,
        ),
    ] = 0
    model: model_options.ModelName = None
    base_url: model_options.BaseUrl = None


@dataclass(frozen=True, slots=True)
class LogFlags:
    """Which logs are read, and how."""

    log: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A log of searches: CSV, JSON Lines, Parquet; repeatable, or a pattern.",
            rich_help_panel=LOG,
        ),
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART:NAME",
            help="A column's name where it is no usual one, as time:when; repeatable.",
            rich_help_panel=LOG,
        ),
    ] = None
    propose: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write here the queries that would make the set current, as JSON lines.",
            rich_help_panel=LOG,
        ),
    ] = None
    time_zone: Annotated[
        str, typer.Option(help="Of times without one, as Europe/Berlin.", rich_help_panel=LOG)
    ] = "UTC"
    time_format: Annotated[
        str, typer.Option(help="Of times, as %d.%m.%Y %H:%M.", rich_help_panel=LOG)
    ] = ""
    first_rank: Annotated[
        int | None,
        number(Bounds(0, 1), help="The rank of the first result: 0 or 1.", rich_help_panel=LOG),
    ] = None
    shares: Annotated[
        str | None,
        typer.Option(
            metavar="VARIANT:SHARE,...",
            help="How users were meant to be split, as A:9,B:1. Default: evenly.",
            rich_help_panel=LOG,
        ),
    ] = None


def shares_of(flags: LogFlags) -> dict[str, float]:
    """The share of users that each variant was meant to have; empty where none are named."""
    shares: dict[str, float] = {}
    for given in (flags.shares or "").split(",") if flags.shares else ():
        variant, _, share = given.strip().rpartition(":")
        if not variant or not _NUMBER.fullmatch(share.strip()):
            problem = f"expected VARIANT:SHARE,..., as A:9,B:1; found {flags.shares!r:.60}"
            raise Misuse(problem, parameter="shares")
        shares[variant] = float(share)
    return shares


def log_options(flags: LogFlags) -> LogOptions:
    """How the logs are read; `Misuse` names the parts whose columns may be named."""
    from labeler.exchange.fields import EventFields
    from labeler.exchange.logs import EVENT_PARTS
    from labeler.monitoring.log_values import LogOptions

    names: dict[str, str] = {}
    for given in flags.column or ():
        part, _, name = given.partition(":")
        if part not in EVENT_PARTS or not name:
            problem = f"expected PART:NAME, PART one of {', '.join(EVENT_PARTS)}; found {given!r}"
            raise Misuse(problem, parameter="column")
        names[EVENT_PARTS[part][0]] = name
    fields = EventFields(**names)
    return LogOptions(fields, flags.time_zone, flags.time_format, flags.first_rank)


def proposal_to(flags: LogFlags, output: options.OutputFlags, *inputs: Path) -> Output | None:
    """The file for proposed queries; `Misuse` where it is the page's, or no log tells of any."""
    from labeler.files.paths import true_path
    from labeler.monitoring.monitor import log_files

    if flags.propose is None:
        return None
    if not flags.log:
        problem = "queries are proposed from a log of searches; name one"
        raise Misuse(problem, parameter="log")
    if output.output is not None and true_path(output.output) == true_path(flags.propose):
        raise Misuse(f"{flags.propose}: the output goes there, too", parameter="propose")
    return output.written_to(flags.propose, *inputs, *log_files(flags.log))


def column_options() -> dict[str, str]:
    """How the settings that name columns are called here."""
    from labeler.exchange.logs import EVENT_PARTS

    return {setting: f"--column {part}:" for part, (setting, _) in EVENT_PARTS.items()}
