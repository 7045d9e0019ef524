"""A prompt as its file gives it: a template, what its front matter says, and its identity."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

from labeler.errors import BadInput, Misuse
from labeler.messages import count_of
from labeler.model import Message
from labeler.prompt.reply import ReplyReader, parse_reader

# The text of a prompt's file, cut into front matter and sections that know their lines.


class PromptProblem(NamedTuple):
    """What is wrong on a line of a prompt's file; an `error` keeps it from being used."""

    line: int
    text: str
    level: Literal["error", "warning"] = "error"

    def at(self, path: Path | str) -> str:
        """The problem as a line of a report, as `mine.md:4: unknown key 'grades'; …`."""
        return f"{path}:{self.line}: {self.text}"


def warning(line: int, text: str) -> PromptProblem:
    """A problem with which a prompt can be used all the same."""
    return PromptProblem(line, text, "warning")


def refuse_errors(path: Path | str, problems: Iterable[PromptProblem]) -> None:
    """Raise `BadInput` of the first error, with the number of the others."""
    errors = sorted(problem for problem in problems if problem.level == "error")
    if errors:
        others = len(errors) - 1
        more = f" (and {count_of(others, 'more error')} in the file)"
        raise BadInput.at(path, errors[0].line, errors[0].text + (more if others else ""))


_FENCE = re.compile(r"(?m)^\+\+\+[ \t]*$")
_SECTION = re.compile(r"(?m)^# (system|user|assistant)[ \t]*$")
_TABLE = re.compile(r"[ \t]*+\[([^\[\]]*)\]")
_KEY_LINE = re.compile(r"[ \t]*+([\w-]+|\"[^\"]*\"|'[^']*')[ \t]*=")


class Section(NamedTuple):
    """A turn of a template: its role, the line of its heading, and its content with its line."""

    role: str
    heading: int
    start: int
    content: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines of the content, with their numbers in the file."""
        return enumerate(self.content.split("\n"), self.start)


@dataclass(frozen=True)
class Source:
    """A prompt's file: its TOML, which begins on line 2, what stands before the sections, them."""

    front: str
    preamble: Section
    sections: tuple[Section, ...]

    @property
    def asking(self) -> tuple[Section, ...]:
        """The sections that the model is asked by; the others are answers of examples."""
        return tuple(section for section in self.sections if section.role != "assistant")

    @property
    def last(self) -> int:
        """The line at which a template that lacks something is said to lack it."""
        return self.sections[-1].heading if self.sections else self.preamble.heading

    def line_of(self, key: str, table: str = "") -> int:
        """The line of a key of the front matter, or of a key of one of its tables.

        The line of the table, or the first line, where the key stands otherwise or not at all.
        """
        lines = self._lines_of_keys
        return lines.get((table, key)) or lines.get(("", table or key), 1)

    @cached_property
    def _lines_of_keys(self) -> dict[tuple[str, str], int]:
        """The first line of each key by its table, and of each table as a key of none."""
        lines: dict[tuple[str, str], int] = {}
        table, is_inside_text = "", False
        for number, line in enumerate(self.front.split("\n"), start=2):
            if not is_inside_text:
                header, key = _TABLE.match(line), _KEY_LINE.match(line)
                if header:
                    table = header[1].strip()
                    lines.setdefault(("", table), number)
                elif key:
                    lines.setdefault((table, key[1].strip("\"'")), number)
            is_inside_text ^= (line.count('"""') + line.count("'''")) % 2 == 1
        return lines


def cut_source(text: str) -> Source | PromptProblem:
    """The parts of a prompt's file, or what keeps it from having any."""
    fences = list(islice(_FENCE.finditer(text), 2))
    expected = "expected TOML front matter between two lines of +++"
    if not fences or fences[0].start() > 0:
        return PromptProblem(1, f"{expected}; let the first line be +++")
    if len(fences) < 2:
        last = text.rstrip().count("\n") + 1
        return PromptProblem(last, f"{expected}; end it with a second line of +++")
    front = text[fences[0].end() + 1 : fences[1].start()]
    marks = list(_SECTION.finditer(text, fences[1].end()))
    preamble, *sections = map(
        partial(_section, text),
        ["", *(mark[1] for mark in marks)],
        [fences[1].end(), *(mark.end() for mark in marks)],
        [*(mark.start() for mark in marks), len(text)],
    )
    return Source(front, preamble, tuple(sections))


def _section(text: str, role: str, start: int, end: int) -> Section:
    """The section of a role between the end of its heading and the next one."""
    line, content = 1 + text.count("\n", 0, start), text[start:end]
    blank = len(content) - len(content.lstrip())
    return Section(role, line, line + content.count("\n", 0, blank), content.strip())


# What a prompt's front matter may say, and what its template may ask for.

MOST_TOKENS = 1_000_000
"""Of a reply that a prompt may ask for: more is a slip of the keys."""


