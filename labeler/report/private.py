"""Texts of a report without what belongs to a machine or its owner."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from labeler.report.table import Table

_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/\s@]*@")
_SECRET_OF_ADDRESS = re.compile(r"(?i)([?&](?:api[-_]?key|key|token|secret|sig|password)=)[^&\s]*")
_KEY = re.compile(r"\b(?:sk|pk|hf|gsk|xai|ghp|AKIA)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{20,}")
_WORD = re.compile(r"[^\s'\"()<>,;=]*=(?=[/~])|[^\s'\"()<>,;]+")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
HIDDEN = "[hidden]"


class Private:
    """Hides keys, and shortens paths to what stands behind the collection's folder.

    >>> private = Private(Path("/data/coll"))
    >>> private("/data/coll/runs/a.trec: 3 ties, read from /home/me/docs/a.md")
    'runs/a.trec: 3 ties, read from a.md'
    >>> private("http://me:secret@localhost:8000/v1?api_key=abc gpt")
    'http://localhost:8000/v1?api_key=[hidden] gpt'
    >>> private("labeler compare coll old mine=/home/me/k=v/mine.trec")
    'labeler compare coll old mine=mine.trec'
    """

    def __init__(self, *folders: Path) -> None:
        spellings = {
            spelling
            for folder in folders
            for spelling in (os.fspath(folder), os.path.abspath(folder), os.path.realpath(folder))
        }
        self._folders = [
            re.compile(rf"(?<![\w/.-]){re.escape(folder)}(?:/|(?![\w/.-]))")
            for folder in sorted(spellings - {"."}, key=len, reverse=True)
        ]

    def __call__(self, text: str) -> str:
        """The text, fit for a page that others read."""
        for folder in self._folders:  # of what lies inside nothing stays, else its name
            text = folder.sub(lambda match: os.path.basename(match[0]), text)
        text = _USER_OF_ADDRESS.sub("", text)
        text = _SECRET_OF_ADDRESS.sub(rf"\1{HIDDEN}", text)
        text = _KEY.sub(HIDDEN, text)
        return _WORD.sub(lambda match: _without_folders(match[0]), text)

    def table(self, table: Table) -> Table:
        """A table with all its texts so."""
        rows = [
            [self(cell) if isinstance(cell, str) else cell for cell in row] for row in table.rows
        ]
        return replace(table, rows=rows)


def _without_folders(word: str) -> str:
    """A word, where it is an absolute path without the folders that the file lies in."""
    bare = word.lstrip("=[{|`")
    if _DRIVE.match(bare):
        return re.split(r"[\\/]", bare)[-1]
    path, colon, rest = bare.partition(":")
    if not path.startswith(("/", "~/")) or path.startswith("//") or path.count("/") < 2:
        return word
    return path.rstrip("/").rpartition("/")[2] + colon + rest
