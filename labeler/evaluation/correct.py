"""Scores corrected by people: the assessor's grades of all queries, people's of some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.collection.layout import Collection, open_collection
from labeler.collection.people import (
    HumanAnswer,
    people_path,
    read_people,
    read_sample,
    sample_path,
)
from labeler.collection.scale import card_top_grade
from labeler.collection.user_files import run_paths
from labeler.collection.whose import drawn_by_chance, routed_of_file
from labeler.data import Pair, Qrels, Run
from labeler.errors import BadInput, Misuse, about
from labeler.evaluation.corrected import (
    Corrections,
    ScoredByBoth,
    corrected_differences,
    corrected_scores,
    correction_findings,
    over_common_queries,
    scored_by_both,
    selection_findings,
    turning_finding,
)
from labeler.evaluation.evaluate import check_baseline
from labeler.evaluation.inputs import (
    AnyQrels,
    AnyRuns,
    collection_around,
    folder_of,
    pool_from,
    qrels_from,
    qrels_path,
    rank,
    runs_from,
    short_name,
)
from labeler.evaluation.options import (
    DEFAULT_MEASURES,
    CorrectionOptions,
    Missing,
    Scoring,
    Target,
    names_of,
)
from labeler.evaluation.origin import origin_findings
from labeler.evaluation.paired import MEANS
from labeler.evaluation.scores import common_queries_finding, counted, qrels_findings, run_findings
from labeler.messages import count_of, no_pair_in_common
from labeler.metrics import Measure, Rankings, parse_all, score
from labeler.report.finding import Finding
from labeler.stats.ppi import FEWEST, THESE
from labeler.trec.rankings import Facts, Pool, pool_of

# Scores from grades that people gave to a random sample of pairs, not to whole queries.
#
# A score that is a sum over documents, as P@10 and DCG, can be estimated from some of them: each
# graded document counts for as many as its chance of being drawn says (Horvitz and Thompson 1952,
# JASA 47; for retrieval Yilmaz, Kanoulas and Aslam 2008, SIGIR). What the assessor's grades of the
# same documents would have given is known, too, so that the estimate is corrected by how far its
# scores of all documents lie from that.

ADDITIVE = ("P", "SetP", "CG", "DCG", "RBP")
"""Measures of which each document adds its part, whatever the others' grades are."""
NONE = -1
"""The grade of a document that the assessor did not grade: it adds nothing."""
FEWEST_PAIRS = 2
"""With fewer pairs a query in the mean, some queries may have been drawn and have none."""


@dataclass(frozen=True)
class PairSample:
    """The pairs that people graded, as a random sample of the assessor's.

    `position` says which of the pairs each document of a query is. `chance`, `human` and `assessor`
    hold for each the chance of being drawn once its query is, people's grade and the assessor's; a
    negative grade is none. `pairs` counts the assessor's.
    """

    position: Qrels
    chance: Floats
    human: Integers
    assessor: Integers
    skipped: int
    pairs: int


def pair_sample(human: AnyQrels, by_assessor: Pool) -> PairSample | None:
    """The sample that people's grades are of, where a collection says so; `None` of whole queries.

    `BadInput` where it holds too few pairs for its queries.
    """
    collection, path = collection_around(human), qrels_path(human)
    if collection is None or path is None:
        return None
    answers_path = people_path(collection.folder, short_name(path.name))
    if not answers_path.exists():
        return None
    rows = read_people(answers_path)
    answers = {row.pair: row for row in rows if row.probability is not None}
    drawn = set(answers) | _drawn(collection, {row.sample for row in answers.values()})
    sizes = dict(zip(by_assessor.queries, _sizes(by_assessor), strict=True))
    counts = Counter(pair.query_id for pair in drawn if pair.query_id in sizes)
    if not counts or all(count >= sizes[query] for query, count in counts.items()):
        return None
    pairs = sum(counts.values())
    if pairs < FEWEST_PAIRS * len(counts):
        few = f"{answers_path}: {pairs} pairs of {len(counts)} queries were drawn"
        raise BadInput(f"{few}; correcting needs {FEWEST_PAIRS} of each query, or whole queries")
    graded = [a for a in answers.values() if a.grade is not None and a.pair.query_id in sizes]
    # a query was drawn first, and those that people skipped count as left out at random
    scale = len(sizes) / len(counts) * len(graded) / pairs
    return _sample(graded, scale, by_assessor.qrels, (pairs - len(graded), sum(sizes.values())))


