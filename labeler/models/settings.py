"""An assessor as somebody declares it: the model, the prompt, and what is sent with both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from labeler.errors import Misuse
from labeler.files.boundary import LARGEST_AMOUNT, finite
from labeler.model import Model

# What a run may take of a server and of an account.


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


Api = Literal["", "chat", "responses", "messages", "ollama"]
"""The wire format of a server; empty where its address says which."""

_SENT = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort", "thinking", "body")
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "max_tokens": (1, 1_000_000),
    "context": (256, 100_000_000),
    "thinking": (0, 1_000_000),
    "tokens_in": (0, 1e6),
    "tokens_out": (0, 1e6),
    "concurrency": (1, 4096),
}
_OURS = frozenset(["model", "messages", "input", "system", "instructions", "stream", "n"])
"""What a request's body holds that no declaration may replace."""


@dataclass(frozen=True, slots=True)
class AssessorSettings:
    """All that is declared of an assessor; what is empty or None is left to the defaults.

    `server` is the address that is asked, `api` its wire format, `key` the name of the environment
    variable with the key. `reader` replaces the prompt's own reader of replies. `thinking` turns a
    model's thoughts off or on, or is the most tokens of them; `reasoning_effort` is the word that
    the provider knows. `body` and `headers` are sent beside everything else, as they are. `context`
    is how many tokens a request and its reply may have together. `tokens_in` and `tokens_out` are
    dollars for a million tokens; `concurrency` and `limits` bound the calls. `file` is where it was
    declared, empty where that was in a call.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"strict": True, "extra": "forbid"}

    name: str = ""
    model: str = ""
    server: str = ""
    api: Api = ""
    key: str = ""
    prompt: str = ""
    reader: str = ""
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    reasoning_effort: str = ""
    thinking: bool | int | None = None
    body: Mapping[str, Any] = field(default_factory=dict, hash=False)
    headers: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    context: int | None = None
    tokens_in: float | None = None
    tokens_out: float | None = None
    concurrency: int | None = None
    limits: Limits = field(default_factory=Limits)
    file: str = ""

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None and finite(float(value), least, most) is None:
                problem = f"expected a number from {least:g} to {most:g}, found {value!r:.40}"
                raise Misuse(problem, parameter=name)
        if (self.tokens_in is None) is not (self.tokens_out is None):
            raise Misuse("a price is tokens_in and tokens_out, both", parameter="tokens_in")
        if taken := _OURS & self.body.keys():
            raise Misuse(f"{min(taken)!r} is what labeler itself sends", parameter="body")

    def to_share(self) -> AssessorSettings:
        """The same for a file that others read: without the name, the place and the key."""
        return replace(self, name="", server="", key="", file="", limits=Limits(), concurrency=None)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is declared of those parameters that a request carries, in this package's names."""
        declared = {name: getattr(self, name) for name in _SENT}
        return {name: value for name, value in declared.items() if value not in (None, "", {})}


AnyModel = str | Model | AssessorSettings
"""What can be asked: a model's name, as `choose` takes it, a model itself, or what is declared."""
