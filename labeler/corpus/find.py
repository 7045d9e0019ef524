"""Find the files that an input names: a folder with all below it, a file, or a pattern."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from labeler.corpus.blocks import FileRules
from labeler.corpus.cut import writable
from labeler.errors import FileProblem, LabelerError, Misuse
from labeler.exchange.bundles import OF_DATASETS, is_bundle
from labeler.exchange.contents import DOCUMENTS, role_of
from labeler.files.paths import NOT_THERE, did_you_mean, expanded
from labeler.files.read import decoded, read_bytes

# Which files below a folder are left out: by `.gitignore`, by patterns, or since they are hidden.
#
# The patterns are those that git documents in gitignore(5): `*`, `?` and `[a-z]` within a name,
# `**` over folders, a slash that ties a pattern to its folder, one at the end for folders alone,
# and `!`.

NAME = ".gitignore"
_MOST = 1 << 20
"""The most bytes of a `.gitignore`."""

_LONGEST = 500
"""The most characters of a pattern."""


class Rule(NamedTuple):
    """One pattern: its steps, whether of folders alone, and whether it takes back earlier ones."""

    steps: Sequence[str]
    of_folders: bool
    takes_back: bool

    def applies(self, path: str, *, is_folder: bool) -> bool:
        """Whether it is about a path relative to the folder of its file."""
        if self.of_folders and not is_folder:
            return False
        parts = path.split("/")
        reached: Iterable[int] = {0}  # so many parts the steps until here may have taken
        for at, step in enumerate(self.steps, start=1):
            if step == "**":
                reached = range(min(reached) + (at == len(self.steps)), len(parts) + 1)
            else:
                ahead = (n for n in reached if n < len(parts))
                reached = {n + 1 for n in ahead if fnmatchcase(parts[n], step)}
            if not reached:
                return False
        return len(parts) in reached


_SET = r"\[[!^]?\]?(?:\\.|[^\]\\]){0,80}+\]"
_WELL_FORMED = re.compile(rf"(?:\\.|{_SET}|[^\[\\])++", re.DOTALL)
_CHANGED = re.compile(rf"({_SET})|\\(.)", re.DOTALL)


def rule_of(line: str) -> Rule | None:
    """The rule in a line of a `.gitignore`; `None` of blank lines, comments and nonsense."""
    line = line.rstrip("\r\n")[: _LONGEST + 1]
    pattern = line.rstrip(" \t")
    if pattern.endswith("\\"):  # the blank behind it belongs to the name
        pattern += line[len(pattern) :][:1]
    if pattern.startswith("#") or len(line) > _LONGEST:
        return None
    takes_back = pattern.startswith("!")
    pattern = pattern.removeprefix("!")
    of_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    *above, name = pattern.removeprefix("/").split("/")
    steps = [_step(step) for step in ([*above, name] if "/" in pattern else ["**", name])]
    is_one = name and all(map(_WELL_FORMED.fullmatch, [*above, name]))
    return Rule(steps, of_folders, takes_back) if is_one else None


def _step(pattern: str) -> str:
    """A step of a path as `fnmatch` has it: stars alone are any steps, and `^` in a set is `!`."""
    if set(pattern) == {"*"} and len(pattern) > 1:
        return "**"
    return _CHANGED.sub(_changed, pattern)


def _changed(part: re.Match[str]) -> str:
    if part[2]:
        return f"[{part[2]}]" if part[2] in "*?[" else part[2]
    members = re.sub(r"\\(.)", r"\1", part[0][1:])
    return f"[{'!' + members[1:] if members[0] in '!^' else members}"


class IgnoreRules(NamedTuple):
    """The rules of one file, and the folder that they are tied to."""

    folder: str
    rules: Sequence[Rule]


def rules_in(folder: Path) -> IgnoreRules | None:
    """The rules of a folder's `.gitignore`, if it has one."""
    path = folder / NAME
    if not path.is_file():
        return None
    raw = read_bytes(path, _MOST)
    text = decoded(path, raw) if raw.strip() else ""
    return IgnoreRules(str(folder), list(filter(None, map(rule_of, text.split("\n")))))


