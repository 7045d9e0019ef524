"""Includes of MkDocs, mdBook, Sphinx, MyST and AsciiDoc, inlined from the tree of the input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labeler.corpus.readers.outline import fenced, indentation
from labeler.files.read import decoded, file_problems

_MARKDOWN = re.compile(
    r"[ \t]{0,200}+(?:\{\*[ \t]*([^\s\"'\[\]{}:!]+\.\w+)(?:[ \t]+ln\[([\d:,]+)\])?[^\n{}]*\*\}"
    r"|\{!>?[ \t]*([^\s!]+)[ \t]*!\}"
    r"|[;]?-{1,3}8<-{1,3}[ \t]+[\"']([^\s\"':]+)(?::([\w:.-]+))?[\"'][ \t]*"
    r"|\{\{#(?:rustdoc_)?include[ \t]+([^\s:{}]+)(?::([\w:.-]+))?[ \t]*\}\})\s*"
)
_DIRECTIVE = re.compile(
    r"[ \t]{0,200}+(?:\.\.[ \t]+|[`~:]{3,}\{)(?:literal)?include(?:::|\})[ \t]+(\S+)[ \t]*"
)
_ASCIIDOC = re.compile(r"include::([^\[\s]{1,500}+)\[(?:.*?(?:tags?|lines)=([^,\]]+))?.*\]")
"""A path, and perhaps the part of the file that is asked for."""

_LINES_OPTION = re.compile(r"[ \t]{0,200}+:lines:\s*(\d+)-(\d*)\s*")
_FENCE = re.compile(r"[ \t]{0,200}+(`{3,}|~{3,}|-{4,}$)")
_NUMBERS = re.compile(r"(\d*)(:|\.\.|-)?(\d*)(?:,.*)?")
_TEXTS = (".md", ".markdown", ".mdx", ".rst", ".rest", ".txt", ".inc", ".adoc", ".asciidoc")
_MOST_INLINED = 1 << 20
_DEEPEST = 4


@dataclass
class _Inliner:
    """Puts the texts of included files in place of the lines that name them.

    Only files below `root` are read, and none with a name that begins with a dot; all of them
    together have at most `left` characters.
    """

    root: Path
    kind: str
    left: int = _MOST_INLINED

    def lines(self, text: str, folder: Path, depth: int) -> Iterator[str]:
        """The lines of a text with those of the files that it includes."""
        lines = text.split("\n")
        fence = ""
        position = 0
        while position < len(lines):
            line = lines[position]
            end = position + 1
            source = None
            if self.kind != ".adoc" and not fence and (directive := _DIRECTIVE.fullmatch(line)):
                end = _end_of_directive(lines, position)
                options = map(_LINES_OPTION.fullmatch, lines[position + 1 : end])
                part = next((f"{option[1]}:{option[2]}" for option in options if option), "")
                source = self.included(directive[1], part, folder)
            elif named := (_ASCIIDOC if self.kind == ".adoc" else _MARKDOWN).fullmatch(line):
                path, *parts = filter(None, named.groups())
                source = self.included(path, "".join(parts), folder)
            elif (mark := _FENCE.match(line)) and (not fence or line.strip() == fence):
                fence = "" if fence else mark[1]
            if source is None:
                yield from lines[position:end]
            else:
                yield from self.shown(*source, line, fence, depth)
            position = end

    def included(self, name: str, part: str, folder: Path) -> tuple[Path, str] | None:
        """A file that stands in the tree, and what of it is asked for."""
        for above in (folder, *folder.parents):
            path = (above / name.lstrip("/")).resolve()  # Sphinx begins at the root with a slash
            if path.is_relative_to(self.root) and path.is_file():
                if any(each.startswith(".") for each in path.relative_to(self.root).parts):
                    return None
                with file_problems(path):
                    fits = path.stat().st_size <= self.left
                    text = _part_of(decoded(path, path.read_bytes()), part) if fits else ""
                self.left -= len(text)
                return (path, text) if text.strip() else None
            if above == self.root:
                break
        return None

    def shown(self, path: Path, text: str, line: str, fence: str, depth: int) -> Iterator[str]:
        """The lines of an included file: text as it is, anything else as code."""
        lines = text.rstrip("\n").split("\n")
        if fence:
            yield from lines
        elif path.suffix in _TEXTS and "literalinclude" not in line:
            yield from self.lines(text, path.parent, depth + 1) if depth < _DEEPEST else lines
        elif self.kind in (".rst", ".rest"):
            margin = " " * indentation(line)
            yield from (f"{margin}.. code-block:: {path.suffix[1:]}", "")
            yield from (f"{margin}   {each}" if each else "" for each in lines)
            yield ""
        elif self.kind == ".adoc":
            yield from ("----", *lines, "----")
        else:
            yield fenced("\n".join(lines), path.suffix[1:])


def inlined(text: str, path: Path, root: Path, kind: str) -> str:
    """A text with the files that it includes, as far as they stand below `root`."""
    if "include" not in text and "8<" not in text and "{*" not in text and "{!" not in text:
        return text
    return "\n".join(_Inliner(root.resolve(), kind).lines(text, path.resolve().parent, 0))


def _end_of_directive(lines: list[str], start: int) -> int:
    """Where the options of a directive end, or the fence that it stands in is closed."""
    mark = re.match(r"\s*([`~:]{3,})", lines[start])
    if mark:
        closed = (n for n in range(start + 1, len(lines)) if lines[n].strip() == mark[1])
        return next(closed, start) + 1
    end = start + 1
    margin = indentation(lines[start])
    while end < len(lines) and lines[end].strip() and indentation(lines[end]) > margin:
        end += 1
    return end


def _part_of(text: str, part: str) -> str:
    """The lines of a text that are asked for: by their numbers, or between marks with a name."""
    if not part:
        return text
    lines = text.split("\n")
    numbers = _NUMBERS.fullmatch(part)
    if numbers:
        first = int(numbers[1] or 1)
        last = int(numbers[3] or (len(lines) if numbers[2] else first))
        return "\n".join(lines[max(0, first - 1) : last])
    begin = re.compile(rf"(?:ANCHOR:\s*|\[start:|tag::){re.escape(part)}\b")
    end = re.compile(rf"(?:ANCHOR_END:\s*|\[end:|end::){re.escape(part)}\b")
    first = next((n for n, line in enumerate(lines) if begin.search(line)), -1)
    last = next((n for n in range(first + 1, len(lines)) if end.search(lines[n])), len(lines))
    return "\n".join(lines[first + 1 : last]) if first >= 0 else ""
