"""Scores corrected by people: the assessor's labels on all queries, people's on some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.collection.choose import named_runs
from labeler.collection.layout import Collection, open_collection
from labeler.collection.people import people_path
from labeler.collection.scale import card_top_grade
from labeler.errors import BadInput, Misuse
from labeler.evaluation.compare import MEANS, UNBOUNDED
from labeler.evaluation.corrected import CorrectedDifference, CorrectedScores, Corrections, unused
from labeler.evaluation.evaluate import Options, chosen
from labeler.evaluation.warnings import qrels_warnings, run_warnings
from labeler.messages import no_pair_in_common
from labeler.metrics import Measure, Rankings, parse_all, score
from labeler.stats.ppi import FEWEST, TARGETS, Corrected, Mean, correct_together
from labeler.stats.randomization import holm
from labeler.trec.qrels import read_qrels
from labeler.trec.rankings import Pool, pool_of, read_pool, read_rankings

MOST_UNJUDGED = 0.2
"""With a larger share of documents that people left out, their scores say nothing."""
FEW_LABELLED = 15
NOT_OF_GRADES = {
    "LGTM": "is a person's verdict",
    "Judged": "says how much is judged, not what it is worth",
    "RBPresidual": "says how much is unjudged, not what it is worth",
}


@dataclass(frozen=True)
class Wanted:
    """Which means to correct, scored how, and over what queries."""

    options: Options
    target: str

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise Misuse(f"no target {self.target!r}; known: {', '.join(TARGETS)}")
        for measure in parse_all(self.options.measures):
            if measure.definition.summary not in MEANS:
                raise Misuse(f"{measure} is no mean over queries; --people corrects means alone")
            if measure.name in NOT_OF_GRADES:
                raise Misuse(
                    f"{measure} {NOT_OF_GRADES[measure.name]}; there is nothing to correct"
                )


@dataclass(frozen=True)
class _Side:
    """One run by both: its queries, the places of those that people labelled, and scores.

    `people` are `(measures, labelled)`, `assessor` `(measures, queries)`.
    """

    run: str
    queries: tuple[str, ...]
    labelled: Integers
    people: Floats
    assessor: Floats
    unjudged: float


def correct_files(
    paths: Sequence[Path], people: str, assessor: str | None, wanted: Wanted
) -> Corrections:
    """Correct the runs of a collection, `people` and `assessor` naming its qrels; or of files.

    The files are runs, after the assessor's qrels where `assessor` is not given.
    """
    runs = list(paths)
    if paths[0].is_dir():
        collection = open_collection(paths[0])
        if wanted.options.max_grade is None:
            top = card_top_grade(paths[0])
            wanted = replace(wanted, options=replace(wanted.options, max_grade=top))
        runs = [collection.run(name) for name in collection.run_names()]
        named = people, assessor or _only_other(collection, people)
        sides = [_named(collection, name) for name in named]
    elif assessor is None:
        sides, runs = [Path(people), paths[0]], runs[1:]
    else:
        sides = [Path(people), Path(assessor)]
    if not runs:
        raise Misuse("no run to score; as in: labeler evaluate LLM.qrels RUN --people HUMAN.qrels")
    return _correct(sides[0], sides[1], named_runs(runs), wanted)


def _only_other(collection: Collection, people: str) -> str:
    """The one set of labels that is not people's."""
    folder, ours = collection.folder, {people, "human"}
    names = [name for name in collection.qrels_names() if name not in ours]
    names = [name for name in names if not people_path(folder, name).exists()]
    if len(names) != 1:
        known = ", ".join(names) or "none"
        ask = "--people needs --assessor: whose labels of all queries are corrected?"
        raise Misuse(f"{ask} there are: {known}")
    return names[0]


def _named(collection: Collection, name: str) -> Path:
    """One of the collection's qrels, or another file."""
    if name not in collection.qrels_names() and Path(name).exists():
        return Path(name)
    return collection.existing_qrels(name)


