"""All policies around a model, in the only order in which all of them hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from labeler.errors import CallFailed
from labeler.files.numbers import count
from labeler.model import Model, Reply, Request
from labeler.models.policies.adapt import (
    THINKING_TOKENS,
    Abilities,
    adapted,
    read_abilities,
    written_abilities,
)
from labeler.models.policies.budget import Budget, budgeted
from labeler.models.policies.confirm import confirmed
from labeler.models.policies.defer import Deferral, deferred
from labeler.models.policies.first_contact import strict_at_first
from labeler.models.policies.rate import RateLimiter, limited
from labeler.models.policies.retry import Patience, retried
from labeler.models.policies.stop import StopSignal, stoppable
from labeler.models.tokens import NOTHING, Reported, Tokens
from labeler.store import Store, Waiting, key_of, remembered


@dataclass(frozen=True)
class Guard:
    """What stands between a run and the server it asks; `note` is given lines for a person."""

    limiter: RateLimiter
    budget: Budget = field(default_factory=Budget)
    patience: Patience = field(default_factory=Patience)
    stop: StopSignal = field(default_factory=StopSignal)
    note: Callable[[str], None] = lambda _line: None


def guarded(
    model: Model,
    store: Store,
    guard: Guard,
    *,
    patient: bool = True,
    deferral: Deferral | None = None,
) -> Model:
    """A model that obeys the stop signal, the budget and the rate limits, and uses the store.

    Every try goes through the limiter, where the model is a server's, and counts toward the
    budget; what the store answers does neither.
    Where not `patient`, it raises `AskedElsewhere` for what another process is asking; of what the
    `deferral` holds back it raises `WaitsInBatch`.
    """
    bounded = _bounded(model, guard)
    retrying = retried(bounded, guard.patience, guard.stop.sleep)
    deferral, stop = deferral or Deferral(), guard.stop
    waiting = Waiting(guard.patience.seconds, stop.is_set, guard.note, deferral.waiting)
    remembering = remembered(retrying, store, patient=patient, waiting=waiting)
    remembering = deferred(remembering, store, deferral)
    if deferral.assumes_abilities and not knows(model, store):
        learn_abilities(store, model)
    fewer_tries = replace(guard.patience, error_tries=2)
    quick = retried(bounded, fewer_tries, guard.stop.sleep)
    return _adapted(remembering, retrying, store, quick) if model.is_server else remembering


def unremembered(model: Model, guard: Guard) -> Model:
    """The same without the store, for what is kept elsewhere, and without finding out abilities."""
    return retried(_bounded(model, guard), guard.patience, guard.stop.sleep)


def _bounded(model: Model, guard: Guard) -> Model:
    """A model within the budget and, where it is a server's, within the rate limits."""
    bounded = budgeted(stoppable(model, guard.stop), guard.budget)
    if model.is_server:
        bounded = strict_at_first(bounded, guard.stop)
        bounded = confirmed(limited(bounded, guard.limiter))
    return bounded


def _adapted(remembering: Model, server: Model, store: Store, quick: Model | None = None) -> Model:
    name = f"abilities of {server.id}"
    load, learn = lambda: store.fact(name), lambda text: store.learn(name, text)
    return adapted(remembering, server, load, learn, quick)


def learn_abilities(store: Store, model: Model) -> None:
    """Keep that a server takes all that an OpenAI-compatible one usually does."""
    store.learn(f"abilities of {model.id}", written_abilities(Abilities()))


def facts_about(model_id: str, store: Store) -> dict[str, str]:
    """What a store has found out about a server's model, by the names under which it is kept."""
    names = (f"abilities of {model_id}", _size_of(model_id))
    facts = {name: store.fact(name) for name in names}
    return {name: fact for name, fact in facts.items() if fact is not None}


def _size_of(model_id: str) -> str:
    return f"tokens beyond those sent of {model_id}"


def knows(model: Model, store: Store) -> bool:
    """Whether nothing has to be found out before the model is asked."""
    return not model.is_server or read_abilities(store.fact(f"abilities of {model.id}")) is not None


def most_thoughts(model: Model, store: Store) -> int:
    """How many tokens a model may think in before each reply, unless it is known not to think."""
    abilities = read_abilities(store.fact(f"abilities of {model.id}"))
    may_think = model.is_server and (abilities is None or abilities.thinks)
    return THINKING_TOKENS if may_think else 0


@contextmanager
def remembered_size(model: Model, store: Store, reported: Reported) -> Iterator[None]:
    """Begin with what earlier runs found out of how much a server adds to each call, and keep it.

    So the first calls of a run are within its budget, even those of which nobody hears again.
    """
    name = _size_of(model.id)
    earlier = reported.beyond = _read_size(store.fact(name) if model.is_server else None)
    try:
        yield
    finally:
        if reported.beyond != earlier:
            store.learn(name, json.dumps(reported.beyond))


def _read_size(fact: str | None) -> Tokens:
    """The tokens in a text that was stored; none where another version wrote it, or nobody did."""
    try:
        inside, outside = map(count, json.loads(fact or "[0, 0]"))
    except (ValueError, TypeError, RecursionError):
        return NOTHING
    return Tokens(inside or 0, outside or 0)


def only_remembered(model_id: str, store: Store) -> Model:
    """A model that answers from the store alone; what is not there is a failed call."""

    async def ask(_request: Request) -> Reply:
        raise CallFailed("no stored reply")

    def recall(requests: Sequence[Request]) -> Sequence[Reply | None]:
        keys = [key_of(model_id, request) for request in requests]
        replies = store.replies(keys)
        return [replies.get(key) for key in keys]

    model = Model(model_id, ask, recall)
    abilities = read_abilities(store.fact(f"abilities of {model_id}"))
    return _adapted(model, model, store) if abilities else model
