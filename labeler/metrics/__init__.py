"""Measures of a ranking against qrels: pure functions in a registry.

scores = evaluate(qrels, run, ["nDCG@10", "AP"])
scores.means()["nDCG@10"], scores.per_query()["q1"]["AP"], scores.frame()
"""

from labeler.metrics import measures  # noqa: F401 - they fill the registry
from labeler.metrics.judged import JudgedPairs, rankings
from labeler.metrics.rankings import Rankings
from labeler.metrics.registry import MEASURES, Measure, parse, parse_all
from labeler.metrics.scores import Scores, evaluate, score

__all__ = [
    "MEASURES",
    "JudgedPairs",
    "Measure",
    "Rankings",
    "Scores",
    "evaluate",
    "parse",
    "parse_all",
    "rankings",
    "score",
]
