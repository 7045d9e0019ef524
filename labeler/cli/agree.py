"""`labeler agree`: how far assessors agree with people, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.screen import note, say

if TYPE_CHECKING:
    from labeler.agreement.assessor_report import AssessorReport


def command(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="People's qrels and other label files; or a collection and names of its qrels.",
            metavar="HUMAN OTHER... | COLL human NAME...",
        ),
    ],
    *,
    scale: Annotated[
        str | None,
        typer.Option(help="The grades, as LOW:HIGH; else 0:3, or people's range beyond it."),
    ] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Clip the other's numbers into the scale first.")
    ] = False,
    maps: Annotated[
        list[str] | None,
        typer.Option("--map", help="Rename grades, as other:1=0,2=1 or people:1=0,2=1."),
    ] = None,
    cut: Annotated[
        int | None, typer.Option(help="Compare only whether a grade is at least this one.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--run", help="A run, or a folder of runs, to order with both's labels."),
    ] = None,
    measure: Annotated[
        str, typer.Option("-m", "--measure", help="What orders the systems.")
    ] = "nDCG@10",
    more_humans: Annotated[
        list[str] | None,
        typer.Option("--rater", help="Another person's labels: adds the ceiling; repeatable."),
    ] = None,
    statistics: Annotated[
        list[str] | None,
        typer.Option("-s", "--statistic", help="A statistic, or 'all' of them; repeatable."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="cluster-bootstrap (percentiles over queries, stretched as t is, never narrower "
            "than the jackknife), percentile or jackknife."
        ),
    ] = "cluster-bootstrap",
    draws: Annotated[
        int | None,
        typer.Option(min=100, help="Draws of the bootstrap (1,000; of few queries up to 10,000)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    show_naive: Annotated[
        bool,
        typer.Option("--show-naive", help="Also the interval over pairs, which is too narrow."),
    ] = False,
    require: Annotated[
        list[str] | None,
        typer.Option(help="A gate, as kappa-quadratic:0.6, on the interval's low end (exit 5)."),
    ] = None,
    require_value: Annotated[
        bool, typer.Option("--require-value", help="Hold gates against the value instead.")
    ] = False,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="Do not weight sampled pairs back to the pool.")
    ] = False,
    how_many: Annotated[
        float | None,
        typer.Option(metavar="WIDTH", min=0.001, help="What an interval so wide would take."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--plot", help="Draw matrix, queries and systems (.png, .svg).")
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Also by grade and by query, and calibration.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say how far labels agree with people's, how sure that is, and what was left out."""
    from labeler.agreement.agree import AgreeOptions, agree_all, scale_names
    from labeler.agreement.align import Rules
    from labeler.agreement.compare import StatisticOptions
    from labeler.agreement.gates import agreement_gates, check_agreement
    from labeler.agreement.options import parse_maps, parse_scale
    from labeler.agreement.report import as_json as to_json
    from labeler.agreement.sources import open_sources

    gates = agreement_gates(require or (), of_value=require_value)
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
    )
    opened = open_sources(sources, more_humans or (), runs or ())
    if picture is not None:
        from labeler.agreement.plot import check_picture

        check_picture(picture, len(opened.assessors))
    found = agree_all(opened, options)
    if as_json:
        say(json.dumps(to_json(found, details=details), ensure_ascii=False, indent=2))
    else:
        names = {source.name: scale_names(opened, source, options) for source in opened.assessors}
        _show_all(found, names, opened.query_texts(), details)
    if picture is not None:
        from labeler.agreement.plot import plot

        for warning in plot(found, picture):
            note(f"warning: {warning}")
        note(f"drawn: {picture}")
    check_agreement(found, gates, options.statistics)


def _show_all(
    found: Sequence[AssessorReport],
    names: Mapping[str, Mapping[int, str]],
    texts: Mapping[str, str],
    details: bool,
) -> None:
    from labeler.cli import agreement_text as text

    warned: set[str] = set()
    for finding in found:
        text.show(finding, names[finding.assessor], texts)
        if details:
            text.show_details(finding.details, texts)
        text.show_leaderboard(finding.board)
        text.show_ceiling(finding.ceilings)
        text.show_plans(finding.plans)
        say()
        for warning in finding.warnings:
            if warning not in warned:
                note(f"warning: {warning}")
        warned |= set(finding.warnings)
    for finding in found:
        text.show_differences(finding)
    text.show_joint(found[0].joint)
