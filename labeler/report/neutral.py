"""Texts of others, made inert for each kind of output: one function a kind, applied by renderers.

Texts come from documents, models, servers and names of files. Whatever a reader of the output would
run, follow or be driven by is written out or marked; JSON, which can say anything, stays exact.
On a terminal a control character, with which a passage could drive it, is shown as `\\x1b`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence

_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def printable(text: str) -> str:
    """`text` with its control and format characters written out, line breaks and tabs kept."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape", "surrogatepass").decode("ascii")
        if drives_terminals(c) and c not in "\n\t"
        else c
        for c in text
    )


def drives_terminals(character: str) -> bool:
    """Whether a character is no letter to be seen, but a control or format character."""
    return unicodedata.category(character) in _UNSAFE


def flat(text: str) -> str:
    """`text` on one line, printable; a line break or tab becomes a space."""
    return re.sub(r"(?<!\s)\s*[\n\t]\s*", " ", printable(text)).strip()


def one_line(text: str, width: int) -> str:
    """`text` with single spaces in at most `width` terminal columns, cut with an ellipsis."""
    return cut(" ".join(printable(text).split()), width)


def cut(text: str, width: int) -> str:
    """`text` within `width` terminal columns; what is longer ends with an ellipsis."""
    if width_of(text) <= width:
        return text
    used = 0
    for end, character in enumerate(text):
        used += width_of(character)
        if used > width - 1:
            return text[:end] + "…"
    return text


def width_of(text: str) -> int:
    """Terminal columns: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


_FORMULA = re.compile(
    r"""(?:^|(?<=[;\t\n]))                 # where a cell begins, also where ; and tabs part cells
        (?=[\ \xa0\u3000\u200b-\u200f\u2060\ufeff]*[=+\-@\t\uff1d\uff0b\uff0d\uff20])
        (?!(?<=\n)[+\-]\ [^\n;\t|!(]*(?:\n|$))  # but a list's item, which can call nothing""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DRIVING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, line and direction overrides: what acts, less what spells words."""


def spreadsheet_cell(text: str) -> str:
    """A cell of a table for programs and spreadsheets, which run none of it as a formula.

    An apostrophe stands before `=`, `+`, `-` and `@`, full-width ones too, at the text's begin and
    where a spreadsheet that parts cells at `;` or tabs would begin a cell; a number is left alone.
    """
    return text if _NUMBER.fullmatch(text) else _FORMULA.sub("'", printable(text))


def spreadsheet_passage(text: str) -> str:
    """The same of a text that people read in a spreadsheet: what acts becomes a blank."""
    return _FORMULA.sub("'", _DRIVING.sub(" ", text))


_NOT_ASCII = re.compile(r"[^\x00-\x7e]")  # json itself escapes the control characters of ASCII


def json_text(value: object, indent: int | None = None) -> str:
    """A value as JSON that reads back exactly, with no control or format character in it."""
    return _NOT_ASCII.sub(
        lambda match: json.dumps(match[0])[1:-1] if drives_terminals(match[0]) else match[0],
        json.dumps(value, ensure_ascii=False, indent=indent),
    )


_MARKDOWN = re.compile(
    r"""[\\|*`<~]                      # code, emphasis, HTML, rows
        |(?<!\w)_|_(?!\w)              # an underscore within a word is none
        |\](?=[(\[:])                  # links, images, their definitions
        |&(?=\#?\w+;)                  # entities
        |\$(?![0-9])                   # formulas, of which a price is none
        |:(?=//)|(?<=\bwww)\.          # addresses, which become links by themselves
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEGINS_BLOCK = re.compile(r"^(?:(?=[#>+=-])|([0-9]{1,9})(?=[.)]))")


def markdown_text(text: str) -> str:
    """Text within a line of Markdown, with what would be markup, HTML or a link escaped."""
    return _MARKDOWN.sub(r"\\\g<0>", printable(text))


def markdown_prose(text: str) -> str:
    """Lines of Markdown of their own, which begin no heading, list or quotation either."""
    lines = (line.strip() for line in markdown_text(text).split("\n"))
    return "\n".join(_BEGINS_BLOCK.sub(r"\1\\", line) for line in lines)


COMMENT_LIMIT = 65_000
"""Characters; GitHub takes 65,536 in a comment, and a workflow may add a line of its own."""
_LEFT_OUT = "\n\n*More is left out, to fit a comment.*\n"
_CALLS = re.compile(r"(?<![a-zA-Z0-9_])@(?=[\w-])|#(?=[0-9])|\bGH-(?=[0-9])", re.ASCII)
"""What GitHub makes a mention, which writes to somebody, or a reference, which marks an issue."""


def github_comment(markdown: str, limit: int = COMMENT_LIMIT) -> str:
    """Markdown of at most `limit` characters that calls nobody.

    An empty character breaks mentions and references of issues. It is written out, since in a reply
    by mail GitHub looks for mentions in the text as it is.
    """
    quiet = _CALLS.sub(r"\g<0>&#8203;", markdown)
    if len(quiet) <= limit:
        return quiet
    return quiet[: limit - len(_LEFT_OUT)].rpartition("\n\n")[0] + _LEFT_OUT


_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def html_text(text: str) -> str:
    """Text of an HTML element or of an attribute in quotes."""
    return printable(text).translate(_HTML)


_SPELLS = re.compile("([\xad\u200c-\u200f])")
"""Format characters that words of some languages are written with, and that override nothing."""


def html_passage(text: str) -> str:
    """The same of a text that people read: its joiners and marks of direction stay as they are."""
    return "".join(p if _SPELLS.fullmatch(p) else html_text(p) for p in _SPELLS.split(text))


_LATEX = str.maketrans(
    {c: "\\" + c for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)


def latex_text(text: str) -> str:
    """Text of a LaTeX table; a bracket would be taken for an argument of the line end before it."""
    escaped = printable(text).translate(_LATEX)
    return f"{{}}{escaped}" if escaped.startswith("[") else escaped


def table_as_html(
    rows: Sequence[Sequence[str]],
    aligned: Sequence[str],
    title: str = "",
    note: str = "",
    *,
    styled: bool = True,
) -> str:
    """The table of rows, of which the first is the header, with every text escaped.

    Columns are aligned `left` or `right`. `styled` says that each cell is aligned by a style of its
    own; in a page, whose style may hold no others, cells have a class of that name instead, and the
    first of each row is its header.
    """
    sides = [f' style="text-align: {side}"' for side in aligned]
    if not styled:
        sides = ["" if side == "left" else f' class="{side}"' for side in aligned]
    heads = [f'th scope="col"{side}' for side in sides]
    cells = [f"td{side}" for side in sides]
    if not styled:
        cells[0] = f'th scope="row"{sides[0]}'
    head, *body = (_row(cells if i else heads, row) for i, row in enumerate(rows))
    caption = f"<caption>{html_text(title)}</caption>\n" if title else ""
    below = f"<p>{html_text(note)}</p>\n" if note else ""
    head, inner = f"<thead>\n{head}</thead>", f"<tbody>\n{''.join(body)}</tbody>"
    return f"<table>\n{caption}{head}\n{inner}\n</table>\n{below}"


def _row(starts: Sequence[str], cells: Sequence[str]) -> str:
    made = (
        f"<{start}>{html_text(cell)}</{start[:2]}>"
        for start, cell in zip(starts, cells, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>\n"
