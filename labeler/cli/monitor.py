"""`labeler monitor`: whether yesterday's evaluation still describes today's search."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli import encoder_options, model_options, options  # noqa: F401  registers options
from labeler.cli.monitor_options import (
    AgainFlags,
    AlarmFlags,
    LogFlags,
    column_options,
    log_options,
    proposal_to,
    shares_of,
)
from labeler.cli.output import deliver, said_to, show, show_json, warn
from labeler.cli.screen import caution, note, progress, say
from labeler.cli.signals import run_until_stopped
from labeler.errors import GateFailed, LabelerError, Misuse
from labeler.messages import count_of
from labeler.models.encoder_options import EncoderOptions
from labeler.models.settings import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from labeler.collection.user_files import Output
    from labeler.models.control import Control
    from labeler.monitoring.monitor import Monitoring
    from labeler.report.finding import Finding
    from labeler.report.table import FormName

PAGES = (".html", ".htm")


@options.unfolded
def command(
    context: typer.Context,
    folder: options.Folder,
    *,
    documents: Annotated[
        list[str] | None,
        typer.Option(metavar="INPUT", help="The documents as they are now; repeatable."),
    ] = None,
    judgements: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Judgements whose controls count; repeatable. Default: all."
        ),
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Qrels that documents are held against."),
    ] = None,
    logs: LogFlags,
    encoder: EncoderOptions,
    alarms: AlarmFlags,
    again: AgainFlags,
    limits: Limits,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            help="Print alarms and errors alone: nothing where there are none.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = False,
    output: options.OutputFlags,
) -> None:
    """Say whether yesterday's evaluation still describes today's search, once a week or so.

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
