"""What `tune` chooses among: prompts with models, and what each said of people's pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from labeler.agreement.align import AssessorLabels
from labeler.data import Failure, Judged, Pair, Qrels
from labeler.judging.job import default_name
from labeler.models.settings import AnyModel
from labeler.prompt import Prompt

LIMIT_WITHOUT_GRADE = 0.1
"""The share of pairs without a grade above which an assessor ranks behind all others."""


@dataclass(frozen=True)
class Candidate:
    """A prompt with a model, under the name that its judgements would have."""

    name: str
    prompt: Prompt
    model: AnyModel | None

    @classmethod
    def of(cls, prompt: Prompt, model: AnyModel | None, model_name: str) -> Candidate:
        """The candidate, named as `judge` names its judgements where nobody does."""
        return cls(default_name(prompt.name, model_name), prompt, model)


@dataclass
class CandidateAnswers:
    """What a candidate said of the pairs that it was asked about, and what its replies took.

    `cost` is in dollars, None where a price is not known; it counts replies that were remembered,
    so that candidates compare.
    """

    grades: Qrels = field(default_factory=dict)
    failures: dict[Pair, str] = field(default_factory=dict)
    pairs: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0

    def add(self, judged: Judged) -> None:
        """Count one more pair."""
        outcome = judged.outcome
        self.pairs += 1
        self.prompt_tokens += judged.prompt_tokens
        self.completion_tokens += judged.completion_tokens
        is_priced = self.cost is not None and judged.cost is not None
        self.cost = (self.cost or 0.0) + (judged.cost or 0.0) if is_priced else None
        if isinstance(outcome, Failure):
            self.failures[outcome.pair] = outcome.status
        else:
            self.grades.setdefault(outcome.pair.query_id, {})[outcome.pair.doc_id] = outcome.grade

    def labels(self, name: str) -> AssessorLabels:
        """The grades and the failures, as agreement takes them."""
        return AssessorLabels(self.grades, self.failures, name)

    @property
    def fails_often(self) -> bool:
        """Whether more than a tenth of the pairs have no grade."""
        return len(self.failures) > LIMIT_WITHOUT_GRADE * self.pairs

    @property
    def tokens_a_pair(self) -> float:
        """Tokens of a pair, prompt and reply, on average."""
        return (self.prompt_tokens + self.completion_tokens) / max(self.pairs, 1)

    @property
    def cost_a_thousand(self) -> float | None:
        """Dollars for a thousand pairs; None where a price is not known."""
        return None if self.cost is None else 1000 * self.cost / max(self.pairs, 1)


def distinct(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates, with a number behind names that would stand twice."""
    names = [candidate.name for candidate in candidates]
    return tuple(
        candidate
        if names.count(candidate.name) == 1
        else Candidate(f"{candidate.name}-{number}", candidate.prompt, candidate.model)
        for number, candidate in enumerate(candidates, start=1)
    )
