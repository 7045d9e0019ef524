"""Markdown's lines before they are read: front matter and comments taken out, code left alone."""

from __future__ import annotations

import re

from labeler.corpus.readers.outline import Lines

FENCE = re.compile(r" *(`{3,}(?=[^`]*$)|~{3,})\s*(.*)")
_TITLE = re.compile(r"title\s*[:=]\s*(.+?)\s*")


def without_front_matter(lines: Lines) -> tuple[str, Lines]:
    """The title given in YAML between `---` or TOML between `+++`, and the lines after it."""
    fence = lines[0][1].rstrip()
    if fence not in ("---", "+++"):
        return "", lines
    ends = {fence, "..."} if fence == "---" else {fence}
    for position, (_, line) in enumerate(lines[1:], start=1):
        if line.rstrip() in ends:
            inside = (_TITLE.fullmatch(entry) for _, entry in lines[1:position])
            titles = [match[1].strip("\"'") for match in inside if match]
            return (titles or [""])[0], lines[position + 1 :]
    return "", lines


def without_comments(lines: Lines) -> Lines:
    """The lines with HTML comments taken out, except those in code; one without an end stays."""
    kept: Lines = []
    fence = ""
    inside = False
    last = max((i for i, (_, line) in enumerate(lines) if "-->" in line), default=-1)
    for position, (number, line) in enumerate(lines):
        if not inside:
            fence = fence_after(line, fence)
        if fence:
            kept.append((number, line))
            continue
        shown, inside = _outside_comments(line, inside, position < last)
        kept.append((number, shown))
    return kept


def fence_after(line: str, fence: str) -> str:
    """The fence that is open after a line, quotes disregarded; "" for none."""
    found = FENCE.fullmatch(re.sub(r"^(?: {0,3}> ?)+", "", line))
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence) and not found[2]
    return "" if closes else fence


def _outside_comments(line: str, inside: bool, ends_later: bool) -> tuple[str, bool]:
    shown, position = "", 0
    while True:
        if inside:
            end = line.find("-->", position)
            if end < 0:
                return shown, True
            position, inside = end + 3, False
        start = line.find("<!--", position)
        in_code = start >= 0 and line.count("`", 0, start) % 2 == 1
        opens = start >= 0 and not in_code and (ends_later or line.find("-->", start) >= 0)
        if not opens:
            return shown + line[position:], False
        shown += line[position:start]
        position, inside = start + 4, True
