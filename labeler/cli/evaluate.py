"""`labeler evaluate`: score runs against qrels, and compare them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from labeler.cli.options import GATES, Destination, argument
from labeler.cli.output import name_unread_runs, show, show_json, show_result, warn
from labeler.cli.screen import note, progress
from labeler.collection.user_files import collection_qrels
from labeler.errors import Misuse, about
from labeler.evaluation.options import GROUPS, EvaluationOptions
from labeler.options import option
from labeler.report.render import FORMS
from labeler.report.table import FormName, Table

if TYPE_CHECKING:  # what takes long to load is loaded once all files are found to be there
    from labeler.evaluation.evaluate import Report
    from labeler.evaluation.rulings import Gate

TABLES = "Tables"
EXAMPLE = "labeler evaluate QRELS RUN..."


@dataclass(frozen=True, slots=True)
class GateFlags:
    """What must hold of all queries, or of groups; else the command ends with exit code 5."""

    require: tuple[str, ...] = option(
        (),
        "A gate: nDCG@10:0.45, nDCG@10:0.4@worst-kind or nDCG@10:0.4@kind=keyword. "
        "Exit 5 where a run is shown to lie below, 6 where that is open; repeatable.",
        panel=GATES,
    )
    require_low: tuple[str, ...] = option(
        (),
        "The same of the interval's low end.",
        panel=GATES,
        rare=True,
    )

    def read(self) -> Sequence[Gate]:
        """The gates on scores that were asked for."""
        if not self.require and not self.require_low:
            return ()
        from labeler.evaluation.gates import read_gates

        return read_gates(self.require, self.require_low)


@dataclass(frozen=True, slots=True)
class TableFlags:
    """Which tables are shown beside the scores, or instead of them where a file holds one."""

    per_query: bool = option(False, "Add each query's scores.", panel=TABLES)
    scenarios: bool = option(
        False, "What unjudged documents leave open; always in JSON.", panel=TABLES
    )

    def check_one(self, by: Sequence[str] | None, form: FormName) -> None:
        """`Misuse` where groups and another table are asked for in a form that holds one table."""
        is_for_rows = form != "json" and not FORMS[form].for_people
        if by and is_for_rows and (self.per_query or self.scenarios):
            other = "--per-query" if self.per_query else "--scenarios"
            raise Misuse(
                f"{form} holds one table; leave this out, or {other}, or take json", parameter="by"
            )


def command(
    paths: Annotated[
        list[Path],
        argument("Qrels, then runs; or a folder.", "QRELS RUN... | COLLECTION"),
    ],
    *,
    qrels: str | None = option(None, "In a collection: which of its qrels (default: human)."),
    options: EvaluationOptions,
    queries: Path | None = option(
        None,
        "A table with query_id and these fields; else the collection's queries.",
        metavar="FILE",
        panel=GROUPS,
    ),
    tables: TableFlags,
    reuse: bool = option(
        False,
        "Leave each run out of the pool in turn: how would its score change?",
        panel="What the pool leaves open",
    ),
    picture: Path | None = option(
        None, "Draw it (.png, .svg, .pdf).", flags="--plot", metavar="FILE", panel=TABLES
    ),
    gates: GateFlags,
    to: Destination,
) -> None:
    """Score runs against qrels, with intervals and the share judged.

    Tests say which runs differ.
    """
    if reuse:
        from labeler.pools.reuse import reuse as owed_to_runs  # few calls ask for it

        with about("qrels"):
            name = collection_qrels(paths[0], qrels).stem
        with about("measures", "measure"):
            show_result(owed_to_runs(paths[0], name, options.measures[0]), to)
        return
    if picture is not None:
        from labeler.report.picture import check_ending

        check_ending(picture)
    drawing = to.beside(picture)
    name_unread_runs(*paths)
    by, weights = options.grouping.by, options.grouping.weights
    if tables.scenarios and weights:
        raise Misuse(
            "of weighted means it is not known what unjudged documents leave open",
            parameter="scenarios",
        )
    tables.check_one(by, to.form)
    from labeler.evaluation.evaluate import report_on  # takes long to load
    from labeler.evaluation.gates import outcome_of
    from labeler.evaluation.inputs import files_or_collection, runs_from
    from labeler.evaluation.rulings import check_gates, left_open

    held = gates.read()
    groups = tuple(dict.fromkeys([*by, *(gate.by for gate in held if gate.by)]))
    asked_for = replace(
        options,
        measures=(*options.measures, *(gate.name for gate in held)),
        grouping=replace(options.grouping, by=groups, queries=queries),
        progress=progress,
    )
    named_by = "require" if gates.require else "require_low"

    def qrels_of(folder: Path) -> list[Path]:
        with about("qrels"):
            return [collection_qrels(folder, qrels)]

    with about(named_by, "by") if groups and not by else nullcontext():
        (file,), runs = files_or_collection(paths, {"qrels": qrels}, qrels_of, EXAMPLE)
        report = report_on(file, runs_from(runs, file), asked_for)
    if held:
        report = replace(report, gates=outcome_of(report, held))
    if to.form == "json":
        show_json(report.as_json(per_query=tables.per_query), to)
    else:
        first = left_open(report.gates) if held else []
        show([*first, " ".join(report.sentences), *_shown(report, tables, to.form, by=by)], to)
    warn(report.findings)
    if drawing is not None:
        from labeler.evaluation.plot import score_drawings  # few calls draw
        from labeler.report.picture import picture_bytes

        drawing.write(picture_bytes(score_drawings(report), drawing.path.suffix))
        note(f"drawn: {drawing.path}")
    if held:
        check_gates(report.gates)


def _shown(report: Report, flags: TableFlags, form: FormName, *, by: Sequence[str]) -> list[Table]:
    """The tables that were asked for; a program gets one, the last of them.

    People see groups that gates alone asked for, too.
    """

    scores, *others = report.tables(scenarios=flags.scenarios)
    if flags.per_query:
        scores, others = report.query_table(), [t for t in others if t.name != "comparisons"]
    if FORMS[form].for_people:
        return [scores, *others]
    if flags.scenarios:
        return [table for table in others if table.name == "scenarios"]
    if by:
        from labeler.evaluation.groups import group_rows  # loaded with the report

        return [group_rows([grouped for grouped in report.by if grouped.by in by])]
    return [scores]
