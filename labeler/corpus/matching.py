"""What became of each passage of a corpus in another cut, or another state, of the same documents.

A passage is `unchanged` (the same id, title and text), `moved` (its text is a passage elsewhere, or
under another title), `merged` (its text lies whole in a larger passage), `split` (it is divided
among several, of a file that was not edited) or `gone`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from labeler.data import Document, Documents
from labeler.messages import Advance, squeezed
from labeler.text.languages import Span

UNCHANGED, MOVED, MERGED, SPLIT, GONE = STATES = ("unchanged", "moved", "merged", "split", "gone")
CARRIED = (UNCHANGED, MOVED, MERGED)
"""The states in which a grade holds for the new passage, too."""


class Match(NamedTuple):
    """What became of a passage: its state, and the new passages that have its text."""

    state: str
    new_ids: Sequence[str] = ()


def match_passages(
    old: Documents,
    new: Documents,
    advance: Advance = lambda _done, _total: None,
) -> dict[str, Match]:
    """What became of each old passage by its id; all its words count, white space does not."""
    files = _Files(new)
    matches = {}
    for number, document in enumerate(old.values(), start=1):
        matches[document.id] = _match(document, new.get(document.id), files)
        advance(number, len(old))
    return matches


def _match(document: Document, same_id: Document | None, files: _Files) -> Match:
    if same_id and (same_id.title, same_id.text) == (document.title, document.text):
        return Match(UNCHANGED, (same_id.id,))
    text = _squeezed(document.text)
    beside = list(files.beside(document))
    same = files.of_text(text)
    equal = [each for each in same if each in beside] or same
    if equal:
        return Match(
            MOVED, (min(equal, key=lambda each: abs(_span(each)[0] - _span(document)[0])).id,)
        )
    in_same_text = [each for each in beside if _is_of_same_text(document, each)]
    if in_same_text:
        return _by_span(document, in_same_text)
    within = f" {text} "  # by the words alone, where the file was edited
    larger = (each.id for each in beside if text and within in f" {_squeezed(each.text)} ")
    whole_in = next(larger, None)
    return Match(GONE) if whole_in is None else Match(MERGED, (whole_in,))


def _by_span(document: Document, beside: Sequence[Document]) -> Match:
    """By where both stand in one and the same text."""
    start, end = _span(document)
    for each in beside:
        first, last = _span(each)
        if first <= start and end <= last:
            return Match(MERGED, (each.id,))
    parts = [each.id for each in beside if _span(each)[0] < end and start < _span(each)[1]]
    return Match(SPLIT, tuple(parts)) if parts else Match(GONE)


class _Files:
    """The new passages by their files and by their texts; the memory holds ids and hashes."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._by_file: dict[str, list[str]] = defaultdict(list)
        self._by_text: dict[int, list[str]] = defaultdict(list)
        for document in documents.values():
            self._by_text[hash(_squeezed(document.text))].append(document.id)
            if isinstance(source := document.metadata.get("source"), str):
                self._by_file[source].append(document.id)

    def of_text(self, text: str) -> list[Document]:
        """The passages of these words."""
        same = map(self._documents.__getitem__, self._by_text.get(hash(text), ()))
        return [each for each in same if _squeezed(each.text) == text]

    def beside(self, document: Document) -> Iterator[Document]:
        """The new passages of the file in which an old one stands."""
        source = document.metadata.get("source")
        ids = self._by_file.get(source, ()) if isinstance(source, str) else ()
        return map(self._documents.__getitem__, ids)


# the passages of a file are held against each of its old ones
_squeezed = lru_cache(maxsize=1 << 10)(squeezed)


def _is_of_same_text(first: Document, second: Document) -> bool:
    """Whether two passages have spans in one and the same text."""
    keys = ("source", "sha256", "text_sha256")
    same = all(first.metadata.get(key) == second.metadata.get(key) for key in keys)
    return same and all(_span(each) != _NO_SPAN for each in (first, second))


_NO_SPAN = (-1, -1)


def _span(document: Document) -> Span:
    start = document.metadata.get("start")
    end = document.metadata.get("end")
    return (start, end) if type(start) is int and type(end) is int else _NO_SPAN
