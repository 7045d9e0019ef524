"""A prompt as its file gives it: a template, what its front matter says, and its identity."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from labeler.model import Message
from labeler.prompt.front import MOST_CHARACTERS, OPTIONAL, FrontMatter
from labeler.prompt.reply import ReplyReader, parse_reader

PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Prompt:
    """A template and what its front matter says; `id` is `name@` and its content's hash.

    `other_reader` is declared in place of the front matter's own; empty where that one reads.
    """

    name: str
    text: str
    front: FrontMatter
    turns: tuple[Message, ...]
    other_reader: str = ""

    @cached_property
    def id(self) -> str:
        """`name@` and the first 8 hex digits of the SHA-256 of the whole file."""
        return f"{self.name}@{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"

    @cached_property
    def grades(self) -> tuple[int, ...]:
        """The scale's grades, ascending."""
        return self.front.grades

    @cached_property
    def reader(self) -> ReplyReader:
        """What reads the grade in a reply."""
        return self.front.reader

    @property
    def is_bound(self) -> bool:
        """Whether replies are bound to a schema: that of the object with the key `grade`.

        An object by another key is somebody else's, and has members that nobody declared here.
        """
        return self.front.kind == "grade" and self.reader == ReplyReader()

    def read_by(self, declaration: str) -> Prompt:
        """The same prompt with another reader; itself where none is given."""
        if not declaration:
            return self
        front = self.front.model_copy(update={"reply": parse_reader(declaration) and declaration})
        return replace(self, front=front, other_reader=declaration)

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """The names in braces that the template holds."""
        return placeholders_in(self.turns)

    @cached_property
    def is_marked(self) -> bool:
        """Whether documents stand between marks, and are shown with all that is hidden in them."""
        return "mark" in self.placeholders

    @property
    def max_chars(self) -> int | None:
        """How many characters of a document are shown; None of a prompt that sets no bound."""
        return self.front.max_chars or (MOST_CHARACTERS if self.is_marked else None)

    @cached_property
    def part_grades(self) -> tuple[int, ...]:
        """The grades of a criterion or a question, ascending."""
        return self.front.part_grades

    @cached_property
    def asks_each(self) -> bool:
        """Whether each criterion or question is asked about in a call of its own."""
        return not self.placeholders.isdisjoint(("criterion", "question"))

    @cached_property
    def asks_several(self) -> bool:
        """Whether a reply holds several grades: of documents, of criteria or of questions."""
        return self.front.asks_several(self.placeholders)

    @cached_property
    def question_writer(self) -> Prompt | None:
        """The template that asks for the questions of a query, as a prompt; None where none do."""
        questions = self.front.questions
        if questions is None:
            return None
        return Prompt(self.name, self.text, self.front, (Message("user", questions.write.strip()),))

    def render(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages with every placeholder filled, in one pass: what is put in is never read.

        A line that asks for one of `OPTIONAL` is left out where its value is empty.
        """
        empty = frozenset(name for name in self._optional if not values.get(name))
        if empty not in self._splits:
            self._splits[empty] = _split(_without_lines(self.turns, empty))
        return tuple(
            [
                turn if len(parts) == 1 else Message(turn.role, _filled(parts, values))
                for turn, parts in self._splits[empty]
            ]
        )

    @cached_property
    def _optional(self) -> frozenset[str]:
        return self.placeholders & OPTIONAL

    @cached_property
    def _splits(self) -> dict[frozenset[str], Split]:
        """The template by which of its optional placeholders have nothing to stand for."""
        return {}


Split = tuple[tuple[Message, tuple[str, ...]], ...]
"""Every turn with its content cut at the placeholders: text, a name, text, a name, …"""


def _split(turns: Sequence[Message]) -> Split:
    return tuple((turn, tuple(PLACEHOLDER.split(turn.content))) for turn in turns)


def _without_lines(turns: Sequence[Message], empty: frozenset[str]) -> Sequence[Message]:
    """The turns without the lines that ask for something that is empty."""
    if not empty:
        return turns
    return [Message(role, _without(content, empty)) for role, content in turns]


def _without(content: str, empty: frozenset[str]) -> str:
    lines = content.split("\n")
    return "\n".join(line for line in lines if not empty.intersection(PLACEHOLDER.findall(line)))


def placeholders_in(turns: Iterable[Message]) -> frozenset[str]:
    """The names in braces that a template holds."""
    return frozenset(name for turn in turns for name in PLACEHOLDER.findall(turn.content))


def _filled(parts: Sequence[str], values: Mapping[str, str]) -> str:
    filled = list(parts)
    for at in range(1, len(parts), 2):
        name = parts[at]
        filled[at] = values.get(name, f"{{{name}}}")
    return "".join(filled)


# The JSON schema of the replies that a grading prompt asks for.


def schema_of(prompt: Prompt) -> dict[str, Any]:
    """The JSON schema of the replies that a grading prompt asks for.

    Where a reply holds several grades, of as many as there may be.
    """
    front, grades = prompt.front, prompt.part_grades if prompt.front.has_parts else prompt.grades
    if not prompt.asks_several:
        return grade_schema(grades, reason=front.reason)
    count = len(front.criteria) or (front.questions.count if front.questions else front.batch)
    return numbered_schema(count, grades, reason=front.reason)


@lru_cache(maxsize=256)
def grade_schema(grades: tuple[int, ...], *, reason: bool) -> dict[str, Any]:
    """The JSON schema of a reply that is one of these grades, with a reason before it or not."""
    grade = {"type": "integer", "enum": list(grades)}
    reasons = {"reason": {"type": "string"}} if reason else {}
    return {
        "type": "object",
        "properties": {**reasons, "grade": grade},
        "required": [*reasons, "grade"],
        "additionalProperties": False,
    }


@lru_cache(maxsize=256)
def numbered_schema(count: int, grades: tuple[int, ...], *, reason: bool) -> dict[str, Any]:
    """The JSON schema of a reply that grades things numbered from 1 to `count`."""
    reasons = {"reason": {"type": "string"}} if reason else {}
    entry = {
        "type": "object",
        "properties": {
            "number": {"type": "integer", "enum": list(range(1, count + 1))},
            **reasons,
            "grade": {"type": "integer", "enum": list(grades)},
        },
        "required": ["number", *reasons, "grade"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"grades": {"type": "array", "items": entry}},
        "required": ["grades"],
        "additionalProperties": False,
    }
