"""The judging of pairs that share requests, or that take several: rounds of parts. The same replies
make the same outcomes, whenever and in which order they came.

A method is a generator. It yields the parts of a round, is sent what was read in the replies to
them, in their order, and returns the outcomes. It asks nobody: whoever drives it asks a model,
looks replies up, makes them up for a plan, or shows them. So every method is stored, resumed,
planned and explained by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from labeler.data import Failure, Judged, Listed, Outcome, Pair
from labeler.judging.attempts import Task, cut_of, is_about_context, recall_all, sum_of
from labeler.model import Model, Reply, Request


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

    def pretend(self, answer: Callable[[JudgingPart], Any], retry_failed: bool) -> None:
        """End this round, with an answer made up for each part that would be asked."""
        answers = [
            answer(part) if calls_left(part, task, retry_failed) else task.outcome
            for part, task in self.open
        ]
        self._judged = {}  # what is made up is no outcome
        self._begin(answers)

    def judged(self) -> dict[Pair, Judged]:
        """The pairs that have an outcome, and what the replies behind them took."""
        if self.outcomes is None:
            return {}
        if self._judged is None:
            self._judged = self._all_judged(self.outcomes)
        return self._judged

    def _all_judged(self, outcomes: Outcomes) -> dict[Pair, Judged]:
        if len(self._asked) == len(outcomes) == 1 and not self.listed:
            (part, task), [(pair, outcome)] = self._asked[0], outcomes.items()
            if part.pays == pair:
                return {pair: _alone(outcome, task)} if outcome is not None else {}
        tasks = [task for _, task in self._asked]
        model = next((task.model for task in reversed(tasks) if task.model), "")
        remembered = all(task.remembered for task in tasks)
        shared = remembered and any(task.shared for task in tasks)
        is_priced = all(task.cost is not None for task in tasks)
        common = Judged(_NOBODY, 0, 0, 0, 0.0 if is_priced else None, model, remembered, shared)
        sent: Mapping[str, Any] = next((task.sent for task in reversed(tasks) if task.sent), {})
        common = replace(common, thought=any(task.thought for task in tasks), sent=sent)
        return {
            pair: self._paid(pair, replace(common, outcome=outcome, listed=self._listed(pair)))
            for pair, outcome in outcomes.items()
            if outcome is not None
        }

    def _listed(self, pair: Pair) -> Listed | None:
        """Where a pair's document stood, and whether it was asked about alone after that."""
        listed = self.listed.get(pair)
        if listed is None:
            return None
        alone = any(p.name == ALONE and p.pays == pair and t.attempts for p, t in self._asked)
        return listed._replace(alone=alone)

    def _paid(self, pair: Pair, judged: Judged) -> Judged:
        """A pair with what the requests took that are counted in its row."""
        own = [task for part, task in self._asked if part.pays == pair]
        if not own:
            return judged
        cost: float | None = 0.0
        for task in own:
            cost = sum_of(cost, task.cost)
        return replace(
            judged,
            attempts=sum(task.attempts for task in own),
            prompt_tokens=sum(task.prompt_tokens for task in own),
            completion_tokens=sum(task.completion_tokens for task in own),
            cached_tokens=sum(task.cached_tokens for task in own),
            cost=cost,
        )


def _read_whole(part: JudgingPart, pair: Pair, reply: Reply) -> Any:
    """What a reply says, unless the server read the request in part."""
    cut = cut_of(part.request, reply)
    return Failure(part.pays or pair, "truncated", cut) if cut else part.read(reply)


def _alone(outcome: Outcome, task: Task[Any]) -> Judged:
    """A pair that took one request, as nearly all pairs of most runs do: made at once."""
    spent = (task.attempts, task.prompt_tokens, task.completion_tokens, task.cost)
    whence = (task.model, task.remembered, task.remembered and task.shared)
    return Judged(
        outcome,
        *spent,
        *whence,
        cached_tokens=task.cached_tokens,
        thought=task.thought,
        sent=task.sent,
    )


_NOBODY = Failure(Pair("", ""), "call_failed", "")


def calls_left(part: JudgingPart, task: Task[Any], retry_failed: bool) -> int:
    """How many times a part may be asked, after what is remembered of it."""
    is_too_long = isinstance(task.outcome, Failure) and is_about_context(task.outcome)
    return task.calls_left(retry_failed and part.is_final and not is_too_long)


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
