"""Whose turn it is: which kind of query is next, and which passage it is about."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from labeler.data import Document
from labeler.queries.kinds import next_kind, turns
from labeler.queries.writing.candidates import PassageTurn
from labeler.queries.writing.writer import Writer

GIVE_UP = 10
"""So many passages in a row that give no query of a kind are the last that are asked for one."""


@dataclass(slots=True)
class Turns:
    """Passages dealt to kinds in order, so that each passage has one kind, whatever came before it.

    The next query is of the kind that is furthest behind its share, about the first passage left of
    those that were dealt to it. So neither failures nor the number of calls at once change what
    the others are about.
    """

    writer: Writer
    counts: Counter[str]
    _dealt: Iterable[tuple[Document, str]]
    _waiting: dict[str, deque[Document]] = field(default_factory=lambda: defaultdict(deque))
    _used: frozenset[str] = frozenset()
    _in_vain: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, documents: Sequence[Document], writer: Writer) -> Turns:
        """The turns of passages in their order, less those that gave the writer a query already."""
        counts = Counter(str(query.metadata.get("kind", "")) for query in writer.already)
        dealt = zip(documents, turns(writer.shares), strict=False)
        return cls(writer, counts, iter(dealt), _used=used_passages(writer))

    def next(self, count: int = 1) -> list[PassageTurn]:
        """The next turns, if each gives a query; fewer where the passages run out."""
        counts, places, kinds = Counter(self.counts), Counter[str](), self._kinds()
        result: list[PassageTurn] = []
        while kinds and len(result) < count:
            kind = next_kind({k: self.writer.shares[k] for k in kinds}, counts)
            document = self._peek(kind, places[kind])
            if document is None:
                kinds.remove(kind)
                continue
            result.append(PassageTurn(document, kind, self.writer.other(document, kind)))
            counts[kind] += 1
            places[kind] += 1
        return result

    def take(self, turn: PassageTurn, *, is_fruitful: bool) -> None:
        """End a turn, which gave a query or none."""
        self._waiting[turn.kind].popleft()
        self.counts[turn.kind] += is_fruitful
        self._in_vain[turn.kind] = 0 if is_fruitful else self._in_vain[turn.kind] + 1

    @property
    def given_up(self) -> dict[str, int]:
        """The kinds of which passage after passage gave none, with how many there are."""
        kinds = self._kinds()
        return {kind: self.counts[kind] for kind in self.writer.shares if kind not in kinds}

    def _kinds(self) -> list[str]:
        """The kinds that are asked for; all where every one was in vain."""
        kinds = [kind for kind in self.writer.shares if self._in_vain[kind] < GIVE_UP]
        return kinds or list(self.writer.shares)

    def _peek(self, kind: str, ahead: int) -> Document | None:
        """The passage at a place of those that wait for a kind; None where there are too few."""
        waiting = self._waiting[kind]
        while len(waiting) <= ahead:
            dealt = next(iter(self._dealt), None)
            if dealt is None:
                return None
            document, its_kind = dealt
            if document.id not in self._used:
                self._waiting[its_kind].append(document)
        return waiting[ahead]


def used_passages(writer: Writer) -> frozenset[str]:
    """The ids of the passages that gave the writer a query already."""
    sources = (
        query.metadata.get("source") or query.metadata.get("about") or [{"doc_id": ""}]
        for query in writer.already
    )
    return frozenset(str(source[0]["doc_id"]) for source in sources)
