"""The `similarity` judge's rule: a cosine, matched terms and three cut points. Not an LLM."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

TERM_WEIGHT = 0.3
CUTS = (0.38, 0.69, 0.80)
"""Where grades 1, 2 and 3 begin; fitted by `scripts/fit_similarity.py` on MedQuAD x LiveQA-Med."""

GRADES = (0, 1, 2, 3)


def similarity_score(cosine: float, matched: float) -> float:
    """How alike a query and a text are: their vectors' cosine and `TERM_WEIGHT` x matched terms."""
    return cosine + TERM_WEIGHT * matched


def similarity_grade(score: float, cuts: Sequence[float] = CUTS) -> int:
    """The number of cut points that `score` reaches."""
    return bisect_right(cuts, score)