def _drawn(collection: Collection, samples: Iterable[str]) -> set[Pair]:
    """The pairs on the sheets of these samples, as far as the collection still has them."""
    paths = [sample_path(collection.folder, sample) for sample in samples if sample]
    return {row.pair for path in paths if path.exists() for row in read_sample(path)}


def _sizes(pool: Pool) -> list[int]:
    """How many pairs each query has."""
    return list(map(int, np.bincount(pool.query, minlength=len(pool.queries))))


def _sample(
    graded: Sequence[HumanAnswer], scale: float, grades: Qrels, counts: tuple[int, int]
) -> PairSample:
    position: Qrels = {}
    for number, answer in enumerate(graded):
        position.setdefault(answer.pair.query_id, {})[answer.pair.doc_id] = number
    chance = np.array([answer.probability for answer in graded], dtype=np.float64) * scale
    by_people = np.array([answer.grade for answer in graded])
    by_assessor = [grades[a.pair.query_id].get(a.pair.doc_id, NONE) for a in graded]
    return PairSample(position, np.minimum(chance, 1.0), by_people, np.array(by_assessor), *counts)


def check_additive(measures: Sequence[Measure], target: str) -> None:
    """`Misuse` where grades of single pairs do not tell the mean of a measure, or of the target."""
    for measure in measures:
        if measure.name not in ADDITIVE or measure.judged_only:
            problem = f"{measure} is no sum over documents, and people graded single pairs"
            raise Misuse(f"{problem}; {', '.join(ADDITIVE)} are", parameter="measures")
    if target == THESE:
        problem = "people graded single pairs, which tell of queries like these alone"
        raise Misuse(problem, parameter="target")


def scored_by_pairs(
    name: str,
    by_sample: Rankings,
    by_assessor: Rankings,
    sample: PairSample,
    measures: Sequence[Measure],
) -> ScoredByBoth:
    """One run's scores estimated from the sample, and by the assessor's grades of all pairs.

    `by_sample` are its rankings of the sample's documents, whose grades are their positions.
    """
    if by_sample.n < FEWEST:
        has = f"{name} has {by_sample.n} of the queries of which people graded pairs"
        raise BadInput(f"{has}; correcting needs {FEWEST}")
    weight = 1 / sample.chance[by_sample.grade]
    human, sampled = (
        _estimates(by_sample, grades[by_sample.grade], weight, by_assessor.max_grade, measures)
        for grades in (sample.human, sample.assessor)
    )
    position = {query: i for i, query in enumerate(by_assessor.queries)}
    judged = np.array([position[query] for query in by_sample.queries])
    assessor = score(by_assessor, measures).values
    return ScoredByBoth(name, by_assessor.queries, judged, human, assessor, 0.0, sampled)


def _estimates(
    r: Rankings, grades: Integers, weight: Floats, max_grade: int, measures: Sequence[Measure]
) -> Floats:
    """`(measures, queries)`: the sums of each query's documents, each for as many as it weighs."""
    alone = _each_alone(r, grades, max_grade)
    rows = [
        np.bincount(r.query, weights=measure.per_query(alone) * weight, minlength=r.n)
        for measure in measures
    ]
    return np.array(rows, dtype=np.float64)


def _each_alone(r: Rankings, grades: Integers, max_grade: int) -> Rankings:
    """Rankings of one judged document each, where it stands: what it adds to its query's score."""
    each = np.arange(len(grades))
    return Rankings(
        queries=tuple(map(str, each.tolist())),
        retrieved=r.retrieved[r.query],
        query=each,
        rank=r.rank,
        grade=grades,
        score=r.score,
        pool_query=each,
        pool_grade=grades,
        max_grade=max_grade,
    )


def sample_findings(sample: PairSample) -> Iterator[Finding]:
    """How many pairs people graded, and how many they were to grade and did not."""
    graded, queries = len(sample.human), len(sample.position)
    some = count_of(graded, "pair", "pairs")
    yield Finding(
        f"people graded {some} of {sample.pairs:,}, drawn with known chances from {queries}"
        " queries; the mean over all queries like these",
        level="note",
    )
    if sample.skipped:
        skipped = count_of(sample.skipped, "drawn pair has", "drawn pairs have")
        yield Finding(f"{skipped} no grade of people: taken for a random part of the sample")


NOT_OF_GRADES = {
    "Judged": "says how much is judged, not what it is worth",
    "RBPresidual": "says how much is unjudged, not what it is worth",
}


