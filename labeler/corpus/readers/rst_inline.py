"""reStructuredText within a paragraph: its words without roles, references and emphasis."""

from __future__ import annotations

import re

_LITERAL = re.compile(r"(?<![`\w])``(?=\S)(.{1,2000}?)(?<=\S)``(?!`)", re.DOTALL)
_ROLE = re.compile(r":([\w.+-]{1,60}(?::[\w.+-]{1,60})?):`([^`]{1,1000})`")
_ROLE_AFTER = re.compile(r"`([^`]{1,1000})`:([\w.+-]{1,60}):(?!`)")
_EMBEDDED = re.compile(r"`([^`<>]{0,1000}?)\s*<([^`<>]{1,1000})>`__?")
_REFERENCE = re.compile(r"`([^`]{1,1000})`__?")
_INTERPRETED = re.compile(r"(?<![`\w])`([^`]{1,1000})`(?![`\w])")
_NAMED = re.compile(r"(?<![\w.:+-])([^\W_]{1,60}(?:[-._+:][^\W_]{1,60}){0,20})__?(?![\w`])")
_STRONG = re.compile(r"(?<![\w*])\*\*(?=\S)(.{1,500}?)(?<=\S)\*\*(?!\w)", re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]{1,500}?)(?<=\S)\*(?![\w*])")
_ESCAPE = re.compile(r"\\(?:\s|(.))")
_TITLED = re.compile(r"(.*?)\s*<[^<>]*>", re.DOTALL)
_KEPT = re.compile(r"\0(\d+)\0")

_PLAIN_ROLES = re.compile(
    r"doc|ref|term|any|abbr|guilabel|numref|emphasis|strong|title|download|sub|sup"
)
_NUMBERED_ROLES = {"pep": "PEP", "rfc": "RFC", "issue": "#", "pr": "#", "cve": "CVE-"}


def plain(text: str) -> str:
    """The words of a paragraph; literals and the names of code between single backticks."""
    kept: list[str] = []

    def keep(what: str) -> str:
        kept.append(what)
        return f"\0{len(kept) - 1}\0"

    text = _LITERAL.sub(lambda found: keep(_quoted(found[1])), text)
    text = _ROLE.sub(lambda found: keep(_role(found[1], found[2])), text)
    text = _ROLE_AFTER.sub(lambda found: keep(_role(found[2], found[1])), text)
    text = _ESCAPE.sub(lambda found: keep(found[1]) if found[1] else "", text)
    text = _EMBEDDED.sub(lambda found: keep(found[1] or found[2]), text)
    text = _REFERENCE.sub(lambda found: keep(found[1]), text)
    text = _INTERPRETED.sub(lambda found: keep(_quoted(found[1])), text)
    text = _NAMED.sub(r"\1", text)
    text = _STRONG.sub(r"\1", text)
    text = _EMPHASIS.sub(r"\1", text)
    while _KEPT.search(text):
        text = _KEPT.sub(lambda found: kept[int(found[1])], text)
    return text


def one_line(text: str) -> str:
    """The words of a paragraph, its line breaks as spaces; white space of other kinds stays."""
    return _BLANKS.sub(" ", plain(text)).strip(" ")


_BLANKS = re.compile(r"[ \t\r\n]+")


def _quoted(text: str) -> str:
    mark = "``" if "`" in text else "`"
    return f"{mark}{text}{mark}"


def _role(role: str, text: str) -> str:
    """What a role shows: a link's title, a name without its path where `~` asks for that."""
    name = role.rpartition(":")[2]
    titled = _TITLED.fullmatch(text)
    shown = titled[1] if titled and titled[1] else text
    if name in _NUMBERED_ROLES:
        return f"{_NUMBERED_ROLES[name]} {shown}" if shown is text else shown
    if _PLAIN_ROLES.fullmatch(name):
        return shown.removeprefix("/")
    if shown.startswith("~"):
        shown = shown.rpartition(".")[2]
    return _quoted(shown.lstrip("!.~"))
