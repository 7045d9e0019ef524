"""Names of the directives and roles of Sphinx and MyST, and what each of them shows."""

from __future__ import annotations

import re

CODE = re.compile(
    r"code|code-block|code-cell|sourcecode|literal|parsed-literal|prompt|ipython|doctest|testcode"
    r"|testoutput|productionlist|math|mermaid"
)
"""Directives whose content is kept as it is."""

UNSHOWN = re.compile(
    r"contents|currentmodule|date|default-domain|default-role|highlight|include|index"
    r"|literalinclude|meta|module|py:currentmodule|py:module|raw|replace|role|sectionauthor"
    r"|tabularcolumns|testcleanup|testsetup|toctree|unicode|tableofcontents|bibliography"
)
"""Directives that show nothing of their own."""

WRAPPER = re.compile(r"class|container|cssclass|div|ifconfig|only|rst-class|tabs|tab-set|grid")
"""Directives whose content is shown, and whose argument is not."""

_OBJECT = re.compile(
    r"attribute|classmethod|data|decorator|envvar|exception|function|method|option"
)

_PLAIN_ROLES = re.compile(
    r"doc|ref|term|any|abbr|guilabel|numref|emphasis|strong|title|download|sub|sup"
)
_NUMBERED_ROLES = {"pep": "PEP", "rfc": "RFC", "issue": "#", "pr": "#", "cve": "CVE-"}


def describes_code(name: str) -> bool:
    """Whether a directive describes something of a program, under whose name its content stands."""
    return ":" in name or name.startswith("auto") or _OBJECT.fullmatch(name) is not None


def role_text(role: str, text: str) -> str:
    """What a role shows: a link's title, a name without its path where `~` asks for that."""
    name = role.rpartition(":")[2]
    title, _, target = text.rpartition("<")
    titled = target.endswith(">") and ">" not in target[:-1]
    shown = (title.rstrip() if titled else "") or text
    if name in _NUMBERED_ROLES:
        return f"{_NUMBERED_ROLES[name]} {shown}" if shown is text else shown
    if _PLAIN_ROLES.fullmatch(name):
        return shown.removeprefix("/")
    if shown.startswith("~"):
        shown = shown.rpartition(".")[2]
    return quoted(shown.lstrip("!.~"))


def quoted(text: str) -> str:
    """A name or a piece of code between backticks."""
    mark = "``" if "`" in text else "`"
    return f"{mark}{text}{mark}"
