"""trec_eval's measures under trec_eval's names, and its way to ask for them.

A measure is asked for as `name` or `name.parameters` and may print several lines: `P.5,10` prints
`P_5` and `P_10`. Those that the registry has are taken from there; the others are here and in
`gains`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import Misuse
from labeler.metrics import measures as ours
from labeler.metrics.measures import discounts, powers, ratio, relevant
from labeler.metrics.rankings import Rankings, ordinals, sums

# The measures of trec_eval that are sums of gains, with gains that the user may set.
#
# They follow trec_eval 10 to the order of its additions; the names are its own.

Worth = Mapping[int, float]
"""Gains of levels that differ from the level itself."""


@dataclass(frozen=True)
class Gained:
    """Gains of the retrieved documents, and of the ideal rankings in their order."""

    query: Integers
    rank: Integers
    gain: Floats
    ideal_query: Integers
    ideal_rank: Integers
    ideal_gain: Floats

    @property
    def terms(self) -> Floats:
        """The gains of the retrieved documents, discounted."""
        return self.gain / discounts(self.rank)

    @property
    def ideals(self) -> Floats:
        """Those of the ideal rankings."""
        return self.ideal_gain / discounts(self.ideal_rank)


def gained(r: Rankings, worth: Worth) -> Gained:
    """Gains are grades, unless `worth` says otherwise; documents without a gain are left out."""
    gain, ideal = _gains(r.grade, worth), _gains(r.pool_grade, worth)
    has_gain, good = gain != 0, ideal > 0
    query, value = r.pool_query[good], ideal[good]
    order = np.lexsort((-value, query))
    query, value = query[order], value[order]
    return Gained(
        r.query[has_gain], r.rank[has_gain], gain[has_gain], query, ordinals(query), value
    )


def _gains(grade: Integers, worth: Worth) -> Floats:
    gain = ours.gains(grade, "log2")
    for level, value in worth.items():
        gain[grade == level] = value
    return gain


def dcg(r: Rankings, worth: Worth) -> Floats:
    """Discounted gains of the rankings."""
    g = gained(r, worth)
    return sums(g.query, g.terms, r.n)


def ideal_dcg(r: Rankings, worth: Worth) -> Floats:
    """Discounted gains of the ideal rankings."""
    g = gained(r, worth)
    return sums(g.ideal_query, g.ideals, r.n)


def ndcg(r: Rankings, worth: Worth) -> Floats:
    """Discounted gains over those of the ideal rankings."""
    return ratio(dcg(r, worth), ideal_dcg(r, worth))


def _by_query(r: Rankings, g: Gained) -> Iterator[tuple[int, slice, slice]]:
    """The number of each query, with its retrieved documents and its ideal ranking."""
    hits = np.searchsorted(g.query, np.arange(r.n + 1))
    best = np.searchsorted(g.ideal_query, np.arange(r.n + 1))
    for q in range(r.n):
        yield q, slice(hits[q], hits[q + 1]), slice(best[q], best[q + 1])


def ndcg_rel(r: Rankings, worth: Worth) -> Floats:
    """nDCG averaged over the ranks of the relevant documents."""
    g = gained(r, worth)
    terms, ideals, values_by_query = g.terms, g.ideals, np.zeros(r.n)
    for q, hits, best in _by_query(r, g):
        ideal, dcg = np.cumsum(ideals[best]), np.cumsum(terms[hits])
        good = g.gain[hits] > 0
        if not len(ideal) or not good.any():
            continue
        at = np.minimum(g.rank[hits][good], len(ideal) - 1)
        total = float(np.cumsum(dcg[good] / ideal[at])[-1])
        total += float((len(ideal) - int(good.sum())) * dcg[-1] / ideal[-1])
        values_by_query[q] = total / len(ideal) if total > 0 else 0.0
    return values_by_query


def r_ndcg(r: Rankings, level: int, worth: Worth) -> Floats:
    """nDCG averaged over the ranks at which the ideal ranking's gain changes."""
    g = gained(r, worth)
    terms, ideals = g.terms, g.ideals
    values_by_query, relevants = np.zeros(r.n), r.in_pool(level)
    for q, hits, best in _by_query(r, g):
        if not relevants[q] or best.start == best.stop:
            continue
        ideal = np.cumsum(ideals[best])
        dcg = np.append(0.0, np.cumsum(terms[hits]))
        ends = np.append(np.flatnonzero(np.diff(g.ideal_gain[best])) + 1, len(ideal))
        values = list(dcg[np.searchsorted(g.rank[hits], ends)] / ideal[ends - 1])
        if r.retrieved[q] > len(ideal) + 1:
            values.append(dcg[-1] / ideal[-1])
        values_by_query[q] = float(np.cumsum(values)[-1]) / len(values)
    return values_by_query


