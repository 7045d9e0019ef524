"""`labeler monitor`: whether yesterday's evaluation still describes today's search."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from labeler.cli import model_options, options
from labeler.cli.output import deliver, said_to, show, show_json, warn
from labeler.cli.process import run_until_stopped
from labeler.cli.screen import caution, note, progress, say
from labeler.errors import GateFailed, LabelerError, Misuse
from labeler.messages import count_of
from labeler.models.encoder_options import EncoderOptions
from labeler.models.settings import Limits
from labeler.options import COUNT_OR_NONE, OUTPUT, SHARE, TOP_GRADE, Bounds, option
from labeler.report.table import FormName

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from labeler.collection.user_files import Output
    from labeler.models.control import Control
    from labeler.monitoring.log_values import LogOptions
    from labeler.monitoring.monitor import Monitoring
    from labeler.report.finding import Finding
    from labeler.report.table import FormName

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
        0.05,
        "The share of judged pairs that may be stale.",
        SHARE,
        metavar="SHARE",
        panel=ALARMS,
        rare=True,
    )
    fresh: float = option(
        0.1,
        "The share of first places that new documents may take.",
        SHARE,
        metavar="SHARE",
        panel=ALARMS,
        rare=True,
    )
    rel: int = option(
        1, "The lowest grade that counts as relevant.", TOP_GRADE, panel=ALARMS, rare=True
    )


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
    time_zone: str = option("UTC", "Of times without one, as Europe/Berlin.", panel=LOG, rare=True)
    time_format: str = option("", "Of times, as %d.%m.%Y %H:%M.", panel=LOG, rare=True)
    first_rank: int | None = option(
        None, "The rank of the first result: 0 or 1.", Bounds(0, 1), panel=LOG, rare=True
    )
    shares: str | None = option(
        None,
        "How users were meant to be split, as A:9,B:1. Default: evenly.",
        metavar="VARIANT:SHARE,...",
        panel=LOG,
        rare=True,
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


PAGES = (".html", ".htm")


def command(
    context: typer.Context,
    folder: options.Folder,
    *,
    documents: tuple[str, ...] = option(
        (), "The documents as they are now; repeatable.", metavar="INPUT"
    ),
    judgements: tuple[str, ...] = option(
        (), "Judgements whose controls count; repeatable. Default: all.", metavar="NAME"
    ),
    qrels: str | None = option(None, "Qrels that documents are held against.", metavar="NAME"),
    logs: LogFlags,
    encoder: EncoderOptions,
    alarms: AlarmFlags,
    again: AgainFlags,
    limits: Limits,
    quiet: bool = option(
        False, "Print alarms and errors alone: nothing where there are none.", panel=OUTPUT
    ),
    output: options.OutputFlags,
) -> None:
    """Say whether yesterday's evaluation still describes today's search.

    An output that ends in .html is one page. Ends with 5 where an alarm was raised.
    """
    from labeler.collection.layout import open_collection
    from labeler.exchange.shapes import told_what_files_are
    from labeler.models.control import Control
    from labeler.models.encoders import Encoding
    from labeler.monitoring.corpus import CorpusWatch
    from labeler.monitoring.monitor import LogWatch, MonitorOptions, check_kinds, monitor

    gates, collection = check_kinds(alarms.require or ()), open_collection(folder)
    to = output.made_from(collection.folder)
    proposal = proposal_to(logs, output, collection.folder)
    control = Control() if quiet else Control(note=note, progress=progress)
    failed: list[LabelerError] = []
    left_out: list[Finding] = []
    if again.control:
        try:
            _judge_again(folder, judgements or (), again, (limits, control))
        except (Misuse, GateFailed):
            raise
        except LabelerError as error:
            failed.append(error)
            left_out.append(_without_control(error))
    watch = CorpusWatch(qrels, alarms.stale, alarms.rel, alarms.fresh)
    of_logs = LogWatch(log_options(logs), shares_of(logs), Encoding(encoder, limits))
    how = MonitorOptions(tuple(judgements or ()), watch, of_logs)
    sources = (documents or (), logs.log or ())
    listening = told_what_files_are(lambda _line: None) if quiet else nullcontext()
    with listening:
        run = monitor(collection, *sources, options=how, left_out=left_out, control=control)
    _show(context, run, output.format, to, quiet=quiet)
    if proposal is not None:
        _propose(run, proposal, quiet=quiet)
    _end(run, gates, failed)


def _without_control(error: LabelerError) -> Finding:
    from labeler.report.finding import Finding

    return Finding(f"judge drift: the control ended early: {error}")


def _judge_again(
    folder: Path, names: Sequence[str], again: AgainFlags, how: tuple[Limits, Control]
) -> None:
    """Control the fixed pairs of a set; whether they drifted is for the chart to say."""
    from labeler.judging.judge import JudgeOptions
    from labeler.lab.control import ControlPairs, adrift

    if len(names) > 1:
        problem = "a control is of one set of judgements; name one"
        raise Misuse(problem, parameter="judgements")
    (limits, control), which = how, ControlPairs(again.control, fixed=True)
    asked = JudgeOptions("", again.model, again.base_url, next(iter(names), None), limits=limits)
    run_until_stopped(lambda stop: adrift(folder, asked, which, control.with_stop(stop)))


def _show(
    context: typer.Context, run: Monitoring, form: FormName, to: Output | None, *, quiet: bool
) -> None:
    """Write the page, and print what there is to say: alarms to stderr, one line each."""
    is_page = to is not None and to.path.suffix.casefold() in PAGES
    if is_page:
        deliver(run.page().html(), to)
    if not quiet or (to is not None and not is_page):
        _print(run, form, None if is_page else to)
    for alarm in run.alarms:
        caution(alarm)
    if quiet:
        return
    findings = run.findings if to is None else [f for f in run.findings if _is_urgent(f, run)]
    warn(context, findings, column_options())
    if to is not None:
        note(f"wrote {to.path}")


def _propose(run: Monitoring, to: Output, *, quiet: bool) -> None:
    """Write the proposed queries; a file of none is empty, so that no earlier ones stay there."""
    import json

    rows = run.proposed_queries
    if rows is None:
        caution(f"{to.path} is not written: the log does not say which queries to propose")
        return
    deliver("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), to)
    if not quiet:
        note(f"wrote {to.path}: {count_of(len(rows), 'query', 'queries')}")


def _is_urgent(finding: Finding, run: Monitoring) -> bool:
    """Whether it is said even where a page says it."""
    return finding.level == "warning" or finding in run.left_out


def _print(run: Monitoring, form: FormName, to: Output | None) -> None:
    """The figures for programs; for people sentences, or the page as Markdown."""
    if form == "json":
        show_json(run.as_json(), to)
    elif form == "markdown":
        deliver(run.page().markdown(), to)
    elif form == "table":
        with said_to(to):
            for sentence in run.sentences:
                say(sentence)
    else:
        show(run.tables(), form, to)


def _end(run: Monitoring, gates: frozenset[str], failed: Sequence[LabelerError]) -> None:
    """`GateFailed` where an alarm was raised that a gate is for; else what ended the control."""
    kinds = [kind for kind in run.kinds if not gates or kind in gates]
    if kinds:
        raise GateFailed(f"{run.folder}: {', '.join(kinds)}")
    if failed:
        raise failed[0]
