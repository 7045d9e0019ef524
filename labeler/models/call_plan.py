"""What calls would take, before any is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from labeler.model import Request
from labeler.models.prices import Price
from labeler.models.session import Session
from labeler.models.tokens import Tokens, about, at_most


@dataclass(frozen=True, slots=True)
class CallPlan:
    """How many calls there would be, each right at the first attempt, and what they would take.

    `about` and `at_most` are the tokens of all of them; `price` is None where it is not known;
    `needs_probe` is true where one more call before them finds out what the server accepts;
    `example` is one of the requests, or what would be asked were it not remembered.
    """

    calls: int
    about: Tokens
    at_most: Tokens
    price: Price | None = None
    needs_probe: bool = False
    example: Request | None = None

    @property
    def about_cost(self) -> float | None:
        """About what the calls cost in dollars, with replies of full length."""
        return self.price.of(*self.about, self.calls) if self.price else None

    @property
    def at_most_cost(self) -> float | None:
        """What the calls cost in dollars at most."""
        return self.price.of(*self.at_most, self.calls) if self.price else None

    def as_json(self) -> dict[str, Any]:
        """The figures by name; a cost that is not known is None."""
        return {
            "calls": self.calls,
            "tokens_in": self.about.inside,
            "tokens_out_at_most": self.at_most.outside,
            "cost": self.about_cost,
            "cost_at_most": self.at_most_cost,
        }


def plan_calls(
    requests: Iterable[Request], session: Session, example: Request | None = None
) -> CallPlan:
    """What these requests would take; the first of them is the example where none is given."""
    calls, estimate, most = 0, Tokens(0, 0), Tokens(0, 0)
    for request in requests:
        calls += 1
        example = example or request
        estimate = estimate.plus(about(request))
        most = most.plus(at_most(request))
    price, needs_probe = session.selection.price, session.needs_probe
    return CallPlan(calls, estimate, most, price, needs_probe, example)
