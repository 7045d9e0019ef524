"""Judging pairs that share requests, or that take several: rounds of requests, called parts.

The same replies make the same outcomes, whenever and in which order they came.

A method is a generator. It yields the parts of a round, is sent what was read in the replies to
them, in their order, and returns the outcomes. It asks nobody: whoever drives it asks a model,
looks replies up, makes them up for a plan, or shows them. So every method is stored, resumed,
planned and explained by the same code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from labeler.data import Document, Failure, Judged, Listed, Outcome, Pair, Query
from labeler.messages import batched
from labeler.model import NO_TEXT, TOO_LONG, Model, Reply, Request, is_about_context
from labeler.models.cost import FEWEST_BYTES, sizes_of, sum_of

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

USUAL_CONTEXTS = frozenset(2048 * 2**power for power in range(7))
"""Tokens that servers are started for, from 2,048 to 131,072."""

_ENDS_OF_WORDS = re.compile(r"[A-Za-z0-9][.,;:!?)](?=\s)")


def cut_of(request: Request, reply: Reply) -> str:
    """What tells that a server read a prompt in part; empty where nothing does.

    A word between spaces is a token at least, in any tokenizer, and a sign behind it another.
    Scripts without spaces have few such words, so that nothing is said of them. If the count
    equals a usual context size, with or without the reply, the prompt was cut, provided its text
    has enough letters a token.
    """
    read = reply.prompt_tokens + reply.cached_tokens  # which some servers count beside
    size = sum(len(message.content) for message in request.messages)
    if read < SMALLEST_CONTEXT or size < FEW_LETTERS * read:
        return ""
    sent = reply.sent or request.parameters
    most = sent.get("max_completion_tokens", sent.get("max_tokens"))
    allowed = most if isinstance(most, int) else 0  # tokens of a reply
    if not USUAL_CONTEXTS.isdisjoint((read, read + allowed)):
        return f"{CUTS}: it read {read:,} tokens of {size:,} characters, as a usual context has"
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

    def note_pair(self, judged: Judged, query: Query, document: Document) -> None:
        """Take in a pair, where one request showed its texts whole."""
        if judged.attempts == 1 and judged.listed is None and judged.prompt_tokens:
            self.note(judged.prompt_tokens, len(query.text) + len(document.text))

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


def is_too_long(failure: Failure) -> bool:
    """Whether a request had no answer as it was too long for the server."""
    if failure.status == "truncated":
        return CUTS in failure.detail
    return failure.status == "call_failed" and is_about_context(failure.detail)


def fits(request: Request, context: int) -> bool:
    """Whether a request and its reply fit into a context, as far as that is known before."""
    most = sizes_of(request).at_most
    return most.inside / FEWEST_BYTES + most.outside <= context


SHORTEST = 400
"""Characters of a text that is not cut any more."""

# The attempts at a question: the replies so far, and the request that would follow them.

TRIES = 3
"""The first attempt and two re-asks."""

REASKED = ("unparsable", "truncated", "out_of_scale", "conflict")
ROWS_OF_A_CHUNK = 500


Value = TypeVar("Value")


@dataclass(slots=True)
class Task(Generic[Value]):
    """A question that is being asked: the request to send next, and what was answered so far.

    `read` says what a reply is: what was asked for, or a `Failure`. `remembered` is false once a
    model was asked.
    """

    request: Request
    read: Callable[[Reply], Value | Failure]
    outcome: Value | Failure | None = None
    asked: list[tuple[Request, Reply]] = field(default_factory=list)
    remembered: bool = True

    def takes(self, reply: Reply) -> bool:
        """Whether a stored reply can be used.

        A refusal for length can only if no reply came before and there is less to show: a text
        that can still be split, or one of several texts.
        """
        shown = self.request.inputs
        can_show_less = len(shown.get("text", "")) >= SHORTEST or shown.get("count", "1") != "1"
        return reply.finish_reason != TOO_LONG or (can_show_less and self.outcome is None)

    def take_in(self, reply: Reply) -> None:
        """Count a reply, see what it says, and make the request that would follow it."""
        self.outcome = self.read(reply)
        self.asked.append((self.request, reply))
        if reply.finish_reason == TOO_LONG:
            return
        if isinstance(self.outcome, Failure):
            self.request = self.request.again(is_longer=self.outcome.status == "truncated")
        self.remembered = self.remembered and reply.remembered

    @property
    def replies(self) -> list[Reply]:
        """The replies so far, but for those that say the request is too long: they took nothing."""
        return [reply for _, reply in self.asked if reply.finish_reason != TOO_LONG]

    @property
    def cost(self) -> float | None:
        """What the replies cost in dollars; None without any, and where one has no price."""
        return sum_of([reply.cost for reply in self.replies] or [None])

    @property
    def is_reasked(self) -> bool:
        """Whether another reply may be what was asked for where the last one was not."""
        if not isinstance(self.outcome, Failure) or is_too_long(self.outcome):
            return False
        has_text = all(reply.finish_reason != NO_TEXT for reply in self.replies[-1:])
        return self.outcome.status in REASKED and has_text


def in_chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Pairs in chunks, whose replies are looked up at once."""
    return batched(pairs, ROWS_OF_A_CHUNK)


