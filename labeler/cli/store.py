"""`labeler store`: check, count, move and shrink the replies that a collection keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.options import Folder
from labeler.cli.output import show
from labeler.cli.screen import say
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.report.table import Column, Table

if TYPE_CHECKING:
    from labeler.store import Store

app = typer.Typer(help="Look after the replies that a collection keeps.", no_args_is_help=True)


@contextmanager
def _store_of(folder: Path, *, new: bool = False, reading: bool = False) -> Iterator[Store]:
    from labeler.collection.layout import open_collection
    from labeler.store import open_store

    path = open_collection(folder).store
    if not new and not path.exists():
        raise FileProblem(f"{path}: there is no store yet; `labeler judge` makes it")
    with open_store(path, reading=reading) as store:
        yield store


@app.command(epilog="Example: labeler store verify coll/")
def verify(folder: Folder) -> None:
    """Check the file, and every reply against its checksum; exit 65 where one does not match."""
    from labeler.store.sqlite import maintain as upkeep

    with _store_of(folder, reading=True) as store:
        found = upkeep.verify(store)
    for problem in found.problems[:20]:
        say(problem)
    if found.problems:
        raise BadInput(f"{store.path}: {len(found.problems):,} problems; bring back a copy of it")
    say(f"{found.replies:,} replies, all as they were written")


@app.command(epilog="Example: labeler store stats coll/")
def stats(folder: Folder) -> None:
    """Count replies, tokens and cost by model."""
    from labeler.store.sqlite import maintain as upkeep

    with _store_of(folder, reading=True) as store:
        counts = upkeep.statistics(store)
        size = store.path.stat().st_size
    columns = [
        Column("model", align="left"),
        *(Column(name, format=",") for name in ("replies", "tokens in", "tokens out")),
        Column("cost", format="$", undefined="unknown"),
        Column("last"),
    ]
    rows = [
        [c.model, c.replies, c.tokens_in, c.tokens_out, c.cost, _minute(c.last)] for c in counts
    ]
    show([Table("models", columns, rows)])
    say(f"\n{store.path}: {size / 1e6:,.1f} MB")


def _minute(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


@app.command(epilog="Example: labeler store export coll/ -o replies.jsonl.gz")
def export(
    folder: Folder,
    out: Annotated[Path, typer.Option("-o", "--out", help="The file; gzip if it ends in .gz.")],
) -> None:
    """Write every reply as a line of JSON."""
    from labeler.store.sqlite import maintain as upkeep

    with _store_of(folder, reading=True) as store:
        say(f"wrote {upkeep.export(store, out):,} replies to {out}")


@app.command("import", epilog="Example: labeler store import coll/ replies.jsonl.gz")
def import_(
    folder: Folder,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="What `store export` wrote.")],
) -> None:
    """Take in the replies of another store; those that are there already stay."""
    from labeler.files.jsonl import read_rows
    from labeler.store.sqlite import maintain as upkeep

    with _store_of(folder, new=True) as store:
        say(f"{upkeep.import_rows(store, read_rows(path), path):,} new replies")


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
    from labeler.store.sqlite import maintain as upkeep

    if model is None and before is None:
        raise Misuse("say what to forget: --model MODEL, --before DAY, or both")
    with _store_of(folder) as store:
        say(f"forgot {upkeep.prune(store, model, before):,} replies")


@app.command(epilog="Example: labeler store gc coll/")
def gc(folder: Folder) -> None:
    """Give the room of forgotten replies back to the disk."""
    from labeler.store.sqlite import maintain as upkeep

    with _store_of(folder) as store:
        before, after = upkeep.collect_garbage(store)
    say(f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB after")
