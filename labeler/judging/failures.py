"""Calls and pairs that fail one after the other: when it is no pair that is what is wrong."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from labeler.data import Failure, Outcome
from labeler.errors import (
    CallFailed,
    Misconfigured,
    ProviderError,
    Retryable,
    TooManyFailed,
    WaitsInBatch,
)
from labeler.judging.context import HELP, is_about_context
from labeler.models.limits import Proof

_ABOUT_LENGTH = re.compile("context|length|too (long|large|many)|token", re.IGNORECASE)
FAILED_IN_A_ROW = 8
REFUSED_IN_A_ROW = 50
"""Requests refused in the same words with no answer between them, after which the run ends."""


@dataclass(slots=True)
class FailuresInARow:
    """Counts calls that failed since the last answer; of `at_once` calls, all may fail at once."""

    at_once: int
    failed: int = 0
    refused: int = 0
    refused_with: str = ""

    def end(self) -> None:
        """Begin to count anew, as the server answered."""
        self.failed = self.refused = 0

    def count(self, error: CallFailed) -> None:
        """Count a failed call; raise what ends the run, rather than fail every pair."""
        if isinstance(error, WaitsInBatch):
            return
        if not isinstance(error, Retryable):
            self._count_refusal(error)
            return
        self.failed += 1
        if self.failed >= max(FAILED_IN_A_ROW, self.at_once):
            problem = f"{self.failed} pairs failed in a row, the last with: {error}"
            raise ProviderError(problem)

    def _count_refusal(self, error: CallFailed) -> None:
        """End the run when all calls are refused in the same words, unless for their length."""
        words = re.sub(r"\b\w*\d\w*", "", str(error))  # a request's own number makes no difference
        same = words == self.refused_with and not _ABOUT_LENGTH.search(words)
        self.refused_with = words
        self.refused = self.refused + 1 if same else 1
        if self.refused >= max(REFUSED_IN_A_ROW, self.at_once):
            problem = f"the server refused {self.refused} requests in a row, each with: {error}"
            raise Misconfigured(f"{problem}; what the server accepts may have changed")


LATEST = 100
"""So many of the latest pairs are looked at."""

CERTAIN = 5.0
"""Standard errors by which more of them fail than may, as runs are long."""


@dataclass(slots=True)
class LatestPairs:
    """The failures of the latest pairs, of which a `proof` says how many there may be."""

    proof: Proof | None
    failures: deque[Failure | None] = field(default_factory=lambda: deque(maxlen=LATEST))

    def take_in(self, outcome: Outcome) -> TooManyFailed | None:
        """Look at one more pair; what ends the run, where too many came to no grade."""
        failure = outcome if isinstance(outcome, Failure) else None
        self.failures.append(failure)
        if self.proof is None or failure is None:
            return None
        share, failed = self.proof.max_failed, [each for each in self.failures if each]
        most = LATEST * share + CERTAIN * math.sqrt(LATEST * share * (1 - share))
        if len(failed) <= max(most, (LATEST - 1) * self.proof.no_pilot):
            return None
        problem = f"{len(failed)} of the latest {len(self.failures)} pairs have no grade"
        return TooManyFailed(f"{problem}: {looks(failed)}", parameter="max_failed")


EXAMPLES = 3
_READER = "another reader, or a prompt whose form of replies the model keeps to"
_HELP = {
    "truncated": "a higher max_tokens, or thinking turned off",
    "unparsable": _READER,
    "conflict": _READER,
    "call_failed": "what the server says of its calls",
}


def looks(failed: Sequence[Failure]) -> str:
    """How some replies of failed pairs look, and what would help most of them."""
    details = dict.fromkeys(f"{f.status}: {f.detail[:100]}" for f in failed)
    helps = [
        HELP if is_about_context(f) else _HELP.get(f.status, "another model or prompt")
        for f in failed
    ]
    examples = "; ".join([*details][:EXAMPLES])
    return f"{examples}; what may help: {max(helps, key=helps.count)}"
