"""`explain`: what was asked about a pair, what came back, and what was made of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from labeler.collection.judgements import JudgementRow, read_judgements
from labeler.collection.layout import Collection, open_collection
from labeler.data import Outcome, Pair
from labeler.errors import LabelerError, about
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.attempts import next_request
from labeler.judging.job import texts_of
from labeler.judging.relabel import same_assessor
from labeler.model import Request
from labeler.models.policies.adapt import Abilities, read_abilities
from labeler.models.policies.stack import only_remembered
from labeler.store import Store, key_of, open_store
from labeler.store.base import Record
from labeler.store.keys import quoted


class Attempt(NamedTuple):
    """One attempt: the request as it was sent, the reply as it is kept, and what it says."""

    request: Request
    record: Record
    outcome: Outcome


class AttemptHistory(NamedTuple):
    """All attempts at a pair, and the last call that failed for good, if no reply came after it.

    `asks` is the request that would be sent first today; `failed` is the time, the status and the
    detail of that call.
    """

    asks: Request
    attempts: tuple[Attempt, ...]
    failed: tuple[float, str, str] | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a pair came by its grade in one set of judgements.

    `history` is None where the assessor is not found again, for the reason that `problem` says;
    `records` are then the replies to whatever prompts show both texts, oldest first.
    """

    name: str
    row: JudgementRow
    history: AttemptHistory | None
    records: Sequence[Record] = ()
    problem: str = ""


async def explain(
    collection: Collection | Path | str,
    query_id: str,
    doc_id: str,
    name: str | None = None,
    prompt: str | None = None,
) -> AsyncIterator[Explanation]:
    """How a pair came by its grade in the set `name`, or in each set that holds the pair.

    `prompt` is the prompt's file, where it is no longer found by its name as it was.
    """
    opened, pair = open_collection(collection), Pair(query_id, doc_id)
    for set_name in (name,) if name else opened.judgement_names():
        with about("name"):
            path = opened.existing_judgements(set_name)
        rows = read_judgements(path)
        row = next((row for row in rows if row.judged.outcome.pair == pair), None)
        if row is not None:
            yield await _explanation(opened, set_name, row, prompt)


async def _explanation(
    collection: Collection, name: str, row: JudgementRow, prompt: str | None
) -> Explanation:
    texts, pair = texts_of(collection), row.judged.outcome.pair
    with open_store(collection.store, reading=True) as store:
        try:
            model = only_remembered(row.origin.model, store)
            assessor = await same_assessor(row.origin, model, prompt, texts)
        except LabelerError as error:
            records = records_by_texts(pair, texts, row.origin.model, store)
            return Explanation(name, row, None, records, str(error))
        return Explanation(name, row, attempt_history(pair, texts, assessor, store))


def attempt_history(pair: Pair, texts: Texts, assessor: Assessor, store: Store) -> AttemptHistory:
    """The attempts at a pair that this assessor judged, as the store holds them."""
    abilities = read_abilities(store.fact(f"abilities of {assessor.model.id}"))
    request = assessor.request(*texts.of(pair))
    attempts, first = list[Attempt](), _sent(request, abilities)
    while True:
        sent = _sent(request, abilities)
        key = key_of(assessor.model.id, sent)
        record, reply = store.record(key), store.replies([key]).get(key)
        if record is None or reply is None:
            return AttemptHistory(first, tuple(attempts), store.failure(key))
        outcome = assessor.outcome_of(pair, reply)
        attempts.append(Attempt(sent, record, outcome))
        request = next_request(request, outcome)


def records_by_texts(pair: Pair, texts: Texts, model_id: str, store: Store) -> list[Record]:
    """What a model replied to whatever prompts show both texts of a pair, oldest first."""
    query, document = texts.of(pair)
    return store.records_with(model_id, (quoted(query.text), quoted(document.text)))


def _sent(request: Request, abilities: Abilities | None) -> Request:
    return abilities.fit(request) if abilities else request
