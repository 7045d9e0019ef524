"""`labeler trec-eval`: trec_eval's arguments and output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import argument
from labeler.cli.screen import note
from labeler.errors import Misuse
from labeler.options import COUNT, COUNT_OR_NONE, GRADE, option

FORMATS = {"-R": "qrels", "-T": "trec_results"}


def _version(show: bool) -> None:
    if show:
        from labeler import __version__

        note(f"trec_eval version 10.0, as labeler {__version__} stands in for it")
        raise typer.Exit


def command(
    qrels: Annotated[Path, argument("Judgements, four columns.")],
    run: Annotated[Path, argument("A run, six columns, more are ignored; - for standard input.")],
    *,
    measures: tuple[str, ...] = option(
        (), "A measure, or official, set, all_trec; P.5,10.", flags="-m --measure"
    ),
    by_query: bool = option(False, "Print each query, too.", flags="-q --query_eval_wanted"),
    complete: bool = option(
        False, "Missing queries count as 0.", flags="-c --complete_rel_info_wanted"
    ),
    level: int = option(1, "The lowest grade that is relevant.", GRADE, flags="-l --level_for_rel"),
    depth: int | None = option(
        None, "Ignore what is deeper.", COUNT, flags="-M --Max_retrieved_per_topic"
    ),
    no_summary: bool = option(False, "Print no summary.", flags="-n --nosummary"),
    judged_only: bool = option(
        False, "Drop unjudged documents first.", flags="-J --Judged_docs_only"
    ),
    documents: int = option(
        0, "Documents there are, for utility.", COUNT_OR_NONE, flags="-N --Number_docs_in_coll"
    ),
    debug: str = option("0", "A level, unused; LEVEL.QUERY: that query.", flags="-D --Debug_level"),
    rel_format: str = option(
        "qrels", "Of the judgements: qrels alone.", flags="-R --Rel_info_format"
    ),
    results_format: str = option(
        "trec_results", "Of the run: trec_results alone.", flags="-T --Results_format"
    ),
    _old: bool = option(False, "Ignored, as by trec_eval.", flags="-o --Output_old_results_format"),
    _version: Annotated[
        bool, typer.Option("-v", "--version", callback=_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Stand in for trec_eval 10: its arguments, its measures, its output."""
    from labeler.evaluation.trec_eval.program import TrecEvalOptions, trec_eval

    for flag, form in {"-R": rel_format, "-T": results_format}.items():
        if form != FORMATS[flag]:
            raise Misuse(f"{flag} {form}: of trec_eval's formats only {FORMATS[flag]} is read")
    options = TrecEvalOptions(
        tuple(measures or ()),
        by_query,
        not no_summary,
        complete,
        level,
        depth,
        judged_only,
        documents,
        debug.partition(".")[2] or None,
    )
    from labeler.report.neutral import printable

    shown = trec_eval(qrels, run, options)
    sys.stdout.write(printable(shown) if sys.stdout.isatty() else shown)