def correct(  # noqa: PLR0913 - whoever calls it names the few that are needed
    human: AnyQrels,
    assessor: AnyQrels | None = None,
    runs: AnyRuns | None = None,
    measures: str | Sequence[object] = DEFAULT_MEASURES,
    *,
    target: Target = "like-these",
    baseline: str | None = None,
    missing: Missing = "zero",
    max_grade: int | None = None,
) -> Corrections:
    """Correct the scores that an assessor's grades give, by people's grades of some queries.

    `assessor` has the grades of all queries, `human` those of a random sample of them, each judged
    as a whole, or of pairs that a collection drew, for measures that add up over documents. Qrels
    and runs are taken as by `evaluate`; a collection alone stands for its human qrels, the only
    other ones, and its runs. `target` is the mean over `these` queries, or over all that are
    `like-these`.

    >>> import labeler
    >>> queries = [f"q{n}" for n in range(8)]
    >>> assessor = {q: {"d1": n % 2, "d2": 1} for n, q in enumerate(queries)}
    >>> human = {q: {"d1": n % 2, "d2": n % 3 // 2} for n, q in enumerate(queries[:6])}
    >>> run = {q: {"d1": 2.0, "d2": 1.0} for q in queries}
    >>> corrections = labeler.correct(human, assessor, run, "P@2")
    >>> corrections
    Corrections(runs=[run], measures=[P@2], human=6 of 8 queries)
    >>> means = corrections.scores[0].means
    >>> [round(mean.value, 3) for mean in (means.human, means.assessor, means.corrected)]
    [0.417, 0.75, 0.417]
    """
    scoring = Scoring(missing, max_grade=max_grade)
    options = CorrectionOptions(names_of(measures), scoring, baseline, target)
    return corrections_of(human, assessor, runs, options)


def corrections_of(
    human: AnyQrels, assessor: AnyQrels | None, runs: AnyRuns | None, options: CorrectionOptions
) -> Corrections:
    """The corrections of `correct`, with its options in one place."""
    measures, runs_by_name = _means(options.measures), runs_from(runs, human)
    check_baseline(options.baseline, runs_by_name)
    if assessor is None:
        human, assessor = qrels_of_both(_collection_of(human))
    findings: list[Finding] = []
    pools = by_human, by_assessor = _pools(human, assessor, findings)
    scoring = options.scoring.with_top_grade(_top_grade_beside(assessor))
    findings += qrels_findings(by_assessor, measures, scoring, may_skip=False)
    scoring = scoring.with_top_grade(max(1, by_human.max_grade, by_assessor.max_grade))
    sample = pair_sample(human, by_assessor)
    if sample is not None:
        check_additive(measures, options.target)
        pools = pool_of(sample.position, by_human.name), by_assessor
    runs_by_both = []
    for name, run in runs_by_name.items():
        rankings, facts = _rank_by_both(run, pools, scoring)
        findings += run_findings(name, by_assessor, facts, scoring)
        if sample is None:
            runs_by_both.append(scored_by_both(name, *rankings, measures))
        else:
            runs_by_both.append(scored_by_pairs(name, *rankings, sample, measures))
    scores = corrected_scores(runs_by_both, measures, options.target)
    if sample is None:
        findings += correction_findings(runs_by_both, scores)
    comparable = over_common_queries(runs_by_both)
    if len(comparable[0].queries) < max(len(both.queries) for both in runs_by_both):
        findings.append(common_queries_finding(len(comparable[0].queries)))
    findings += selection_findings(runs_by_both, by_assessor, measures)
    differences = corrected_differences(comparable, measures, options.baseline, options.target)
    comparisons = tuple(differences)
    findings += turning_finding(comparisons)
    findings += origin_findings(assessor)
    findings[:0] = [] if sample is None else sample_findings(sample)
    results = tuple(scores), comparisons, tuple(findings)
    return Corrections(options.target, *results, None if sample is None else len(sample.human))


def _means(texts: Sequence[str]) -> list[Measure]:
    """The measures; `Misuse` names one whose mean over queries grades alone do not decide."""
    with about("measures"):
        measures = parse_all(texts)
    for measure in measures:
        if measure.definition.summary not in MEANS:
            problem = "is no mean over queries, and means alone can be corrected"
            raise Misuse(f"{measure} {problem}", parameter="measures")
        if measure.name in NOT_OF_GRADES:
            problem = f"{NOT_OF_GRADES[measure.name]}; there is nothing to correct"
            raise Misuse(f"{measure} {problem}", parameter="measures")
    return measures


