"""`labeler pool`: retrieve with BM25, dense vectors and their fusion, and pool what they find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from labeler.cli.expanding import check_expanded
from labeler.cli.model_options import DRY_RUN
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.progress import control_of
from labeler.cli.reporting import show_encoding_plan, show_outcome
from labeler.cli.screen import note, say
from labeler.collection.layout import open_collection
from labeler.errors import Misuse
from labeler.messages import count_of
from labeler.options import option
from labeler.pools import expand as rounds
from labeler.pools.pool import DEPTH, PoolOptions, PoolResult, plan_pool, pool


def command(
    folder: Folder,
    *,
    options: PoolOptions,
    expand: str = option(
        "",
        "Add the neighbors of what these qrels of the collection call relevant.",
        metavar="QRELS",
        panel=rounds.EXPANDING,
    ),
    expansion: rounds.Expansion,
    dry_run: bool = option(False, DRY_RUN),
    output: OutputFlags,
) -> None:
    """Choose the pairs to judge: the first documents of every run.

    They are added to pool.jsonl.
    """
    growth = {name: getattr(expansion, name) for name in ("neighbors", "until", "rel")}
    check_expanded(bool(expand), growth)
    files = [path for path in map(Path, options.qrels) if path.exists()]  # others are its own
    to = output.made_from(open_collection(folder).folder, *options.runs, *files)
    encoding = options.encoding
    if expand and (options.qrels or options.only or options.size.beyond):
        problem = "it goes with runs alone, not with --qrels, --only or --beyond"
        raise Misuse(problem, parameter="expand")
    if dry_run:
        planned = rounds.plan_expansion if expand else plan_pool
        show_encoding_plan(planned(folder, encoding), output, to)
        return
    if expand:
        more = replace(expansion, qrels=expand)
        tops = rounds.NewRuns(options.runs, options.depth or DEPTH)
        grown = rounds.expand(folder, more, tops, encoding, control_of())
        show_outcome(grown, _show, output, to)
        return
    options = replace(options, force=output.force)
    show_outcome(pool(folder, options, control=control_of()), _show, output, to)


def _show(result: PoolResult) -> None:
    note_pooled(result)
    for line in result.expansion.sentences() if result.expansion else ():
        say(line)
    if result.reached:
        what = "the pool reaches" if result.expansion is None else "the new runs are pooled to"
        note(f"{what} {result.reached}")
    if result.sample:
        note(f"{result.sample.drawn:,} of {result.sample.of:,} pairs beyond it drawn at random")
    judged = f"; qrels: {', '.join(result.qrels)}" if result.qrels else ""
    say(f"pool: {result.pool}; runs: {', '.join(result.runs) or 'none'}{judged}")


def note_pooled(result: PoolResult) -> None:
    """Say how many pairs the pool has, and how many of them are new."""
    note(f"pooled {_pairs_of_queries(result)}, {result.new:,} of them new")


def note_rehearsed_pool(result: PoolResult) -> None:
    """Say about how many pairs the pool would have."""
    note(f"a pool of about {_pairs_of_queries(result)}")


def _pairs_of_queries(result: PoolResult) -> str:
    pairs = count_of(result.pairs, "pair", "pairs")
    return f"{pairs} of {count_of(result.queries, 'query', 'queries')}"
