"""What is wrong with the criteria, questions, lists and cut points of a grading prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from labeler.prompt.cut_rules import comparison_problems, cut_problems
from labeler.prompt.front import PLACEHOLDERS, WRITING_PLACEHOLDERS, FrontMatter
from labeler.prompt.problem import PromptProblem, close_to, warning
from labeler.prompt.source import Source
from labeler.prompt.template import PLACEHOLDER

_GRADE = re.compile(r"-?[0-9]{1,9}")
_QRELS = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
MOST_CRITERIA = 50

TABLES: Mapping[str, tuple[str, ...]] = {
    "criteria": (),
    "questions": ("write", "count", "max_tokens"),
    "combine": ("rule", "cuts", "scale"),
    "examples": ("count", "of", "seed", "max_chars"),
    "comparisons": ("each", "both_orders", "cuts"),
}
"""The tables of the front matter that are not the scale, and their keys where those are fixed."""

_VALUES = {
    "criteria": 'write a table [criteria] with a line for each, as exactness = "how precisely …"',
    "questions": 'write a table [questions] with write = """…{query}…""" and count = 8',
    "combine": 'write a table [combine] with rule = "sum" and cuts = [5, 7, 10]',
    "examples": "write a table [examples] with count = 4",
    "comparisons": "write a table [comparisons] with each = 6 and cuts = [0.05, 0.4, 0.75]",
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
    if front.comparisons:
        yield from comparison_problems(source, front)
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
    for name in ("first", "second"):
        yield from _one_of(source, used, (name,), "[comparisons]", front.comparisons is not None)
    yield from _one_of(source, used, ("examples",), "[examples]", front.examples is not None)
    if "examples" in used and any(
        used["examples"] > at for name, at in used.items() if name != "examples"
    ):
        problem = "{examples} stands after what differs from pair to pair, so that no two requests"
        yield PromptProblem(used["examples"], f"{problem} begin alike; put it before all others")
    several = "{passages}" if front.batch > 1 else "{first} and {second}"
    if front.batch > 1 or front.comparisons:
        for name in sorted({"passage", "text", "title"}.intersection(used)):
            problem = f"{{{name}}} is one document, and a call shows several; write {several}"
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
