"""What calls take and cost: tokens, before a server has counted them, and dollars."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from math import ceil
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from labeler.model import Request
from labeler.wire.addresses import OPENAI

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices

# What models cost, where nobody declares it: the list that `genai-prices` keeps.
#
# That list comes with the package, and is read from it: nothing is asked over the network. It
# counts only for the provider's own address: a server of another name has no price until one is
# declared.

_NAMED_BY_USERS = {"azure", "databricks", "modal"}
"""Providers whose models bear the names that users gave them, so that a name tells no price."""

_CHARGED_BESIDE = ("requests_kcount", "output_reasoning_mtok", "output_citation_mtok")
"""What is charged for a chat beside its tokens; a model with such a price has none that we know."""


class Tier(NamedTuple):
    """Dollars for a million tokens of a call with more tokens in than `above`."""

    above: int
    tokens_in: float
    tokens_out: float


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens, in and out, and as of when: a day, or the version of a list.

    `tiers` hold what longer calls cost, those of the longest first; `cached` is the share of
    `tokens_in` that is asked for tokens which the server had ready from an earlier call. Of all
    that, `share` is asked.
    """

    tokens_in: float
    tokens_out: float
    as_of: str = ""
    tiers: tuple[Tier, ...] = ()
    cached: float = 1.0
    share: float = 1.0

    @property
    def basis(self) -> str:
        """Where the price comes from; one of no day is that of a model on this machine."""
        return f"at prices of {self.as_of}" if self.as_of else "it runs here"

    def of(self, tokens_in: int, tokens_out: int, calls: int = 1, cached: int = 0) -> float:
        """The cost of these tokens over `calls` equal calls; `cached` of those in were cached."""
        rate = next((tier for tier in self.tiers if tokens_in > tier.above * calls), self)
        charged = tokens_in - cached * (1 - self.cached)
        return (charged * rate.tokens_in + tokens_out * rate.tokens_out) * self.share / 1_000_000


BATCH_SHARE = 0.5
"""What OpenAI asks for a request in a batch, as a share of the price of a call (2026)."""


def batch_price(price: Price, address: str | None) -> Price:
    """What a request costs in a batch: OpenAI asks half; of others nobody says that it is less."""
    is_openai = urlsplit(address or OPENAI).hostname == urlsplit(OPENAI).hostname
    return replace(price, share=BATCH_SHARE) if is_openai else price


def price_of(address: str | None, model: str, *, writes: bool = True) -> Price | None:
    """The price of a model at an address, as listed; None where it is unknown.

    One that does not write, as an encoder, needs no price of what it writes. A model without an
    address is embedded, and costs nothing.
    """
    if address is None:
        return Price(0.0, 0.0)
    host = urlsplit(address).hostname or ""
    if "." not in host or host[-1].isdigit():  # of a local network, or a bare IP address
        return None
    from importlib.metadata import version

    from genai_prices.data import providers

    for provider in providers:
        if provider.id not in _NAMED_BY_USERS and _is_at(provider, address):
            info = provider.find_model(model.lower(), all_providers=providers)
            if info is not None:
                return _price(info, f"genai-prices {version('genai-prices')}", writes=writes)
    return None


def _is_at(provider: Provider, address: str) -> bool:
    """Whether an address is a provider's; its pattern must not end inside a longer host name."""
    match = re.match(provider.api_pattern, address)
    if not match:
        return False
    return match[0].endswith(("/", ".")) or address[match.end() :][:1] in {"", "/", ":"}


def _price(info: ModelInfo, as_of: str, *, writes: bool) -> Price | None:
    """The price of a call, where tokens are all that is charged; the highest of a day's."""
    prices = [
        price
        for price in _prices_of_today(info)
        if price.input_mtok is not None and (price.output_mtok is not None or not writes)
        if all(getattr(price, name) is None for name in _CHARGED_BESIDE)
    ]
    if not prices:
        return None
    highest = max(prices, key=lambda price: (_at(price.output_mtok), _at(price.input_mtok)))
    starts = sorted({*_starts(highest.input_mtok), *_starts(highest.output_mtok)}, reverse=True)
    rate_in, rate_out = highest.input_mtok, highest.output_mtok
    tiers = tuple(Tier(n, _at(rate_in, n + 1), _at(rate_out, n + 1)) for n in starts)
    ready, full = _at(highest.cache_read_mtok), _at(rate_in)
    return Price(full, _at(rate_out), as_of, tiers, ready / full if 0 < ready < full else 1.0)


