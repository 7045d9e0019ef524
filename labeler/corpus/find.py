"""Find the files that an input names: a folder with all below it, a file, or a pattern."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from labeler.errors import FileProblem
from labeler.files.home import expanded

_COLLECTION = re.compile(
    r"(?:queries|rejected|pool)\.jsonl(?:\.gz)?|card\.json|qrels|runs|judgements"
)
"""Names of a collection's files that hold no documents."""


@dataclass
class InputFiles:
    """Files in a fixed order; `base` is the folder to which the paths in documents are relative.

    `collection_files` are files and folders of a collection that hold no documents; `unread` says
    which folders could not be listed, and which files are no files to read. `links_out` are links
    below an input that lead out of all `roots`, which are None where links are followed anywhere.
    """

    base: Path
    files: list[Path] = field(default_factory=list)
    collection_files: list[Path] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    links_out: list[Path] = field(default_factory=list)
    roots: list[str] | None = None

    def leads_out(self, path: Path) -> bool:
        """Whether a path below an input leads, by a link, to a place that is below none of them."""
        if self.roots is None:
            return False
        real = os.path.realpath(path)
        return not any(real == root or real.startswith(f"{root}{os.sep}") for root in self.roots)


def find_files(
    inputs: Sequence[str], leave_out: Iterable[Path] = (), *, follow_links: bool = False
) -> InputFiles:
    """The files that folders, files and patterns name, each once.

    Links are followed where they lead to a place below an input, or with `follow_links` anywhere:
    a folder that somebody else packed should not bring in files of this machine. No folder is
    entered twice, so that circular links end; names that begin with a dot are passed over, unless
    given themselves; so is what is in `leave_out`. Raises `FileProblem` where an input names
    nothing.
    """
    starts = [start for pattern in inputs for start in _starts(pattern)]
    result = InputFiles(_common_base([start.base for start in starts]))
    if not follow_links:
        result.roots = [os.path.realpath(start.root).rstrip(os.sep) for start in starts]
    entered = {os.path.realpath(path) for path in leave_out}
    for start in starts:
        for path in _below(start.path, entered, result):
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
        raise FileProblem(f"{pattern}: no such file or folder")
    matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    if not matches:
        raise FileProblem(f"{pattern}: no file matches this pattern")
    plain_folder = Path(*_leading_plain_parts(path))
    files = [match for match in matches if match.is_file()]
    return [_Start(match, plain_folder, plain_folder) for match in files]


def _leading_plain_parts(path: Path) -> Iterator[str]:
    for part in path.parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def _common_base(bases: Sequence[Path]) -> Path:
    if len(set(bases)) == 1:
        return bases[0]
    return Path(os.path.commonpath([os.path.abspath(base) for base in bases]))


def _below(path: Path, entered: set[str], result: InputFiles) -> Iterator[Path]:
    """Yield the file itself, or the files in and below a folder, in the order of names."""
    if result.leads_out(path):
        result.links_out.append(path)
        return
    if not path.is_dir():
        if path.exists() and not path.is_file():
            result.unread.append(f"{path}: a device or a pipe, not a file")
        else:
            yield path
        return
    real = os.path.realpath(path)
    if real in entered:
        return
    entered.add(real)
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        result.unread.append(f"{path}: {error.strerror or error}")
        return
    is_collection = any(entry.name in ("corpus.jsonl", "corpus.jsonl.gz") for entry in entries)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if is_collection and _COLLECTION.fullmatch(entry.name):
            result.collection_files.append(entry)
            continue
        yield from _below(entry, entered, result)
