"""reStructuredText, with Sphinx' directives: headings, paragraphs, lists, tables and code.

Read by its layout alone: nothing is run, included or imported. What a directive unknown here holds
is read as text, so that nothing is lost by it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from string import punctuation

from labeler.corpus.blocks import Block
from labeler.corpus.readers.outline import (
    CODE,
    DEEPEST,
    UNSHOWN,
    WRAPPER,
    Lines,
    Outline,
    dedented,
    describes_code,
    indentation,
    indented_block,
    inside_item,
    line_at,
    lines_of,
    quoted,
    role_text,
    trimmed,
)

# reStructuredText within a paragraph: its words without roles, references and emphasis.

_LITERAL = re.compile(r"(?<![`\w])``(?=\S)(.{1,2000}?)(?<=\S)``(?!`)", re.DOTALL)
_ROLE = re.compile(r":([\w.+-]{1,60}(?::[\w.+-]{1,60})?):`([^`]{1,1000})`")
_ROLE_AFTER = re.compile(r"(?<![`\w])`([^`]{1,1000})`:([\w.+-]{1,60}):(?!`)")
_EMBEDDED = re.compile(r"(?<![`\w])`([^`<>]{0,1000}?)\s{0,100}<([^`<>]{1,1000})>`__?")
_REFERENCE = re.compile(r"(?<![`\w])`([^`]{1,1000})`__?")
_FOOTNOTE = re.compile(r"(\[(?:[1-9]\d*|[#*]|#?[A-Za-z][\w.-]*)\])_(?!\w)")
_INTERPRETED = re.compile(r"(?<![`\w])`([^`]{1,1000})`(?![`\w])")
_NAMED = re.compile(r"(?<![\w.:+-])([^\W_]{1,60}(?:[-._+:][^\W_]{1,60}){0,20})__?(?![\w`])")
_STRONG = re.compile(r"(?<![\w*])\*\*(?=\S)(.{1,500}?)(?<=\S)\*\*(?!\w)", re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]{1,500}?)(?<=\S)\*(?![\w*])")
_ESCAPE = re.compile(r"\\(?:\s|(.))")
_PROTECTED = re.compile(r"\0(\d+)\0")


def plain(text: str) -> str:
    """Return the words of a paragraph; literals and names of code stay between backticks."""
    protected: list[str] = []

    def protect(shown: str) -> str:
        protected.append(shown)
        return f"\0{len(protected) - 1}\0"

    text = text.replace("\0", "\ufffd")  # as Markdown's readers do; the mark is ours here
    text = _LITERAL.sub(lambda match: protect(quoted(match[1])), text)
    text = _ROLE.sub(lambda match: protect(_role(match[1], match[2])), text)
    text = _ROLE_AFTER.sub(lambda match: protect(_role(match[2], match[1])), text)
    text = _ESCAPE.sub(lambda match: protect(match[1]) if match[1] else "", text)
    text = _EMBEDDED.sub(lambda match: protect(match[1] or match[2]), text)
    text = _REFERENCE.sub(lambda match: protect(match[1]), text)
    text = _INTERPRETED.sub(lambda match: protect(quoted(match[1])), text)
    text = _FOOTNOTE.sub(r"\1", text)
    text = _NAMED.sub(r"\1", text)
    text = _STRONG.sub(r"\1", text)
    text = _EMPHASIS.sub(r"\1", text)
    while _PROTECTED.search(text):
        text = _PROTECTED.sub(lambda match: protected[int(match[1])], text)
    return text


def one_line(text: str) -> str:
    """Return the words of a paragraph on one line; white space of other kinds than blanks stays."""
    return _BLANKS.sub(" ", plain(text)).strip(" ")


_BLANKS = re.compile(r"[ \t\r\n]+")


def _role(name: str, text: str) -> str:
    return role_text(name, _unescaped(text))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: match[1] or "", text)


# reStructuredText's tables, line blocks and doctests, and the texts that stand for names.

_LINE_BLOCK = re.compile(r"\| ?(.*)")
GRID_RULE = re.compile(r"\+(?:[-=]+\+)+ *")
_HEAD_RULE = re.compile(r"\|(?:=+\|)+ *")
_SIMPLE_RULE = re.compile(r"=+(?: +=+)+ *")
_INNER_RULE = re.compile(r"[-=]+(?: +[-=]+)* *")
_RULES = (GRID_RULE, _HEAD_RULE, _INNER_RULE)
_SUBSTITUTION = re.compile(r"\.\. +\|([^|\s](?:[^|]*[^|\s])?)\| +replace:: *(.*)")
_SUBSTITUTED = re.compile(r"\|([^|\n]{1,100})\|(?:__?(?!\w))?")
_LONGEST_TEXT = 100
"""Longer texts are not put in the place of names: a few lines may name one a thousand times."""

EXPLICIT = re.compile(r"(?:\.\.|__)(?: +.*)?")
RULE = re.compile(r"([!-/:-@\[-`{-~])\1+ *")


def substituted(lines: Lines) -> Lines:
    """The lines with every `|name|` that the document defines as a short text replaced by it."""
    texts: dict[str, str] = {}
    for position, (_, line) in enumerate(lines):
        definition = _SUBSTITUTION.fullmatch(line)
        if definition:
            end = indented_block(lines, position + 1, 1)
            more = (text.strip() for _, text in lines[position + 1 : end])
            texts[definition[1]] = " ".join(filter(None, (definition[2].strip(), *more)))

    def replaced(match: re.Match[str]) -> str:
        text = texts.get(match[1], "")
        return text if text and len(text) <= _LONGEST_TEXT else match[0]

    if not texts:
        return lines
    return [(n, s if s.startswith("..") else _SUBSTITUTED.sub(replaced, s)) for n, s in lines]


def _take_rows(_reader: _Reader, lines: Lines, start: int, outline: Outline, _depth: int) -> int:
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


_UNDERLINE = re.compile(r"(?!(?:::|\.\.) *$)([!-/:-@\[-`{-~])\1* *")
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]+\| +)?([\w+.-]+(?::[\w+.-]+)*) ?:: *(.*)")
_FOOTNOTE_TARGET = re.compile(r"\.\. +\[([^\]]+)\] *(.*)")
_OPTION = re.compile(r" *:([\w-]+(?: [\w-]+)*):(?: +(.*)| *$)")
_FIELD = re.compile(r":((?:[^:\\`]|\\.)+):(?: +|$)(.*)")
_FILE_OPTION = re.compile(r"orphan|nosearch|nocomments|tocdepth")
_ITEM = re.compile(
    r"((?:[-*+•]|(?:\d{1,9}|#|[A-Za-z]|[ivxlcdm]{1,8})[.)]|\((?:\d{1,9}|#|[A-Za-z])\))(?: +|$))(.*)"
)


@dataclass
class _Reader:
    """What holds for the whole document: the styles of its headings, in the order of levels."""

    styles: list[str] = field(default_factory=list)

    def level(self, style: str) -> int:
        if style not in self.styles:
            self.styles.append(style)
        return self.styles.index(style)


def read_rst(text: str) -> tuple[str, list[Block]]:
    """An empty title, since the first heading is one, and the document's blocks."""
    outline = Outline()
    _read(_Reader(), substituted(lines_of(text)), outline, 0)
    return "", outline.blocks


