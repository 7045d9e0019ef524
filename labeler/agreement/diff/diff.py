"""`diff`: what changed between two sets of grades, and whether it brought them closer to people."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from labeler.agreement.agree import AgreeOptions, agree_all
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.diff.agreeing import Agreeing
from labeler.agreement.diff.report import Diff
from labeler.agreement.diff.shares import moves_by_query, shares_moved
from labeler.agreement.memory import RunSources, assessor_of, paths_of, sources_of
from labeler.agreement.sources import JUDGEMENTS, AssessorSource, Sources
from labeler.collection.layout import Collection, open_collection
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.judging.changes import (
    JudgedSet,
    changes_of,
    human_beside,
    judged_in,
    read_set,
    texts_of_queries,
)
from labeler.judging.transitions import State, judged
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.trec.labels import number
from labeler.trec.memory import Source

if TYPE_CHECKING:
    from labeler.evaluation.boards.board import Leaderboard

STATISTICS = ("kappa", "kappa-quadratic", "alpha-ordinal", "agreement", "tau-b", "bias")
FEW_QUERIES = 10


@dataclass(frozen=True)
class DiffOptions:
    """Which statistics of agreement with people are compared, and what ranks the systems."""

    statistics: StatisticOptions = field(default_factory=lambda: StatisticOptions(STATISTICS))
    measure: str = "nDCG@10"


def diff(
    *sources: Source | Collection,
    people: Source | None = None,
    runs: RunSources = (),
    options: DiffOptions | None = None,
) -> Diff:
    """What became of each grade from one set to another: moves, agreement with people, systems.

    `sources` are a collection and the names of two of its sets of judgements (or qrels), or two
    qrels: paths, dicts, DataFrames or rows. `people` are human qrels, or a name of the collection's
    (by default its own, where it has some); `runs` are as of `agree` (by default the collection's).

    >>> before = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1, "d2": 0}}
    >>> after = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1, "d2": 2}}
    >>> changes = diff(before, after)
    >>> changes
    Diff('before' to 'after': 2 of 4 pairs moved)
    >>> changes.up.value, changes.down.value
    (0.25, 0.25)
    """
    return _diff(_sides(sources), people, runs, options or DiffOptions())


def diff_of_sets(
    collection: Collection, names: tuple[str, str], sets: tuple[JudgedSet, JudgedSet]
) -> Diff:
    """The same of two sets of a collection's judgements that were read already."""
    sides = _Sides(names, *sets, names, collection, texts_of_queries(collection))
    return _diff(sides, None, (), DiffOptions())


def _diff(sides: _Sides, people: Source | None, runs: RunSources, options: DiffOptions) -> Diff:
    changes = changes_of(sides.before, sides.after, sides.queries)
    if not changes.pairs:
        raise BadInput(f"{sides.names[0]} and {sides.names[1]} have no pair")
    if people is None and sides.collection is not None:
        people = _people_beside(sides)
    moves = moves_by_query(sides.before.states, sides.after.states)
    compared = None if people is None else _sources(sides, people, runs)
    agreeing = None if compared is None else _agreeing(compared, options)
    findings = [] if agreeing is None else list(agreeing.findings)
    board = _board(sides, _runs(sides, runs) if compared is None else compared.runs, options)
    findings += [] if board is None else board.findings
    return Diff(
        sides.names,
        changes,
        (sides.before, sides.after),
        tuple(sorted(moves, key=lambda query: (-query.moved, query.query_id))),
        *shares_moved(moves, options.statistics),
        agreeing,
        board,
        tuple(dict.fromkeys([*_findings(sides), *findings])),
    )


def _people_beside(sides: _Sides) -> str | None:
    """The human qrels of the collection, where they and either set share a pair."""
    if sides.collection is None or (name := human_beside(sides.collection, *sides.names)) is None:
        return None
    human = read_set(sides.collection, name).states.keys()
    shares = human & sides.before.states.keys() or human & sides.after.states.keys()
    return name if shares else None


class _Sides(NamedTuple):
    """Both sets, with their names, and the sources that they were read from."""

    names: tuple[str, str]
    before: JudgedSet
    after: JudgedSet
    sources: tuple[Any, Any]
    collection: Collection | None = None
    queries: Mapping[str, str] = {}


