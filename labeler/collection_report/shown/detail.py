"""How much of each query a page shows, so that it stays small enough to be sent and opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MOST_BYTES = 2_000_000
"""A page is smaller than that."""


@dataclass(frozen=True)
class Detail:
    """How many documents of each system are shown for a query, and how long their texts are.

    Of a query `most` documents are shown, those that systems rank highest. `title`, `reason` and
    `text` count characters; 0 leaves the text out. `ids` says whether documents are shown with
    their ids beside their titles.
    """

    top: int = 10
    most: int = 1000
    title: int = 100
    reason: int = 400
    text: int = 500
    ids: bool = True

    def cuts(self, fullest: Detail) -> Iterator[str]:
        """What is not shown here that the fullest page has."""
        if self.top < fullest.top:
            yield f"of each system the first {self.top} documents are shown, not {fullest.top}"
        if self.most < fullest.most:
            yield f"of each query at most {self.most} documents, those that systems rank highest"
        if self.text < fullest.text:
            yield "texts of documents stand only beside the best and worst queries and far pairs"
        if not self.reason:
            yield "reasons stand only there, too"
        elif self.reason < fullest.reason:
            yield f"reasons are cut after {self.reason} characters"
        if self.title < fullest.title:
            yield f"titles are cut after {self.title} characters"
        if not self.ids:
            yield "ids stand only where a document has no title"


def levels(top: int) -> tuple[Detail, ...]:
    """From the fullest page to the smallest."""
    return (
        Detail(top),
        Detail(top, text=0),
        Detail(top, reason=140, text=0),
        Detail(top, title=80, reason=80, text=0),
        Detail(top, title=80, reason=0, text=0),
        Detail(top, title=60, reason=0, text=0, ids=False),
        Detail(top, 20, 60, 0, 0, ids=False),
        Detail(min(top, 5), 20, 60, 0, 0, ids=False),
        Detail(min(top, 5), 12, 50, 0, 0, ids=False),
        Detail(min(top, 3), 8, 40, 0, 0, ids=False),
        Detail(min(top, 3), 4, 30, 0, 0, ids=False),
        Detail(1, 1, 30, 0, 0, ids=False),
    )
