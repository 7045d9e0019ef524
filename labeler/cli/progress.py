"""What a person sees while judging: how far, how fast, at what cost, and what limits it."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from labeler.cli.process import Result, run_until_stopped
from labeler.cli.screen import (
    LINE_SECONDS,
    Advance,
    duration,
    note,
    progress,
    rewrite,
)
from labeler.data import Failure
from labeler.errors import Misuse
from labeler.messages import Progress, cost_of, count_of, dollars

if TYPE_CHECKING:
    from labeler.cli.model_options import ShownFlags
    from labeler.data import Judged
    from labeler.models.policies.limits import Budget, RateLimiter, Spending
    from labeler.models.session import Act, Control, OnJudged, Underway


ProgressForm = Literal["lines", "json", "quiet"]


def how_shown(quiet: bool, as_json: bool) -> ProgressForm:
    """The form of progress that `--quiet` and `--json-progress` choose."""
    if quiet and as_json:
        raise Misuse("--quiet and --json-progress exclude each other")
    return "quiet" if quiet else "json" if as_json else "lines"


def control_of(flags: ShownFlags | None = None) -> Control:
    """How the command line watches the library's work."""
    from labeler.models.session import Control

    how = how_shown(flags.quiet, flags.json_progress) if flags else "lines"
    steps: dict[ProgressForm, Progress] = {
        "lines": progress,
        "json": _json_steps,
        "quiet": _no_steps,
    }
    return Control(note, steps[how], lambda run: _watched(run, how))


def watched(flags: ShownFlags | None, act: Callable[..., Awaitable[Result]]) -> Result:
    """Do an act that somebody watches, and may stop by Ctrl-C or SIGTERM."""
    control = control_of(flags)
    return run_until_stopped(lambda stop: act(control=control.with_stop(stop)))


def planned(flags: ShownFlags, act: Callable[..., Act[Any, Result]]) -> Result:
    """What an act would take; nothing is asked."""
    control = control_of(flags)
    return run_until_stopped(lambda stop: act(control=control.with_stop(stop)).plan())


@contextmanager
def _json_steps(step: str) -> Iterator[Advance]:
    """A line of JSON whenever more of a step is done, a hundred of them at most, and a last one."""
    shown = -1

    def advance(done: int, total: int) -> None:
        nonlocal shown
        percent = 100 * done // total if total else 100
        if percent > shown:
            shown = percent
            note(json.dumps({"step": step, "done": done, "total": total}))

    yield advance


@contextmanager
def _no_steps(_step: str) -> Iterator[Advance]:
    yield lambda _done, _total: None


def _watched(run: Underway, how: ProgressForm) -> AbstractContextManager[OnJudged]:
    counts = RunProgress(run.total, run.guard.limiter, run.guard.budget, asks=run.asks)
    return shown(counts, how)


SECONDS_ON_SCREEN = 0.5


@dataclass(slots=True)
class RunProgress:
    """Counts of a run that goes on; `limiter` and `budget` are looked at, never changed.

    `asks` is false for an assessor that no server stands behind.
    """

    total: int
    limiter: RateLimiter
    budget: Budget
    clock: Callable[[], float] = time.monotonic
    asks: bool = True
    done: int = 0
    remembered: int = 0
    shared: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    began: float = 0.0
    before: Spending = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()
        self.before = replace(self.budget.spent)

    def count(self, judged: Judged) -> None:
        """Count one more pair that is done."""
        self.done += 1
        self.remembered += judged.remembered
        self.shared += judged.shared
        if isinstance(judged.outcome, Failure):
            status = judged.outcome.status
            self.failures[status] = self.failures.get(status, 0) + 1

    def figures(self) -> dict[str, Any]:
        """All that is shown; a cost that is not known is None."""
        seconds = max(1e-9, self.clock() - self.began)
        asked = self.done - self.remembered
        rate = asked / seconds
        left = self.total - self.done
        spent = self.budget.spent.since(self.before)
        cost, most = (spent.cost, spent.cost_at_most) if self.budget.price else (None, None)
        return {
            "step": "judging",
            "done": self.done,
            "total": self.total,
            "remembered": self.remembered,
            "shared": self.shared,
            "per_second": round(rate, 2),
            "seconds_left": round(left / rate) if rate and left else (None if left else 0),
            "calls": spent.calls,
            "tokens": spent.tokens,
            "tokens_at_most": spent.tokens_at_most,
            "cost": cost,
            "cost_at_most": most,
            "projected_cost": most / asked * (asked + left) if most is not None and asked else most,
            "failures": dict(self.failures),
            "under_way": self.limiter.under_way,
            "at_once": int(self.limiter.at_once),
            "limited_by": self.limiter.why,
        }

    def parts(self, *, ended: bool = False) -> list[str]:
        """The figures in words; what only concerns calls to come is left out once it has ended."""
        f = self.figures()
        failed = ", ".join(f"{count:,} {status}" for status, count in f["failures"].items())
        earlier = f["remembered"] - f["shared"]
        going = f["calls"] and self.asks and not ended
        parts = [
            f"{f['done']:,}/{f['total']:,} pairs",
            f"{earlier:,} from the store" if earlier else "",
            f"{f['shared']:,} shared" if f["shared"] else "",
            f"{f['per_second']:,.1f}/s",
            f"{_duration(f['seconds_left'])} left" if f["seconds_left"] and not ended else "",
            count_of(f["calls"], "call") if f["calls"] and self.asks else "",
            _tokens(f) if f["tokens_at_most"] else "",
            _cost(f, projected=not ended) if f["calls"] else "",
            f"no grade: {failed}" if failed else "",
            f"{f['under_way']} of {f['at_once']} at once ({f['limited_by']})" if going else "",
        ]
        return list(filter(None, parts))

    def line(self, *, ended: bool = False) -> str:
        """The figures as one line."""
        return " · ".join(self.parts(ended=ended))


def _tokens(figures: Mapping[str, Any]) -> str:
    tokens, most = figures["tokens"], figures["tokens_at_most"]
    return f"{tokens:,} tokens" + (f", at most {most:,}" if most > tokens else "")


def _cost(figures: Mapping[str, Any], *, projected: bool = True) -> str:
    of = f" of about {dollars(figures['projected_cost'])}" if figures["projected_cost"] else ""
    return f"cost {cost_of(figures['cost'], figures['cost_at_most'])}{of if projected else ''}"


def _duration(seconds: int | None) -> str:
    return "?" if seconds is None else duration(seconds)


@contextmanager
def shown(
    counts: RunProgress, how: ProgressForm, every: float = LINE_SECONDS
) -> Iterator[Callable[[Judged], None]]:
    """Show the counts as long as the block runs; yields what is called with every pair.

    On a terminal a line is written over; elsewhere there is one every so many seconds, also while
    nothing is done. One stays in the end, however it ends; as JSON also one at the beginning.
    """
    if how == "quiet":
        yield counts.count
        return
    is_live = how == "lines" and sys.stderr.isatty()

    def show(*, ended: bool = False) -> None:
        if how == "json":
            note(json.dumps(counts.figures()))
        elif is_live and not ended:
            rewrite(f"judging: {counts.line()}")
        else:
            note(f"judging: {counts.line(ended=ended)}")

    def keep_showing() -> None:
        while not over.wait(SECONDS_ON_SCREEN if is_live else every):
            show()

    over = threading.Event()
    showing = threading.Thread(target=keep_showing, daemon=True)
    showing.start()
    if how == "json":
        show()
    try:
        yield counts.count
    finally:
        over.set()
        showing.join()
        if is_live:
            rewrite("")
        show(ended=True)
