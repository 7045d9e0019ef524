"""What `pool` and `judge` share of expanding a pool round after round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labeler.errors import Misuse
from labeler.options import COUNT, Option

EXPANDING = "Round after round"

NEIGHBORS = Option("Neighbors of each, by BM25 and by vectors.", COUNT, panel=EXPANDING)

NEIGHBORS = 5
UNTIL = 0.05
REL = 1
MAX_ROUNDS = 10

_USUAL = {"neighbors": NEIGHBORS, "until": UNTIL, "rel": REL, "max_rounds": MAX_ROUNDS}


def check_expanded(expands: bool, settings: Mapping[str, Any]) -> None:
    """`Misuse` where a setting of rounds is given, and nothing is to be expanded."""
    given = [name for name, value in settings.items() if value and value != _USUAL.get(name)]
    if given and not expands:
        raise Misuse("it says how --expand goes on, which is not given", parameter=given[0])
