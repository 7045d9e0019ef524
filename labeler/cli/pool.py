"""`labeler pool`: retrieve with BM25, dense vectors and their fusion, and pool what they find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import Folder
from labeler.cli.screen import note, progress, say
from labeler.messages import count_of


def command(
    folder: Folder,
    depth: Annotated[
        int, typer.Option(min=1, help="How many documents of each run and query to pool.")
    ] = 10,
    run: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A TREC run of your own to pool too; may be repeated."),
    ] = None,
) -> None:
    """Find the pairs to judge: the first documents of every run, added to pool.jsonl."""
    from labeler.collection.layout import open_collection

    pool(folder, depth, run or [])
    collection = open_collection(folder)
    say(f"pool: {collection.pool}; runs: {', '.join(collection.run_names())}")


def pool(folder: Path, depth: int, own: list[Path], *, rehearsed: bool = False) -> None:
    """What the command does, for `build` to do too."""
    from labeler.collection.choose import run_name
    from labeler.collection.corpus import read_corpus
    from labeler.collection.layout import open_collection
    from labeler.collection.queries import read_queries
    from labeler.errors import BadInput
    from labeler.pools.pool import add_runs, read_own_run
    from labeler.runs.retrieve import retrieve
    from labeler.text.vectors import DENSE_EXTRA, can_encode, encode

    collection = open_collection(folder)
    documents, queries = read_corpus(collection.corpus), read_queries(collection.queries)
    if not queries:
        raise BadInput(f"{collection.queries}: no queries; run labeler generate {folder} first")
    own_runs = {run_name(path): read_own_run(path, collection, depth, note) for path in own}
    if not can_encode():
        note(f"BM25 only: {DENSE_EXTRA}")
    with progress("retrieving") as advance:
        runs = retrieve(documents, queries, encode if can_encode() else None, advance)
    for name in [name for name, run in runs.items() if not any(run.values())]:
        note(f"{name} finds no document for any query; there is no run of it")
        del runs[name]
    found, new = add_runs(collection, {**runs, **own_runs}, depth)
    of_queries = count_of(len(queries), "query", "queries")
    pairs = f"{count_of(len(found), 'pair', 'pairs')} of {of_queries}"
    if rehearsed:
        note(f"a pool of about {pairs}")
    else:
        note(f"pooled {pairs}, {new:,} of them new")
