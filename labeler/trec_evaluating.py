"""trec_eval's program: its arguments in, its output out, to the byte."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from labeler.errors import BadInput
from labeler.formats.trec import read_loose_run, read_qrels
from labeler.metrics.rankings import Rankings, rankings
from labeler.metrics.scores import SMALLEST_IN_GEOMETRIC_MEAN
from labeler.metrics.treceval import Line
from labeler.metrics.treceval_names import RUN_ID, lines


@dataclass(frozen=True)
class Options:
    """trec_eval's options: -m, -q, -n, -c, -l, -M, -J."""

    measures: tuple[str, ...] = ()
    by_query: bool = False
    summary: bool = True
    complete: bool = False
    level: int = 1
    depth: int | None = None
    judged_only: bool = False


def trec_eval(qrels: Path, run: Path, options: Options) -> str:
    """What trec_eval prints."""
    wanted = lines(options.measures)
    judgements = read_qrels(qrels)
    found, run_id = read_loose_run(run)
    if not judgements.keys() & found.keys():
        raise BadInput(f"{run}: no query of the run has relevance information in {qrels}")
    ranked = rankings(judgements, found, "zero" if options.complete else "skip")
    ranked = ranked.cut(options.depth) if options.depth is not None else ranked
    ranked = ranked.condensed if options.judged_only else ranked
    return "".join(f"{line}\n" for line in _printed(ranked, wanted, run_id, options))


def _printed(
    ranked: Rankings, wanted: Sequence[Line | str], run_id: str, options: Options
) -> Iterator[str]:
    measured = [line for line in wanted if isinstance(line, Line)]
    values = {line.name: list(line.values(ranked, options.level)) for line in measured}
    if options.by_query:
        for i, query in enumerate(ranked.queries):
            for line in measured:
                if line.by_query:
                    yield _row(line.name, query, _shown(line, values[line.name][i]))
    if not options.summary:
        return
    for name in wanted:
        if isinstance(name, str):
            yield _row(name, "all", run_id if name == RUN_ID else str(ranked.n))
    for line in measured:
        if line.summary != "none":
            yield _row(line.name, "all", _shown(line, _summed_up(line, values[line.name])))


def _row(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}"


def _shown(line: Line, value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{int(value)}" if line.form == "whole" else f"{value:6.4f}"


def _summed_up(line: Line, values: Sequence[float]) -> float:
    """The sum, mean or geometric mean, added in the order of the queries."""
    total = 0.0
    for value in values:
        geometric = line.summary == "geometric"
        total += math.log(max(value, SMALLEST_IN_GEOMETRIC_MEAN)) if geometric else value
    if line.summary == "sum":
        return total
    mean = total / len(values)
    return math.exp(mean) if line.summary == "geometric" else mean
