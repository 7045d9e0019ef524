"""What a file loses on its way into a corpus: each rule that left something out, and an example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from labeler.messages import count_of, squeezed

AROUND = "what a site shows around a page's text"
ADDRESSES = "addresses of links and images"
SCRIPTS = "scripts, styles and comments"
HIDDEN = "what a page hides"
AS_HTML = "the same text as HTML"
PRINTED = "what code printed"
DIRECTIVES = "directives that show nothing"
CODE_OF_PAGES = "imports and exports"
PEOPLE = "names of people"
INCLUDES = "includes of other files"
_BESIDE_THE_TEXT = frozenset(
    (AROUND, ADDRESSES, SCRIPTS, HIDDEN, AS_HTML, PRINTED, DIRECTIVES, CODE_OF_PAGES, PEOPLE)
)
"""Rules that leave out no text of a document; they are counted, and are no part of its share."""

_EXAMPLE, _FEW = 80, 500


@dataclass(slots=True)
class LostByRule:
    """What one rule left out: how often, how many characters, and the first of it.

    Characters are those that are no white space, here and below.
    """

    count: int = 0
    characters: int = 0
    example: str = ""


@dataclass(slots=True)
class Losses:
    """What a file holds, what of it stands in its blocks, and what rules left out, by rule."""

    characters_in: int = 0
    characters_out: int = 0
    rules: dict[str, LostByRule] = field(default_factory=dict)

    def add(self, rule: str, lost: LostByRule) -> None:
        """Count what a rule left out."""
        all_of_it = self.rules.setdefault(rule, LostByRule())
        all_of_it.count += lost.count
        all_of_it.characters += lost.characters
        all_of_it.example = all_of_it.example or lost.example

    @property
    def share(self) -> float:
        """The share of the file's characters that rules left out of its text; 0 of a few."""
        lost = sum(n.characters for rule, n in self.rules.items() if rule not in _BESIDE_THE_TEXT)
        return lost / max(self.characters_in, lost) if lost > _FEW else 0.0


def characters_of(text: str) -> int:
    """How many characters of a text are no white space."""
    return len("".join(text.split()))


def together(losses: Iterable[Losses]) -> Losses:
    """What several files hold and lose."""
    total = Losses()
    for each in losses:
        total.characters_in += each.characters_in
        total.characters_out += each.characters_out
        for rule, lost in each.rules.items():
            total.add(rule, lost)
    return total


def loss_line(by_file: Mapping[str, Losses]) -> str:
    """The line that says what was left out of files, by rule; empty where nothing was."""
    total = together(by_file.values())
    if not total.rules:
        return ""
    most = sorted(total.rules.items(), key=lambda entry: -entry[1].characters)
    rules = "; ".join(f"{n.count:,} × {rule} (as {n.example!r:.50})" for rule, n in most)
    lost = sum(n.characters for n in total.rules.values())
    files = count_of(sum(bool(each.rules) for each in by_file.values()), "file")
    return f"left out of {files}, {lost:,} of {total.characters_in:,} characters: {rules}"


# Readers say what they leave out to the ledger of the file that is being read.

_LEDGER: ContextVar[Losses | None] = ContextVar("losses", default=None)


@contextmanager
def recorded() -> Iterator[Losses]:
    """The ledger to which `drop` writes in here."""
    losses = Losses()
    token = _LEDGER.set(losses)
    try:
        yield losses
    finally:
        _LEDGER.reset(token)


def drop_directive(name: str, text: str) -> None:
    """Note a directive that is not shown: what it includes may be most of a page's text."""
    rules = {"include": INCLUDES, "literalinclude": INCLUDES, "raw": "raw markup"}
    drop(rules.get(name, DIRECTIVES), text)


def drop(rule: str, text: str) -> None:
    """Note what a rule of a reader leaves out, if anybody keeps a ledger."""
    losses = _LEDGER.get()
    if losses is not None and (lost := characters_of(text)):
        losses.add(rule, LostByRule(1, lost, squeezed(text[: 4 * _EXAMPLE])[:_EXAMPLE]))
