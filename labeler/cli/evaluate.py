"""`labeler evaluate`: score runs against qrels, and compare them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.screen import note

if TYPE_CHECKING:
    from labeler.evaluation.evaluate import Options, Report
    from labeler.evaluation.gates import ScoreGate
    from labeler.evaluation.movers import Move


NOT_WITH_PEOPLE = {
    "qrels": "--assessor names the qrels of all queries",
    "lgtm": "a person's verdict needs no correcting",
    "movers": "people labelled some queries only; --per-query shows both scores of each",
    "scenarios": "what people did not judge is said in a warning",
    "comparisons": "csv and jsonl hold the corrected scores",
    ("unanswerable", "skip"): "which queries have no relevant document people alone know",
    ("interval", "bootstrap"): "so few queries are given t intervals",
}
"""What --people refuses, and why; with a value, that value alone."""
WITHOUT_PEOPLE = ("assessor", "target")


def command(
    context: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="QRELS RUN... | COLLECTION", help="Qrels, then runs; or a folder."),
    ],
    *,
    measures: Annotated[
        list[str] | None,
        typer.Option("-m", "--measure", help="A measure, as nDCG@10 or P(rel=2)@5; repeatable."),
    ] = None,
    qrels: Annotated[
        str | None, typer.Option(help="In a collection: which of its qrels (default: human).")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="The run to compare with (default: the best).")
    ] = None,
    missing: Annotated[
        str, typer.Option(help="Queries that a run lacks: zero, or skip as trec_eval does.")
    ] = "zero",
    unanswerable: Annotated[
        str, typer.Option(help="Queries without a relevant document: count, or skip.")
    ] = "count",
    ties: Annotated[
        str, typer.Option(help="Order of a run: trec (score, then id), or file (as written).")
    ] = "trec",
    max_grade: Annotated[
        int | None, typer.Option(min=1, help="The scale's top grade, for ERR and RBP.")
    ] = None,
    interval: Annotated[
        str,
        typer.Option(
            help="bootstrap over queries, at least as wide as t's; or t, with the paired t test."
        ),
    ] = "bootstrap",
    lgtm: Annotated[
        Path | None,
        typer.Option(help="For LGTM@k of one run: a query and yes or no a line, by a person."),
    ] = None,
    movers: Annotated[
        int, typer.Option(help="List so many queries that gained and lost most.", min=0)
    ] = 0,
    comparisons: Annotated[
        bool, typer.Option("--comparisons", help="In csv and jsonl: the comparisons of runs.")
    ] = False,
    scenarios: Annotated[
        bool | None,
        typer.Option(
            help="Print what unjudged documents leave open; always in JSON, unless --no-."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the resampling.")] = 0,
    require: Annotated[
        list[str] | None,
        typer.Option(help="A gate, as nDCG@10:0.45: exit 5 where a run lies below; repeatable."),
    ] = None,
    no_worse_than: Annotated[
        str | None, typer.Option(metavar="RUN", help="A gate: exit 5 where a run is worse.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="table, csv, json, jsonl, latex or markdown.")
    ] = "table",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Add each query's scores.")
    ] = False,
    output: Annotated[Path | None, typer.Option("-o", help="Write to a file.")] = None,
    people: Annotated[
        str | None, typer.Option(help="People's qrels of some queries: correct the scores by them.")
    ] = None,
    assessor: Annotated[
        str | None, typer.Option(help="With --people: the qrels of all queries.")
    ] = None,
    target: Annotated[
        str, typer.Option(help="With --people: the mean over these queries, or all like-these.")
    ] = "these",
) -> None:
    """Score runs against qrels, with intervals, tests and the share that is judged."""
    from labeler.cli.output import deliver, refuse_overwriting
    from labeler.cli.tables import check_format
    from labeler.errors import Misuse
    from labeler.evaluation import evaluate as evaluating
    from labeler.evaluation.tables import PAIRED
    from labeler.evaluation.tables import as_json as as_json_object
    from labeler.trec.verdicts import read_verdicts

    form = "json" if as_json else check_format(form)
    refuse_overwriting(output, paths)
    _check_people(context, people)
    options = evaluating.Options(
        tuple(measures or evaluating.DEFAULT_MEASURES),
        missing,
        unanswerable,
        ties,
        max_grade,
        interval,
        no_worse_than or baseline,
        scenarios is not False,
        seed,
        read_verdicts(lgtm) if lgtm else None,
    )
    gates = _gates(require or [])
    options = options.also([gate.measure for gate in gates])
    if people is not None:
        from labeler.cli.corrected import print_corrected
        from labeler.evaluation.correct import Wanted, correct_files
        from labeler.evaluation.gates import check_corrected

        corrected = correct_files(paths, people, assessor, Wanted(options, target))
        print_corrected(corrected, form, output, per_query=per_query)
        check_corrected(corrected, gates, no_worse_than)
        return
    if lgtm and len(paths) != 2:
        raise Misuse("--lgtm is a person's look at one run: give qrels and that run alone")
    report = _report(paths, qrels, options)
    for option, given in (("--no-worse-than", no_worse_than), ("--movers", movers)):
        if given and len(report.runs) == 1:
            raise Misuse(f"{option} compares runs, and there is one alone")
    for warning in report.warnings:
        note(f"warning: {warning}")
    moved = _moves(report, movers, paths[0]) if movers else None
    if form == "json":
        found = as_json_object(report, per_query=per_query)
        if moved is not None:
            found["movers"] = [move.as_dict() for move in moved]
        deliver(json.dumps(found, ensure_ascii=False, indent=1) + "\n", output)
    else:
        more = list(_asked_for(report, form, moved, scenarios=bool(scenarios)))
        if comparisons and form not in PAIRED:
            more.insert(0, _compared(report, form))
        tables = [*_tables(report, form, per_query=per_query), *more]
        # people read several tables one after another, other programs one a file
        deliver("\n".join(tables if form in PAIRED else tables[-1:]), output)
    if gates or no_worse_than is not None:
        from labeler.evaluation.gates import check_scores

        check_scores(report, gates, no_worse_than)


def _gates(texts: Sequence[str]) -> list[ScoreGate]:
    """The gates that were asked for; the module is not loaded where none was."""
    if not texts:
        return []
    from labeler.evaluation.gates import score_gates

    return list(score_gates(texts))


def _moves(report: Report, many: int, path: Path) -> list[Move]:
    from labeler.evaluation.movers import moves

    return moves(report, many, _texts(path))


def _asked_for(
    report: Report, form: str, moved: list[Move] | None, *, scenarios: bool
) -> Iterable[str]:
    """The tables that are printed only where they were asked for."""
    from labeler.cli.tables import rendered
    from labeler.evaluation.tables import scenario_rows

    if scenarios:
        yield rendered(*scenario_rows(report, form), form, 2)
    if moved is not None:
        from labeler.evaluation.movers import move_rows

        yield rendered(*move_rows(moved, form), form, 3)


def _compared(report: Report, form: str) -> str:
    from labeler.cli.tables import rendered
    from labeler.errors import Misuse
    from labeler.evaluation.tables import comparison_rows

    if not report.comparisons:
        raise Misuse("--comparisons compares runs, and there is one alone")
    return rendered(*comparison_rows(report, form), form)


def _check_people(context: typer.Context, people: str | None) -> None:
    """`Misuse` names an option given that does not go with --people, or not without it."""
    from labeler.errors import Misuse

    given = {
        option.name: max(option.opts, key=len)
        for option in context.command.params
        if option.name and _is_given(context, option.name)
    }
    if people is None:
        for name in WITHOUT_PEOPLE:
            if name in given:
                raise Misuse(f"{given[name]}: this needs --people")
        return
    for name, option in given.items():
        value = context.params[name]
        why = NOT_WITH_PEOPLE.get(name) or NOT_WITH_PEOPLE.get((name, str(value)))
        if why and value is not False:
            raise Misuse(f"{option}: this does not go with --people: {why}")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _texts(path: Path) -> dict[str, str]:
    """The queries' texts, where the first argument is a collection or qrels in one."""
    from labeler.collection.queries import read_queries

    folder = path if path.is_dir() else path.resolve().parent.parent
    queries = folder / "queries.jsonl"
    return {q.id: q.text for q in read_queries(queries).values()} if queries.is_file() else {}


def _report(paths: Sequence[Path], qrels: str | None, options: Options) -> Report:
    from labeler.errors import Misuse
    from labeler.evaluation.evaluate import evaluate_collection, evaluate_files

    first, runs = paths[0], paths[1:]
    if first.is_dir():
        if runs:
            raise Misuse(
                f"{first} is a collection, whose runs are in its folder; no others, please"
            )
        return evaluate_collection(first, qrels, options)
    if qrels is not None:
        raise Misuse(f"--qrels chooses among those of a collection, and {first} is no folder")
    if not runs:
        raise Misuse(f"no run to score against {first}; as in: labeler evaluate QRELS RUN...")
    return evaluate_files(first, runs, options)


def _tables(report: Report, form: str, *, per_query: bool) -> Iterable[str]:
    """The scores, then the comparisons; with `per_query` a row for each query instead."""
    from labeler.cli.tables import rendered
    from labeler.evaluation.tables import PAIRED, comparison_rows, query_rows, score_rows

    if per_query:
        yield rendered(*query_rows(report), form, 2)
        return
    yield rendered(*score_rows(report, form), form)
    if report.comparisons and form in PAIRED:
        yield rendered(*comparison_rows(report, form), form, 2)
