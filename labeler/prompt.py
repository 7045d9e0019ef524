"""Prompts: files with a front matter and two sections, known by the hash of their content."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from labeler.errors import BadInput, Misuse
from labeler.files.boundary import reading
from labeler.files.read import file_problems
from labeler.model import Message

_FRONT_MATTER = re.compile(r"\A\+\+\+\n(.*?)^\+\+\+\n(.*)\Z", re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"^# (system|user|assistant)\n", re.MULTILINE)
_GRADE = re.compile(r"-?[0-9]{1,9}")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")

PLACEHOLDERS = {
    "grade": ("query", "description", "narrative", "title", "text", "passage"),
    "generate": (
        *("title", "text", "passage", "other"),
        *("language", "persona", "examples", "length"),
    ),
    "topic": ("query", "title", "text", "passage"),
    "check": ("query", "title", "text", "passage"),
    "rank": ("query", "passages", "count"),
}
"""What a template may ask for, by the kind of prompt; `passage` is the title, then the text.

`passages` are several, numbered from 1 to `count`.
"""

OPTIONAL = frozenset(
    ["description", "narrative", "other", "language", "persona", "examples", "length"]
)
"""Placeholders that may have nothing to stand for; the line of such a one is left out."""

_TO_DO = {
    "grade": "grade",
    "generate": "write queries",
    "topic": "write topics",
    "check": "check",
    "rank": "rank",
}


class FrontMatter(BaseModel):
    """The TOML between the `+++` lines."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["grade", "generate", "topic", "check", "rank"]
    description: str
    source: str = ""
    scale: dict[str, str] = Field(default_factory=dict)
    reply: Literal["json", "text"] = "json"
    reason: bool = False
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=256, gt=0)
    stop: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _scale_is_integers(self) -> FrontMatter:
        if self.kind == "grade" and not self.scale:
            raise ValueError('a prompt of kind "grade" needs a [scale], as 0 = "irrelevant"')
        if any(not _GRADE.fullmatch(grade) for grade in self.scale):
            raise ValueError("the grades of [scale] must be integers")
        if len(set(map(int, self.scale))) < len(self.scale):
            raise ValueError("two grades of [scale] are one integer")
        return self


@dataclass(frozen=True)
class Prompt:
    """A template and what its front matter says; `id` is `name@` and its content's hash."""

    name: str
    text: str
    front: FrontMatter
    turns: tuple[Message, ...]

    @cached_property
    def id(self) -> str:
        """`name@` and the first 8 hex digits of the SHA-256 of the whole file."""
        return f"{self.name}@{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"

    @cached_property
    def grades(self) -> tuple[int, ...]:
        """The scale's grades, ascending."""
        return tuple(sorted(map(int, self.front.scale)))

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
        return _placeholders_in(self.turns) & OPTIONAL

    @cached_property
    def _splits(self) -> dict[frozenset[str], Split]:
        """The template by which of its optional placeholders have nothing to stand for."""
        return {}


Split = tuple[tuple[Message, tuple[str, ...]], ...]
"""Every turn with its content cut at the placeholders: text, a name, text, a name, …"""


def _split(turns: Sequence[Message]) -> Split:
    return tuple((turn, tuple(_PLACEHOLDER.split(turn.content))) for turn in turns)


def _without_lines(turns: Sequence[Message], empty: frozenset[str]) -> Sequence[Message]:
    """The turns without the lines that ask for something that is empty."""
    if not empty:
        return turns
    return [Message(role, _without(content, empty)) for role, content in turns]


def _without(content: str, empty: frozenset[str]) -> str:
    lines = content.split("\n")
    return "\n".join(line for line in lines if not empty.intersection(_PLACEHOLDER.findall(line)))


def _placeholders_in(turns: Iterable[Message]) -> frozenset[str]:
    return frozenset(name for turn in turns for name in _PLACEHOLDER.findall(turn.content))


def _filled(parts: Sequence[str], values: Mapping[str, str]) -> str:
    filled = list(parts)
    for at in range(1, len(parts), 2):
        name = parts[at]
        filled[at] = values.get(name, f"{{{name}}}")
    return "".join(filled)


def read_prompt(path: Path) -> Prompt:
    """The prompt in a file; `BadInput` says what is wrong with it."""
    with file_problems(path), reading(path):
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
        match = _FRONT_MATTER.match(text)
        if not match:
            raise BadInput.at(path, 1, "expected TOML front matter between two lines of +++")
        front = _front_matter(path, match[1])
        turns = _turns(path, match[2])
        _check_placeholders(path, front.kind, turns)
        return Prompt(path.stem, text, front, turns)


def _front_matter(path: Path, text: str) -> FrontMatter:
    with reading(f"{path}: front matter"):
        return FrontMatter.model_validate(tomllib.loads(text))


def _turns(path: Path, body: str) -> tuple[Message, ...]:
    parts = _SECTION.split(body)
    if parts[0].strip():
        raise BadInput(f"{path}: text before the first section; expected '# system' or '# user'")
    turns = tuple(
        Message(role, content.strip())
        for role, content in zip(parts[1::2], parts[2::2], strict=True)
    )
    if not turns or turns[-1].role != "user":
        raise BadInput(f"{path}: the last section must be '# user'")
    return turns


def _check_placeholders(path: Path, kind: str, turns: tuple[Message, ...]) -> None:
    placeholders = PLACEHOLDERS[kind]
    used = _placeholders_in(turns)
    for name in sorted(used.difference(placeholders)):
        raise BadInput(
            f"{path}: unknown placeholder {{{name:.40}}}; known: {', '.join(placeholders)}"
        )
    needed = {"check": ("query",), "rank": ("query", "passages", "count")}.get(kind, ())
    for name in needed:
        if name not in used:
            raise BadInput(f"{path}: the template does not show {{{name}}}")
    if not needed and not used & {"passage", "text"}:
        raise BadInput(f"{path}: the template shows neither {{passage}} nor {{text}}")


def prompt_folder() -> Path:
    """Where the shipped prompts lie: inside an installed package, or at the top of a checkout."""
    inside = Path(__file__).parent / "prompts"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "prompts"


def prompt_files() -> dict[str, Path]:
    """The shipped prompts by name."""
    return {path.stem: path for path in sorted(prompt_folder().glob("*.md"))}


def find_prompt(name: str, kind: str | None = "grade") -> Prompt:
    """A shipped prompt by its name, or any prompt by its file's path; `Misuse` for another kind."""
    shipped = prompt_files()
    if name not in shipped and not Path(name).is_file():
        close = get_close_matches(name, shipped, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        problem = f"no prompt {name!r}; {hint}known: {', '.join(shipped)}, or the path of a file"
        raise Misuse(problem, parameter="prompt")
    prompt = read_prompt(shipped[name] if name in shipped else Path(name))
    if kind and prompt.front.kind != kind:
        problem = (
            f"the prompt {name!r} is one to {_TO_DO[prompt.front.kind]} with, not to {_TO_DO[kind]}"
        )
        raise Misuse(problem, parameter="prompt")
    return prompt


def schema_of(prompt: Prompt) -> dict[str, Any]:
    """The JSON schema of the replies that a grading prompt asks for."""
    grade = {"type": "integer", "enum": list(prompt.grades)}
    reason = {"reason": {"type": "string"}} if prompt.front.reason else {}
    return {
        "type": "object",
        "properties": {**reason, "grade": grade},
        "required": [*reason, "grade"],
        "additionalProperties": False,
    }
