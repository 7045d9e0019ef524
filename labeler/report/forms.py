"""The names of the forms of tables, for whoever offers a choice of them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

FormName = Literal["table", "csv", "json", "jsonl", "latex", "markdown"]
"""The names of `FORMS` in `report/render.py`."""

_BY_SUFFIX: dict[str, FormName] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tex": "latex",
    ".md": "markdown",
    ".markdown": "markdown",
}


def form_of(path: Path | None) -> FormName:
    """The form that a file's suffix says; the text form of any other, and of no file.

    >>> form_of(Path("scores.csv.gz")), form_of(Path("scores.txt")), form_of(None)
    ('csv', 'table', 'table')
    """
    name = "" if path is None else path.name.casefold().removesuffix(".gz")
    return _BY_SUFFIX.get(Path(name).suffix, "table")
