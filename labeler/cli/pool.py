"""`labeler pool`: retrieve with BM25, dense vectors and their fusion, and pool what they find."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeler.cli import encoder_options  # noqa: F401  registers options
from labeler.cli.expanding import EXPANDING, NEIGHBORS, REL, UNTIL, Neighbors, check_expanded
from labeler.cli.model_options import DryRun
from labeler.cli.numbers import COUNT, COUNT_OR_NONE, SEED, SHARE, TOP_GRADE, number
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.progress import control_of
from labeler.cli.reporting import show_encoding_plan, show_outcome
from labeler.cli.screen import note, say
from labeler.cli.vector_options import VectorFlags, show_recall
from labeler.errors import Misuse
from labeler.messages import count_of
from labeler.models.encoder_options import EncoderOptions
from labeler.models.settings import Limits

if TYPE_CHECKING:
    from labeler.pools.pool import PoolResult


def command(
    folder: Folder,
    *,
    depth: Annotated[
        int | None,
        number(COUNT, help="How many documents of each run and query to pool; else 10."),
    ] = None,
    max_pairs: Annotated[
        int,
        number(COUNT_OR_NONE, help="Pool by rank up to so many pairs in all; 0 is any number."),
    ] = 0,
    beyond: Annotated[
        int,
        number(COUNT_OR_NONE, help="Draw so many pairs at random from beyond the pool."),
    ] = 0,
    seed: Annotated[int, number(SEED, help="Which pairs are drawn.")] = 0,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="A run of your own to pool too, or a folder of runs; repeatable.",
        ),
    ] = None,
    qrels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Judgements of people, whose pairs to pool too; may be repeated.",
        ),
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Retrieve nothing: pool --run and --qrels alone.")
    ] = False,
    expand: Annotated[
        str,
        typer.Option(
            metavar="QRELS",
            help="Add the neighbors of what these qrels of the collection call relevant.",
            rich_help_panel=EXPANDING,
        ),
    ] = "",
    neighbors: Neighbors = NEIGHBORS,
    until: Annotated[
        float,
        number(
            SHARE,
            help="Stop where a round brought less of all relevant documents.",
            rich_help_panel=EXPANDING,
        ),
    ] = UNTIL,
    rel: Annotated[
        int,
        number(
            TOP_GRADE,
            help="The lowest grade that counts as relevant.",
            rich_help_panel=EXPANDING,
        ),
    ] = REL,
    database: VectorFlags,
    encoder: EncoderOptions,
    limits: Limits,
    dry_run: DryRun = False,
    output: OutputFlags,
) -> None:
    """Choose the pairs to judge: the first documents of every run.

    They are added to pool.jsonl.
    """
    from labeler.collection.layout import open_collection
    from labeler.models.encoders import Encoding
    from labeler.pools.expand import Expansion, NewRuns, plan_expansion
    from labeler.pools.expand import expand as expanded_pool
    from labeler.pools.pool import DEPTH, PoolSize, plan_pool, pool
    from labeler.runs.vector_run import plan_queries

    check_expanded(bool(expand), {"neighbors": neighbors, "until": until, "rel": rel})
    files = [path for path in map(Path, qrels or ()) if path.exists()]  # others are its own
    to = output.made_from(open_collection(folder).folder, *(run or ()), *files)
    sources: dict[str, Any] = {"runs": run or (), "qrels": qrels or (), "only": only}
    size = PoolSize(max_pairs, beyond, seed)
    encoding = Encoding(encoder, limits)
    if not database.vectors:
        database.check_none()
    if expand:
        if qrels or only or beyond or database.vectors:
            problem = "it goes with runs alone, not with --qrels, --only, --beyond or --vectors"
            raise Misuse(problem, parameter="expand")
        if dry_run:
            show_encoding_plan(plan_expansion(folder, encoding), output, to)
            return
        more = Expansion(expand, neighbors, until, rel, max_pairs)
        tops = NewRuns(tuple(run or ()), depth or DEPTH)
        grown = expanded_pool(folder, more, tops, encoding, control_of())
        show_outcome(grown, _show, output, to)
        return
    if dry_run:
        plan = plan_queries if database.vectors else plan_pool
        show_encoding_plan(plan(folder, encoding), output, to)
        return
    sources |= {"depth": depth, "size": size, "encoding": encoding}
    if database.vectors:
        sources["vectors"] = database.described(encoding)
    result = pool(folder, **sources, control=control_of(), force=output.force)
    show_outcome(result, _show, output, to)


def _show(result: PoolResult) -> None:
    note_pooled(result)
    show_recall(result.recall)
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
