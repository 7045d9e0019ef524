"""Where the words of a prompt disagree with its scale, or with what reads its replies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from labeler.prompt.reply import NoGrade
from labeler.prompt.template import PLACEHOLDER, FrontMatter, PromptProblem, Source, warning

# The words of a template and the `[scale]`.
#
# The words are read in two forms: a list, whose lines begin with a grade, as `2 = it answers a
# part` or `- 2: …`, and a range, as `an integer from 0 to 3`. Where one of a form agrees with the
# scale, the others may be about something else, such as steps or marks of an aspect: a range is
# then a warning, and a list is passed over.

_NAMES = r"(?:grade|score|rating|level|label)?"
_LISTED = re.compile(
    rf"(?i)(?:[-*•]\s++|\|\s*+)?\*{{0,2}}{_NAMES}\s*+[\"'`(]?(-?\d{{1,3}}+)[\"'`)]?\*{{0,2}}\s*+"
    r"(?:[=:–—|→]|->?\s)\s*+\S",
)
_RANGE = re.compile(
    r"(?<![\w.,/-])(?:between\s+(-?\d{1,3})\s+and|(-?\d{1,3})(?:\s*(?:-|–|—|\.{2,3}|…)|\s+to\s))"
    r"\s*(-?\d{1,3})(?![\w%/]|[.,]\d)"
)
_OF_GRADES = re.compile(r"(?i)grade|scor|scale|integer|rating|rate\b|level|label|number")

_SENTENCE = re.compile(r"[.;!?]\s")
BEFORE, AFTER = 30, 12
"""Characters around a range, in which a word says that it is one of grades."""

_SHORT = 60
"""Characters of a line by which it is told whether it is about a grade."""

Listed = dict[int, int]
"""The grades that one list of a template gives, with their lines."""


def _of_lists(source: Source, grades: Sequence[int]) -> Iterator[PromptProblem]:
    lists = [listed for listed in _lists(source) if len(listed.keys() & set(grades)) > 1]
    if not lists or any(set(listed) == set(grades) for listed in lists):
        return
    listed = max(lists, key=lambda listed: len(listed.keys() & set(grades)))
    # Steps that are numbered from 1 look like grades where the scale begins with 0.
    is_certain = min(listed) == grades[0]
    for grade, line in listed.items():
        if grade not in grades:
            problem = f"the template lists the grade {grade}, which [scale] lacks"
            problem += f'; add {grade} = "…" to [scale], or leave the line out'
            yield PromptProblem(line, problem) if is_certain else warning(line, problem)
    for grade in grades:
        if is_certain and grade not in listed:
            problem = f"[scale] has the grade {grade}, which the template does not list"
            line = source.line_of(str(grade), "scale")
            yield warning(line, f"{problem}; say there what it means, or leave it out of [scale]")


def _lists(source: Source) -> Iterator[Listed]:
    """The lists of each section; one ends where a grade comes for the second time."""
    for section in source.asking:
        listed: Listed = {}
        for number, line in section.lines():
            entry = _LISTED.match(line.strip()[:_SHORT])
            if entry and int(entry[1]) in listed:
                yield listed
                listed = {}
            if entry:
                listed[int(entry[1])] = number
        yield listed


class _Range(NamedTuple):
    """A range of whole numbers: its line, its words, its ends, and whether a word says of what."""

    line: int
    words: str
    ends: tuple[int, int]
    is_of_grades: bool


def _of_ranges(source: Source, grades: Sequence[int]) -> Iterator[PromptProblem]:
    ends = grades[0], grades[-1]
    ranges = list(_ranges(source, ends))
    is_agreed = any(each.ends == ends for each in ranges)
    for line, words, span, is_of_grades in ranges:
        problem = f'the template says "{words}", and [scale] goes from {ends[0]} to {ends[1]}'
        if span != ends and is_of_grades and not is_agreed:
            yield PromptProblem(line, f"{problem}; write the same in both")
        elif span != ends:
            yield warning(line, f"{problem}; write the same, if it is meant to be the grade's")


def _ranges(source: Source, ends: tuple[int, int]) -> Iterator[_Range]:
    """Ranges in lines that speak of grades and that begin or end as a scale does."""
    for section in source.asking:
        for number, line in section.lines():
            for words in _RANGE.finditer(line) if _OF_GRADES.search(line) else ():
                low, high = int(words[1] or words[2]), int(words[3])
                # "between 2 and 3, take 2" is about neighbors, and "100 to 200 words" of lengths.
                if (low, high) != ends and (high - low < 2 or low not in {0, 1, ends[0]}):
                    continue
                before = line[max(0, words.start() - BEFORE) : words.start()]
                around = _SENTENCE.split(before)[-1] + line[words.end() : words.end() + AFTER]
                is_of_grades = _OF_GRADES.search(around) is not None
                yield _Range(number, words[0], (low, high), is_of_grades)


# The form of a reply.

KEYS = {
    "grade": ("grade",),
    "rank": ("order",),
    "topic": ("description", "narrative"),
    "generate": (),
}
"""The keys of the JSON object that a reply is read by, by the kind of prompt."""

SHAPES = {"rank": '{"order": [2, 1, 3]}'}
SEVERAL = '{"grades": [{"number": 1, "grade": N}]}'
_KEY = re.compile(r"[\"'`](\w+)[\"'`]")
_OBJECT = re.compile(r"\{\s*[\"'][^{}]*\}")
_KEY_OF_AN_OBJECT = re.compile(r"[\"'](\w+)[\"']\s*:")
_BLANK = r"(?:N|X|score|grade|[<\[](?:N|score|grade|number|integer|\d)[^<>\[\]\n]*[>\]])(?!\w)"
_FORM = re.compile(rf"(?i)([#*]{{0,6}}[\w ]{{2,40}}[:=] *){_BLANK}")
_BLANK_OF_A_FORM = re.compile(rf"(?i)(?<=[:=] ){_BLANK}")


def reply_problems(source: Source, front: FrontMatter) -> list[PromptProblem]:
    """Everything in which a template, its scale and the reader of its replies disagree."""
    names = {name for section in source.sections for name in PLACEHOLDER.findall(section.content)}
    is_several = front.asks_several(names)
    problems = [*_of_keys(source, front, is_several)]
    grades = front.part_grades
    if grades:
        problems += [*_of_lists(source, grades), *_of_ranges(source, grades)]
        problems += [] if is_several else _of_examples(source, front, grades)
    return problems


def _of_keys(source: Source, front: FrontMatter, is_several: bool) -> Iterator[PromptProblem]:
    reader = front.reader
    keys = (reader.key,) if front.kind == "grade" else KEYS[front.kind]
    keys = ("grades", "number", "grade") if is_several else keys
    objects = list(_objects(source))
    if front.kind == "grade" and reader.kind != "json":
        yield from _of_forms(source, front)
        return
    forms = list(_forms(source))
    quoted = {key for section in source.asking for key in _KEY.findall(section.content)}
    for key in keys:
        if key in quoted:
            continue
        other = next((shown for shown in objects if shown[2]), None)
        shape = SHAPES.get(front.kind, f'{{"{key}": "…"}}')
        shape = reader.example("N") if front.kind == "grade" else shape
        shape = SEVERAL if is_several else shape
        if other:
            problem = f"the template asks for {other[1]}, and a reply is read by the key {key!r}"
            is_alone = front.kind == "grade" and not is_several
            remedy = f', or write reply = "json:{other[2][-1]}"' if is_alone else ""
            yield PromptProblem(other[0], f"{problem}; ask for {shape}{remedy}")
        elif forms and front.kind == "grade":
            line, shown, beginning = forms[0]
            remedy = f"write reply = 'pattern:{beginning} (\\d)', or ask for {shape}"
            problem = f'the template asks for "{shown}", and reply = "json" reads an object'
            yield PromptProblem(line, f"{problem}; {remedy}")
        else:
            problem = f"the template does not say how to reply; ask for {shape}"
            yield warning(source.last, problem)


def _of_forms(source: Source, front: FrontMatter) -> Iterator[PromptProblem]:
    """Where the declared reader reads none of the forms of a reply that the template shows."""
    forms = [(line, shown) for line, shown, _ in (*_objects(source), *_forms(source))]
    is_read = False
    for _, shown in forms:
        with suppress(NoGrade):
            filled = _BLANK_OF_A_FORM.sub(str((front.part_grades or (0,))[0]), shown)
            is_read |= bool(front.reader.read(filled, front.part_grades))
    if forms and not is_read:
        problem = (
            f'the template asks for "{forms[0][1]}", which reply = {front.reply!r} never reads'
        )
        yield PromptProblem(forms[0][0], f"{problem}; let both be of one form")
    elif not forms and front.reader.kind == "pattern" and source.asking == source.sections:
        problem = "the template does not show the form of a reply that the pattern finds"
        yield warning(source.last, f"{problem}; show it, with N for the grade")


def _forms(source: Source) -> Iterator[tuple[int, str, str]]:
    """Forms of a reply that are no objects, as `##final score: N`: line, form, its beginning."""
    for section in source.asking:
        for number, line in section.lines():
            for form in _FORM.finditer(line):
                yield number, form[0].strip(), form[1].strip()


def _objects(source: Source) -> Iterator[tuple[int, str, list[str]]]:
    """The JSON objects that a template shows: the line, the words, the keys."""
    for section in source.asking:
        line, counted = section.start, 0
        for shown in _OBJECT.finditer(section.content):
            keys = _KEY_OF_AN_OBJECT.findall(shown[0])
            line += section.content.count("\n", counted, shown.start())
            counted = shown.start()
            if keys:
                yield line, " ".join(shown[0].split())[:60], keys


def _of_examples(
    source: Source, front: FrontMatter, grades: Sequence[int]
) -> Iterator[PromptProblem]:
    """Answers that the template itself gives, which a model follows whatever else is said."""
    for section in source.sections:
        if section.role != "assistant":
            continue
        try:
            front.reader.read(section.content, grades)
        except NoGrade as none:
            shape = "one of them" if none.status == "out_of_scale" else front.reader.example("N")
            problem = f"this example of an answer is not read as a grade ({none.detail})"
            yield PromptProblem(section.start, f"{problem}; answer with {shape}")
