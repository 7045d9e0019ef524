"""What writing queries would ask, before anything is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from labeler.data import Document
from labeler.model import Request
from labeler.models.call_plan import plan_calls
from labeler.models.session import Session
from labeler.queries.kinds import UNANSWERABLE, turns
from labeler.queries.result import GenerationPlan
from labeler.queries.writing.asked import CHECKED, topic_request, verdict_request
from labeler.queries.writing.candidates import PassageTurn
from labeler.queries.writing.turns import Turns, used_passages
from labeler.queries.writing.write import is_no_query, most_passages
from labeler.queries.writing.writer import Writer, generation_requests

_RETRIEVERS = 2


def planned(
    documents: Sequence[Document], writer: Writer, total: int, session: Session
) -> GenerationPlan:
    """What writing queries about passages, in their order, would take.

    At most counts the passages that may have a turn, the longest first, and all further questions
    that their queries may give rise to.
    """
    missing = max(0, total - len(writer.already))
    likely = Turns.of(documents, writer).next(missing)
    first = {turn.document.id for turn in likely}
    spare = [t for t in _possible(documents, writer, missing) if t.document.id not in first]
    most = min(most_passages(missing), len(likely) + len(spare))
    unasked = [request for turn in likely for request in _unanswered(turn, writer)]
    unasked += _topics(likely, writer)
    more = [_unanswered(turn, writer) for turn in spare]
    more.sort(key=lambda requests: -sum(map(_size, requests)))
    further = [request for requests in more[: most - len(likely)] for request in requests]
    calls = plan_calls([*unasked, *further], session, likely=len(unasked))
    return GenerationPlan(len(likely), calls, most)


def _possible(documents: Sequence[Document], writer: Writer, missing: int) -> Iterable[PassageTurn]:
    """The turns that may come: of each kind, the first so many passages that were dealt to it."""
    most, used = most_passages(missing), used_passages(writer)
    by_kind: dict[str, list[PassageTurn]] = defaultdict(list)
    for document, kind in zip(documents, turns(writer.shares), strict=False):
        if document.id not in used and len(by_kind[kind]) < most:
            by_kind[kind].append(PassageTurn(document, kind))
        if all(len(by_kind[kind]) >= most for kind in writer.shares):
            break
    return (turn for of_kind in by_kind.values() for turn in of_kind)


def _unanswered(turn: PassageTurn, writer: Writer) -> list[Request]:
    """The requests of a turn to which the store has no reply that would do, and its checks."""
    requests = generation_requests(turn.document, writer, turn.kind)
    replies = writer.model.recall(requests)
    new = [
        request
        for request, reply in zip(requests, replies, strict=True)
        if reply is None or (writer.retry_failed and is_no_query(reply))
    ]
    return [*new, *(_checks(turn, writer) if new else ())]


def _checks(turn: PassageTurn, writer: Writer) -> list[Request]:
    """What may be asked about a turn's candidates, with words in their place."""
    query = _stand_in(turn, writer)
    asked: list[Request] = []
    if writer.further.self_contained:
        request = verdict_request(writer.further.self_contained, query)
        asked += [request] * writer.samples
    if writer.further.answered and turn.kind == UNANSWERABLE:
        request = verdict_request(writer.further.answered, query, turn.document)
        asked += [request] * (CHECKED * _RETRIEVERS)
    return asked


def _topics(likely: Sequence[PassageTurn], writer: Writer) -> list[Request]:
    """The request for the topic of each query, with words in the query's place."""
    prompt = writer.further.topic
    if prompt is None:
        return []
    return [topic_request(prompt, _stand_in(turn, writer), turn.document) for turn in likely]


def _stand_in(turn: PassageTurn, writer: Writer) -> str:
    """Words in the place of a query that nobody has written yet, as many as it may have."""
    return " ".join(turn.document.text.split()[: writer.max_words(turn.kind)])


def _size(request: Request) -> int:
    return sum(len(message.content) for message in request.messages)
