"""What is wrong with a prompt's file: each problem with its line, and with what would work."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from labeler.prompt.template import (
    GRADE,
    PLACEHOLDER,
    PLACEHOLDERS,
    WRITING_PLACEHOLDERS,
    Combine,
    FrontMatter,
    GradedExamples,
    PromptProblem,
    Source,
    WrittenQuestions,
    close_to,
    warning,
)

# The front matter: its TOML, its keys and their values, and what does not go together.

_TABLES: Mapping[str, type[BaseModel]] = {
    "": FrontMatter,
    "questions": WrittenQuestions,
    "combine": Combine,
    "examples": GradedExamples,
}
"""What holds the keys of each table; `criteria` and scales may have any."""

_WHERE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


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
    kind = next(iter(get_close_matches(str(values.get("kind")), PLACEHOLDERS, 1)), "")
    problems = list(_of_scale(source, values.get("scale", {}))) if kind == "grade" else []
    try:
        front = FrontMatter.model_validate(values)
    except ValidationError as error:
        return ReadFront(None, kind, [*problems, *_of_values(source, error)])
    return ReadFront(front, kind, [*problems, *_of_combinations(source, front)])


def _of_toml(source: Source, message: str) -> PromptProblem:
    """The one problem that TOML's parser says, since it stops at the first."""
    where = _WHERE.search(message)
    line = int(where[1]) + 1 if where and where[1] else source.front.rstrip().count("\n") + 2
    column = f" (column {where[2]})" if where and where[2] else ""
    remedy = 'write each key once, on a line of its own, and texts in quotes, as kind = "grade"'
    return PromptProblem(line, f"not TOML: {_WHERE.sub('', message)}{column}; {remedy}")


def _of_values(source: Source, error: ValidationError) -> Iterator[PromptProblem]:
    """Keys that are unknown or missing, and values of another type or out of bounds."""
    for detail in error.errors(include_url=False):
        *tables, key = map(str, detail["loc"])
        table = ".".join(tables)
        line, of_table = source.line_of(key, table), f" of [{table}]" if table else ""
        names = list(_TABLES[table].model_fields) if table in _TABLES else []
        shown, message = repr(detail["input"])[:40], f"it {detail['msg'].partition(' ')[2]}"
        if detail["type"] == "extra_forbidden":
            hint = close_to(key, names) + f"known: {', '.join(names)}"
            yield PromptProblem(line, f"unknown key {key[:40]!r}{of_table}; {hint}")
        elif detail["type"] == "missing":
            yield PromptProblem(line, f"the key {key!r}{of_table} is missing; add {key} = …")
        elif detail["type"] == "value_error":
            yield PromptProblem(line, f"{key}: {detail['ctx']['error']}")
        else:
            expected = re.findall(r"'(\w+)'", message) if detail["type"] == "literal_error" else ()
            hint = close_to(str(detail["input"]), expected)
            yield PromptProblem(line, f"{key}{of_table} is {shown}; {hint}{message}")


def _of_scale(source: Source, scale: object) -> Iterator[PromptProblem]:
    """What is wrong with the grades of a prompt that grades."""
    if not isinstance(scale, dict):
        return
    grades: dict[int, str] = {}
    for grade in scale:
        line, others = source.line_of(grade, "scale"), 'write 0 = "irrelevant"'
        if not GRADE.fullmatch(grade):
            problem = f"the grades of [scale] must be integers, and {grade[:40]!r} is none"
            yield PromptProblem(line, f"{problem}; {others}, and all other keys above [scale]")
        elif int(grade) in grades:
            pair = f"{grades[int(grade)]} and {grade}"
            problem = f"two grades of [scale] are one integer: {pair}; leave one out"
            yield PromptProblem(line, problem)
        elif int(grade) < 0:
            problem = f"the grade {grade} of [scale] is negative, which in qrels says that nobody"
            yield warning(line, f"{problem} judged the pair; let the lowest grade be 0")
        grades |= {int(grade): grade} if GRADE.fullmatch(grade) else {}
    if len(scale) < 2:
        problem = 'a prompt of kind "grade" needs a [scale] of two grades or more; add that line'
        line = source.line_of("scale" if source.line_of("scale") > 1 else "kind")
        yield PromptProblem(line, f'{problem}, and below it one for each, as 0 = "irrelevant"')


