"""`prompts check`: everything that is wrong with a prompt's file, and what it would send."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.messages import count_of
from labeler.model import Message
from labeler.prompt.listing import scale_of, tokens_of
from labeler.prompt.read import read_draft
from labeler.prompt.template import PLACEHOLDERS, TO_DO, Prompt, PromptProblem, schema_of
from labeler.report.result import Result
from labeler.report.table import Column, Table

_MARK = "8d1f0c52a6b3"

MADE = {
    "query": "how long may I return shoes",
    "description": "The person wants to know until when shoes can be sent back.",
    "narrative": "A relevant document names a number of days; one about repairs is not relevant.",
    "reference": "Unworn shoes can be sent back within 30 days.",
    "nuggets": "30 days; unworn; in the box",
    "title": "Returns",
    "text": "You may send back what you bought within 30 days, unworn and in its box.",
    "passage": "Returns\nYou may send back what you bought within 30 days, unworn and in its box.",
    "other": "Shoes that were worn outside are repaired, and not taken back.",
    "language": "English",
    "examples": "return window | send shoes back",
    "length": "5",
    "passages": "[1]\nUnworn shoes: 30 days.\n\n[2]\nWorn shoes are repaired.",
    "count": "2",
    "mark": _MARK,
    "criterion": "exactness: how precisely the passage answers what is asked",
    "criteria": "1. exactness: how precisely the passage answers\n2. coverage: how much of it does",
    "question": "Within how many days may shoes be sent back?",
    "questions": "1. Within how many days may shoes be sent back?\n2. May they have been worn?",
}
"""What the placeholders of an example stand for where no real query and document is given."""

_EXAMPLE = """Example 1
Query: is delivery free
Passage:
Delivery costs 4 euros, and nothing from 50 euros on.
Answer: {"grade": 1}"""

_MARKED_EXAMPLE = f"""Example 1
Query: is delivery free
--- passage {_MARK[::-1]} ---
Delivery costs 4 euros, and nothing from 50 euros on.
--- end of passage {_MARK[::-1]} ---
Answer: {{"grade": 1}}"""


@dataclass(frozen=True)
class PromptCheck(Result):
    """A prompt's file as it was checked: its problems and, where it can be read, what it sends.

    `example` is the chat for one query and document.
    """

    path: Path
    prompt: Prompt | None
    problems: Sequence[PromptProblem]
    example: Sequence[Message] = ()

    @property
    def errors(self) -> int:
        """How many problems keep the prompt from being used."""
        return sum(problem.level == "error" for problem in self.problems)

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema that replies are bound to, where a grading prompt asks for JSON."""
        return schema_of(self.prompt) if self.prompt and self.prompt.is_bound else None

    def summary(self) -> str:
        """How many errors and warnings there are."""
        warnings = len(self.problems) - self.errors
        return f"{count_of(self.errors, 'error')}, " + count_of(warnings, "warning", "warnings")

    def facts(self) -> list[str]:
        """What the prompt is, a line each; nothing where it could not be read."""
        if self.prompt is None:
            return []
        front, tokens = self.prompt.front, tokens_of(self.prompt)
        scale = f" on the scale {scale_of(self.prompt)}" if front.scale else ""
        reason = ", its reason first" if front.reason else ""
        return [
            f"{self.prompt.id}: to {TO_DO[front.kind]}{scale}; a reply is {front.reply}{reason}",
            f"a call has about {tokens.inside:,} tokens, of the template alone, and at most "
            f"{tokens.outside:,} in reply; temperature {front.temperature:g}",
        ]

    def as_json(self) -> dict[str, Any]:
        """The problems, and what the prompt is and sends, by name."""
        tokens = tokens_of(self.prompt) if self.prompt else None
        front = self.prompt.front if self.prompt else None
        return self.picked(
            file=self.path,
            prompt=self.prompt and self.prompt.id,
            kind=front and front.kind,
            scale=front and front.scale,
            schema=self.schema,
            tokens=tokens and tokens.inside,
            reply_tokens=tokens and tokens.outside,
            problems=self.tables()[0],
            example=self.example,
        )

    def tables(self) -> list[Table]:
        """A row for each problem."""
        columns = [Column("line"), Column("level", align="left")]
        columns.append(Column("problem", align="left", widest=None))
        return [Table("problems", columns, [[p.line, p.level, p.text] for p in self.problems])]


def check_prompt(path: Path | str) -> PromptCheck:
    """All problems of a prompt's file, and an example of what it sends, with a made document.

    Raises `BadInput` where the file is no text.

    >>> from labeler.prompt import prompt_files
    >>> check_prompt(prompt_files()["four-grades"]).summary()
    '0 errors, 0 warnings'
    """
    path = Path(path)
    draft = read_draft(path)
    if draft.prompt is None:
        return PromptCheck(path, None, draft.problems)
    names = PLACEHOLDERS[draft.prompt.front.kind]
    made, is_marked = MADE, draft.prompt.is_marked
    if draft.prompt.front.kind == "grade":  # in the form of its requests
        made = {**MADE, "examples": _MARKED_EXAMPLE if is_marked else _EXAMPLE}
        numbered = re.sub(r"\[(\d)\]", rf"[\1 {_MARK}]", MADE["passages"])
        made["passages"] = numbered if is_marked else MADE["passages"]
    example = draft.prompt.render({name: made.get(name, f"({name})") for name in names})
    return PromptCheck(path, draft.prompt, draft.problems, example)
