"""Documents of a query compared two by two, a bounded number of times; what they win is a grade.

The documents stand on a circle, in an order by chance, and each is compared with as many neighbors
on either side: the skip-window sampling of Gienapp et al. 2022 (Sparse Pairwise Re-ranking), with a
step of 1. So n documents take n * each / 2 comparisons, and not n * (n - 1) / 2. A new document is
compared with its neighbors, and changes nothing for documents farther off.

A document's value is the share of the points that it could win: 1 for a preference, 0.5 where both
are as good, and nothing where neither answers the query. Its grade is how many cut points that
reaches. So grades order the documents of one query. They depend on which others are in the pool,
and are no measure of how good a document is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from labeler.data import Failure, Judgement, Pair
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.methods.inquiry import JudgingPart, Rounds
from labeler.judging.methods.points import first_failure
from labeler.judging.reply import POINTS, parse_preference
from labeler.prompt import PREFERENCE_SCHEMA


class Opponent(NamedTuple):
    """A document that another one is compared with.

    `is_after` says that it comes after that one where they are shown once; `is_counted` that what
    the requests take is counted in that one's row.
    """

    doc_id: str
    is_after: bool
    is_counted: bool


class Circles:
    """The circle of each query's documents, of which those in `asked` are judged."""

    def __init__(
        self, company: Mapping[str, Sequence[str]], each: int, asked: frozenset[Pair]
    ) -> None:
        self._company = company
        self._asked = asked
        self._each = each
        self._circles: dict[str, tuple[list[str], dict[str, int]]] = {}

    def opponents(self, pair: Pair) -> list[Opponent]:
        """The documents that a pair's is compared with, the next on the circle first."""
        circle, positions = self._circle(pair.query_id)
        at, count = positions[pair.doc_id], len(circle)
        reach = min(self._each // 2, (count - 1) // 2)
        after = [circle[(at + step) % count] for step in range(1, reach + 1)]
        before = [circle[(at - step) % count] for step in range(1, reach + 1)]
        if count - 1 > 2 * reach and self._each >= count - 1:  # the last, across an even circle
            across = circle[(at + count // 2) % count]
            (after if at < positions[across] else before).append(across)
        return [
            *(Opponent(doc_id, True, True) for doc_id in after),
            *(Opponent(d, False, Pair(pair.query_id, d) not in self._asked) for d in before),
        ]

    def _circle(self, query_id: str) -> tuple[list[str], dict[str, int]]:
        if query_id not in self._circles:
            self._circles.clear()  # pairs come query by query
            documents = sorted(self._company[query_id], key=partial(_position_key, query_id))
            self._circles[query_id] = documents, {doc: at for at, doc in enumerate(documents)}
        return self._circles[query_id]


def _position_key(query_id: str, doc_id: str) -> bytes:
    """Where a document stands on a query's circle, whichever others do."""
    return sha256(f"{query_id}\0{doc_id}".encode("utf-8", "surrogatepass")).digest()


def company_of(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """The documents of each query."""
    company: dict[str, list[str]] = {}
    for query_id, doc_id in pairs:
        company.setdefault(query_id, []).append(doc_id)
    return company


def comparison_rounds(
    assessor: Assessor, texts: Texts, pair: Pair, opponents: Sequence[Opponent]
) -> Rounds:
    """The only round of a pair: its document beside each of its opponents."""
    if not opponents:
        detail = "the query has no other document, so that there is nothing to compare it with"
        return {pair: Failure(pair, "call_failed", detail)}
    asked = [
        (opponent, is_first)
        for opponent in opponents
        for is_first in ((True, False) if _asks_both(assessor) else (opponent.is_after,))
    ]
    parts = [_part(assessor, texts, pair, *which) for which in asked]
    answers = yield parts
    failure = first_failure(pair, [(p.name, a) for p, a in zip(parts, answers, strict=True)])
    if failure or None in answers:
        return {pair: failure}
    points = [
        POINTS[answer][0 if is_first else 1]
        for (_, is_first), answer in zip(asked, answers, strict=True)
    ]
    return {pair: _graded(assessor, pair, points, len(opponents))}


def _asks_both(assessor: Assessor) -> bool:
    comparisons = assessor.prompt.front.comparisons
    return comparisons is not None and comparisons.both_orders


def _part(
    assessor: Assessor, texts: Texts, pair: Pair, opponent: Opponent, is_first: bool
) -> JudgingPart:
    """The request that shows a document and an opponent, in this order or the other way round."""
    query, own = texts.of(pair)
    other = texts.of(Pair(pair.query_id, opponent.doc_id))[1]
    shown = (own, other) if is_first else (other, own)
    request = assessor.pair_request(query, shown, PREFERENCE_SCHEMA)
    other_is = "second" if is_first else "first"
    name = f"beside {opponent.doc_id}, shown {other_is}"
    pays = pair if opponent.is_counted else None
    return JudgingPart(name, request, partial(parse_preference, pair), "both", pays)


def _graded(assessor: Assessor, pair: Pair, points: Sequence[float], opponents: int) -> Judgement:
    """The grade of a share of points, with what was won in the reason."""
    comparisons, prompt = assessor.prompt.front.comparisons, assessor.prompt
    assert comparisons is not None
    share = Fraction(sum(points)) / len(points)
    reached = sum(share >= cut for cut in comparisons.exact_cuts)
    reason = f"won {sum(points):g} of {len(points)} points against {opponents} documents"
    if comparisons.both_orders:
        changed = sum(
            first != second for first, second in zip(points[::2], points[1::2], strict=True)
        )
        reason += f"; {changed} changed with the order"
    return Judgement(pair, prompt.grades[reached], f"{reason}; share {float(share):.2f}")
