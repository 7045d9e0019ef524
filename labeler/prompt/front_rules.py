"""What is wrong with a prompt's front matter: its TOML, its keys and their values, its scale."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic import ValidationError

from labeler.prompt.front import PLACEHOLDERS, FrontMatter
from labeler.prompt.part_rules import TABLES, part_problems, table_problem
from labeler.prompt.problem import PromptProblem, close_to, warning
from labeler.prompt.source import Source

_GRADE = re.compile(r"-?[0-9]{1,9}")
_WHERE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_LONGEST_VALUE = 40

_TOML = {
    "Invalid value": 'put texts in double quotes, as reply = "json"; write true and false small',
    "Cannot overwrite": "give every key once",
    "Cannot declare": "give every table once",
    "Illegal character": "end a text with a double quote on its own line",
    "Unescaped '\\' in a string": "write a backslash as two",
}
_USUAL_TOML = 'write key = value on a line of its own, as kind = "grade"'

_KEYS = {
    "string_type": "put the text in double quotes",
    "bool_type": "write true or false, without quotes",
    "int_type": "write a whole number, without quotes",
    "int_from_float": "write a whole number",
    "float_type": "write a number, without quotes",
    "dict_type": 'write a table [scale] with a line for each grade, as 0 = "irrelevant"',
    "tuple_type": 'write a list of texts in brackets, as ["\\n"]',
}
"""What would work, by pydantic's name of what is wrong with the value of a key."""


class ReadFront(NamedTuple):
    """The front matter, or None; the kind of prompt as far as it can be told; what is wrong."""

    front: FrontMatter | None
    kind: str
    problems: list[PromptProblem]


def read_front(source: Source) -> ReadFront:
    """The front matter of a file, and all that is wrong with it."""
    try:
        values = tomllib.loads(source.front)
    except tomllib.TOMLDecodeError as error:
        return ReadFront(None, "", [_of_toml(source, str(error))])
    close = get_close_matches(str(values.get("kind")), PLACEHOLDERS, 1)
    kind = close[0] if close else ""
    problems = list(_of_scale(source, values)) if kind == "grade" else []
    try:
        front = FrontMatter.model_validate(values)
    except ValidationError as error:
        return ReadFront(None, kind, [*problems, *_of_keys(source, error)])
    return ReadFront(front, kind, [*problems, *_of_combinations(source, front)])


def _of_toml(source: Source, message: str) -> PromptProblem:
    """The one problem that TOML's parser says, since it stops at the first."""
    where = _WHERE.search(message)
    line = int(where[1]) + 1 if where and where[1] else source.front.rstrip().count("\n") + 2
    column = f" (column {where[2]})" if where and where[2] else ""
    words = _WHERE.sub("", message)
    remedy = next((text for start, text in _TOML.items() if words.startswith(start)), _USUAL_TOML)
    return PromptProblem(line, f"not TOML: {words}{column}; {remedy}")


def _of_keys(source: Source, error: ValidationError) -> Iterator[PromptProblem]:
    fields = FrontMatter.model_fields
    for detail in error.errors(include_url=False):
        key, inner = str(detail["loc"][0]), [str(part) for part in detail["loc"][1:]]
        if key in TABLES:
            yield table_problem(source, detail)
            continue
        line = source.line_of(inner[0], key) if key == "scale" and inner else source.line_of(key)
        if detail["type"] == "extra_forbidden":
            hint = close_to(key, fields) + f"known: {', '.join(fields)}"
            yield PromptProblem(line, f"unknown key {key[:_LONGEST_VALUE]!r}; {hint}")
        elif detail["type"] == "missing":
            yield PromptProblem(1, f"the key {key!r} is missing; add {_example_of(key)}")
        elif detail["type"] == "literal_error":
            expected = str(detail["ctx"]["expected"]).replace("'", '"')
            hint = close_to(str(detail["input"]), re.findall(r'"(\w+)"', expected))
            shown = _shown(detail["input"])
            yield PromptProblem(line, f"{key} is {shown}; {hint}write {expected}")
        elif inner and key == "scale" and inner[0] in fields:
            problem = f"{inner[0]} stands under [scale]; move it above the line [scale]"
            yield PromptProblem(line, problem)
        elif key == "scale" and inner and isinstance(detail["input"], dict):
            name = ".".join([inner[0], *list(detail["input"])[:1]])  # 0.5 is two keys to TOML
            problem = f"the grades of [scale] must be integers, and {_shown(name)} is none"
            yield PromptProblem(line, f'{problem}; write 0 = "irrelevant"')
        elif detail["type"] == "value_error":
            yield PromptProblem(line, f"{key}: {detail['ctx']['error']}")
        else:
            name = ".".join([key, *inner])
            remedy = _KEYS.get(detail["type"]) or detail["msg"].replace("Input", "it")
            yield PromptProblem(line, f"{name} is {_shown(detail['input'])}; {remedy}")


def _example_of(key: str) -> str:
    return {"kind": 'kind = "grade"', "description": 'description = "what it asks"'}.get(key, key)


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _of_scale(source: Source, values: Mapping[str, Any]) -> Iterator[PromptProblem]:
    """What is wrong with the grades of a prompt that grades; their names are texts, or no scale."""
    scale = values.get("scale", {})
    if not isinstance(scale, dict):
        return
    if not scale:
        line = source.line_of("scale" if "scale" in values else "kind")
        yield PromptProblem(line, _NO_SCALE)
        return
    grades: dict[int, str] = {}
    for grade in (key for key in scale if key not in FrontMatter.model_fields):
        line = source.line_of(grade, "scale")
        if not _GRADE.fullmatch(grade):
            problem = f"the grades of [scale] must be integers, and {_shown(grade)} is none"
            yield PromptProblem(line, f'{problem}; write 0 = "irrelevant"')
        elif int(grade) in grades:
            pair = f"{grades[int(grade)]} and {grade}"
            problem = f"two grades of [scale] are one integer: {pair}; leave one out"
            yield PromptProblem(line, problem)
        else:
            grades[int(grade)] = grade
            if int(grade) < 0:
                problem = (
                    f"the grade {grade} of [scale] is negative, which in qrels says that nobody"
                )
                yield warning(line, f"{problem} judged the pair; let the lowest grade be 0")
            if scale[grade] == "":
                yield warning(line, f"the grade {grade} of [scale] has no name; say what it means")
    if len(scale) == len(grades) == 1:
        yield PromptProblem(source.line_of("scale"), _ONE_GRADE)


_NO_SCALE = (
    'a prompt of kind "grade" needs a [scale]; add that line, and below it one for each grade, '
    'as 0 = "irrelevant"'
)
_ONE_GRADE = "[scale] has one grade, which every pair would get; give it two or more"


def _of_combinations(source: Source, front: FrontMatter) -> Iterator[PromptProblem]:
    """Values that are fine alone, and not together."""
    if front.kind != "grade" and front.scale:
        line, problem = source.line_of("scale"), f"a prompt of kind {front.kind!r} has no grades"
        yield warning(line, f"{problem}; leave [scale] out")
    if front.reader.kind != "json" and front.reason:
        problem = "reason = true, and only an object of JSON has a place for a reason"
        yield PromptProblem(source.line_of("reason"), f'{problem}; write reply = "json"')
    yield from part_problems(source, front)
