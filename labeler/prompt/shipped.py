"""The prompts that come with the package, and any prompt by its name or its file."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from labeler.errors import Misuse
from labeler.prompt.front import TO_DO
from labeler.prompt.problem import refuse_errors
from labeler.prompt.read import read_draft, read_prompt
from labeler.prompt.template import Prompt


def prompt_folder() -> Path:
    """Where the shipped prompts lie: inside an installed package, or at the top of a checkout."""
    package = Path(__file__).parent.parent
    inside = package / "prompts"
    return inside if inside.is_dir() else package.parent / "prompts"


def prompt_files() -> dict[str, Path]:
    """The shipped prompts by name."""
    return {path.stem: path for path in sorted(prompt_folder().glob("*.md"))}


def prompt_path(name: str) -> Path:
    """The file of a shipped prompt, or the path of a file as it is; `Misuse` for neither."""
    shipped = prompt_files()
    if name in shipped:
        return shipped[name]
    if Path(name).is_file():
        return Path(name)
    close = get_close_matches(name, shipped, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    problem = f"no prompt {name!r}; {hint}known: {', '.join(shipped)}, or the path of a file"
    raise Misuse(problem, parameter="prompt")


def find_prompt(name: str, kind: str | None = "grade") -> Prompt:
    """A shipped prompt by its name, or any prompt by its file's path; `Misuse` for another kind.

    >>> find_prompt("four-grades").grades
    (0, 1, 2, 3)
    """
    prompt = read_prompt(prompt_path(name))
    if kind and prompt.front.kind != kind:
        is_one_to = f"is one to {TO_DO[prompt.front.kind]} with, not to {TO_DO[kind]}"
        raise Misuse(f"the prompt {name!r} {is_one_to}", parameter="prompt")
    return prompt


def checked_prompt(
    name: str, kind: str = "grade", note: Callable[[str], None] = lambda _line: None
) -> Prompt:
    """A prompt whose text, scale and replies agree: what stands before any call with it.

    `BadInput` says the first error with its line; `note` is given a line for each warning.
    """
    prompt, path = find_prompt(name, kind), prompt_path(name)
    problems = read_draft(path).all_problems
    refuse_errors(path, problems)
    for problem in problems:
        note(f"warning: {problem.at(path)}")
    return prompt