def _read(reader: _Reader, lines: Lines, outline: Outline, depth: int) -> None:
    """Read lines into the outline, one block after the other."""
    position = 0
    while position < len(lines):
        if not lines[position][1].strip():
            position += 1
            continue
        for take in (_take_heading, _take_explicit, _take_rows, _take_nested):
            after = take(reader, lines, position, outline, depth)
            if after > position:
                break
        else:
            after = _take_paragraph(reader, lines, position, outline, depth)
        position = after


def _take_heading(reader: _Reader, lines: Lines, start: int, outline: Outline, _depth: int) -> int:
    """A title with a rule below it, or one above and below; a rule alone is a transition."""
    first, second, third = (line_at(lines, start + i) for i in range(3))
    number = lines[start][0]
    if RULE.fullmatch(first):
        framed = second.strip() and third[:1] == first[:1] and RULE.fullmatch(third)
        if framed and len(third) >= min(4, len(second.strip())):
            outline.heading(reader.level(first[0] * 2), one_line(second), number)
            return start + 3
        return start + 1 if len(first) >= 4 and not second else start
    underlined = _UNDERLINE.fullmatch(second) and len(second) >= min(4, len(first))
    if underlined and indentation(first) == 0 and not GRID_RULE.fullmatch(first):
        outline.heading(reader.level(second[0]), one_line(first), number)
        return start + 2
    return start


