"""Fit the cut points of `similarity` on MedQuAD x LiveQA-Med, and measure it on other pairs.

    python scripts/fit_similarity.py MEDQUAD/ [CHORUS/]

The directories are what `labeler fetch medquad` and `labeler fetch chorus` make; vectors of
`minilm` are kept in them. For each embedded encoder, the cut points are the three that maximise the
sum of unweighted and quadratic kappa on MedQuAD (either alone merges grades), found by trying all
triples of a grid; Chorus takes no part and stays a test. Prints the cut points, and for each
collection the agreement with people under them, with intervals over queries, and the area under the
ROC curve of relevant pairs by the cosine alone.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from labeler.agreement.compare import StatisticOptions, compare_labels
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.models.embedded import CUTS, similarity_grade, similarity_score
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.settings import EncoderOptions
from labeler.text.terms import TermStatistics, matched_share, terms, text_to_search
from labeler.trec.files import read_qrels

STATISTICS = ["agreement", "kappa", "kappa-quadratic"]
GRID = np.arange(0.10, 1.00, 0.01)
Scored = dict[tuple[str, str], tuple[float, float, int]]
"""Pair to cosine, score and people's grade."""


def scored(folder: Path, encoder: str) -> Scored:
    collection = Collection(folder)
    queries = {q.id: q.text for q in read_queries(collection.queries).values()}
    documents = {i: text_to_search(d) for i, d in read_corpus(collection.corpus).items()}
    texts = EncoderTexts([*documents.values()], [*queries.values()])
    encode = Encoding(EncoderOptions(encoder)).ready(collection.vectors, texts).documents
    vectors = {
        key: dict(zip(some, encode([*some.values()]), strict=True))
        for key, some in (("query", queries), ("document", documents))
    }
    of_document = {doc_id: terms(text) for doc_id, text in documents.items()}
    statistics = TermStatistics.of(of_document.values())
    found: Scored = {}
    for query_id, grades in read_qrels(collection.qrels("human")).items():
        of_query = terms(queries[query_id])
        for doc_id, grade in grades.items():
            cosine = float(vectors["query"][query_id] @ vectors["document"][doc_id])
            share = matched_share(of_query, of_document[doc_id], statistics)
            found[query_id, doc_id] = cosine, similarity_score(cosine, share), grade
    return found


DISTANCE = np.subtract.outer(np.arange(4), np.arange(4))


def kappas(table: np.ndarray) -> float:
    """The sum of unweighted and quadratic kappa."""
    chance = np.outer(table.sum(1), table.sum(0)) / table.sum()
    weights = (DISTANCE != 0, DISTANCE**2)
    return float(sum(1 - (w * table).sum() / (w * chance).sum() for w in weights))


def fitted(pairs: Scored) -> tuple[float, ...]:
    _, scores, people = (np.array(column) for column in zip(*pairs.values(), strict=True))
    below = np.array([[((people == g) & (scores < cut)).sum() for g in range(4)] for cut in GRID])
    total = np.bincount(people, minlength=4)

    def kappas_at(places: tuple[int, ...]) -> float:
        edges = np.array([total * 0, *below[list(places)], total])
        return kappas(np.diff(edges, axis=0).T.astype(float))

    places = max(itertools.combinations(range(len(GRID)), 3), key=kappas_at)
    return tuple(round(float(GRID[place]), 2) for place in places)


def report(name: str, pairs: Scored, cuts: tuple[float, ...]) -> None:
    people: dict[str, dict[str, int]] = {}
    judge: dict[str, dict[str, int]] = {}
    for (query_id, doc_id), (_, score, grade) in pairs.items():
        people.setdefault(query_id, {})[doc_id] = grade
        judge.setdefault(query_id, {})[doc_id] = similarity_grade(score, cuts)
    found = compare_labels(people, judge, options=StatisticOptions(STATISTICS))
    for statistic, e in found.statistics.items():
        print(
            f"{name}  {statistic:16} {e.value:.3f}  [{e.low:.3f}, {e.high:.3f}]  {len(pairs)} pairs"
        )
    cosines, _, grades = zip(*pairs.values(), strict=True)
    print(f"{name}  AUC of cosines   {roc_auc_score(np.array(grades) > 0, cosines):.3f}")


def main(medquad: str, *others: str) -> None:
    for encoder, shipped in CUTS.items():
        pairs = scored(Path(medquad), encoder)
        cuts = fitted(pairs)
        print(
            f"{encoder}: cut points {', '.join(f'{cut:.2f}' for cut in cuts)}; shipped: {shipped}"
        )
        for name in (medquad, *others):
            report(name, scored(Path(name), encoder), cuts)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
