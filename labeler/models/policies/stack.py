"""All policies around a model, in the only order in which all of them hold."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from labeler.errors import CallFailed, NoAnswer, WaitsInBatch
from labeler.messages import Clock, Note, quiet
from labeler.model import TOO_LONG, Model, Reply, Request, is_about_context, is_cut
from labeler.models.policies.call import (
    WAITS,
    Deferral,
    Deferring,
    ModelCall,
    Policy,
    Stopping,
    StopSignal,
    ToAwait,
    asked_through,
)
from labeler.models.policies.learn import (
    MOST_THINKING,
    Abilities,
    Adapting,
    Fitting,
    found_abilities,
    read_abilities,
    written_abilities,
)
from labeler.models.policies.limits import Budget, Budgeting, RateLimiter
from labeler.models.policies.retry import Patience, Retrying
from labeler.models.server.client import STRAY
from labeler.models.settings import AssessorSettings
from labeler.store.base import Failed, KeyedReply, Waiting
from labeler.store.keys import Canon, Keyed
from labeler.store.remember import BatchWriter
from labeler.store.replies import Store

# A reply counts once it is certain that it answers its request, and no other.


class Confirming(Policy):
    """Waits, outside the limit on calls under way, until a reply is bound to its request."""

    def result(self, call: ModelCall, reply: Reply) -> ToAwait:
        """Wait, where it is not certain yet; `NoAnswer` where it turns out to be another's."""
        return None if reply.is_bound is None else self._confirm(reply.is_bound)

    async def _confirm(self, is_bound: Awaitable[bool]) -> None:
        if not await is_bound:
            raise NoAnswer(STRAY)


# The policy that answers from the store, and keeps replies before it hands them on.


