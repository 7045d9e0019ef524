"""What models cost: one dated file of prices, and the user's own over it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from labeler.errors import BadInput

SHIPPED = Path(__file__).parent / "prices.toml"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens, in and out, and the day on which that was looked up."""

    tokens_in: float
    tokens_out: float
    as_of: str = ""

    @property
    def said(self) -> str:
        """Where the price comes from; one of no day is that of a model on this machine."""
        return f"at prices of {self.as_of}" if self.as_of else "it runs here"

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens cost."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1_000_000


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    tokens_in: float
    tokens_out: float


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: str
    hosts: dict[str, dict[str, _Entry]]


def price_of(address: str | None, model: str, own: Path | None = None) -> Price | None:
    """The price of a model at an address; the user's file comes first; None where it is unknown.

    A model without an address is embedded, and costs nothing.
    """
    if address is None:
        return Price(0.0, 0.0)
    host = urlsplit(address).hostname or ""
    for path in (own, SHIPPED):
        if path is not None:
            file = _read(path)
            entry = file.hosts.get(host, {}).get(model)
            if entry is not None:
                return Price(entry.tokens_in, entry.tokens_out, file.as_of)
    return None


def example_of(address: str | None, model: str) -> str:
    """The lines of a file of prices that would say a model's, to be filled in."""
    host = urlsplit(address or "").hostname or ""
    lines = (
        "as_of = 'DAY'",
        f"[hosts.'{host}']",
        f"'{model}' = {{ tokens_in = X, tokens_out = Y }}",
    )
    return "\n                 ".join(lines)


def _read(path: Path) -> _File:
    try:
        return _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError, UnicodeDecodeError) as error:
        first = str(error).replace("\n", " ")[:200]
        example = 'as_of = "2026-01-31" and [hosts."api.example.com"] with lines such as'
        line = "model = { tokens_in = 0.4, tokens_out = 1.6 }"
        raise BadInput(f"{path}: expected {example} {line} ({first})") from error