class _FrontTable(BaseModel):
    """A table of the front matter: it has no further keys, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WrittenQuestions(_FrontTable):
    """How the questions of a query are written, against which its documents are held.

    `write` is the template that asks a model for at most `count` of them, in a reply of at most
    `max_tokens`. A query whose metadata holds `questions` is asked about by those instead.
    """

    write: str
    count: int = Field(default=8, ge=1, le=50)
    max_tokens: int = Field(default=800, gt=0, le=MOST_TOKENS)


class Combine(_FrontTable):
    """How the grades of the criteria, or of the questions, become the grade of the pair.

    `rule` makes one value of them: their `sum`, the `share` of the most that their sum could be
    above the least, or the `best` of them. `cuts` are the least values of the grades of the
    prompt's scale, from the second lowest on. `scale` is that of the parts; empty, the prompt's.
    """

    rule: Literal["sum", "share", "best"] = "sum"
    cuts: tuple[float, ...] = Field(default=(), strict=False)
    scale: dict[str, str] = Field(default_factory=dict)


class GradedExamples(_FrontTable):
    """Which grades a prompt shows as examples, before it asks.

    They are `count` of the collection's qrels `of`, drawn by chance with `seed`, in turn from each
    grade. Of a document at most `max_chars` characters are shown.
    """

    count: int = Field(default=4, ge=1, le=50)
    of: str = Field(default="human", pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$")
    seed: int = 0
    max_chars: int = Field(default=1000, gt=0)


GRADE = re.compile(r"-?[0-9]{1,9}")

PLACEHOLDERS = {
    "grade": (
        *("query", "description", "narrative", "reference", "nuggets", "language"),
        *("title", "text", "passage", "mark"),
        *("passages", "count", "criterion", "criteria", "question", "questions"),
        "examples",
    ),
    "generate": (
        *("title", "text", "passage", "other"),
        *("language", "examples", "length"),
    ),
    "topic": ("query", "title", "text", "passage"),
    "rank": ("query", "passages", "count"),
}
"""What a template may ask for, by the kind of prompt; `passage` is the title, then the text.

