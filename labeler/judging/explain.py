"""One pair's whole story: what was asked, what came back, and what was made of it."""

from __future__ import annotations

from typing import NamedTuple

from labeler.data import Outcome, Pair
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.attempts import next_request
from labeler.model import Reply, Request
from labeler.models.policies.adapt import Abilities, read_abilities
from labeler.store import Store, key_of
from labeler.store.keys import quoted
from labeler.store.sqlite.maintain import Record, failure_of, record_of, records_with


class Attempt(NamedTuple):
    """One attempt: the request as it was sent, the reply as it is kept, and what it says."""

    request: Request
    record: Record
    outcome: Outcome


class Story(NamedTuple):
    """All attempts at a pair, and the last call that failed for good, if none came after it.

    `asks` is the request that would be sent first today.
    """

    asks: Request
    attempts: tuple[Attempt, ...]
    failed: tuple[float, str, str] | None


def story_of(pair: Pair, texts: Texts, assessor: Assessor, store: Store) -> Story:
    """What the store knows of a pair that this assessor judged."""
    known = store.fact(f"abilities of {assessor.model.id}")
    abilities = read_abilities(known) if known else None
    request = assessor.request(*texts.of(pair))
    attempts, first = list[Attempt](), _sent(request, abilities)
    while True:
        sent = _sent(request, abilities)
        key = key_of(assessor.model.id, sent)
        record, kept = record_of(store, key), store.replies([key]).get(key)
        if record is None or kept is None:
            return Story(first, tuple(attempts), failure_of(store, key))
        outcome = _read(pair, kept, assessor)
        attempts.append(Attempt(sent, record, outcome))
        request = next_request(request, outcome)


def found_by_texts(pair: Pair, texts: Texts, model_id: str, store: Store) -> list[Record]:
    """What a model replied to whatever prompts show both texts of a pair, oldest first."""
    query, document = texts.of(pair)
    return records_with(store, model_id, (quoted(query.text), quoted(document.text)))


def _sent(request: Request, abilities: Abilities | None) -> Request:
    return abilities.fit(request) if abilities else request


def _read(pair: Pair, reply: Reply, assessor: Assessor) -> Outcome:
    return assessor.verdict(pair, reply)
