"""reStructuredText, with Sphinx' directives: headings, paragraphs, lists, tables and code.

Read by its layout alone: nothing is run, included or imported. What a directive unknown here holds
is read as text, so that nothing is lost by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from labeler.corpus.blocks import TitledBlocks
from labeler.corpus.losses import ADDRESSES, DIRECTIVES, SCRIPTS, drop, drop_directive
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
    line_at,
    lines_of,
    quoted,
    role_text,
    text_of,
    trimmed,
    unindented,
)
from labeler.messages import squeezed

# reStructuredText within a paragraph: its words without roles, references and emphasis.

_LITERAL = re.compile(r"(?s)(?<![`\w])``(?=\S)(.{1,2000}?)(?<=\S)``(?!`)")
_ROLE = re.compile(r":([\w.+-]{1,60}(?::[\w.+-]{1,60})?):`([^`]{1,1000})`")
_ROLE_AFTER = re.compile(r"(?<![`\w])`([^`]{1,1000})`:([\w.+-]{1,60}):(?!`)")
_EMBEDDED = re.compile(r"(?<![`\w])`([^`<>]{0,1000}?)\s{0,100}<([^`<>]{1,1000})>`__?")
_REFERENCE = re.compile(r"(?<![`\w])`([^`]{1,1000})`__?")
_FOOTNOTE = re.compile(r"(\[(?:[1-9]\d*|[#*]|#?[A-Za-z][\w.-]*)\])_(?!\w)")
_INTERPRETED = re.compile(r"(?<![`\w])`([^`]{1,1000})`(?![`\w])")
_NAMED = re.compile(r"(?<![\w.:+-])([^\W_]{1,60}(?:[-._+:][^\W_]{1,60}){0,20})__?(?![\w`])")
_STRONG = re.compile(r"(?s)(?<![\w*])\*\*(?=\S)(.{1,500}?)(?<=\S)\*\*(?!\w)")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]{1,500}?)(?<=\S)\*(?![\w*])")
_ESCAPE = re.compile(r"\\(?:\s|(.))")
_PROTECTED = re.compile(r"\0(\d+)\0")


_SHOWN: dict[re.Pattern[str], Callable[[re.Match[str]], str]] = {
    _LITERAL: lambda match: quoted(match[1]),
    _ROLE: lambda match: _role(match[1], match[2]),
    _ROLE_AFTER: lambda match: _role(match[2], match[1]),
    _ESCAPE: lambda match: match[1] or "",
    _EMBEDDED: lambda match: match[1] or match[2],
    _REFERENCE: lambda match: match[1],
    _INTERPRETED: lambda match: quoted(match[1]),
}
"""What marks show, in the order in which they are looked for; nothing in it is a mark any more."""


def plain(text: str) -> str:
    """Return the words of a paragraph; literals and names of code stay between backticks."""
    protected = []
    text = text.replace("\0", "\ufffd")  # as Markdown's readers do; the mark is ours here
    for pattern, shown_by in _SHOWN.items():

        def protect(match: re.Match[str], show: Callable[..., str] = shown_by) -> str:
            shown = show(match)
            protected.append(shown)
            return f"\0{len(protected) - 1}\0" if shown else ""

        text = pattern.sub(protect, text)
    for pattern in (_FOOTNOTE, _NAMED, _STRONG, _EMPHASIS):
        text = pattern.sub(r"\1", text)
    while _PROTECTED.search(text):
        text = _PROTECTED.sub(lambda match: protected[int(match[1])], text)
    return text


def one_line(text: str) -> str:
    """Return the words of a paragraph on one line; white space of other kinds than blanks stays."""
    return _BLANKS.sub(" ", plain(text)).strip(" ")


_BLANKS = re.compile(r"[ \t\r\n]+")


def _role(name: str, text: str) -> str:
    return role_text(name, _ESCAPE.sub(lambda match: match[1] or "", text))


# reStructuredText's tables, line blocks and doctests, and the texts that stand for names.

_LINE_BLOCK = re.compile(r"\| ?(.*)")
_GRID_RULE = re.compile(r"\+(?:[-=]+\+)+ *")
_HEAD_RULE = re.compile(r"\|(?:=+\|)+ *")
_SIMPLE_RULE = re.compile(r"=+(?: +=+)+ *")
_INNER_RULE = re.compile(r"[-=]+(?: +[-=]+)* *")
_RULES = (_GRID_RULE, _HEAD_RULE, _INNER_RULE)
_SUBSTITUTION = re.compile(r"\.\. +\|([^|\s](?:[^|]*[^|\s])?)\| +replace:: *(.*)")
_SUBSTITUTED = re.compile(r"\|([^|\n]{1,100})\|(?:__?(?!\w))?")
_LONGEST_TEXT = 100
"""Longer texts are not put in the place of names: a few lines may name one a thousand times."""

_EXPLICIT = re.compile(r"(?:\.\.|__)(?: +.*)?")
_RULE = re.compile(r"([!-/:-@\[-`{-~])\1+ *")


def _substituted(lines: Lines) -> Lines:
    """The lines with every `|name|` that the document defines as a short text replaced by it."""
    texts = {}
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


_UNDERLINE = re.compile(r"(?!(?:::|\.\.) *$)([!-/:-@\[-`{-~])\1* *")
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]+\| +)?([\w+.-]+(?::[\w+.-]+)*) ?:: *(.*)")
_FOOTNOTE_TARGET = re.compile(r"\.\. +\[([^\]]+)\] *(.*)")
_OPTION = re.compile(r" *:([\w-]+(?: [\w-]+)*):(?: +(.*)| *$)")
_FIELD = re.compile(r":((?:[^:\\`]|\\.)+):(?: +|$)(.*)")
_FILE_OPTION = re.compile(r"orphan|nosearch|nocomments|tocdepth")
_ITEM = re.compile(
    r"((?:[-*+•]|(?:\d{1,9}|#|[A-Za-z]|[ivxlcdm]{1,8})[.)]|\((?:\d{1,9}|#|[A-Za-z])\))(?: +|$))(.*)"
)


def read_rst(text: str) -> TitledBlocks:
    """An empty title, since the first heading is one, and the document's blocks."""
    outline = Outline()
    for match in _EMBEDDED.finditer(text):
        drop(ADDRESSES, match[2] if match[1] else "")
    _Reader(_substituted(lines_of(text)), outline, []).read()
    return "", outline.blocks


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads lines into an outline, one block after the other.

    `styles` are those of the whole document's headings, in the order of levels; `depth` says how
    many readers are around this one. Each `take_` reads a block that begins in a line, and says
    where the next one does: in the same line where there is no such block.
    """

    lines: Lines
    outline: Outline
    styles: list[str]
    depth: int = 0

    def read(self) -> None:
        """Read all lines."""
        position = 0
        takes = (self.take_heading, self.take_explicit, self.take_rows, self.take_nested)
        while position < len(self.lines):
            if not self.lines[position][1].strip():
                position += 1
                continue
            following = (after for take in takes if (after := take(position)) > position)
            position = next(following, 0) or self.take_paragraph(position)

    def read_below(self, lines: Lines, outline: Outline) -> None:
        """Read what is nested in a block."""
        _Reader(lines, outline, self.styles, self.depth + 1).read()

    def add_heading(self, style: str, text: str, line: int) -> None:
        """Open a heading of the level that its style has in this document."""
        if style not in self.styles:
            self.styles.append(style)
        self.outline.heading(self.styles.index(style), one_line(text), line)

    def take_heading(self, start: int) -> int:
        """A title with a rule below it, or one above and below; a rule alone is a transition."""
        first, second, third = (line_at(self.lines, start + i) for i in range(3))
        number = self.lines[start][0]
        if _RULE.fullmatch(first):
            framed = second.strip() and third[:1] == first[:1] and _RULE.fullmatch(third)
            if framed and len(third) >= min(4, len(second.strip())):
                self.add_heading(first[0] * 2, second, number)
                return start + 3
            return start + 1 if len(first) >= 4 and not second else start
        underlined = _UNDERLINE.fullmatch(second) and len(second) >= min(4, len(first))
        if underlined and indentation(first) == 0 and not _GRID_RULE.fullmatch(first):
            self.add_heading(second[0], first, number)
            return start + 2
        return start

    def take_explicit(self, start: int) -> int:
        """A directive or a footnote; comments, targets and substitutions are passed over."""
        number, line = self.lines[start]
        if not _EXPLICIT.fullmatch(line):
            return start
        end = indented_block(self.lines, start + 1, 1)
        if line.startswith((".. _", "__ ")):  # a target ends at a blank line, other than a comment
            end = next((n for n in range(start + 1, end) if not line_at(self.lines, n)), end)
            drop(ADDRESSES, text_of(self.lines[start:end]))
            return end
        directive = _DIRECTIVE.fullmatch(line) if self.depth < DEEPEST else None
        footnote = _FOOTNOTE_TARGET.fullmatch(line)
        body = self.lines[start + 1 : end]
        whole = text_of(self.lines[start:end])
        if directive and UNSHOWN.fullmatch(directive[1]):
            drop_directive(directive[1], whole)
        elif directive:
            self.add_directive(number, directive[1], *_parts_of(directive[2], body))
        elif footnote:
            rest = " ".join(text for _, text in body)
            self.outline.prose(one_line(f"[{footnote[1]}] {footnote[2]} {rest}"), number)
        elif not _SUBSTITUTION.fullmatch(line):
            drop(SCRIPTS, whole)
        return end

    def add_directive(
        self, line: int, name: str, argument: str, options: Mapping[str, str], content: Lines
    ) -> None:
        """What a directive shows of its argument, its options and its content."""
        outline = self.outline
        inner = self.outline.nested()
        caption = options.get("caption", "")
        for option, value in options.items():
            if option not in ("caption", "alt"):
                drop("options of directives", f":{option}: {value}")
        if CODE.fullmatch(name):
            outline.prose(one_line(caption), line, leads=True)
            outline.code(dedented(content), argument if name.endswith(("code", "block")) else "")
            return
        if name in ("figure", "image"):
            drop(ADDRESSES, argument)
            outline.prose(one_line(options.get("alt", "")), line)
        elif argument and trimmed(content) and describes_code(name):
            inner.heading(0, squeezed(argument), line)
        elif argument and not WRAPPER.fullmatch(name):
            outline.prose(_term(name, argument), line, leads=bool(trimmed(content)))
        outline.prose(one_line(caption), line, leads=True)
        self.read_below(dedented(content), inner)

    def take_rows(self, start: int) -> int:
        """A table, a line block or a doctest session."""
        line = line_at(self.lines, start)
        end = start
        if _GRID_RULE.fullmatch(line) or _SIMPLE_RULE.fullmatch(line):
            return self.take_table(start)
        if line.startswith(">>> "):
            while line_at(self.lines, end):
                end += 1
            self.outline.code(self.lines[start:end], "python")
            return end
        while end < len(self.lines) and (row := _LINE_BLOCK.fullmatch(self.lines[end][1])):
            self.outline.prose(one_line(row[1]), self.lines[end][0], tight=end > start)
            end += 1
        return end

    def take_table(self, start: int) -> int:
        """A grid or a simple table, a block a line, so that a long one can be cut between them."""
        grid = _GRID_RULE.fullmatch(line_at(self.lines, start)) is not None
        end = start
        rules = 0
        first = True
        while end < len(self.lines):
            text = line_at(self.lines, end)
            if grid and not text.startswith(("+", "|")):
                break
            if not text and (rules >= 3 or not self.table_goes_on(end)):
                break
            if not grid and _SIMPLE_RULE.fullmatch(text):
                rules += 1
            elif text and not any(rule.fullmatch(text) for rule in _RULES):
                row = re.sub(r" {2,}", "  ", plain(text.strip("|") if grid else text).strip())
                self.outline.prose(row, self.lines[end][0], tight=not first)
                first = False
            end += 1
        return end

    def table_goes_on(self, position: int) -> bool:
        """Whether a blank line stands within a simple table: rows and a rule still follow."""
        rules = (_SIMPLE_RULE, _EXPLICIT, _RULE)
        below = (text for _, text in self.lines[position + 1 : position + 200])
        ends = (text for text in below if any(rule.fullmatch(text) for rule in rules))
        return _SIMPLE_RULE.fullmatch(next(ends, "")) is not None

    def take_nested(self, start: int) -> int:
        """A quotation, a list's item or a field: its inside is read like a document."""
        line = self.lines[start][1]
        if self.depth >= DEEPEST:
            return start
        if indentation(line):
            end = indented_block(self.lines, start, 1)
            self.read_below(dedented(self.lines[start:end]), self.outline.nested())
            return end
        item = _ITEM.fullmatch(line)
        named = _FIELD.fullmatch(line)
        following = line_at(self.lines, start + 1)
        # a paragraph may begin with "A. Smith" or "- "; its second line is not indented then
        is_second = indentation(following) >= min(2, len(item[1])) if item else False
        if item and (not following or is_second or _ITEM.fullmatch(following)):
            tight = start > 0 and bool(line_at(self.lines, start - 1))
            return self.add_marked(start, item[1].strip(), item[2], tight=tight)
        if named and _FILE_OPTION.fullmatch(named[1]):
            drop(DIRECTIVES, line)
            return indented_block(self.lines, start + 1, 1)
        if named:
            name = f"{one_line(named[1])}:"
            return self.add_marked(start, name, named[2], tight=start > 0, indented=False)
        return start

    def add_marked(
        self, start: int, marker: str, first: str, *, tight: bool, indented: bool = True
    ) -> int:
        """Add an item's blocks, the marker before the first; where the item ends."""
        if waiting := self.outline.mark.text:  # a field or an item that begins with this one
            marker = waiting + marker
            tight = self.outline.mark.tight
            indented = False
        end = indented_block(self.lines, start + 1, 1)
        number = self.lines[start][0]
        below = unindented(self.lines[start + 1 : end])
        inner = self.outline.item(f"{marker} ", tight=tight, indented=indented)
        self.read_below([(number, first), *below], inner)
        if inner.mark.text:  # it has no words
            inner.mark.text = ""
            self.outline.prose(marker, number, tight=tight)
        return end

    def take_paragraph(self, start: int) -> int:
        """A paragraph with the literal block that `::` announces, or a term with its definition."""
        number, line = self.lines[start]
        margin = indentation(line)
        end = start + 1
        while line_at(self.lines, end) and indentation(self.lines[end][1]) == margin:
            end += 1
        text = " ".join(line.strip() for _, line in self.lines[start:end])
        body_end = indented_block(self.lines, end, margin + 1)
        body = dedented(self.lines[end:body_end])
        if text.endswith("::"):
            shown = text.removesuffix("::") if text == "::" or text.endswith(" ::") else text[:-1]
            self.outline.prose(one_line(shown), number, leads=bool(body))
            self.outline.code(body)
            return body_end if body else end
        defines = bool(line_at(self.lines, end)) and body_end > end and self.depth < DEEPEST
        self.outline.prose(one_line(text), number, leads=defines)
        if defines:
            self.read_below(body, self.outline.nested())
        return body_end if defines else end


def _term(name: str, argument: str) -> str:
    """What a directive's argument says: names of code as code, anything else as text."""
    if name.startswith("version") or name == "deprecated":
        words = {"versionadded": "Added in", "versionchanged": "Changed in"}
        return f"{words.get(name, 'Deprecated since')} version {one_line(argument)}"
    return f"`{squeezed(argument)}`" if describes_code(name) else one_line(argument)


def _parts_of(argument: str, body: Lines) -> tuple[str, dict[str, str], Lines]:
    """A directive's argument (its further lines with it), its options and its content."""
    options = {}
    position = 0
    for _, line in body:
        if option := _OPTION.fullmatch(line):
            options[option[1]] = option[2] or ""
        elif line.strip() and argument and not options:
            argument += "\n" + line.strip()
        else:
            break
        position += 1
    return argument, options, body[position:]
