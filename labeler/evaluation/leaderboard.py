"""The same systems by two qrels: means, ranks, how alike these are, and which pairs swap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.collection.choose import collection_qrels, collection_runs
from labeler.data import Qrels, Run
from labeler.errors import BadInput, Misuse
from labeler.evaluation.compare import MEANS, difference_interval
from labeler.evaluation.evaluate import Options, evaluate_files
from labeler.messages import count_of, no_query_in_common
from labeler.metrics import Measure, evaluate, parse
from labeler.stats.correlation import competition_ranks, swapped_pairs
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.randomization import holm, randomization_test
from labeler.stats.rankings import Correlation, correlations


@dataclass(frozen=True)
class System:
    """A run's mean score and rank by two qrels, and the second's mean minus the first's.

    `low` and `high` are of that difference, over queries; `None` for fewer than two.
    """

    run: str
    first: float
    second: float
    first_rank: int
    second_rank: int
    difference: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Swap:
    """Two systems whose order differs: `better` is so by the first qrels, not by the second.

    `first` and `second` are their differences by each, `p_first` and `p_second` of these, after
    Holm over all swapped pairs.
    """

    better: str
    worse: str
    first: float
    second: float
    p_first: float
    p_second: float

    @property
    def significant(self) -> bool:
        """Whether the first qrels tell the two apart, at 5 %."""
        return self.p_first < SIGNIFICANT

    @property
    def verdict(self) -> str:
        """By which qrels the difference can be told from chance."""
        told = (self.significant, self.p_second < SIGNIFICANT)
        words = {(True, True): "both", (True, False): "the first alone"}
        return words.get(told, "the second alone" if told[1] else "neither")


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Two leaderboards of the same systems over the same queries, and how alike they are.

    `systems` are in the order of the runs; `scores` is `(2, systems, queries)`, by the first qrels
    and by the second. Queries of which the measure is undefined for some run are left out;
    `undefined` counts them.
    """

    measure: str
    queries: tuple[str, ...]
    systems: tuple[System, ...]
    statistics: Mapping[str, Correlation]
    swaps: tuple[Swap, ...]
    scores: Floats
    undefined: int = 0

    @property
    def order(self) -> list[int]:
        """The systems' places in `systems`, from the first qrels' best to their worst."""
        ranks = [system.first_rank for system in self.systems]
        return sorted(range(len(ranks)), key=ranks.__getitem__)

    @property
    def ranked(self) -> tuple[System, ...]:
        """The systems in that order."""
        return tuple(self.systems[place] for place in self.order)

    @property
    def difference(self) -> float:
        """The mean over systems of the second's mean minus the first's."""
        return float(np.mean([system.difference for system in self.systems]))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out of the comparison."""
        if not self.undefined:
            return ()
        left_out = count_of(self.undefined, "query", "queries")
        return (f"{self.measure} is undefined for some run in {left_out}: left out",)


def leaderboard(
    first: Qrels, second: Qrels, runs: Mapping[str, Run], measure: Measure, seed: int = 0
) -> Leaderboard | None:
    """Score runs by two qrels over the queries that both judge; `None` where nothing is scored."""
    shared = sorted(first.keys() & second.keys())
    if not shared or not runs:
        return None
    sides = [{query: qrels[query] for query in shared} for qrels in (first, second)]
    scores = [
        [evaluate(side, run, [measure]).of(measure) for run in runs.values()] for side in sides
    ]
    return leaderboard_of(list(runs), shared, np.array(scores), measure, seed)


def leaderboard_of(
    runs: Sequence[str], queries: Sequence[str], scores: Floats, measure: Measure, seed: int = 0
) -> Leaderboard | None:
    """Compare `(2, runs, queries)` scores by two qrels; `None` where no query is scored by both."""
    defined: Flags = np.logical_not(np.isnan(scores).any(axis=(0, 1)))
    if not defined.any():
        return None
    scores = np.ascontiguousarray(scores[:, :, defined])
    # lower is better for some measures: turned over, higher is, as correlations and ranks take it
    sign = -1.0 if measure.definition.lower_is_better else 1.0
    first, second = sign * scores
    return Leaderboard(
        str(measure),
        tuple(query for query, kept in zip(queries, defined, strict=True) if kept),
        _systems(runs, scores, sign, measure, seed),
        correlations(first, second, seed),
        _swaps(runs, first, second, sign, seed),
        scores,
        int((~defined).sum()),
    )


def _systems(
    runs: Sequence[str], scores: Floats, sign: float, measure: Measure, seed: int
) -> tuple[System, ...]:
    first, second = scores.mean(axis=2)
    first_ranks, second_ranks = (
        competition_ranks(sign * side).tolist() for side in (first, second)
    )
    systems = []
    for i, run in enumerate(runs):
        change = scores[1, i] - scores[0, i]
        low, high = difference_interval(measure, change, "bootstrap", seed)
        ends = (None, None) if np.isnan(low) else (low, high)
        means = float(first[i]), float(second[i])
        ranks = first_ranks[i], second_ranks[i]
        systems.append(System(run, *means, *ranks, means[1] - means[0], *ends))
    return tuple(systems)


def _swaps(
    runs: Sequence[str], first: Floats, second: Floats, sign: float, seed: int
) -> tuple[Swap, ...]:
    pairs = swapped_pairs(first.mean(axis=1), second.mean(axis=1))
    if not pairs:
        return ()
    better, worse = (list(side) for side in zip(*pairs, strict=True))
    # (pairs, queries): by how much the one is better than the other, by each qrels
    both = [scores[better] - scores[worse] for scores in (first, second)]
    p_first, p_second = (holm(randomization_test(rows, seed)[0]) for rows in both)
    by_first, by_second = (sign * rows.mean(axis=1) for rows in both)
    return tuple(
        Swap(runs[i], runs[j], float(a), float(b), float(p), float(q))
        for (i, j), a, b, p, q in zip(pairs, by_first, by_second, p_first, p_second, strict=True)
    )


def compare_leaderboards(
    first: Path, second: Path, runs: Sequence[Path], measure: str, seed: int = 0
) -> tuple[Leaderboard, list[str]]:
    """The leaderboards of run files by two files of qrels, over the queries of both; warnings."""
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
    sides = x[:, [ours.index(q) for q in common]], y[:, [theirs.index(q) for q in common]]
    board = leaderboard_of(names, common, np.array(sides), parse(measure), seed)
    if board is None:
        raise BadInput(f"{measure} is undefined for some run in every query")
    return board, list(dict.fromkeys([*warnings, *board.warnings]))


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


def leaderboard_json(board: Leaderboard, qrels: Sequence[Path]) -> dict[str, Any]:
    """The comparison as `labeler leaderboard --json` prints it."""
    return {
        "qrels": [str(path) for path in qrels],
        "measure": board.measure,
        "queries": len(board.queries),
        "runs": [
            {
                "run": system.run,
                "first": system.first,
                "second": system.second,
                "rank_first": system.first_rank,
                "rank_second": system.second_rank,
            }
            for system in board.systems
        ],
        "statistics": {name: found._asdict() for name, found in board.statistics.items()},
        "swaps": [vars(swap) | {"significant_by": swap.verdict} for swap in board.swaps],
    }
