"""`prompts new`: a prompt under another name, to be edited."""

from __future__ import annotations

import re
import tomllib

from labeler.errors import Misuse
from labeler.prompt.shipped import prompt_files
from labeler.prompt.source import Source, cut_source
from labeler.prompt.template import Prompt

LONGEST_NAME = 100
_NAME = re.compile(r"\w[\w.-]*")


def copy_of(prompt: Prompt, name: str) -> str:
    """The text of a prompt's file for a copy called `name`.

    The front matter says what it was copied from, and no longer which models the original was shown
    with, since nobody has shown the copy with any.
    """
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        problem = f"{name!r} is no name of a prompt; write letters, digits, dots, _ and -, as mine"
        raise Misuse(problem, parameter="name")
    if name in prompt_files():
        problem = f"a shipped prompt is called {name!r}; give another name, as my-{name}"
        raise Misuse(problem, parameter="name")
    source = cut_source(prompt.text)
    assert isinstance(source, Source), "a prompt was read from parts"
    front = _without(source.front, "shown_with", "fidelity", "measured", "based_on")
    line = f'based_on = "{prompt.id}"\n'
    start = prompt.text.index(source.front)
    rest = prompt.text[start + len(source.front) :]
    return prompt.text[:start] + _with(front, line) + rest


def _with(front: str, line: str) -> str:
    """The front matter with a line more: after that of the description, else at its beginning."""
    described = re.compile(r"^description[ \t]*=.*\n", re.MULTILINE).search(front)
    at = described.end() if described else 0
    longer = front[:at] + line + front[at:]
    return longer if _reads(longer) else line + front


def _without(front: str, *keys: str) -> str:
    """The front matter without the lines of some keys, where these are one line each."""
    for key in keys:
        shorter = re.sub(rf"^{key}[ \t]*=.*\n", "", front, count=1, flags=re.MULTILINE)
        front = shorter if _reads(shorter) else front
    return front


def _reads(front: str) -> bool:
    try:
        return bool(tomllib.loads(front))
    except tomllib.TOMLDecodeError:
        return False
