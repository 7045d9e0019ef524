"""One document in one request, or in one a passage where it is too long; and votes of repeats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from statistics import median_low, multimode

from labeler.data import Document, Failure, Judgement, Outcome, Pair, Query
from labeler.judging.assessor import Assessor
from labeler.judging.context import fits, is_about_context
from labeler.judging.methods.inquiry import JudgingPart, Rounds
from labeler.model import Request

SHORTEST = 400
"""Characters of a text that is not cut any more."""


def single_rounds(
    assessor: Assessor,
    pair: Pair,
    query: Query,
    document: Document,
    request: Request | None = None,
) -> Rounds:
    """The only round of a document that fits into one request; else the rounds of its halves.

    They overlap. The grade is that of the best passage: there is none where another one failed,
    unless it is the best grade that there is.
    """
    request, most = request or assessor.request(query, document), assessor.context
    is_short = len(document.text) < SHORTEST
    if is_short or most is None or fits(request, most):
        read = partial(assessor.outcome_of, pair)
        likely = Judgement(pair, assessor.prompt.grades[0])
        [outcome] = yield [JudgingPart("", request, read, likely, pair)]
        if is_short or not isinstance(outcome, Failure) or not is_about_context(outcome):
            return {pair: outcome}
    size, passages = len(document.text), list[Outcome | None]()
    for half in (document.text[: size * 9 // 16], document.text[size * 7 // 16 :]):
        outcomes = yield from single_rounds(assessor, pair, query, replace(document, text=half))
        passages.append(outcomes[pair])
    return {pair: _best_of(passages, assessor.prompt.grades[-1])}


def _best_of(passages: Sequence[Outcome | None], best: int) -> Outcome | None:
    """The outcome of the best passage, with the grades of all."""
    judged = [passage for passage in passages if isinstance(passage, Judgement)]
    top = max(judged, key=lambda passage: passage.grade, default=None)
    if None in passages:
        return None
    if top is None or (len(judged) < len(passages) and top.grade < best):
        return next(passage for passage in passages if isinstance(passage, Failure))
    grades = [getattr(passage, "passages", ()) or grades_in([passage]) for passage in passages]
    return replace(top, passages=tuple(chain.from_iterable(grades)))


def vote_rounds(ways: Iterable[Rounds]) -> Rounds:
    """The rounds of several votes on the same pairs."""
    votes = list[dict[Pair, Outcome | None]]()
    for way in ways:
        votes.append(dict((yield from way)))
    return {pair: elected([vote[pair] for vote in votes]) for pair in votes[0]}


def elected(votes: Sequence[Outcome | None]) -> Outcome | None:
    """The grade of most votes, or where several have as many, the lower median of all votes.

    There is none where half of the votes or more failed, or one was not asked. That the most
    frequent answer stands is after Wang et al. (2023), ICLR, "Self-consistency".
    """
    grades = [vote.grade for vote in votes if isinstance(vote, Judgement)]
    if None in votes:
        return None
    if 2 * len(grades) <= len(votes):
        return next(vote for vote in votes if isinstance(vote, Failure))
    most = multimode(grades)
    grade = most[0] if len(most) == 1 else median_low(grades)
    vote = next(vote for vote in votes if isinstance(vote, Judgement) and vote.grade == grade)
    return replace(vote, votes=grades_in(votes))


def grades_in(outcomes: Iterable[Outcome | None]) -> tuple[int | None, ...]:
    """The grade of each outcome, None of one that failed."""
    return tuple(each.grade if isinstance(each, Judgement) else None for each in outcomes)
