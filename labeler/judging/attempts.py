"""The attempts at a question: the replies so far, and the request that would follow them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Generic, TypeVar

from labeler.data import Failure, Pair
from labeler.model import NO_TEXT, Model, Reply, Request
from labeler.models.cost import FEWEST_BYTES, at_most

# Requests that are too long for a server: as it says, or as its count of their tokens tells.

CUTS = "the server cuts the prompt"
HELP = "a longer context at the server, as num_ctx at Ollama, or the assessor's own `context`"

SMALLEST_CONTEXT = 256
"""A smaller count is no context's: a server that counts only what it had not ready gives those."""

FEW_LETTERS = 5
"""Characters a token, with its space, below which no prompt is looked at closer."""

SEVERAL = 5
"""Prompts of one count, from which on it may be a limit."""

APART, OF_A_LIMIT = 2.0, 1.02
"""Times that the longest of them is the shortest. Passages of equally many tokens are closer; the
second holds where the count is a multiple of `STEP`, as the limits of servers are.
"""

STEP = 256

_ENDS_OF_WORDS = re.compile(r"[A-Za-z0-9][.,;:!?)](?=\s)")
_ABOUT_CONTEXT = re.compile(
    r"context|too long|too many (input )?tokens|(maximum|exceed).{0,60}(length|tokens)",
    re.IGNORECASE,
)
_PACE = re.compile(r"\brate\b|per (minute|day)|quota", re.IGNORECASE)


def cut_of(request: Request, reply: Reply) -> str:
    """What tells that a server read a prompt in part; empty where nothing does.

    A word between spaces is a token at least, in any tokenizer, and a sign behind it another.
    Scripts without spaces have few such words, so that nothing is said of them.
    """
    read = reply.prompt_tokens + reply.cached_tokens  # which some servers count beside
    size = sum(len(message.content) for message in request.messages)
    if read < SMALLEST_CONTEXT or size < FEW_LETTERS * read:
        return ""
    texts = [message.content for message in request.messages]
    least = sum(len(text.split()) + len(_ENDS_OF_WORDS.findall(text)) for text in texts)
    return f"{CUTS}: it read {read:,} tokens of {least:,} words and signs" if least > read else ""


@dataclass(slots=True)
class ReadAtMost:
    """The most tokens that a server was seen to read of a prompt, and the prompts that had as many.

    Where prompts of very different lengths have one and the same count, and none has a larger one,
    that is where the server cuts them.
    """

    tokens: int = 0
    prompts: int = 0
    shortest: int = 0
    longest: int = 0

    def note(self, tokens: int, characters: int) -> None:
        """Take in a request with texts of so many characters, of which so many tokens were read."""
        if tokens > self.tokens:
            self.tokens, self.prompts = tokens, 0
            self.shortest = self.longest = characters
        if tokens == self.tokens:
            self.prompts += 1
            self.shortest = min(self.shortest, characters)
            self.longest = max(self.longest, characters)

    @property
    def is_cut(self) -> bool:
        """Whether the server reads no more of any prompt."""
        is_many = self.prompts >= SEVERAL and self.tokens >= SMALLEST_CONTEXT
        apart = APART if self.tokens % STEP else OF_A_LIMIT
        return is_many and self.longest > apart * self.shortest


def is_about_context(failure: Failure) -> bool:
    """Whether a request had no answer as it was too long for the server."""
    if failure.status == "truncated":
        return failure.detail.startswith(CUTS)
    is_about = failure.status == "call_failed" and _ABOUT_CONTEXT.search(failure.detail)
    return bool(is_about) and not _PACE.search(failure.detail)


def fits(request: Request, context: int) -> bool:
    """Whether a request and its reply fit into a context, as far as that is known before."""
    most = at_most(request)
    return most.inside / FEWEST_BYTES + most.outside <= context


TRIES = 3
"""The first attempt and two re-asks."""

REASKED = ("unparsable", "truncated", "out_of_scale", "conflict")
ROWS_OF_A_CHUNK = 500


Value = TypeVar("Value")


@dataclass(slots=True)
class Task(Generic[Value]):
    """A question that is being asked: the request to send next, and what was answered so far.

    `read` says what a reply is: what was asked for, or a `Failure`.
    """

    request: Request
    read: Callable[[Reply], Value | Failure]
    outcome: Value | Failure | None = None
    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    model: str = ""
    remembered: bool = True
    shared: bool = False
    thought: bool = False
    sent: Mapping[str, Any] = field(default_factory=dict)
    is_worth_another: bool = True

    @property
    def is_answered(self) -> bool:
        """Whether a reply was what was asked for."""
        return self.outcome is not None and not isinstance(self.outcome, Failure)

    def take_in(self, reply: Reply) -> None:
        """Count a reply, see what it says, and make the request that would follow it."""
        self.outcome = self.read(reply)
        self.cost = reply.cost if not self.attempts else sum_of(self.cost, reply.cost)
        self.attempts += 1
        self.is_worth_another = reply.finish_reason != NO_TEXT
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self.cached_tokens += reply.cached_tokens
        self.model = reply.model or self.model
        self.remembered = self.remembered and reply.remembered
        self.shared = self.shared or reply.shared
        self.thought = self.thought or reply.thought
        self.sent = reply.sent
        if isinstance(self.outcome, Failure):
            self.request = next_request(self.request, self.outcome)

    def calls_left(self, retry_failed: bool) -> int:
        """How many times it may be asked, after what is remembered of it."""
        if self.outcome is None:
            return TRIES
        if not isinstance(self.outcome, Failure):
            return 0
        if retry_failed:
            return TRIES
        return max(0, TRIES - self.attempts) if self.is_reasked else 0

    @property
    def is_reasked(self) -> bool:
        """Whether another reply may be what was asked for where the last one was not."""
        if not isinstance(self.outcome, Failure) or is_about_context(self.outcome):
            return False
        return self.outcome.status in REASKED and self.is_worth_another


def sum_of(first: float | None, second: float | None) -> float | None:
    """The sum of two costs, unknown where either is."""
    return None if first is None or second is None else first + second


def next_request(request: Request, answer: object) -> Request:
    """The next attempt: the same question, with twice the tokens where the reply was cut short."""
    parameters = request.parameters
    if isinstance(answer, Failure) and answer.status == "truncated":
        most = parameters.get("max_tokens")
        parameters = {**parameters, "max_tokens": 2 * most} if most else parameters
    return replace(request, parameters=parameters, attempt=request.attempt + 1)


def in_chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """The pairs, a few hundred at a time, whose stored replies are looked up together."""
    source = iter(pairs)
    while chunk := list(islice(source, ROWS_OF_A_CHUNK)):
        yield chunk


def recall_all(tasks: Iterable[Task[Any]], model: Model) -> None:
    """Have tasks take in the stored replies to them, those to re-asks too."""
    asked = list(tasks)
    while asked:
        replies = model.recall([task.request for task in asked])
        answered = [(t, r) for t, r in zip(asked, replies, strict=True) if r is not None]
        for task, reply in answered:
            task.take_in(reply)
        asked = [task for task, _ in answered if not task.is_answered]
