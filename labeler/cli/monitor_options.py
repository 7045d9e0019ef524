"""Options of `labeler monitor`: when there is an alarm, how logs are read, who judges again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli import model_options, options
from labeler.errors import Misuse
from labeler.options import COUNT, COUNT_OR_NONE, SHARE, TOP_GRADE, Bounds, option

if TYPE_CHECKING:
    from labeler.collection.user_files import Output
    from labeler.monitoring.log.values import LogOptions

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{0,9})?")
ALARMS, AGAIN, LOG = "Alarms", "Judge again", "Log"


@dataclass(frozen=True, slots=True)
class AlarmFlags:
    """From where on there is an alarm, and which alarms end a run with 5."""

    require: tuple[str, ...] = option(
        (),
        "End with 5 at this alarm alone, as judge-drift; repeatable. Default: at any.",
        metavar="KIND",
        panel=ALARMS,
    )
    stale: float = option(
        0.05, "The share of judged pairs that may be stale.", SHARE, metavar="SHARE", panel=ALARMS
    )
    fresh: float = option(
        0.1,
        "The share of first places that new documents may take.",
        SHARE,
        metavar="SHARE",
        panel=ALARMS,
    )
    depth: int = option(10, "So many places of each query are first.", COUNT, panel=ALARMS)
    rel: int = option(1, "The lowest grade that counts as relevant.", TOP_GRADE, panel=ALARMS)


@dataclass(frozen=True, slots=True)
class AgainFlags:
    """Whether fixed pairs are judged again first, and by which model."""

    control: int = option(
        0, "Judge so many fixed pairs again first; this asks a model.", COUNT_OR_NONE, panel=AGAIN
    )
    model: str | None = option(None, model_options.MODEL_NAME)
    base_url: str | None = option(None, model_options.BASE_URL)


@dataclass(frozen=True, slots=True)
class LogFlags:
    """Which logs are read, and how."""

    log: tuple[str, ...] = option(
        (),
        "A log of searches: CSV, JSON Lines, Parquet; repeatable, or a pattern.",
        metavar="FILE",
        panel=LOG,
    )
    column: tuple[str, ...] = option(
        (),
        "A column's name where it is no usual one, as time:when; repeatable.",
        metavar="PART:NAME",
        panel=LOG,
    )
    propose: Path | None = option(
        None,
        "Write here the queries that would make the set current, as JSON lines.",
        metavar="FILE",
        panel=LOG,
    )
    time_zone: str = option("UTC", "Of times without one, as Europe/Berlin.", panel=LOG)
    time_format: str = option("", "Of times, as %d.%m.%Y %H:%M.", panel=LOG)
    application: str = option("", "Read this one, of several in a log.", metavar="NAME", panel=LOG)
    first_rank: int | None = option(
        None, "The rank of the first result: 0 or 1.", Bounds(0, 1), panel=LOG
    )
    shares: str | None = option(
        None,
        "How users were meant to be split, as A:9,B:1. Default: evenly.",
        metavar="VARIANT:SHARE,...",
        panel=LOG,
    )


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
    from labeler.monitoring.log.values import LogOptions

    names: dict[str, str] = {}
    for given in flags.column or ():
        part, _, name = given.partition(":")
        if part not in EVENT_PARTS or not name:
            problem = f"expected PART:NAME, PART one of {', '.join(EVENT_PARTS)}; found {given!r}"
            raise Misuse(problem, parameter="column")
        names[EVENT_PARTS[part][0]] = name
    fields = EventFields(**names)
    zone = flags.time_zone, flags.time_format
    return LogOptions(fields, *zone, flags.application, flags.first_rank)


def proposal_to(flags: LogFlags, output: options.OutputFlags, *inputs: Path) -> Output | None:
    """The file for proposed queries; `Misuse` where it is the page's, or no log tells of any."""
    from labeler.files.paths import true_path
    from labeler.monitoring.logs import log_files

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
