"""The records that every room shares: documents, queries, pairs, judgements and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Qrels = Mapping[str, Mapping[str, int]]
"""Query id to document id to grade; what every IR tool of the ecosystem accepts."""

Run = Mapping[str, Mapping[str, float]]
"""Query id to document id to score."""

JUDGED = "judged"
FAILURES = (
    "refused",
    "filtered",
    "truncated",
    "unparsable",
    "out_of_scale",
    "conflict",
    "call_failed",
)


@dataclass(frozen=True, slots=True)
class Document:
    """A passage that can be retrieved: BEIR's `_id`, `title`, `text`, `metadata`."""

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


Documents = Mapping[str, Document]
"""Documents by id."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search need; `metadata` may hold `description`, `narrative` and where it came from."""

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Pair(NamedTuple):
    """What is judged: one query and one document, by their ids."""

    query_id: str
    doc_id: str

    def grade_in(self, qrels: Qrels) -> int | None:
        """The grade that qrels give it; None where they give none."""
        return qrels.get(self.query_id, {}).get(self.doc_id)


@dataclass(frozen=True, slots=True)
class Pooled:
    """A pair to judge, the runs that found it and its best rank (1 is first; None if unknown).

    `seeds` are the relevant documents of the query whose neighbor this one is, where the pool was
    expanded from them; `round` is the round of expansion that added the pair, None where none did.
    """

    pair: Pair
    runs: tuple[str, ...] = ()
    best_rank: int | None = None
    seeds: tuple[str, ...] = ()
    round: int | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A validated grade of one pair.

    It was made of the grades of `votes` or of the document's `passages`, where there are any; None
    stands for one that failed.
    """

    pair: Pair
    grade: int
    reason: str | None = None
    distribution: Mapping[int, float] | None = None
    votes: tuple[int | None, ...] = ()
    passages: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A pair without a grade: a status of `FAILURES`, and a detail."""

    pair: Pair
    status: str
    detail: str


Outcome = Judgement | Failure


class State(NamedTuple):
    """What a set says of a pair: a grade, a failure's status, or `absent` where it says nothing."""

    grade: int | None
    status: str

    def __str__(self) -> str:
        return str(self.answer)

    @property
    def answer(self) -> int | str:
        """The grade, or the status of a failure."""
        return self.status if self.grade is None else self.grade


def judged(grade: int) -> State:
    """The state of a pair with a grade."""
    return State(grade, JUDGED)


def state_of(outcome: Outcome) -> State:
    """The state of a pair that was judged."""
    return State(None, outcome.status) if isinstance(outcome, Failure) else judged(outcome.grade)


def most_given(grades: Sequence[int]) -> int:
    """The grade that most have given; where several are as frequent, the lower median of all."""
    times = Counter(grades)
    most = [grade for grade, count in times.items() if count == max(times.values())]
    return most[0] if len(most) == 1 else sorted(grades)[(len(grades) - 1) // 2]


class Listed(NamedTuple):
    """Where a document stood when a model was shown several: their ids in order, and its position.

    Positions count from 1. `alone` is true where the list gave the document no grade, so that it
    was asked about alone.
    """

    documents: tuple[str, ...]
    position: int
    alone: bool = False


@dataclass(slots=True)
class Judged:
    """How judging one pair went: its outcome, and what that took.

    `attempts` counts the replies, remembered ones too; the tokens are those of all attempts;
    `cost` is in dollars, None where no price is known; `model` is the name that the server gave
    last; `remembered` is true where nothing was asked, `shared` where, too, an equal request or
    another process was answered during this run. A request that several pairs share is counted in
    one of them alone. `suspicions` names what in the document looks as if it was written for the
    assessor. `listed` is None where the document was shown alone. `thought` is true where the
    model reasoned before a reply. `shown` tells the texts that the assessor was shown from others;
    it is empty where that is not known. `sent` are the parameters of the last request;
    empty where none was.
    """

    outcome: Outcome
    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    model: str = ""
    remembered: bool = False
    shared: bool = False
    suspicions: tuple[str, ...] = ()
    listed: Listed | None = None
    thought: bool = False
    shown: str = ""
    sent: Mapping[str, Any] = field(default_factory=dict)
