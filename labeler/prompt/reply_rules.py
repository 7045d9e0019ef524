"""Where a template asks for another reply than the one that is read, or leaves no room for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from labeler.prompt.front import FrontMatter
from labeler.prompt.problem import PromptProblem, warning
from labeler.prompt.reply.reader import NoGrade
from labeler.prompt.scale_rules import scale_problems
from labeler.prompt.source import Source
from labeler.prompt.template import PLACEHOLDER

KEYS = {
    "grade": ("grade",),
    "check": ("yes",),
    "rank": ("order",),
    "topic": ("description", "narrative"),
    "generate": (),
}
"""The keys of the JSON object that a reply is read by, by the kind of prompt."""

SHAPES = {"check": '{"yes": true}', "rank": '{"order": [2, 1, 3]}'}
SEVERAL = '{"grades": [{"number": 1, "grade": N}]}'
_KEY = re.compile(r"[\"'`](\w+)[\"'`]")
_OBJECT = re.compile(r"\{\s*[\"'][^{}]*\}")
_KEY_OF_AN_OBJECT = re.compile(r"[\"'](\w+)[\"']\s*:")
_BLANK = r"(?:N|X|score|grade|[<\[](?:N|score|grade|number|integer|\d)[^<>\[\]\n]*[>\]])(?!\w)"
_FORM = re.compile(rf"([#*]{{0,6}}[\w ]{{2,40}}[:=] *){_BLANK}", re.IGNORECASE)
_BLANK_OF_A_FORM = re.compile(rf"(?<=[:=] ){_BLANK}", re.IGNORECASE)

SHORTEST_REASON = 40
"""Tokens that a short sentence and the grade take."""

SHORTEST_OBJECT = 8


def reply_problems(source: Source, front: FrontMatter) -> list[PromptProblem]:
    """Everything in which a template, its scale and the reader of its replies disagree."""
    names = {name for section in source.sections for name in PLACEHOLDER.findall(section.content)}
    is_several = front.asks_several(names)
    problems = [*_of_keys(source, front, is_several), *_of_length(source, front, is_several)]
    grades = front.part_grades
    if grades:
        problems += scale_problems(source, grades)
        problems += [] if is_several else _of_examples(source, front, grades)
    return problems


def _of_keys(source: Source, front: FrontMatter, is_several: bool) -> Iterator[PromptProblem]:
    reader = front.reader
    keys = (reader.key,) if front.kind == "grade" else KEYS[front.kind]
    keys = ("grades", "number", "grade") if is_several else keys
    keys = ("better",) if front.comparisons else keys
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
        shape = '{"better": "first"}' if front.comparisons else shape
        if other:
            problem = f"the template asks for {other[1]}, and a reply is read by the key {key!r}"
            is_alone = front.kind == "grade" and not is_several and not front.comparisons
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
    if front.kind == "grade" and quoted:
        yield from _of_reasons(source, front, quoted)


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


def _of_reasons(source: Source, front: FrontMatter, quoted: set[str]) -> Iterator[PromptProblem]:
    if front.reason and "reason" not in quoted:
        problem = 'reason = true, and the template does not ask for a "reason"'
        shape = '{"reason": "one short sentence", "grade": N}'
        yield warning(source.line_of("reason"), f"{problem}; ask for {shape}")
    if not front.reason and "reason" in quoted:
        problem = 'the template asks for a "reason", which the schema of replies leaves out'
        yield warning(source.last, f"{problem}; write reason = true in the front matter")
    for line, shown, keys in _objects(source):
        if front.reason and keys[:1] == ["grade"] and "reason" in keys:
            problem = f"{shown} gives the grade before its reason, and the schema after it"
            yield warning(line, f'{problem}; name "reason" first')


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


def _of_length(source: Source, front: FrontMatter, is_several: bool) -> Iterator[PromptProblem]:
    """Room for the reply: one that is cut off has no grade."""
    if front.kind != "grade" or front.reader.kind != "json":
        return
    least = SHORTEST_REASON if front.reason else SHORTEST_OBJECT
    what = "a reason and the grade" if front.reason else "a JSON object with the grade"
    if is_several:
        questions = front.questions.count if front.questions else 0
        entries = max(front.batch, len(front.criteria), questions)
        least = SHORTEST_OBJECT + entries * least
        what = f"a JSON object with {entries} grades" + (" and reasons" if front.reason else "")
    if front.max_tokens < least:
        problem = f"max_tokens is {front.max_tokens}, too few for {what}; write {least} or more"
        yield warning(source.line_of("max_tokens"), problem)


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
