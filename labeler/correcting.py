"""Scores corrected by people: the assessor's labels on all queries, people's on some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from labeler.agreement.ppi import FEWEST, TARGETS, Corrected, correct
from labeler.data import Qrels, Run
from labeler.errors import BadInput, Misuse
from labeler.formats.collection import Collection, open_collection
from labeler.formats.trec import read_qrels, read_run
from labeler.metrics import evaluate, parse_all
from labeler.metrics.comparing import MEANS
from labeler.run_names import card_top_grade, named_runs

MOST_UNJUDGED = 0.2
"""With a larger share of documents that people left out, their scores say nothing."""


@dataclass(frozen=True)
class Wanted:
    """Which means to correct: by what measures, over what queries, on what scale.

    `max_grade` is the scale's top grade (ERR, RBP), the largest of both qrels where not given.
    """

    measures: tuple[str, ...]
    target: str
    max_grade: int | None = None

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise Misuse(f"no target {self.target!r}; known: {', '.join(TARGETS)}")
        for measure in parse_all(self.measures):
            if measure.definition.summary not in MEANS:
                raise Misuse(f"{measure} is no mean over queries; --people corrects means alone")
            if measure.name == "LGTM":
                raise Misuse(f"{measure} is a person's verdict; --people has nothing to correct")


@dataclass(frozen=True)
class CorrectedScores:
    """A run's figure by one measure, and what people's labels leave open in its queries.

    `unjudged` is the share of what the assessor judged among its first ten documents, in people's
    queries, that people did not: above 0 people's score is too low.
    """

    run: str
    measure: str
    found: Corrected
    unjudged: float


@dataclass(frozen=True)
class Corrections:
    """All runs by all measures, and what a reader should know."""

    target: str
    rows: tuple[CorrectedScores, ...]
    warnings: tuple[str, ...]


def correct_files(
    paths: Sequence[Path], people: str, assessor: str | None, wanted: Wanted
) -> Corrections:
    """Correct the runs of a collection, `people` and `assessor` naming its qrels; or of files.

    The files are runs, after the assessor's qrels where `assessor` is not given.
    """
    runs = list(paths)
    if paths[0].is_dir():
        collection = open_collection(paths[0])
        if wanted.max_grade is None:
            wanted = replace(wanted, max_grade=card_top_grade(paths[0]))
        runs = [collection.run(name) for name in collection.run_names()]
        chosen = [_named(collection, name) for name in (people, _given(assessor))]
    elif assessor is None:
        chosen, runs = [Path(people), paths[0]], runs[1:]
    else:
        chosen = [Path(people), Path(assessor)]
    if not runs:
        raise Misuse("no run to score; as in: labeler evaluate LLM.qrels RUN --people HUMAN.qrels")
    named = {name: read_run(path) for name, path in named_runs(runs).items()}
    return correct_all(read_qrels(chosen[0]), read_qrels(chosen[1]), named, wanted)


def _given(assessor: str | None) -> str:
    if assessor is None:
        raise Misuse("--people needs --assessor: whose labels of all queries are corrected?")
    return assessor


def _named(collection: Collection, name: str) -> Path:
    """One of the collection's qrels, or another file."""
    if name not in collection.qrels_names() and Path(name).exists():
        return Path(name)
    return collection.existing_qrels(name)


def correct_all(
    people: Qrels, assessor: Qrels, runs: dict[str, Run], wanted: Wanted
) -> Corrections:
    """Correct every run's mean by every measure."""
    queries = sorted(assessor)
    both = [place for place, query in enumerate(queries) if query in people]
    if len(both) < FEWEST:
        raise BadInput(
            f"people and the assessor share {len(both)} queries; correcting needs {FEWEST} or more"
        )
    labelled = {queries[place]: people[queries[place]] for place in both}
    top = wanted.max_grade or _top_grade(people, assessor)
    rows = []
    for name, run in runs.items():
        unjudged = _unjudged(labelled, assessor, run)
        for measure in parse_all(wanted.measures):
            theirs = np.nan_to_num(evaluate(assessor, run, [measure], max_grade=top).of(measure))
            ours = np.nan_to_num(evaluate(labelled, run, [measure], max_grade=top).of(measure))
            found = correct(ours, theirs, np.array(both), wanted.target)
            rows.append(CorrectedScores(name, str(measure), found, unjudged))
    return Corrections(wanted.target, tuple(rows), tuple(_warnings(people, queries, rows)))


def _top_grade(*sides: Qrels) -> int:
    """The largest grade on either side, 1 at least: both are scored on one scale."""
    return max(
        [1, *(max(grades.values(), default=0) for side in sides for grades in side.values())]
    )


def _unjudged(people: Qrels, assessor: Qrels, run: Run) -> float:
    sides = people, {query: assessor[query] for query in people}
    ours, theirs = (evaluate(side, run, ["Judged@10"]).means()["Judged@10"] for side in sides)
    return max(theirs - ours, 0.0) / theirs if theirs > 0 else 0.0


def _warnings(people: Qrels, queries: list[str], rows: list[CorrectedScores]) -> list[str]:
    found = ["the intervals hold if the queries that people labelled are a random sample of all"]
    extra = len(people.keys() - set(queries))
    if extra:
        found.append(f"{extra} queries that people labelled have no labels of the assessor")
    worst = max(rows, key=lambda row: row.unjudged)
    if worst.unjudged > 0:
        share = f"{worst.unjudged:.1%} of what the assessor did in the top ten of {worst.run}"
        found.append(f"people did not judge {share}, so their scores are too low")
    if worst.unjudged > MOST_UNJUDGED:
        raise BadInput(f"{found[-1]}; correcting needs people's labels of whole queries")
    return found


def as_json(corrections: Corrections) -> dict[str, Any]:
    """What `labeler evaluate --people … --json` prints."""
    rows = [
        {"run": row.run, "measure": row.measure, "unjudged": row.unjudged, **asdict(row.found)}
        for row in corrections.rows
    ]
    return {"target": corrections.target, "scores": rows, "warnings": list(corrections.warnings)}


def table_rows(corrections: Corrections) -> list[list[str]]:
    """A row a run and measure: people alone, the assessor alone, corrected, lambda."""
    return [
        [
            row.run,
            row.measure,
            *(_mean(asdict(mean)) for mean in (row.found.people, row.found.assessor)),
            _mean(asdict(row.found.corrected)),
            f"{row.found.power:.2f}",
        ]
        for row in corrections.rows
    ]


def _mean(mean: dict[str, Any]) -> str:
    if mean["low"] is None:
        return f"{mean['value']:.4f}"
    return f"{mean['value']:.4f} [{mean['low']:.3f}, {mean['high']:.3f}]"