def recall_all(tasks: Iterable[Task[Any]], model: Model) -> None:
    """Have tasks take in the stored replies to them, those to re-asks too."""
    asked = list(tasks)
    while asked:
        replies = model.recall([task.request for task in asked])
        answered = [(t, r) for t, r in zip(asked, replies, strict=True) if r and t.takes(r)]
        for task, reply in answered:
            task.take_in(reply)
        asked = [task for task, _ in answered if isinstance(task.outcome, Failure)]


@dataclass(frozen=True, slots=True)
class JudgingPart:
    """One request among those by which pairs are judged.

    `name` tells a person which it is. `read` says what a reply is: what was asked for, or a
    `Failure`. `likely` is something that may be read, with which a plan goes on. What the request
    took is counted in the row of the pair `pays`; None where the row of another inquiry counts it.
    `is_final` is false where the pairs are asked about otherwise if this part fails.
    """

    name: str
    request: Request
    read: Callable[[Reply], Any]
    likely: Any
    pays: Pair | None
    is_final: bool = True


ALONE = "alone"
"""The name of a part that asks about one document of a list which gave it no grade."""

Answers = Sequence[Any]
"""What was read in the replies to the parts of a round; None for a part that was not answered."""

Outcomes = Mapping[Pair, Outcome | None]
"""What became of each pair; None where a part that it needs was not answered."""

Rounds = Generator[Sequence[JudgingPart], Answers, Outcomes]


