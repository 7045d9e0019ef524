"""Notebooks of Jupyter: their Markdown and their code, without what the code printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labeler.corpus.readers.markdown import read_markdown
from labeler.corpus.readers.outline import Extracted, Outline, extracted
from labeler.errors import BadInput


def read_notebook(path: Path, text: str) -> Extracted:
    """The cells of a notebook of format 4 or 3, code under the headings above it."""
    notebook = json.loads(text)
    if not isinstance(notebook, dict):
        raise BadInput(f"{path}: expected a notebook's JSON object")
    outline = Outline()
    language = _language(notebook)
    for cell in _cells(path, notebook):
        source = _source(cell)
        if cell.get("cell_type") == "code":
            outline.code(list(enumerate(source.expandtabs(4).split("\n"), 1)), language)
        elif cell.get("cell_type") in ("markdown", "heading"):
            level = cell.get("level")
            marks = "#" * level if isinstance(level, int) and 1 <= level <= 6 else ""
            _add_markdown(f"{marks} {source}" if marks else source, outline)
    if not any(block.text for block in outline.blocks):
        raise BadInput(f"{path}: a notebook without text and code")
    return extracted("", outline.blocks)


def _cells(path: Path, notebook: dict[str, Any]) -> list[dict[str, Any]]:
    sheets = notebook.get("worksheets")
    first = sheets[0] if isinstance(sheets, list) and sheets and isinstance(sheets[0], dict) else {}
    cells = notebook.get("cells", first.get("cells"))
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise BadInput(f"{path}: expected a notebook, a JSON object with a list of cells")
    return cells


def _source(cell: dict[str, Any]) -> str:
    value = cell.get("source", cell.get("input", ""))
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    kernel = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    name = kernel.get("language") if isinstance(kernel, dict) else None
    return name if isinstance(name, str) and name.isalnum() else "python"


def _add_markdown(text: str, outline: Outline) -> None:
    """The blocks of a cell; its headings stay open for the cells below it."""
    _, blocks = read_markdown(text)
    above = outline.path
    for block in blocks:
        if not block.text and block.headings:
            level = _level(text, block.line)
            outline.heading(level, block.headings[-1], block.line)
        elif block.code or block.tight or block.leads or block.headings != above:
            outline.blocks.append(_under(block, outline))
        else:
            outline.prose(block.text, block.line)


def _under(block: Any, outline: Outline) -> Any:
    from dataclasses import replace

    return replace(block, headings=outline.path)


def _level(text: str, line: int) -> int:
    """The level of the heading in a line of Markdown: its marks, or the rule below it."""
    lines = text.replace("\r\n", "\n").split("\n")
    shown = lines[line - 1].lstrip() if 0 < line <= len(lines) else ""
    marks = len(shown) - len(shown.lstrip("#"))
    if marks:
        return min(marks, 6)
    return 2 if line < len(lines) and lines[line].lstrip().startswith("-") else 1
