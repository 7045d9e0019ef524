"""`labeler agree`: how far assessors agree with human grades, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from labeler.cli.options import OUTPUT, OutputFlags
from labeler.cli.output import draw, name_unread_runs, said_to, show, show_json, warn
from labeler.cli.screen import note, progress, say
from labeler.evaluation.options import STALE_GRADES, Stale
from labeler.options import DRAWS, GRADE, SEED, SHARE, WIDTH, option
from labeler.report.table import FormName

if TYPE_CHECKING:
    from labeler.agreement.agree import AgreeOptions
    from labeler.agreement.report import AssessorReport
    from labeler.agreement.sources import Sources
    from labeler.report.finding import Finding
    from labeler.report.table import FormName

GRADES, SYSTEMS, INTERVALS, GATES = "Reading grades", "Systems", "Intervals", "Gates"
Method = Literal["cluster-bootstrap", "percentile", "jackknife"]
MAPS = {"map_human": "--map human:", "map_assessor": "--map assessor:"}
"""How a map of one side's grades is given here."""


def command(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Human qrels and other files of grades; or a collection and names of its qrels.",
            metavar="HUMAN OTHER... | COLL human NAME...",
        ),
    ],
    *,
    statistics: tuple[str, ...] = option(
        (), "A statistic, or 'all' of them; repeatable.", flags="-s --statistic"
    ),
    more_humans: tuple[str, ...] = option(
        (), "Another person's qrels: adds the ceiling; repeatable.", flags="--human"
    ),
    margin: float = option(
        0.05,
        "How much worse than a colleague still counts as as good as one.",
        SHARE,
        metavar="KAPPA",
    ),
    epsilon: float = option(
        0.1, "Of three people or more: how much less often than a person may it be as close?", SHARE
    ),
    baseline: bool | None = option(
        None,
        "Set similar words with fitted cut points beside each; else if it is quick.",
        flags="--with-baseline/--no-baseline",
    ),
    unweighted: bool = option(False, "Do not weight sampled pairs back to the pool."),
    scale: str | None = option(
        None, "The grades, as LOW:HIGH; else 0:3, or the human range beyond it.", panel=GRADES
    ),
    clip: bool = option(False, "Clip the other's numbers into the scale first.", panel=GRADES),
    maps: tuple[str, ...] = option(
        (), "Rename grades, as assessor:1=0,2=1 or human:1=0,2=1.", flags="--map", panel=GRADES
    ),
    cut: int | None = option(
        None, "Compare only whether a grade is at least this one.", GRADE, panel=GRADES
    ),
    runs: tuple[Path, ...] = option(
        (), "A run, or a folder of runs, to rank by both; repeatable.", flags="--run", panel=SYSTEMS
    ),
    measure: str = option(
        "nDCG@10", "What ranks the systems.", flags="-m --measure", panel=SYSTEMS
    ),
    own_pools: bool = option(
        False,
        "Score systems by each side's own pairs, not by those that both judged.",
        panel=SYSTEMS,
    ),
    method: Method = option(
        "cluster-bootstrap",
        "cluster-bootstrap: percentiles over queries, stretched as t is, and wider where "
        "the error follows the value.",
        panel=INTERVALS,
    ),
    draws: int | None = option(
        None, "Draws of the bootstrap (1,000; of few queries up to 10,000).", DRAWS, panel=INTERVALS
    ),
    seed: int = option(0, "Seed of the bootstrap.", SEED, panel=INTERVALS),
    show_naive: bool = option(
        False, "Also the interval over pairs, which is too narrow.", panel=INTERVALS
    ),
    how_many: float | None = option(
        None,
        "What an interval so wide would take, for an even chance and for 80 of 100.",
        WIDTH,
        metavar="WIDTH",
        panel=INTERVALS,
    ),
    require: tuple[str, ...] = option(
        (),
        "A gate, as kappa-quadratic:0.6: exit 5 where the value lies below; repeatable.",
        panel=GATES,
    ),
    require_low: tuple[str, ...] = option(
        (), "The same of the interval's low end (the high one where less is better).", panel=GATES
    ),
    details: bool = option(
        False,
        "Also by grade and by query, and calibration; all of that of each of several.",
        panel=OUTPUT,
    ),
    stale: Stale = option("drop", STALE_GRADES),
    picture: Path | None = option(
        None,
        "Draw statistics and systems; of several assessors a row each (.png, .svg, .pdf).",
        flags="--plot",
        panel=OUTPUT,
    ),
    output: OutputFlags,
) -> None:
    """Say how far assessors agree with people, and how sure that is.

    It says what was left out, too.
    """
    from labeler.agreement.agree import AgreeOptions, agree_all
    from labeler.agreement.align import Rules, parse_maps, parse_scale
    from labeler.agreement.compare import StatisticOptions
    from labeler.agreement.overview import findings_of_all
    from labeler.agreement.plot import agreement_drawings
    from labeler.agreement.report import agreement_gates, check_agreement
    from labeler.agreement.report import as_json as reports_as_json
    from labeler.agreement.shown import statistics_of_all
    from labeler.agreement.sources import open_sources

    gates = agreement_gates(require or ())
    gates += agreement_gates(require_low or (), low_end=True)
    options = AgreeOptions(
        Rules(parse_scale(scale), clip, cut=cut),
        parse_maps(maps or ()),
        StatisticOptions(
            tuple(statistics) if statistics else None, method, draws, seed, show_naive
        ),
        measure,
        unweighted,
        how_many,
        tuple(gate.name for gate in gates),
        own_pools,
        margin,
        epsilon,
        baseline,
    )
    shown = partial(progress, stays=False)
    opened = open_sources(sources, more_humans or (), runs or (), tallied=shown, stale=stale)
    name_unread_runs(sources[0], *(runs or ()))
    inputs = tuple(map(Path, (*sources, *(more_humans or ()), *(runs or ()))))
    to = output.written_to(output.output, *inputs) if output.output else None
    drawing = output.picture(picture, *inputs)
    reports = agree_all(opened, options)
    if output.format == "json":
        show_json(reports_as_json(reports, details=details), to, indent=2)
    elif output.format in ("csv", "jsonl"):
        show([statistics_of_all(reports, statistics)], output.format, to)
        warn(context, findings_of_all(reports), MAPS)
    else:
        with said_to(to):
            if len(reports) > 1 and not details:
                _show_overview(context, reports, statistics, output.format)
            else:
                _show(context, reports, (opened, options), output.format, details=details)
    if drawing is not None:
        draw(drawing, agreement_drawings(reports, details=details, statistics=statistics))
    check_agreement(reports, gates, options.statistics)