def _sides(sources: Sequence[Source | Collection]) -> _Sides:
    first = sources[0] if sources else None
    is_path = isinstance(first, str | os.PathLike)
    is_folder = is_path and Path(cast("str", first)).is_dir()
    if isinstance(first, Collection) or is_folder or (is_path and len(sources) == 3):
        return _of_collection(sources)
    if len(sources) != 2:
        raise Misuse("expected two qrels, or a collection and the names of two sets in it")
    named = [
        _named(source, name) for source, name in zip(sources, ("before", "after"), strict=True)
    ]
    if named[0][0] == named[1][0]:
        named = [(f"{name} ({n})", side) for n, (name, side) in enumerate(named, start=1)]
    (before_name, before), (after_name, after) = named
    return _Sides((before_name, after_name), before, after, (sources[0], sources[1]))


def _of_collection(sources: Sequence[Any]) -> _Sides:
    if len(sources) != 3:
        raise Misuse(f"expected two names after {sources[0]}: from which judgements to which?")
    opened = open_collection(sources[0])
    before, after = map(str, sources[1:])
    sets = read_set(opened, before), read_set(opened, after)
    return _Sides((before, after), *sets, (before, after), opened, texts_of_queries(opened))


def _named(source: Any, name: str) -> tuple[str, JudgedSet]:
    """A set that is no collection's, under its file's name."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.name.endswith(JUDGEMENTS):
            return path.name.partition(".jsonl")[0], judged_in(path)
        short = path.name.removesuffix(".gz")
        return short.rpartition(".")[0] or short, _judged_set(assessor_of(source, str(path)))
    return name, _judged_set(assessor_of(source, name))


def _judged_set(source: AssessorSource) -> JudgedSet:
    states = {pair: State(None, status) for pair, status in source.judged.failures.items()}
    for query_id, row in source.judged.labels.items():
        for doc_id, label in row.items():
            value = number(label)
            whole = value is not None and value % 1 == 0
            state = judged(int(value or 0)) if whole else State(None, "out_of_scale")
            states[Pair(query_id, doc_id)] = state
    return JudgedSet(states)


def _sources(sides: _Sides, people: Source, runs: RunSources) -> Sources:
    """What `agree` compares with people, the two sets under their names here."""
    if sides.collection is not None:
        sources = sources_of(os.fspath(sides.collection.folder), [str(people), *sides.names], runs)
    else:
        sources = sources_of(people, sides.sources, runs)
    named = zip(sources.assessors, sides.names, strict=True)
    return replace(sources, assessors=tuple(replace(side, name=name) for side, name in named))


def _agreeing(sources: Sources, options: DiffOptions) -> Agreeing:
    """How far both agree with people."""
    asked = AgreeOptions(statistics=options.statistics, measure=options.measure)
    before, after = agree_all(sources, asked)
    findings = dict.fromkeys([*before.warnings, *after.warnings])
    return Agreeing(sources.human_name, before, after, tuple(findings))


def _runs(sides: _Sides, runs: RunSources) -> Mapping[str, Any]:
    """The runs by name, by default those of the collection."""
    from labeler.collection.choose import run_paths, runs_by_name

    if isinstance(runs, Mapping):
        return runs
    if not runs:
        return {} if sides.collection is None else sides.collection.run_files()
    return runs_by_name(run_paths(paths_of(runs)))


def _board(sides: _Sides, runs: Mapping[str, Any], options: DiffOptions) -> Leaderboard | None:
    """The systems by both sets; `None` where there are fewer than two of them."""
    from labeler.evaluation.leaderboard import leaderboard

    before, after = _grades(sides.before), _grades(sides.after)
    if len(runs) < 2 or not before.keys() & after.keys():
        return None
    return replace(leaderboard(before, after, runs, options.measure), qrels=sides.names)


def _grades(side: JudgedSet) -> Qrels:
    qrels: Qrels = {}
    for pair, state in side.states.items():
        if state.grade is not None:
            qrels.setdefault(pair.query_id, {})[pair.doc_id] = state.grade
    return qrels


def _findings(sides: _Sides) -> list[Finding]:
    """What a reader should know of the shares that moved."""
    both = sides.before.states.keys() & sides.after.states.keys()
    if not both:
        return [Finding("the two sets have no pair in common")]
    queries = len({pair.query_id for pair in both})
    if queries < FEW_QUERIES:
        few = count_of(queries, "query", "queries")
        return [Finding(f"only {few}: how far moves differ from query to query is guessed")]
    return []
