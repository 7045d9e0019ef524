"""`labeler import`: keep people's judgements as qrels of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.options import GRADE_MAP, SCALE, Folder, OutputFlags
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import caution, note, say
from labeler.messages import count_of
from labeler.options import option

if TYPE_CHECKING:
    from labeler.pools.import_qrels import ImportedQrels


def command(
    qrels: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="People's judgements: qrels of any kind."),
    ],
    folder: Folder,
    *,
    name: str = option("human", "The name of the qrels.", flags="--as"),
    grade_map: str = option("", GRADE_MAP),
    scale: str = option("", SCALE),
    output: OutputFlags,
) -> None:
    """Keep people's judgements as qrels of a collection, and pool the pairs that they judged."""
    from labeler.collection.layout import open_collection
    from labeler.pools.import_qrels import import_qrels

    to = output.made_from(qrels, open_collection(folder).folder)
    meaning = {"grade_map": grade_map, "scale": scale}
    imported = import_qrels(qrels, folder, name=name, warn=caution, force=output.force, **meaning)
    show_outcome(imported, _show, output, to)
    note(f"the pool has {count_of(imported.pool, 'pair', 'pairs')}, {imported.new:,} of them new")
    note(f"next: labeler judge {folder} --as llm, then labeler agree {folder} {name} llm")


def _show(imported: ImportedQrels) -> None:
    pairs = count_of(imported.pairs, "judged pair", "judged pairs")
    queries = count_of(imported.queries, "query", "queries")
    say(f"{imported.qrels}: {pairs} of {queries}")
