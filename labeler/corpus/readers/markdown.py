"""Markdown: headings, paragraphs, lists, tables and code, without comments and front matter."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labeler.corpus.chunk import Block
from labeler.corpus.readers.markdown_inline import heading_text, label, plain
from labeler.corpus.readers.markdown_lines import (
    FENCE,
    fence_after,
    without_comments,
    without_front_matter,
)
from labeler.corpus.readers.outline import (
    DEEPEST,
    Lines,
    Outline,
    dedented,
    indentation,
    indented_block,
    inside_item,
    lines_of,
)

_ATX = re.compile(r" {0,3}(#{1,6})(?:\s+(.*?))??(?:\s+#+)?\s*")
_SETEXT = re.compile(r" {0,3}(=+|-+) *")
_BREAK = re.compile(r" {0,3}([-*_])(?: *\1){2,} *")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( *)([-+*]|\d{1,9}[.)])(?: +(?=\S)| *$)")
_TABLE_RULE = re.compile(r" {0,3}\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?\|? *")
_DEFINITION = re.compile(r" {0,3}\[(?!\^)([^\]]+)\]: *\S.*")
_ADMONITION = re.compile(r" {0,3}(?:!!!|\?\?\?\+?|===\+?) +(.*)")
_ALERT = re.compile(r"\[!(\w+)\] *")
_UNSHOWN = re.compile(r" {0,3}<(script|style)\b", re.IGNORECASE)
_PREFORMATTED = re.compile(r" {0,3}<pre\b[^>]*>", re.IGNORECASE)
_HARD_BREAK = re.compile(r"(?: {2,}|\\)$")


_BLANKS = re.compile(r"[ \t\r]+")


@dataclass(frozen=True)
class _Reader:
    """What holds for the whole document: the labels of its link references."""

    labels: frozenset[str]

    def words(self, text: str) -> str:
        """The words of a paragraph; white space of other kinds than blanks and tabs stays."""
        lines = plain(text, self.labels).split("\n")
        return "\n".join(_BLANKS.sub(" ", line).strip(" ") for line in lines)


def read_markdown(text: str) -> tuple[str, list[Block]]:
    """The title in a document's front matter ("" without one) and its blocks."""
    title, lines = without_front_matter(lines_of(text))
    lines = without_comments(lines)
    found = (_DEFINITION.fullmatch(line) for _, line in lines)
    reader = _Reader(frozenset(label(match[1]) for match in found if match))
    outline = Outline()
    _read(reader, lines, outline, 0)
    return title, outline.blocks


def _read(reader: _Reader, lines: Lines, outline: Outline, depth: int) -> None:
    """Read lines into the outline, one block after the other."""
    position = 0
    while position < len(lines):
        if not lines[position][1].strip():
            position += 1
            continue
        for take in (_take_mark, _take_code, _take_nested, _take_table):
            after = take(reader, lines, position, outline, depth)
            if after > position:
                break
        else:
            after = _take_paragraph(reader, lines, position, outline)
        position = after


def _take_mark(reader: _Reader, lines: Lines, start: int, outline: Outline, _depth: int) -> int:
    """A heading, a rule or a link's definition; where what follows it begins, `start` if none."""
    number, line = lines[start]
    heading = _ATX.fullmatch(line)
    if heading:
        text = heading_text(heading[2] or "", reader.labels)
        outline.heading(len(heading[1]), text, number)
        return start + 1
    if _BREAK.fullmatch(line) or _DEFINITION.fullmatch(line):
        return start + 1
    return start


def _take_code(_reader: _Reader, lines: Lines, start: int, outline: Outline, _depth: int) -> int:
    """A fenced, indented or preformatted block; scripts and styles are passed over."""
    line = lines[start][1]
    fence = FENCE.fullmatch(line)
    if fence:
        end = start + 1
        while end < len(lines) and fence_after(lines[end][1], fence[1]):
            end += 1
        outline.code(_unindented(lines[start + 1 : end], indentation(line)), fence[2])
        return end + 1
    if indentation(line) >= 4:
        end = indented_block(lines, start, 4)
        outline.code(dedented(lines[start:end]))
        return end
    for opening in (_UNSHOWN, _PREFORMATTED):
        if opening.match(line):
            end = _end_of_element(lines, start, "pre" if opening is _PREFORMATTED else "")
            if end > start and opening is _PREFORMATTED:
                outline.code(_without_pre(lines[start:end]))
            return end
    return start


def _unindented(lines: Lines, spaces: int) -> Lines:
    return [(n, line[min(spaces, indentation(line)) :]) for n, line in lines]


def _end_of_element(lines: Lines, start: int, name: str) -> int:
    """The line after the one that closes the element; `start` where none does."""
    opening = _UNSHOWN.match(lines[start][1])
    closing = f"</{name or (opening[1].casefold() if opening else '')}>"
    for position in range(start, len(lines)):
        if closing in lines[position][1].casefold():
            return position + 1
    return start


def _without_pre(lines: Lines) -> Lines:
    tag = re.compile(r"</?(?:pre|code)\b[^>]*>", re.IGNORECASE)
    return [(number, tag.sub("", line)) for number, line in lines]


