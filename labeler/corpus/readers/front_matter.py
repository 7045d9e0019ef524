"""Take the front matter off a document; only its title is used."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

_TITLE = re.compile(r"title\s*:\s*(.+?)\s*")


def without_front_matter(text: str) -> tuple[str, int, str]:
    """Return the title in YAML or TOML, the first line after it, and the text from there."""
    lines = text.split("\n")
    fence = lines[0].rstrip()
    ends = {"---": ("---", "..."), "+++": ("+++",)}.get(fence, ())
    last = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ends), 0)
    if not last:
        return "", 1, text
    inside = [line.rstrip() for line in lines[1:last]]
    title = _toml_title("\n".join(inside)) if fence == "+++" else _yaml_title(inside)
    return title, last + 2, "\n".join(lines[last + 1 :])


def _toml_title(text: str) -> str:
    try:
        return str(tomllib.loads(text).get("title", ""))
    except (ValueError, RecursionError):  # no TOML, a number of thousands of digits, deep lists
        return ""


def _yaml_title(lines: Sequence[str]) -> str:
    """The title, in quotes or not, or folded over the indented lines below it."""
    for position, line in enumerate(lines):
        match = _TITLE.fullmatch(line)
        if match and match[1][0] in ">|":
            below = lines[position + 1 :]
            end = next((n for n, text in enumerate(below) if text[:1].strip()), len(below))
            return " ".join(" ".join(below[:end]).split())
        if match:
            return match[1].strip("\"'")
    return ""
