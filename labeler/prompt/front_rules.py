"""What is wrong with a prompt's front matter: its TOML, its keys and their values, its scale."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import ValidationError

from labeler.prompt.front import PLACEHOLDERS, WRITING_PLACEHOLDERS, FrontMatter
from labeler.prompt.source import PromptProblem, Source, close_to, warning
from labeler.prompt.template import PLACEHOLDER

# What is wrong with the cut points that make grades of a value.


def cut_problems(
    line: int, cuts: Sequence[float], steps: int, value: str, ends: tuple[int, int]
) -> Iterator[PromptProblem]:
    """Whether so many cut points rise, and each parts what a `value` from end to end can be."""
    low, high = ends
    if len(cuts) != steps:
        problem = f"{len(cuts)} cut points for a scale of {steps + 1} grades"
        problem += f"; write {steps}, the least value of each but the lowest"
        yield PromptProblem(line, problem)
    elif any(first >= second for first, second in pairwise(cuts)):
        yield PromptProblem(line, "the cut points do not rise; write them in ascending order")
    elif outside := [cut for cut in cuts if not low < cut <= high]:
        problem = f"the {value} goes from {low} to {high}, and a cut point at {outside[0]:g}"
        yield PromptProblem(line, f"{problem} parts nothing; write one above {low}, to {high}")


# What is wrong with the criteria, questions, lists and cut points of a grading prompt.

_GRADE = re.compile(r"-?[0-9]{1,9}")
_QRELS = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
MOST_CRITERIA = 50

TABLES: Mapping[str, tuple[str, ...]] = {
    "criteria": (),
    "questions": ("write", "count", "max_tokens"),
    "combine": ("rule", "cuts", "scale"),
    "examples": ("count", "of", "seed", "max_chars"),
}
"""The tables of the front matter that are not the scale, and their keys where those are fixed."""

_VALUES = {
    "criteria": 'write a table [criteria] with a line for each, as exactness = "how precisely …"',
    "questions": 'write a table [questions] with write = """…{query}…""" and count = 8',
    "combine": 'write a table [combine] with rule = "sum" and cuts = [5, 7, 10]',
    "examples": "write a table [examples] with count = 4",
}


def table_problem(source: Source, detail: Mapping[str, Any]) -> PromptProblem:
    """What is wrong with a value in one of the `TABLES`, by what pydantic says of it."""
    table, *inner = (str(part) for part in detail["loc"])
    if not inner:
        return PromptProblem(source.line_of(table), f"{table} is no table; {_VALUES[table]}")
    key, where = inner[0], f"{table}.scale" if inner[0] == "scale" and inner[1:] else table
    line = source.line_of(inner[1] if where != table else key, where)
    if detail["type"] == "extra_forbidden":
        hint = close_to(key, TABLES[table]) + f"known: {', '.join(TABLES[table])}"
        return PromptProblem(line, f"unknown key {key[:40]!r} in [{table}]; {hint}")
    if detail["type"] == "missing":
        return PromptProblem(line, f"[{table}] lacks the key {key!r}; {_VALUES[table]}")
    problem = detail["msg"].replace("Input", "it").replace("'", '"')
    if detail["type"] == "tuple_type":
        problem = "write a list of numbers in brackets, as [5, 7, 10]"
    return PromptProblem(line, f"{key} of [{table}] is {detail['input']!r:.40}; {problem}")


def part_problems(source: Source, front: FrontMatter) -> Iterator[PromptProblem]:
    """What is wrong with the tables of a prompt whose values are each of the right type."""
    tables = [table for table in TABLES if getattr(front, table)]
    if front.kind != "grade":
        for key in [*tables, *(["batch"] if front.batch > 1 else [])]:
            problem = f"{key} is for a prompt that grades, and this one is of kind {front.kind!r}"
            yield PromptProblem(source.line_of(key), f"{problem}; leave it out")
        return
    yield from _of_tables_apart(source, front)
    if front.has_parts and not front.combine:
        problem = "the grades of the parts make no grade of the pair"
        yield PromptProblem(source.line_of("kind"), f"{problem}; {_VALUES['combine']}")
    elif front.combine and not front.has_parts:
        problem = "[combine] stands without [criteria] and without [questions]; add one of them"
        yield PromptProblem(source.line_of("combine"), problem)
    elif front.combine:
        yield from _of_combine(source, front)
    if front.examples and not _QRELS.fullmatch(front.examples.of):
        problem = f"of of [examples] is {front.examples.of!r:.40}, which names no qrels"
        yield PromptProblem(source.line_of("of", "examples"), f'{problem}; write of = "human"')


def _of_tables_apart(source: Source, front: FrontMatter) -> Iterator[PromptProblem]:
    """Methods that do not go together."""
    if front.criteria and front.questions:
        problem = "a prompt has criteria or questions, and not both; leave one table out"
        yield PromptProblem(source.line_of("questions"), problem)
    if front.has_parts and front.batch > 1:
        problem = "criteria and questions are asked of one document at a time; write batch = 1"
        yield PromptProblem(source.line_of("batch"), problem)
    if front.batch > 1 and front.reply != "json":
        problem = 'a list of documents needs a list of grades; write reply = "json"'
        yield PromptProblem(source.line_of("batch"), problem)
    for name in (name for name, meaning in front.criteria.items() if not meaning.strip()):
        problem = f"the criterion {name[:40]!r} has no meaning; say what a document is graded by"
        yield warning(source.line_of(name, "criteria"), problem)
    if len(front.criteria) > MOST_CRITERIA:
        problem = f"{len(front.criteria)} criteria; give {MOST_CRITERIA} at most"
        yield PromptProblem(source.line_of("criteria"), problem)


def _of_combine(source: Source, front: FrontMatter) -> Iterator[PromptProblem]:
    """Whether the rule and the cut points make a grade of the scale, each of which is reached."""
    combine = front.combine
    assert combine is not None  # the caller looked
    bad = [grade for grade in combine.scale if not _GRADE.fullmatch(grade)]
    for grade in bad:
        problem = f"the grades of [combine.scale] must be integers, and {grade[:40]!r} is none"
        yield PromptProblem(source.line_of(grade, "combine.scale"), f'{problem}; write 0 = "no"')
    if bad or not all(_GRADE.fullmatch(grade) for grade in front.scale) or not front.scale:
        return
    grades = sorted({int(grade) for grade in combine.scale or front.scale})
    if len(grades) < 2 or len(grades) < len(combine.scale):
        problem = "[combine.scale] needs two grades or more, each once"
        yield PromptProblem(source.line_of("combine.scale"), problem)
        return
    line, steps = source.line_of("cuts", "combine"), len(front.scale) - 1
    if front.questions and combine.rule == "sum":
        problem = (
            "queries differ in how many questions they have, so that their sums do not compare"
        )
        yield PromptProblem(source.line_of("rule", "combine"), f'{problem}; write rule = "share"')
    factor = len(front.criteria) if combine.rule == "sum" else 1
    ends = (0, 1) if combine.rule == "share" else (grades[0] * factor, grades[-1] * factor)
    yield from cut_problems(line, combine.cuts, steps, combine.rule, ends)


def part_placeholder_problems(source: Source, front: FrontMatter) -> Iterator[PromptProblem]:
    """Whether the template shows what the front matter says there is, and nothing else."""
    if front.kind != "grade":
        return
    used = {
        name: number
        for section in source.sections
        for number, line in section.lines()
        for name in PLACEHOLDER.findall(line)
    }
    yield from _one_of(source, used, ("criterion", "criteria"), "[criteria]", bool(front.criteria))
    yield from _one_of(
        source, used, ("question", "questions"), "[questions]", front.questions is not None
    )
    yield from _one_of(source, used, ("passages",), "batch", front.batch > 1)
    yield from _one_of(source, used, ("examples",), "[examples]", front.examples is not None)
    if "examples" in used and any(
        used["examples"] > at for name, at in used.items() if name != "examples"
    ):
        problem = "{examples} stands after what differs from pair to pair, so that no two requests"
        yield PromptProblem(used["examples"], f"{problem} begin alike; put it before all others")
    if front.batch > 1:
        for name in sorted({"passage", "text", "title"}.intersection(used)):
            problem = f"{{{name}}} is one document, and a call shows several; write {{passages}}"
            yield PromptProblem(used[name], problem)
    if "count" in used and front.batch == 1 and not {"criteria", "questions"}.intersection(used):
        problem = "{count} counts what a list shows, and the template shows none; leave it out"
        yield PromptProblem(used["count"], problem)
    if front.reply != "json" and {"criteria", "questions"}.intersection(used):
        problem = 'all parts in one reply need a list of grades; write reply = "json"'
        yield PromptProblem(source.line_of("reply"), problem)
    if front.questions:
        yield from _of_writing(source, front.questions.write)


def _one_of(
    source: Source, used: Mapping[str, int], names: tuple[str, ...], key: str, is_set: bool
) -> Iterator[PromptProblem]:
    """Whether a template shows one of some placeholders, which go with a key above it."""
    shown = [name for name in names if name in used]
    braced = " or ".join(f"{{{name}}}" for name in names)
    if is_set and not shown:
        problem = f"the front matter has {key}, and the template does not show {braced}"
        yield PromptProblem(source.last, f"{problem}; put it into the last section")
    elif is_set and len(shown) > 1:
        problem = f"the template shows {' and '.join(f'{{{name}}}' for name in shown)}; keep one:"
        yield PromptProblem(used[shown[0]], f"{problem} one a call, or all in one call")
    elif shown and not is_set:
        needs = "batch = 10" if key == "batch" else f"a table {key}"
        problem = f"{{{shown[0]}}} stands for nothing without {key} in the front matter"
        yield PromptProblem(used[shown[0]], f"{problem}; add {needs}")


def _of_writing(source: Source, template: str) -> Iterator[PromptProblem]:
    """What is wrong with the placeholders of the template that asks for questions."""
    line, names = source.line_of("write", "questions"), set(PLACEHOLDER.findall(template))
    names_listed = ", ".join(f"{{{name}}}" for name in WRITING_PLACEHOLDERS)
    for name in sorted(names.difference(WRITING_PLACEHOLDERS)):
        what = "no placeholder of" if name in PLACEHOLDERS["grade"] else "unknown in"
        problem = (
            f"{{{name:.40}}} is {what} the template that writes questions; known: {names_listed}"
        )
        yield PromptProblem(line, problem)
    if not names.intersection(("query", "description", "narrative")):
        problem = "the template that writes questions does not show {query}; put it in"
        yield PromptProblem(line, problem)


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