def _correct(people: Path, assessor: Path, runs: Mapping[str, Path], wanted: Wanted) -> Corrections:
    options, warnings = wanted.options, list[str]()
    if options.baseline is not None and options.baseline not in runs:
        raise Misuse(f"no run {options.baseline!r} for a baseline; runs: {', '.join(runs)}")
    measures = parse_all(options.measures)
    whole, labelled = read_pool(assessor, warnings.append), read_qrels(people, warnings.append)
    extra = len(labelled.keys() - set(whole.queries))
    some = {query: labelled[query] for query in whole.queries if query in labelled}
    if not some:
        ids = dict.fromkeys(whole.queries, ())
        raise BadInput(no_pair_in_common(str(people), labelled, str(assessor), ids))
    if len(some) < FEWEST:
        shared = f"{people} and {assessor} share {len(some)} queries"
        raise BadInput(f"{shared}; correcting needs {FEWEST} or more")
    part = pool_of(some)
    top = options.max_grade or max(whole.max_grade, part.max_grade, 1)
    options = replace(options, max_grade=top)
    warnings += qrels_warnings(whole, measures, skipped=False, max_grade=wanted.options.max_grade)
    sides = []
    for named in runs.items():
        side, more = _side(named, (part, whole), measures, options)
        sides.append(side)
        warnings += more
    rows = [row for i in range(len(measures)) for row in _rows(sides, i, measures[i], wanted)]
    rows.sort(key=lambda row: list(runs).index(row.run))
    warnings += _warnings(len(some), extra, sides)
    warnings += [*_exact(rows), *unused(rows)]
    paired = _common(sides, warnings)
    compared = tuple(_comparisons(paired, measures, wanted)) if len(sides) > 1 else ()
    return Corrections(wanted.target, tuple(rows), compared, tuple(warnings))


def _side(
    named: tuple[str, Path],
    pools: tuple[Pool, Pool],
    measures: Sequence[Measure],
    options: Options,
) -> tuple[_Side, list[str]]:
    """One run scored by both, and warnings; a query that it lacks scores 0, or is left out."""
    name, path = named
    (ours, _), (theirs, facts) = (read_rankings(path, pool, options.ties) for pool in pools)
    warnings = run_warnings(name, pools[1], facts)
    ours, theirs = (_chosen(name, ranked, options) for ranked in (ours, theirs))
    place = {query: i for i, query in enumerate(theirs.queries)}
    people, assessor = (score(ranked, measures).values for ranked in (ours, theirs))
    for measure, *rows in zip(measures, people, assessor, strict=True):
        if any(np.isnan(row).any() for row in rows):
            problem = f"{name}: {measure} is undefined for some queries, so its mean is of others"
            raise BadInput(f"{problem} with each side's labels; nothing can be corrected")
    labelled = np.array([place[query] for query in ours.queries])
    unjudged = _unjudged(ours, theirs, labelled)
    return _Side(name, theirs.queries, labelled, people, assessor, unjudged), warnings


def _chosen(name: str, ranked: Rankings, options: Options) -> Rankings:
    found = chosen(ranked, options)
    if found.n < FEWEST:
        raise BadInput(f"{name} has {found.n} of the labelled queries; correcting needs {FEWEST}")
    return found


def _unjudged(ours: Rankings, theirs: Rankings, labelled: Integers) -> float:
    judged = ["Judged@10"]
    mine = np.nan_to_num(score(ours, judged).values[0]).mean()
    other = np.nan_to_num(score(theirs, judged).values[0])[labelled].mean()
    return float(max(other - mine, 0.0) / other) if other > 0 else 0.0


def _rows(
    sides: Sequence[_Side], place: int, measure: Measure, wanted: Wanted
) -> Iterator[CorrectedScores]:
    """Every run by one measure, each with its own lambda."""
    for group in _alike(sides):
        found = _together(group, [(s.people[place], s.assessor[place]) for s in group], wanted)
        for side, corrected in zip(group, found, strict=True):
            theirs = side.assessor[place].tolist()
            ours = dict(zip(side.labelled.tolist(), side.people[place].tolist(), strict=True))
            scores = {q: (ours.get(i), theirs[i]) for i, q in enumerate(side.queries)}
            kept = corrected if measure.name in UNBOUNDED else _within(corrected)
            yield CorrectedScores(side.run, str(measure), kept, side.unjudged, scores)


def _within(found: Corrected) -> Corrected:
    """The figures with no interval beyond 0 and 1, between which the measure's means lie."""

    def kept(mean: Mean) -> Mean:
        if mean.low is None or mean.high is None:
            return mean
        return Mean(mean.value, max(mean.low, 0.0), max(min(mean.high, 1.0), mean.value))

    people, assessor, corrected = map(kept, (found.people, found.assessor, found.corrected))
    return replace(found, people=people, assessor=assessor, corrected=corrected)


