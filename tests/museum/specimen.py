"""A specimen of the museum: a foreign file, where its shape is known from, and how it is read."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labeler.corpus.documents import read_documents
from labeler.errors import BadInput, FileProblem, Misconfigured, Misuse
from labeler.exchange.qrels import read_qrels
from labeler.exchange.queries import read_query_list
from labeler.exchange.runs import read_run

RECORDED, BY_TOOL, DOCUMENTED, HOSTILE = "recorded", "written by the tool", "documented", "hostile"
ROLES = ("queries", "documents", "grades", "rankings")
TEXTS = {"q1": "red shoes", "q2": "Where do cats sleep?", "q3": "blue hat"}
"""The queries of the collection that a file is brought to."""


@dataclass(frozen=True)
class Specimen:
    """A file of a name and content, and of each role what is read, or a part of the refusal.

    Queries are texts, documents ids (`NAME:*` of passages), grades and rankings dicts by query. A
    role that is not named has to be refused.
    """

    origin: str
    name: str
    content: Any
    read: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = self.content
        if callable(content):
            content(path)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            path.write_text(json.dumps(content), encoding="utf-8")
        return path


def reading(role: str, path: Path) -> Any:
    """What a role's reader makes of a file, or the message of its refusal."""
    try:
        if role == "queries":
            return {query.text for query in read_query_list(path).values()}
        if role == "documents":
            ids = read_documents([str(path)]).documents
            cut = (f"{path.name}:*" if id_.startswith(f"{path.name}:") else id_ for id_ in ids)
            return set(cut)
        if role == "grades":
            return read_qrels(path, queries=TEXTS).as_dict()
        run = read_run(path, queries=TEXTS).as_dict()
        return {
            q: sorted(scores, key=scores.__getitem__, reverse=True) for q, scores in run.items()
        }
    except (BadInput, Misuse, FileProblem, Misconfigured) as error:
        return str(error)


def lines(*rows: Any) -> str:
    """JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(*rows: tuple[Any, ...], by: str = ",") -> str:
    """A table of text."""
    return "".join(by.join(map(str, row)) + "\n" for row in rows)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
