"""Text that is safe to show: control characters written out, and widths as a terminal counts them.

Texts come from documents and models. A control character, with which a passage could drive the
terminal, is shown as `\\x1b` rather than sent.
"""

from __future__ import annotations

import re
import unicodedata

_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def printable(text: str) -> str:
    """`text` with its control and format characters written out, line breaks and tabs kept."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\n\t" or not drives_terminals(c) else _spelled(c) for c in text)


def drives_terminals(character: str) -> bool:
    """Whether a character is no letter to be seen, but a control or format character."""
    return unicodedata.category(character) in _UNSAFE


def _spelled(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


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
