"""What calls would take, before any is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from labeler.model import Request
from labeler.models.duration import Duration, duration_of
from labeler.models.policies.rate import RateLimits
from labeler.models.prices import Price
from labeler.models.session import Session
from labeler.models.tokens import Tokens, about, at_most


@dataclass(frozen=True, slots=True)
class CallPlan:
    """How many calls there would be, each right at the first attempt, and what they would take.

    `about` is the tokens of all of them. There are `requests` at most, of `at_most` tokens, each
    of which is asked `tries` times where its replies are of no use. `price` is None where it is not
    known; `needs_probe` is true where one more call before them finds out what the server accepts;
    `example` is one of the requests, or what would be asked were it not remembered. `limits` are
    those within which a server is asked, None where none is asked live.
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
        """About what the calls cost in dollars, with replies of full length."""
        return self.price.of(*self.about, self.calls) if self.price else None

    @property
    def at_most_cost(self) -> float | None:
        """What all requests cost in dollars at most, each right at the first attempt."""
        return self.price.of(*self.at_most, self.requests) if self.price else None

    def as_json(self) -> dict[str, Any]:
        """The figures by name; a cost that is not known is None."""
        return {
            "calls": self.calls,
            "calls_at_most": self.most_calls,
            "tokens_in": self.about.inside,
            "tokens_out_at_most": self.at_most.outside,
            "cost": self.about_cost,
            "cost_at_most": self.at_most_cost,
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

    The first of them is the example where none is given.
    """
    calls = count = 0
    estimate, most = Tokens(0, 0), Tokens(0, 0)
    for count, request in enumerate(requests, start=1):
        example = example or request
        most = most.plus(at_most(request))
        if likely is None or count <= likely:
            calls, estimate = count, estimate.plus(about(request))
    price, needs_probe = session.selection.price, session.needs_probe
    limits = session.guard.limiter.limits if session.asks_live else None
    return CallPlan(calls, estimate, most, price, needs_probe, example, count, tries, limits)
