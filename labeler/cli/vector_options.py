"""Options of the commands that search vectors in a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.numbers import COUNT_OR_NONE, number
from labeler.cli.screen import caution, note
from labeler.errors import Misuse

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

    vectors: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help=f"Search the vectors there: {ADDRESS}",
            rich_help_panel=DATABASE,
        ),
    ] = ""
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Look at every vector, without the index.", rich_help_panel=DATABASE
        ),
    ] = False
    filter: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Search these alone: Qdrant's filter as JSON, or a condition of SQL.",
            rich_help_panel=DATABASE,
        ),
    ] = ""
    search: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A parameter of the search, as hnsw_ef=256 or hnsw.ef_search=400; repeatable.",
            rich_help_panel=DATABASE,
        ),
    ] = None
    check_index: Annotated[
        int,
        number(
            COUNT_OR_NONE,
            help="Search for so many queries exactly, too, to say what the index misses.",
            rich_help_panel=DATABASE,
        ),
    ] = 20

    def check_none(self) -> None:
        """Raise `Misuse` where a search is described, and no database is named."""
        for name in ("exact", "filter", "search"):
            if getattr(self, name):
                raise Misuse("it goes with --vectors", parameter=name)

    def described(self, encoding: Encoding, hit_id: str = "") -> VectorSearch:
        """The search that the options describe."""
        from labeler.runs.engines.databases.base import SearchSettings
        from labeler.runs.vector_run import VectorSearch

        settings = SearchSettings(self.exact, self.filter, tuple(self.search or ()), hit_id)
        return VectorSearch(self.vectors, settings, encoding, self.check_index)


def show_recall(recall: IndexRecall | None) -> None:
    """Say what an index misses, with what would help where it is much."""
    if recall is None:
        return
    if recall.is_low:
        caution(f"{recall}; search more widely (--search), or --exact")
    else:
        note(str(recall))
