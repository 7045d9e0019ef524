"""`labeler trec-eval`: trec_eval's arguments and output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.numbers import COUNT, COUNT_OR_NONE, GRADE, number
from labeler.cli.screen import note

FORMATS = {"-R": "qrels", "-T": "trec_results"}


def _version(show: bool) -> None:
    if show:
        from labeler import __version__

        note(f"trec_eval version 10.0, as labeler {__version__} stands in for it")
        raise typer.Exit


def command(
    qrels: Annotated[Path, typer.Argument(help="Judgements, four columns.")],
    run: Annotated[
        Path, typer.Argument(help="A run, six columns, more are ignored; - for standard input.")
    ],
    *,
    measures: Annotated[
        list[str] | None,
        typer.Option("-m", "--measure", help="A measure, or official, set, all_trec; P.5,10."),
    ] = None,
    by_query: Annotated[
        bool, typer.Option("-q", "--query_eval_wanted", help="Print each query, too.")
    ] = False,
    complete: Annotated[
        bool,
        typer.Option("-c", "--complete_rel_info_wanted", help="Missing queries count as 0."),
    ] = False,
    level: Annotated[
        int, number(GRADE, "-l", "--level_for_rel", help="The lowest grade that is relevant.")
    ] = 1,
    depth: Annotated[
        int | None, number(COUNT, "-M", "--Max_retrieved_per_topic", help="Ignore what is deeper.")
    ] = None,
    no_summary: Annotated[
        bool, typer.Option("-n", "--nosummary", help="Print no summary.")
    ] = False,
    judged_only: Annotated[
        bool, typer.Option("-J", "--Judged_docs_only", help="Drop unjudged documents first.")
    ] = False,
    documents: Annotated[
        int,
        number(
            COUNT_OR_NONE, "-N", "--Number_docs_in_coll", help="Documents there are, for utility."
        ),
    ] = 0,
    debug: Annotated[
        str, typer.Option("-D", "--Debug_level", help="A level, unused; LEVEL.QUERY: that query.")
    ] = "0",
    rel_format: Annotated[
        str, typer.Option("-R", "--Rel_info_format", help="Of the judgements: qrels alone.")
    ] = "qrels",
    results_format: Annotated[
        str, typer.Option("-T", "--Results_format", help="Of the run: trec_results alone.")
    ] = "trec_results",
    zscores: Annotated[
        str | None, typer.Option("-Z", "--Zscore", help="Refused: z scores are not here.")
    ] = None,
    _old: Annotated[
        bool, typer.Option("-o", "--Output_old_results_format", help="Ignored, as by trec_eval.")
    ] = False,
    _version: Annotated[
        bool, typer.Option("-v", "--version", callback=_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Stand in for trec_eval 10: its arguments, its measures, its output."""
    from labeler.evaluation.trec_eval.program import TrecEvalOptions, trec_eval

    _refuse({"-R": rel_format, "-T": results_format}, zscores)
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


def _refuse(formats: dict[str, str], zscores: str | None) -> None:
    """`Misuse` names what trec_eval does and this does not."""
    from labeler.errors import Misuse

    for option, form in formats.items():
        if form != FORMATS[option]:
            raise Misuse(f"{option} {form}: of trec_eval's formats only {FORMATS[option]} is read")
    if zscores is not None:
        raise Misuse("-Z: z scores are not computed here; leave it out for the scores themselves")
