"""What the answers of a batch come to: replies and failures to store, the rest to ask again."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from labeler.errors import CallFailed, LabelerError, Retryable
from labeler.model import Request, is_cut
from labeler.models.cost import Price, sum_of
from labeler.models.policies.learn import Abilities
from labeler.models.server.answers import as_text, read_reply
from labeler.models.server.client import wire_format
from labeler.store.base import Failed, KeyedReply, WriteBatch
from labeler.store.keys import LIMIT, cut_key
from labeler.store.replies import Store
from labeler.wire.addresses import OPENAI
from labeler.wire.masking import without_key

# The lines of batch files: a request with its key, and what was answered to it.

ENDPOINT: Final = "/v1/chat/completions"
MOST_LINES = 50_000
MOST_BYTES = 200_000_000
"""What a file of requests may hold (OpenAI's Batch API, 2026: 50,000 requests and 200 MB)."""

_KEY = re.compile("[0-9a-f]{64}")


class AnswerLine(NamedTuple):
    """What a line says of one request: the HTTP status and the body, as a call would have had them.

    `code` and `problem` say why there is no answer, where the service gave none at all.
    """

    key: bytes
    status: int
    body: bytes
    code: str = ""
    problem: str = ""


class FileBounds(NamedTuple):
    """How many requests and bytes a file of requests may hold."""

    lines: int = MOST_LINES
    size: int = MOST_BYTES


def request_line(key: bytes, model_name: str, request: Request) -> bytes:
    """A request as a line of a batch file, named by the key of its reply."""
    line = {
        "custom_id": key.hex(),
        "method": "POST",
        "url": ENDPOINT,
        "body": wire_format(OPENAI).body(model_name, request),
    }
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def read_answer_line(line: bytes) -> AnswerLine:
    """What a line of answers says; `ValueError` where it is none, or names no key.

    >>> key = bytes(32).hex()
    >>> line = '{"custom_id": "%s", "response": {"status_code": 200, "body": {}}}' % key
    >>> read_answer_line(line.encode()).status
    200
    """
    try:
        row = json.loads(line)
        name, response, error = row["custom_id"], row.get("response"), row.get("error")
    except (KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise ValueError("expected a line of a batch's answers, with custom_id") from problem
    if not (isinstance(name, str) and _KEY.fullmatch(name)):
        raise ValueError(f"custom_id {str(name)[:40]!r} names no request of ours")
    key = bytes.fromhex(name)
    if isinstance(response, Mapping) and isinstance(response.get("status_code"), int):
        body = json.dumps(response.get("body"), ensure_ascii=False)
        return AnswerLine(key, response["status_code"], body.encode("utf-8", "surrogatepass"))
    if isinstance(error, Mapping):
        return AnswerLine(key, 0, b"", as_text(error.get("code")), as_text(error.get("message")))
    raise ValueError("a line with neither a response nor an error")


def answer_lines(lines: Iterable[bytes]) -> Iterator[AnswerLine | ValueError]:
    """What each line says that is not empty, or why it says nothing."""
    for line in lines:
        if not line.strip():
            continue
        try:
            yield read_answer_line(line)
        except ValueError as problem:
            yield problem


ROWS_AT_ONCE = 500
UNASKED_CODES = frozenset({"batch_expired", "batch_cancelled"})
"""How the service says that it never asked a request."""


@dataclass(slots=True)
class Collected:
    """What the lines of a batch's answers were, and what the replies among them took.

    `replies` are those that were stored, `failed` the calls that failed for good; `strange` lines
    are about no request of the batch, `repeated` ones about one that another line answers. `keys`
    are those of all requests that a line is about.
    """

    replies: int = 0
    failed: int = 0
    repeated: int = 0
    strange: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    problem: str = ""
    keys: set[bytes] = field(default_factory=set)

    @property
    def answered(self) -> int:
        """How many requests have their reply, or have failed for good."""
        return self.replies + self.failed

    def add(self, other: Collected) -> None:
        """Count what another file held."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.cost = sum_of([self.cost, other.cost])
        self.problem = self.problem or other.problem
        self.keys |= other.keys


_COUNTS = ("replies", "failed", "repeated", "strange", "tokens")


@dataclass(frozen=True, slots=True)
class BatchRequests:
    """The requests of a batch: of which model, where, and the canonical text of each by its key.

    `abilities` are what the server accepts, as they were sent by.
    """

    model_id: str
    where: str
    texts: Mapping[bytes, str]
    price: Price | None = None
    api_key: str = ""
    abilities: Abilities = field(default_factory=Abilities)


ToStore = KeyedReply | Failed
"""What an answer comes to: a reply, or how a call failed for good."""


def store_answers(
    lines: Callable[[], Iterable[bytes]], asked: BatchRequests, store: Store
) -> Collected:
    """Store what a file of answers holds; each reply as if a call had brought it.

    What is stored already stays as it is. The file is gone through twice: answers to one request
    that contradict each other are none, whichever came first.
    """
    collected, several = Collected(), _several_answers(lines(), asked)
    waiting: list[ToStore] = []
    for line in answer_lines(lines()):
        if isinstance(line, ValueError):
            collected.strange += 1
            collected.problem = collected.problem or str(line)
        elif line.key not in asked.texts:
            collected.strange += 1
        else:
            collected.keys.add(line.key)
            if outcome := _outcome(line, asked):
                several.get(line.key, waiting).append(outcome)
            if len(waiting) >= ROWS_AT_ONCE:
                _write(waiting, store, collected)
                waiting = []
    for outcomes in filter(None, several.values()):
        collected.repeated += len(outcomes) - 1
        waiting.append(_agreed(outcomes, asked))
    _write(waiting, store, collected)
    return collected


def _several_answers(lines: Iterable[bytes], asked: BatchRequests) -> dict[bytes, list[ToStore]]:
    """The requests of which several lines are, each with room for what they say."""
    counts = Counter(line.key for line in answer_lines(lines) if isinstance(line, AnswerLine))
    return {key: [] for key, count in counts.items() if count > 1 and key in asked.texts}


def _agreed(outcomes: Sequence[ToStore], asked: BatchRequests) -> ToStore:
    """What several answers to one request come to: the first, where all say the same."""
    if len({_content_of(outcome) for outcome in outcomes}) == 1:
        return outcomes[0]
    problem = f"in a batch: {len(outcomes)} answers that contradict each other"
    first = outcomes[0]
    whole = first.lease if isinstance(first, KeyedReply) else None  # its own may be of a cut one
    return Failed(whole or first.key, "conflict", f"{asked.where}: {problem}")


def _content_of(outcome: ToStore) -> tuple[str, ...]:
    """What an answer says, whatever its id and its counts."""
    if isinstance(outcome, Failed):
        return outcome.status, outcome.detail
    reply = outcome.reply
    return reply.text, reply.finish_reason, reply.refusal or ""


def _write(outcomes: list[ToStore], store: Store, collected: Collected) -> None:
    replies = [outcome for outcome in outcomes if isinstance(outcome, KeyedReply)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    collected.replies += len(replies)
    collected.failed += len(failed)
    for reply in (keyed.reply for keyed in replies):
        collected.tokens += reply.prompt_tokens + reply.completion_tokens
        collected.cost = sum_of([collected.cost, reply.cost])
    if outcomes:
        store.write(WriteBatch(replies, failed))


def _outcome(line: AnswerLine, asked: BatchRequests) -> ToStore | None:
    """The reply or the failure that a call with this answer would have been; None: ask again."""
    if not line.status:
        if line.code in UNASKED_CODES:
            return None
        words = " ".join(filter(None, (line.code, line.problem))) or "no answer, and no reason"
        return Failed(line.key, "call_failed", f"{asked.where}: in a batch: {words}"[:300])
    body = without_key(line.body, asked.api_key)
    try:
        reply = read_reply(line.status, body, asked.where, {})
    except CallFailed as error:
        return None if isinstance(error, Retryable) else Failed(line.key, error.status, str(error))
    except LabelerError:  # a key or an account that was refused, which another try may mend
        return None
    if asked.price is not None:
        tokens = reply.prompt_tokens, reply.completion_tokens
        reply = replace(reply, cost=asked.price.of(*tokens, cached=reply.cached_tokens))
    text = asked.texts[line.key]
    request = json.loads(text)
    parameters, graded = request["parameters"], request["schema"] is not None
    reply.note_sent(asked.abilities.parameters(parameters, graded=graded))
    key = cut_key(line.key, parameters.get(LIMIT)) if is_cut(reply.finish_reason) else line.key
    return KeyedReply(key, asked.model_id, text, reply, line.key)
