"""`explain`: what was asked about a pair, what came back, and what was made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from labeler.collection.judgements import JudgementRow, read_judgements, states_of
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.data import JUDGED, Failure, Judgement, Outcome, Pair
from labeler.errors import LabelerError, Misuse, about
from labeler.judging.assessor import Assessor, Texts, examples_for
from labeler.judging.job import texts_of
from labeler.judging.methods.inquiries import Inquiries
from labeler.judging.methods.inquiry import ALONE, JudgingPart, Task, recall_inquiries
from labeler.judging.relabel import same_assessor
from labeler.model import Message, Request
from labeler.models.choose import unasked
from labeler.models.policies.stack import fitting, only_remembered
from labeler.prompt import Prompt
from labeler.prompt.check import PromptCheck, check_prompt
from labeler.store import Store, open_store
from labeler.store.base import Record
from labeler.store.keys import Canon
from labeler.store.replies import secret_of


class Attempt(NamedTuple):
    """One attempt: the request as it was sent, the reply as it is kept, and what it says.

    That is a grade or a failure, or what else a part asks for.
    """

    request: Request
    record: Record
    outcome: object


class AttemptHistory(NamedTuple):
    """All attempts at a part, and the last call that failed for good, if no reply came after it.

    `part` names it, empty where a pair has no other. `asks` is the request that would be sent first
    today; `failed` is the time, the status and the detail of that call.
    """

    part: str
    asks: Request
    attempts: tuple[Attempt, ...]
    failed: tuple[float, str, str] | None


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
        parts = [_of_history(history) for history in self.histories]
        if len(parts) == 1 and not self.histories[0].part:
            return {**self.as_record(), **parts[0]}
        named = [{"part": h.part, **part} for h, part in zip(self.histories, parts, strict=True)]
        return {**self.as_record(), "parts": named}


def _of_history(history: AttemptHistory) -> dict[str, Any]:
    """The messages of a part, and each reply with what was read in it."""
    replies = [
        {**_of_record(attempt.record), "read_as": as_read(attempt.outcome)}
        for attempt in history.attempts
    ]
    return {
        "messages": [message._asdict() for message in history.asks.messages],
        "replies": replies,
    }


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


def _of_record(record: Record) -> dict[str, Any]:
    return {
        "at": record.at,
        "model": record.served,
        "text": record.text,
        "refusal": record.refusal,
        "finish_reason": record.finish_reason,
        "tokens_in": record.prompt_tokens,
        "tokens_out": record.completion_tokens,
        "cost": record.cost,
    }


def is_judged(collection: Collection, pair: Pair) -> bool:
    """Whether any set of judgements holds a pair."""
    sets = map(collection.judgements, collection.judgement_names())
    return any(each == pair for path in sets for each, _ in states_of(path))


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
        rows = read_judgements(path)
        row = next((row for row in rows if row.judged.outcome.pair == pair), None)
        if row is not None:
            yield _explanation(opened, set_name, row, prompt)


def _explanation(
    collection: Collection, name: str, row: JudgementRow, prompt: str | None
) -> Explanation:
    texts, pair = texts_of(collection), row.judged.outcome.pair
    with open_store(collection.store, reading=True) as store:
        try:
            model = only_remembered(row.origin.model, store)
            assessor = same_assessor(row.origin, model, prompt, texts, secret_of(store))
            lists = {pair: row.judged.listed.documents} if row.judged.listed else {}
            examples = examples_for(collection, name, assessor.prompt, texts)
            assessor = replace(assessor, lists=lists, examples=examples)
            return Explanation(name, row, attempt_histories(pair, texts, assessor, store))
        except LabelerError as error:
            return Explanation(name, row, (), str(error))


def attempt_histories(
    pair: Pair, texts: Texts, assessor: Assessor, store: Store
) -> tuple[AttemptHistory, ...]:
    """The attempts at each part of a pair that this assessor judged, as the store holds them."""
    inquiry, _ = Inquiries([pair], texts, assessor).of(pair)
    recall_inquiries([inquiry], assessor.model)
    own = (each for each in inquiry.parts if each[0].name != ALONE or each[0].pays == pair)
    return tuple(_attempt_history(part, task, assessor, store) for part, task in own)


def _attempt_history(
    part: JudgingPart, task: Task[Any], assessor: Assessor, store: Store
) -> AttemptHistory:
    fitted = fitting(assessor.model, store)
    canon = Canon(assessor.model.id, reads_inputs=not assessor.model.is_server)
    attempts = list[Attempt]()
    for request, reply in task.asked:
        whole, _, cut = canon.keyed(request)
        if record := store.record(whole) or store.record(cut):
            sent = replace(fitted(request), parameters=reply.sent)
            attempts.append(Attempt(sent, record, part.read(reply)))
    failed = store.failure(canon.keyed(task.request).key)
    return AttemptHistory(part.name, fitted(part.request), tuple(attempts), failed)


# What a grading prompt sends for one pair of a collection, before anything is asked.

Text = TypeVar("Text")


def preview(
    prompt: Prompt, collection: AnyCollection, query_id: str, doc_id: str
) -> tuple[Message, ...]:
    """The chat by which a pair is judged; an empty id is the first query or document.

    Of a prompt that takes several, the first; of one that shows several documents, with another one
    of the collection.
    """
    opened = open_collection(collection)
    texts = texts_of(opened)
    pair = Pair(_among(texts.queries, query_id, "query"), _among(texts.documents, doc_id, "doc"))
    examples = examples_for(opened, "", prompt, texts)
    assessor = Assessor(prompt, unasked("none"), examples=examples)
    others = (Pair(pair.query_id, doc) for doc in texts.documents if doc != pair.doc_id)
    pairs = [pair, *islice(others, prompt.front.batch > 1)]
    first = Inquiries(pairs, texts, assessor).example(pair)
    assert first is not None  # nothing is stored
    return first.messages


def _among(texts: Mapping[str, Text], name: str, parameter: str) -> str:
    """An id, which is the first one where it is empty; `Misuse` where nothing is called so."""
    first = next(iter(texts), "")
    if not name and first:
        return first
    if name not in texts:
        close = get_close_matches(name, texts, 1) or [first]
        problem = f"nothing in the collection has the id {name!r}; an id is {close[0]!r}"
        raise Misuse(problem, parameter=parameter)
    return name


def check_on_pair(
    path: Path | str, collection: AnyCollection, query_id: str = "", doc_id: str = ""
) -> PromptCheck:
    """`check_prompt`, with a pair of a collection in the example."""
    checked = check_prompt(path)
    prompt = checked.prompt
    if prompt is None:
        return checked
    if prompt.front.kind != "grade":
        problem = f"a pair is judged by a prompt that grades, and {prompt.name} does not"
        raise Misuse(problem, parameter="collection")
    shown = preview(prompt, collection, query_id, doc_id)
    if prompt.front.questions is None:
        return replace(checked, example=shown)
    return replace(checked, writing=shown)
