"""Calls that failed one after the other: when the server, and not a pair, is what is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labeler.errors import CallFailed, Misconfigured, ProviderError, Retryable, WaitsInBatch

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
