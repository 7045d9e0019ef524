"""`labeler annotate`: a page on which people grade pairs; and how far they are."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import show, show_json, warn
from labeler.cli.screen import caution, note, say
from labeler.errors import Misuse
from labeler.options import COUNT, DEPTH_LOOKED_AT, PORT, SEED, option

if TYPE_CHECKING:
    from labeler.annotate.annotate import AnnotateOptions
    from labeler.annotate.export import AnswersExported
    from labeler.annotate.lgtm_report import LgtmReport
    from labeler.annotate.look import LookChoice
    from labeler.annotate.raters.status import RatersStatus
    from labeler.annotate.session import RatingSession, RatingTask
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


SERVER, DRAW, TRAIN = "Server", "Which pairs", "Training"
OPEN = (
    "whoever is given an address grades under its rater's name, and what is sent is not encrypted:"
    " others in the network can read it along"
)


def command(
    context: typer.Context,
    folder: Folder,
    *,
    rater: tuple[str, ...] = option(
        (), "Who grades (default: your login name); repeat it for a page each.", metavar="NAME"
    ),
    export: str | None = option(
        None, "Keep the grades so far as these qrels; serve no page.", metavar="NAME"
    ),
    sample: str | None = option(
        None, "This sample, where there are several.", metavar="ID", panel=DRAW
    ),
    routed: bool = option(False, "Those that `route` chose, to correct them.", panel=DRAW),
    pairs: int | None = option(
        None, "Draw so many at random (default: 200, where none are drawn).", COUNT, panel=DRAW
    ),
    source: str | None = option(
        None,
        "Balance a draw over these qrels; with --reveal, show theirs.",
        flags="--from",
        panel=DRAW,
    ),
    overlap: str = option(
        "20%", "Of a draw for several raters, the share that all of them grade.", panel=DRAW
    ),
    seed: int = option(0, "Decides which pairs are drawn.", SEED, panel=DRAW),
    gold: Path | None = option(
        None,
        "Pairs to train on; raters are told their grades at once.",
        metavar="QRELS",
        panel=TRAIN,
    ),
    gold_every: int = option(
        10, "From one of them to the next, so many pairs.", COUNT, panel=TRAIN
    ),
    reveal: Literal["never", "after"] = option(
        "never", "Show the assessor's grade and reason, once a grade is given.", panel=TRAIN
    ),
    look: LookFlags,
    status: StatusFlags,
    host: str = option("127.0.0.1", "The address to listen at.", panel=SERVER),
    port: int | None = option(
        None, "The port (default: 8765, or one that is free).", PORT, panel=SERVER
    ),
    no_browser: bool = option(False, "Open no browser.", panel=SERVER),
    shown: OutputFlags,
) -> None:
    """Serve a page on which people grade pairs, blind.

    Ctrl-C ends it, and keeps the grades as qrels; the same command goes on with the next pair.
    """
    from labeler.agreement.align import parse_share
    from labeler.annotate.annotate import AnnotateOptions
    from labeler.annotate.samples import SampleChoice

    choice = SampleChoice(sample, routed, pairs, source, parse_share(overlap), seed)
    options = AnnotateOptions(tuple(rater or ()), choice, gold, gold_every, reveal == "after")
    of_pairs = {"sample": sample, "pairs": pairs, "gold": gold, "export": export, "source": source}
    flags = {"routed": routed or None, "reveal": reveal if reveal == "after" else None}
    check_look(look, status, {**of_pairs, **flags})
    if status.status:
        show_status(context, folder, look, status, shown)
    elif export is not None:
        _export(folder, options, export)
    else:
        sessions = _sessions(folder, options, look, seed)
        _serve(folder, sessions, (host, port), opens_browser=not no_browser)


def _export(folder: Path, options: AnnotateOptions, name: str) -> None:
    from labeler.annotate.annotate import raters_of
    from labeler.annotate.export import GradedBy, export_answers
    from labeler.cli.people import note_next
    from labeler.collection.layout import open_collection
    from labeler.errors import Misuse

    raters = raters_of(options)
    if len(raters) > 1:
        raise Misuse("each rater's grades go under a name of their own: one rater at a time")
    purpose: Literal["fix", "audit"] = "fix" if options.choice.routed else "audit"
    done = export_answers(folder, GradedBy(raters[0], options.choice.sample, purpose), name, note)
    say(f"{done.name}: {_counts(done)}")
    note_next(open_collection(folder), done.name)


def _sessions(
    folder: Path, options: AnnotateOptions, look: LookFlags, seed: int
) -> list[RatingSession]:
    """The raters' sessions: pages of results where some run is named, else pairs."""
    from labeler.annotate.annotate import raters_of, rating_sessions
    from labeler.annotate.look import look_sessions
    from labeler.annotate.serve import check_installed

    check_installed()
    if look.is_asked_for:
        return look_sessions(folder, look.choice(seed), raters_of(options), note)
    return rating_sessions(folder, options, caution)


def _serve(
    folder: Path,
    sessions: list[RatingSession],
    where: tuple[str, int | None],
    opens_browser: bool,
) -> None:
    from labeler.annotate.hosts import is_loopback
    from labeler.annotate.serve import ServeOptions, served
    from labeler.cli.process import report_bug

    try:
        with served(sessions, ServeOptions(*where), report_bug) as server:
            if not is_loopback(where[0]):
                caution(OPEN)
            for session, address in zip(sessions, server.addresses, strict=True):
                say(address if len(sessions) == 1 else f"{session.rater}: {address}")
            note("open this address in a browser; Ctrl-C ends the page, and every grade is kept")
            if opens_browser:
                _open(server.addresses[0])
            server.wait()
    except KeyboardInterrupt:
        for session in sessions:
            note(_ended(folder, session))
    except BaseException:
        for session in sessions:
            _ended(folder, session)
        raise


def _ended(folder: Path, session: RatingSession) -> str:
    """Keep a rater's grades as qrels; what was graded, and how to go on."""
    from labeler.annotate.export import GradedBy, export_answers
    from labeler.errors import LabelerError

    rater, task = session.rater, session.task
    if task.name != "grade":
        answered = f"{len(session.answers):,} of {len(task.items):,} pages of results answered"
        return f"{rater}: {answered}; what they say: {status_command(folder, task)}"
    again = shlex.join(["labeler", "annotate", str(folder), "--rater", rater])
    to_go_on = f"to go on: {again} --sample {task.sample}"
    if not session.answers:
        return f"{rater}: nothing was graded; {to_go_on}"
    try:
        done = export_answers(folder, GradedBy(rater, task.sample))
    except LabelerError as error:
        return f"{rater}: every grade is kept, but not as qrels: {error}; {to_go_on}"
    return f"{rater}: {_counts(done)}, kept as the qrels {done.name}; {to_go_on}"


def _counts(done: AnswersExported) -> str:
    """What was graded, in words."""
    counts = [f"{done.graded:,} of {done.graded + done.cannot_judge + done.open:,} pairs graded"]
    if done.cannot_judge:
        counts.append(f"{done.cannot_judge:,} that cannot be judged")
    if done.changed:
        counts.append(f"{done.changed:,} changed after the assessor's grade was shown")
    if done.gone:
        counts.append(f"{done.gone:,} answers to pairs that left the collection")
    if done.outdated:
        counts.append(f"{done.outdated:,} of texts that were changed since")
    return ", ".join(counts)


def _open(address: str) -> None:
    """Open a browser, where a person sits at a terminal."""
    import webbrowser

    if sys.stdout.isatty():
        webbrowser.open(address)
