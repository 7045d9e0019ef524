"""What of a collection is exported, and what a format cannot hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from labeler.data import Documents, Qrels, Query, Run
from labeler.errors import BadInput
from labeler.files.atomic import replacing
from labeler.messages import count_of

Write = Callable[[Path], object]
"""Writes one file of an export."""

Files = dict[str, Write]
"""The files of an export by their names."""


class Content(NamedTuple):
    """A collection's texts and grades; every pair of the qrels has both of its texts here.

    `runs` are those to export with it.
    """

    name: str
    documents: Documents
    queries: Mapping[str, Query]
    qrels: Qrels
    runs: Mapping[str, Run]

    def grades(self) -> Iterator[tuple[str, str, int]]:
        """Query, document and grade of every pair, sorted by query and document."""
        for query_id, grades in sorted(self.qrels.items()):
            for doc_id, grade in sorted(grades.items()):
                yield query_id, doc_id, grade


class Export(NamedTuple):
    """The files of a format by their names, who reads it how, and what it loses of a content.

    `reader` is one line with `{}` for the file or the folder. With `takes_runs`, runs are exported
    too.
    """

    files: Callable[[Content], Files]
    reader: str
    losses: Callable[[Content], list[str]] = lambda _content: []
    takes_runs: bool = False
    keeps_negative: bool = False


def lost(count: int, singular: str, plural: str, what: str) -> list[str]:
    """`3 texts lose their tabs`; nothing where the count is 0."""
    return [f"{count_of(count, singular, plural)} {what}"] if count else []


def write_text(path: Path, parts: Iterable[str]) -> None:
    """Write a text that comes in parts."""
    with replacing(path) as out:
        out.writelines(parts)


def write_json(path: Path, value: object) -> None:
    """Write one JSON value, in ASCII, which every reader's encoding holds."""
    write_text(path, [json.dumps(value, indent=1), "\n"])


def refuse_equal_texts(content: Content, tool: str) -> None:
    """`BadInput` where two judged queries have one text, by which the tool knows them."""
    first_by_text: dict[str, str] = {}
    for query_id in content.qrels:
        text = content.queries[query_id].text
        first = first_by_text.setdefault(text, query_id)
        if first != query_id:
            raise BadInput(
                f"the queries {first} and {query_id} have one text, {text[:60]!r}, by which {tool} "
                "knows them; export one of them"
            )


# The names of the formats of exports, for whoever offers a choice of them.

FormatName = Literal["beir", "mteb", "trec", "hf", "quepid", "opensearch"]
"""The names of `EXPORTS` in `exchange/export/formats.py`."""