def normalized_gain(r: Rankings, worth: Worth) -> Floats:
    """G: gains discounted by how much more could have been gained before."""
    g = gained(r, worth)
    terms = np.zeros(len(g.gain))
    for _, hits, best in _by_query(r, g):
        ideal = g.ideal_gain[best]
        if not len(ideal):
            continue
        cost = np.append(0.0, np.cumsum(np.maximum(ideal, 1.0)))
        rank = g.rank[hits] + 1
        spent = cost[np.minimum(rank, len(ideal))] + np.maximum(rank - len(ideal), 0)
        left = 2.0 + spent - np.cumsum(g.gain[hits])
        terms[hits] = g.gain[hits] / [math.log2(value) for value in left.tolist()]
    return ratio(sums(g.query, terms, r.n), sums(g.ideal_query, g.ideal_gain, r.n))


def binary_gain(r: Rankings, level: int) -> Floats:
    """binG: 1 / log2(2 + non-relevant documents above), averaged over the relevant ones."""
    good = relevant(r, level)
    above = r.rank[good] - ordinals(r.query[good])
    return ratio(r.total(good, 1.0 / discounts(above)), r.in_pool(level))


def rbp(r: Rankings, worth: Worth, p: float) -> Floats:
    """Rank-biased precision; gains are stretched to 0 … 1 by query where they lie outside.

    trec_eval 10 leaves the two ends uninitialised; its own expected output has them start at 0.
    """
    tops = np.zeros(r.n, dtype=np.int64)
    np.maximum.at(tops, r.pool_query, r.pool_grade)
    low = min(0.0, *worth.values(), 0.0)
    ends = {}
    for top in set(tops.tolist()):  # of the levels that gain themselves only the topmost counts
        levels = (float(level) for level in range(top, -1, -1) if level not in worth)
        ends[top] = max([next(levels, -math.inf), *worth.values()])
    high = np.array([ends[top] for top in tops.tolist()])
    gain = _gains(r.grade, worth)
    outside = (high[r.query] > 1) | (low < 0)
    has_gain = (r.grade >= 0) | np.isin(r.grade, list(worth))
    stretched = np.where(has_gain, ratio(gain - low, high[r.query] - low), 0.0)
    gain = np.where(outside, stretched, gain)
    return (1.0 - p) * sums(r.query, gain * powers(p, r.rank), r.n)


CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = tuple(tenth / 10 for tenth in range(11))
MULTIPLES = tuple(fifth / 5 for fifth in range(1, 11))

LARGEST = 1_000_000_000
"""The largest number that a parameter may be: sums of larger ones would lose the ones of counts."""
_LEVEL = re.compile(r"[+-]?[0-9]{1,10}")

Values = Callable[[Rankings, int], Floats]
"""Of rankings and the lowest relevant grade."""

AtCutoff = Callable[[Rankings, Any, int], Floats]
"""Of rankings, a cutoff and the lowest relevant grade."""


@dataclass(frozen=True)
class Line:
    """One printed measure: its values by query, how they are summed up, and how they look.

    `summary` is `mean`, `sum`, `geometric` or `none`; `form` is `float`, `whole` or `text`, whose
    values are strings.
    """

    name: str
    values: Callable[[Rankings, int], Floats | list[str]]
    summary: str = "mean"
    form: str = "float"
    by_query: bool = True


def precision_at(r: Rankings, level: int, cutoffs: Integers, divisor: Integers) -> Floats:
    """Relevant documents among the first so many of each query, over a divisor of each query."""
    return ratio(r.count(relevant(r, level) & (r.rank < cutoffs[r.query])), divisor)


def r_multiple(r: Rankings, multiple: float, level: int) -> Floats:
    """Precision at a multiple of the number of relevant documents."""
    cutoffs = (multiple * r.in_pool(level) + 0.9).astype(np.int64)
    return precision_at(r, level, cutoffs, cutoffs)


def relative_precision(r: Rankings, cutoff: int, level: int) -> Floats:
    """Precision over the highest precision that the cutoff allows."""
    return precision_at(r, level, np.full(r.n, cutoff), np.minimum(r.in_pool(level), cutoff))


def set_relative_precision(r: Rankings, level: int) -> Floats:
    """Set precision over the highest that so many retrieved documents allow."""
    return ratio(r.count(relevant(r, level)), np.minimum(r.retrieved, r.in_pool(level)))


def set_average_precision(r: Rankings, level: int) -> Floats:
    """Set precision times set recall."""
    hits = r.count(relevant(r, level)).astype(np.float64)
    return ratio(hits * hits, r.retrieved.astype(np.float64) * r.in_pool(level))


