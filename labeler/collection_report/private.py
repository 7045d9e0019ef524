"""Texts of a report without what belongs to the machine that it was made on, or to its owner."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeler.report.table import Table

_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/\s@]*@")
_SECRET_OF_ADDRESS = re.compile(r"(?i)([?&](?:api[-_]?key|key|token|secret|sig|password)=)[^&\s]*")
_KEY = re.compile(r"\b(?:sk|pk|hf|gsk|xai|ghp|AKIA)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{20,}")
_WORD = re.compile(r"[^\s'\"()<>,;]+")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
HIDDEN = "[hidden]"


class Private:
    """Hides keys, and shortens paths to what stands behind the collection's folder.

    >>> private = Private(Path("/data/coll"))
    >>> private("/data/coll/runs/a.trec: 3 ties, read from /home/me/docs/a.md")
    'runs/a.trec: 3 ties, read from a.md'
    >>> private("http://me:secret@localhost:8000/v1?api_key=abc gpt")
    'http://localhost:8000/v1?api_key=[hidden] gpt'
    """

    def __init__(self, *folders: Path) -> None:
        spellings = {
            spelling
            for folder in folders
            for spelling in (os.fspath(folder), os.path.abspath(folder), os.path.realpath(folder))
        }
        longest_first = sorted(spellings - {"."}, key=len, reverse=True)
        before = r"(?<![\w/.-])"
        self._inside = [re.compile(rf"{before}{re.escape(f)}/") for f in longest_first]
        self._whole = [re.compile(rf"{before}{re.escape(f)}(?![\w/.-])") for f in longest_first]

    def __call__(self, text: str) -> str:
        """The text, fit for a page that others read."""
        for inside in self._inside:
            text = inside.sub("", text)
        for whole in self._whole:
            text = whole.sub(lambda match: os.path.basename(match[0]), text)
        text = _USER_OF_ADDRESS.sub("", text)
        text = _SECRET_OF_ADDRESS.sub(rf"\1{HIDDEN}", text)
        text = _KEY.sub(HIDDEN, text)
        return _WORD.sub(lambda match: _without_folders(match[0]), text)

    def table(self, table: Table) -> Table:
        """A table with all its texts so."""
        return reworded(table, self)

    def of_json(self, value: Any) -> Any:
        """A value of JSON with all its texts so; names of members stay."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {name: self.of_json(inner) for name, inner in value.items()}
        return [self.of_json(inner) for inner in value] if isinstance(value, list) else value


def _without_folders(word: str) -> str:
    """A word, where it is an absolute path without the folders that the file lies in."""
    bare = word.lstrip("=[{|`")
    if _DRIVE.match(bare):
        return re.split(r"[\\/]", bare)[-1]
    path, colon, rest = bare.partition(":")
    if not path.startswith(("/", "~/")) or path.startswith("//") or path.count("/") < 2:
        return word
    return path.rstrip("/").rpartition("/")[2] + colon + rest


def reworded(table: Table, words: Callable[[str], str]) -> Table:
    """A table whose title, note, headers and texts are put into other words."""
    rows = [[words(cell) if isinstance(cell, str) else cell for cell in row] for row in table.rows]
    columns = [
        replace(column, title=words(column.title or column.name)) for column in table.columns
    ]
    return replace(
        table, columns=columns, rows=rows, title=words(table.title), note=words(table.note)
    )
