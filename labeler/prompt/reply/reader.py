"""The reader that a prompt declares for its replies: how a grade stands in a text. Pure.

Decoration is no failure, and ambiguity is one: two grades, a fraction, a grade off the scale, a
refusal, and a grade that is taken back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, NoReturn

from labeler.errors import Misuse
from labeler.prompt.reply.prose import (
    GRADE_WORDS,
    NUMBER_WORDS,
    OBJECT,
    corrects,
    other_grade,
    refuses,
)
from labeler.text.objects import (
    PlacedObject,
    after_thoughts,
    has_open_thought,
    in_signs_of_json,
    members_named,
    objects_in,
)

SHOWN = 80
"""Characters of a reply that a failure's detail quotes."""


class NoGrade(Exception):
    """Why there is no grade in a text; becomes a `Failure`."""

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class ReadGrade(NamedTuple):
    """A grade, its reason, and where in the text its digits begin, where that can be told."""

    grade: int
    reason: str | None = None
    position: int | None = None


@dataclass(frozen=True)
class ReplyReader:
    """How replies are read: as an object by its `key`, as a grade alone, or by a `pattern`."""

    kind: Literal["json", "bare", "pattern"] = "json"
    key: str = "grade"
    pattern: str = ""

    def read(self, text: str, grades: Sequence[int]) -> ReadGrade:
        """The grade that a text gives; `NoGrade` where it gives none, or more than one."""
        start = after_thoughts(text)
        answer = text[start:]
        if self.kind == "bare":
            grade, reason, position = _of_bare(answer)
        else:
            of_text = self._of_object if self.kind == "json" else self._of_pattern
            grade, reason, position = of_text(answer, grades)
        if grade not in grades:
            allowed = ", ".join(map(str, grades))
            raise NoGrade("out_of_scale", f"{grade} is not one of {allowed}"[: 2 * SHOWN])
        return ReadGrade(grade, reason, None if position is None else start + position)

    def example(self, grade: int | str) -> str:
        """A reply with this grade, as it is shown to people and models."""
        if self.kind == "json":
            return f'{{"{self.key}": {grade}}}'
        literal = self.pattern[: max(self.pattern.find("("), 0)]
        return re.sub(r"\\(.)", r"\1", literal) + str(grade)

    def _of_object(self, text: str, grades: Sequence[int]) -> ReadGrade:
        answer = answer_in(text, f'a "{self.key}"')
        members = list(members_named([o.value for o in answer.objects], self._names))
        if not members:
            raise_nothing(f'no JSON object with a "{self.key}"', text)
        values = {whole_number(value) for _, value in members}
        if len(values) > 1:
            raise NoGrade("conflict", f"{len(values)} grades: {sorted(values)}"[: 2 * SHOWN])
        [grade] = values
        is_alone = answer.before == OBJECT and not answer.after
        other = None if is_alone else other_grade(answer.before, answer.after, grade, grades)
        if other is not None:
            raise NoGrade("conflict", f"{grade} in the object, and {other} beside it")
        reasons = [value for holder, _ in members for value in _reasons(holder)]
        at = [hit.start(1) for hit in self._written.finditer(text) if int(hit[1]) == grade]
        return ReadGrade(grade, reasons[-1] if reasons else None, at[-1] if at else None)

    @cached_property
    def _names(self) -> re.Pattern[str]:
        own = re.escape(self.key)
        return re.compile(rf"(?:(?:final|revised|corrected|updated)[ _-]?)?{own}", re.IGNORECASE)

    @cached_property
    def _written(self) -> re.Pattern[str]:
        """The key and its number, in the quotes and brackets that may stand round both."""
        own = re.escape(self.key)
        return re.compile(rf"(?<![^\W_]){own}[^\w{{}}]{{1,20}}?(-?\d{{1,9}})", re.IGNORECASE)

    def _of_pattern(self, text: str, grades: Sequence[int]) -> ReadGrade:
        whole_text = _checked_prose(text, text)
        plain_at = [at for at, character in enumerate(whole_text) if character not in _MARKS]
        plain = "".join(whole_text[at] for at in plain_at)
        hits = list(self._tolerant.finditer(plain))
        if not hits:
            raise_nothing(f"nothing that {self.pattern!r} finds", text)
        values = {_hit(plain, hit) for hit in hits}
        if len(values) > 1:
            raise NoGrade("conflict", f"{len(values)} grades: {sorted(values)}"[: 2 * SHOWN])
        [grade], after = values, plain[hits[-1].end() :]
        if corrects(after) or other_grade("", after, grade, grades) is not None:
            raise NoGrade("conflict", f"taken back: {shown(after)}")
        return ReadGrade(grade, None, plain_at[hits[-1].start(1)])

    @cached_property
    def _tolerant(self) -> re.Pattern[str]:
        """The pattern, in any case of letters, with any spaces, and without signs of Markdown."""
        return _compiled(re.sub(r"\\?[#`]|\\\*", "", re.sub(r"\\? ", r"\\s*", self.pattern)))