def utility(r: Rankings, level: int, p: Sequence[float], documents: int = 0) -> Floats:
    """Weighted counts: relevant and not, retrieved and not, in a collection of so many documents.

    Without -N, trec_eval takes the collection to hold none.
    """
    good, relevants = r.count(relevant(r, level)), r.in_pool(level)
    rest = documents + good - r.retrieved - relevants
    worth = p[0] * good + p[1] * (r.retrieved - good) + p[2] * (relevants - good) + p[3] * rest
    return np.asarray(worth, np.float64)


def smoothed_average_precision(r: Rankings, level: int) -> Floats:
    """yaap: the log of (1 + precisions at relevant documents) / (1 + what they lack).

    After Robertson (ECIR 2012), LNCS 7224.
    """
    total = r.total(*ours.precisions(r, level))
    logs = map(math.log, ((1.0 + total) / (1.0 + r.in_pool(level) - total)).tolist())
    return np.fromiter(logs, np.float64, r.n)


def averaged_precision(r: Rankings, level: int, recalls: Sequence[float]) -> Floats:
    """Interpolated precision averaged over recall points."""
    total = np.zeros(r.n)
    for recall in reversed(recalls):
        total += ours.interpolated_precision(r, recall, level)
    return total / len(recalls)


def rbp_residual(r: Rankings, p: float) -> Floats:
    """The residual of RBP; 0 where all retrieved documents are judged."""
    judged = r.grade >= 0
    open_share = 1.0 - (1.0 - p) * r.total(judged, powers(p, r.rank[judged]))
    return np.where(r.count(judged) < r.retrieved, open_share, 0.0)


def unjudged(r: Rankings, cutoff: int, _level: int) -> Floats:
    """The share of the first k places whose document was not judged."""
    ranks_seen = np.minimum(r.retrieved, cutoff)
    return (ranks_seen - r.count((r.grade >= 0) & (r.rank < cutoff))) / cutoff


def relevance(name: str, parameters: str) -> list[Line]:
    """The line of relstring: the grades of the first documents, a character each."""
    length = int(_numbers(name, parameters)[0]) if parameters else 10

    def values(r: Rankings, _level: int) -> list[str]:
        characters_by_query = [["-"] * min(length, int(retrieved)) for retrieved in r.retrieved]
        for q, rank, grade in zip(r.query, r.rank, r.grade, strict=True):
            if rank < length:
                characters_by_query[q][rank] = (
                    "." if grade < 0 else ">" if grade > 9 else str(grade)
                )
        return [f"'{''.join(characters)}'" for characters in characters_by_query]

    return [Line(_with(name, parameters), values, "none", "text")]


Maker = Callable[[str, str], list[Line]]
"""From a measure's name and its parameters, empty where none are given."""


def plain(
    values: Values, summary: str = "mean", form: str = "float", *, by_query: bool = True
) -> Maker:
    """One line without parameters."""

    def make(name: str, parameters: str) -> list[Line]:
        if parameters:
            raise _refused(name, parameters, f"{name} takes no parameters")
        return [Line(name, values, summary, form, by_query)]

    return make


def uncut(values: AtCutoff, summary: str = "mean", *, by_query: bool = True) -> Maker:
    """One line of a measure that takes a cutoff, without one."""
    return plain(lambda r, level: values(r, None, level), summary, by_query=by_query)


def at(values: AtCutoff, default: Sequence[float] = CUTOFFS) -> Maker:
    """A line for each cutoff, or for each share of the relevant documents, ascending."""
    is_share = isinstance(default[0], float)

    def make(name: str, parameters: str) -> list[Line]:
        asked = _numbers(name, parameters) if parameters else default
        cutoffs = sorted(asked if is_share else map(int, asked))
        if len(set(cutoffs)) < len(cutoffs) or (not is_share and cutoffs[0] < 1):
            rule = "cutoffs must differ" if is_share else "cutoffs must be positive and differ"
            raise _refused(name, parameters, rule)
        names = [f"{name}_{cutoff:.2f}" if is_share else f"{name}_{cutoff}" for cutoff in cutoffs]
        return [Line(*line) for line in zip(names, map(cut, cutoffs), strict=True)]

    def cut(cutoff: float) -> Values:
        return lambda r, level: values(r, cutoff, level)

    return make


def numbered(
    values: Callable[[Rankings, int, Sequence[float]], Floats], default: Sequence[float]
) -> Maker:
    """One line whose parameters are numbers, all of them."""

    def make(name: str, parameters: str) -> list[Line]:
        numbers = _numbers(name, parameters) if parameters else list(default)
        if len(numbers) != len(default) and name != "11pt_avg":
            raise _refused(name, parameters, f"expected {len(default)} numbers")
        return [Line(_with(name, parameters), lambda r, level: values(r, level, numbers))]

    return make


