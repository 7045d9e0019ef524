"""Which files below a folder are left out: by `.gitignore`, by patterns, or since they are hidden.

The patterns are those that git documents in gitignore(5): `*`, `?` and `[a-z]` within a name, `**`
over folders, a slash that ties a pattern to its folder, one at the end for folders alone, and `!`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from labeler.errors import Misuse
from labeler.files.encoding import decoded
from labeler.files.read import read_bytes

NAME = ".gitignore"
_MOST = 1 << 20
"""The most bytes of a `.gitignore`."""

_LONGEST = 500
"""The most characters of a pattern, and of the path that it is held against."""


class Rule(NamedTuple):
    """One pattern: what it matches, whether folders alone, and whether it takes back earlier ones.

    A pattern that is tied to its folder matches a path from there, another one a name.
    """

    matches: re.Pattern[str]
    is_tied: bool
    of_folders: bool
    takes_back: bool

    def applies(self, path: str, *, is_folder: bool) -> bool:
        """Whether it is about a path relative to the folder of its file."""
        if self.of_folders and not is_folder:
            return False
        return bool(self.matches.fullmatch(path if self.is_tied else path.rpartition("/")[2]))


def rule_of(line: str) -> Rule | None:
    """The rule in a line of a `.gitignore`; `None` of blank lines, comments and nonsense."""
    pattern = _without_spaces(line.rstrip("\r\n"))
    if not pattern or pattern.startswith("#") or len(pattern) > _LONGEST:
        return None
    takes_back = pattern.startswith("!")
    pattern = pattern.removeprefix("!") if takes_back else pattern
    of_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    is_tied = "/" in pattern
    expression = _expression(pattern.removeprefix("/"))
    if not pattern or expression is None:
        return None
    return Rule(expression, is_tied, of_folders, takes_back)


def _without_spaces(line: str) -> str:
    """A line without the spaces at its end, but for one that a backslash keeps."""
    pattern = line.rstrip()
    slashes = len(pattern) - len(pattern.rstrip("\\"))
    return pattern + line[len(pattern) : len(pattern) + 1] if slashes % 2 else pattern


def _expression(pattern: str) -> re.Pattern[str] | None:
    """A pattern as a regular expression over a path; `None` where it can match nothing."""
    parts, position = [], 0
    pattern = re.sub(r"(?:\*\*/)+", "**/", re.sub(r"\*{3,}", "**", pattern))
    while position < len(pattern):
        part, position = _next(pattern, position)
        if part is None:
            return None
        parts.append(part)
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:  # a range that ends before it begins
        return None


def _next(pattern: str, at: int) -> tuple[str | None, int]:
    """The expression of what stands at a place in a pattern, and where the next begins."""
    starts = at == 0 or pattern[at - 1] == "/"
    if starts and pattern.startswith("**/", at):
        return "(?:[^/]+/)*+", at + 3
    if starts and pattern[at:] == "**":
        return ".+", at + 2
    if pattern[at] == "*":
        end = at + len(pattern[at:]) - len(pattern[at:].lstrip("*"))
        return "[^/]*", end
    if pattern[at] == "[":
        return _set_of(pattern, at)
    if pattern[at] == "\\":
        is_last = at + 1 == len(pattern)
        return None if is_last else re.escape(pattern[at + 1]), at + 2
    return "[^/]" if pattern[at] == "?" else re.escape(pattern[at]), at + 1


_CLASSES = {"alnum": r"\w", "alpha": "A-Za-z", "digit": r"\d", "space": r"\s", "upper": "A-Z"}
_CLASSES |= {"lower": "a-z", "xdigit": "0-9A-Fa-f", "punct": r"!-/:-@\[-`{-~"}


def _set_of(pattern: str, at: int) -> tuple[str | None, int]:
    """The expression of a set of characters in brackets, none of which is a slash."""
    is_not = pattern[at + 1 : at + 2] in ("!", "^")
    inside = at + 1 + is_not
    end, members = inside, []
    while end < len(pattern) and (pattern[end] != "]" or end == inside):
        named = re.match(r"\[:(\w+):\]", pattern[end:])
        if named:
            members.append(_CLASSES.get(named[1], ""))
            end += len(named[0])
            continue
        if pattern[end] == "\\" and end + 1 < len(pattern):
            end += 1
            members.append(re.escape(pattern[end]))
        else:
            members.append("-" if pattern[end] == "-" else re.escape(pattern[end]))
        end += 1
    if end >= len(pattern):
        return None, end
    return f"(?!/)[{'^' if is_not else ''}{''.join(members)}]", end + 1


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one file, and the folder that they are tied to."""

    folder: str
    rules: tuple[Rule, ...]

    def says(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether the last rule about a path leaves it out; `None` where none is about it."""
        relative = os.path.relpath(path, self.folder).replace(os.sep, "/")
        if len(relative) > _LONGEST * 8:
            return None
        about = (r for r in reversed(self.rules) if r.applies(relative, is_folder=is_folder))
        last = next(about, None)
        return None if last is None else not last.takes_back


def rules_in(folder: Path) -> IgnoreRules | None:
    """The rules of a folder's `.gitignore`, if it has one."""
    path = folder / NAME
    if not path.is_file():
        return None
    raw = read_bytes(path, _MOST)
    text = decoded(path, raw) if raw.strip() else ""
    return IgnoreRules(str(folder), tuple(filter(None, map(rule_of, text.split("\n")))))


def rules_above(folder: Path) -> list[IgnoreRules]:
    """The rules of the folders above one, as far up as its repository goes; the topmost first."""
    above: list[IgnoreRules] = []
    start = Path(os.path.abspath(folder))
    if (start / ".git").exists():
        return []
    for parent in start.parents:
        rules = rules_in(parent)
        above += [rules] if rules else []
        if (parent / ".git").exists():
            return above[::-1]
    return []


def is_ignored(path: Path, above: Sequence[IgnoreRules], *, is_folder: bool) -> bool:
    """Whether the `.gitignore` nearest to a path that says something of it leaves it out."""
    absolute = os.path.abspath(path)
    answers = (rules.says(absolute, is_folder=is_folder) for rules in reversed(above))
    return next((answer for answer in answers if answer is not None), False)


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns of files to read alone, and of files and folders to leave out.

    `written` are both as a user wrote them.
    """

    include: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()
    written: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @classmethod
    def of(cls, include: Iterable[str], exclude: Iterable[str]) -> Patterns:
        """The patterns as a user wrote them; `Misuse` of one that can match nothing."""
        written = tuple(include), tuple(exclude)
        included, excluded = _rules(written[0], "include"), _rules(written[1], "exclude")
        return cls(tuple(included), tuple(excluded), written)

    def excludes(self, relative: str, *, is_folder: bool) -> bool:
        """Whether a path relative to its input is left out."""
        return any(rule.applies(relative, is_folder=is_folder) for rule in self.exclude)

    def includes(self, relative: str) -> bool:
        """Whether a file, or a folder that it lies in, is among those to read."""
        if not self.include:
            return True
        parts = relative.split("/")
        paths = [("/".join(parts[: n + 1]), n + 1 < len(parts)) for n in range(len(parts))]
        return any(rule.applies(p, is_folder=f) for rule in self.include for p, f in paths)


def _rules(patterns: Iterable[str], parameter: str) -> Iterator[Rule]:
    for pattern in patterns:
        rule = rule_of(pattern)
        if rule is None or rule.takes_back:
            problem = f"no pattern of files: {pattern!r:.80}; expected one like '*.md' or 'api/**'"
            raise Misuse(problem, parameter=parameter)
        yield rule