class _Rule(NamedTuple):
    """The key of the front matter that is wrong, what is wrong with it, and where it is."""

    key: str
    problem: str
    is_broken: Callable[[FrontMatter], object]


_OF_GRADING = (
    _Rule(
        "questions",
        "a prompt has criteria or questions, and not both; leave one table out",
        lambda front: front.criteria and front.questions,
    ),
    _Rule(
        "batch",
        "criteria and questions are asked of one document at a time; write batch = 1",
        lambda front: front.has_parts and front.batch > 1,
    ),
    _Rule(
        "batch",
        'a list of documents needs a list of grades; write reply = "json"',
        lambda front: front.batch > 1 and front.reply != "json",
    ),
    _Rule(
        "reason",
        'only an object of JSON has a place for a reason; write reply = "json"',
        lambda front: front.reason and front.reader.kind != "json",
    ),
    _Rule(
        "kind",
        "the grades of the parts make no grade of the pair; "
        'write a table [combine] with rule = "sum" and cuts = [5, 7, 10]',
        lambda front: front.has_parts and not front.combine,
    ),
    _Rule(
        "combine",
        "[combine] stands without [criteria] and without [questions]; add one of them",
        lambda front: front.combine and not front.has_parts,
    ),
    _Rule(
        "combine",
        "queries differ in how many questions they have, so that their sums do not compare; "
        'write rule = "share"',
        lambda front: front.questions and front.combine and front.combine.rule == "sum",
    ),
    _Rule(
        "combine.scale",
        '[combine.scale] needs two integers or more as grades, each once; write 0 = "no"',
        lambda front: (
            front.combine
            and front.combine.scale
            and len({*front.part_grades}) < max(2, len(front.combine.scale))
        ),
    ),
)


def _of_combinations(source: Source, front: FrontMatter) -> Iterator[PromptProblem]:
    """Values that are fine alone, and not together."""
    if front.kind != "grade":
        for key in ("scale", "criteria", "questions", "combine", "examples", "batch"):
            if getattr(front, key) != FrontMatter.model_fields[key].get_default(
                call_default_factory=True
            ):
                problem = f"{key} is for a prompt that grades, and this one is of kind"
                problem += f" {front.kind!r}; leave it out"
                yield PromptProblem(source.line_of(key), problem)
        return
    for key, problem, is_broken in _OF_GRADING:
        if is_broken(front):
            yield PromptProblem(source.line_of(key), problem)
    if front.combine and front.has_parts and front.part_grades and front.grades:
        for problem in _of_cuts(front, front.combine):
            yield PromptProblem(source.line_of("cuts", "combine"), problem)


def _of_cuts(front: FrontMatter, combine: Combine) -> Iterator[str]:
    """Whether the cut points rise, and each parts what the rule's value can be."""
    cuts, steps = combine.cuts, len(front.scale) - 1
    factor = len(front.criteria) if combine.rule == "sum" else 1
    low, high = front.part_grades[0] * factor, front.part_grades[-1] * factor
    if combine.rule == "share":
        low, high = 0, 1
    if len(cuts) != steps:
        yield f"{len(cuts)} cut points for a scale of {steps + 1} grades; write {steps}"
    elif any(first >= second for first, second in pairwise(cuts)):
        yield "the cut points do not rise; write them in ascending order"
    elif outside := [cut for cut in cuts if not low < cut <= high]:
        problem = f"the {combine.rule} goes from {low} to {high}, and a cut point at"
        yield f"{problem} {outside[0]:g} parts nothing; write one above {low}, to {high}"


# The template: its sections, and the placeholders in them.

_DOCUMENTS = ("passage", "passages", "title", "text")
_QUERY = ("query", "description", "narrative")

_NEEDED: Mapping[str, Sequence[tuple[str, ...]]] = {
    "rank": [("query",), ("passages",), ("count",)],
}
"""Placeholders, one of each of which a template of a kind has to show; of others a document's."""


class _Part(NamedTuple):
    """Placeholders of which a template shows one where the front matter has something."""

    names: Sequence[str]
    key: str
    is_set: Callable[[FrontMatter], object]


_PARTS = (
    _Part(("criterion", "criteria"), "[criteria]", lambda front: front.criteria),
    _Part(("question", "questions"), "[questions]", lambda front: front.questions),
    _Part(("passages",), "batch", lambda front: front.batch > 1),
    _Part(("examples",), "[examples]", lambda front: front.examples),
)


