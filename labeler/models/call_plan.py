"""What calls would take, before any is made."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from labeler.messages import Note
from labeler.model import Request
from labeler.models.choose import SERVER_CONCURRENCY, Choice, ready
from labeler.models.cost import Price, Tokens, sizes_of
from labeler.models.policies.call import asked_through
from labeler.models.policies.learn import PROBE_TOKENS, PROBES, Abilities, probe
from labeler.models.policies.limits import START, RateLimits
from labeler.models.policies.retry import Patience, Retrying
from labeler.models.policies.stack import Confirming
from labeler.models.server.client import MUTE_SECONDS, Calls
from labeler.models.session import Session

# How long calls to a server take, before any is made, and what bounds them.

Bound = Literal["rpm", "tpm", "concurrency", "machine"]
"""What lets no more calls through: calls or tokens a minute, calls at once, or this process."""

CALL_SECONDS = 1.0
"""How long one call is thought to take: a short reply of a small model."""

PROCESS_SECONDS = 0.0011
"""CPU seconds of one process for a pair, measured by `scripts/bench_live.py`."""


class Duration(NamedTuple):
    """About how many seconds calls take, and what bounds them."""

    seconds: float
    bound: Bound


class CallTimes(NamedTuple):
    """How long one call takes at the server, and how much of the process' time it needs."""

    server: float = CALL_SECONDS
    process: float = PROCESS_SECONDS


def duration_of(
    calls: int, tokens: float, limits: RateLimits, times: CallTimes | None = None
) -> Duration:
    """How long `calls` calls of `tokens` tokens in all take within limits, none of them refused.

    The calls at once grow from a few to as many as are allowed, and the last calls are waited for.
    """
    times = times or CallTimes()
    at_once = max(1, min(limits.at_once, calls))
    seconds: dict[Bound, float] = {
        "rpm": 60 * calls / limits.requests if limits.requests else 0.0,
        "tpm": 60 * tokens / limits.tokens if limits.tokens else 0.0,
        "machine": calls * times.process,
        "concurrency": calls * times.server / at_once,
    }
    bound = max(seconds, key=lambda name: seconds[name])
    rounds = 1 + max(0.0, math.log2(at_once / START)) if bound == "concurrency" else 1.0
    return Duration(seconds[bound] + rounds * times.server if calls else 0.0, bound)


@dataclass(frozen=True, slots=True)
class CallPlan:
    """How many calls there would be, each right at the first attempt, and what they would take.

    `about` is the tokens of all of them, as so many pairs took before that were `learned` from, or
    with replies of full length. There are `requests` at most, each of which is asked `tries` times
    where its replies are of no use; all that takes `at_most` so many tokens, thoughts included.
    `price` is None where it is not known; `needs_probe` is true where one more call before them
    finds out what the server accepts; `example` is one of the requests, or what would be asked were
    it not remembered. `limits` are those within which a server is asked, None where none is asked
    live. Where nobody knows whether the model thinks, `unthinking` are the tokens at most if it
    does not.
    """

    calls: int
    about: Tokens
    at_most: Tokens
    price: Price | None = None
    needs_probe: bool = False
    example: Request | None = None
    requests: int = 0
    tries: int = 1
    limits: RateLimits | None = None
    learned: int = 0
    unthinking: Tokens | None = None

    @property
    def duration(self) -> Duration | None:
        """About how long the calls take, if each takes a second; None where no server is asked."""
        return duration_of(self.calls, sum(self.about), self.limits) if self.limits else None

    @property
    def most_calls(self) -> int:
        """How many calls there would be at most; a call that fails counts once."""
        return self.requests * self.tries

    @property
    def about_cost(self) -> float | None:
        """About what the calls cost in dollars."""
        return self.price.of(*self.about, self.calls) if self.price else None

    @property
    def at_most_cost(self) -> float | None:
        """What all requests cost in dollars at most, with re-asks and thoughts."""
        return self._most_cost(self.at_most)

    @property
    def unthinking_cost(self) -> float | None:
        """The same if the model does not think, where nobody knows that."""
        return self._most_cost(self.unthinking) if self.unthinking else None

    def _most_cost(self, tokens: Tokens) -> float | None:
        return self.price.of(*tokens, self.most_calls) if self.price else None

    def times(self, likely: float, most: float) -> CallPlan:
        """The plan with `likely` times its likely calls, and `most` times its calls at most."""
        return replace(
            self,
            calls=round(self.calls * likely),
            about=self.about.times(likely),
            requests=round(self.requests * most),
            at_most=self.at_most.times(most),
            unthinking=self.unthinking and self.unthinking.times(most),
        )

    def as_json(self) -> dict[str, Any]:
        """The figures by name; a cost that is not known is None."""
        return {
            "calls": self.calls,
            "calls_at_most": self.most_calls,
            "tokens_in": self.about.inside,
            "tokens_out": self.about.outside,
            "tokens_out_at_most": self.at_most.outside,
            "cost": self.about_cost,
            "cost_at_most": self.at_most_cost,
            "cost_at_most_without_thoughts": self.unthinking_cost,
            "seconds": self.duration.seconds if self.duration else None,
            "bound": self.duration.bound if self.duration else None,
        }


