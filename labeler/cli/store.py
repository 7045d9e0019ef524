"""`labeler store`: check, count and shrink the replies that a collection keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.options import Folder, OutputFlags, unfolded
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import say
from labeler.errors import BadInput, FileProblem, Misuse

if TYPE_CHECKING:
    from labeler.store.sqlite.maintain import Verified
    from labeler.store.sqlite.store import SqliteStore

app = typer.Typer(help="Look after the replies that a collection keeps.", no_args_is_help=True)


@contextmanager
def _store_of(folder: Folder, *, reading: bool = False) -> Iterator[SqliteStore]:
    from labeler.collection.layout import open_collection
    from labeler.store.sqlite.store import open_store

    path = open_collection(folder).store
    if not isinstance(path, Path):
        problem = "the replies are in a database; the view labeler.readable shows them there"
        raise Misuse(f"{path}: {problem}")
    if not path.exists():
        raise FileProblem(f"{path}: there is no store yet; `labeler judge` makes it")
    with open_store(path, reading=reading) as store:
        yield store


@app.command(epilog="Example: labeler store verify coll/")
@unfolded
def verify(folder: Folder, *, output: OutputFlags) -> None:
    """Check the file, and every reply against its checksum; exit 65 where one does not match."""
    from labeler.store.sqlite import maintain

    to = output.made_from(folder)
    with _store_of(folder, reading=True) as store:
        result = maintain.verify(store)
    show_outcome(result, _show_checked, output, to)
    if result.problems:
        raise BadInput(f"{store.path}: {len(result.problems):,} problems; bring back a copy of it")


def _show_checked(result: Verified) -> None:
    for problem in result.problems[:20]:
        say(problem)
    if not result.problems:
        say(f"{result.replies:,} replies, all as they were written")


@app.command(epilog="Example: labeler store stats coll/")
@unfolded
def stats(folder: Folder, *, output: OutputFlags) -> None:
    """Count replies, tokens and cost by model."""
    from labeler.cli.output import show
    from labeler.store.sqlite import maintain

    to = output.made_from(folder)
    with _store_of(folder, reading=True) as store:
        counts = maintain.statistics(store)
        size = store.path.stat().st_size
    table = maintain.statistics_table(counts, f"{store.path}: {size / 1e6:,.1f} MB")
    show([table], output.format, to)


@app.command(epilog="Example: labeler store prune coll/ --before 2026-01-31")
def prune(
    folder: Folder,
    model: Annotated[
        str | None, typer.Option(help="Forget this model's; as `store stats` names it.")
    ] = None,
    before: Annotated[
        str | None, typer.Option(metavar="DAY", help="Forget what is older, as 2026-01-31.")
    ] = None,
) -> None:
    """Forget replies; what depends on them would be asked and paid for again."""
    from labeler.store.sqlite import maintain

    if model is None and before is None:
        raise Misuse("say what to forget: --model MODEL, --before DAY, or both")
    with _store_of(folder) as store:
        say(f"forgot {maintain.prune(store, model, before):,} replies")


@app.command(epilog="Example: labeler store gc coll/")
def gc(folder: Folder) -> None:
    """Give the room of forgotten replies back to the disk."""
    from labeler.store.sqlite import maintain

    with _store_of(folder) as store:
        before, after = maintain.collect_garbage(store)
    say(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB after")


@app.command(epilog="Example: labeler store copy coll/ --to postgresql://anna@db.example/labeler")
def copy(
    folder: Folder,
    to: Annotated[
        str, typer.Option(metavar="URL", help="A database, as postgresql://user@host/database.")
    ],
) -> None:
    """Send a collection's replies into a database that machines share; the file stays."""
    from labeler.collection.layout import open_collection
    from labeler.store.postgres.address import DatabaseAddress
    from labeler.store.postgres.copying import copy_file
    from labeler.store.postgres.store import PostgresStore

    address, path = DatabaseAddress.of(to), open_collection(folder).file_of_replies
    if not path.exists():
        raise FileProblem(f"{path}: there is no store yet; `labeler judge` makes it")
    store = PostgresStore(address)
    try:
        say(f"{copy_file(path, store):,} replies were new there; {len(store):,} in all")
    finally:
        store.close()
