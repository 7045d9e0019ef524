"""A run cut, sorted, tagged anew or written in another format, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from labeler.collection.user_files import Output
from labeler.exchange.qrels import Meaning
from labeler.exchange.queries import Queries
from labeler.exchange.runs import hold_run
from labeler.exchange.written import write_run_as
from labeler.files.read import rereadable
from labeler.messages import Note
from labeler.trec.blocks import Batch
from labeler.trec.files import through_run
from labeler.trec.write import RankedPart, ranked_part


@dataclass(frozen=True)
class Change:
    """What becomes of a run: its tag, how many documents a query keeps, whether queries are sorted.

    `read_as` and `write_as` are formats, where the files' names do not say them. Queries that are
    named by their text get the ids of `queries`.
    """

    tag: str
    depth: int | None = None
    sort: bool = False
    read_as: str = ""
    write_as: str = ""
    queries: Queries | None = None


def rewrite_run(
    path: Path, output: Output | Path, change: Change, warn: Note = lambda _line: None
) -> int:
    """Write a run changed, its documents in trec_eval's order; how many lines it has."""
    to = Output.of(output, [path])
    meaning = Meaning.of(queries=change.queries)

    def write(lines: Iterable[Batch]) -> int:
        parts = (_ranked(batch, change.depth) for batch in lines)
        return write_run_as(to.path, parts, change.tag, change.write_as)

    with to.writing(), rereadable():
        if change.read_as != "trec":
            hold_run(path, meaning, warn)
        return through_run(path, write, by_id=change.sort)


def _ranked(batch: Batch, depth: int | None) -> RankedPart:
    batch.refuse_repeated()
    order = batch.ranked
    if depth is not None:
        order = order[batch.ranks[order] <= depth]
    return ranked_part(batch, order)
