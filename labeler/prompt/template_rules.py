"""What is wrong with a prompt's sections and with the placeholders in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from labeler.prompt.front import PLACEHOLDERS, FrontMatter
from labeler.prompt.reply import NoGrade
from labeler.prompt.source import PromptProblem, Section, Source, warning
from labeler.prompt.template import PLACEHOLDER

ROLES = ("system", "user", "assistant")
_HEADING = re.compile(r"#{1,6} ?(\w+):?[ \t]*")
_CLOSE = 0.75
_SPACED = re.compile(r"(?<!\{)(?:\{\s+(\w+)\s*\}|\{(\w+)\s+\})(?!\})")
_DOUBLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")

NEEDED = {"check": ("query",), "rank": ("query", "passages", "count")}
"""Placeholders without which a template of a kind says too little; of others, the document's."""


def section_problems(source: Source) -> Iterator[PromptProblem]:
    """What is wrong with the order of the sections, and with what stands outside of them."""
    if source.preamble.content:
        problem = "text before the first section; expected '# system' or '# user' above it"
        yield PromptProblem(source.preamble.start, problem)
    if not source.sections or source.sections[-1].role != "user":
        problem = "the last section must be '# user'; add it, with what is asked of the model"
        yield PromptProblem(source.last, problem)
    before = ""
    for section in source.sections:
        if not section.content:
            problem = f"the section '# {section.role}' is empty; fill it, or leave it out"
            yield PromptProblem(section.heading, problem)
        if section.role == "system" and before:
            problem = "'# system' after another section, which many servers refuse; put it first"
            yield warning(section.heading, problem)
        if section.role == before:
            problem = f"two sections '# {before}' in a row, which some servers refuse; join them"
            yield warning(section.heading, problem)
        before = section.role
    for section in (source.preamble, *source.sections):
        yield from _misspelt_headings(section)


def _misspelt_headings(section: Section) -> Iterator[PromptProblem]:
    """Lines of text that look as if a section was meant to begin."""
    for number, line in section.lines():
        heading = _HEADING.fullmatch(line)
        role = _role_meant(heading[1].lower()) if heading else ""
        if role:
            problem = f"{line.strip()!r} is text and begins no section; write '# {role}'"
            yield warning(number, problem)


@lru_cache(maxsize=256)
def _role_meant(word: str) -> str:
    """The role that a word is a misspelling of; empty for any other word."""
    return next(iter(get_close_matches(word, ROLES, 1, _CLOSE)), "")


def placeholder_problems(source: Source, kind: str) -> Iterator[PromptProblem]:
    """Unknown placeholders, each where it stands; those that are missing; and near misses."""
    if not kind:
        return
    names = PLACEHOLDERS[kind]
    close = _Meant(names)
    used: set[str] = set()
    for section in source.sections:
        for number, line in section.lines():
            for name in PLACEHOLDER.findall(line):
                # A misspelt one is not missing, too.
                used.add(name if name in names else close[name])
                if name not in names:
                    listed = f"known: {', '.join(map(_braced, names))}"
                    hint = f"did you mean {{{close[name]}}}?" if close[name] else listed
                    yield PromptProblem(number, f"unknown placeholder {{{name:.40}}}; {hint}")
            yield from _near_misses(number, line, names)
    yield from _missing(source, kind, used)
    if "mark" in used and "mark" in names and used & set(_DOCUMENTS) <= _written(source):
        yield from _misplaced_marks(source)


