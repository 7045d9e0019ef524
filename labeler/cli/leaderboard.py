"""`labeler lab leaderboard`: the same runs ranked by two qrels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from labeler.cli.options import OutputFlags
from labeler.cli.scoring import PLOT, TABLES
from labeler.options import SEED, option


def command(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="QRELS_A QRELS_B RUNS... | COLL NAME_A NAME_B",
            help="The qrels to trust, the others, and two runs or more; or names in a collection.",
        ),
    ],
    *,
    measure: str = option("nDCG@10", "To rank by.", flags="-m --measure"),
    own_pools: bool = option(
        False, "Score systems by each side's own pairs, not by those that both judged."
    ),
    seed: int = option(0, "Of the resampling.", SEED),
    table: Literal["runs", "statistics", "significance", "swaps"] | None = option(
        None, "This table alone; csv and jsonl hold one, by default the runs.", panel=TABLES
    ),
    picture: Path | None = option(None, PLOT),
    output: OutputFlags,
) -> None:
    """Rank the same runs by two qrels: correlation, drops, and pairs that swap."""
    from labeler.cli.output import draw, name_unread_runs, show, show_json, warn
    from labeler.errors import Misuse
    from labeler.evaluation.boards.two_sided import SHOWN
    from labeler.evaluation.inputs import qrels_and_runs
    from labeler.evaluation.leaderboard import leaderboard

    qrels, runs = qrels_and_runs(sources, 2)
    if len(qrels) < 2:
        raise Misuse("a leaderboard needs two qrels; as in: labeler lab leaderboard A B RUNS...")
    to = output.made_from(*qrels, *runs)
    drawing = output.picture(picture, *qrels, *runs)
    name_unread_runs(*sources)
    board = leaderboard(qrels[0], qrels[1], runs, measure, own_pools=own_pools, seed=seed)
    if output.format == "json":
        show_json(board.as_json(), to)
    else:
        tables = [t for t in board.tables(None if table else SHOWN) if table in (None, t.name)]
        filled = tables if table else [shown for shown in tables if shown.rows]
        sentences = [] if table else ["\n".join(board.sentences)]
        show([*sentences, *filled], output.format, to)
    warn(context, board.findings)
    if drawing is not None:
        from labeler.evaluation.plot import board_drawings

        draw(drawing, board_drawings(board))
