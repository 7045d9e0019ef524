"""Every statistic of two raters, with its interval over queries, from aligned labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.agreement.align import Labels, LeftOut, Other, Rules, align
from labeler.agreement.intervals import METHODS, Ends, Sample, between, naive
from labeler.agreement.registry import NO_PAIRS, Statistic, default_names
from labeler.agreement.statistics import STATISTICS, find_statistic
from labeler.agreement.suspicion import suspicions
from labeler.agreement.tables import FloatArray, Paired, query_tables
from labeler.data import Pair, Qrels
from labeler.errors import Misuse

DEFAULT_METHOD = "cluster-bootstrap"
ALL = "all"
HEADLINE = ("agreement", "kappa", "bias", "spearman", "prevalence", "kappa-max", "ac1")
"""What a summary in words needs, whatever else was asked for."""
IN_GRADES = ("mae", "bias")
"""Statistics that cannot exceed the width of the scale."""
FEW_QUERIES = 25
ORDERS, FEW_FOR_ORDERS = ("tau-b", "spearman"), 35
"""Rank correlations, of which a few odd queries decide more than of the others."""
COVERED_BY_FEW = {
    "cluster-bootstrap": "91 to 97",
    "expanded": "74 to 95",
    "percentile": "74 to 91",
    "bca": "66 to 91",
    "jackknife": "89 to 97",
}
"""Of 100 intervals over 3 to 20 queries, measured by scripts/simulate_coverage.py."""


@dataclass(frozen=True)
class Options:
    """Which statistics (the default ones where `None`), and how their intervals are made."""

    names: Sequence[str] | None = None
    method: str = DEFAULT_METHOD
    draws: int | None = None
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
    """How far two raters agree; `tables` are by query, people's grades in rows.

    `statistics` are those asked for, `headline` those of `HEADLINE`; `unused` names the statistics
    at cuts that no pair lies beyond.
    """

    pairs: int
    queries: tuple[str, ...]
    scale: tuple[int, ...]
    paired: Paired
    tables: FloatArray
    left_out: LeftOut
    statistics: dict[str, Estimate]
    headline: dict[str, Estimate]
    scenarios: dict[str, Scenario]
    warnings: tuple[str, ...]
    unused: frozenset[str] = frozenset()

    @property
    def confusion(self) -> FloatArray:
        """The contingency table of all queries together."""
        return np.asarray(self.tables.sum(axis=0), dtype=np.float64)


def compare_qrels(
    people: Qrels,
    other: Labels,
    rules: Rules | None = None,
    options: Options | None = None,
) -> Agreement:
    """How far `other` agrees with `people`, from the labels as they are."""
    return agree(people, Other(other), rules or Rules(), options or Options())


def agree(
    people: Qrels,
    other: Other,
    rules: Rules,
    options: Options,
    weights: Mapping[Pair, float] | None = None,
) -> Agreement:
    """Every statistic that the options name, with what was left out and what looks wrong."""
    aligned = align(people, other, rules, weights)
    scale, pairs = aligned.pairs.grades, len(aligned.pairs)
    grades = np.array(scale, dtype=np.float64)
    sample = Sample(query_tables(aligned.pairs), options.draws, options.seed)
    chosen = chosen_statistics(options, scale)
    headline = [find_statistic(name, scale) for name in HEADLINE]
    estimates = {s.name: estimate(s, sample, grades, options, pairs) for s in chosen}
    also = {s.name: estimate(s, sample, grades, options, pairs) for s in headline}
    unused = _unused(chosen, sample.total, scale)
    warnings = [
        *_weighted(sample.total, pairs, weights is not None),
        *suspicions(people, other.labels, rules, scale, _surely_below_zero(also["spearman"])),
        *_too_few(len(aligned.pairs.queries), options.method, estimates),
        *_undefined(chosen, estimates, pairs, unused),
        *_without_width(estimates, len(aligned.pairs.queries)),
    ]
    missing = aligned.left_out.missing
    return Agreement(
        pairs,
        aligned.pairs.queries,
        scale,
        aligned.pairs,
        sample.sums,
        aligned.left_out,
        estimates,
        also,
        {s.name: _scenario(s, sample.total, missing, grades) for s in chosen},
        tuple(warnings),
        frozenset(unused),
    )


def chosen_statistics(options: Options, grades: tuple[int, ...]) -> list[Statistic]:
    """The statistics that the options name; `Misuse` for one, or a method, that is unknown."""
    if options.method not in METHODS:
        raise Misuse(f"no method {options.method!r}; known: {', '.join(METHODS)}")
    names = default_names(grades) if options.names is None else list(options.names)
    everything = [*default_names(grades), *STATISTICS]
    wanted = [one for name in names for one in (everything if name == ALL else [name])]
    return [find_statistic(name, grades) for name in dict.fromkeys(wanted)]


def estimate(
    chosen: Statistic, sample: Sample, grades: FloatArray, options: Options, pairs: int
) -> Estimate:
    """One statistic's value and interval; nothing but `None` where it is undefined."""
    value = _value(chosen, sample.total, grades)
    if value is None:
        return Estimate(None, None, None, options.method)

    def compute(tables: FloatArray) -> FloatArray:
        return chosen.compute(tables, grades)

    limits = _limits(chosen, grades)
    low, high = _within(between(options.method, sample, compute, bounded=chosen.bounded), limits)
    if not options.naive:
        return Estimate(value, low, high, options.method)
    single, variance = naive(sample.total, compute, pairs, options.draws, options.seed)
    spread = float(np.nanvar(compute(sample.resampled)))
    effect = spread / variance if variance > 0 else None
    return Estimate(
        value, low, high, options.method, Naive(*_within(single or (None, None), limits), effect)
    )