class Inquiry:
    """The judging of one pair, or of several that share requests, as far as it has come.

    `listed` says in which list, and where in it, each pair was shown.
    """

    def __init__(
        self, pairs: Sequence[Pair], rounds: Rounds, listed: Mapping[Pair, Listed] | None = None
    ) -> None:
        self.pairs = pairs
        self.listed = listed or {}
        self.outcomes: Outcomes | None = None
        self.open: list[tuple[JudgingPart, Task[Any]]] = []
        self._rounds = rounds
        self._asked: list[tuple[JudgingPart, Task[Any]]] = []
        self._judged: dict[Pair, Judged] | None = None
        self._begin(None)

    def _begin(self, answers: Answers | None) -> None:
        """Begin the next round, or come to the end."""
        self._asked += self.open
        try:
            parts = next(self._rounds) if answers is None else self._rounds.send(answers)
        except StopIteration as end:
            self.open, self.outcomes = [], end.value
        else:
            pair = self.pairs[0]
            self.open = [(p, Task(p.request, partial(_read_whole, p, pair))) for p in parts]

    @property
    def parts(self) -> list[tuple[JudgingPart, Task[Any]]]:
        """All parts so far, each with what was answered."""
        return self._asked + self.open

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to ask."""
        return self.outcomes is not None

    def unasked(self, retry_failed: bool) -> list[tuple[Task[Any], int]]:
        """The tasks of this round that would be asked, each with how many times at most."""
        left = [(task, calls_left(part, task, retry_failed)) for part, task in self.open]
        return [(task, calls) for task, calls in left if calls]

    def go_on(self) -> None:
        """End this round, with what was answered."""
        self._begin([task.outcome for _, task in self.open])

    def pretend(self, retry_failed: bool, *, worst: bool) -> None:
        """End this round, with what is likely made up for each part that would be asked.

        At the `worst`, that is a failure.
        """
        unread = Failure(self.pairs[0], "unparsable", "")
        answers = [
            (unread if worst else part.likely)
            if calls_left(part, task, retry_failed)
            else task.outcome
            for part, task in self.open
        ]
        self._judged = {}  # what is made up is no outcome
        self._begin(answers)

    def judged(self) -> dict[Pair, Judged]:
        """The pairs that have an outcome, and what the replies behind them took."""
        if self.outcomes is None or self._judged is not None:
            return self._judged or {}
        tasks = [task for _, task in self._asked]
        replies = [reply for task in tasks for reply in task.replies]
        remembered = all(task.remembered for task in tasks)
        self._judged = {}
        for pair, outcome in self.outcomes.items():
            if outcome is None:
                continue
            paid = [(part, task) for part, task in self._asked if part.pays == pair]
            own = [reply for _, task in paid for reply in task.replies]
            listed = self.listed.get(pair)
            if listed is not None:  # where it stood, and whether it was asked about alone then
                alone = any(part.name == ALONE and task.replies for part, task in paid)
                listed = listed._replace(alone=alone)
            # None where a task has no reply, or one without a price
            cost = sum_of([task.cost for _, task in paid or self._asked])
            self._judged[pair] = Judged(
                outcome,
                len(own),
                sum(reply.prompt_tokens for reply in own),
                sum(reply.completion_tokens for reply in own),
                cost if paid or cost is None else 0.0,
                next((reply.model for reply in reversed(replies) if reply.model), ""),
                remembered,
                remembered and any(reply.shared for reply in replies),
                listed=listed,
                thought=any(reply.thought for reply in replies),
                sent=next((reply.sent for reply in reversed(replies) if reply.sent), {}),
            )
        return self._judged


def _read_whole(part: JudgingPart, pair: Pair, reply: Reply) -> Any:
    """What a reply says, unless the server read the request in part, or not at all."""
    if reply.finish_reason == TOO_LONG:
        return Failure(part.pays or pair, "call_failed", reply.refusal or "")
    cut = cut_of(part.request, reply)
    return Failure(part.pays or pair, "truncated", cut) if cut else part.read(reply)


def calls_left(part: JudgingPart, task: Task[Any], retry_failed: bool) -> int:
    """How many times a part may be asked, after what is remembered of it."""
    outcome = task.outcome
    if outcome is None:
        return TRIES
    if not isinstance(outcome, Failure):
        return 0
    if retry_failed and part.is_final and CUTS not in outcome.detail:
        return TRIES
    return max(0, TRIES - len(task.replies)) if task.is_reasked else 0


def recall_inquiries(
    inquiries: Iterable[Inquiry], model: Model, *, retry_failed: bool = False
) -> None:
    """Take inquiries as far as stored replies reach, all of them together, round by round."""
    begun = [inquiry for inquiry in inquiries if not inquiry.is_done]
    while begun:
        recall_all([task for inquiry in begun for _, task in inquiry.open], model)
        begun = [inquiry for inquiry in begun if not inquiry.unasked(retry_failed)]
        for inquiry in begun:
            inquiry.go_on()
        begun = [inquiry for inquiry in begun if not inquiry.is_done]