def _take_explicit(reader: _Reader, lines: Lines, start: int, outline: Outline, depth: int) -> int:
    """A directive or a footnote; comments, targets and substitutions are passed over."""
    number, line = lines[start]
    if not EXPLICIT.fullmatch(line):
        return start
    end = indented_block(lines, start + 1, 1)
    if line.startswith((".. _", "__ ")):  # a target ends at a blank line, other than a comment
        return next((n for n in range(start + 1, end) if not line_at(lines, n)), end)
    directive, footnote = _DIRECTIVE.fullmatch(line), _FOOTNOTE_TARGET.fullmatch(line)
    if directive and depth < DEEPEST:
        body = lines[start + 1 : end]
        _add_directive(reader, directive[1], (number, directive[2]), body, outline, depth)
    elif footnote:
        rest = " ".join(text for _, text in lines[start + 1 : end])
        outline.prose(one_line(f"[{footnote[1]}] {footnote[2]} {rest}"), number)
    return end


def _add_directive(  # noqa: PLR0913, PLR0917 - a directive's parts, and where it stands
    reader: _Reader,
    name: str,
    first: tuple[int, str],
    body: Lines,
    outline: Outline,
    depth: int,
) -> None:
    argument, options, content = _parts_of(first[1], body)
    if UNSHOWN.fullmatch(name):
        return
    if CODE.fullmatch(name):
        _add_caption(options, first[0], outline)
        outline.code(dedented(content), argument if name.endswith(("code", "block")) else "")
        return
    inner = outline.nested()
    if name in ("figure", "image"):
        outline.prose(one_line(options.get("alt", "")), first[0])
    elif argument and trimmed(content) and describes_code(name):
        inner.heading(0, " ".join(argument.split()), first[0])
    elif argument and not WRAPPER.fullmatch(name):
        outline.prose(_term(name, argument), first[0], leads=bool(trimmed(content)))
    _add_caption(options, first[0], outline)
    _read(reader, dedented(content), inner, depth + 1)


def _add_caption(options: dict[str, str], line: int, outline: Outline) -> None:
    caption = options.get("caption", "")
    if caption:
        outline.prose(one_line(caption), line, leads=True)


def _term(name: str, argument: str) -> str:
    """What a directive's argument says: names of code as code, anything else as text."""
    if name.startswith("version") or name == "deprecated":
        words = {"versionadded": "Added in", "versionchanged": "Changed in"}
        return f"{words.get(name, 'Deprecated since')} version {one_line(argument)}"
    return f"`{' '.join(argument.split())}`" if describes_code(name) else one_line(argument)


def _parts_of(argument: str, body: Lines) -> tuple[str, dict[str, str], Lines]:
    """A directive's argument (its further lines with it), its options and its content."""
    options: dict[str, str] = {}
    position = 0
    while position < len(body) and body[position][1].strip():
        option = _OPTION.fullmatch(body[position][1])
        if option:
            options[option[1]] = option[2] or ""
        elif argument and not options:
            argument += "\n" + body[position][1].strip()
        else:
            break
        position += 1
    return argument, options, body[position:]


