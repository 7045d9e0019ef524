"""`labeler import-qrels`: keep people's judgements as qrels of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import AsJson, Folder, Force, GradeMap, Scale
from labeler.cli.screen import caution, note, say


def command(
    qrels: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="People's judgements: qrels of any kind."),
    ],
    folder: Folder,
    *,
    name: Annotated[str, typer.Option("--as", help="The name of the qrels.")] = "human",
    grade_map: GradeMap = "",
    scale: Scale = "",
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Keep people's judgements as qrels of a collection, and pool the pairs that they judged."""
    from labeler.cli.output import show_json
    from labeler.messages import count_of
    from labeler.pools.import_qrels import import_qrels

    meaning = {"grade_map": grade_map, "scale": scale}
    imported = import_qrels(qrels, folder, name=name, warn=caution, force=force, **meaning)
    if as_json:
        show_json(imported.as_json())
        return
    pairs = count_of(imported.pairs, "judged pair", "judged pairs")
    queries = count_of(imported.queries, "query", "queries")
    say(f"{imported.qrels}: {pairs} of {queries}")
    note(f"the pool has {count_of(imported.pool, 'pair', 'pairs')}, {imported.new:,} of them new")
    note(f"next: labeler judge {folder} --as llm, then labeler agree {folder} {name} llm")
