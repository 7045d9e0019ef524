"""reStructuredText's tables, line blocks and doctests, and the texts that stand for names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from labeler.corpus.readers.outline import Lines, Outline, indented_block, line_at
from labeler.corpus.readers.rst_inline import one_line, plain

_LINE_BLOCK = re.compile(r"\| ?(.*)")
GRID_RULE = re.compile(r"\+(?:[-=]+\+)+ *")
_HEAD_RULE = re.compile(r"\|(?:=+\|)+ *")
_SIMPLE_RULE = re.compile(r"=+(?: +=+)+ *")
_INNER_RULE = re.compile(r"[-=]+(?: +[-=]+)* *")
_RULES = (GRID_RULE, _HEAD_RULE, _INNER_RULE)
_SUBSTITUTION = re.compile(r"\.\. +\|([^|\s](?:[^|]*[^|\s])?)\| +replace:: *(.*)")
_AFTER_NAME = re.compile(r"\A__?(?!\w)")
EXPLICIT = re.compile(r"(?:\.\.|__)(?: +.*)?")
RULE = re.compile(r"([!-/:-@\[-`{-~])\1+ *")


def substituted(lines: Lines) -> Lines:
    """The lines with every `|name|` that the document defines as a text replaced by it."""
    texts: dict[str, str] = {}
    for position, (_, line) in enumerate(lines):
        definition = _SUBSTITUTION.fullmatch(line)
        if definition:
            end = indented_block(lines, position + 1, 1)
            more = (text.strip() for _, text in lines[position + 1 : end])
            texts[definition[1]] = " ".join(filter(None, (definition[2].strip(), *more)))
    if not texts:
        return lines
    room = sum(len(line) for _, line in lines)  # what the texts may add; a few may be very long
    shown: Lines = []
    for number, line in lines:
        words = line if line.startswith("..") else _with_texts(line, texts, len(line) + room)
        room -= max(0, len(words) - len(line))
        shown.append((number, words))
    return shown


def _with_texts(line: str, texts: Mapping[str, str], most: int) -> str:
    """A line with the texts for its `|name|`s, as long as it has at most so many characters."""
    parts = line.split("|")
    shown, size, position = [parts[0]], len(line), 1
    while position < len(parts):
        text = texts.get(parts[position]) if position + 1 < len(parts) else None
        if text is None or size + len(text) > most:
            shown += ["|", parts[position]]
            position += 1
        else:
            shown += [text, _AFTER_NAME.sub("", parts[position + 1], count=1)]
            size += len(text)
            position += 2
    return "".join(shown)


def take_rows(lines: Lines, start: int, outline: Outline) -> int:
    """A table, a line block or a doctest session."""
    line = lines[start][1].rstrip()
    if GRID_RULE.fullmatch(line) or _SIMPLE_RULE.fullmatch(line):
        return _take_table(lines, start, outline)
    if line.startswith(">>> "):
        end = start
        while line_at(lines, end):
            end += 1
        outline.code(lines[start:end], "python")
        return end
    if not _LINE_BLOCK.fullmatch(line):
        return start
    end = start
    while end < len(lines) and (match := _LINE_BLOCK.fullmatch(lines[end][1])):
        outline.prose(one_line(match[1]), lines[end][0], tight=end > start)
        end += 1
    return end


def _take_table(lines: Lines, start: int, outline: Outline) -> int:
    """A grid or a simple table, a block a line, so that a long one can be cut between them."""
    grid = GRID_RULE.fullmatch(lines[start][1].rstrip()) is not None
    end, rules, first = start, 0, True
    while end < len(lines):
        text = line_at(lines, end)
        if grid and not text.startswith(("+", "|")):
            break
        if not text and (rules >= 3 or not _more_of_simple_table(lines, end)):
            break
        if not grid and _SIMPLE_RULE.fullmatch(text):
            rules += 1
        elif text and not any(rule.fullmatch(text) for rule in _RULES):
            row = plain(text.strip("|") if grid else text)
            outline.prose(re.sub(r" {2,}", "  ", row.strip()), lines[end][0], tight=not first)
            first = False
        end += 1
    return end


def _more_of_simple_table(lines: Lines, position: int) -> bool:
    """Whether a blank line stands within a simple table: rows and a rule still follow."""
    for _, text in lines[position + 1 : position + 200]:
        if _SIMPLE_RULE.fullmatch(text):
            return True
        if EXPLICIT.fullmatch(text) or RULE.fullmatch(text):
            return False
    return False
