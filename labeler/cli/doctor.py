"""`labeler doctor`: which model would be asked, whether that works, and what it would cost."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli import options
from labeler.cli.asking import known_price
from labeler.cli.options import Limits
from labeler.cli.progress import dollars
from labeler.cli.screen import say

if TYPE_CHECKING:
    from labeler.model import Model
    from labeler.models.choose import Choice
    from labeler.models.policies.adapt import Abilities

TOKENS_OF_A_PAIR = (400, 10)
"""In and out: what the umbrela prompt and a passage of 200 words take, by a rule of thumb."""


def command(
    model: options.ModelName = None,
    base_url: options.BaseUrl = None,
    pairs: Annotated[int, typer.Option(min=1, help="How many pairs to estimate for.")] = 1000,
    prices: options.Prices = None,
    timeout: options.Seconds = 60.0,
) -> None:
    """Say which model would judge and why, try one call, and estimate the cost."""
    import asyncio

    asyncio.run(examine(model, base_url, pairs, Limits(prices=prices, timeout=timeout)))


async def examine(model: str | None, base_url: str | None, pairs: int, limits: Limits) -> None:
    """Print the findings; what does not work is raised, with what to do about it."""
    from labeler.models.choose import choose, ready

    key = "set" if os.environ.get("OPENAI_API_KEY") else "not set"
    say(f"OPENAI_API_KEY   {key}")
    choice = await choose("judge", model, base_url)
    say(f"model            {choice}")
    async with ready(choice, (), limits.timeout) as there:
        if there.model.is_server:
            try:
                await _try_a_call(there.model)
            finally:
                await there.model.close()
        else:
            say("test call        none: this judge asks no server")
    _show_cost(choice, pairs, limits)


async def _try_a_call(model: Model) -> None:
    from labeler.models.policies.adapt import probe
    from labeler.models.policies.first_contact import strict_at_first
    from labeler.models.policies.retry import Patience, retried

    began = time.monotonic()
    found = await probe(retried(strict_at_first(model), Patience(tries=2)))
    say(f"test call        works ({time.monotonic() - began:.1f} s)")
    say(f"it accepts       {_accepts(found)}")


def _accepts(found: Abilities) -> str:
    flags = ("temperature", "seed", "stop", "logprobs")
    named = [name for name in flags if getattr(found, name)]
    thinks = ["reasons before it answers"] if found.thinks else []
    return ", ".join([f"replies as {found.shape}", found.limit, *named, *thinks])


def _show_cost(choice: Choice, pairs: int, limits: Limits) -> None:
    from labeler.models.prices import example_of

    price = known_price(choice, limits)
    tokens_in, tokens_out = (pairs * tokens for tokens in TOKENS_OF_A_PAIR)
    if price:
        cost = f"about {dollars(price.of(tokens_in, tokens_out))}, {price.said}"
    else:
        cost = "unknown: no price of it is known; --prices FILE can say it"
    say(f"{pairs:,} pairs".ljust(17) + f"{cost} (about {tokens_in:,} tokens in)")
    if not price:
        say(f"such a FILE      {example_of(choice.base_url, choice.name)}")
