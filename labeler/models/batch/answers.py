"""What the answers of a batch come to: replies and failures to store, the rest to ask again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from labeler.errors import CallFailed, LabelerError, NoCompletion, Retryable
from labeler.model import Reply
from labeler.models.batch.lines import AnswerLine, answer_lines
from labeler.models.ending import is_cut
from labeler.models.policies.adapt import Abilities
from labeler.models.prices import Price
from labeler.models.server.answers import read_answer
from labeler.models.server.refusals import read_refusal
from labeler.store.base import Failed, KeyedReply, Store, WriteBatch
from labeler.store.keys import cut_key, limit_of
from labeler.wire.masking import without_key

ROWS_AT_ONCE = 500
UNASKED_CODES = frozenset({"batch_expired", "batch_cancelled"})
"""How the service says that it never asked a request."""


@dataclass(slots=True)
class Collected:
    """What the lines of a batch's answers were, and what the replies among them took.

    `replies` are those that were stored, `failed` the calls that failed for good; `unasked` those
    that the service gave up or that may pass at another try; `strange` lines are about no request
    of the batch, `repeated` ones about one that another line answers. `keys` are
    those of all requests that a line is about.
    """

    replies: int = 0
    failed: int = 0
    unasked: int = 0
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
        self.replies += other.replies
        self.failed += other.failed
        self.unasked += other.unasked
        self.repeated += other.repeated
        self.strange += other.strange
        self.tokens += other.tokens
        both = self.cost is not None and other.cost is not None
        self.cost = (self.cost or 0.0) + (other.cost or 0.0) if both else None
        self.problem = self.problem or other.problem
        self.keys |= other.keys


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


def store_answers(
    lines: Callable[[], Iterable[bytes]], asked: BatchRequests, store: Store
) -> Collected:
    """Store what a file of answers holds; each reply as if a call had brought it.

    What is stored already stays as it is. The file is gone through twice: answers to one request
    that contradict each other are none, whichever came first.
    """
    collected, several = Collected(), _several_answers(lines(), asked)
    waiting: list[KeyedReply | Failed] = []
    for line in answer_lines(lines()):
        if isinstance(line, ValueError):
            collected.strange += 1
            collected.problem = collected.problem or str(line)
        elif line.key not in asked.texts:
            collected.strange += 1
        else:
            collected.keys.add(line.key)
            outcome = _outcome(line, asked)
            if outcome is None:
                collected.unasked += 1
            elif line.key in several:
                several[line.key].append(outcome)
            else:
                waiting.append(outcome)
            if len(waiting) >= ROWS_AT_ONCE:
                _write(waiting, store, collected)
                waiting = []
    for outcomes in filter(None, several.values()):
        collected.repeated += len(outcomes) - 1
        waiting.append(_agreed(outcomes, asked))
    _write(waiting, store, collected)
    return collected


def _several_answers(
    lines: Iterable[bytes], asked: BatchRequests
) -> dict[bytes, list[KeyedReply | Failed]]:
    """The requests of which several lines are, each with room for what they say."""
    counts = Counter(line.key for line in answer_lines(lines) if isinstance(line, AnswerLine))
    return {key: [] for key, count in counts.items() if count > 1 and key in asked.texts}


def _agreed(outcomes: Sequence[KeyedReply | Failed], asked: BatchRequests) -> KeyedReply | Failed:
    """What several answers to one request come to: the first, where all say the same."""
    if len({_content_of(outcome) for outcome in outcomes}) == 1:
        return outcomes[0]
    problem = f"in a batch: {len(outcomes)} answers that contradict each other"
    first = outcomes[0]
    whole = first.lease if isinstance(first, KeyedReply) else None  # its own may be of a cut one
    return Failed(whole or first.key, "conflict", f"{asked.where}: {problem}")


def _content_of(outcome: KeyedReply | Failed) -> tuple[str, ...]:
    """What an answer says, whatever its id and its counts."""
    if isinstance(outcome, Failed):
        return outcome.status, outcome.detail
    reply = outcome.reply
    return reply.text, reply.finish_reason, reply.refusal or ""


def _write(outcomes: list[KeyedReply | Failed], store: Store, collected: Collected) -> None:
    for outcome in outcomes:
        _count(outcome, collected)
    replies = [outcome for outcome in outcomes if isinstance(outcome, KeyedReply)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    if outcomes:
        store.write(WriteBatch(replies, failed))


def _count(outcome: KeyedReply | Failed, collected: Collected) -> None:
    if isinstance(outcome, Failed):
        collected.failed += 1
        return
    reply = outcome.reply
    collected.replies += 1
    collected.tokens += reply.prompt_tokens + reply.completion_tokens
    both = collected.cost is not None and reply.cost is not None
    collected.cost = (collected.cost or 0.0) + (reply.cost or 0.0) if both else None


def _outcome(line: AnswerLine, asked: BatchRequests) -> KeyedReply | Failed | None:
    """The reply or the failure that a call with this answer would have been; None: ask again."""
    if not line.status:
        if line.code in UNASKED_CODES:
            return None
        words = " ".join(filter(None, (line.code, line.problem))) or "no answer, and no reason"
        return Failed(line.key, "call_failed", f"{asked.where}: in a batch: {words}"[:300])
    body = without_key(line.body, asked.api_key)
    try:
        read = read_answer if line.status == 200 else None
        reply = (
            read(body, asked.where, {})
            if read
            else read_refusal(line.status, body, asked.where, {})
        )
    except (Retryable, NoCompletion):
        return None
    except CallFailed as error:
        return Failed(line.key, error.status, str(error))
    except LabelerError:  # a key or an account that was refused, which another try may mend
        return None
    text, reply = asked.texts[line.key], _priced(reply, asked.price)
    request = json.loads(text)
    parameters, graded = request["parameters"], request["schema"] is not None
    reply.note_sent(asked.abilities.parameters(parameters, graded=graded))
    cut = is_cut(reply.finish_reason)
    key = cut_key(line.key, limit_of(parameters)) if cut else line.key
    return KeyedReply(key, asked.model_id, text, reply, line.key)


def _priced(reply: Reply, price: Price | None) -> Reply:
    if price is None:
        return reply
    cost = price.of(reply.prompt_tokens, reply.completion_tokens, cached=reply.cached_tokens)
    return replace(reply, cost=cost)
