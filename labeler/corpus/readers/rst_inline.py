"""reStructuredText within a paragraph: its words without roles, references and emphasis."""

from __future__ import annotations

import re

from labeler.corpus.readers.directives import quoted, role_text

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
