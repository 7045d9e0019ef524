"""How far labels agree: statistics of contingency tables, and intervals over queries.

found = compare_qrels(people, llm)
found.statistics["kappa"].value, found.statistics["kappa"].low, found.left_out
"""

from labeler.agreement.align import Rules
from labeler.agreement.compare import Agreement, StatisticOptions, compare_qrels

__all__ = ["Agreement", "Rules", "StatisticOptions", "compare_qrels"]
