"""The queries of a collection as a distribution, with which the traffic is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats
from labeler.collection.layout import Collection
from labeler.data import Query
from labeler.queries.traffic import normalized
from labeler.text.vectors import Encoder
from labeler.trec.qrels import read_qrels

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class EvaluationSet:
    """The evaluation's queries: their ids, texts folded, vectors, and weights that sum to 1."""

    ids: tuple[str, ...]
    folded: frozenset[str]
    vectors: Vectors
    weights: Floats

    @classmethod
    def of(cls, queries: Mapping[str, Query], encoder: Encoder) -> EvaluationSet:
        """The queries of a collection, by their weights where all of them have one."""
        texts = [query.text for query in queries.values()]
        weights = [query.metadata.get("weight") for query in queries.values()]
        raw = np.array([w if isinstance(w, int | float) and w > 0 else 0.0 for w in weights])
        raw = raw if (raw > 0).all() else np.ones(len(texts))
        folded = frozenset(normalized(text).casefold() for text in texts)
        shares = np.asarray(raw / raw.sum(), dtype=np.float64)
        return cls(tuple(queries), folded, encoder.queries(texts), shares)


def answered_queries(collection: Collection, names: tuple[str, ...]) -> set[str]:
    """The queries for which some set of grades has a relevant document: a grade of 1 or more."""
    answered = set[str]()
    for name in names:
        qrels = read_qrels(Path(collection.existing_qrels(name)))
        answered |= {
            query for query, grades in qrels.items() if max(grades.values(), default=0) > 0
        }
    return answered
