"""trec_eval's program: its arguments in, its output out, to the byte."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from labeler.errors import BadInput, Misuse
from labeler.evaluation.trec_eval.measures import MEASURES, UTILITY, Line, numbered, utility
from labeler.messages import no_query_in_common
from labeler.metrics.judged import JudgedPairs
from labeler.metrics.rankings import Rankings
from labeler.metrics.scores import added_up
from labeler.trec.files import last_tag, read_loose_run, read_qrels
from labeler.trec.pairs import PairColumns

# What trec_eval prints, in its order.

RUN_ID, QUERIES = "runid", "num_q"
"""Printed from the run itself and from how many queries were averaged over."""

OFFICIAL = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P"),
)
SETS = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall"),
    *("set_relative_P", "set_map", "set_F"),
)
APART = ("dcg", "ideal_dcg", "num_nonjudged_ret", "yaap")
"""Printed only where they are asked for by name."""
ALL = (RUN_ID, QUERIES, *(name for name in MEASURES if name not in APART))
NICKNAMES = {"official": OFFICIAL, "set": SETS, "all_trec": ALL}
UNSUPPORTED = ("all_prefs", "prefs", "qrels_jg", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg")
"""Measures of trec_eval, beside every `prefs_…`, for preferences or several sets of qrels."""


ROW = "{:<22}\t{}\t{}"
"""A measure, a query and a value."""


def lines(asked: Sequence[str], documents: int = 0) -> list[Line | str]:
    """What to print for `-m` arguments, in trec_eval's order; `runid` and `num_q` as they are.

    As in trec_eval, the first parameters given to a measure are the ones that count. `documents`
    are those of the collection, which `utility` may ask for.
    """
    parameters: dict[str, str] = {}
    names_asked: set[str] = set()
    for text in asked or ["official"]:
        name, dot, parameter_text = text.partition(".")
        names = NICKNAMES.get(name, (name,))
        if unknown := [n for n in names if n not in MEASURES and n not in (RUN_ID, QUERIES)]:
            raise Misuse(_refused(unknown[0]))
        if dot and (not parameter_text or len(names) > 1):
            raise Misuse(
                f"{text}: expected parameters of one measure after the dot", parameter="measures"
            )
        names_asked |= set(names)
        if dot:
            parameters.setdefault(name, parameter_text)
    printed: list[Line | str] = [name for name in (RUN_ID, QUERIES) if name in names_asked]
    sized = {"utility": numbered(partial(utility, documents=documents), UTILITY)}
    for name, make in (MEASURES | sized).items():
        printed += make(name, parameters.get(name, "")) if name in names_asked else []
    return printed


def _refused(name: str) -> str:
    """Why a measure is not here, and which are."""
    listed = ", ".join([*NICKNAMES, RUN_ID, QUERIES, *MEASURES])
    if name in UNSUPPORTED or name.startswith("prefs_"):
        return f"{name!r} is of preferences or several judges, which are not read; known: {listed}"
    return f"no measure {name!r} of trec_eval's here; known: {listed}"


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
    pool = JudgedPairs.of(read_qrels(qrels))
    try:
        ranked, facts = pool.rank(run)
        run_id, some = last_tag(run), facts.some_ids
    except BadInput:
        loose, run_id = read_loose_run(run)
        ranked, _ = pool.rank(PairColumns.of(loose, np.float64))
        some = list(loose)
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
    pairs = zip(ranked.queries, has_run, strict=True)
    missing = {query for query, is_retrieved in pairs if not is_retrieved}
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
    for i, query in enumerate(ranked.queries if options.by_query else ()):
        for line in measured:
            if line.by_query:
                yield ROW.format(line.name, query, _shown(line, values[line.name][i]))
    if not options.summary:
        return
    for name in asked:
        if isinstance(name, str):
            yield ROW.format(name, "all", run_id if name == RUN_ID else ranked.n)
    for line in measured:
        if line.summary != "none":
            yield ROW.format(
                line.name,
                "all",
                _shown(line, added_up(line.summary, [*map(float, values[line.name])])),
            )


def _values(
    line: Line, ranked: Rankings, missing: Collection[str], level: int
) -> list[float | str]:
    """A measure's values by query; emptied where trec_eval empties those of a missing query."""
    values = list(line.values(ranked, level))
    if line.name in EMPTIED or line.name.startswith("unj"):
        nothing = "''" if line.form == "text" else 0.0
        for i, query in enumerate(ranked.queries):
            values[i] = nothing if query in missing else values[i]
    return values


def _shown(line: Line, value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{int(value)}" if line.form == "whole" else f"{value:6.4f}"
