"""Fit the `similarity` judge's cut points on MedQuAD x LiveQA-Med, and measure the judge.

    python scripts/fit_similarity.py MEDQUAD/ [CHORUS/]

The directories are what `labeler fetch medquad` and `labeler fetch chorus` make. The cut points
are the three that maximise the sum of unweighted and quadratic kappa on MedQuAD (either alone
merges grades), found by trying all triples of a grid; Chorus takes no part and stays a test.
Prints the cut points, and for each collection the agreement with people under them, with
intervals over queries.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np

from labeler.agreement.compare import StatisticOptions, compare_qrels
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.models.embedded import CUTS, cosine_of, similarity_grade, similarity_score
from labeler.text.terms import TermStatistics, encode, matched_share, terms, text_to_search
from labeler.trec.qrels import read_qrels

STATISTICS = ["agreement", "kappa", "kappa-quadratic"]
GRID = np.arange(0.10, 1.00, 0.01)
Scored = dict[tuple[str, str], tuple[float, int]]
"""Pair to score and people's grade."""


def scored(folder: Path) -> Scored:
    collection = Collection(folder)
    documents, queries = read_corpus(collection.corpus), read_queries(collection.queries)
    people = read_qrels(collection.qrels("human"))
    statistics = TermStatistics.of(terms(text_to_search(d)) for d in documents.values())
    cosine = cosine_of(encode)
    found: Scored = {}
    for query_id, grades in people.items():
        wanted, text = terms(queries[query_id].text), queries[query_id].text
        for doc_id, grade in grades.items():
            passage = text_to_search(documents[doc_id])
            share = matched_share(wanted, terms(passage), statistics)
            found[query_id, doc_id] = similarity_score(cosine(text, passage), share), grade
    return found


DISTANCE = np.subtract.outer(np.arange(4), np.arange(4))


def kappas(one: np.ndarray, other: np.ndarray) -> float:
    """The sum of unweighted and quadratic kappa."""
    table = np.bincount(4 * one + other, minlength=16).reshape(4, 4) / len(one)
    chance = np.outer(table.sum(1), table.sum(0))
    weights = (DISTANCE != 0, DISTANCE**2)
    return float(sum(1 - (w * table).sum() / (w * chance).sum() for w in weights))


def fitted(pairs: Scored) -> tuple[float, ...]:
    scores, people = (np.array(column) for column in zip(*pairs.values(), strict=True))
    triples = itertools.combinations(GRID.round(2), 3)
    return max(triples, key=lambda cuts: kappas(people, np.digitize(scores, cuts)))


def report(name: str, pairs: Scored, cuts: tuple[float, ...]) -> None:
    people: dict[str, dict[str, int]] = {}
    judge: dict[str, dict[str, int]] = {}
    for (query_id, doc_id), (score, grade) in pairs.items():
        people.setdefault(query_id, {})[doc_id] = grade
        judge.setdefault(query_id, {})[doc_id] = similarity_grade(score, cuts)
    found = compare_qrels(people, judge, options=StatisticOptions(STATISTICS))
    for statistic, e in found.statistics.items():
        print(
            f"{name}  {statistic:16} {e.value:.3f}  [{e.low:.3f}, {e.high:.3f}]  {len(pairs)} pairs"
        )


def main(medquad: str, *others: str) -> None:
    pairs = scored(Path(medquad))
    cuts = tuple(map(float, fitted(pairs)))
    print(f"cut points: {', '.join(f'{cut:.2f}' for cut in cuts)}; shipped: {CUTS}")
    for name, found in [(medquad, pairs), *((o, scored(Path(o))) for o in others)]:
        report(name, found, cuts)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
