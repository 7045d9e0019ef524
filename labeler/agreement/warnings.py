"""What to say beside statistics: too few queries, undefined values, intervals that are not there.

What intervals cover was measured by scripts/simulate_coverage.py, in its simulated world and in the
two of TREC DL 2019.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from labeler.agreement.estimate import DEFAULT_METHOD, Estimate
from labeler.agreement.registry import NO_PAIRS, Statistic
from labeler.arrays import Floats
from labeler.report.finding import Finding
from labeler.stats.resampling import Sample

FEW_QUERIES, MORE_QUERIES = 25, 50
ORDERS = ("tau-b", "tau-ap", "spearman", "pearson")
"""Rank correlations, of which a few odd queries decide more than of the others."""
COVERED_BY_FEW = {
    "cluster-bootstrap": "91 to 97",
    "percentile": "74 to 91",
    "jackknife": "89 to 97",
}
"""Of 100 intervals over 3 to 20 queries."""
COVERED_BY_MORE = "93 to 98"
"""Of 100 default intervals over 25 to 50 queries; of orders and rare grades, those below."""
COVERED_OF_ORDERS, COVERED_OF_RARE = "86 to 95", "81 to 95"
"""Of 100 default intervals over 10 to 50 queries of TREC DL 2019."""
TOO_WIDE = "prevalence"
"""Held by up to 99 of 100 intervals, on TREC DL 2019 with llama-3.1-8b's labels."""
RARE = 12
"""Where a grade lies in as few queries as this, intervals at its cut covered below 94 of 100."""
DECISIVE = 3
"""A value that fewer queries than this decide is as uncertain as with so few."""


def cautions(
    statistics: Sequence[Statistic],
    sample: Sample,
    scale: tuple[int, ...],
    estimates: Mapping[str, Estimate],
    method: str,
) -> Iterator[Finding]:
    """Every warning that the values and their intervals call for, the general ones first."""
    return map(Finding, _sentences(statistics, sample, scale, estimates, method))


def _sentences(
    statistics: Sequence[Statistic],
    sample: Sample,
    scale: tuple[int, ...],
    estimates: Mapping[str, Estimate],
    method: str,
) -> Iterator[str]:
    queries = len(sample.sums)
    with_width = [s for s in statistics if _has_width(estimates[s.name])]
    yield from _too_few(queries, method, with_width)
    kind = "such" if method == DEFAULT_METHOD else "default"
    orders = [s.name for s in with_width if s.name in ORDERS and queries < MORE_QUERIES]
    if orders:
        held = f"{COVERED_OF_ORDERS} of 100 {kind} intervals held the truth on TREC DL 2019"
        yield f"{_names(orders)}: a few odd queries can decide these; with 10 to 50 queries {held}"
    yield from _rare(with_width, sample.sums, scale, kind)
    if any(s.name == TOO_WIDE for s in with_width):
        yield f"{TOO_WIDE}: its interval is wide, and held the truth up to 99 times of 100"
    if queries >= FEW_QUERIES:
        yield from _decided_by_few(with_width, sample, np.array(scale, dtype=np.float64))
    unused = unused_cuts(statistics, sample.total, scale)
    yield from _undefined(statistics, estimates, sample.total, unused)
    yield from _without_interval(statistics, estimates, queries)
    yield from _without_width(estimates, queries)


def _has_width(e: Estimate) -> bool:
    return e.low is not None and e.high is not None and e.high - e.low >= 1e-9


def _too_few(queries: int, method: str, with_width: Sequence[Statistic]) -> Iterator[str]:
    if queries == 1:
        yield "one query only: no interval can be given, for nothing shows how queries differ"
    elif 1 < queries < FEW_QUERIES:
        held = f"{COVERED_BY_FEW[method]} of 100 such intervals held the truth, instead of 95"
        yield f"only {queries} queries: in simulations with 3 to 20 of them {held}"
    elif FEW_QUERIES <= queries < MORE_QUERIES and with_width and method == DEFAULT_METHOD:
        held = f"{COVERED_BY_MORE} of 100 such intervals held the truth, instead of 95"
        yield f"{queries} queries: in simulations with 25 to 50 of them {held}"


