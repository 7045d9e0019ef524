"""`labeler store`: check, count and shrink the replies that a collection keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from labeler.cli.options import Destination, Opened
from labeler.cli.output import show
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import say
from labeler.collection.layout import Collection
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.options import REQUIRED, option
from labeler.store import Store, maintain, open_store
from labeler.store.address import DatabaseAddress
from labeler.store.maintain import Verified


@contextmanager
def _store_of(collection: Collection, *, reading: bool = False) -> Iterator[Store]:
    """The store that the collection's replies are in: a file, or the database of LABELER_STORE."""
    where = collection.store
    if not where.exists():
        raise FileProblem(f"{where}: there is no store yet; `labeler judge` makes it")
    if not isinstance(where, Path):  # replies that were saved beside it are left for judging
        where = replace(where, unsent=None)
    with open_store(where, reading=reading) as store:
        yield store


def verify(collection: Opened, *, to: Destination) -> None:
    """Check every reply of the store against its checksum; exit 65 where one is off.

    `labeler validate` holds the grades of the collection against them.
    """
    with _store_of(collection, reading=True) as store:
        result = maintain.verify(store)
    show_outcome(result, _show_checked, to)
    if result.problems:
        raise BadInput(
            f"{store.database.address}: {len(result.problems):,} problems; bring back a copy of it"
        )


def _show_checked(result: Verified) -> None:
    for problem in result.problems[:20]:
        say(problem)
    if not result.problems:
        say(f"{result.replies:,} replies, all as they were written")


def stats(collection: Opened, *, to: Destination) -> None:
    """Count replies, tokens and cost by model."""
    with _store_of(collection, reading=True) as store:
        counts = maintain.statistics(store)
        size = store.database.size()
    show([maintain.statistics_table(counts, f"{store.database.address}: {size / 1e6:,.1f} MB")], to)


def prune(
    collection: Opened,
    model: str | None = option(None, "Forget this model's; as `store stats` names it."),
    before: str | None = option(None, "Forget what is older, as 2026-01-31.", metavar="DAY"),
) -> None:
    """Forget replies; what depends on them would be asked and paid for again.

    Of a database, that is so for everybody who shares it.
    """
    if model is None and before is None:
        raise Misuse("say what to forget: --model MODEL, --before DAY, or both")
    with _store_of(collection) as store:
        say(f"forgot {maintain.prune(store, model, before):,} replies")


def gc(collection: Opened) -> None:
    """Give the room of forgotten replies back to the disk.

    Other machines that share a database wait meanwhile.
    """
    with _store_of(collection) as store:
        before, after = store.database.collect_garbage()
    say(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB after")


def copy(
    collection: Opened,
    to: str = option(REQUIRED, "A database, as postgresql://user@host/database.", metavar="URL"),
) -> None:
    """Send a collection's replies into a database that machines share."""
    address, path = DatabaseAddress.of(to), collection.file_of_replies
    if not path.exists():
        raise FileProblem(f"{path}: there is no store yet; `labeler judge` makes it")
    with open_store(address) as store:
        say(f"{store.take_in_file(path):,} replies were new there; {len(store):,} in all")
