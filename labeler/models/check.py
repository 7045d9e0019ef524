"""Whether a model can be asked: which one it would be, a call for trial, and an estimate."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from labeler.models.call_plan import CallTimes, Duration, duration_of
from labeler.models.choose import SERVER_CONCURRENCY, Choice, ready
from labeler.models.policies.call import asked_through
from labeler.models.policies.learn import Abilities, probe
from labeler.models.policies.rate import RateLimits
from labeler.models.policies.stack import Confirming, FirstContact, Patience, Retrying
from labeler.models.prices import Price
from labeler.models.server.client import Calls

TOKENS_OF_A_PAIR = (400, 10)
"""In and out: what the four-grades prompt and a passage of 200 words take, by a rule of thumb."""


@dataclass(frozen=True, slots=True)
class TrialCall:
    """A call that worked: the seconds that it took, and what the server accepts."""

    seconds: float
    abilities: Abilities


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """About what judging so many pairs takes; the price is None where it is not known."""

    pairs: int
    tokens_in: int
    tokens_out: int
    price: Price | None

    @property
    def cost(self) -> float | None:
        """About what it costs in dollars."""
        return self.price.of(self.tokens_in, self.tokens_out, self.pairs) if self.price else None


def has_key() -> bool:
    """Whether the environment holds a key."""
    return bool(os.environ.get("OPENAI_API_KEY"))


async def try_call(
    choice: Choice, timeout: float = 60.0, note: Callable[[str], None] = lambda _message: None
) -> TrialCall | None:
    """Ask a model once, and find out what its server accepts; None where no server stands behind.

    What does not work is raised, with what to do about it; `note` is given what a person should
    know meanwhile.
    """
    async with ready(choice, (), Calls.watched(timeout, note)) as started:
        if not started.model.is_server:
            return None
        began = time.monotonic()
        try:
            policies = [Retrying(Patience(tries=2)), Confirming(), FirstContact()]
            abilities = await probe(asked_through(policies, started.model))
        finally:
            await started.model.close()
        return TrialCall(time.monotonic() - began, abilities)


def estimate(choice: Choice, pairs: int) -> CostEstimate:
    """About what judging so many pairs takes."""
    tokens_in, tokens_out = (pairs * tokens for tokens in TOKENS_OF_A_PAIR)
    return CostEstimate(pairs, tokens_in, tokens_out, choice.price)


def time_of(call: TrialCall, pairs: int) -> Duration:
    """About how long judging so many pairs takes, if each call takes as long as the one for trial.

    As many are asked at once as usual, and no limit a minute is known of.
    """
    tokens = pairs * sum(TOKENS_OF_A_PAIR)
    return duration_of(pairs, tokens, RateLimits(SERVER_CONCURRENCY), CallTimes(call.seconds))
