"""Options of the commands that search vectors in a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labeler.cli.screen import caution, note
from labeler.errors import Misuse
from labeler.options import COUNT_OR_NONE, option

if TYPE_CHECKING:
    from labeler.models.encoders import Encoding
    from labeler.runs.asking import IndexRecall
    from labeler.runs.vector_run import VectorSearch

DATABASE = "Vectors in a database"
ADDRESS = (
    "qdrant://HOST:6333/COLLECTION or postgresql://USER@HOST/DATABASE?table=TABLE; its key is in "
    "QDRANT_API_KEY, its password in PGPASSWORD."
)


@dataclass(frozen=True, slots=True)
class VectorFlags:
    """Where vectors are, and how they are searched."""

    vectors: str = option(
        "", f"Search the vectors there: {ADDRESS}", metavar="ADDRESS", panel=DATABASE, rare=True
    )
    exact: bool = option(
        False, "Look at every vector, without the index.", panel=DATABASE, rare=True
    )
    filter: str = option(
        "",
        "Search these alone: Qdrant's filter as JSON, or a condition of SQL.",
        metavar="TEXT",
        panel=DATABASE,
        rare=True,
    )
    search: tuple[str, ...] = option(
        (),
        "A parameter of the search, as hnsw_ef=256 or hnsw.ef_search=400; repeatable.",
        metavar="NAME=VALUE",
        panel=DATABASE,
        rare=True,
    )
    check_index: int = option(
        20,
        "Search for so many queries exactly, too, to say what the index misses.",
        COUNT_OR_NONE,
        panel=DATABASE,
        rare=True,
    )

    def check_none(self) -> None:
        """Raise `Misuse` where a search is described, and no database is named."""
        for name in ("exact", "filter", "search"):
            if getattr(self, name):
                raise Misuse("it goes with --vectors", parameter=name)

    def described(self, encoding: Encoding, hit_id: str = "") -> VectorSearch:
        """The search that the options describe."""
        from labeler.runs.engines.databases.base import SearchSettings
        from labeler.runs.vector_run import VectorSearch

        settings = SearchSettings(self.exact, self.filter, self.search, hit_id)
        return VectorSearch(self.vectors, settings, encoding, self.check_index)


def show_recall(recall: IndexRecall | None) -> None:
    """Say what an index misses, with what would help where it is much."""
    if recall is None:
        return
    if recall.is_low:
        caution(f"{recall}; search more widely (--search), or --exact")
    else:
        note(str(recall))
