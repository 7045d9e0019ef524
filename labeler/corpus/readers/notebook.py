"""Notebooks of Jupyter: their Markdown and their code, without what the code printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from labeler.corpus.losses import PRINTED, drop
from labeler.corpus.readers.markdown import read_markdown
from labeler.corpus.readers.outline import Extracted, Outline, fenced, finished
from labeler.errors import BadInput
from labeler.exchange.fields import value_at
from labeler.files.jsonl import JsonObject


def read_notebook(path: Path, text: str) -> Extracted:
    """The cells of a notebook as one page of Markdown, code under the headings above it."""
    notebook = json.loads(text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise BadInput(f"{path}: expected a notebook, a JSON object with a list of cells")
    name = value_at(notebook, "metadata.kernelspec.language")
    language = name if isinstance(name, str) and name.isalnum() else "python"
    title, blocks = read_markdown("\n\n".join(_sources(cells, language)))
    return finished(path, title, Outline(blocks))


def _sources(cells: list[JsonObject], language: str) -> Iterator[str]:
    for cell in cells:
        value = cell.get("source", "")
        lines = value if isinstance(value, list) else [value]
        source = "".join(line for line in lines if isinstance(line, str))
        if cell.get("cell_type") == "markdown":
            yield source
        elif cell.get("cell_type") == "code" and source.strip():
            yield fenced(source, language)
        elif source.strip():
            drop("cells of other kinds", source)
        if cell.get("outputs"):
            drop(PRINTED, json.dumps(cell["outputs"], ensure_ascii=False))
