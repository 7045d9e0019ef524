"""How long calls to a server take, before any is made, and what bounds them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from labeler.models.policies.pace import START
from labeler.models.policies.rate import RateLimits

Bound = Literal["rpm", "tpm", "concurrency", "machine"]
"""What lets no more calls through: calls or tokens a minute, calls at once, or this process."""

CALL_SECONDS = 1.0
"""How long one call is thought to take: a short reply of a small model."""

PROCESS_SECONDS = 0.0011
"""CPU seconds of one process for a pair, measured by `scripts/bench_live.py`."""


@dataclass(frozen=True, slots=True)
class Duration:
    """About how many seconds calls take, and what bounds them."""

    seconds: float
    bound: Bound


@dataclass(frozen=True, slots=True)
class CallTimes:
    """How long one call takes at the server, and how much of the process' time it needs."""

    server: float = CALL_SECONDS
    process: float = PROCESS_SECONDS


def duration_of(
    calls: int, tokens: float, limits: RateLimits, times: CallTimes | None = None
) -> Duration:
    """How long so many calls of so many tokens in all take within limits, none of them refused.

    The calls at once grow from a few to as many as are allowed, and the last calls are waited for.
    """
    times = times or CallTimes()
    at_once = max(1, min(limits.at_once, calls))
    seconds: dict[Bound, float] = {
        "rpm": 60 * calls / limits.requests if limits.requests else 0.0,
        "tpm": 60 * tokens / limits.tokens if limits.tokens else 0.0,
        "machine": calls * times.process,
        "concurrency": calls * times.server / at_once,
    }
    bound = max(seconds, key=lambda name: seconds[name])
    rounds = 1 + max(0.0, math.log2(at_once / START)) if bound == "concurrency" else 1.0
    return Duration(seconds[bound] + rounds * times.server if calls else 0.0, bound)
