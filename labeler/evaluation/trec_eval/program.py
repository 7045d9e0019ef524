"""trec_eval's program: its arguments in, its output out, to the byte."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from labeler.errors import BadInput, Misuse
from labeler.evaluation.trec_eval.measures import Line
from labeler.evaluation.trec_eval.names import RUN_ID, lines
from labeler.messages import no_query_in_common
from labeler.metrics.rankings import Rankings, rankings
from labeler.metrics.scores import SMALLEST_IN_GEOMETRIC_MEAN
from labeler.trec.pool import read_pool
from labeler.trec.rankings import read_rankings
from labeler.trec.rows import LARGEST_GRADE
from labeler.trec.runs import read_loose_run
from labeler.trec.tags import last_tag

EMPTIED = ("num_ret", "utility", "relstring", "rbp_resid")
"""Set to nothing for a missing query, and whatever begins with `unj`; not so with parameters.

trec_eval -c takes such a query to have retrieved one document, which nobody judged.
"""


@dataclass(frozen=True)
class TrecEvalOptions:
    """What to print: trec_eval's options by what they mean.

    `level` is the lowest relevant grade, `complete` counts queries that the run lacks as 0, and
    `documents` are those of the whole collection.
    """

    measures: tuple[str, ...] = ()
    by_query: bool = False
    summary: bool = True
    complete: bool = False
    level: int = 1
    depth: int | None = None
    judged_only: bool = False
    documents: int = 0
    query: str | None = None

    def __post_init__(self) -> None:
        for name in ("level", "depth", "documents"):
            if abs(getattr(self, name) or 0) > LARGEST_GRADE:
                raise Misuse(f"expected at most {LARGEST_GRADE:,}", parameter=name)


def trec_eval(qrels: Path, run: Path, options: TrecEvalOptions) -> str:
    """The lines that trec_eval prints for these files and options."""
    asked = lines(options.measures, options.documents)
    ranked, run_id = _read(qrels, run)
    ranked, missing = _counted(ranked, options)
    return "".join(f"{line}\n" for line in _printed(ranked, asked, run_id, missing, options))


def _read(qrels: Path, run: Path) -> tuple[Rankings, str]:
    """The rankings of all queries of the qrels, and the run's tag.

    A run that the fast reader refuses, as one with more columns, is put to the loose one.
    """
    pool = read_pool(qrels, lambda _warning: None)
    try:
        ranked, facts = read_rankings(run, pool)
        run_id, some = last_tag(run), facts.some_ids
    except BadInput:
        loose, run_id = read_loose_run(run)
        ranked, some = rankings(pool.qrels, loose), list(loose)
    if not ranked.retrieved.any():
        raise BadInput(no_query_in_common(qrels, pool.queries, f"the run {run}", some))
    return ranked, run_id


def _counted(ranked: Rankings, options: TrecEvalOptions) -> tuple[Rankings, set[str]]:
    """The rankings that count, and which of them the run lacks."""
    has_run = ranked.retrieved > 0
    counts = has_run | options.complete
    if options.query is not None:
        counts &= np.array([query == options.query for query in ranked.queries])
    if not counts.any():
        raise Misuse(f"the query {options.query!r} is not in both files")
    missing = {
        query
        for query, is_retrieved in zip(ranked.queries, has_run, strict=True)
        if not is_retrieved
    }
    ranked = replace(ranked, retrieved=np.maximum(ranked.retrieved, 1)).choose(counts)
    ranked = ranked.cut(options.depth) if options.depth is not None else ranked
    return ranked.condensed if options.judged_only else ranked, missing


def _printed(
    ranked: Rankings,
    asked: Sequence[Line | str],
    run_id: str,
    missing: Collection[str],
    options: TrecEvalOptions,
) -> Iterator[str]:
    measured = [line for line in asked if isinstance(line, Line)]
    with np.errstate(over="ignore", invalid="ignore"):  # printed as inf and nan, as by C
        values = {line.name: _values(line, ranked, missing, options.level) for line in measured}
    if options.by_query:
        yield from _by_query(ranked, measured, values)
    if not options.summary:
        return
    for name in asked:
        if isinstance(name, str):
            yield _row(name, "all", run_id if name == RUN_ID else str(ranked.n))
    for line in measured:
        if line.summary != "none":
            yield _row(line.name, "all", _shown(line, _summed_up(line, values[line.name])))


def _values(
    line: Line, ranked: Rankings, missing: Collection[str], level: int
) -> list[float | str]:
    """A measure's values by query; emptied where trec_eval empties those of a missing query."""
    values: list[float | str] = list(line.values(ranked, level))
    if line.name in EMPTIED or line.name.startswith("unj"):
        nothing = "''" if line.form == "text" else 0.0
        for i, query in enumerate(ranked.queries):
            values[i] = nothing if query in missing else values[i]
    return values


def _by_query(
    ranked: Rankings, measured: Sequence[Line], values: Mapping[str, Sequence[float | str]]
) -> Iterator[str]:
    for i, query in enumerate(ranked.queries):
        for line in measured:
            if line.by_query:
                yield _row(line.name, query, _shown(line, values[line.name][i]))


def _row(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}"


def _shown(line: Line, value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{int(value)}" if line.form == "whole" else f"{value:6.4f}"


def _summed_up(line: Line, values: Sequence[float | str]) -> float:
    """The sum, mean or geometric mean, added in the order of the queries."""
    total = 0.0
    for value in map(float, values):
        geometric = line.summary == "geometric"
        total += math.log(max(value, SMALLEST_IN_GEOMETRIC_MEAN)) if geometric else value
    if line.summary == "sum":
        return total
    mean = total / len(values)
    return math.exp(mean) if line.summary == "geometric" else mean
