"""Read a prompt's file, and say all that is wrong with it, each with its line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from labeler.errors import LabelerError, Misuse, TooLarge
from labeler.files.boundary import reading
from labeler.files.paths import shipped
from labeler.files.read import file_problems
from labeler.messages import Note, meant_or_known, quiet
from labeler.model import Message
from labeler.prompt.rules import read_front, reply_problems, template_problems
from labeler.prompt.template import (
    TO_DO,
    Prompt,
    PromptProblem,
    Source,
    cut_source,
    refuse_errors,
)

LARGEST = 1 << 18
"""Bytes; a larger file is no prompt, which stands in every request."""


@dataclass(frozen=True)
class Draft:
    """A prompt's file as far as it can be read, and its problems in the order of its lines.

    `prompt` is None where one of them keeps the file from being read; with errors of its words
    alone, as where they disagree with the scale, it can be read all the same.
    """

    path: Path
    prompt: Prompt | None
    problems: Sequence[PromptProblem]


def read_prompt(path: Path) -> Prompt:
    """The prompt in a file; `BadInput` says what is wrong with it, and on which line."""
    draft = read_draft(path)
    if draft.prompt is None:
        refuse_errors(path, draft.problems)
    assert draft.prompt is not None, "a file without errors is a prompt"
    return draft.prompt


def read_draft(path: Path) -> Draft:
    """A prompt's file with everything that is wrong with it; `BadInput` where it is no text."""
    with file_problems(path), reading(path) as position:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise TooLarge(
                f"{path}: more than {LARGEST // 1024} KB, which no prompt has; name a prompt's file"
            )
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        position.line = 1
        return _draft_of(path, text)


@lru_cache(maxsize=64)
def _draft_of(path: Path, text: str) -> Draft:
    """What a file's text is, once for all that read the file again."""
    source = cut_source(text)
    if isinstance(source, PromptProblem):
        return Draft(path, None, (source,))
    front, kind, problems = read_front(source)
    problems += template_problems(source, kind, front)
    prompt = None
    if front and all(problem.level != "error" for problem in problems):
        turns = tuple(Message(section.role, section.content) for section in source.sections)
        prompt = Prompt(path.stem, text, front, turns)
    problems += reply_problems(source, front) if front else []
    return Draft(path, prompt, tuple(sorted(problems)))


# The prompts that come with the package, and any prompt by its name or its file.


def prompt_files() -> dict[str, Path]:
    """The shipped prompts by name."""
    return {path.stem: path for path in sorted(shipped("prompts").glob("*.md"))}


def prompt_path(name: str) -> Path:
    """The file of a shipped prompt, or the path of a file as it is; `Misuse` for neither."""
    shipped = prompt_files()
    if name in shipped:
        return shipped[name]
    if Path(name).is_file():
        return Path(name)
    raise Misuse(
        f"no prompt {name!r}; {meant_or_known(name, shipped)}, or the path of a file",
        parameter="prompt",
    )


def find_prompt(name: str, kind: str | None = "grade") -> Prompt:
    """A shipped prompt by its name, or any prompt by its file's path; `Misuse` for another kind.

    >>> find_prompt("four-grades").grades
    (0, 1, 2, 3)
    """
    prompt = read_prompt(prompt_path(name))
    if kind and prompt.front.kind != kind:
        raise Misuse(
            f"the prompt {name!r} is one to {TO_DO[prompt.front.kind]} with, not to {TO_DO[kind]}",
            parameter="prompt",
        )
    return prompt


def prompt_source(identity: str) -> str:
    """What a prompt is found by again: its name, or the name of its file, seen from here."""
    name = identity.partition("@")[0]
    return name if name in prompt_files() or not name else f"{name}.md"


def prompt_as_it_is(identity: str) -> str:
    """The identity of a prompt as it is found here now; empty where it is not."""
    try:
        return find_prompt(prompt_source(identity)).id
    except LabelerError:
        return ""


def checked_prompt(name: str, kind: str = "grade", note: Note = quiet) -> Prompt:
    """A prompt whose text, scale and replies agree: what stands before any call with it.

    `BadInput` says the first error with its line; `note` is given a line for each warning.
    """
    prompt, path = find_prompt(name, kind), prompt_path(name)
    problems = read_draft(path).problems
    refuse_errors(path, problems)
    for problem in problems:
        note(f"warning: {problem.at(path)}")
    return prompt


# `prompts new`: a prompt under another name, to be edited.

LONGEST_NAME = 100
_NAME = re.compile(r"\w[\w.-]*")
_OF_THE_ORIGINAL = re.compile(r"(shown_with|fidelity|measured|based_on)[ \t]*=")


def copy_of(prompt: Prompt, name: str) -> str:
    """The text of a prompt's file for a copy called `name`.

    The front matter says what it was copied from, and no longer which models the original was shown
    with, since nobody has shown the copy with any.
    """
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise Misuse(
            f"{name!r} is no name of a prompt; write letters, digits, dots, _ and -, as mine",
            parameter="name",
        )
    if name in prompt_files():
        raise Misuse(
            f"a shipped prompt is called {name!r}; give another name, as my-{name}",
            parameter="name",
        )
    source = cut_source(prompt.text)
    assert isinstance(source, Source), "a prompt was read from parts"
    lines = source.front.splitlines(keepends=True)
    front = "".join(line for line in lines if not _OF_THE_ORIGINAL.match(line))
    return prompt.text.replace(source.front, f'based_on = "{prompt.id}"\n{front}', 1)
