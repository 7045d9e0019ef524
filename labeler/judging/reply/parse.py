"""What a model's reply says: one grade of the scale, or why there is none. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictInt, ValidationError

from labeler.data import Failure, Judgement, Outcome, Pair
from labeler.judging.reply.doubts import (
    STATED,
    apologizes,
    doubts,
    entries_inside,
    grades_after,
    integer,
    mentioned_grades,
    named_grades,
    refuses,
    said_inside,
)
from labeler.judging.reply.ending import status_of_ending
from labeler.model import Reply, whole

LONGEST = 1_000_000
"""Characters; a longer reply is no verdict on one pair."""

_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_THOUGHT_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>")
_UNFINISHED_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>")
_BARE = re.compile(r'\s*\{\s*"grade"\s*:\s*(-?(?:0|[1-9][0-9]{0,8}))\s*\}\s*', re.ASCII)
_MANY_OBJECTS = 1000
_MANY_LISTS = 100


def _text_or_nothing(value: object) -> str | None:
    return whole(value) if isinstance(value, str) else None


class _Verdict(BaseModel):
    """The object that a grading prompt asks for; a reason that is no text is left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    grade: StrictInt
    reason: Annotated[str | None, BeforeValidator(_text_or_nothing)] = None


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
        said = _without_thoughts(reply.text)
        grade, reason, place = _text_verdict(said) if text else _json_verdict(said)
        if grade not in grades:
            allowed = ", ".join(map(str, grades))
            raise _NoGrade("out_of_scale", f"{grade} is not one of {allowed}")
    except _NoGrade as none:
        return Failure(pair, none.status, whole(none.detail))
    offset = place + len(reply.text) - len(said)
    return Judgement(pair, grade, reason, _distribution(reply, grades, offset))


def _check_ending(reply: Reply) -> None:
    status = status_of_ending(reply.finish_reason)
    if status == "filtered":
        raise _NoGrade(status, reply.refusal or "the server's content filter stopped the reply")
    if reply.refusal:
        raise _NoGrade("refused", reply.refusal)
    if status:
        raise _NoGrade(status, f"the server ended the reply with {reply.finish_reason!r}")
    if len(reply.text) > LONGEST:
        raise _NoGrade("unparsable", f"a reply of {len(reply.text):,} characters")


def _without_thoughts(text: str) -> str:
    if "<" not in text:
        return text
    said = _THOUGHT.sub("", _after_orphan(text), count=1)
    if _UNFINISHED_THOUGHT.match(said):
        raise _NoGrade("unparsable", "the reply is thinking that does not end")
    return said


def _after_orphan(text: str) -> str:
    """What follows the last end of a thought that the prompt began; else the whole text."""
    depth = start = 0
    for tag in _THOUGHT_TAG.finditer(text):
        if tag[1] and depth == 0:
            start = tag.end()
        depth = max(0, depth - 1) if tag[1] else depth + 1
    return text if start and _is_object(text) else text[start:]


