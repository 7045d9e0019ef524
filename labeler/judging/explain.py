"""`explain`: what was asked about a pair, what came back, and what was made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from labeler.collection.judgements import JudgementRow, read_judgements
from labeler.collection.layout import AnyCollection, open_collection
from labeler.data import JUDGED, Failure, Judgement, Outcome, Pair
from labeler.errors import LabelerError, about
from labeler.judging.assessor import Assessor, Texts, examples_for
from labeler.judging.job import texts_of
from labeler.judging.methods.inquiries import Inquiries
from labeler.judging.methods.inquiry import ALONE, recall_inquiries
from labeler.judging.relabel import same_assessor
from labeler.model import Request
from labeler.models.policies.stack import fitting
from labeler.store import Store, open_store
from labeler.store.base import Record
from labeler.store.keys import Canon


class Attempt(NamedTuple):
    """One attempt: the request as it was sent, the reply as it is kept, and what it says.

    That is a grade or a failure, or what else a part asks for.
    """

    request: Request
    record: Record
    outcome: object

    def as_json(self) -> dict[str, Any]:
        """The reply, with what was read in it."""
        record = self.record
        return {
            "at": record.at,
            "model": record.served,
            "text": record.text,
            "refusal": record.refusal,
            "finish_reason": record.finish_reason,
            "tokens_in": record.prompt_tokens,
            "tokens_out": record.completion_tokens,
            "cost": record.cost,
            "read_as": as_read(self.outcome),
        }


class AttemptHistory(NamedTuple):
    """All attempts at a part, and the last call that failed for good, if no reply came after it.

    `part` names it, empty where a pair has no other. `asks` is the request that would be sent first
    today; `failed` is the time, the status and the detail of that call.
    """

    part: str
    asks: Request
    attempts: tuple[Attempt, ...]
    failed: tuple[float, str, str] | None

    def as_json(self) -> dict[str, Any]:
        """The messages, and each reply."""
        messages = [message._asdict() for message in self.asks.messages]
        return {"messages": messages, "replies": [each.as_json() for each in self.attempts]}


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a pair came by its grade in one set of judgements.

    `histories` are those of its parts, one of most pairs. There are none where the assessor is not
    found again, for the reason that `problem` says.
    """

    name: str
    row: JudgementRow
    histories: tuple[AttemptHistory, ...]
    problem: str = ""

    def as_record(self) -> dict[str, Any]:
        """What the set says of the pair, who said so, and what it took, by name."""
        judged, origin = self.row.judged, self.row.origin
        return {
            **judged.outcome.pair._asdict(),
            "name": self.name,
            "prompt": origin.prompt,
            "model": origin.model,
            **_as_record(judged.outcome),
            "suspicions": list(judged.suspicions),
            **({"members": dict(self.row.members)} if self.row.members else {}),
            "attempts": judged.attempts,
            "tokens_in": judged.prompt_tokens,
            "tokens_out": judged.completion_tokens,
            "cost": judged.cost,
        }

    def as_json(self) -> dict[str, Any]:
        """The same with the messages, and each reply with what was read in it."""
        if self.problem:
            return {**self.as_record(), "problem": self.problem, "replies": []}
        if [history.part for history in self.histories] == [""]:
            return {**self.as_record(), **self.histories[0].as_json()}
        parts = [{"part": history.part, **history.as_json()} for history in self.histories]
        return {**self.as_record(), "parts": parts}


def _as_record(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Failure):
        return {"grade": None, "status": outcome.status, "reason": outcome.detail}
    return {"grade": outcome.grade, "status": JUDGED, "reason": outcome.reason}


def as_read(answer: object) -> Any:
    """What was read in a reply, as JSON: a grade or a failure by name, grades by number, texts."""
    if isinstance(answer, Judgement | Failure):
        return _as_record(answer)
    if isinstance(answer, list):
        return {str(number): as_read(entry) for number, entry in enumerate(answer, start=1)}
    return list(answer) if isinstance(answer, tuple) else answer


def explain(
    collection: AnyCollection,
    query_id: str,
    doc_id: str,
    name: str | None = None,
    prompt: str | None = None,
) -> Iterator[Explanation]:
    """How a pair came by its grade in the set `name`, or in each set that holds the pair.

    `prompt` is the prompt's file, where it is no longer found by its name as it was.
    """
    opened, pair = open_collection(collection), Pair(query_id, doc_id)
    for set_name in (name,) if name else opened.judgement_names():
        with about("name"):
            path = opened.existing_judgements(set_name)
        row = next((row for row in read_judgements(path) if row.judged.outcome.pair == pair), None)
        if row is None:
            continue
        texts = texts_of(opened)
        with open_store(opened.store, reading=True) as store:
            try:
                assessor = same_assessor(row.origin, store, prompt, texts)
                lists = {pair: row.judged.listed.documents} if row.judged.listed else {}
                examples = examples_for(opened, set_name, assessor.prompt, texts)
                assessor = replace(assessor, lists=lists, examples=examples)
                yield Explanation(set_name, row, attempt_histories(pair, texts, assessor, store))
            except LabelerError as error:
                yield Explanation(set_name, row, (), str(error))


def attempt_histories(
    pair: Pair, texts: Texts, assessor: Assessor, store: Store
) -> tuple[AttemptHistory, ...]:
    """The attempts at each part of a pair that this assessor judged, as the store holds them."""
    inquiry, _ = Inquiries([pair], texts, assessor).of(pair)
    recall_inquiries([inquiry], assessor.model)
    fitted, histories = fitting(assessor.model, store), list[AttemptHistory]()
    canon = Canon(assessor.model.id, reads_inputs=not assessor.model.is_server)
    for part, task in inquiry.parts:
        if part.name == ALONE and part.pays != pair:
            continue
        attempts = list[Attempt]()
        for request, reply in task.asked:
            whole, _, cut = canon.keyed(request)
            if record := store.record(whole) or store.record(cut):
                sent = replace(fitted(request), parameters=reply.sent)
                attempts.append(Attempt(sent, record, part.read(reply)))
        failed = store.failure(canon.keyed(task.request).key)
        histories.append(AttemptHistory(part.name, fitted(part.request), tuple(attempts), failed))
    return tuple(histories)