def estimated(chosen: Statistic, found: Agreement, options: Options) -> Estimate:
    """One more statistic of an agreement."""
    sample = Sample(found.tables, options.draws, options.seed)
    grades = np.array(found.scale, dtype=np.float64)
    return estimate(chosen, sample, grades, options, found.pairs)


def _value(chosen: Statistic, table: FloatArray, grades: FloatArray) -> float | None:
    value = float(chosen.compute(table, grades))
    return value if math.isfinite(value) else None


def _limits(chosen: Statistic, grades: FloatArray) -> Ends:
    """Between what the statistic's values lie, on this scale."""
    if chosen.name not in IN_GRADES:
        return chosen.low, chosen.high
    width = float(grades[-1] - grades[0])
    return -width if chosen.low is None else chosen.low, width


def _within(ends: Ends, limits: Ends) -> Ends:
    low, high = ends
    if low is None or high is None:
        return None, None
    low = low if limits[0] is None else max(low, limits[0])
    return low, high if limits[1] is None else min(high, limits[1])


def _scenario(
    chosen: Statistic, table: FloatArray, missing: FloatArray, grades: FloatArray
) -> Scenario:
    """The statistic with the missing pairs filled in: none differ, or each as far as it can."""
    agree, differ = table.copy(), table.copy()
    for place, count in enumerate(missing):
        farthest = int(np.argmax(np.abs(grades - grades[place])))
        agree[place, place] += count
        differ[place, farthest] += count
    return Scenario(_value(chosen, agree, grades), _value(chosen, differ, grades))


def _surely_below_zero(e: Estimate) -> float | None:
    """The value, where even the interval's high end is below 0."""
    return e.value if e.value is not None and (e.value if e.high is None else e.high) < 0 else None


def _weighted(table: FloatArray, pairs: int, weighted: bool) -> Iterator[str]:
    if weighted:
        whole = f"{table.sum():,.0f}"
        yield f"people graded a sample: {pairs:,} pairs, weighted to stand for about {whole}"


def _too_few(queries: int, method: str, estimates: Mapping[str, Estimate]) -> Iterator[str]:
    if queries == 1:
        yield "one query only: no interval can be given, for nothing shows how queries differ"
    elif 1 < queries < FEW_QUERIES:
        held = f"{COVERED_BY_FEW[method]} of 100 such intervals held the truth, instead of 95"
        yield f"only {queries} queries: in simulations with 3 to 20 of them {held}"
    orders = [name for name in ORDERS if name in estimates and estimates[name].low is not None]
    if orders and FEW_QUERIES <= queries < FEW_FOR_ORDERS:
        held = "91 of 100 such intervals held the truth on TREC DL 2019, instead of 95"
        yield f"{', '.join(orders)}: with {queries} queries {held}"


def _undefined(
    chosen: list[Statistic], estimates: dict[str, Estimate], pairs: int, unused: dict[str, str]
) -> Iterator[str]:
    """One sentence for each reason for which values are null."""
    reasons: dict[str, list[str]] = {}
    for found in chosen:
        if estimates[found.name].value is None:
            reason = unused.get(found.name, found.undefined) if pairs else NO_PAIRS
            reasons.setdefault(reason, []).append(found.name)
    for reason, names in reasons.items():
        yield f"{', '.join(names)} undefined: {reason}"


def _unused(
    chosen: Sequence[Statistic], table: FloatArray, scale: tuple[int, ...]
) -> dict[str, str]:
    """Statistics at a cut that no pair lies beyond, and why they say nothing."""
    used = [g for g, n in zip(scale, table.sum(axis=0) + table.sum(axis=1), strict=True) if n]
    found = {}
    for one in chosen:
        if used and one.cut is not None and not min(used) < one.cut <= max(used):
            end, limit = ("above", max(used)) if one.cut > max(used) else ("below", min(used))
            found[one.name] = f"neither side used a grade {end} {limit}"
    return found


def _without_width(estimates: Mapping[str, Estimate], queries: int) -> Iterator[str]:
    exact = [n for n, e in estimates.items() if _is_exact(e)]
    if exact and queries > 1:
        more = f" and {len(exact) - 3} more" if len(exact) > 4 else ""
        named = ", ".join(exact[:3] if more else exact) + more
        yield f"{named}: no width to the interval, for every query here says the same; no certainty"


def _is_exact(e: Estimate) -> bool:
    return e.low is not None and e.high is not None and e.high - e.low < 1e-9