def of_gains(values: Callable[[Rankings, Worth], Floats]) -> Maker:
    """One line of a measure of gains, whose parameters are those of levels."""
    return paired(lambda worth, _: lambda r, level: values(r, worth))


def paired(values: Callable[[Worth, dict[str, float]], Values]) -> Maker:
    """One line whose parameters are gains of levels, `1=3.5,2=9`, or named, `p=0.8`."""

    def make(name: str, parameters: str) -> list[Line]:
        numbers = {}
        for pair in filter(None, parameters.split(",")):
            key, equals, value = pair.partition("=")
            if not equals:
                form = "KEY=NUMBER: a level's gain as 1=2.5, or a parameter as p=0.8"
                raise _refused(name, parameters, f"expected {form}")
            numbers[key] = _numbers(name, value)[0]
        worth = {int(key): numbers.pop(key) for key in list(numbers) if _LEVEL.fullmatch(key)}
        return [Line(_with(name, parameters), values(worth, numbers))]

    return make


def _with(name: str, parameters: str) -> str:
    return f"{name}_{parameters}" if parameters else name


def _numbers(name: str, parameters: str) -> list[float]:
    try:
        numbers = [float(text) for text in parameters.split(",")]
    except ValueError as error:
        raise _refused(name, parameters, "expected numbers with commas") from error
    if not all(abs(number) <= LARGEST for number in numbers):  # nor any that is not a number
        raise _refused(name, parameters, f"expected numbers of {LARGEST:,} at most")
    return numbers


def _refused(name: str, parameters: str, problem: str) -> Misuse:
    return Misuse(f"{name}.{parameters}: {problem}", parameter="measures")


def count(values: Callable[[Rankings, int], Floats | Integers]) -> Maker:
    """One line of whole numbers, summed over queries."""
    return plain(lambda r, level: np.asarray(values(r, level), np.float64), "sum", "whole")


def judged_wrong(r: Rankings, level: int) -> Integers:
    """How many retrieved documents are judged and not relevant."""
    return r.count((r.grade >= 0) & ~relevant(r, level))


def unjudged_retrieved(r: Rankings, _level: int) -> Integers:
    """How many retrieved documents are not judged, in the pool or not."""
    return r.retrieved - r.count(r.grade >= 0)


# The measures of trec_eval 10 that exist here, in the order in which it prints them.

UTILITY = (1.0, -1.0, 0.0, 0.0)

MEASURES = {
    "num_ret": count(lambda r, level: r.retrieved),
    "num_rel": count(lambda r, level: r.in_pool(level)),
    "num_rel_ret": count(ours.num_rel_ret),
    "map": uncut(ours.average_precision),
    "gm_map": uncut(ours.average_precision, "geometric", by_query=False),
    "Rprec": plain(ours.r_precision),
    "bpref": plain(ours.bpref),
    "recip_rank": uncut(ours.reciprocal_rank),
    "iprec_at_recall": at(ours.interpolated_precision, RECALLS),
    "P": at(ours.precision),
    "relstring": relevance,
    "recall": at(ours.recall),
    "infAP": plain(ours.inferred_average_precision),
    "gm_bpref": plain(ours.bpref, "geometric", by_query=False),
    "Rprec_mult": at(r_multiple, MULTIPLES),
    "utility": numbered(utility, UTILITY),
    "11pt_avg": numbered(averaged_precision, RECALLS),
    "binG": plain(binary_gain),
    "G": of_gains(normalized_gain),
    "dcg": of_gains(dcg),
    "ideal_dcg": of_gains(ideal_dcg),
    "ndcg": of_gains(ndcg),
    "ndcg_rel": of_gains(ndcg_rel),
    "Rndcg": paired(lambda worth, _: lambda r, level: r_ndcg(r, level, worth)),
    "ndcg_cut": at(lambda r, cutoff, level: ours.ndcg(r, cutoff)),
    "map_cut": at(ours.average_precision),
    "relative_P": at(relative_precision),
    "success": at(ours.success, (1, 5, 10)),
    "set_P": plain(ours.set_precision),
    "set_relative_P": plain(set_relative_precision),
    "set_recall": plain(ours.set_recall),
    "set_map": plain(set_average_precision),
    "set_F": numbered(lambda r, level, p: ours.set_f(r, level, p[0]), (1.0,)),
    "num_nonrel_judged_ret": count(judged_wrong),
    "num_nonjudged_ret": count(unjudged_retrieved),
    "yaap": plain(smoothed_average_precision),
    "rbp": paired(lambda worth, p: lambda r, level: rbp(r, worth, p.get("p", 0.9))),
    "rbp_resid": paired(lambda _, p: lambda r, level: rbp_residual(r, p.get("p", 0.9))),
    "unj": at(unjudged, (5, 10, 20)),
}
