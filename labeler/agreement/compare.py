"""Every statistic of two raters, with its interval over queries, from aligned labels."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.agreement import intervals
from labeler.agreement.align import Aligned, LeftOut, Other, Rules, align
from labeler.agreement.registry import Statistic, default_names
from labeler.agreement.statistics import find_statistic
from labeler.agreement.suspicion import suspicions
from labeler.agreement.tables import FloatArray, query_tables
from labeler.data import Qrels
from labeler.errors import Misuse

DEFAULT_METHOD = "cluster-bootstrap"
FEW_QUERIES = 25


@dataclass(frozen=True)
class Options:
    """Which statistics (the default ones where `None`), and how their intervals are made."""

    names: Sequence[str] | None = None
    method: str = DEFAULT_METHOD
    draws: int = 1000
    seed: int = 0
    naive: bool = False


@dataclass(frozen=True)
class Naive:
    """The interval over single pairs, and how many times its variance the honest one has."""

    low: float | None
    high: float | None
    design_effect: float | None


@dataclass(frozen=True)
class Estimate:
    """A value with its interval of 95 %; `None` where undefined."""

    value: float | None
    low: float | None
    high: float | None
    method: str
    naive: Naive | None = None


@dataclass(frozen=True)
class Scenario:
    """A statistic, had the other graded what it did not: all as people, or all farthest off."""

    all_agree: float | None
    all_differ: float | None


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far two raters agree; `confusion` has people's grades in rows."""

    pairs: int
    queries: tuple[str, ...]
    scale: tuple[int, ...]
    confusion: FloatArray
    tables: FloatArray
    left_out: LeftOut
    statistics: dict[str, Estimate]
    scenarios: dict[str, Scenario]
    warnings: tuple[str, ...]


def compare_qrels(
    people: Qrels, other: Qrels, rules: Rules | None = None, options: Options | None = None
) -> Agreement:
    """How far `other` agrees with `people`."""
    return compare(align(people, Other(other), rules or Rules()), options or Options(), other)


def compare(aligned: Aligned, options: Options, labels: Labels | None = None) -> Agreement:
    """Compute what the options name; `labels` are looked at for signs of another scale."""
