"""`labeler monitor`: whether yesterday's evaluation still describes today's search."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from labeler.cli.options import Destination, Opened
from labeler.cli.output import deliver, deliver_rows, said_to, show, show_json, warn
from labeler.cli.reporting import control_of
from labeler.cli.screen import caution, note, say
from labeler.collection.user_files import Output
from labeler.errors import GateFailed, Misuse
from labeler.exchange.logs import EVENT_PARTS
from labeler.files.paths import true_path
from labeler.messages import count_of, told_what_files_are
from labeler.models.session import Control
from labeler.monitoring.corpus import ALARMS
from labeler.monitoring.log_values import LOG
from labeler.monitoring.monitor import (
    Monitoring,
    MonitorOptions,
    check_kinds,
    log_files,
    monitor,
)
from labeler.options import OUTPUT, option
from labeler.report.neutral import github_comment
from labeler.report.page import FindingList, Page, Paragraph, TableBlock
from labeler.report.render import rendered_all


def _proposal_to(path: Path | None, logs: Sequence[str], to: Destination) -> Output | None:
    """The file for proposed queries; `Misuse` where it is the page's, or no log tells of any."""
    if path is None:
        return None
    if not logs:
        raise Misuse("queries are proposed from a log of searches; name one", parameter="log")
    if to.file is not None and true_path(to.file.path) == true_path(path):
        raise Misuse(f"{path}: the output goes there, too", parameter="propose")
    return replace(to, inputs=(*to.inputs, *log_files(logs))).written_to(path)


def command(
    collection: Opened,
    *,
    documents: tuple[str, ...] = option(
        (), "The documents as they are now; repeatable.", metavar="INPUT"
    ),
    options: MonitorOptions,
    log: tuple[str, ...] = option(
        (),
        "A log of searches: CSV, JSON Lines, Parquet; repeatable, or a pattern.",
        metavar="FILE",
        panel=LOG,
    ),
    propose: Path | None = option(
        None,
        "Write here the queries that would make the set current, as JSON lines.",
        metavar="FILE",
        panel=LOG,
    ),
    require: tuple[str, ...] = option(
        (),
        "End with 5 at this alarm alone, as judge-drift; repeatable. Default: at any.",
        metavar="KIND",
        panel=ALARMS,
    ),
    quiet: bool = option(
        False, "Print alarms and errors alone: nothing where there are none.", panel=OUTPUT
    ),
    to: Destination,
) -> None:
    """Say whether yesterday's evaluation still describes today's search.

    An output that ends in .html is one page. Ends with 5 where an alarm was raised.
    """
    check_kinds(require)
    proposal = _proposal_to(propose, log, to)
    control = Control() if quiet else control_of()
    listening = told_what_files_are(lambda _line: None) if quiet else nullcontext()
    with listening:
        run = monitor(collection, documents, log, options=options, control=control)
    _show(run, to, quiet=quiet)
    if proposal is not None:
        rows = run.proposed_queries
        if rows is None:
            what = "is not written: the log does not say which queries to propose"
            caution(f"{proposal.path} {what}")
        else:  # a file of none is empty, so that no earlier ones stay there
            deliver_rows(rows, proposal)
            if not quiet:
                note(f"wrote {proposal.path}: {count_of(len(rows), 'query')}")
    kinds = [kind for kind in run.kinds if not require or kind in require]
    if kinds:
        raise GateFailed(f"{run.folder}: {', '.join(kinds)}")


def _show(run: Monitoring, to: Destination, *, quiet: bool) -> None:
    """Print what there is to say, or write it: alarms to stderr, one line each."""
    file = to.file
    if not quiet or file is not None:
        _print(run, to)
    if to.form == "html" and file is not None and not quiet:
        _print(run, Destination())
    for alarm in run.alarms:
        caution(alarm)
    if quiet:
        return
    # of a file's reader alone what is no warning
    findings = [each for each in run.findings if file is None or each.level == "warning"]
    warn(findings, {f"{part}_field": f"--column {part}:" for part in EVENT_PARTS})
    if file is not None:
        note(f"wrote {file.path}")


def _print(run: Monitoring, to: Destination) -> None:
    """The figures for programs; for people sentences, or all that is known as a document."""
    if to.form == "json":
        show_json(run.as_json(), to)
    elif to.form == "html":
        findings = FindingList([*run.alarms, *run.findings])
        blocks = [*map(Paragraph, run.sentences), findings, *map(TableBlock, run.every_table())]
        deliver(Page(f"Watch over {run.folder.name}", blocks).html(), to.file)
    elif to.form == "markdown":
        lines, notes = [*run.sentences, *map(str, run.alarms)], map(str, run.findings)
        text = rendered_all([*lines, *run.every_table(), *notes], "markdown")
        deliver(github_comment(text), to.file)
    elif to.form == "table":
        with said_to(to):
            for sentence in run.sentences:
                say(sentence)
    else:
        show(run.tables(), to)
