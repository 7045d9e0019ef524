"""A pair graded by several criteria, or by questions that its document answers or not.

Criteria stand in the prompt (after Farzi & Dietz 2024). Questions are written once for each query,
from the query alone, or by a person, and every document is held against the same ones (after
Sander & Dietz 2021, EXAM; Farzi & Dietz 2024, RUBRIC; Pradeep et al. 2024, AutoNuggetizer).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from labeler.data import Failure, Judgement, Outcome, Pair, Query
from labeler.errors import BadInput
from labeler.judging.assessor import Assessor, Texts, values_of
from labeler.judging.methods.inquiry import Answers, JudgingPart, Rounds
from labeler.judging.reply import (
    QUESTIONS_SCHEMA,
    Numbered,
    distinct,
    parse_grade,
    parse_numbered,
    parse_questions,
)
from labeler.model import Reply, Request
from labeler.prompt import Prompt, grade_schema, numbered_schema
from labeler.prompt.template import Combine

# The grades of a pair's parts become its grade: by a stated rule, at stated cut points. Pure.


def combined(pair: Pair, prompt: Prompt, parts: Mapping[str, Judgement]) -> Judgement:
    """The judgement that the grades of a pair's parts make; its reason names each of them."""
    combine, grades = prompt.front.combine or Combine(), prompt.front.part_grades
    values = [part.grade for part in parts.values()]
    # what the cut points are held against is exact, so that no rounding moves a grade
    value = Fraction(max(values) if combine.rule == "best" else sum(values))
    if combine.rule == "share":
        least = len(values) * grades[0]
        value = (value - least) / (len(values) * grades[-1] - least)
    # cut points as they are written, so that 3 of 10 reaches a cut at 0.3
    reached = sum(value >= Fraction(repr(float(cut))) for cut in combine.cuts)
    shown = f"{float(value):.2f}" if combine.rule == "share" else str(value)
    named = (
        f"{name}: {part.grade}" + (f" ({part.reason})" if part.reason else "")
        for name, part in parts.items()
    )
    return Judgement(pair, prompt.grades[reached], f"{', '.join(named)}; {combine.rule} {shown}")


def first_failure(pair: Pair, parts: Mapping[str, object]) -> Outcome | None:
    """The failure of a pair whose parts failed, which names them; None where none did."""
    failed = [(name, answer) for name, answer in parts.items() if isinstance(answer, Failure)]
    if not failed:
        return None
    name, failure = failed[0]
    others = f" (so did {', '.join(other for other, _ in failed[1:])})" if failed[1:] else ""
    return Failure(pair, failure.status, f"{name}: {failure.detail}{others}")


METADATA = "questions"
"""The query's metadata in which a person gives the questions, or keeps those of an earlier run."""

_LIKELY = "which of the things that the query is about does the passage tell?"


Points = Mapping[str, str]
"""Criteria or questions: the text that a template shows of each, by its name in a reason."""


def point_rounds(assessor: Assessor, texts: Texts, pair: Pair, *, pays: bool) -> Rounds:
    """The rounds by which a pair is judged; `pays` where its row counts its query's questions."""
    front = assessor.prompt.front
    points: Points | Outcome | None
    if front.questions is None:
        points = {name: f"{name}: {meaning}" for name, meaning in front.criteria.items()}
    else:
        points = yield from _questions(assessor, texts.of(pair)[0], pair, pays=pays)
    if points is None or isinstance(points, Failure | Judgement):
        return {pair: points}
    if assessor.prompt.asks_each:
        answers = yield _each(assessor, texts, pair, points)
    else:
        [answers] = yield [_together(assessor, texts, pair, points)]
        if answers is None or isinstance(answers, Failure):
            return {pair: answers}
    named = dict(zip(points, answers, strict=True))
    failure = first_failure(pair, named)
    if failure or None in answers:
        return {pair: failure}
    return {pair: combined(pair, assessor.prompt, named)}


def _questions(
    assessor: Assessor, query: Query, pair: Pair, *, pays: bool
) -> Generator[Sequence[JudgingPart], Answers, Points | Outcome | None]:
    """The questions of a query: a person's, else those that the model writes."""
    writer, asked = assessor.prompt.question_writer, assessor.prompt.front.questions
    listed: tuple[str, ...] = ()
    given = query.metadata.get(METADATA)
    if given is not None:
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            problem = f"expected {METADATA!r} in its metadata to be a list of texts"
            raise BadInput(f"the query {query.id!r}: {problem}, found {given!r:.80}")
        listed = distinct(given)
    if not listed and writer and asked:  # which every assessment of the query shares
        texts = {**values_of(query), "count": str(asked.count)}
        values = {name: text for name, text in texts.items() if name in writer.placeholders}
        parameters = {**assessor.asked_with, "max_tokens": asked.max_tokens}
        request = Request(writer.render(values), parameters, QUESTIONS_SCHEMA, values)
        read = partial(parse_questions, pair, most=asked.count)
        likely = tuple(f"{_LIKELY} {number}" for number in range(1, asked.count + 1))
        [written] = yield [JudgingPart(METADATA, request, read, likely, pair if pays else None)]
        if not isinstance(written, tuple):
            return first_failure(pair, {METADATA: written})
        listed = written
    return {f"question {number}": text for number, text in enumerate(listed, 1)}


def _each(assessor: Assessor, texts: Texts, pair: Pair, points: Points) -> list[JudgingPart]:
    """A part for every criterion or question."""
    prompt = assessor.prompt
    grades = prompt.front.part_grades
    schema = grade_schema(grades, reason=prompt.front.reason) if prompt.is_bound else None
    read = partial(parse_grade, pair, grades=grades, reader=prompt.reader)
    likely, parts = Judgement(pair, grades[0]), list[JudgingPart]()
    for name, text in points.items():
        values = {**assessor.values(*texts.of(pair)), "criterion": text, "question": text}
        parts.append(JudgingPart(name, assessor.asking(values, schema), read, likely, pair))
    return parts


def _together(assessor: Assessor, texts: Texts, pair: Pair, points: Points) -> JudgingPart:
    """The one part that asks for all criteria, or all questions."""
    prompt, grades = assessor.prompt, assessor.prompt.front.part_grades
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(points.values(), 1))
    values = {**assessor.values(*texts.of(pair)), "criteria": listed, "questions": listed}
    values["count"] = str(len(points))
    schema = numbered_schema(len(points), grades, reason=prompt.front.reason)
    read = partial(_read_all, pair, points, grades)
    likely = [Judgement(pair, grades[0]) for _ in points]
    return JudgingPart("all parts", assessor.asking(values, schema), read, likely, pair)


def _read_all(
    pair: Pair, points: Points, grades: Sequence[int], reply: Reply
) -> Numbered | Failure:
    """The grades of all points; `Failure` where one has none, which names it."""
    numbered = parse_numbered([pair] * len(points), reply, grades)
    if isinstance(numbered, Failure):
        return numbered
    for point, graded in zip(points, numbered, strict=True):
        if isinstance(graded, Failure):
            return replace(graded, detail=f"{point}: {graded.detail}")
    return numbered
