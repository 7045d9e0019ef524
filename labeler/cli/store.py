"""`labeler store`: check, count and shrink the replies that a collection keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import show
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import say
from labeler.collection.layout import open_collection
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.options import REQUIRED, option

if TYPE_CHECKING:
    from labeler.store import Store
    from labeler.store.maintain import Verified


@contextmanager
def _store_of(folder: Folder, *, reading: bool = False) -> Iterator[Store]:
    """The store that the collection's replies are in: a file, or the database of LABELER_STORE."""
    from labeler.store import open_store

    where = open_collection(folder).store
    if not where.exists():
        raise FileProblem(f"{where}: there is no store yet; `labeler judge` makes it")
    if not isinstance(where, Path):  # replies that were saved beside it are left for judging
        where = replace(where, unsent=None)
    with open_store(where, reading=reading) as store:
        yield store


def verify(folder: Folder, *, output: OutputFlags) -> None:
    """Check every reply of the store against its checksum; exit 65 where one is off.

    Where all are sound, the grades of the collection are held against them, too.
    """
    from labeler.collection.stale import stale_pairs
    from labeler.judging.relabel import unproven
    from labeler.store import maintain

    to, opened = output.made_from(folder), open_collection(folder)
    with _store_of(folder, reading=True) as store:
        result = maintain.verify(store)
    for name in opened.judgement_names() if not result.problems else ():
        wrong, _ = unproven(opened, name, stale_pairs(opened, name))
        result = result._replace(
            problems=(*result.problems, *(f"{opened.judgements(name)}: {each}" for each in wrong))
        )
    show_outcome(result, _show_checked, to)
    if result.problems:
        problems = f"{len(result.problems):,} problems; bring back a copy of it"
        raise BadInput(f"{store.database.address}: {problems}")


def _show_checked(result: Verified) -> None:
    for problem in result.problems[:20]:
        say(problem)
    if not result.problems:
        say(f"{result.replies:,} replies, all as they were written")


def stats(folder: Folder, *, output: OutputFlags) -> None:
    """Count replies, tokens and cost by model."""
    from labeler.store import maintain

    to = output.made_from(folder)
    with _store_of(folder, reading=True) as store:
        counts = maintain.statistics(store)
        size = store.database.size()
    show([maintain.statistics_table(counts, f"{store.database.address}: {size / 1e6:,.1f} MB")], to)


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

    with _store_of(folder) as store:
        before, after = store.database.collect_garbage()
    say(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB after")


def copy(
    folder: Folder,
    to: str = option(REQUIRED, "A database, as postgresql://user@host/database.", metavar="URL"),
) -> None:
    """Send a collection's replies into a database that machines share."""
    from labeler.store import open_store
    from labeler.store.address import DatabaseAddress

    address, path = DatabaseAddress.of(to), open_collection(folder).file_of_replies
    if not path.exists():
        raise FileProblem(f"{path}: there is no store yet; `labeler judge` makes it")
    with open_store(address) as store:
        say(f"{store.take_in_file(path):,} replies were new there; {len(store):,} in all")
