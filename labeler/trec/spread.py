"""How counts per query spread, and how a table names files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labeler.arrays import Integers
from labeler.messages import no_query_in_common
from labeler.trec.index import Index

_GUESSED = 10_000


SPREAD = ("least", "median", "most")


SPREAD_HEADER = ("fewest per query", "median", "most")


def short_names(paths: Sequence[str]) -> list[str]:
    """Paths as a table shows them: without their folders, where that tells them apart."""
    names = [Path(path).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


def spread(ordered: Integers) -> dict[str, int]:
    """The least, the median and the largest of some sorted counts."""
    indices = (0, len(ordered) // 2, -1)
    return {name: int(ordered[index]) for name, index in zip(SPREAD, indices, strict=True)}


def nothing_shared(first: Index, second: Index) -> str:
    """That two files have no query in common, some ids of each, and a guess why."""
    ids = [[name.decode() for name in index.names()[:_GUESSED]] for index in (first, second)]
    return no_query_in_common(first.path, ids[0], second.path, ids[1])
