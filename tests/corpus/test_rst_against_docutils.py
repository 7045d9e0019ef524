"""Our reader of reStructuredText, by layout alone, shows the words that docutils shows.

Of a page that is damaged, docutils drops what it cannot read; ours must not.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles

from labeler.corpus.readers.outline import CODE, UNSHOWN, WRAPPER, role_text
from labeler.corpus.readers.rst import read_rst

SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": None,
    "_disable_config": True,
}
DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]+\| +)?([\w+.-]+(?::[\w+.-]+)*) ?::")
ROLE = re.compile(r":([\w.+-]+(?::[\w.+-]+)?):`")
WORD = re.compile(r"\w{4,}")


class AnyOption(dict[str, Any]):
    def __getitem__(self, key: str) -> Any:
        return directives.unchanged

    def __bool__(self) -> bool:
        return True


class PassingOn(Directive):
    """A directive of Sphinx, which shows its argument, its caption and its content."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = AnyOption()
    has_content = True

    def run(self) -> list[nodes.Node]:
        if UNSHOWN.fullmatch(self.name):
            return []
        shown = [self.options.get("caption", ""), self.options.get("alt", "")]
        hides_argument = CODE.fullmatch(self.name) or WRAPPER.fullmatch(self.name)
        if not hides_argument and self.name not in ("figure", "image"):
            shown += self.arguments
        body = nodes.container()
        if CODE.fullmatch(self.name):
            body += nodes.literal_block("", "\n".join(self.content))
        else:
            self.state.nested_parse(self.content, self.content_offset, body, match_titles=True)
        words = [self.state.inline_text(text, self.lineno)[0] for text in shown]
        return [*(nodes.paragraph("", "", *inner) for inner in words), body]


def passing_on(name: str, raw: str, text: str, *_: Any, **__: Any) -> tuple[list[Any], list[Any]]:
    return [nodes.inline(raw, role_text(name, nodes.unescape(text)))], []


def words_of_docutils(text: str) -> Counter[str]:
    for name in {*DIRECTIVE.findall(text)} - {"replace", "table", "list-table"}:
        directives.register_directive(name, PassingOn)
    for name in ROLE.findall(text):
        roles.register_local_role(name, passing_on)
    return Counter(
        WORD.findall(" ".join(shown(publish_doctree(text, settings_overrides=SETTINGS))))
    )


def shown(node: Any) -> Iterator[str]:
    if isinstance(node, nodes.comment | nodes.substitution_definition | nodes.system_message):
        return
    if isinstance(node, nodes.TextElement) and not isinstance(node, nodes.Inline):
        yield node.astext()
        return
    for child in node.children:
        yield from shown(child)


def words_of_ours(text: str) -> Counter[str]:
    blocks = read_rst(text)[1]
    everything = " ".join(block.text or block.headings[-1] for block in blocks)
    return Counter(WORD.findall(re.sub(r"```[\w+-]*\n", "\n", everything)))


def damaged(text: str, seed: int) -> Iterator[str]:
    """The lines of a text, one in ten with wrong indentation or without one of its marks."""
    drawn = random.Random(seed)
    for line in text.split("\n"):
        damages = [line.lstrip(), f"  {line}", line.replace("`", "", 1), line.replace("::", ":", 1)]
        yield drawn.choice(damages) if drawn.random() < 0.1 else line


@pytest.fixture(scope="session")
def pages(shared: Path) -> list[str]:
    return [path.read_text("utf-8") for path in sorted((shared / "docs" / "flask").rglob("*.rst"))]


@pytest.mark.sweep
def test_the_words_are_those_of_docutils(pages: list[str]) -> None:
    ours, theirs = Counter[str](), Counter[str]()
    for page in pages:
        ours += words_of_ours(page)
        theirs += words_of_docutils(page)
    assert (theirs - ours).keys() <= {"orphan"}, "a file's own option, which no page shows"
    assert (ours - theirs).keys() <= {"Added", "Changed", "Deprecated", "since", "version"}


def test_of_damaged_pages_less_is_lost_than_docutils_loses(pages: list[str]) -> None:
    lost, lost_by_docutils = Counter[str](), Counter[str]()
    for seed, page in enumerate(pages[::3]):
        text = "\n".join(damaged(page, seed))
        ours, theirs = words_of_ours(text), words_of_docutils(text)
        lost += theirs - ours
        lost_by_docutils += ours - theirs
    assert lost.total() < 5, lost
    assert lost_by_docutils.total() > 50
