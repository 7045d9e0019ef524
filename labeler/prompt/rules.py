"""What is wrong with a prompt's file, and where its words disagree with its scale or its reader."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import pairwise
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from labeler.messages import meant, meant_or_known
from labeler.prompt.reply import NoGrade
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


def read_front(source: Source) -> tuple[FrontMatter | None, str, list[PromptProblem]]:
    """The front matter of a file, or None, its kind as far as it can be told, and what is wrong."""
    try:
        values = tomllib.loads(source.front)
    except tomllib.TOMLDecodeError as error:
        message = str(error)  # of the one problem at which the parser stops
        where, words = _WHERE.search(message), _WHERE.sub("", message)
        line = int(where[1]) + 1 if where and where[1] else source.front.rstrip().count("\n") + 2
        column = f" (column {where[2]})" if where and where[2] else ""
        problem = (
            f"not TOML: {words}{column}; write each key once, on a line of its own, and texts in "
            'quotes, as kind = "grade"'
        )
        return None, "", [PromptProblem(line, problem)]
    kind = next(iter(get_close_matches(str(values.get("kind")), PLACEHOLDERS, 1)), "")
    problems = list(_of_scale(source, values.get("scale", {}))) if kind == "grade" else []
    try:
        front = FrontMatter.model_validate(values)
    except ValidationError as error:
        return None, kind, [*problems, *_of_values(source, error)]
    return front, kind, [*problems, *_of_combinations(source, front)]


def _of_values(source: Source, error: ValidationError) -> Iterator[PromptProblem]:
    """Keys that are unknown or missing, and values of another type or out of bounds."""
    for detail in error.errors(include_url=False):
        *tables, key = map(str, detail["loc"])
        table = ".".join(tables)
        line, of_table = source.line_of(key, table), f" of [{table}]" if table else ""
        names = list(_TABLES[table].model_fields) if table in _TABLES else []
        shown, message = repr(detail["input"])[:40], f"it {detail['msg'].partition(' ')[2]}"
        if detail["type"] == "extra_forbidden":
            hint = meant_or_known(key, names)
            yield PromptProblem(line, f"unknown key {key[:40]!r}{of_table}; {hint}")
        elif detail["type"] == "missing":
            yield PromptProblem(line, f"the key {key!r}{of_table} is missing; add {key} = …")
        elif detail["type"] == "value_error":
            yield PromptProblem(line, f"{key}: {detail['ctx']['error']}")
        else:
            expected = re.findall(r"'(\w+)'", message) if detail["type"] == "literal_error" else ()
            hint = meant(str(detail["input"]), expected)
            yield PromptProblem(line, f"{key}{of_table} is {shown}; {hint}{message}")


def _of_scale(source: Source, scale: object) -> Iterator[PromptProblem]:
    """What is wrong with the grades of a prompt that grades."""
    if not isinstance(scale, dict):
        return
    grades: dict[int, str] = {}
    for grade in scale:
        line, others = source.line_of(grade, "scale"), 'write 0 = "irrelevant"'
        if not GRADE.fullmatch(grade):
            yield PromptProblem(
                line,
                f"the grades of [scale] must be integers, and {grade[:40]!r} is none; {others}, "
                "and all other keys above [scale]",
            )
        elif int(grade) in grades:
            yield PromptProblem(
                line,
                f"two grades of [scale] are one integer: {grades[int(grade)]} and {grade}; leave "
                "one out",
            )
        elif int(grade) < 0:
            yield warning(
                line,
                f"the grade {grade} of [scale] is negative, which in qrels says that nobody "
                "judged the pair; let the lowest grade be 0",
            )
        grades |= {int(grade): grade} if GRADE.fullmatch(grade) else {}
    if len(scale) < 2:
        yield PromptProblem(
            source.line_of("scale" if source.line_of("scale") > 1 else "kind"),
            'a prompt of kind "grade" needs a [scale] of two grades or more; add that line, and '
            'below it one for each, as 0 = "irrelevant"',
        )


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
            if getattr(front, key) not in ({}, None, 1):
                yield PromptProblem(
                    source.line_of(key),
                    f"{key} is for a prompt that grades, and this one is of kind {front.kind!r}; "
                    "leave it out",
                )
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
        yield (
            f"the {combine.rule} goes from {low} to {high}, and a cut point at {outside[0]:g} "
            f"parts nothing; write one above {low}, to {high}"
        )


# The template: its sections, and the placeholders in them.

_DOCUMENTS = ("passage", "passages", "title", "text")
_QUERY = ("query", "description", "narrative")


_PARTS = {
    "[criteria]": ("criterion", "criteria"),
    "[questions]": ("question", "questions"),
    "batch": ("passages",),
    "[examples]": ("examples",),
}
"""Placeholders of which a template shows one where the front matter has a key, or a batch of 2."""


def template_problems(
    source: Source, kind: str, front: FrontMatter | None
) -> Iterator[PromptProblem]:
    """What is wrong with the sections of a template, and with the placeholders in them."""
    if source.preamble.content:
        yield PromptProblem(
            source.preamble.start,
            "text before the first section; expected '# system' or '# user' above it",
        )
    if not source.sections or source.sections[-1].role != "user":
        yield PromptProblem(
            source.last,
            "the last section must be '# user'; add it, with what is asked of the model",
        )
    for section in source.sections:
        if not section.content:
            yield PromptProblem(
                section.heading,
                f"the section '# {section.role}' is empty; fill it, or leave it out",
            )
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
    ranked, others = [("query",), ("passages",), ("count",)], [("passage", "text", "passages")]
    for needed in ranked if kind == "rank" else others:  # one of each of which has to be shown
        if used.isdisjoint(needed):
            yield PromptProblem(
                source.last,
                f"the template does not show {_braced(needed, ' or ')}; put it into the last "
                "section",
            )
    if kind == "grade" and used.isdisjoint(_QUERY):
        yield warning(
            source.last,
            "the template does not show {query}, so that all queries are graded alike; put it "
            "into the last section",
        )
    is_marked = kind == "grade" and "mark" in used and not unknown
    for section in source.sections if is_marked else ():
        shown = [n for n in PLACEHOLDER.findall(section.content) if n in ("mark", *_DOCUMENTS)]
        if shown and not ({shown[0], shown[-1]} == {"mark"} != {*shown}):
            yield PromptProblem(
                section.start, "a document stands between marks; put {mark} before and after it"
            )


def _braced(names: Sequence[str], between: str) -> str:
    return between.join(f"{{{name}}}" for name in names)


def _of_parts(
    source: Source, front: FrontMatter, used: Mapping[str, int]
) -> Iterator[PromptProblem]:
    """Whether the template shows what the front matter says there is, and nothing else."""
    for key, names in _PARTS.items():
        shown = [name for name in names if name in used]
        is_set = getattr(front, key.strip("[]")) not in ({}, None, 1)
        if is_set and len(shown) != 1:
            which = f"does not show {_braced(names, ' or ')}" if not shown else "shows both"
            yield PromptProblem(
                source.last,
                f"the front matter has {key}, and the template {which}; put it into the last "
                "section, once",
            )
        elif shown and not is_set:
            yield PromptProblem(
                used[shown[0]],
                f"{{{shown[0]}}} stands for nothing without {key} in the front matter; add it",
            )
    for name in sorted({*_DOCUMENTS}.intersection(used)) if front.batch > 1 else ():
        if name != "passages":
            yield PromptProblem(
                used[name],
                f"{{{name}}} is one document, and a call shows several; write {{passages}}",
            )
    if front.reply != "json" and {"criteria", "questions"}.intersection(used):
        yield PromptProblem(
            source.line_of("reply"),
            'all parts in one reply need a list of grades; write reply = "json"',
        )
    asked = PLACEHOLDER.findall(front.questions.write) if front.questions else ["query"]
    if not set(WRITING_PLACEHOLDERS).issuperset(asked) or set(_QUERY).isdisjoint(asked):
        yield PromptProblem(
            source.line_of("write", "questions"),
            f"the template that writes questions shows {_braced(asked, ', ') or 'nothing'}; "
            f"write {{query}}, of {_braced(WRITING_PLACEHOLDERS, ', ')}",
        )


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
            yield PromptProblem(
                line,
                f"the template lists the grade {grade}, which [scale] lacks; "
                f'add {grade} = "…" to [scale], or leave the line out',
                "error" if is_certain else "warning",
            )
    for grade in grades:
        if is_certain and grade not in listed:
            yield warning(
                source.line_of(str(grade), "scale"),
                f"[scale] has the grade {grade}, which the template does not list; say there what "
                "it means, or leave it out of [scale]",
            )


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
                yield _Range(number, words[0], (low, high), _OF_GRADES.search(around) is not None)


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
    reader, is_grading = front.reader, front.kind == "grade"
    if is_grading and reader.kind != "json":
        yield from _of_forms(source, front)
        return
    keys = (reader.key,) if is_grading else KEYS[front.kind]
    keys = ("grades", "number", "grade") if is_several else keys
    other, form = next(_objects(source), None), next(_forms(source), None)
    quoted = {key for section in source.asking for key in _KEY.findall(section.content)}
    for key in keys:
        if key in quoted:
            continue
        shape = SHAPES.get(front.kind, f'{{"{key}": "…"}}')
        shape = SEVERAL if is_several else reader.example("N") if is_grading else shape
        if other:
            remedy = f', or write reply = "json:{other[2][-1]}"'
            yield PromptProblem(
                other[0],
                f"the template asks for {other[1]}, and a reply is read by the key {key!r}; ask "
                f"for {shape}{remedy if is_grading and not is_several else ''}",
            )
        elif form and is_grading:
            line, shown, beginning = form
            yield PromptProblem(
                line,
                f'the template asks for "{shown}", and reply = "json" reads an object; '
                f"write reply = 'pattern:{beginning} (\\d)', or ask for {shape}",
            )
        else:
            yield warning(source.last, f"the template does not say how to reply; ask for {shape}")


def _of_forms(source: Source, front: FrontMatter) -> Iterator[PromptProblem]:
    """Where the declared reader reads none of the forms of a reply that the template shows."""
    forms = [(line, shown) for line, shown, _ in (*_objects(source), *_forms(source))]
    is_read = False
    for _, shown in forms:
        with suppress(NoGrade):
            filled = _BLANK_OF_A_FORM.sub(str((front.part_grades or (0,))[0]), shown)
            is_read |= bool(front.reader.read(filled, front.part_grades))
    if forms and not is_read:
        yield PromptProblem(
            forms[0][0],
            f'the template asks for "{forms[0][1]}", which reply = {front.reply!r} never reads; '
            "let both be of one form",
        )
    elif not forms and front.reader.kind == "pattern" and source.asking == source.sections:
        yield warning(
            source.last,
            "the template does not show the form of a reply that the pattern finds; show it, "
            "with N for the grade",
        )


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
            yield PromptProblem(
                section.start,
                f"this example of an answer is not read as a grade ({none.detail}); answer with "
                f"{shape}",
            )
