"""`queries passages`: which passages of a collection are asked about, and why others are not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection, open_collection
from labeler.data import Document
from labeler.queries.considered import considered
from labeler.queries.set_aside import PassageRules, file_of
from labeler.queries.strata import PassageChoice, choose_passages
from labeler.report.table import Column, Table
from labeler.text.vectors import can_encode, encode

_COLUMNS = (
    Column("doc_id", align="left"),
    Column("turn", format="d"),
    Column("reason", align="left", undefined=""),
    Column("file", align="left"),
    Column("text", align="left", widest=60),
)


@dataclass(frozen=True, slots=True)
class PassageList:
    """The passages of a corpus: when each is asked about, or why it never is."""

    documents: dict[str, Document]
    choice: PassageChoice

    def as_json(self) -> dict[str, Any]:
        """The counts, and a row for each passage."""
        return {**self.choice.as_json(), "list": self.table().records()}

    def table(self) -> Table:
        """A row for each passage: those that are set aside first, then the others in order."""
        aside = [
            (id_, None, reason, file_of(self.documents[id_]), self.documents[id_].text)
            for id_, reason in self.choice.set_aside.items()
        ]
        asked = [
            (document.id, turn, None, file_of(document), document.text)
            for turn, document in enumerate(self.choice.passages, start=1)
        ]
        return Table("passages", _COLUMNS, [*aside, *asked])

    def tables(self) -> list[Table | str]:
        """The table, and its counts as a sentence."""
        counts = ", ".join(f"{count:,} {reason}" for reason, count in self.choice.reasons.items())
        asked = f"{len(self.choice.passages):,} passages to ask about"
        return [self.table(), f"{asked}; set aside: {counts or 'none'}"]


def list_passages(
    collection: Collection | Path | str, *, seed: int = 0, rules: PassageRules | None = None
) -> PassageList:
    """Which passages `generate` asks about, in order, and why others are set aside; asks nothing.

    >>> from labeler.testing import small_collection
    >>> list_passages(small_collection()).as_json()["passages"]
    2
    """
    among = considered(distinct_documents(open_collection(collection).corpus), seed)
    documents = {document.id: document for document in among}
    encoder = encode if can_encode() else None
    return PassageList(documents, choose_passages([*documents.values()], seed, rules, encoder))