class _Meant(dict[str, str]):
    """By an unknown name the one that was meant; empty where none is close, or after so many."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def __missing__(self, name: str) -> str:
        by_lower = {known_name.lower(): known_name for known_name in self.names}
        is_worth_it = len(self) < MOST_HINTS
        close = get_close_matches(name.lower()[:40], by_lower, 1) if is_worth_it else []
        self[name] = by_lower[close[0]] if close else ""
        return self[name]


MOST_HINTS = 50
"""Unknown names of a file for which a close one is looked up, which takes a moment each."""


def _written(source: Source) -> set[str]:
    """The names in braces as they are written."""
    return {name for section in source.sections for name in PLACEHOLDER.findall(section.content)}


def _braced(name: str) -> str:
    return f"{{{name}}}"


def _near_misses(number: int, line: str, names: tuple[str, ...]) -> Iterator[PromptProblem]:
    for spaced in _SPACED.finditer(line):
        name = spaced[1] or spaced[2]
        if name in names:
            problem = f"{spaced[0]!r} is text and is not filled in; write {{{name}}}"
            yield warning(number, problem)
    for double in _DOUBLE.finditer(line):
        if double[1] in names:
            problem = f"{double[0]!r} shows braces around what is filled in; write {{{double[1]}}}"
            yield warning(number, problem)


_DOCUMENTS = ("passage", "passages", "title", "text")


def _misplaced_marks(source: Source) -> Iterator[PromptProblem]:
    """Marks that do not stand before and after the document's texts, in one section."""
    for section in source.sections:
        shown = [
            (number, name)
            for number, line in section.lines()
            for name in PLACEHOLDER.findall(line)
            if name in ("mark", *_DOCUMENTS)
        ]
        if shown and {shown[0][1], shown[-1][1]} != {"mark"}:
            number = next(number for number, name in shown if name != "mark")
            problem = "a document stands outside of the marks; put {mark} before and after it"
            yield PromptProblem(number, problem)
        elif shown and (len(shown) == 1 or {name for _, name in shown} == {"mark"}):
            problem = "{mark} without a document; put it before and after {passage}"
            yield PromptProblem(shown[0][0], problem)


def _missing(source: Source, kind: str, used: set[str]) -> Iterator[PromptProblem]:
    needed = NEEDED.get(kind, ())
    for name in needed:
        if name not in used:
            problem = f"the template does not show {{{name}}}; put it into the last section"
            yield PromptProblem(source.last, problem)
    if not needed and not used & {"passage", "text", "passages", "first"}:
        problem = "the template shows neither {passage} nor {text}; put one into the last section"
        yield PromptProblem(source.last, problem)
    if kind == "grade" and not used & {"query", "description", "narrative"}:
        problem = "the template does not show {query}, so that all queries are graded alike"
        yield warning(source.last, f"{problem}; put it into the last section")


# Where the words of a prompt that grades and its `[scale]` disagree.
#
# The words are read in two forms: a list, whose lines begin with a grade, as `2 = it answers a
# part` or `- 2: …`, and a range, as `an integer from 0 to 3`. Where one of a form agrees with the
# scale, the others may be about something else, such as steps or marks of an aspect: a range is
# then a warning, and a list is passed over.

_NAMES = r"(?:grade|score|rating|level|label)?"
_LISTED = re.compile(
    rf"(?:[-*•]\s++|\|\s*+)?\*{{0,2}}{_NAMES}\s*+[\"'`(]?(-?\d{{1,3}}+)[\"'`)]?\*{{0,2}}\s*+"
    r"(?:[=:–—|→]|->?\s)\s*+\S",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"(?<![\w.,/-])(?:between\s+(-?\d{1,3})\s+and|(-?\d{1,3})(?:\s*(?:-|–|—|\.{2,3}|…)|\s+to\s))"
    r"\s*(-?\d{1,3})(?![\w%/]|[.,]\d)"
)
_OF_GRADES = re.compile(r"grade|scor|scale|integer|rating|rate\b|level|label|number", re.IGNORECASE)

_SENTENCE = re.compile(r"[.;!?]\s")
BEFORE, AFTER = 30, 12
"""Characters around a range, in which a word says that it is one of grades."""

_SHORT = 60
"""Characters of a line by which it is told whether it is about a grade."""

Listed = dict[int, int]
"""The grades that one list of a template gives, with their lines."""


def scale_problems(source: Source, grades: Sequence[int]) -> Iterator[PromptProblem]:
    """Every list and every range of grades in the template that is not the scale."""
    yield from _of_lists(source, grades)
    yield from _of_ranges(source, grades)


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


# Where a template asks for another reply than the one that is read, or leaves no room for it.

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
