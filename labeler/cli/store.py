"""`labeler store`: check, count and shrink the replies that a collection keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import say
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.options import REQUIRED, option

if TYPE_CHECKING:
    from labeler.store.base import Verified
    from labeler.store.maintain import KeptStore


@contextmanager
def _store_of(folder: Folder, *, reading: bool = False) -> Iterator[KeptStore]:
    """The store that the collection's replies are in: a file, or the database of LABELER_STORE."""
    from labeler.collection.layout import open_collection
    from labeler.store.postgres.store import PostgresStore
    from labeler.store.sqlite.store import open_store

    where = open_collection(folder).store
    if not isinstance(where, Path):
        with closing(PostgresStore(where)) as shared:
            yield shared
        return
    if not where.exists():
        raise FileProblem(f"{where}: there is no store yet; `labeler judge` makes it")
    with open_store(where, reading=reading) as store:
        yield store


def _place_of(store: KeptStore) -> str:
    """Where a store is, fit to be shown."""
    from labeler.store.sqlite.store import SqliteStore

    return str(store.path if isinstance(store, SqliteStore) else store.address)


def verify(folder: Folder, *, output: OutputFlags) -> None:
    """Check every reply of the store against its checksum; exit 65 where one is off."""
    from labeler.store import maintain

    to = output.made_from(folder)
    with _store_of(folder, reading=True) as store:
        result = maintain.verify(store)
    show_outcome(result, _show_checked, output, to)
    if result.problems:
        problems = f"{len(result.problems):,} problems; bring back a copy of it"
        raise BadInput(f"{_place_of(store)}: {problems}")


def _show_checked(result: Verified) -> None:
    for problem in result.problems[:20]:
        say(problem)
    if not result.problems:
        say(f"{result.replies:,} replies, all as they were written")


def stats(folder: Folder, *, output: OutputFlags) -> None:
    """Count replies, tokens and cost by model."""
    from labeler.cli.output import show
    from labeler.store import maintain
    from labeler.store.base import statistics_table

    to = output.made_from(folder)
    with _store_of(folder, reading=True) as store:
        counts = maintain.statistics(store)
        size = maintain.size_of(store)
    table = statistics_table(counts, f"{_place_of(store)}: {size / 1e6:,.1f} MB")
    show([table], output.format, to)


def prune(
    folder: Folder,
    model: str | None = option(None, "Forget this model's; as `store stats` names it."),
    before: str | None = option(None, "Forget what is older, as 2026-01-31.", metavar="DAY"),
) -> None:
    """Forget replies; what depends on them would be asked and paid for again.

    Of a database, that is so for everybody who shares it.
    """
    from labeler.store import maintain

    if model is None and before is None:
        raise Misuse("say what to forget: --model MODEL, --before DAY, or both")
    with _store_of(folder) as store:
        say(f"forgot {maintain.prune(store, model, before):,} replies")


def gc(folder: Folder) -> None:
    """Give the room of forgotten replies back to the disk.

    Other machines that share a database wait meanwhile.
    """
    from labeler.store import maintain

    with _store_of(folder) as store:
        before, after = maintain.collect_garbage(store)
    say(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB after")


def copy(
    folder: Folder,
    to: str = option(REQUIRED, "A database, as postgresql://user@host/database.", metavar="URL"),
) -> None:
    """Send a collection's replies into a database that machines share."""
    from labeler.collection.layout import open_collection
    from labeler.store.postgres.address import DatabaseAddress
    from labeler.store.postgres.store import PostgresStore, copy_file

    address, path = DatabaseAddress.of(to), open_collection(folder).file_of_replies
    if not path.exists():
        raise FileProblem(f"{path}: there is no store yet; `labeler judge` makes it")
    store = PostgresStore(address)
    try:
        say(f"{copy_file(path, store):,} replies were new there; {len(store):,} in all")
    finally:
        store.close()
