"""`labeler trec-eval`: trec_eval's arguments and output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    qrels: Annotated[Path, typer.Argument(help="Judgements, four columns.")],
    run: Annotated[Path, typer.Argument(help="A run, six columns; more are ignored.")],
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
        int, typer.Option("-l", "--level_for_rel", help="The lowest grade that is relevant.")
    ] = 1,
    depth: Annotated[
        int | None, typer.Option("-M", "--Max_retrieved_per_topic", help="Ignore what is deeper.")
    ] = None,
    no_summary: Annotated[
        bool, typer.Option("-n", "--nosummary", help="Print no summary.")
    ] = False,
    judged_only: Annotated[
        bool, typer.Option("-J", "--Judged_docs_only", help="Drop unjudged documents first.")
    ] = False,
) -> None:
    """Stand in for trec_eval 10: its arguments, its measures, its output."""
    from labeler.trec_evaluating import Options, trec_eval

    options = Options(
        tuple(measures or ()), by_query, not no_summary, complete, level, depth, judged_only
    )
    sys.stdout.write(trec_eval(qrels, run, options))
