"""What a model's reply says: one grade of the scale, or why there is none. Pure.

The rule, which holds in any language: once a thought block is removed, a reply is one JSON object,
in a code fence or not, in which no number stands but the grade, unless inside a text. Prose beside
the object may correct it, refuse, or name another grade, so a reply with prose has no grade and is
asked again: it is a `conflict` where the prose holds a number, else `unparsable`. To a prompt that
asks for text, a reply is the grade and nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from labeler.data import Failure, Judgement, Outcome, Pair
from labeler.files.jsonl import strict_decoder
from labeler.files.numbers import log_probability
from labeler.judging.reply.refusal import refuses
from labeler.model import NO_COMPLETION, NO_TEXT, Reply, whole
from labeler.models.ending import status_of_ending

LONGEST = 1_000_000
"""Characters; a longer reply is no grade of one pair."""

SHOWN = 80
"""Characters of a reply that a failure's detail quotes."""

_END_OF_THOUGHT = re.compile(r"</(?:think|thinking|reasoning)>")
_FENCE = re.compile(r"(?:`{1,3}|~{3})(?:json)?", re.IGNORECASE)
_END_OF_TURN = re.compile(r"</s>|<end_of_turn>|<\|(?:im_end|eot_id|end|endoftext)\|>")
_INTEGER = re.compile(r"\s*(-?[0-9]{1,9})\s*")
_GRADE = re.compile(r'"grade"\s*:\s*(-?[0-9])')
_BEFORE_A_NUMBER = " \t\n+-*_#('\""
_DECODER = strict_decoder("the key {key!r} stands twice")


def _whole_text(value: object) -> object:
    return whole(value) if isinstance(value, str) else value


class _GradeObject(BaseModel):
    """The object that a grading prompt asks for; models add keys of their own."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    grade: int
    reason: Annotated[str | None, BeforeValidator(_whole_text)] = None


class _NoGrade(Exception):
    """Why there is no grade in a text; becomes a `Failure`."""

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def parse_grade(pair: Pair, reply: Reply, grades: Sequence[int], *, text: bool = False) -> Outcome:
    """The judgement in a reply, or the failure that it is; `text` for prompts that want no JSON.

    How the reply ended is looked at before what it says: a refusal that holds a number, or half
    an answer, is no grade.
    """
    try:
        _check_ending(reply)
        start = _after_thoughts(reply.text)
        read = _grade_of_text if text else _grade_of_json
        grade, reason = read(reply.text[start:])
        if grade not in grades:
            allowed = ", ".join(map(str, grades))
            raise _NoGrade("out_of_scale", f"{grade} is not one of {allowed}")
    except _NoGrade as none:
        return Failure(pair, none.status, whole(none.detail))
    if not reply.top_tokens:
        return Judgement(pair, grade, reason)
    number = (_INTEGER if text else _GRADE).search(reply.text, start)
    shares = _distribution(reply, grades, number.start(1)) if number else None
    return Judgement(pair, grade, reason, shares)


def _check_ending(reply: Reply) -> None:
    status = status_of_ending(reply.finish_reason)
    if status == "filtered":
        raise _NoGrade(status, reply.refusal or "the server's content filter stopped the reply")
    if reply.refusal:
        raise _NoGrade("refused", reply.refusal)
    if reply.finish_reason == NO_COMPLETION:
        raise _NoGrade("unparsable", "the server's answer held no completion")
    if reply.finish_reason == NO_TEXT:
        raise _NoGrade("unparsable", "the reply is a tool call or other parts, and no text")
    if status:
        raise _NoGrade(status, f"the server ended the reply with {reply.finish_reason!r}")
    if len(reply.text) > LONGEST:
        raise _NoGrade("unparsable", f"a reply of {len(reply.text):,} characters")


def _after_thoughts(text: str) -> int:
    """Where the answer begins: behind the last end of a thought, whose begin may be the prompt's.

    An object that begins the reply is the answer itself, whatever its reason quotes.
    """
    if "</" not in text or text.lstrip().startswith("{"):
        return 0
    return max((end.end() for end in _END_OF_THOUGHT.finditer(text)), default=0)


def _grade_of_json(text: str) -> tuple[int, str | None]:
    """The grade and the reason of the one object that a text is."""
    start = text.find("{")
    if start < 0:
        _raise_nothing("no JSON object with a grade", text)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise _NoGrade("unparsable", f"broken JSON ({error}): {_shown(text[start:])}") from None
    if start > 0 or end < len(text):
        _check_prose(f"{text[:start]}\n{text[end:]}")
    graded = _validated(value)
    if len(value) > 1:
        _check_other_keys(graded)
    return graded.grade, graded.reason


def _check_prose(text: str) -> None:
    """Raise where more than a code fence, or a template's mark of the end, is around the object."""
    prose = _END_OF_TURN.sub("", _FENCE.sub("", text)).strip()
    if any(character.isnumeric() for character in prose):
        raise _NoGrade("conflict", f"a number beside the JSON object: {_shown(prose)}")
    if prose:
        _raise_nothing("text beside the JSON object", prose)


def _check_other_keys(graded: _GradeObject) -> None:
    """Raise where another key of the object is, or holds, a number; or where a text refuses."""
    parts = list(_parts(graded.model_extra or {}))
    for part in parts:
        if _is_number(part):
            raise _NoGrade("conflict", f"a number beside the grade: {_shown(str(part))}")
    for text in (graded.reason, *parts):
        if isinstance(text, str) and refuses(text):
            raise _NoGrade("refused", _shown(text))


def _parts(value: object) -> Iterator[object]:
    """The keys and the values inside, however deep, that are no objects or lists themselves."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list):
            waiting += part
        else:
            yield part


def _is_number(part: object) -> bool:
    """Whether a part is a number, or a text that begins with one, as `3 - relevant`."""
    if isinstance(part, str):
        return part.lstrip(_BEFORE_A_NUMBER)[:1].isnumeric()
    return isinstance(part, int | float) and not isinstance(part, bool)


def _validated(value: object) -> _GradeObject:
    try:
        return _GradeObject.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _NoGrade("unparsable", f"the object's {where!r}: {first['msg']}") from None


def _grade_of_text(text: str) -> tuple[int, None]:
    """The grade that a text is."""
    number = _INTEGER.fullmatch(text)
    if not number:
        _raise_nothing("more or less than a grade", text)
    return int(number[1]), None


def _raise_nothing(problem: str, text: str) -> NoReturn:
    """Raise that a text is no grade: because it refuses, or else as the problem says."""
    if not text.strip():
        raise _NoGrade("unparsable", "an empty reply")
    raise _NoGrade("refused" if refuses(text) else "unparsable", f"{problem}: {_shown(text)}")


def _shown(text: str) -> str:
    return " ".join(text.split())[:SHOWN]


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