def template_problems(
    source: Source, kind: str, front: FrontMatter | None
) -> Iterator[PromptProblem]:
    """What is wrong with the sections of a template, and with the placeholders in them."""
    if source.preamble.content:
        problem = "text before the first section; expected '# system' or '# user' above it"
        yield PromptProblem(source.preamble.start, problem)
    if not source.sections or source.sections[-1].role != "user":
        problem = "the last section must be '# user'; add it, with what is asked of the model"
        yield PromptProblem(source.last, problem)
    for section in source.sections:
        if not section.content:
            problem = f"the section '# {section.role}' is empty; fill it, or leave it out"
            yield PromptProblem(section.heading, problem)
    lines = [
        (name, number)
        for section in source.sections
        for number, line in section.lines()
        for name in PLACEHOLDER.findall(line)
    ]
    if kind:
        yield from _of_names(source, kind, lines)
    if front and front.kind == "grade":
        yield from _of_parts(source, front, dict(lines))


def _of_names(
    source: Source, kind: str, lines: Sequence[tuple[str, int]]
) -> Iterator[PromptProblem]:
    """Unknown placeholders, each where it stands, and those that are missing."""
    names = PLACEHOLDERS[kind]
    unknown = {name for name, _ in lines}.difference(names)
    close = {name: next(iter(get_close_matches(name[:40], names, 1)), "") for name in unknown}
    for name, number in lines:
        if name in unknown:
            hint = f"did you mean {{{close[name]}}}?" if close[name] else ""
            hint = hint or f"known: {_braced(names, ', ')}"
            yield PromptProblem(number, f"unknown placeholder {{{name:.40}}}; {hint}")
    used = {close.get(name, name) for name, _ in lines}  # a misspelt one is not missing, too
    for needed in _NEEDED.get(kind, [("passage", "text", "passages")]):
        if used.isdisjoint(needed):
            problem = f"the template does not show {_braced(needed, ' or ')}"
            yield PromptProblem(source.last, f"{problem}; put it into the last section")
    if kind == "grade" and used.isdisjoint(_QUERY):
        problem = "the template does not show {query}, so that all queries are graded alike"
        yield warning(source.last, f"{problem}; put it into the last section")
    is_marked = kind == "grade" and "mark" in used and not unknown
    for section in source.sections if is_marked else ():
        shown = [n for n in PLACEHOLDER.findall(section.content) if n in ("mark", *_DOCUMENTS)]
        if shown and not ({shown[0], shown[-1]} == {"mark"} != {*shown}):
            problem = "a document stands between marks; put {mark} before and after it"
            yield PromptProblem(section.start, problem)


def _braced(names: Sequence[str], between: str) -> str:
    return between.join(f"{{{name}}}" for name in names)


def _of_parts(
    source: Source, front: FrontMatter, used: Mapping[str, int]
) -> Iterator[PromptProblem]:
    """Whether the template shows what the front matter says there is, and nothing else."""
    for names, key, is_set in _PARTS:
        shown = [name for name in names if name in used]
        if is_set(front) and len(shown) != 1:
            which = f"does not show {_braced(names, ' or ')}" if not shown else "shows both"
            problem = f"the front matter has {key}, and the template {which}; put it into the last"
            yield PromptProblem(source.last, f"{problem} section, once")
        elif shown and not is_set(front):
            problem = f"{{{shown[0]}}} stands for nothing without {key} in the front matter"
            yield PromptProblem(used[shown[0]], f"{problem}; add it")
    for name in sorted({*_DOCUMENTS}.intersection(used)) if front.batch > 1 else ():
        if name != "passages":
            problem = f"{{{name}}} is one document, and a call shows several; write {{passages}}"
            yield PromptProblem(used[name], problem)
    if front.reply != "json" and {"criteria", "questions"}.intersection(used):
        problem = 'all parts in one reply need a list of grades; write reply = "json"'
        yield PromptProblem(source.line_of("reply"), problem)
    asked = PLACEHOLDER.findall(front.questions.write) if front.questions else ["query"]
    if not set(WRITING_PLACEHOLDERS).issuperset(asked) or set(_QUERY).isdisjoint(asked):
        problem = f"the template that writes questions shows {_braced(asked, ', ') or 'nothing'}"
        remedy = f"write {{query}}, of {_braced(WRITING_PLACEHOLDERS, ', ')}"
        yield PromptProblem(source.line_of("write", "questions"), f"{problem}; {remedy}")