def rules_above(folder: Path) -> list[IgnoreRules]:
    """The rules of the folders above one, as far up as its repository goes; the topmost first."""
    above = []
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
    """Whether the last rule that is about a path leaves it out; the nearest rules are the last."""
    for folder, rules in reversed(above):
        relative = os.path.relpath(path, folder).replace(os.sep, "/")
        for rule in reversed(rules):
            if rule.applies(relative, is_folder=is_folder):
                return not rule.takes_back
    return False


def _rules(start: Path, patterns: Iterable[str], parameter: str) -> list[IgnoreRules]:
    """The rules that a user's patterns are; `Misuse` of one that can match nothing."""
    rules = []
    for pattern in patterns:
        rule = rule_of(pattern)
        if rule is None or rule.takes_back:
            raise Misuse(
                f"no pattern of files: {pattern!r:.80}; expected one like '*.md' or 'api/**'",
                parameter=parameter,
            )
        rules.append(rule)
    return [IgnoreRules(os.path.abspath(start), rules)]


HIDDEN, IGNORED = "hidden", "gitignore"
EXCLUDED, NOT_INCLUDED = "exclude", "include"
"""Why files and folders below an input are left out: their names begin with a dot, a `.gitignore`
names them, a pattern of those to leave out does, or none of those to read."""

_COLLECTION = re.compile(
    r"(?:queries|rejected|unanswerable|pool)\.jsonl(?:\.gz)?|card\.json|qrels|runs|judgements|history"
)
"""Names of a collection's files that hold no documents."""


@dataclass(kw_only=True)
class PassedOver:
    """What is not read of some inputs.

    `collection_files` are files and folders of a collection that hold no documents; `unread` says
    why which folders could not be listed, and which files not be read. `links_out` are links below
    an input that lead out of all inputs; `left_out` counts files and folders by the reason why they
    are left out.
    """

    collection_files: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    links_out: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass
class InputFiles(PassedOver):
    """Files in a fixed order; `base` is the folder to which the paths in documents are relative."""

    base: Path
    files: list[Path] = field(default_factory=list)


_ALL = FileRules()


def find_files(
    inputs: Sequence[str],
    leave_out: Iterable[Path] = (),
    rules: FileRules = _ALL,
    *,
    follow_links: bool = False,
) -> InputFiles:
    """The files that folders, files and patterns name, each once.

    Links are followed where they lead to a place below an input, or with `follow_links` anywhere:
    a folder that somebody else packed should not bring in files of this machine. No folder is
    entered twice, so that circular links end; names that begin with a dot are passed over, unless
    given themselves; so is what is in `leave_out`, what a `.gitignore` names, and what the
    patterns of `rules` leave out. A file that is named itself is read, whatever these say. Raises
    `FileProblem` where an input names nothing.
    """
    starts = [start for pattern in inputs for start in _starts(pattern)]
    bases = {start.base for start in starts}
    base = next(iter(bases))  # one alone stays as it was named
    if len(bases) > 1:
        base = Path(os.path.commonpath(list(map(os.path.abspath, bases))))
    result = InputFiles(base)
    real_roots = (os.path.realpath(start.root) for start in starts)
    roots = () if follow_links else tuple(f"{r.rstrip(os.sep)}{os.sep}" for r in real_roots)
    entered = {os.path.realpath(path) for path in leave_out}
    for start in starts:
        above = rules_above(start.path) if rules.gitignore and start.path.is_dir() else []
        included = _rules(start.path, rules.include, "include")
        excluded = _rules(start.path, rules.exclude, "exclude")
        walk = _Walk(rules.gitignore, excluded, included, entered, roots, result)
        for path in walk.below(start.path, above, not rules.include):
            real = os.path.realpath(path)
            if real not in entered:
                entered.add(real)
                result.files.append(path)
    return result


