"""The ids of queries that a file names by their text."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labeler.errors import SaysTooLittle
from labeler.messages import count_of

_LISTED = 5


class NamedByText(SaysTooLittle):
    """A file names queries by their text, and no queries are given that have ids."""

    def __init__(self, path: Path, where: str, text: str) -> None:
        problem = f"names queries by their text ({text!r:.60}); give queries that have ids"
        super().__init__(f"{where}: {problem}", path, {"queries": "COLL"})


@dataclass
class QueryIds:
    """The ids of queries by their texts: as they stand, else normalised.

    Normalised texts differ neither in case nor in white space, in the form of their letters, nor in
    punctuation at the end. `unmatched` and `several` collect the texts that match no query, or
    more than one.
    """

    texts: Mapping[str, str]
    """The text of each query, by id."""
    unmatched: dict[str, None] = field(default_factory=dict)
    several: dict[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.exact = _inverted(self.texts)
        self.alike = _inverted({id_: normalised(text) for id_, text in self.texts.items()})

    def id_of(self, text: str, *, may_be_id: bool) -> str | None:
        """The id of the one query that has this text, or this id where that may be."""
        ids = self.exact.get(text) or self.alike.get(normalised(text)) or []
        if may_be_id and text in self.texts and ids != [text]:
            ids = [text, *ids]
        if len(ids) == 1:
            return ids[0]
        if ids:
            self.several[text] = ids
        else:
            self.unmatched[text] = None
        return None

    def problems(self) -> list[str]:
        """What matched no query or several, in lines."""
        lines = []
        if self.unmatched:
            some = _some([repr(text[:60]) for text in self.unmatched])
            what = count_of(len(self.unmatched), "query matches", "queries match")
            lines.append(f"{what} none of yours, left out: {some}")
        if self.several:
            some = _some([f"{t[:60]!r} ({', '.join(ids)})" for t, ids in self.several.items()])
            what = count_of(len(self.several), "query matches", "queries match")
            lines.append(f"{what} several of yours, left out: {some}")
        return lines


def normalised(text: str) -> str:
    """A text without what people type one way or another."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(plain.split()).rstrip("?!. ") or plain


def _inverted(texts: Mapping[str, str]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for id_, text in texts.items():
        ids.setdefault(text, []).append(id_)
    return ids


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")