def plan_calls(
    requests: Iterable[Request],
    session: Session,
    example: Request | None = None,
    *,
    likely: int | None = None,
    tries: int = 1,
) -> CallPlan:
    """What these requests would take, of which the first `likely` ones suffice if all goes well.

    The first of them is the example where none is given. Equal requests are one call.
    """
    calls = 0
    estimate, most, asked = Tokens(0, 0), Tokens(0, 0), set[int]()
    reported = session.guard.budget.reported
    for number, request in enumerate(requests):
        example = example or request
        key = hash((request.messages, request.repeat, request.attempt))
        if key in asked:
            continue
        asked.add(key)
        usual, whole = sizes_of(request)
        inside, outside = reported.bound(whole)
        # each try may have twice the tokens of the one before for its reply
        most = most.plus(Tokens(tries * inside, (2**tries - 1) * outside))
        if likely is None or number < likely:
            calls, estimate = len(asked), estimate.plus(usual)
    probes = PROBES if session.needs_probe and calls else 0
    most = most.plus(Tokens(probes, probes).times(PROBE_TOKENS))
    with_thoughts = most.plus(Tokens(probes, probes + tries * len(asked)).times(session.thoughts))
    return CallPlan(
        calls,
        estimate,
        with_thoughts,
        session.selection.price,
        session.needs_probe,
        example if session.selection.reads_prompt else None,
        len(asked),
        tries,
        session.guard.limiter.limits if session.asks_live else None,
        unthinking=most if session.thoughts and not session.is_known else None,
    )


# Whether a model can be asked: which one it would be, a call for trial, and an estimate.

TOKENS_OF_A_PAIR = Tokens(400, 10)
"""In and out: what the four-grades prompt and a passage of 200 words take, by a rule of thumb."""


class TrialCall(NamedTuple):
    """A call that worked: the seconds that it took, and what the server accepts."""

    seconds: float
    abilities: Abilities


async def try_call(choice: Choice, timeout: float, note: Note) -> TrialCall | None:
    """Ask a model once, and find out what its server accepts; None where no server stands behind.

    What does not work is raised, with what to do about it; `note` is given what a person should
    know meanwhile.
    """
    async with ready(choice, (), Calls(timeout, note, mute=MUTE_SECONDS)) as started:
        if not started.model.is_server:
            return None
        began = time.monotonic()
        try:
            policies = [Retrying(Patience(tries=2), is_server=True), Confirming()]
            abilities = await probe(asked_through(policies, started.model))
        finally:
            await started.model.close()
        return TrialCall(time.monotonic() - began, abilities)


def estimate(choice: Choice, pairs: int) -> CallPlan:
    """About what judging this number of `pairs` takes."""
    tokens = TOKENS_OF_A_PAIR.times(pairs)
    return CallPlan(pairs, tokens, tokens, choice.price)


def time_of(call: TrialCall, pairs: int) -> Duration:
    """About how long judging `pairs` takes, if each call takes as long as the one for trial.

    As many are asked at once as usual, and no limit a minute is known of.
    """
    tokens = pairs * sum(TOKENS_OF_A_PAIR)
    return duration_of(pairs, tokens, RateLimits(SERVER_CONCURRENCY), CallTimes(call.seconds))