def _alike(sides: Sequence[_Side]) -> list[list[_Side]]:
    groups: dict[tuple[str, ...], list[_Side]] = {}
    for side in sides:
        groups.setdefault(side.queries, []).append(side)
    return list(groups.values())


def _together(
    group: Sequence[_Side], scores: Sequence[tuple[Floats, Floats]], wanted: Wanted
) -> list[Corrected]:
    people, assessor = (np.array(rows) for rows in zip(*scores, strict=True))
    return correct_together(people, assessor, group[0].labelled, wanted.target)


def _common(sides: Sequence[_Side], warnings: list[str]) -> list[_Side]:
    """The sides over the queries that all of them have."""
    if len(_alike(sides)) == 1:
        return list(sides)
    shared = set(sides[0].queries).intersection(*(side.queries for side in sides))
    warnings.append(f"runs are compared over the {len(shared)} queries that all of them have")
    return [_restricted(side, shared) for side in sides]


def _restricted(side: _Side, queries: set[str]) -> _Side:
    kept = np.array([query in queries for query in side.queries])
    labelled = kept[side.labelled]
    if labelled.sum() < FEWEST:
        raise BadInput(f"the runs share fewer than {FEWEST} labelled queries; --missing zero")
    return _Side(
        side.run,
        tuple(query for query in side.queries if query in queries),
        (np.cumsum(kept) - 1)[side.labelled[labelled]],
        side.people[:, labelled],
        side.assessor[:, kept],
        side.unjudged,
    )


def _comparisons(
    sides: Sequence[_Side], measures: Sequence[Measure], wanted: Wanted
) -> Iterator[CorrectedDifference]:
    """All runs against the baseline: the one asked for, else the best corrected one."""
    first = [row.found.corrected.value for row in _rows(sides, 0, measures[0], wanted)]
    sign = -1 if measures[0].definition.lower_is_better else 1
    best = sides[int(np.argmax(np.array(first) * sign))].run
    name = wanted.options.baseline or best
    base = next(side for side in sides if side.run == name)
    others = [side for side in sides if side.run != name]
    for i, measure in enumerate(measures):
        scores = [(s.people[i] - base.people[i], s.assessor[i] - base.assessor[i]) for s in others]
        found = _together(others, scores, wanted)
        p = np.array([one.chance for one in found])
        lower = measure.definition.lower_is_better
        for side, one, own, corrected in zip(others, found, p, holm(p), strict=True):
            pair = side.run, name, str(measure)
            yield CorrectedDifference(*pair, one, float(own), float(corrected), lower)


def _exact(rows: Sequence[CorrectedScores]) -> list[str]:
    """Where an interval has no width though queries are unlabelled."""
    found = (f"{row.run}'s {row.measure}" for row in rows if _is_exact(row.found))
    named = ", ".join(found)
    why = "the assessor's scores foretell people's exactly, or never vary, on the labelled queries"
    return [f"{named}: an interval of no width is no certainty; {why}"] if named else []


def _is_exact(found: Corrected) -> bool:
    mean = found.corrected
    width = (mean.high or 0.0) - (mean.low or 0.0)
    return mean.low is not None and width < 1e-9 and found.labelled < found.queries


def _warnings(labelled: int, extra: int, sides: Sequence[_Side]) -> list[str]:
    found = ["the intervals hold if the queries that people labelled are a random sample of all"]
    if labelled < FEW_LABELLED:
        found.append(
            f"people labelled only {labelled} queries: on TREC DL 2019 with 10 of 43, corrected "
            "intervals held the truth 90 to 96 times of 100, people's alone 92 to 95"
        )
    if extra:
        what = "query" if extra == 1 else "queries"
        found.append(f"{extra} {what} that people labelled have no labels of the assessor")
    worst = max(sides, key=lambda side: side.unjudged)
    if worst.unjudged > 0:
        share = f"{worst.unjudged:.1%} of what the assessor did in the top ten of {worst.run}"
        found.append(f"people did not judge {share}, so their scores are too low")
    if worst.unjudged > MOST_UNJUDGED:
        raise BadInput(f"{found[-1]}; correcting needs people's labels of whole queries")
    return found
