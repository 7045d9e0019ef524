"""What is known offline of the systems that a log's variants are: their scores and rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labeler.collection.choose import collection_qrels
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.data import Run
from labeler.errors import Misuse
from labeler.metrics import evaluate
from labeler.monitoring.online.online import OfflineSide
from labeler.report.finding import Finding
from labeler.trec.qrels import read_qrels
from labeler.trec.runs import read_run

MEASURE = "nDCG@10"


def offline_side(
    collection: Collection,
    variants: Sequence[str],
    systems: Mapping[str, str],
    qrels: str | None,
    missing: list[Finding],
) -> OfflineSide:
    """The scores and the rankings of the runs of a collection that are variants of a log.

    `systems` say which run a variant is where they have not one name. What cannot be compared is
    `missing`.
    """
    given = {variant: run for variant, run in systems.items() if variant in variants}
    files = collection.run_files()
    if unknown := sorted(set(given.values()) - files.keys()):
        problem = f"no run {unknown[0]!r}; there are: {', '.join(files) or 'none'}"
        raise Misuse(problem, parameter="system")
    names = sorted({given.get(variant, variant) for variant in variants} & files.keys())
    if len(names) < 2:
        if len(variants) > 1:
            text = "offline and online order: fewer than two variants of the log are runs here"
            missing.append(Finding(text, level="note"))
        return OfflineSide(systems=given)
    try:
        grades = read_qrels(collection_qrels(collection.folder, qrels))
    except Misuse as error:
        missing.append(Finding(f"offline and online order: {error}"))
        return OfflineSide(systems=given)
    runs = {name: read_run(files[name]) for name in names}
    scores = {
        name: {query: values[MEASURE] for query, values in _per_query(grades, run).items()}
        for name, run in runs.items()
    }
    texts = {query.id: query.text for query in read_queries(collection.queries).values()}
    rankings = {
        name: {
            texts[query]: sorted(scored, key=lambda doc: -scored[doc])
            for query, scored in run.items()
            if query in texts
        }
        for name, run in runs.items()
    }
    return OfflineSide(MEASURE, scores, rankings, given)


def _per_query(qrels: dict[str, dict[str, int]], run: Run) -> dict[str, dict[str, float]]:
    return evaluate(qrels, run, [MEASURE]).per_query()
