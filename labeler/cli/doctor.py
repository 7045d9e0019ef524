"""`labeler doctor`: which model would be asked, whether that works, what it would take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeler.cli.model_options import ModelFlags
from labeler.cli.options import OutputFlags
from labeler.cli.output import said_to, show_records
from labeler.cli.screen import how_long, note, say
from labeler.cli.settings import project_path
from labeler.messages import dollars
from labeler.models.settings import Limits
from labeler.options import COUNT, option

if TYPE_CHECKING:
    from pathlib import Path

    from labeler.models.check import TrialCall
    from labeler.models.choose import Choice
    from labeler.models.policies.learn import Abilities

LONGEST_TRIAL = 60.0
"""Seconds that the one call may take."""


def command(
    *,
    who: ModelFlags,
    pairs: int = option(1000, "How many pairs to estimate for.", COUNT),
    limits: Limits,
    output: OutputFlags,
) -> None:
    """Say which model would judge, try one call, estimate the cost."""
    import asyncio

    from labeler.models.check import has_key, try_call
    from labeler.models.choose import choose

    to, settings = output.made_from(), project_path()
    asked, prices = who.asked(), limits.prices
    if output.format == "table":
        with said_to(to):
            say(f"OPENAI_API_KEY   {'set' if has_key() else 'not set'}")
            say(f"settings         {settings or 'no labeler.toml here'}")
            choice = asyncio.run(choose("judge", asked, who.base_url))
            say(f"model            {choice}")
            call = asyncio.run(try_call(choice, min(limits.timeout, LONGEST_TRIAL), note))
            _show_call(call)
            _show_estimate(choice, pairs, prices)
            _show_time(call, pairs)
        return
    choice = asyncio.run(choose("judge", asked, who.base_url))
    record = {
        "has_key": has_key(),
        "settings": str(settings) if settings else None,
        **_record_of(
            choice,
            asyncio.run(try_call(choice, min(limits.timeout, LONGEST_TRIAL), note)),
            pairs,
            prices,
        ),
    }
    show_records([record], output.format, to)


def _record_of(
    choice: Choice, call: TrialCall | None, pairs: int, prices: Path | None
) -> dict[str, Any]:
    """The model, the call for trial and the estimate, for programs."""
    from dataclasses import asdict

    from labeler.models.check import estimate, time_of
    from labeler.wire.addresses import identity

    taken = estimate(choice, pairs, prices)
    return {
        "model": choice.name,
        "address": identity(choice.base_url) if choice.base_url else None,
        "why": choice.why,
        "call_seconds": call.seconds if call else None,
        "accepts": asdict(call.abilities) if call else None,
        "pairs": pairs,
        "tokens_in": taken.tokens_in,
        "tokens_out": taken.tokens_out,
        "cost": taken.cost,
        "seconds": time_of(call, pairs).seconds if call else None,
    }


def _show_call(call: TrialCall | None) -> None:
    if call is None:
        say("test call        none: this assessor asks no server")
        return
    say(f"test call        works ({call.seconds:.1f} s)")
    say(f"it accepts       {_accepts(call.abilities)}")


def _accepts(abilities: Abilities) -> str:
    flags = ("temperature", "stop", "logprobs")
    parameters = [name for name in flags if name not in abilities.refused]
    thinks = ["reasons before it answers"] if abilities.thoughts else []
    return ", ".join([f"replies as {abilities.shape}", abilities.limit, *parameters, *thinks])


def _show_estimate(choice: Choice, pairs: int, prices: Path | None) -> None:
    from labeler.models.check import estimate
    from labeler.models.prices import example_of

    taken = estimate(choice, pairs, prices)
    if taken.price:
        cost = f"about {dollars(taken.cost)}, {taken.price.basis}"
    else:
        cost = "unknown: its price is not listed; --prices FILE can give it"
    say(f"{pairs:,} pairs".ljust(17) + f"{cost} (about {taken.tokens_in:,} tokens in)")
    if not taken.price:
        say(f"such a FILE      {example_of(choice.base_url, choice.name)}")


def _show_time(call: TrialCall | None, pairs: int) -> None:
    """Say how long so many calls like the one for trial take, where nothing limits them."""
    from labeler.models.check import time_of
    from labeler.models.choose import SERVER_CONCURRENCY

    if call is not None:
        about = f"about {how_long(time_of(call, pairs).seconds)}"
        say(f"that takes       {about} with {SERVER_CONCURRENCY} calls at once as long as this one")