def _show(
    context: typer.Context,
    reports: Sequence[AssessorReport],
    compared: tuple[Sources, AgreeOptions],
    form: FormName,
    *,
    details: bool,
) -> None:
    """Print each assessor's part with its warnings, each once, then all beside one another."""
    from labeler.agreement.agree import scale_names
    from labeler.agreement.shown import joint_parts, report_parts

    sources, options = compared
    texts = sources.query_texts()
    warned: set[Finding] = set()
    for report, source in zip(reports, sources.assessors, strict=True):
        names = scale_names(sources, source, options)
        show(report_parts(report, names, texts, details=details), form)
        say()
        warn(context, (w for w in report.warnings if w not in warned), MAPS)
        warned |= set(report.warnings)
    joint = list(joint_parts(reports))
    if joint:
        say()
        show(joint, form)


def _show_overview(
    context: typer.Context,
    reports: Sequence[AssessorReport],
    statistics: Sequence[str] | None,
    form: FormName,
) -> None:
    """Print a row for each assessor, then every warning once, and how to see more of one."""
    from labeler.agreement.overview import findings_of_all
    from labeler.agreement.shown import overview_parts

    show(overview_parts(reports, statistics), form)
    say()
    warn(context, findings_of_all(reports), MAPS)
    note("one assessor named alone is shown in full, as is each of several with --details")
