"""What a prompt's front matter may say, and what its template may ask for."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from labeler.errors import Misuse
from labeler.prompt.reply import ReplyReader, parse_reader

# What the front matter of a grading prompt says where one grade rests on several answers.

MOST_TOKENS = 1_000_000
"""Of a reply that a prompt may ask for: more is a slip of the keys."""


class WrittenQuestions(BaseModel):
    """How the questions of a query are written, against which its documents are held.

    `write` is the template that asks a model for at most `count` of them, in a reply of at most
    `max_tokens`. A query whose metadata holds `questions` is asked about by those instead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    write: str
    count: int = Field(default=8, ge=1, le=50)
    max_tokens: int = Field(default=800, gt=0, le=MOST_TOKENS)


class Combine(BaseModel):
    """How the grades of the criteria, or of the questions, become the grade of the pair.

    `rule` makes one value of them: their `sum`, the `share` of the most that their sum could be
    above the least, or the `best` of them. `cuts` are the least values of the grades of the
    prompt's scale, from the second lowest on. `scale` is that of the parts; empty, the prompt's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    rule: Literal["sum", "share", "best"] = "sum"
    cuts: tuple[float, ...] = Field(default=(), strict=False)
    scale: dict[str, str] = Field(default_factory=dict)

    @property
    def exact_cuts(self) -> tuple[Fraction, ...]:
        """The cut points as they are written, so that 3 of 10 reaches a cut at 0.3."""
        return tuple(Fraction(repr(float(cut))) for cut in self.cuts)


class GradedExamples(BaseModel):
    """Which grades a prompt shows as examples, before it asks.

    They are `count` of the collection's qrels `of`, drawn by chance with `seed`, in turn from each
    grade. Of a document at most `max_chars` characters are shown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

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
        *("language", "persona", "examples", "length"),
    ),
    "topic": ("query", "title", "text", "passage"),
    "check": ("query", "title", "text", "passage"),
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
        "persona",
        "examples",
        "length",
    ]
)
"""Placeholders that may have nothing to stand for; the line of such a one is left out."""

TO_DO = {
    "grade": "grade",
    "generate": "write queries",
    "topic": "write topics",
    "check": "check",
    "rank": "rank",
}
"""What a model is asked to do, by the kind of prompt."""


class FrontMatter(BaseModel):
    """The TOML between the `+++` lines; each key says in its description what it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: Literal["grade", "generate", "topic", "check", "rank"] = Field(
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
        scale = self.combine.scale if self.combine else {}
        if not all(GRADE.fullmatch(grade) for grade in scale):
            return ()
        return tuple(sorted(map(int, scale))) or self.grades

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades of the scale, ascending; none where one of them is no integer."""
        if not all(GRADE.fullmatch(grade) for grade in self.scale):
            return ()
        return tuple(sorted(map(int, self.scale)))
