"""`labeler lab`, of what is there: grades calibrated and routed, rankings and figures weighed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Destination, Opened, argument
from labeler.cli.output import name_unread_runs, show, show_json, show_result, warn
from labeler.cli.reporting import asked, show_judging_plan
from labeler.cli.screen import note, say
from labeler.collection.user_files import Output
from labeler.errors import Incomplete, Misuse
from labeler.evaluation.inputs import qrels_and_runs
from labeler.evaluation.leaderboard import leaderboard as rank_twice
from labeler.lab.audit import AuditOptions
from labeler.lab.audit import audit as audited
from labeler.lab.calibrate import calibrate as fit_probabilities
from labeler.lab.calibrate import write_probabilities
from labeler.lab.cascade import CascadeOptions, CascadePlan, acascade
from labeler.lab.depth import DepthOptions, ReaderDepth, reader_depth
from labeler.lab.route import RouteOptions, RouteResult, write_routed
from labeler.lab.route import route as route_pairs
from labeler.options import SEED, option
from labeler.people.sample import free_names
from labeler.report.table import Table, table_of

PAIRS_SHOWN = 10


def calibrate(
    sources: Annotated[
        list[str],
        argument(
            "A collection and a set of its judgements; or a file of judgements or qrels.",
            "COLL NAME | FILE",
        ),
    ],
    *,
    people: str = option(
        "human", "Human qrels: a name of the collection, or a file.", metavar="QRELS"
    ),
    probabilities: Path | None = option(
        None, "Write each pair's probabilities, JSON Lines.", metavar="FILE"
    ),
    to: Destination,
) -> None:
    """Make probabilities of an assessor's grades, by people's grades of some pairs.

    How far they hold is measured on queries that they were not fitted to.
    """
    rows_to = to.beside(probabilities)
    result = fit_probabilities(*sources, people=people)
    show_result(result, to)
    if rows_to is not None:
        write_probabilities(rows_to, result)
        note(f"probabilities of {result.given.pairs.size:,} pairs: {rows_to.path}")


def route(
    sources: Annotated[
        list[str],
        argument(
            "A collection and sets of its grades, or files: those to correct come first.",
            "COLL NAME... | FILE...",
        ),
    ],
    *,
    options: RouteOptions,
    sheet: Path | None = option(None, "Write the pairs as a sheet for people.", metavar="FILE"),
    to: Destination,
) -> None:
    """Choose the pairs whose grades people should check.

    People's grades of these pairs are no random sample: no statistic takes them for one.
    """
    to_sheet = to.beside(sheet)
    result = route_pairs(*sources, options=options)
    (pairs,) = result.tables()
    parts: list[Table | str] = ["\n".join(result.sentences), pairs]
    if to.form == "table" and (left := len(pairs.rows) - PAIRS_SHOWN) > 0:
        parts[1] = replace(pairs, rows=pairs.rows[:PAIRS_SHOWN], note=f"… and {left:,} more")
    show_result(result, to, parts=parts)
    if to_sheet is not None:
        _write_sheet(result, to_sheet, sources[0])


def _write_sheet(result: RouteResult, sheet: Output, source: str) -> None:
    """Write the pairs for people, and say how their grades come back."""
    sample = write_routed(result, sheet, note)
    note(f"{sheet.path}: sample {sample.id}, {sample.pairs} pairs of {sample.queries} queries")
    if result.collection is not None:
        (name,) = free_names(result.collection, 1)
        note(f"when graded: labeler people import {sheet.path} {source} --as {name}")
        note(f"or on a page: labeler annotate {source} --sample {sample.id}")


def cascade(
    collection: Opened,
    cheap: Annotated[
        list[str],
        argument(
            "The cheap assessor's judgements; further sets help to tell where it is unsure.",
            "NAME...",
        ),
    ],
    *,
    options: CascadeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Ask a strong assessor about the pairs of which a cheap one is unsure.

    It asks about the pairs that the cheap one failed on, too. From where on it is unsure is chosen
    on people's grades, and checked on other queries of theirs.
    """
    judging = options.judging
    how = replace(options, name=judging.name, judging=who.asking(replace(judging, name=None)))
    result = asked(
        flags, partial(acascade, collection, *cheap, options=how), _show_cascade_plan, to
    )
    show_result(result, to)
    if result.failures:
        raise Incomplete(
            f"{result.failures:,} of {result.pairs:,} pairs have no grade",
            again={"retry_failed": True},
        )


def _show_cascade_plan(plan: CascadePlan) -> None:
    say("to choose the threshold:")
    show_judging_plan(plan.threshold)
    say("\nat most, were all pairs sent:")
    show_judging_plan(plan.whole)


def leaderboard(
    sources: Annotated[
        list[str],
        argument(
            "The qrels to trust, the others, and two runs or more; or names in a collection.",
            "QRELS_A QRELS_B RUNS... | COLL NAME_A NAME_B",
        ),
    ],
    *,
    measure: str = option("nDCG@10", "To rank by.", flags="-m --measure"),
    seed: int = option(0, "Of the resampling.", SEED),
    to: Destination,
) -> None:
    """Rank the same runs by two qrels: correlation, drops, and pairs that swap."""
    qrels, runs = qrels_and_runs(sources, 2)
    if len(qrels) < 2:
        raise Misuse("a leaderboard needs two qrels; as in: labeler lab leaderboard A B RUNS...")
    name_unread_runs(*sources)
    board = rank_twice(qrels[0], qrels[1], runs, measure, seed=seed)
    tables = [table for table in board.tables() if table.rows]
    show_result(board, to, parts=["\n".join(board.sentences), *tables])


def depth(
    sources: Annotated[
        list[str],
        argument(
            "Judgements and runs; or a collection, and which of its qrels.",
            "QRELS RUNS... | COLL [NAME]",
        ),
    ],
    *,
    options: DepthOptions,
    to: Destination,
) -> None:
    """Say how many passages to hand to a reader, so that a relevant one is among them."""
    (qrels, *_), runs = qrels_and_runs(sources, 1)
    if not runs:
        raise Misuse("name a run beside the qrels", parameter="sources")
    name_unread_runs(*sources)
    depths = [reader_depth(qrels, run, options) for run in runs]
    warn(depths[0].findings)
    if to.form == "json":
        show_json({"systems": [each.as_json() for each in depths]}, to)
        return
    lines = "\n".join(line for each in depths for line in each.sentences)
    curves = [table for each in depths for table in each.tables()]
    show([lines, table_of("depth", ReaderDepth, depths), *curves], to)


def audit(*, options: AuditOptions, to: Destination) -> None:
    """Say what a published mean over so many queries can tell."""
    show_result(audited(options), to)
