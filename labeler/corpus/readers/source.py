"""Source code by symbol: functions, classes and methods, each under its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from labeler.corpus.blocks import Block
from labeler.corpus.readers.outline import indentation

LANGUAGES = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript",
    ".jsx": "jsx", ".ts": "typescript", ".tsx": "tsx", ".java": "java", ".kt": "kotlin",
    ".scala": "scala", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp",
    ".cs": "csharp", ".go": "go", ".rs": "rust", ".rb": "ruby", ".php": "php", ".swift": "swift",
    ".sh": "bash", ".sql": "sql", ".lua": "lua", ".r": "r", ".jl": "julia", ".pl": "perl",
}  # fmt: skip
"""The endings of source code, and what each language is called."""

_LONG = 120
"""Lines of a symbol; one of more is cut at blank lines or at its methods."""

_SYMBOL = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub"
    r"(?:\([a-z]+\))?|unsafe|const|inline|open|override|sealed|data)\s+){0,6}"
    r"(?:class|interface|struct|enum|trait|impl|object|module|namespace|function|func|fun|fn|def|sub"
    r"|type|CREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW|FUNCTION|PROCEDURE))\b[\s*]*"
    r"(?:<[^>]{0,80}>\s*|\([^)]{0,80}\)\s*)?([A-Za-z_$][\w$.:]*)",
    re.IGNORECASE,
)


def read_source(text: str, ending: str) -> list[Block]:
    """The symbols of a file as blocks of code; what no parser understands is cut at blank lines."""
    lines = text.replace("\r\n", "\n").split("\n")
    if LANGUAGES[ending] == "python":
        try:
            return list(_of_python(text, lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # of another Python's version, or a template: read as other languages are
    return list(_of_other(lines, LANGUAGES[ending]))


def _of_python(text: str, lines: list[str]) -> Iterator[Block]:
    module = ast.parse(text)
    yield from _body(module.body, (), (1, len(lines)), lines)


def _body(
    nodes: list[ast.stmt], path: tuple[str, ...], within: tuple[int, int], lines: list[str]
) -> Iterator[Block]:
    """The symbols of a body under their names, and the lines between them."""
    position, end = within
    for node in nodes:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        first = _first_line(node, lines, position)
        yield from _code(position, first - 1, path, lines)
        last = node.end_lineno or node.lineno
        name = f"{path[-1]}.{node.name}" if path else node.name
        yield from _symbol(node, (*path, name), (first, last), lines)
        position = last + 1
    yield from _code(position, end, path, lines)


def _symbol(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    path: tuple[str, ...],
    within: tuple[int, int],
    lines: list[str],
) -> Iterator[Block]:
    """A function or a class whole; a class that is long by its methods."""
    first, last = within
    yield Block("", path, first)
    if isinstance(node, ast.ClassDef) and last - first >= _LONG // 3 and len(path) < 6:
        yield from _body(node.body, path, within, lines)
    else:
        yield from _code(first, last, path, lines)


def _first_line(node: ast.stmt, lines: list[str], least: int) -> int:
    """Where a symbol begins: with its decorators, and the comment right above them."""
    decorators: list[int] = [each.lineno for each in getattr(node, "decorator_list", [])]
    first = min([node.lineno, *decorators])
    while first > least and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return first


def _code(
    first: int, last: int, path: tuple[str, ...], lines: list[str], language: str = "python"
) -> Iterator[Block]:
    """The lines from `first` to `last`, in parts that end at blank lines where they are long."""
    start = first
    while start <= last:
        while start <= last and not lines[start - 1].strip():
            start += 1
        stop = _stop(start, last, lines)
        if start <= last:
            body = "\n".join(lines[start - 1 : stop]).rstrip()
            longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
            fence = "`" * max(3, longest + 1)
            yield Block(f"{fence}{language}\n{body}\n{fence}", path, start, code=True)
        start = stop + 1


def _stop(start: int, last: int, lines: list[str]) -> int:
    """Where a part ends: the last line, or the blank one that divides it best."""
    if last - start < _LONG:
        return last
    window = range(start + _LONG // 3, start + _LONG)
    blank = [n for n in window if not lines[n - 1].strip()]
    if not blank:
        return start + _LONG - 1
    return min(blank, key=lambda n: (_next_indentation(lines, n, last), -n))


def _next_indentation(lines: list[str], number: int, last: int) -> int:
    following = (line for line in lines[number:last] if line.strip())
    return indentation(next(following, "").expandtabs(4))


def _of_other(lines: list[str], language: str) -> Iterator[Block]:
    """Stretches between blank lines that are followed by a line without indentation."""
    path: tuple[str, ...] = ()
    start = 1
    for number in range(1, len(lines) + 1):
        follows = lines[number] if number < len(lines) else ""
        is_end = number == len(lines)
        ends = not lines[number - 1].strip() and follows[:1].strip() not in ("", "}", ")")
        if not (is_end or (ends and any(map(str.strip, lines[start - 1 : number])))):
            continue
        path = _named(lines[start - 1 : number])
        if path:
            yield Block("", path, start)
        yield from _code(start, number, path, lines, language)
        start = number + 1


def _named(lines: list[str]) -> tuple[str, ...]:
    """The name of the first symbol in a stretch of code; none where it has none."""
    for line in lines[:40]:
        match = _SYMBOL.match(line) if len(line) < 500 else None
        if match:
            return (match[1],)
    return ()
