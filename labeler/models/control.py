"""How a caller watches work that asks a model, and stops it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

from labeler.data import Judged
from labeler.messages import Progress, no_progress
from labeler.models.policies.budget import Spending
from labeler.models.policies.stack import Guard
from labeler.models.policies.stop import StopSignal

OnJudged = Callable[[Judged], None]


@dataclass(frozen=True, slots=True)
class Underway:
    """Pairs that are being judged: how many in all, and the limits, which are only looked at.

    `asks` is false for an assessor that no server stands behind.
    """

    total: int
    guard: Guard
    asks: bool = True


@contextmanager
def _show_no_judging(_run: Underway) -> Iterator[OnJudged]:
    yield lambda _judged: None


def _say_nothing(_message: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Control:
    """What is called while work goes on, and what stops it; the defaults do nothing.

    `note` is given each line that a person should read at once, as which model was chosen.
    `progress` is opened around each countable step, with its name, and gives what is called with
    how many of how many are done. `judging` is opened around the judging of pairs, and gives what
    is called with every pair when it is done. Setting `stop` ends the work in good order. `spent`
    is what the same work has spent before, which the budget counts too.
    """

    note: Callable[[str], None] = _say_nothing
    progress: Progress = no_progress
    judging: Callable[[Underway], AbstractContextManager[OnJudged]] = _show_no_judging
    stop: StopSignal = field(default_factory=StopSignal)
    spent: Spending = field(default_factory=Spending)

    def with_stop(self, stop: StopSignal) -> Control:
        """The same with another way to stop it."""
        return replace(self, stop=stop)