_MARKS = "#`*"
_MORE = re.compile(r"\d|[ ]?[.,/~–—-][ ]?\d|[ ]?%|\s+(?:or|to|oder|bis|ou|à|o|或|または)\s+\d")


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _hit(text: str, hit: re.Match[str]) -> int:
    """The number that a pattern caught; `NoGrade` where it is a part of a longer one, or none."""
    if not hit[1] or _MORE.match(text, hit.end(1)) or not hit[1].strip().isdecimal():
        raise NoGrade("unparsable", f"no whole number: {shown(text[hit.start() :])}")
    return int(hit[1])


class ObjectsInProse(NamedTuple):
    """The objects of a text, and the prose before and after the last of them."""

    objects: list[PlacedObject]
    before: str
    after: str


def answer_in(text: str, holding: str) -> ObjectsInProse:
    """The objects that a text holds; `holding` says in a failure's detail what they should hold.

    `NoGrade` where there is none, where one is broken, and where a text in or round them refuses.
    """
    objects = _objects(text)
    if not objects and '\\"' in text:  # JSON in a text of JSON, with or without its quotes
        text = text.replace("\\n", "\n").replace('\\"', '"')
        objects = _objects(text)
    if not objects:
        raise_nothing(f"no JSON object with {holding}", text)
    starts, ends = [0, *(o.end for o in objects)], [*(o.start for o in objects), len(text)]
    pieces = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    if any(pieces):
        _checked_prose("\n".join(pieces), text)
    for part in _texts(objects):
        if refuses(part):
            raise NoGrade("refused", shown(part))
    if pieces[-1] and corrects(pieces[-1]):
        raise NoGrade("conflict", f"taken back: {shown(pieces[-1])}")
    return ObjectsInProse(objects, "".join(piece + OBJECT for piece in pieces[:-1]), pieces[-1])


def _objects(text: str) -> list[PlacedObject]:
    """The objects as they are written, or else in the quotes and commas of JSON."""
    try:
        return list(objects_in(text))
    except ValueError as error:
        try:
            return list(objects_in(in_signs_of_json(text)))
        except ValueError:
            raise NoGrade("unparsable", f"{error}: {shown(text)}"[: 2 * SHOWN]) from None


def _checked_prose(prose: str, text: str) -> str:
    """The prose, where no thought begins in it and it does not refuse."""
    if has_open_thought(prose):
        raise NoGrade("unparsable", f"a thought that does not end: {shown(text)}")
    if refuses(prose):
        raise NoGrade("refused", shown(prose))
    return prose


def _texts(objects: Sequence[PlacedObject]) -> list[str]:
    """The texts inside, however deep."""
    waiting: list[object] = [placed.value for placed in objects]
    texts = list[str]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, str):
            texts.append(part)
    return texts


def _reasons(holder: dict[str, object]) -> list[str]:
    return [v for name, v in holder.items() if name.lower() == "reason" and isinstance(v, str)]


def whole_number(value: object) -> int:
    """The whole number that a value is, or that a text says alone; `NoGrade` for any other."""
    if isinstance(value, str):
        return _of_bare(value).grade
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise NoGrade("unparsable", f"no whole number as the grade: {str(value)[:SHOWN]}")