class Remembering(Policy):
    """Answers from the store where it can; keeps every other reply before handing it on.

    What another process is asking at this moment is waited for, until `waiting` says to stop; where
    not `patient`, `AskedElsewhere` is raised instead, so that the caller can do something else
    meanwhile. A long wait is noted. Whether a request waits in a batch is looked at once a lease is
    given: who hands it over holds one until the batch is written down.
    """

    def __init__(
        self,
        model: Model,
        store: Store,
        *,
        patient: bool = True,
        waiting: Waiting | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.canon = Canon(model.id, reads_inputs=not model.is_server)
        self._model_id = model.id
        self._store = store
        self._patient = patient
        waiting = waiting or Waiting()
        self._batches = waiting.batches
        self._writer = BatchWriter(store, waiting, clock)
        self._refused = False

    def recall(self, requests: Sequence[Request]) -> list[Reply | None]:
        """The stored replies to requests."""
        return stored_replies(self._store, map(self.canon.keyed, requests))

    async def admit(self, call: ModelCall) -> None:
        """Answer a call from the store, or let it pass once it has a lease."""
        call.keyed = keyed = self.canon.keyed(call.asked)
        claimed = await self._writer.claim(keyed, patient=self._patient)
        if isinstance(claimed, Reply):
            call.reply = claimed
        elif isinstance(claimed, Failed):
            raise CallFailed(claimed.detail, claimed.status)
        elif self._writer.may_wait and (batch := self._batches.get(keyed.key)):
            self._writer.release(keyed.key)
            raise WaitsInBatch(f"{WAITS}{batch}")

    async def result(self, call: ModelCall, reply: Reply) -> None:
        """Keep a reply."""
        keyed = call.keyed
        if keyed is None:
            return
        key = keyed.cut if is_cut(reply.finish_reason) else keyed.key
        row = KeyedReply(key, self._model_id, keyed.text, reply, keyed.key)
        earlier = await self._writer.keep(row)
        self._writer.release(keyed.key)
        if isinstance(earlier, Reply):
            call.reply = earlier

    def error(self, call: ModelCall, error: Exception) -> ToAwait:
        """Keep how a call failed for good."""
        if call.keyed is None:
            return None
        if isinstance(error, CallFailed) and is_about_context(str(error)) and not self._refused:
            self._store.learn_once(REFUSED, "for their length")
            self._refused = True
        if isinstance(error, CallFailed):
            return self._writer.fail(Failed(call.keyed.key, error.status, str(error)))
        self._writer.release(call.keyed.key)
        return None

    def lost(self, call: ModelCall) -> None:
        """Let the request be asked again."""
        if call.keyed is not None:
            self._writer.release(call.keyed.key)

    async def finish(self) -> None:
        """Write what still waits."""
        await self._writer.finish()


REFUSED = "requests were refused"
"""The fact that says of a store whether it is worth to look for refusals for length."""


def stored_replies(store: Store, keyed: Iterable[Keyed]) -> list[Reply | None]:
    """The stored replies to requests: whole ones, else those cut at the very limit.

    A request that was refused for its length has a reply that ended as `TOO_LONG` and says so.
    """
    places = [(each.key, each.cut) for each in keyed]
    replies = dict(store.replies([key for key, _ in places]))
    if cut := [cut for key, cut in places if key not in replies]:
        replies |= store.replies(cut)
    answers = [replies.get(key) or replies.get(cut) for key, cut in places]
    if None in answers and store.fact(REFUSED):
        for at, (key, _) in enumerate(places):
            failure = None if answers[at] else store.failure(key)
            if failure and is_about_context(failure[2]):
                answers[at] = Reply("", TOO_LONG, failure[2], remembered=True)
    return answers


@dataclass(frozen=True)
class Guard:
    """What stands between a run and the server it asks; `note` is given lines for a person."""

    limiter: RateLimiter
    budget: Budget = field(default_factory=Budget)
    patience: Patience = field(default_factory=Patience)
    stop: StopSignal = field(default_factory=StopSignal)
    note: Note = quiet


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
    fitted = adapting.fitted if adapting else None
    policies = [
        *([] if deferral.is_live else [Deferring(remembering.canon, store, deferral, fitted)]),
        remembering,
        *([adapting] if adapting else []),
        Retrying(guard.patience, stop.sleep, is_server=model.is_server),
        *_tries(model, guard, adapting),
    ]

    async def close() -> None:
        await remembering.finish()
        await model.close()

    return replace(asked_through(policies, model), recall=remembering.recall, close=close)


def _tries(model: Model, guard: Guard, adapting: Adapting | None = None) -> list[Policy]:
    """What each try goes through: a call waits for its turn outside of the budget, is fitted when
    that has come, and is confirmed once it has made room for others.
    """
    inner = [Budgeting(guard.budget, is_server=model.is_server), Stopping(guard.stop)]
    if not model.is_server:
        return inner
    return [Confirming(), guard.limiter, *([Fitting(adapting)] if adapting else []), *inner]


def unremembered(model: Model, guard: Guard) -> Model:
    """The same without the store, for what is kept elsewhere, and without finding out abilities."""
    return asked_through(
        [Retrying(guard.patience, guard.stop.sleep, is_server=True), *_tries(model, guard)], model
    )


def _adapting(
    model: Model, store: Store, guard: Guard, deferral: Deferral, declared: AssessorSettings | None
) -> Adapting:
    """What learns of a server, which it may ask a small question."""
    name = _abilities_of(model.id)
    if deferral.assumes_abilities and not knows(model, store):
        store.learn(name, written_abilities(Abilities()))
    return Adapting(name, store, partial(found_abilities, unremembered(model, guard)), declared)


def _abilities_of(model_id: str) -> str:
    """Under which name it is kept what a server accepts."""
    return f"abilities of {model_id}"


def facts_about(model_id: str, store: Store) -> dict[str, str]:
    """What a store has found out about a server's model, by the names under which it is kept."""
    name = _abilities_of(model_id)
    fact = store.fact(name)
    return {} if fact is None else {name: fact}


def known_abilities(model_id: str, store: Store) -> Abilities | None:
    """What a server accepts, as far as a store knows it."""
    return read_abilities(store.fact(_abilities_of(model_id)))


def knows(model: Model, store: Store) -> bool:
    """Whether nothing has to be found out before the model is asked."""
    return not model.is_server or known_abilities(model.id, store) is not None


def most_thoughts(model: Model, store: Store) -> int:
    """How many tokens a model may think in for each reply, as far as that is known.

    A call that is cut while the model thinks is asked again with twice as many, up to a bound: all
    of them together have less than twice that bound.
    """
    abilities = known_abilities(model.id, store) if model.is_server else Abilities()
    if abilities is None:
        return 2 * MOST_THINKING
    return 2 * abilities.bounded(MOST_THINKING) if abilities.thoughts else 0


NO_REPLY = "no stored reply"


def only_remembered(model_id: str, store: Store) -> Model:
    """A model that answers from the store alone; what is not there fails as it failed before.

    A model is a server's if the store holds what it accepts, or accepted once.
    """
    is_server = store.fact(_abilities_of(model_id)) is not None
    canon = Canon(model_id, reads_inputs=not is_server)

    async def ask(request: Request) -> Reply:
        _, status, detail = store.failure(canon.keyed(request).key) or (0, "call_failed", NO_REPLY)
        raise CallFailed(detail, status)

    def recall(requests: Sequence[Request]) -> Sequence[Reply | None]:
        return stored_replies(store, map(canon.keyed, requests))

    return Model(model_id, ask, recall, is_server=is_server)


def fitting(model: Model, store: Store) -> Callable[[Request], Request]:
    """What makes of a request what a server is sent, as far as a store knows that."""
    if not model.is_server:
        return lambda request: request
    return (known_abilities(model.id, store) or Abilities()).fit