def _prices_of_today(info: ModelInfo) -> list[ModelPrice]:
    """The prices that hold today, at any hour of it."""
    from genai_prices.types import TimeOfDateConstraint

    now = info.get_prices(datetime.now(UTC))
    if not isinstance(info.prices, list):
        return [now]
    return [now, *[p.prices for p in info.prices if isinstance(p.constraint, TimeOfDateConstraint)]]


def _at(rate: Decimal | TieredPrices | None, tokens_in: int = 0) -> float:
    """A rate for a call with so many tokens in."""
    if rate is None or isinstance(rate, Decimal):
        return float(rate or 0)
    prices = [rate.base, *(tier.price for tier in rate.tiers if tokens_in > tier.start)]
    return float(prices[-1])


def _starts(rate: Decimal | TieredPrices | None) -> list[int]:
    """The lengths of calls beyond which a rate is another."""
    return [] if rate is None or isinstance(rate, Decimal) else [tier.start for tier in rate.tiers]


BYTES_OF_A_TOKEN = 4
"""A rule of thumb: four letters of English, or a bit more than one character of Chinese."""

FEWEST_BYTES = 3
"""What a token holds at least in texts of any length, on average, in any script."""

OF_A_TURN, OF_A_REQUEST = 8, 16
"""Tokens at most that a chat template puts around each message, and around all of them."""

UNBOUNDED = 1024
"""Tokens reserved for a reply that nothing bounds, until one was longer."""


class Tokens(NamedTuple):
    """Tokens of the request, and of the reply."""

    inside: int
    outside: int

    def plus(self, tokens: Tokens) -> Tokens:
        """The sum of both."""
        return Tokens(self.inside + tokens.inside, self.outside + tokens.outside)

    def times(self, factor: float) -> Tokens:
        """So many times both, rounded up."""
        return Tokens(ceil(self.inside * factor), ceil(self.outside * factor))


NOTHING = Tokens(0, 0)


class Sizes(NamedTuple):
    """What a request takes: about, with the most that its reply may, and at most."""

    about: Tokens
    at_most: Tokens


def sizes_of(request: Request) -> Sizes:
    """What a request takes; no tokenizer that works on bytes makes more of a text than it has."""
    turns = contents = 0
    for role, content in request.messages:
        turns += _size(role) + OF_A_TURN
        contents += _size(content)
    sent = request.parameters
    limit = sent.get("max_completion_tokens", sent.get("max_tokens"))
    likely, most = (limit, limit) if isinstance(limit, int) else (0, UNBOUNDED)
    schema = _size(json.dumps(request.schema, default=dict)) if request.schema else 0
    whole = Tokens(turns + contents + schema + OF_A_REQUEST, most)
    return Sizes(Tokens(contents // BYTES_OF_A_TOKEN, likely), whole)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(slots=True)
class Reported:
    """The most that a server has said calls took: it may add a prompt of its own to each.

    `size` is the largest request that it said so of, in tokens at most.
    """

    size: int = 0
    inside: int = 0
    outside: int = 0

    def learn(self, most: Tokens, used: Tokens) -> None:
        """Take in what the server says of a call that was thought to take `most`."""
        self.size = max(self.size, most.inside)
        self.inside = max(self.inside, used.inside)
        self.outside = max(self.outside, used.outside)

    def bound(self, most: Tokens) -> Tokens:
        """At least what was reported of any call of this run, and more for a longer request."""
        if not self.size:
            return most
        longer = max(0, most.inside - self.size) // FEWEST_BYTES
        inside = max(most.inside, self.inside + longer)
        return Tokens(inside, max(most.outside, self.outside))


def sum_of(costs: list[float | None]) -> float | None:
    """The sum of costs, unknown where one of them is."""
    dollars = [cost for cost in costs if cost is not None]
    return sum(dollars, 0.0) if len(dollars) == len(costs) else None
