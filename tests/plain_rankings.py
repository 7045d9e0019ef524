"""Rankings as their definition reads, query by query: what the columns are held against."""

import numpy as np

from labeler.data import Qrels, Run
from labeler.metrics import Rankings


def plain_rankings(qrels: Qrels, run: Run) -> Rankings:
    """A run's rankings of the queries of the qrels: by score, then by id, both descending."""
    queries = sorted(query for query, grades in qrels.items() if grades)
    entries, pool = [], []
    for number, query in enumerate(queries):
        scores, grades = run.get(query, {}), qrels[query]
        ranked = sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)
        entries += [(number, rank, grades[doc]) for rank, doc in enumerate(ranked) if doc in grades]
        pool += [(number, grade) for grade in sorted(grades.values(), reverse=True)]
    query, rank, grade = zip(*entries, strict=True) if entries else ((), (), ())
    return Rankings(
        tuple(queries),
        np.array([len(run.get(query, ())) for query in queries], dtype=np.int64),
        *(np.array(column, dtype=np.int64) for column in (query, rank, grade)),
        *(np.array(column, dtype=np.int64) for column in zip(*pool, strict=True)),
        max_grade=max([1, *(grade for _, grade in pool)]),
    )
