"""Scores corrected by people: the assessor's grades of all queries, people's of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from labeler.collection.layout import open_collection
from labeler.collection.people import people_path
from labeler.collection.scale import card_top_grade
from labeler.collection.whose import drawn_by_chance, routed_of_file
from labeler.data import Pair
from labeler.errors import BadInput, Misuse, about, check_known
from labeler.evaluation.corrected import (
    Corrections,
    corrected_differences,
    corrected_scores,
    correction_findings,
    scored_by_both,
    selection_findings,
)
from labeler.evaluation.inputs import (
    AnyQrels,
    AnyRuns,
    collection_around,
    folder_of,
    origin_findings,
    pool_from,
    qrels_from,
    qrels_path,
    rank,
    runs_from,
)
from labeler.evaluation.options import (
    DEFAULT_MEASURES,
    CorrectionOptions,
    Scoring,
    Target,
    names_of,
)
from labeler.evaluation.scores import MEANS, counted, qrels_findings, run_findings
from labeler.messages import count_of, no_pair_in_common
from labeler.metrics import parse_all
from labeler.metrics.judged import JudgedPairs
from labeler.report.finding import Finding
from labeler.stats.ppi import FEWEST
from labeler.trec.pairs import PairColumns


def correct(  # noqa: PLR0913 - whoever calls it names the few that are needed
    human: AnyQrels,
    assessor: AnyQrels | None = None,
    runs: AnyRuns | None = None,
    measures: str | Sequence[object] = DEFAULT_MEASURES,
    *,
    target: Target = "like-these",
    baseline: str | None = None,
    max_grade: int | None = None,
) -> Corrections:
    """Correct the scores that an assessor's grades give, by people's grades of some queries.

    `assessor` has the grades of all queries, `human` those of a random sample of them, each judged
    as a whole. Qrels and runs are taken as by `evaluate`; a collection alone stands for its human
    qrels, the only other ones, and its runs. `target` is the mean over `these` queries, or over
    all that are `like-these`.

    >>> import labeler
    >>> queries = [f"q{n}" for n in range(8)]
    >>> assessor = {q: {"d1": n % 2, "d2": 1} for n, q in enumerate(queries)}
    >>> human = {q: {"d1": n % 2, "d2": n % 3 // 2} for n, q in enumerate(queries[:6])}
    >>> run = {q: {"d1": 2.0, "d2": 1.0} for q in queries}
    >>> means = labeler.correct(human, assessor, run, "P@2").scores[0].means
    >>> means.judged, means.queries
    (6, 8)
    >>> [round(mean.value, 3) for mean in (means.human, means.assessor, means.corrected)]
    [0.417, 0.75, 0.417]
    """
    options = CorrectionOptions(names_of(measures), Scoring(max_grade=max_grade), baseline, target)
    return corrections_of(human, assessor, runs, options)


def corrections_of(
    human: AnyQrels, assessor: AnyQrels | None, runs: AnyRuns | None, options: CorrectionOptions
) -> Corrections:
    """The corrections of `correct`, with its options in one place."""
    with about("measures"):
        for measure in (measures := parse_all(options.measures)):
            if measure.definition.summary not in MEANS or measure.name == "Judged":
                problem = "is no mean over queries that grades decide; such means can be corrected"
                raise Misuse(f"{measure} {problem}")
    runs_by_name = runs_from(runs, human)
    if options.baseline is not None:
        check_known("run", options.baseline, runs_by_name, "baseline")
    if assessor is None:
        folder = folder_of(human)
        if folder is None:
            raise Misuse("whose grades of all queries are to be corrected?", parameter="assessor")
        human, assessor = qrels_of_both(folder)
    findings: list[Finding] = []
    pools = by_human, by_assessor = _pools(human, assessor, findings)
    beside = collection_around(assessor)  # all scales of the collection count
    top = None if beside is None else card_top_grade(beside.folder)
    scoring = options.scoring.with_top_grade(top)
    findings += qrels_findings(by_assessor, measures, scoring, may_skip=False)
    scoring = scoring.with_top_grade(max(1, by_human.max_grade, by_assessor.max_grade))
    runs_by_both = []
    for name, run in runs_by_name.items():
        (by_people, _), (ranked, facts) = (rank(run, pool) for pool in pools)
        findings += run_findings(name, by_assessor, facts, scoring)
        runs_by_both.append(
            scored_by_both(name, counted(by_people, scoring), counted(ranked, scoring), measures)
        )
    scores = corrected_scores(runs_by_both, measures, options.target)
    findings += correction_findings(runs_by_both, scores)
    findings += selection_findings(runs_by_both, by_assessor, measures)
    findings += origin_findings(assessor)
    differences = corrected_differences(runs_by_both, measures, options.baseline, options.target)
    return Corrections(options.target, tuple(scores), tuple(differences), tuple(findings))


def qrels_of_both(
    folder: Path, human: str | None = None, assessor: str | None = None
) -> tuple[Path, Path]:
    """Two qrels of a collection by their names, or other files: people's, and the assessor's.

    Those of people are `human`, and the assessor's are the only ones that no sheet of people's
    gave, where no name is given.
    """
    collection = open_collection(folder)
    human = human or "human"
    own = collection.qrels_names()
    others = [
        name
        for name in own
        if name not in {human, "human"} and not people_path(collection.folder, name).exists()
    ]

    def path_of(name: str) -> Path:
        if name not in own and Path(name).exists():
            return Path(name)
        return collection.existing_qrels(name)

    by_people = path_of(human)
    if not assessor and len(others) != 1:
        listed = ", ".join(others) or "none"
        raise Misuse(
            f"whose grades of all queries are to be corrected? there are: {listed}",
            parameter="assessor",
        )
    return by_people, path_of(assessor or others[0])


def _pools(
    human: AnyQrels, assessor: AnyQrels, findings: list[Finding]
) -> tuple[JudgedPairs, JudgedPairs]:
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
        ids = dict.fromkeys(by_assessor.queries, ())
        raise BadInput(no_pair_in_common(name, grades, by_assessor.name, ids))
    if len(shared) < FEWEST:
        raise BadInput(
            f"{name} and {by_assessor.name} share {count_of(len(shared), 'query')}; "
            f"correcting needs {FEWEST} or more"
        )
    if extra := len(grades) - len(shared):
        judged = count_of(extra, "query that people judged has", "queries that people judged have")
        warn(f"{judged} no grades of the assessor")
    return JudgedPairs.of(PairColumns.of(shared, np.int32), name), by_assessor
