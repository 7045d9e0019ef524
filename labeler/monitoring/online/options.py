"""How clicks are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from labeler.errors import Misuse


@dataclass(frozen=True)
class OnlineOptions:
    """How clicks are read.

    `depth` is how many ranks are looked at. A click is satisfied whose document was looked at for
    `satisfied` seconds or more. A search within `reformulated` minutes after another of the same
    visit, with other words but one of them the same, reformulates that. `shares` are the users that
    each variant was meant to have, equal ones where none are given.
    """

    depth: int = 10
    satisfied: float = 30.0
    reformulated: float = 5.0
    shares: Mapping[str, float] = field(default_factory=dict, hash=False)
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= 100:
            raise Misuse("expected a depth from 1 to 100", parameter="depth")
        for name in ("satisfied", "reformulated"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise Misuse("expected a number from 0", parameter=name)
        if any(not (math.isfinite(share) and share > 0) for share in self.shares.values()):
            raise Misuse("expected shares above 0", parameter="shares")
