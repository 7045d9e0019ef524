"""What a worker may take of a server and of an account, where several share both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from labeler.errors import Misuse
from labeler.model import Model
from labeler.models.limits import Limits
from labeler.models.prices import Price


@dataclass(frozen=True, slots=True)
class Share:
    """How one worker judges: within which limits, and with how many calls at once.

    `model` is needed where the partitions were written for a model that is an object; `price` is
    that of a server's model, where it is known. With `retry_failed`, pairs are asked about again
    where a reply was no grade. `named` are the addresses, of the model's server and of a database,
    that whoever started the worker named; others, which the folder alone names, have to be trusted
    on the worker's machine.
    """

    limits: Limits = field(default_factory=Limits)
    concurrency: int | None = None
    price: Price | None = None
    retry_failed: bool = False
    model: Model | None = None
    named: tuple[str, ...] = ()


def share_of(limits: Limits, concurrency: int | None, workers: int) -> Share:
    """An equal share of what all workers may take together: rates, calls at once, and budgets.

    >>> share_of(Limits(rpm=600, max_calls=1000), 64, 8).limits.rpm
    75.0
    """
    if concurrency is not None and concurrency < workers:
        problem = f"each of {workers} workers makes a call at once at least, and {concurrency} may"
        raise Misuse(f"{problem} be made; take fewer workers", parameter="workers")

    def part(whole: float | None) -> float | None:
        return None if whole is None else whole / workers

    calls, tokens = limits.max_calls, limits.max_tokens
    own = replace(
        limits,
        rpm=part(limits.rpm),
        tpm=part(limits.tpm),
        max_calls=None if calls is None else calls // workers,
        max_tokens=None if tokens is None else tokens // workers,
        max_cost=part(limits.max_cost),
    )
    return Share(own, None if concurrency is None else concurrency // workers)


class Amounts(NamedTuple):
    """Calls, tokens and dollars."""

    calls: float = 0
    tokens: float = 0
    cost: float = 0


class SharedBudget:
    """Allots a budget to workers little by little, so that all of it can be used, and no more.

    What a worker was allotted and never gave back counts as spent: it may have ended in between.
    """

    def __init__(self, limits: Limits, workers: int) -> None:
        whole = (limits.max_calls, limits.max_tokens, limits.max_cost)
        self._whole = Amounts(*(float("inf") if most is None else most for most in whole))
        self._parts = 2 * workers
        self._allotted: dict[str, Amounts] = {}

    def allot(self, worker: str, needed: Amounts) -> Amounts:
        """What a worker may spend in all from now on, where it needs so much; as before if not.

        It gets what it needs, or a share of what is left where that is more.
        """
        before = self._allotted.get(worker, Amounts())
        left = [whole - taken for whole, taken in zip(self._whole, self._taken(), strict=True)]
        more = [max(0.0, need - has) for need, has in zip(needed, before, strict=True)]
        if any(amount > rest + 1e-12 for amount, rest in zip(more, left, strict=True)):
            return before
        shares = [0.0 if rest == float("inf") else rest / self._parts for rest in left]
        shares[:2] = [share // 1 for share in shares[:2]]
        sizes = [max(pair) if pair[0] else 0.0 for pair in zip(more, shares, strict=True)]
        now = Amounts(*(has + size for has, size in zip(before, sizes, strict=True)))
        self._allotted[worker] = now
        return now

    def _taken(self) -> Amounts:
        return Amounts(*(sum(amounts) for amounts in zip(*self._allotted.values(), strict=True)))

    def give_back(self, worker: str, spent: Amounts) -> None:
        """Take back what a worker has not spent."""
        self._allotted[worker] = spent
