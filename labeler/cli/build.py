"""`labeler build`: documents to qrels in one go: ingest, generate, pool and judge in a row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli import options
from labeler.cli.asking import Asked, label
from labeler.cli.generate import Wish, generate
from labeler.cli.options import Limits, Manner
from labeler.cli.pool import pool
from labeler.cli.reporting import check_complete
from labeler.cli.screen import note, progress, say
from labeler.cli.signals import run_until_stopped

if TYPE_CHECKING:
    from labeler.collection.layout import Collection
    from labeler.judging.label import Tally
    from labeler.models.policies.stop import StopSignal


@options.unfolded
def command(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Folders, files or patterns, as ingest takes."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The collection's directory.")],
    *,
    queries: Annotated[int, typer.Option(min=1, help="How many queries to write.")] = 50,
    queries_file: Annotated[
        Path | None, typer.Option(help="Your own queries, instead of written ones.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Documents of each run to pool.")] = 10,
    prompt: Annotated[str, typer.Option(help="The grading prompt's name or file.")] = "umbrela",
    model: options.ModelName = None,
    base_url: options.BaseUrl = None,
    name: options.NewName = None,
    seed: Annotated[int, typer.Option(help="Decides which passages are asked about.")] = 0,
    limits: Limits,
    manner: Manner,
) -> None:
    """Build a collection from documents: corpus, queries, runs, pool, judgements and qrels."""
    wish = Wish(
        queries,
        model=writing_model(model),
        base_url=base_url,
        seed=seed,
        dry_run=manner.dry_run,
        limits=limits,
        redacted=manner.redact,
    )
    asked = Asked(prompt, model, base_url, name, limits, manner)
    if manner.dry_run:
        rehearse(inputs, queries_file, depth, wish, asked)
        return
    tally = build(inputs, out, queries_file, depth, wish, asked)
    say(f"\nnext: labeler evaluate {out}")
    check_complete(tally)


def writing_model(model: str | None) -> str | None:
    """The model that writes: the one that judges, unless that one cannot write."""
    return None if model == "similarity" else model


def build(
    inputs: list[str],
    out: Path,
    queries_file: Path | None,
    depth: int,
    wish: Wish,
    asked: Asked,
) -> Tally | None:
    """The four steps in a row; each is skipped or answered from what is there already."""
    from labeler.collection.layout import Collection

    collection = Collection(out)
    _ingest(inputs, collection, queries_file)
    if queries_file is None:
        spent = run_until_stopped(lambda stop: generate(collection, wish, stop))
        asked = replace(asked, spent=spent)
    pool(out, depth, [])
    return run_until_stopped(lambda stop: judge_pool(collection, asked, stop))


async def judge_pool(collection: Collection, asked: Asked, stop: StopSignal) -> Tally | None:
    """Judge every pair of the pool."""
    from labeler.judging.label import pairs_of

    return await label(collection, pairs_of, asked, stop)


def _ingest(inputs: list[str], collection: Collection, queries_file: Path | None) -> None:
    from labeler.cli.ingest import read_from, report
    from labeler.corpus.ingest import ingest

    with progress("files") as advance:
        result = ingest(inputs, collection, queries_file, advance)
    report(result)
    note(read_from(result))


def rehearse(
    inputs: list[str], queries_file: Path | None, depth: int, wish: Wish, asked: Asked
) -> None:
    """Say what the steps would ask, in a directory that is thrown away.

    Where queries would be written, headings stand in for them, so that there is a pool to count.
    """
    from tempfile import TemporaryDirectory

    from labeler.collection.corpus import read_corpus
    from labeler.collection.layout import Collection
    from labeler.collection.queries import write_queries
    from labeler.queries.generate import heading_queries

    with TemporaryDirectory(prefix="labeler-") as folder:
        collection = Collection(Path(folder))
        _ingest(inputs, collection, queries_file)
        if queries_file is None:
            say("# writing queries")
            run_until_stopped(lambda stop: generate(collection, wish, stop))
            documents = read_corpus(collection.corpus)
            stand_ins = heading_queries(documents.values(), wish.queries, wish.seed)
            write_queries(collection.queries, stand_ins)
            asked = replace(asked, is_known=wish.model == asked.model)
            say("\n# judging, estimated with headings in the queries' place")
        pool(collection.folder, depth, [], rehearsed=True)
        run_until_stopped(lambda stop: judge_pool(collection, asked, stop))
