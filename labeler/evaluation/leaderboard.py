"""What several runs say together: leaderboards by two qrels, and how many queries are enough."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.collection.choose import collection_qrels, collection_runs
from labeler.errors import BadInput, Misuse
from labeler.evaluation.compare import MEANS
from labeler.evaluation.evaluate import Options, evaluate_files
from labeler.evaluation.leaderboards import Leaderboards, leaderboards
from labeler.messages import count_of, no_query_in_common
from labeler.metrics import parse


def sources_of(words: Sequence[str], qrels: int) -> tuple[list[Path], list[Path]]:
    """Some qrels and runs: files, in this order; or a collection's folder and names in it.

    With one set of qrels no name is needed where the collection has one set, or people's.
    """
    folder, rest = Path(words[0]), list(words[1:])
    if not folder.is_dir():
        paths = [Path(word) for word in words]
        return paths[:qrels], paths[qrels:]
    if len(rest) > qrels or (qrels > 1 and len(rest) < qrels):
        raise Misuse(f"after the collection {folder} come the names of {qrels} of its qrels")
    names: Sequence[str | None] = rest or [None]
    return [collection_qrels(folder, name) for name in names], collection_runs(folder)


def scores_of(
    qrels: Path, runs: Sequence[Path], measure: str, warnings: list[str]
) -> tuple[list[str], list[str], Floats]:
    """Names of the runs, ids of the queries, and `(runs, queries)` values of one measure."""
    if parse(measure).definition.summary not in MEANS:
        raise Misuse(f"{measure} is no mean over queries")
    report = evaluate_files(qrels, runs, Options((measure,), scenarios=False))
    warnings += report.warnings
    queries = list(report.runs[0].scores.queries)
    values = np.array([run.scores.values[0] for run in report.runs])
    return [run.name for run in report.runs], queries, values


def compare_leaderboards(
    first: Path, second: Path, runs: Sequence[Path], measure: str, seed: int = 0
) -> tuple[Leaderboards, list[str]]:
    """The leaderboards of some runs by two qrels, over the queries that both judge; warnings."""
    if len(runs) < 2:
        raise Misuse("a leaderboard needs at least two runs")
    warnings: list[str] = []
    names, ours, x = scores_of(first, runs, measure, warnings)
    _, theirs, y = scores_of(second, runs, measure, warnings)
    common = sorted(set(ours) & set(theirs))
    if not common:
        raise BadInput(no_query_in_common(first, ours, second, theirs))
    if dropped := len(set(ours) | set(theirs)) - len(common):
        left_out = count_of(dropped, "query is", "queries are")
        warnings.append(f"{left_out} in one of the two qrels only: left out")
    x, y = x[:, [ours.index(q) for q in common]], y[:, [theirs.index(q) for q in common]]
    undefined = np.isnan(x).any(axis=0) | np.isnan(y).any(axis=0)
    if undefined.all():
        raise BadInput(f"{measure} is undefined for some run in every query")
    if undefined.any():
        left_out = count_of(int(undefined.sum()), "query", "queries")
        warnings.append(f"{measure} is undefined for some run in {left_out}: left out")
    lower = parse(measure).definition.lower_is_better
    x, y = x[:, ~undefined], y[:, ~undefined]
    return leaderboards(names, x, y, seed, lower=lower), list(dict.fromkeys(warnings))


def leaderboard_json(found: Leaderboards, qrels: Sequence[Path], measure: str) -> dict[str, Any]:
    """The comparison as `--json` prints it."""
    (x, y), (rank_x, rank_y) = found.means, found.ranks
    rows = zip(found.runs, x.tolist(), y.tolist(), rank_x, rank_y, strict=True)
    keys = ("run", "first", "second", "rank_first", "rank_second")
    return {
        "qrels": [str(path) for path in qrels],
        "measure": measure,
        "queries": found.queries,
        "runs": [dict(zip(keys, row, strict=True)) for row in rows],
        "statistics": {
            name: dict(zip(("value", "low", "high"), map(_number, values), strict=True))
            for name, values in found.statistics.items()
        },
        "swaps": [vars(swap) | {"significant_by": swap.verdict} for swap in found.swaps],
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
