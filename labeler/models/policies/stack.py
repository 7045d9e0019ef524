"""All policies around a model, in the only order in which all of them hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from labeler.errors import CallFailed
from labeler.files.numbers import count
from labeler.model import Model, Reply, Request
from labeler.models.policies.adapt import (
    MOST_THINKING,
    Abilities,
    read_abilities,
    written_abilities,
)
from labeler.models.policies.budget import Budget, Budgeting
from labeler.models.policies.call import Policy, asked_through
from labeler.models.policies.confirm import Confirming
from labeler.models.policies.defer import Deferral, Deferring
from labeler.models.policies.first_contact import FirstContact
from labeler.models.policies.learn import Adapting, Fitting
from labeler.models.policies.probe import found_abilities
from labeler.models.policies.rate import RateLimiter
from labeler.models.policies.remember import Remembering, stored_replies
from labeler.models.policies.retry import Patience, Retrying
from labeler.models.policies.stop import Stopping, StopSignal
from labeler.models.settings import AssessorSettings
from labeler.models.tokens import NOTHING, Reported, Tokens
from labeler.store import Store, Waiting
from labeler.store.keys import Canon


@dataclass(frozen=True)
class Guard:
    """What stands between a run and the server it asks; `note` is given lines for a person."""

    limiter: RateLimiter
    budget: Budget = field(default_factory=Budget)
    patience: Patience = field(default_factory=Patience)
    stop: StopSignal = field(default_factory=StopSignal)
    note: Callable[[str], None] = lambda _line: None


def guarded(  # noqa: PLR0913  what stands around a model is said where it is put there
    model: Model,
    store: Store,
    guard: Guard,
    *,
    patient: bool = True,
    deferral: Deferral | None = None,
    declared: AssessorSettings | None = None,
) -> Model:
    """A model that obeys the stop signal, the budget and the rate limits, and uses the store.

    Every try goes through the limiter, where the model is a server's, and counts toward the
    budget; what the store answers does neither. What is `declared` to be sent is never left out.
    Where not `patient`, it raises `AskedElsewhere` for what another process is asking; of what the
    `deferral` holds back it raises `WaitsInBatch`.
    """
    deferral, stop = deferral or Deferral(), guard.stop
    waiting = Waiting(guard.patience.seconds, stop.is_set, guard.note, deferral.waiting)
    remembering = Remembering(model, store, patient=patient, waiting=waiting)
    adapting = _adapting(model, store, guard, deferral, declared) if model.is_server else None
    fitted = adapting.fitted if adapting else _as_it_is
    policies: list[Policy | None] = [
        Deferring(remembering.canon, store, deferral, fitted),
        remembering,
        adapting,
        Retrying(guard.patience, stop.sleep),
        *_tries(model, guard, adapting),
    ]

    async def close() -> None:
        await remembering.finish()
        await model.close()

    path = asked_through([policy for policy in policies if policy], model)
    return replace(path, recall=remembering.recall, close=close)


def _tries(model: Model, guard: Guard, adapting: Adapting | None = None) -> list[Policy]:
    """What each try goes through: a call waits for its turn outside of the budget, is fitted when
    that has come, and is confirmed once it has made room for others.
    """
    inner = [Budgeting(guard.budget, is_server=model.is_server), Stopping(guard.stop)]
    if not model.is_server:
        return inner
    fitting = [Fitting(adapting)] if adapting else []
    return [Confirming(), guard.limiter, *fitting, FirstContact(guard.stop), *inner]


def unremembered(model: Model, guard: Guard) -> Model:
    """The same without the store, for what is kept elsewhere, and without finding out abilities."""
    retrying = Retrying(guard.patience, guard.stop.sleep)
    return asked_through([retrying, *_tries(model, guard)], model)


def _adapting(
    model: Model,
    store: Store,
    guard: Guard,
    deferral: Deferral,
    declared: AssessorSettings | None,
) -> Adapting:
    """What learns of a server, which it may ask a small question."""
    name = _abilities_of(model.id)
    if deferral.assumes_abilities and not knows(model, store):
        store.learn(name, written_abilities(Abilities()))
    quick = Retrying(guard.patience, guard.stop.sleep, is_first=True)
    asked = asked_through([quick, *_tries(model, guard)], model), unremembered(model, guard)
    return Adapting(name, store, partial(found_abilities, *asked), declared)


async def _as_it_is(request: Request) -> Request:
    return request


def _abilities_of(model_id: str) -> str:
    """Under which name it is kept what a server accepts."""
    return f"abilities of {model_id}"


def facts_about(model_id: str, store: Store) -> dict[str, str]:
    """What a store has found out about a server's model, by the names under which it is kept."""
    names = (_abilities_of(model_id), _size_of(model_id))
    facts = {name: store.fact(name) for name in names}
    return {name: fact for name, fact in facts.items() if fact is not None}


def _size_of(model_id: str) -> str:
    return f"tokens beyond those sent of {model_id}"


def knows(model: Model, store: Store) -> bool:
    """Whether nothing has to be found out before the model is asked."""
    return not model.is_server or read_abilities(store.fact(_abilities_of(model.id))) is not None


def most_thoughts(model: Model, store: Store) -> int:
    """How many tokens a model may think in for each reply, as far as that is known.

    A call that is cut while the model thinks is asked again with twice as many, up to a bound: all
    of them together have less than twice that bound.
    """
    abilities = read_abilities(store.fact(_abilities_of(model.id)))
    if abilities is None:
        return 2 * MOST_THINKING if model.is_server else 0
    return 2 * abilities.bounded(MOST_THINKING) if abilities.thoughts else 0


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
    """A model that answers from the store alone; what is not there is a failed call.

    Of a server's model it is known what it accepts, or was.
    """

    async def ask(_request: Request) -> Reply:
        raise CallFailed("no stored reply")

    is_server = store.fact(_abilities_of(model_id)) is not None
    canon = Canon(model_id, reads_inputs=not is_server)

    def recall(requests: Sequence[Request]) -> Sequence[Reply | None]:
        return stored_replies(store, map(canon.keyed, requests))

    return Model(model_id, ask, recall, is_server=is_server)


def known_abilities(model_id: str, store: Store) -> Abilities:
    """What a server accepts, as far as a store knows it."""
    return read_abilities(store.fact(_abilities_of(model_id))) or Abilities()


def fitting(model: Model, store: Store) -> Callable[[Request], Request]:
    """What makes of a request what a server is sent, as far as a store knows that."""
    return known_abilities(model.id, store).fit if model.is_server else lambda request: request
