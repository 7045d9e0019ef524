"""An assessor as somebody declares it: the model, the prompt, and what is sent with both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from labeler.models.limits import Limits

Api = Literal["", "chat", "responses", "messages", "ollama"]
"""The wire format of a server; empty where its address says which."""

_SENT = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort", "thinking", "body")


@dataclass(frozen=True, slots=True)
class AssessorSettings:
    """All that is declared of an assessor; what is empty or None is left to the defaults.

    `server` is the address that is asked, `api` its wire format, `key` the name of the environment
    variable with the key. `reader` replaces the prompt's own reader of replies. `thinking` turns a
    model's thoughts off or on, or is the most tokens of them; `reasoning_effort` is the word that
    the provider knows. `body` and `headers` are sent beside everything else, as they are. `context`
    is how many tokens a request and its reply may have together. `tokens_in` and `tokens_out` are
    dollars for a million tokens; `rpm`, `tpm` and `concurrency` bound the calls.
    """

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
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    context: int | None = None
    tokens_in: float | None = None
    tokens_out: float | None = None
    concurrency: int | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is declared of those parameters that a request carries, in this package's names."""
        declared = {name: getattr(self, name) for name in _SENT}
        return {
            n: value for n, value in declared.items() if value is not None and value not in ("", {})
        }
