"""Every statistic of two assessors, registered: importing this module fills the registry."""

from labeler.agreement.statistics import alphas, pairwise
from labeler.agreement.statistics.registry import (
    ALIASES,
    STATISTICS,
    Statistic,
    all_names,
    default_names,
    find_statistic,
    parse_name,
)

__all__ = [
    "ALIASES",
    "STATISTICS",
    "Statistic",
    "all_names",
    "alphas",
    "default_names",
    "find_statistic",
    "pairwise",
    "parse_name",
]