class _Start(NamedTuple):
    """A path that an input names, the folder that its documents leave out, and what to stay in."""

    path: Path
    base: Path
    root: Path


def _starts(pattern: str) -> list[_Start]:
    """The paths that an input names; one that is named itself is read wherever it leads."""
    path = expanded(pattern)
    if path.is_dir():
        return [_Start(path, path, path)]
    if path.exists():
        return [_Start(path, path.parent, path)]
    if not glob.has_magic(pattern):
        raise FileProblem(f"{pattern}: {NOT_THERE}{did_you_mean(path)}")
    matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    if not matches:
        raise FileProblem(f"{pattern}: no file matches this pattern")
    plain_folder = Path(*takewhile(lambda part: not glob.has_magic(part), path.parts[:-1]))
    files = [match for match in matches if match.is_file()]
    return [_Start(match, plain_folder, plain_folder) for match in files]


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through what lies below one input.

    Links are followed that lead to what is below one of `roots`, or anywhere where there are none.
    """

    gitignore: bool
    excluded: Sequence[IgnoreRules]
    included: Sequence[IgnoreRules]
    entered: set[str]
    roots: tuple[str, ...]
    result: InputFiles

    def below(self, path: Path, above: list[IgnoreRules], all_of_it: bool) -> Iterator[Path]:
        """Yield the file itself, or the files in and below a folder, in the order of names.

        Of a folder that is itself among those to read, all files are.
        """
        real = f"{os.path.realpath(path)}{os.sep}"
        if self.roots and not real.startswith(self.roots):  # a link to what is below no input
            self.result.links_out.append(writable(str(path)))
        elif path.is_dir():
            yield from self.inside(path, above, all_of_it)
        elif path.exists() and not path.is_file():
            self.result.unread.append(writable(f"{path}: a device or a pipe, not a file"))
        else:
            yield path

    def inside(self, folder: Path, above: list[IgnoreRules], all_of_it: bool) -> Iterator[Path]:
        """Yield the files in and below a folder."""
        real = os.path.realpath(folder)
        if real in self.entered:
            return
        self.entered.add(real)
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            self.result.unread.append(writable(f"{folder}: {error.strerror or error}"))
            return
        own = self.rules_of(folder)
        rules = [*above, own] if own else above
        is_collection = any(entry.name in ("corpus.jsonl", "corpus.jsonl.gz") for entry in entries)
        belongs = is_bundle([entry.name for entry in entries])
        is_saved = any(entry.name in OF_DATASETS[:2] for entry in entries)
        for entry in entries:
            is_folder = entry.is_dir()
            is_included = all_of_it or is_ignored(entry, self.included, is_folder=is_folder)
            reason = self.reason_against(entry, rules, is_folder)
            if not (reason or is_folder or is_included):
                reason = NOT_INCLUDED
            if reason:
                self.result.left_out[reason] += 1
            elif (is_collection and _COLLECTION.fullmatch(entry.name)) or (
                (belongs and role_of(entry.name) not in ("", DOCUMENTS))
                or (is_saved and entry.name in OF_DATASETS)
            ):
                self.result.collection_files.append(writable(str(entry)))
            else:
                yield from self.below(entry, rules, is_included)

    def rules_of(self, folder: Path) -> IgnoreRules | None:
        """The rules of a folder's `.gitignore`; one that cannot be read is named, and has none."""
        if not self.gitignore:
            return None
        try:
            return rules_in(folder)
        except (LabelerError, OSError) as error:
            self.result.unread.append(writable(str(error)))
            return None

    def reason_against(self, entry: Path, rules: list[IgnoreRules], is_folder: bool) -> str:
        """Which rule an entry of a folder is not read by; empty where it is by none."""
        if entry.name.startswith("."):
            return HIDDEN
        if is_ignored(entry, rules, is_folder=is_folder):
            return IGNORED
        return EXCLUDED if is_ignored(entry, self.excluded, is_folder=is_folder) else ""
