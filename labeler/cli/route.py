"""`labeler lab route`: the pairs that a person should look at, and what that brings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from labeler.cli.options import OutputFlags
from labeler.cli.scoring import PLOT
from labeler.options import COUNT, SEED, option

if TYPE_CHECKING:
    from labeler.collection.user_files import Output
    from labeler.lab.route.route import RouteResult

SHOWN = 10


def command(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="COLL NAME... | FILE...",
            help="A collection and sets of its grades, or files: those to correct come first.",
        ),
    ],
    *,
    pairs: int = option(100, "How many pairs people grade.", COUNT),
    by: Literal["disagreement", "entropy", "doubt", "systems", "mixture"] | None = option(
        None, "What makes a pair worth a look (default: disagreement, or doubt)."
    ),
    people: str | None = option(
        None, "Human qrels of pairs drawn by chance, to tell what it brings.", metavar="QRELS"
    ),
    statistic: str = option("kappa", "Of agreement, which is to rise.", flags="-s --statistic"),
    run: tuple[Path, ...] = option(
        (), "A run, or a folder of runs, to route by; repeatable.", metavar="RUN"
    ),
    sheet: Path | None = option(None, "Write the pairs as a sheet for people.", metavar="FILE"),
    seed: int = option(0, "Orders pairs that are needed alike.", SEED),
    picture: Path | None = option(None, PLOT),
    output: OutputFlags,
) -> None:
    """Choose the pairs whose grades people should check, and say what that brings.

    People's grades of these pairs are no random sample: no statistic takes them for one.
    """
    from labeler.agreement.compare import StatisticOptions
    from labeler.cli.output import draw, warn
    from labeler.cli.screen import note
    from labeler.lab.route.route import RouteOptions, route, write_routed
    from labeler.people.sample import free_names

    inputs = [Path(name) for name in (*sources, *([people] if people else []), *(run or ()))]
    inputs = [path for path in inputs if path.exists()]
    to = output.made_from(*inputs)
    drawing = output.picture(picture, *inputs)
    to_sheet = None if sheet is None else output.written_to(sheet, *inputs)
    statistics = StatisticOptions((statistic,))
    options = RouteOptions(pairs, by, people, tuple(run or ()), statistics, seed)
    result = route(*sources, options=options)
    _show(result, output, to)
    warn(context, result.findings)
    if to_sheet is not None:
        sample = write_routed(result, to_sheet, note)
        note(
            f"{to_sheet.path}: sample {sample.id}, {sample.pairs} pairs of {sample.queries} queries"
        )
        if result.collection is not None:
            (name,) = free_names(result.collection, 1)
            note(f"when graded: labeler people import {to_sheet.path} {sources[0]} --as {name}")
            note(f"or on a page: labeler annotate {sources[0]} --sample {sample.id}")
    if drawing is not None:
        from labeler.lab.route.plot import route_drawing

        draw(drawing, [route_drawing(result)])


def _show(result: RouteResult, output: OutputFlags, to: Output | None) -> None:
    from labeler.cli.output import show, show_json

    if output.format == "json":
        show_json(result.as_json(), to)
    elif output.format == "table":
        show(["\n".join(result.sentences), *result.tables(SHOWN)], "table", to)
    else:
        show(result.tables()[-1:], output.format, to)
