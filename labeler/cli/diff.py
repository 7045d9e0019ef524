"""`labeler diff`: what became of each grade between two sets of judgements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.diff.diff import Diff, DiffOptions, diff
from labeler.cli.options import Destination, Without, argument
from labeler.cli.output import name_unread_runs, show, show_result
from labeler.cli.screen import note, say
from labeler.collection.layout import Collection, open_collection
from labeler.errors import Misuse
from labeler.options import COUNT_OR_NONE, declared, option
from labeler.pools.shift import shift

LISTED = 20


def command(
    sources: Annotated[
        list[str],
        argument(
            "A collection and two sets of its judgements, the earlier first; or two qrels; "
            "or an earlier state of a collection and it now.",
            "COLL A B | QRELS_A QRELS_B | COLL/history/N COLL",
        ),
    ],
    *,
    people: str | None = option(
        None, "Human qrels: which of the two is closer to them?", metavar="QRELS"
    ),
    run: tuple[Path, ...] = option(
        (), "A run, or a folder of runs, to rank by both; repeatable.", metavar="RUN"
    ),
    options: Annotated[DiffOptions, Without(declared(StatisticOptions))],
    limit: int = option(LISTED, "How many moved pairs to list.", COUNT_OR_NONE),
    qrels: str = option(
        "", "Of two states of a collection: the qrels that both are scored with.", metavar="NAME"
    ),
    to: Destination,
) -> None:
    """Show which grades changed, and whether systems change places.

    It says whether people agree more, too. Each pair that moved is listed with its query and with
    the reasons that were given. Of two states of a collection, it says how far scores moved since
    the documents changed: through labels, and through retrieval.
    """
    if (number := _state_of(sources)) is not None:
        show_result(shift(sources[1], qrels, measure=options.measure, state=number), to)
        return
    if qrels:
        raise Misuse("it names the qrels of two states of a collection", parameter="qrels")
    name_unread_runs(sources[0], *run)
    changes = diff(*sources, people=people, runs=run, options=options)
    is_listed = to.form in ("table", "json")  # of a table all that moved are gathered
    parts = None if is_listed else [changes.moved_table(), *changes.tables()]
    show_result(changes, to, lambda shown: show_diff(shown, limit), parts)
    if Path(sources[0]).is_dir():
        note_next(open_collection(sources[0]), changes)


def _state_of(sources: Sequence[str]) -> int | None:
    """The number of the state where an earlier state of a collection is named before it."""
    if len(sources) != 2 or not all(map(os.path.isdir, sources)):
        return None
    before, now = (Path(source).resolve() for source in sources)
    is_state = before.parent == now / "history" and before.name.isdecimal()
    return int(before.name) if is_state else None


def show_diff(changes: Diff, limit: int = LISTED) -> None:
    """Write the sentences, the tables and the first moved pairs; `relabel` ends with it too."""
    before, after = changes.names
    moved = changes.transitions.changed
    show(["\n".join(changes.sentences), *(t for t in changes.tables() if t.rows)])
    if listed := changes.transitions.listing(before, after, limit):
        more = f"… and {moved - limit:,} more (--limit {moved})"
        say(f"\n{before} -> {after}\n{listed}" + (f"\n{more}" if moved > limit else ""))


def note_next(collection: Collection, changes: Diff) -> None:
    """Say how to find out more of which of the two is closer to people."""
    before, after = changes.names
    beside = changes.beside
    if beside.is_of_both:
        what = f"{collection.folder} {beside.human} {before} {after}"
        note(f"more on who is closer: labeler agree {what}")
    are_judged = {before, after} <= set(collection.judgement_names())
    is_told = changes.noise is not None and bool(changes.noise.change.departures)
    if are_judged and changes.transitions.changed and not is_told:
        old, new = (f"labeler lab control {collection.folder} --as {of}" for of in (before, after))
        note(f"how many of these moves are chance? {old} and {new} tell, on one day")
    if not beside.is_of_both and are_judged:
        ask = f"labeler people sample {collection.folder} --from {after} -o sheet.csv"
        note(f"which is closer to people? draw a sheet for them: {ask}")