def _collection_of(human: AnyQrels) -> Path:
    folder = folder_of(human)
    if folder is None:
        raise Misuse("whose grades of all queries are to be corrected?", parameter="assessor")
    return folder


def qrels_of_both(
    folder: Path, human: str | None = None, assessor: str | None = None
) -> tuple[Path, Path]:
    """Two qrels of a collection by their names, or other files: people's, and the assessor's.

    Those of people are `human`, and the assessor's are the only ones that no sheet of people's
    gave, where no name is given.
    """
    collection = open_collection(folder)
    human = human or "human"
    by_people = _qrels_path(collection, human)
    return by_people, _qrels_path(collection, assessor or _only_assessor(collection, human))


def files_of_correction(
    paths: Sequence[Path], human: str | None = None, assessor: str | None = None
) -> tuple[Path, Path, Sequence[Path] | Collection]:
    """People's qrels, the assessor's, and runs: files in this order, or those of a collection.

    `human` and `assessor` name the qrels of a collection.
    """
    first, *rest = paths
    if first.is_dir():
        if rest:
            problem = "is a collection, whose runs are in its folder; no others, please"
            raise Misuse(f"{first} {problem}")
        return *qrels_of_both(first, human, assessor), Collection(first)
    for parameter, name in (("human", human), ("assessor", assessor)):
        if name is not None:
            problem = f"this chooses among the qrels of a collection, and {first} is no folder"
            raise Misuse(problem, parameter=parameter)
    if len(rest) < 2:
        expected = "expected people's qrels, the assessor's and a run or more"
        raise Misuse(f"{expected}; as in: labeler correct HUMAN.qrels LLM.qrels RUN...")
    return first, rest[0], run_paths(rest[1:])


def _only_assessor(collection: Collection, human: str) -> str:
    """The one set of qrels that is not people's."""
    names = [name for name in collection.qrels_names() if name not in {human, "human"}]
    names = [name for name in names if not people_path(collection.folder, name).exists()]
    if len(names) != 1:
        listed = ", ".join(names) or "none"
        problem = f"whose grades of all queries are to be corrected? there are: {listed}"
        raise Misuse(problem, parameter="assessor")
    return names[0]


def _qrels_path(collection: Collection, name: str) -> Path:
    """One of the collection's qrels, or another file."""
    if name not in collection.qrels_names() and Path(name).exists():
        return Path(name)
    return collection.existing_qrels(name)


def _top_grade_beside(assessor: AnyQrels) -> int | None:
    """The top grade of all scales in the collection, where the qrels are a collection's."""
    collection = collection_around(assessor)
    return None if collection is None else card_top_grade(collection.folder)


def _pools(human: AnyQrels, assessor: AnyQrels, findings: list[Finding]) -> tuple[Pool, Pool]:
    """People's grades of the queries that the assessor judged, too, and all of the assessor's."""

    def warn(text: str) -> None:
        findings.append(Finding(text))

    by_assessor = pool_from(assessor, warn, "the assessor's qrels")
    path = qrels_path(human)
    name = str(path or "the human qrels")
    routed = frozenset[Pair]() if path is None else routed_of_file(path)
    grades = drawn_by_chance(qrels_from(human, warn, "the human qrels"), routed, name, warn)
    shared = {query: grades[query] for query in by_assessor.queries if query in grades}
    if not shared:
        ids: dict[str, tuple[str, ...]] = dict.fromkeys(by_assessor.queries, ())
        raise BadInput(no_pair_in_common(name, grades, by_assessor.name, ids))
    if len(shared) < FEWEST:
        few = f"{name} and {by_assessor.name} share {count_of(len(shared), 'query', 'queries')}"
        raise BadInput(f"{few}; correcting needs {FEWEST} or more")
    if extra := len(grades) - len(shared):
        judged = count_of(extra, "query that people judged has", "queries that people judged have")
        findings.append(Finding(f"{judged} no grades of the assessor"))
    return pool_of(shared, name), by_assessor


def _rank_by_both(
    run: Path | Run, pools: tuple[Pool, Pool], scoring: Scoring
) -> tuple[tuple[Rankings, Rankings], Facts]:
    """A run's rankings against both qrels; a query that it lacks scores 0, or is left out."""
    (by_human, _), (by_assessor, facts) = (rank(run, pool) for pool in pools)
    return (counted(by_human, scoring), counted(by_assessor, scoring)), facts
