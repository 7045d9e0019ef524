"""What is sent to a server, in its own words: where to, with which headers, and the body.

The words stand in `servers.toml`. A request's parameters have the names of chat completions, and
`reasoning_effort`, `thinking` and `body`, which is merged into what is sent as it is.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from labeler.errors import Misconfigured
from labeler.model import Request
from labeler.models.settings import AssessorSettings
from labeler.models.tokens import about

_WAYS = ("reasoning_effort", "on", "off", "budget")
_LEAST_CONTEXT, _USUAL_REPLY = 8192, 1024
"""Tokens that Ollama is told to make room for."""


@dataclass(frozen=True, slots=True)
class WireFormat:
    """How a server is asked: `words` say what is sent for what is declared, below `address`."""

    api: str
    server: str
    address: str
    words: Mapping[str, Any]
    more_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    context: int | None = None

    @property
    def identity(self) -> str:
        """What answers depend on beside the address, the model and the request; often nothing."""
        context = self.context if "context" in self.words else None
        if self.api == "chat" and not self.more_headers:
            return ""
        text = json.dumps([sorted(self.more_headers.items()), context])
        return f" {self.api}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key, and those that were declared."""
        return {**_filled(self.words["headers"], key), **self.more_headers}

    def body(self, name: str, request: Request) -> dict[str, Any]:
        """What is sent for a request to the model `name`."""
        parameters = dict(request.parameters)
        more, thinking = parameters.pop("body", {}), parameters.pop("thinking", None)
        budget = thinking if type(thinking) is int else 0
        way = "budget" if budget else "on" if thinking else "off"
        declared = parameters if thinking is None else {way: thinking, **parameters}
        turns = [{"role": role, "content": content} for role, content in request.messages]
        if "system" in self.words:
            declared["system"] = "\n\n".join(t["content"] for t in turns if t["role"] == "system")
            turns = [turn for turn in turns if turn["role"] != "system"]
        if "context" in self.words:
            room = about(request).times(1.5).inside + (about(request).outside or _USUAL_REPLY)
            declared["context"] = self.context or max(_LEAST_CONTEXT, 1 << room.bit_length())
        if request.schema is not None:
            declared["schema"] = dict(request.schema)
        body = {"model": name, **_filled(self.words["turns"], turns)}
        for what, value in declared.items():
            if what in self.words or what in _WAYS:
                body = merged(body, self._sent_for(what, value))
            elif self.api == "chat":
                body[what] = value
        if budget >= body.get("max_tokens", budget + 1):  # which has to be more than the thoughts
            body["max_tokens"] += budget
        return merged(body, more)

    def _sent_for(self, what: str, value: object) -> dict[str, Any]:
        """What is sent for something that is declared; nothing for an empty text."""
        if what not in self.words:
            ways = ", ".join(way for way in _WAYS if way in self.words) or "nothing"
            problem = f"{self.server}: thoughts are not set by {what} in {self.api}, but by: {ways}"
            raise Misconfigured(f"{problem}; or give its own words in body", parameter="thinking")
        return {} if value == "" else _filled(self.words[what], value)


def wire_format(address: str, settings: AssessorSettings | None = None) -> WireFormat:
    """How the server at an address is asked: as declared, else as its address says."""
    settings = settings or AssessorSettings()
    base, mark, query = address.partition("?")
    host = urlsplit(base).netloc.lower()
    server = next(s for s in _tables()["server"] if host.endswith(tuple(s["hosts"])))
    is_compatible = server["name"] == "Ollama" and base.endswith("/v1")
    api = settings.api or ("chat" if is_compatible else server.get("api", "chat"))
    words = _tables()["api"][api]
    words = {**words, **{n: server[n] for n in server if api == "chat" or n == "headers"}}
    address = base.rstrip("/").removesuffix(words.get("ending", "?")) + mark + query
    return WireFormat(api, server["name"], address, words, settings.headers, settings.context)


@cache
def _tables() -> dict[str, Any]:
    """What is known of wire formats and of servers."""
    return tomllib.loads(Path(__file__).with_name("servers.toml").read_text(encoding="utf-8"))


def _filled(template: Any, value: Any) -> Any:
    """A template with the value in its place."""
    if isinstance(template, dict):
        return {name: _filled(part, value) for name, part in template.items()}
    if isinstance(template, list):
        return [_filled(part, value) for part in template]
    if isinstance(template, str) and isinstance(value, str):
        return template.replace("$", value)
    return value if template == "$" else template


def merged(body: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A body with more in it; where both have an object under a name, these become one."""
    both = {n for n, value in more.items() if isinstance(value, dict) and n in body}
    return {**body, **more, **{n: merged(body[n], more[n]) for n in both}}
