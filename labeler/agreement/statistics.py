"""Every statistic of two raters, registered: importing this module fills the registry."""

from labeler.agreement import alphas, kappas, rank
from labeler.agreement.registry import (
    ALIASES,
    STATISTICS,
    Statistic,
    default_names,
    find_statistic,
    known_names,
    must_be_known,
)

__all__ = [
    "ALIASES",
    "STATISTICS",
    "Statistic",
    "alphas",
    "default_names",
    "find_statistic",
    "kappas",
    "known_names",
    "must_be_known",
    "rank",
]