`passages` are several, numbered from 1 to `count`. `criterion` and `question` are one of those by
which a document is graded, `criteria` and `questions` all of them, numbered.
`mark` is a code that
nobody who writes documents can guess: it stands before and after what it delimits.
"""

WRITING_PLACEHOLDERS = ("query", "description", "narrative", "count")
"""What the template may ask for by which the questions of a query are written."""

MOST_CHARACTERS = 50_000
"""Of a document that marks delimit, where the prompt does not say how many are shown."""

OPTIONAL = frozenset(
    [
        "description",
        "narrative",
        "reference",
        "nuggets",
        "other",
        "language",
        "examples",
        "length",
    ]
)
"""Placeholders that may have nothing to stand for; the line of such a one is left out."""

TO_DO = {
    "grade": "grade",
    "generate": "write queries",
    "topic": "write topics",
    "rank": "rank",
}
"""What a model is asked to do, by the kind of prompt."""


class FrontMatter(_FrontTable):
    """The TOML between the `+++` lines; each key says in its description what it is."""

    kind: Literal["grade", "generate", "topic", "rank"] = Field(
        description="What the prompt is for."
    )
    description: str = Field(description="What it asks, in one line.")
    source: str = Field(default="", description="The paper or the rules that the method is from.")
    shown_with: str = Field(default="", description="The models that the source showed it with.")
    fidelity: Literal["", "verbatim", "adapted"] = Field(
        default="", description="Whether the source's prompt stands here word for word."
    )
    measured: str = Field(
        default="",
        description="What was measured of this very prompt, with which model, and where.",
    )
    based_on: str = Field(
        default="", description="The prompt that it was copied from, with its hash."
    )
    scale: dict[str, str] = Field(
        default_factory=dict,
        description="Each grade and its name; needed where the kind is `grade`.",
    )
    reply: str = Field(
        default="json",
        description="How a reply is read: `json`, `json:KEY`, `bare` or `pattern:EXPRESSION`.",
    )
    reason: bool = Field(default=False, description="Whether a reason comes before the grade.")
    batch: int = Field(
        default=1, ge=1, le=100, description="How many documents of a query a call shows at most."
    )
    temperature: float = Field(
        default=0.0, ge=0, le=2, description="How much replies vary; 0 is least."
    )
    max_tokens: int = Field(default=256, gt=0, le=MOST_TOKENS, description="The longest reply.")
    stop: tuple[str, ...] = Field(default=(), strict=False, description="Texts that end a reply.")
    max_chars: int | None = Field(
        default=None, gt=0, description="How many characters of a document are shown at most."
    )
    criteria: dict[str, str] = Field(
        default_factory=dict, description="What a document is graded by, each with its meaning."
    )
    questions: WrittenQuestions | None = Field(
        default=None, description="How questions are written, by which documents are graded."
    )
    combine: Combine | None = Field(
        default=None, description="How the grades of criteria or questions become the pair's."
    )
    examples: GradedExamples | None = Field(
        default=None, description="Which grades of other queries are shown as examples."
    )

    @field_validator("reply")
    @classmethod
    def _declares_a_reader(cls, reply: str) -> str:
        try:
            parse_reader(reply)
        except Misuse as misuse:
            raise ValueError(str(misuse)) from None
        return reply

    @property
    def reader(self) -> ReplyReader:
        """What reads the grade in a reply."""
        return parse_reader(self.reply)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a request sends, as the prompt says it."""
        stop = {"stop": list(self.stop)} if self.stop else {}
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, **stop}

    @property
    def has_parts(self) -> bool:
        """Whether a grade rests on those of several criteria or questions."""
        return bool(self.criteria or self.questions)

    def asks_several(self, placeholders: Collection[str]) -> bool:
        """Whether a reply holds several grades, by what the template shows."""
        asks_each = not {"criterion", "question"}.isdisjoint(placeholders)
        return self.batch > 1 or (self.has_parts and not asks_each)

    @property
    def part_grades(self) -> tuple[int, ...]:
        """The grades of a criterion or a question, ascending; those of the pair without any."""
        return _grades((self.combine and self.combine.scale) or self.scale)

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades of the scale, ascending; none where one of them is no integer."""
        return _grades(self.scale)


def _grades(scale: Mapping[str, str]) -> tuple[int, ...]:
    is_whole = all(GRADE.fullmatch(grade) for grade in scale)
    return tuple(sorted(map(int, scale))) if is_whole else ()


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
        return frozenset(n for turn in self.turns for n in PLACEHOLDER.findall(turn.content))

    @cached_property
    def is_marked(self) -> bool:
        """Whether documents stand between marks, and are shown with all that is hidden in them."""
        return "mark" in self.placeholders

    @property
    def max_chars(self) -> int | None:
        """How many characters of a document are shown; None of a prompt that sets no bound."""
        return self.front.max_chars or (MOST_CHARACTERS if self.is_marked else None)

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
        empty = frozenset(name for name in self.placeholders & OPTIONAL if not values.get(name))
        if empty not in self._splits:
            turns = (Message(role, _without(text, empty)) for role, text in self.turns)
            self._splits[empty] = tuple((t, tuple(PLACEHOLDER.split(t.content))) for t in turns)
        return tuple(
            [
                turn if len(parts) == 1 else Message(turn.role, _filled(parts, values))
                for turn, parts in self._splits[empty]
            ]
        )

    @cached_property
    def _splits(self) -> dict[frozenset[str], Split]:
        """The template by which of its optional placeholders have nothing to stand for."""
        return {}


Split = tuple[tuple[Message, tuple[str, ...]], ...]
"""Every turn with its content cut at the placeholders: text, a name, text, a name, …"""


def _without(content: str, empty: frozenset[str]) -> str:
    lines = content.split("\n")
    return "\n".join(line for line in lines if not empty.intersection(PLACEHOLDER.findall(line)))


def _filled(parts: Sequence[str], values: Mapping[str, str]) -> str:
    filled = list(parts)
    filled[1::2] = [values.get(name, f"{{{name}}}") for name in parts[1::2]]
    return "".join(filled)


# The JSON schema of the replies that a grading prompt asks for.


def schema_of(prompt: Prompt) -> dict[str, Any]:
    """The JSON schema of the replies that a grading prompt asks for.

    Where a reply holds several grades, of as many as there may be.
    """
    front = prompt.front
    grades = front.part_grades if front.has_parts else front.grades
    if not prompt.asks_several:
        return grade_schema(grades, reason=front.reason)
    count = len(front.criteria) or (front.questions.count if front.questions else front.batch)
    return numbered_schema(count, grades, reason=front.reason)


@lru_cache(maxsize=256)
def grade_schema(grades: tuple[int, ...], *, reason: bool) -> dict[str, Any]:
    """The JSON schema of a reply that is one of these grades, with a reason before it or not."""
    return object_schema(_graded(grades, reason))


@lru_cache(maxsize=256)
def numbered_schema(count: int, grades: tuple[int, ...], *, reason: bool) -> dict[str, Any]:
    """The JSON schema of a reply that grades things numbered from 1 to `count`."""
    numbers = {"type": "integer", "enum": list(range(1, count + 1))}
    entry = object_schema({"number": numbers, **_graded(grades, reason)})
    return object_schema({"grades": {"type": "array", "items": entry}})


def _graded(grades: Sequence[int], reason: bool) -> dict[str, Any]:
    reasons = {"reason": {"type": "string"}} if reason else {}
    return {**reasons, "grade": {"type": "integer", "enum": list(grades)}}


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has these properties, all of them, and no others."""
    required, others = list(properties), {"additionalProperties": False}
    return {"type": "object", "properties": properties, "required": required, **others}
