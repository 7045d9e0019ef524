"""`labeler lab calibrate`: an assessor's grades as probabilities of people's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from labeler.cli.options import OutputFlags
from labeler.cli.scoring import PLOT
from labeler.options import SEED, option

FIT = "Fit"


def command(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="COLL NAME | FILE",
            help="A collection and a set of its judgements; or a file of judgements or qrels.",
        ),
    ],
    *,
    people: str = option(
        "human", "Human qrels: a name of the collection, or a file.", metavar="QRELS"
    ),
    method: Literal["ordinal", "isotonic"] = option(
        "ordinal", "How probabilities follow what the assessor said.", panel=FIT
    ),
    probabilities: Path | None = option(
        None, "Write each pair's probabilities, JSON Lines.", metavar="FILE", panel=FIT
    ),
    save: Path | None = option(
        None, "Write the fit, to apply it later.", metavar="FILE", panel=FIT
    ),
    fit: Path | None = option(
        None, "Apply this saved fit; fit nothing.", metavar="FILE", panel=FIT
    ),
    seed: int = option(0, "Of the folds of queries and the curve.", SEED, panel=FIT),
    picture: Path | None = option(None, PLOT),
    output: OutputFlags,
) -> None:
    """Make probabilities that hold of an assessor's grades, by people's grades of some pairs.

    How far they hold is measured on queries that they were not fitted to.
    """
    from labeler.cli.output import draw, show_result, warn
    from labeler.cli.screen import note
    from labeler.lab.calibrate.calibrate import (
        CalibrateOptions,
        apply_calibration,
        calibrate,
        write_probabilities,
    )
    from labeler.lab.calibrate.recalibration import write_calibration

    inputs = [Path(name) for name in (*sources, people) if Path(name).exists()]
    inputs += [] if fit is None else [fit]
    to = output.made_from(*inputs)
    drawing = output.picture(picture, *inputs)
    rows_to = None if probabilities is None else output.written_to(probabilities, *inputs)
    fit_to = None if save is None else output.written_to(save, *inputs)
    if fit is not None:
        _nothing_of_a_fit(context)
    if fit is None:
        result = calibrate(*sources, options=CalibrateOptions(people, method, seed))
    else:
        result = apply_calibration(fit, *sources)
    show_result(result, output.format, to)
    warn(context, result.findings)
    if rows_to is not None:
        write_probabilities(rows_to, result)
        note(f"probabilities of {len(result.shares.pairs):,} pairs: {rows_to.path}")
    if fit_to is not None:
        write_calibration(fit_to, result.saved)
        note(f"the fit: {fit_to.path}")
    if drawing is not None:
        from labeler.lab.calibrate.plot import calibration_drawings

        draw(drawing, calibration_drawings(result))


def _nothing_of_a_fit(context: typer.Context) -> None:
    """`Misuse` where an option says how to fit, while a saved fit is applied."""
    from labeler.errors import Misuse

    for name in ("people", "method", "seed"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            problem = "a saved fit is applied as it is, and nothing is fitted; leave this out"
            raise Misuse(problem, parameter=name)
