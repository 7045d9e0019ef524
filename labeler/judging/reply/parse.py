"""What a model's reply says: one grade of the scale, or why there is none. Pure.

The text is read by the prompt's reader; how the reply ended is looked at before what it says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from labeler.data import Failure, Judgement, Outcome, Pair
from labeler.files.numbers import log_probability
from labeler.judging.reply.object import check_ending
from labeler.model import Reply, whole
from labeler.prompt.reply.reader import NoGrade, ReplyReader

JSON = ReplyReader()


def parse_grade(
    pair: Pair, reply: Reply, grades: Sequence[int], reader: ReplyReader = JSON
) -> Outcome:
    """The judgement in a reply, or the failure that it is.

    A refusal that holds a number, or half an answer, is no grade.
    """
    try:
        check_ending(reply)
        grade, reason, position = reader.read(reply.text, grades)
    except NoGrade as none:
        return Failure(pair, none.status, whole(none.detail))
    reason = reason if reason is None else whole(reason)
    if not reply.top_tokens or position is None:
        return Judgement(pair, grade, reason)
    return Judgement(pair, grade, reason, _distribution(reply, grades, position))


def _distribution(reply: Reply, grades: Sequence[int], position: int) -> Mapping[int, float] | None:
    """The probabilities of the grades at the token that holds the grade, where it is known."""
    start = 0
    for tops in reply.top_tokens:
        token = next(iter(tops), "")
        if start <= position < start + len(token):
            return _shares(tops, token[: position - start], grades)
        if not reply.text.startswith(token, start):
            return None
        start += len(token)
    return None


def _shares(
    tops: Mapping[str, float], before: str, grades: Sequence[int]
) -> Mapping[int, float] | None:
    """The share of each grade among the tokens; None where one has no log probability."""
    shares = dict.fromkeys(grades, 0.0)
    for token, value in tops.items():
        number = token.removeprefix(before).strip(' \n\t"},')
        written = token.startswith(before) and re.fullmatch(r"-?[0-9]{1,9}", number)
        if written and int(number) in shares:
            logprob = log_probability(value)
            if logprob is None:
                return None
            shares[int(number)] += math.exp(logprob)
    total = sum(shares.values())
    return {grade: share / total for grade, share in shares.items()} if total > 0 else None
