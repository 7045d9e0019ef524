"""What a run may take of a server and of an account."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take of a server and of an account; None is no limit.

    `rpm` and `tpm` bound the calls begun and the tokens used in a minute. `max_calls`,
    `max_tokens`, `max_cost` (dollars) and `deadline` (seconds) end the run before they are
    exceeded; `prices` is a file of prices that come before the shipped ones. `timeout` is the
    longest that a call may take, `patience` the longest that one request is retried, both in
    seconds, and `tries` the calls for one request before it has failed.
    """

    rpm: float | None = None
    tpm: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    deadline: float | None = None
    prices: Path | None = None
    timeout: float = 600.0
    patience: float = 900.0
    tries: int = 8
