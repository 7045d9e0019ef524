"""`labeler agree`: how far two or more assessors agree, and how sure that is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.screen import note, say, table

if TYPE_CHECKING:
    from labeler.agreement.compare import Agreement


def command(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="People's qrels and other label files; or a collection and names of its qrels.",
            metavar="HUMAN OTHER... | COLL human NAME...",
        ),
    ],
    scale: Annotated[
        str | None, typer.Option(help="The grades, as LOW:HIGH; otherwise people's range.")
    ] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Clip the other's numbers into the scale first.")
    ] = False,
    maps: Annotated[
        list[str] | None,
        typer.Option("--map", help="Rename grades, as other:1=0,2=1 or people:1=0,2=1."),
    ] = None,
    cut: Annotated[int | None, typer.Option(help="Compare only: below this grade, or not.")] = None,
    statistics: Annotated[
        list[str] | None,
        typer.Option("--statistic", "-s", help="A statistic (repeatable); 'all' for every one."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="cluster-bootstrap, percentile, bca or jackknife; over queries.")
    ] = "cluster-bootstrap",
    draws: Annotated[int, typer.Option(min=100, help="Draws of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    show_naive: Annotated[
        bool,
        typer.Option("--show-naive", help="Also the interval over single pairs, too narrow."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say how far labels agree with people's, how sure that is, and what was left out."""
    from labeler.agreeing import Wanted, agree_all, open_sources
    from labeler.agreement.align import Rules
    from labeler.agreement.compare import Options
    from labeler.agreement.options import parse_maps, parse_scale
    from labeler.agreement.report import as_json as to_json

    rules = Rules(parse_scale(scale), clip, cut=cut)
    names = tuple(statistics) if statistics else None
    options = Options(names, method, draws, seed, show_naive)
    opened = open_sources(sources, note)
    found = agree_all(opened, Wanted(rules, parse_maps(maps or ()), options))
    if as_json:
        rows = [
            {"other": source.name, **to_json(agreement)}
            for source, agreement in zip(opened.others, found, strict=True)
        ]
        single = {key: value for key, value in rows[0].items() if key != "other"}
        say(json.dumps(rows if len(rows) > 1 else single, ensure_ascii=False, indent=2))
        return
    for source, agreement in zip(opened.others, found, strict=True):
        _show(opened.people_name, source.name, agreement)


def _show(people: str, other: str, found: Agreement) -> None:
    from labeler.agreement.report import confusion_rows, left_out_lines, summary

    say(f"{people} against {other}: {found.pairs:,} pairs of {len(found.queries):,} queries")
    for sentence in summary(found):
        say(sentence)
    say()
    _statistics(found)
    say()
    rows = confusion_rows(found.confusion, found.scale, {})
    table(("people \\ other", *map(str, found.scale), "all"), rows)
    for line in left_out_lines(found):
        say(line)
    for warning in found.warnings:
        note(f"warning: {warning}")
    say()


def _statistics(found: Agreement) -> None:
    naive = any(e.naive for e in found.statistics.values())
    header = ["statistic", "value", "95 % interval"]
    rows = []
    for name, e in found.statistics.items():
        row = [name, _figure(e.value), _between(e.low, e.high)]
        if naive:
            n = e.naive
            effect = n.design_effect if n else None
            row += [_between(n.low, n.high) if n else "-", _figure(effect, 1)]
        rows.append(row)
    table([*header, "over single pairs", "design effect"] if naive else header, rows)


def _figure(value: float | None, digits: int = 3) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"


def _between(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"