def _take_nested(reader: _Reader, lines: Lines, start: int, outline: Outline, depth: int) -> int:
    """A quotation, a list's item or a field: its inside is read like a document."""
    if depth >= DEEPEST:
        return start
    number, line = lines[start]
    if indentation(line):
        end = indented_block(lines, start, 1)
        _read(reader, dedented(lines[start:end]), outline.nested(), depth + 1)
        return end
    item = _ITEM.fullmatch(line)
    if item and _is_item(lines, start, len(item[1])):
        end = indented_block(lines, start + 1, 1)
        inner = [(number, item[2]), *_unindented(lines[start + 1 : end])]
        nested = Outline([], outline.path)
        _read(reader, inner, nested, depth + 1)
        tight = start > 0 and bool(line_at(lines, start - 1))
        _add_marked(nested.blocks, item[1].strip(), outline, tight=tight)
        return end
    field_mark = _FIELD.fullmatch(line)
    if not field_mark:
        return start
    end = indented_block(lines, start + 1, 1)
    if _FILE_OPTION.fullmatch(field_mark[1]):
        return end
    inner = [(number, field_mark[2]), *_unindented(lines[start + 1 : end])]
    nested = Outline([], outline.path)
    _read(reader, inner, nested, depth + 1)
    _add_marked(nested.blocks, f"{one_line(field_mark[1])}:", outline, tight=start > 0)
    return end


def _unindented(lines: Lines) -> Lines:
    """The lines that follow a list's marker, without their common indentation."""
    shared = min((indentation(line) for _, line in lines if line.strip()), default=0)
    return [(number, line[shared:]) for number, line in lines]


def _is_item(lines: Lines, start: int, inside: int) -> bool:
    """Whether the line after an item's first fits an item: blank, indented as its text, or one.

    A paragraph may begin with "A. Smith" or "- "; its second line is not indented then.
    """
    following = line_at(lines, start + 1)
    return (
        not following
        or indentation(following) >= min(2, inside)
        or _ITEM.fullmatch(following) is not None
    )


def _add_marked(blocks: list[Block], marker: str, outline: Outline, *, tight: bool) -> None:
    """Add an item's blocks, the marker before the first."""
    texts = [block for block in blocks if block.text]
    if not texts or texts[0].code:
        outline.prose(marker, blocks[0].line if blocks else 1, tight=tight, leads=bool(texts))
    for block in blocks:
        if texts and block is texts[0] and not block.code:
            outline.prose(f"{marker} {block.text}", block.line, tight=tight, leads=block.leads)
        else:
            outline.blocks.append(inside_item(block))


def _take_paragraph(reader: _Reader, lines: Lines, start: int, outline: Outline, depth: int) -> int:
    """A paragraph with the literal block that `::` announces, or a term with its definition."""
    number = lines[start][0]
    margin = indentation(lines[start][1])
    end = start + 1
    while line_at(lines, end) and indentation(lines[end][1]) == margin:
        end += 1
    text = " ".join(line.strip() for _, line in lines[start:end])
    body_end = indented_block(lines, end, margin + 1)
    if text.endswith("::"):
        shown = text.removesuffix("::") if text in ("::",) or text.endswith(" ::") else text[:-1]
        body = lines[end:body_end]
        outline.prose(one_line(shown), number, leads=bool(trimmed(body)))
        if trimmed(body):
            outline.code(dedented(body))
            return body_end
        return _quoted_literal(lines, end, outline)
    defines = bool(line_at(lines, end)) and body_end > end and depth < DEEPEST
    outline.prose(one_line(text), number, leads=defines)
    if defines:
        _read(reader, dedented(lines[end:body_end]), outline.nested(), depth + 1)
        return body_end
    return end


def _quoted_literal(lines: Lines, start: int, outline: Outline) -> int:
    """A literal block that is not indented: each line begins with the same mark."""
    begin = next((n for n in range(start, len(lines)) if lines[n][1].strip()), start)
    mark, end = line_at(lines, begin)[:1], begin
    while mark and mark in punctuation.replace(".", "") and line_at(lines, end)[:1] == mark:
        end += 1
    outline.code(lines[begin:end])
    return end if end > begin else start
