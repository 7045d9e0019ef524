"""Options that say which passages are asked about."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.numbers import COUNT, COUNT_OR_NONE, SHARE, number
from labeler.cli.options import OPTIONS_OF
from labeler.queries.set_aside import PassageRules, reasons

PASSAGES = "Passages to ask about"

_MIN_WORDS = "A shorter passage rarely answers a query on its own."
_CODE = "One with a larger share of code gives queries about names in that code."
_LIST = "One with a larger share of entries without a sentence is a table of contents."
_DUPLICATE = "Passages that share so many of their runs of five words answer the same queries."
_BOILERPLATE = "A line that stands in so many files belongs to none of them."
_ASK_ABOUT = f"Set nothing aside for this reason; may be repeated: {', '.join(reasons())}."

OPTIONS_OF[PassageRules] = {
    "min_words": Annotated[int, number(COUNT_OR_NONE, help=_MIN_WORDS, rich_help_panel=PASSAGES)],
    "code_share": Annotated[float, number(SHARE, help=_CODE, rich_help_panel=PASSAGES)],
    "list_share": Annotated[float, number(SHARE, help=_LIST, rich_help_panel=PASSAGES)],
    "duplicate_share": Annotated[float, number(SHARE, help=_DUPLICATE, rich_help_panel=PASSAGES)],
    "boilerplate_files": Annotated[int, number(COUNT, help=_BOILERPLATE, rich_help_panel=PASSAGES)],
    "ask_about": Annotated[
        list[str], typer.Option(metavar="REASON", help=_ASK_ABOUT, rich_help_panel=PASSAGES)
    ],
}