def _rare(
    with_width: Sequence[Statistic], tables: Floats, scale: tuple[int, ...], kind: str
) -> Iterator[str]:
    """Statistics at a cut whose rarer side lies in a few of the queries."""
    by_grade = tables.sum(axis=-1)
    held = f"{COVERED_OF_RARE} of 100 {kind} intervals held the truth on TREC DL 2019"
    names_by_side: dict[str, list[str]] = {}
    for statistic in with_width:
        if statistic.cut is None:
            continue
        at = scale.index(statistic.cut)
        below, above = by_grade[:, :at].sum(axis=1), by_grade[:, at:].sum(axis=1)
        is_above = above.sum() <= below.sum()
        few = effective(above if is_above else below)
        if few < RARE:
            side = "at" if is_above else "below"
            where = f"people's pairs {side} this cut lie in few queries, as if evenly in {few:.0f}"
            names_by_side.setdefault(where, []).append(statistic.name)
    for where, names in names_by_side.items():
        yield f"{_names(names)}: {where}; of so rare a grade {held}"


def effective(parts: Floats) -> float:
    """In how many equal parts a sum would be as uneven as in these: `sum(p)² / sum(p²)`."""
    squares = float((parts**2).sum())
    return float(parts.sum()) ** 2 / squares if squares > 0 else 0.0


def deciding(statistic: Statistic, sample: Sample, grades: Floats) -> float | None:
    """How many queries decide a value: `effective` of their squared influences, by jackknife."""
    without = statistic.compute(sample.without_one, grades)
    if not np.isfinite(without).all():
        return None
    return effective((without - without.mean()) ** 2) or None


def _decided_by_few(
    with_width: Sequence[Statistic], sample: Sample, grades: Floats
) -> Iterator[str]:
    by_name = {s.name: deciding(s, sample, grades) for s in with_width}
    names = [name for name, queries in by_name.items() if queries and queries < DECISIVE]
    if names:
        few = f"fewer than {DECISIVE} of the {len(sample.sums)} queries decide the value"
        yield f"{_names(names)}: {few}, which is as uncertain as with so few"


def _undefined(
    statistics: Sequence[Statistic],
    estimates: Mapping[str, Estimate],
    table: Floats,
    unused: Mapping[str, str],
) -> Iterator[str]:
    """One sentence for each reason for which values are null."""
    reasons: dict[str, list[str]] = {}
    for statistic in statistics:
        name = statistic.name
        if estimates[name].value is None:
            reason = unused.get(name, statistic.undefined) if table.sum() else NO_PAIRS
            reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        yield f"{', '.join(names)} undefined: {reason}"


def unused_cuts(
    statistics: Sequence[Statistic], table: Floats, scale: tuple[int, ...]
) -> dict[str, str]:
    """Statistics at a cut that no pair lies beyond, and why they say nothing."""
    used = [g for g, n in zip(scale, table.sum(axis=0) + table.sum(axis=1), strict=True) if n]
    reasons = {}
    for statistic in statistics:
        cut = statistic.cut
        if used and cut is not None and not min(used) < cut <= max(used):
            end, limit = ("above", max(used)) if cut > max(used) else ("below", min(used))
            reasons[statistic.name] = f"neither side used a grade {end} {limit}"
    return reasons


def _without_interval(
    statistics: Sequence[Statistic], estimates: Mapping[str, Estimate], queries: int
) -> Iterator[str]:
    """Why a value has no interval, where it is not for want of a second query."""
    lacking = [s for s in statistics if estimates[s.name].value is not None]
    lacking = [s for s in lacking if estimates[s.name].low is None and queries > 1]
    edge = [s.name for s in lacking if not s.sampled]
    if edge:
        why = "whose true value may lie on the edge of what it can be, where none covers it"
        yield f"{_names(edge)}: no interval is given of a statistic {why}"
    rest = [s.name for s in lacking if s.sampled]
    if rest:
        yield f"{_names(rest)}: no interval, for without some of these queries it is undefined"


def _without_width(estimates: Mapping[str, Estimate], queries: int) -> Iterator[str]:
    exact = [n for n, e in estimates.items() if e.low is not None and not _has_width(e)]
    if exact and queries > 1:
        why = "no width to the interval, for every query here says the same; no certainty"
        yield f"{_names(exact)}: {why}"


def _names(names: Sequence[str]) -> str:
    """All of up to four names, three of more."""
    more = f" and {len(names) - 3} more" if len(names) > 4 else ""
    return ", ".join(names[:3] if more else names) + more
