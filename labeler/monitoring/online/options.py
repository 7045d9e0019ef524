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
    visit, with other words but one of them the same, reformulates that. `clip` is the most that a
    click counts in a counterfactual estimate. `shares` are the users that each variant was meant to
    have, equal ones where none are given. Propensities are estimated from `most_pairs` pairs of a
    query and a document at most: beyond that from those of a part of the queries, drawn by chance.
    """

    depth: int = 10
    satisfied: float = 30.0
    reformulated: float = 5.0
    clip: float = 10.0
    shares: Mapping[str, float] = field(default_factory=dict, hash=False)
    seed: int = 0
    most_pairs: int = 1_000_000

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= 100:
            raise Misuse("expected a depth from 1 to 100", parameter="depth")
        for name, least in (("satisfied", 0.0), ("reformulated", 0.0), ("clip", 1.0)):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= least):
                raise Misuse(f"expected a number from {least:g}", parameter=name)
        if any(not (math.isfinite(share) and share > 0) for share in self.shares.values()):
            raise Misuse("expected shares above 0", parameter="shares")
        if self.most_pairs < 1000:
            raise Misuse("expected 1,000 or more", parameter="most_pairs")