def _is_object(text: str) -> bool:
    """Whether a text is one JSON object and nothing else; what its strings hold is no markup."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


class _Found(NamedTuple):
    """An object in a text, and from where to where it stands."""

    value: dict[str, Any]
    start: int
    end: int


def _json_verdict(text: str) -> tuple[int, str | None, int]:
    """The grade and reason of the one verdict among the JSON objects of a text, and where the
    grade stands.
    """
    bare = _BARE.fullmatch(text)
    if bare:
        return int(bare[1]), None, bare.start(1)
    found = list(_objects(text))
    verdicts = [one for one in found if "grade" in one.value]
    nested = [one for one in found if "grade" not in one.value and _holds_grade(one.value)]
    if not verdicts:
        _raise_no_verdict(text)
    if len(verdicts) + len(nested) > 1:
        raise _NoGrade("conflict", f"{len(verdicts) + len(nested)} verdicts in one reply")
    only = verdicts[0]
    _check_list(only, text)
    verdict = _validated(only.value)
    _check_inside(verdict.grade, only.value)
    named = [number for one in found for number in named_grades(one.value)]
    around = text[: only.start] + "\n" + text[only.end :]
    _check_around(verdict.grade, around, text[only.end :], named)
    return verdict.grade, verdict.reason, only.start + _grade_offset(text[only.start : only.end])


def _raise_no_verdict(text: str) -> None:
    if not text.strip():
        raise _NoGrade("unparsable", "an empty reply")
    shown = " ".join(text.split())[:80]
    if apologizes(text):
        raise _NoGrade("refused", shown)
    raise _NoGrade("unparsable", f"no JSON object with a grade: {shown}")


def _validated(value: dict[str, Any]) -> _Verdict:
    try:
        return _Verdict.model_validate(value)
    except ValidationError:
        shown = json.dumps(value["grade"])[:40]
        raise _NoGrade("unparsable", f"the grade is {shown}, not an integer") from None


def _check_list(only: _Found, text: str) -> None:
    """Raise where the object stands in a JSON list."""
    if text.count("[", 0, only.start) > _MANY_LISTS:
        raise _NoGrade("unparsable", f"more than {_MANY_LISTS} lists")
    for bracket in re.finditer(r"\[", text[: only.start]):
        with suppress(ValueError, RecursionError):
            if _DECODER.raw_decode(text, bracket.start())[1] >= only.end:
                raise _NoGrade("unparsable", "a list, where one object was asked for")


def _check_inside(grade: int, value: object) -> None:
    """Raise where a reason refuses to give what stands beside it."""
    if any(map(refuses, said_inside(value))):
        raise _NoGrade("conflict", f"the reply refuses, and says {grade} all the same")


def _check_around(grade: int, around: str, after: str, named: Sequence[float] = ()) -> None:
    """Raise where the prose around a verdict refuses it, withdraws it or names another grade."""
    doubt = doubts(around, after)
    if doubt:
        raise _NoGrade("conflict", f"the reply says {grade}, and {doubt} all the same")
    _check_agreement(grade, [*named, *mentioned_grades(around), *grades_after(after)])


def _check_agreement(grade: int, others: Sequence[float]) -> None:
    """Raise where another key, another object or the prose states another grade."""
    differing = [f"{other:g}" for other in others if other != float(str(grade))]
    if differing:
        raise _NoGrade(
            "conflict", f"the reply says {grade}, and {', '.join(differing[:5])} elsewhere"
        )


def _grade_offset(text: str) -> int:
    found = re.search(r'"grade"\s*:\s*', text)
    return found.end() if found else 0


def _holds_grade(value: object) -> bool:
    """Whether an integer stands under `grade` somewhere inside."""
    return any(name == "grade" and type(held) is int for name, held in entries_inside(value))


def _objects(text: str) -> Iterator[_Found]:
    """The outermost JSON objects in a text.

    Braces that hold no JSON are prose and skipped, unless they speak of a grade: a verdict that
    cannot be read must not make room for another.
    """
    at = text.find("{")
    for _ in range(_MANY_OBJECTS):
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
            yield _Found(value, at, end)
        except (ValueError, RecursionError):
            end = _closing(text, at)
            if "grade" in text[at:end].lower():
                raise _NoGrade("unparsable", f"broken JSON: {text[at : at + 60]}") from None
        at = text.find("{", end)
    raise _NoGrade("unparsable", f"more than {_MANY_OBJECTS} objects")


def _closing(text: str, at: int) -> int:
    """Where the brace at `at` is closed; the end of the text where it is not."""
    depth = 0
    for brace in re.finditer(r"[{}]", text[at:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return at + brace.end()
    return len(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _NoGrade("conflict", "a key stands twice in the reply's object")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=integer
)


def _text_verdict(text: str) -> tuple[int, None, int]:
    """The one score that a text states, as `##final score: 2`, or a bare integer, and where."""
    bare = re.fullmatch(r"\s*(-?[0-9]+)\s*", text)
    found = [bare] if bare else list(STATED.finditer(text))
    if not found:
        _raise_no_verdict(text)
    if len(found) > 1:
        raise _NoGrade("conflict", f"{len(found)} verdicts in one reply")
    if re.match(r"\s*~\s*[0-9]", text[found[0].end() :]):
        raise _NoGrade("conflict", "a range, where one score was asked for")
    grade = integer(found[0][1])
    _check_around(grade, text, text[found[0].start(1) :])
    return grade, None, found[0].start(1)


def _distribution(reply: Reply, grades: Sequence[int], place: int) -> Mapping[int, float] | None:
    """The probabilities of the grades at the token that holds the grade, where it is known."""
    start = 0
    for tops in reply.top_tokens:
        chosen = next(iter(tops), "")
        if start <= place < start + len(chosen):
            return _shares(tops, chosen[: place - start], grades)
        if not reply.text.startswith(chosen, start):
            return None
        start += len(chosen)
    return None


def _shares(
    tops: Mapping[str, float], before: str, grades: Sequence[int]
) -> Mapping[int, float] | None:
    shares = dict.fromkeys(grades, 0.0)
    for token, logprob in tops.items():
        number = token.removeprefix(before).strip(' \n\t"},')
        written = token.startswith(before) and re.fullmatch(r"-?[0-9]{1,9}", number)
        if written and int(number) in shares:
            shares[int(number)] += math.exp(logprob)
    total = sum(shares.values())
    return {grade: share / total for grade, share in shares.items()} if total > 0 else None
