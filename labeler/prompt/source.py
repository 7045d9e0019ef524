"""The text of a prompt's file, cut into front matter and sections that know their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from labeler.errors import BadInput

# A problem of a prompt's file: on which line, what is wrong, and what would work.


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
        more = f" (and {others} more error{'s' if others > 1 else ''} in the file)"
        raise BadInput.at(path, errors[0].line, errors[0].text + (more if others else ""))


def close_to(name: str, names: Iterable[str]) -> str:
    """The words that propose what a name was meant to be; empty where none is close."""
    by_lower = {known_name.lower(): known_name for known_name in names}
    close = get_close_matches(name.lower(), by_lower, 1)
    return f"did you mean {by_lower[close[0]]}? " if close else ""


_FENCE = re.compile(r"^\+\+\+[ \t]*$", re.MULTILINE)
_SECTION = re.compile(r"^# (system|user|assistant)[ \t]*$", re.MULTILINE)
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
    fences = [match for _, match in zip(range(2), _FENCE.finditer(text), strict=False)]
    expected = "expected TOML front matter between two lines of +++"
    if not fences or fences[0].start() > 0:
        return PromptProblem(1, f"{expected}; let the first line be +++")
    if len(fences) < 2:
        last = text.rstrip().count("\n") + 1
        return PromptProblem(last, f"{expected}; end it with a second line of +++")
    front = text[fences[0].end() + 1 : fences[1].start()]
    marks = list(_SECTION.finditer(text, fences[1].end()))
    starts = [fences[1].end(), *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(text)]
    roles = ["", *(mark[1] for mark in marks)]
    preamble, *sections = _sections(text, zip(roles, starts, ends, strict=True))
    return Source(front, preamble, tuple(sections))


def _sections(text: str, parts: Iterable[tuple[str, int, int]]) -> Iterator[Section]:
    """Sections by their roles, where their headings end, and where the next ones begin."""
    counted, line = 0, 1
    for role, start, end in parts:
        line, counted = line + text.count("\n", counted, start), start
        content = text[start:end]
        blank = len(content) - len(content.lstrip())
        yield Section(role, line, line + content.count("\n", 0, blank), content.strip())
