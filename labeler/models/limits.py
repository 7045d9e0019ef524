"""What a run may take of a server and of an account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from labeler.errors import Misuse
from labeler.files.numbers import LARGEST_AMOUNT, finite


@dataclass(frozen=True, slots=True)
class Proof:
    """What a run has to show before all its pairs are paid for, and while they are.

    A run of many pairs begins with a pilot of a few, unless `no_pilot`. It ends where the share of
    them without a grade exceeds `max_failed`, or later that of the latest pairs, as far as chance
    does not explain it; 1 ends no run. Without a pilot, it ends where all the latest pairs fail.
    """

    max_failed: float = 0.1
    no_pilot: bool = False

    def __post_init__(self) -> None:
        if finite(self.max_failed, 0, 1) is None:
            problem = f"expected a share from 0 to 1, found {self.max_failed!r:.40}"
            raise Misuse(problem, parameter="max_failed")


LEAST: Mapping[str, float] = MappingProxyType(
    {"rpm": 0.001, "tpm": 0.001, "timeout": 0.001, "tries": 1}
)
"""The least of those limits that 0 would let nothing through."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take of a server and of an account; None is no limit.

    `rpm` and `tpm` bound the calls begun and the tokens used in a minute. `max_calls`,
    `max_tokens`, `max_cost` (dollars) and `deadline` (seconds) end the run before they are
    exceeded; `prices` is a file of prices that come before the shipped ones. `timeout` is the
    longest that a call may take, `patience` the longest that one request is retried, both in
    seconds, and `tries` the calls for one request before it has failed.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"strict": True, "extra": "forbid"}

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

    def __post_init__(self) -> None:
        for limit in fields(self):
            value, least = getattr(self, limit.name), LEAST.get(limit.name, 0)
            if limit.name == "prices" or value is None:
                continue
            if finite(value, least, LARGEST_AMOUNT) is None:
                problem = f"expected a number from {least:g}, found {value!r:.40}"
                raise Misuse(problem, parameter=limit.name)

    def over(self, lower: Limits) -> Limits:
        """These limits, and where one of them is the default, that of `lower`."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(lower, **{n: v for n, v in given.items() if v != getattr(_DEFAULTS, n)})


_DEFAULTS = Limits()