def _take_nested(reader: _Reader, lines: Lines, start: int, outline: Outline, depth: int) -> int:
    """A quotation, a list's item or an admonition, whose inside is read like a document."""
    if depth >= DEEPEST:
        return start
    line = lines[start][1]
    if _QUOTE.match(line):
        end = start
        while end < len(lines) and (_QUOTE.match(lines[end][1]) or _goes_on(lines, end)):
            end += 1
        inner = [(n, _ALERT.sub("", _QUOTE.sub("", text, count=1))) for n, text in lines[start:end]]
        _read(reader, inner, outline.nested(), depth + 1)
        return end
    admonition = _ADMONITION.fullmatch(line)
    if admonition:
        end = indented_block(lines, start + 1, 4)
        outline.prose(reader.words(admonition[1].replace('"', "")), lines[start][0], leads=True)
        _read(reader, dedented(lines[start + 1 : end]), outline.nested(), depth + 1)
        return end
    return _take_item(reader, lines, start, outline, depth)


def _goes_on(lines: Lines, position: int) -> bool:
    """Whether a line without a mark goes on with the paragraph of the line before it."""
    line, before = lines[position][1], lines[position - 1][1]
    return bool(before.strip() and line.strip()) and not _begins_block(lines, position)


def _begins_block(lines: Lines, position: int) -> bool:
    line = lines[position][1]
    item = _ITEM.match(line)
    return bool(
        _ATX.fullmatch(line)
        or FENCE.fullmatch(line)
        or _BREAK.fullmatch(line)
        or _QUOTE.match(line)
        or (item and indentation(line) < 4 and (item[2][:-1] in ("", "1")))
        or _begins_table(lines, position)
    )


def _take_item(reader: _Reader, lines: Lines, start: int, outline: Outline, depth: int) -> int:
    number, line = lines[start]
    item = _ITEM.match(line)
    if not item or _BREAK.fullmatch(line):
        return start
    inside = item.end() if line[item.end() :] else len(item[1]) + len(item[2]) + 1
    end = _end_of_item(lines, start, inside)
    first = (number, line[item.end() :])
    inner = [first, *_unindented(lines[start + 1 : end], inside)]
    nested = Outline([], outline.path)
    _read(reader, inner, nested, depth + 1)
    before = lines[start - 1][1] if start else ""
    _add_item(nested.blocks, item[2], outline, tight=bool(before.strip()), depth=depth)
    return end


def _end_of_item(lines: Lines, start: int, inside: int) -> int:
    """Where the item ends that begins at `start` and whose text is indented by `inside`."""
    end = start + 1
    while end < len(lines):
        after = end
        while after < len(lines) and not lines[after][1].strip():
            after += 1
        if after == len(lines):
            break
        line = lines[after][1]
        lazy = after == end and not _ITEM.match(line) and _goes_on(lines, after)
        if indentation(line) < inside and not lazy:
            break
        end = after + 1
    return end


def _add_item(
    blocks: list[Block], marker: str, outline: Outline, *, tight: bool, depth: int
) -> None:
    """Add an item's blocks, the marker before the first."""
    texts = [block for block in blocks if block.text]
    if not texts or texts[0].code:
        outline.prose(marker, blocks[0].line if blocks else 1, tight=tight, leads=True)
    for position, block in enumerate(blocks):
        if texts and block is texts[0] and not block.code:
            text = f"{marker} {block.text}"
            outline.prose(text, block.line, tight=tight and position == 0, leads=block.leads)
        else:
            outline.blocks.append(inside_item(block))


def _begins_table(lines: Lines, position: int) -> bool:
    return (
        "|" in lines[position][1]
        and position + 1 < len(lines)
        and _TABLE_RULE.fullmatch(lines[position + 1][1]) is not None
    )


def _take_table(reader: _Reader, lines: Lines, start: int, outline: Outline, _depth: int) -> int:
    """A table, a block a row, so that a long one can be cut between them."""
    if not _begins_table(lines, start):
        return start
    outline.prose(reader.words(lines[start][1]), lines[start][0], leads=True)
    end = start + 2
    while end < len(lines) and "|" in lines[end][1]:
        outline.prose(reader.words(lines[end][1]), lines[end][0], tight=True)
        end += 1
    return end


def _take_paragraph(reader: _Reader, lines: Lines, start: int, outline: Outline) -> int:
    """A paragraph, or the heading that a line of `=` or `-` makes of it."""
    end = start + 1
    while end < len(lines) and lines[end][1].strip() and not _begins_block(lines, end):
        if _SETEXT.fullmatch(lines[end][1]):
            break
        end += 1
    text = "\n".join(_HARD_BREAK.sub("\0", line.lstrip()) for _, line in lines[start:end])
    number = lines[start][0]
    underline = _SETEXT.fullmatch(lines[end][1]) if end < len(lines) else None
    if underline:
        level = 1 if underline[1][0] == "=" else 2
        outline.heading(level, heading_text(text.replace("\0", " "), reader.labels), number)
        return end + 1
    joined = text.replace("\0\n", "\0").replace("\n", " ").replace("\0", "\n")
    outline.prose(reader.words(joined), number)
    return end
