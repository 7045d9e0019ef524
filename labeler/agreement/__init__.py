"""How far labels agree: statistics of contingency tables, and intervals over queries.

agreement = compare_labels(people, llm)
agreement.statistics["kappa"].value, agreement.left_out
"""

from labeler.agreement.align import Rules
from labeler.agreement.compare import Agreement, StatisticOptions, compare_labels

__all__ = ["Agreement", "Rules", "StatisticOptions", "compare_labels"]
