"""Several ways to judge a pair at once, of whose grades one is made: votes, and passages."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from statistics import median, multimode

from labeler.data import Document, Failure, Judgement, Outcome, Pair
from labeler.judging.context import is_about_context
from labeler.judging.methods.inquiry import Answers, JudgingPart, Outcomes, Rounds

SHORTEST = 400
"""Characters of a text that is not cut any more."""

OVERLAP = 8
"""One part in so many of a text stands in both of its halves."""


def side_by_side(
    ways: Sequence[Rounds],
) -> Generator[Sequence[JudgingPart], Answers, list[Outcomes]]:
    """Go several ways at once, a round of each in every round; what came of each."""
    ended: dict[int, Outcomes] = {}
    answers: dict[int, Answers | None] = dict.fromkeys(range(len(ways)))
    while True:
        parts: dict[int, Sequence[JudgingPart]] = {}
        for number, given in answers.items():
            try:
                way = ways[number]
                parts[number] = next(way) if given is None else way.send(given)
            except StopIteration as end:
                ended[number] = end.value
        if not parts:
            return [ended[number] for number in range(len(ways))]
        read = iter((yield [part for own in parts.values() for part in own]))
        answers = {number: [next(read) for _ in own] for number, own in parts.items()}


def vote_rounds(ways: Sequence[Rounds]) -> Rounds:
    """The rounds of several votes on the same pairs."""
    votes = yield from side_by_side(ways)
    return {pair: elected([vote[pair] for vote in votes]) for pair in votes[0]}


def elected(votes: Sequence[Outcome | None]) -> Outcome | None:
    """The grade of most votes; of several, that nearest to their median, then the lower one.

    There is none where half of the votes or more failed, or one was not asked. The most frequent
    answer is what is taken after Wang et al. (2023), ICLR, "Self-consistency".
    """
    if None in votes:
        return None
    grades = [vote.grade if isinstance(vote, Judgement) else None for vote in votes]
    given = [grade for grade in grades if grade is not None]
    if 2 * len(given) <= len(grades):
        failure = next(vote for vote in votes if isinstance(vote, Failure))
        failed = f"{len(grades) - len(given)} of {len(grades)} votes have no grade"
        return replace(failure, detail=f"{failed}: {failure.detail}")
    middle = median(given)
    grade = min(multimode(given), key=lambda grade: (abs(grade - middle), grade))
    vote = next(v for v in votes if isinstance(v, Judgement) and v.grade == grade)
    return replace(vote, votes=tuple(grades))


def passage_rounds(
    pair: Pair,
    document: Document,
    rounds_of: Callable[[Document], Rounds],
    fits: Callable[[Document], bool],
    best: int,
) -> Rounds:
    """The rounds by which a document is judged whole; where it is too long, in halves, and so on.

    Its grade is that of its best passage: there is none where a passage failed, unless another has
    the `best` grade that there is.
    """
    is_short = len(document.text) < SHORTEST
    if is_short or fits(document):
        outcomes = yield from rounds_of(document)
        whole = outcomes[pair]
        if is_short or not isinstance(whole, Failure) or not is_about_context(whole):
            return outcomes
    halves = [replace(document, text=half) for half in halves_of(document.text)]
    ways = [passage_rounds(pair, half, rounds_of, fits, best) for half in halves]
    found = yield from side_by_side(ways)
    return {pair: _best_of([outcomes[pair] for outcomes in found], best)}


def halves_of(text: str) -> tuple[str, str]:
    """Two parts of a text, cut at spaces near its middle, with some of it in both."""
    middle, more = len(text) // 2, len(text) // OVERLAP // 2
    begin, end = text.rfind(" ", more, middle - more) + 1, text.find(" ", middle + more, -more)
    return text[: end if end > 0 else middle + more], text[begin or middle - more :]


def _best_of(passages: Sequence[Outcome | None], best: int) -> Outcome | None:
    """The outcome of the best passage, with the grades of all."""
    if None in passages:
        return None
    judged = [passage for passage in passages if isinstance(passage, Judgement)]
    failed = [passage for passage in passages if isinstance(passage, Failure)]
    top = max(judged, key=lambda passage: passage.grade, default=None)
    if failed and (top is None or top.grade < best):
        return replace(failed[0], detail=f"in a passage: {failed[0].detail}")
    assert top is not None
    grades: list[int | None] = []
    for each in passages:
        own = (each.passages or (each.grade,)) if isinstance(each, Judgement) else (None,)
        grades += own
    return replace(top, passages=tuple(grades))
