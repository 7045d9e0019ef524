"""Which passages nobody should be asked to write a query about, and why."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from labeler.data import Document
from labeler.errors import check_known
from labeler.options import COUNT_OR_NONE, Options, option
from labeler.queries.filter import overlap, words

MIN_WORDS = 25
rule = partial(option, section="passages")
SHORT = "short"
NEAR_DUPLICATE = "near-duplicate"

_SHINGLE = 5
"""Words in a row that near-duplicates share."""

_SKETCH = 8
"""So many of a passage's smallest hashes lead to the passages that may be the same."""

_CODE_SHARE, _LIST_SHARE = 0.6, 0.6
"""A passage with a larger share of code gives queries about names in that code; one of entries
without a sentence is a table of contents or an index."""

_DUPLICATE_SHARE = 0.7
"""Passages that share so many of their runs of five words answer the same queries."""


@dataclass(frozen=True, slots=True)
class PassageRules(Options):
    """Which passages are asked about; each bound says what lies beyond it.

    A passage of fewer than `min_words` words rarely answers a query on its own. `ask_about` holds
    the reasons, as `changelog`, for which nothing is set aside. Each value of `stratify`, a key of
    their metadata as `tags`, has as many turns as any other.
    """

    min_words: int = rule(
        MIN_WORDS, "A shorter passage rarely answers a query on its own.", COUNT_OR_NONE
    )
    ask_about: tuple[str, ...] = rule((), "Set nothing aside for these reasons.")
    stratify: str = rule(
        "",
        "Spread passages evenly over the values of this key of their metadata, as tags.",
        metavar="KEY",
        flag=True,
        rare=True,
        example="tags",
    )


class _Passage(NamedTuple):
    """A document with the parts that rules look at: its path, its prose and its code by lines."""

    document: Document
    path: PurePosixPath
    is_short: bool
    prose: Sequence[str]
    code: Sequence[str]


def set_aside(documents: Sequence[Document], rules: PassageRules | None = None) -> dict[str, str]:
    """Why passages are not asked about, by the ids of their documents.

    >>> long = " ".join(f"word{n}" for n in range(40))
    >>> set_aside([Document("a", long), Document("b", "Too short."), Document("c", long)])
    {'b': 'short', 'c': 'near-duplicate'}
    """
    rules = rules or PassageRules()
    for exempt in rules.ask_about:
        check_known("reason", exempt, REASONS, "ask_about")
    active = {reason: rule for reason, rule in RULES.items() if reason not in rules.ask_about}
    why = {}
    for document in documents:
        passage = _parts_of(document, rules.min_words)
        reason = next((reason for reason, rule in active.items() if rule(passage)), "")
        if reason:
            why[document.id] = reason
    if NEAR_DUPLICATE not in rules.ask_about:
        others = [document for document in documents if document.id not in why]
        why |= dict.fromkeys(_near_duplicates(others), NEAR_DUPLICATE)
    return why


def file_of(document: Document) -> str:
    """The file that a passage was cut from; empty where it came alone."""
    return str(document.metadata.get("source") or "")


def _parts_of(document: Document, min_words: int) -> _Passage:
    prose, code = list[str](), list[str]()
    is_code = False
    for line in document.text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif line.strip():
            (code if is_code else prose).append(line)
    is_short = len(words(document.text)) < min_words
    return _Passage(document, PurePosixPath(file_of(document)), is_short, prose, code)


_CHANGELOG_NAME = re.compile(
    r"(?i)(?:change(?:s|_?log)?|history|news|releases?([-_ ]?notes)?|whats[-_]?new)"
)
_CHANGELOG_HEADING = re.compile(
    r"(?i)"
    r"change ?log|changes|release notes.*|what['’]s new.*|(?:release|version) history|unreleased"
    r"|(?:version |release |v)?\[?\d+\.\d+[\w.]*\]?(?:\s*[-–—(:].*)?",
)
_ENTRY_MARK = re.compile(r"^[ \t]{0,20}(?:[-*•+]|\d{1,9}[.)])[ \t]+(?=\S)")


def _is_changelog(passage: _Passage) -> bool:
    """What changed between versions is looked up by version, and outlives no release."""
    if _CHANGELOG_NAME.fullmatch(passage.path.stem):
        return True
    # the title of a row may be a product's, as "15.6 - a notebook"
    headings = passage.document.title.split(" > ") if passage.path.name else []
    return any(_CHANGELOG_HEADING.fullmatch(heading.strip()) for heading in headings)


_LICENCE_NAME = re.compile(
    r"(?i)(?:licen[cs]es?|copying|notice|authors|contributors|code[-_]of[-_]conduct)(?:[-_.].*)?"
)
_LICENCE_TEXT = re.compile(
    r"(?i)permission is hereby granted|redistribution and use in source"
    r"|without warrant(?:y|ies) (?:of any kind|or conditions)|licensed under the apache license",
)


def _is_licence(passage: _Passage) -> bool:
    named = _LICENCE_NAME.fullmatch(passage.path.stem)
    return bool(named or _LICENCE_TEXT.search(passage.document.text))


def _is_code(passage: _Passage) -> bool:
    code = _count(passage.code)
    prose = _count(passage.prose)
    return code > 0 and code >= _CODE_SHARE * (code + prose)


def _count(lines: Iterable[str]) -> int:
    return sum(len(words(line)) for line in lines)


_LIST_NAME = re.compile(r"(?i)summary|toc|(?:table[-_]of[-_])?contents|genindex|sitemap")
_SENTENCE = re.compile(r"[.!?:;=|][\"'”’)`]*$|: ")
_LONGEST_ENTRY = 8
_FEWEST_ENTRIES = 5


def _is_contents(passage: _Passage) -> bool:
    """A list of headings or links leads to answers, and holds none."""
    if _LIST_NAME.fullmatch(passage.path.stem):
        return True
    entries = []
    for line in passage.prose:
        text = _ENTRY_MARK.sub("", line, count=1).strip()
        if len(words(text)) <= _LONGEST_ENTRY and not _SENTENCE.search(text):
            entries.append(line)
    listed = _count(entries)
    return len(entries) >= _FEWEST_ENTRIES and listed >= _LIST_SHARE * _count(passage.prose)


RULES: Mapping[str, Callable[[_Passage], bool]] = {
    SHORT: lambda passage: passage.is_short,
    "changelog": _is_changelog,
    "licence": _is_licence,
    "code": _is_code,
    "contents": _is_contents,
}
"""The rules that look at one passage alone, by the reason that they give."""

REASONS = (*RULES, NEAR_DUPLICATE)
"""Every reason for which a passage may be set aside."""


def _near_duplicates(documents: Sequence[Document]) -> Iterator[str]:
    """The ids of passages that are nearly the same as an earlier one, of which that stays."""
    first_with: dict[int, Document] = {}
    for document in documents:
        runs = _shingles(document.text)
        smallest = sorted(runs)[:_SKETCH]
        owners = {first.id: first for run in smallest if (first := first_with.get(run))}
        if any(overlap(runs, _shingles(o.text)) >= _DUPLICATE_SHARE for o in owners.values()):
            yield document.id
            continue
        for run in smallest:
            first_with.setdefault(run, document)


def _shingles(text: str) -> set[int]:
    """Hashes of the runs of five words of a text."""
    all_words = words(text)
    count = max(1, len(all_words) - _SHINGLE + 1)
    runs = (" ".join(all_words[at : at + _SHINGLE]) for at in range(count))
    return {int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest()) for run in runs}
