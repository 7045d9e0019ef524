"""`labeler lab panel`: several assessors' grades of the same pairs, put together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.numbers import SEED, number
from labeler.cli.options import OUTPUT, Force, FormFlags
from labeler.cli.output import show, show_json, warn
from labeler.cli.panel_options import PanelRuleFlags
from labeler.cli.screen import note, say


def command(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="COLL A B C... | QRELS...",
            help="A collection and sets of its judgements; or files of grades.",
        ),
    ],
    *,
    together: PanelRuleFlags,
    people: Annotated[
        str | None,
        typer.Option(metavar="QRELS", help="Human qrels: how far do panel and members agree?"),
    ] = None,
    statistic: Annotated[
        str, typer.Option("-s", "--statistic", help="By which statistic.")
    ] = "kappa",
    scale: Annotated[
        str | None, typer.Option(help="The grades, as LOW:HIGH; else 0:3, or those that occur.")
    ] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Clip numbers into the scale first.")
    ] = False,
    seed: Annotated[int, number(SEED, help="Of ties, and of the intervals.")] = 0,
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Keep the panel as this set.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            *("--output", "-o"),
            help="Write the panel's qrels here; or, to a .jsonl file, its judgements.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: Force = False,
    shown: FormFlags,
) -> None:
    """Put several assessors' grades together, and say how many judges that really is.

    A member without a grade of a pair is left out of it; too few members make a failure.
    """
    from labeler.agreement.align import parse_scale
    from labeler.agreement.compare import StatisticOptions
    from labeler.collection.user_files import Output
    from labeler.errors import Incomplete
    from labeler.files.paths import check_existing
    from labeler.lab.panel.members import PanelOptions
    from labeler.lab.panel.panel import PanelReportOptions, panel

    inputs = [Path(source) for source in (*sources, *([people] if people else []))]
    of_files = not Path(sources[0]).is_dir()
    check_existing(inputs if of_files else inputs[:1])
    to = None
    if output is not None:
        to = Output(output, force, tuple(path for path in inputs if path.exists()))
        to.check()
    options = PanelReportOptions(
        PanelOptions(together.rule, together.fewest, seed, parse_scale(scale)),
        StatisticOptions((statistic,), seed=seed),
        clip,
    )
    result = panel(*sources, people=people, name=name, output=to, options=options)
    if shown.format == "json":
        show_json(result.as_json())
    elif shown.format == "table":
        show(["\n".join(result.sentences), *result.tables()], "table")
        say()
        warn(context, result.findings)
    else:
        show(result.tables(), shown.format)
    if name is not None:
        note(f"kept as {name}: labeler agree {sources[0]} human {name}")
    if output is not None:
        note(f"wrote {output}")
    if result.panel.failed:
        problem = f"{result.panel.failed:,} of {len(result.panel.rows):,} pairs have no grade"
        raise Incomplete(problem)