_WORDS = (
    *GRADE_WORDS,
    *("final", "overall", "my", "the", "is", "of", "boxed", "result", "points?", "level", "text"),
    *("die", "der", "ist", "la", "le", "est", "es", "è", "点", "分", "점", "баллов", "балла"),
)
_DECORATION = re.compile(
    rf"(?:[\s*_`~\"'#>{{}}\[\]()<|\\/.:=：。“”„«»「」【】点分점は为是]|[-–—•]\s"
    rf"|(?<![A-Za-z])(?:{'|'.join(_WORDS)})(?![A-Za-z]))*+",
    re.IGNORECASE,
)
_ONLY_NUMBER = re.compile(r"(?<![\d.,])((?:(?<!\w)-)?\d{1,9})(?:\.0+)?(?![\d.,]*\d)")
_LABEL = re.compile(rf"(?:{'|'.join(GRADE_WORDS)})\W*[:：]\W*$", re.IGNORECASE)
_LONGEST_BARE = 10_000
_END_OF_TURN = re.compile(r"</s>|<end_of_turn>|<\|(?:im_end|eot_id|end|endoftext|return)\|>")


def _of_bare(text: str) -> ReadGrade:
    """The grade that a text is, with words that only say that it is one.

    An explanation may follow on another line, or behind a dash or a bracket, and a sentence may
    come before it on another line; no other number may stand in them.
    """
    if len(text) > _LONGEST_BARE:
        raise_nothing("more than a grade", text)
    plain = _END_OF_TURN.sub(lambda mark: " " * len(mark[0]), _checked_prose(text, text))
    numbers = list(_ONLY_NUMBER.finditer(plain))
    others = sum(character.isnumeric() for character in _ONLY_NUMBER.sub("", plain))
    if len(numbers) != 1 or others:
        raise_nothing("more or less than a grade", text)
    number = numbers[0]
    before, after = plain[: number.start()], plain[number.end() :]
    label = before[before.rfind("\n") + 1 :]
    gap = _DECORATION.match(after)
    assert gap is not None, "it may be empty"
    rest = after[gap.end() :]
    is_labelled = _DECORATION.fullmatch(label) or _LABEL.search(label)
    is_apart = not rest or rest[0] in "-–—,;" or any(sign in gap[0] for sign in ":=(\n：-–—")
    words = set(re.findall(r"[a-z]+", plain.lower())) & {*NUMBER_WORDS} - {"one"}
    if not is_labelled or not is_apart or corrects(rest) or words:
        raise_nothing("more or less than a grade", text)
    return ReadGrade(int(number[1]), None, number.start(1))


def raise_nothing(problem: str, text: str) -> NoReturn:
    """Raise that a text is no grade: because it refuses, or else as the problem says."""
    if not text.strip():
        raise NoGrade("unparsable", "an empty reply")
    raise NoGrade("refused" if refuses(text) else "unparsable", f"{problem}: {shown(text)}")


def shown(text: str) -> str:
    """The beginning of a text, as a failure's detail quotes it."""
    return " ".join(text[: 20 * SHOWN].split())[:SHOWN]


FORMS = '"json", "json:KEY", "bare" or "pattern:EXPRESSION"'


def parse_reader(declaration: str) -> ReplyReader:
    r"""The reader that a text declares: `json`, `json:KEY`, `bare` or `pattern:EXPRESSION`.

    The expression catches the grade in its one group; letters are read in any case.

    >>> parse_reader(r"pattern:##final score: (\d)").read("## Final score: **2**", range(4)).grade
    2
    """
    kind, colon, rest = declaration.partition(":")
    if kind == "pattern" and rest:
        try:
            groups = ReplyReader("pattern", pattern=rest)._tolerant.groups
            problem = "" if groups == 1 else f"it has {groups} groups, and 1 must catch the grade"
        except re.error as error:
            problem = str(error)
        if problem:
            raise Misuse(f"the pattern {rest!r:.80}: {problem}", parameter="reader")
        return ReplyReader("pattern", pattern=rest)
    if kind == "json" and (rest.strip() or not colon):
        return ReplyReader("json", rest.strip() or "grade")
    if declaration == "bare":
        return ReplyReader("bare")
    raise Misuse(f"no reader of replies {declaration!r:.80}; write {FORMS}", parameter="reader")
