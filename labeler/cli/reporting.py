"""What commands that ask a model say before and after, in counts that add up."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from typer import Exit

from labeler.cli.output import said_to, show_records
from labeler.cli.process import Result, run_until_stopped
from labeler.cli.screen import (
    LINE_SECONDS,
    duration,
    how_long,
    note,
    progress,
    rewrite,
    say,
)
from labeler.errors import Incomplete
from labeler.messages import cost_of, count_of, counts_of, dollars
from labeler.report.neutral import one_line
from labeler.report.result import as_plain

if TYPE_CHECKING:
    from labeler.cli.model_options import ShownFlags
    from labeler.cli.options import Destination
    from labeler.judging.job import JudgeResult, Tally
    from labeler.judging.judge import JudgingPlan
    from labeler.model import Message
    from labeler.models.call_plan import CallPlan, Duration
    from labeler.models.policies.limits import Budget, RateLimiter, RateLimits, Spending
    from labeler.models.session import Act, Control, OnJudged, Underway
    from labeler.queries.generate import GenerateResult, GenerationPlan


Shown = TypeVar("Shown")


def show_outcome(outcome: Shown, in_words: Callable[[Shown], None], to: Destination) -> None:
    """Write what was done, or would be, in words; or its figures, in a form for programs."""
    if to.form != "table":
        show_records([as_plain(outcome)], to)
        return
    with said_to(to):
        in_words(outcome)


def show_judging_plan(plan: JudgingPlan) -> None:
    """Print how many calls there would be, about how many tokens, the cost, and one request."""
    say(f"pairs       {plan.pairs:,}")
    say(f"remembered  {plan.remembered:,}")
    show_calls(plan.calls)


def show_generation_plan(plan: GenerationPlan) -> None:
    """Print the same of writing queries."""
    more = f", at most {plan.passages_at_most:,} where candidates are no good"
    say(f"passages    {plan.passages:,}{more if plan.passages_at_most > plan.passages else ''}")
    show_calls(plan.calls)


def show_calls(plan: CallPlan) -> None:
    """Print how many calls, tokens and dollars that would be, about and at most, and a request."""
    probe = " (and 1 before them, to find out what the server accepts)" if plan.needs_probe else ""
    cost = "unknown"
    if plan.price:
        full = "" if plan.learned else " with replies of full length"
        likely = f"about {dollars(plan.about_cost)}{full}, " if plan.at_most_cost else ""
        most = _bounds(
            dollars(plan.at_most_cost), plan.unthinking and dollars(plan.unthinking_cost)
        )
        cost = f"{likely}{most}, {plan.price.basis}"
    reasks = " with re-asks" if plan.tries > 1 else ""
    most_calls = f", at most {plan.most_calls:,}{reasks}" if plan.most_calls > plan.calls else ""
    say(f"calls       {plan.calls:,}{most_calls}{probe if plan.calls else ''}")
    likely = f"{plan.about.outside:,} out, as {plan.learned:,} pairs took, " if plan.learned else ""
    unthinking = plan.unthinking and f"{plan.unthinking.outside:,}"
    most_tokens = _bounds(f"{plan.at_most.outside:,}", unthinking)
    say(f"tokens      about {plan.about.inside:,} in, {likely}{most_tokens} out")
    say(f"cost        {cost if plan.calls else '$0: nothing to ask'}")
    if plan.calls and plan.duration and plan.limits:
        say(f"time        {_time(plan.duration, plan.limits)}")
    say_messages(plan.example.messages if plan.example else ())


def say_messages(messages: Iterable[Message]) -> None:
    """Print what a model is sent."""
    for role, content in messages:
        say(f"\n--- {role}\n{content}")


def _bounds(whole: str, unthinking: str | None) -> str:
    """What something is at most; twice, where nobody knows whether the model thinks."""
    if unthinking is None:
        return f"at most {whole}"
    return f"at most {unthinking} if it does not think, else {whole}"


def _time(needed: Duration, limits: RateLimits) -> str:
    """About how long calls take, and what bounds them."""
    why = {
        "rpm": f"by the {limits.requests or 0:,g} calls a minute (model.rpm)",
        "tpm": f"by the {limits.tokens or 0:,g} tokens a minute (model.tpm)",
        "concurrency": f"with {limits.at_once:,} calls at once (--concurrency), if each takes 1 s",
        "machine": "by what one process can do",
    }
    return f"about {how_long(needed.seconds)}, {why[needed.bound]}"


def note_generated(result: GenerateResult, queries: int) -> None:
    """Say how many queries were written, and whether the corpus had passages enough."""
    written = count_of(result.written, "query")
    dropped = count_of(result.rejected, "candidate")
    note(f"wrote {written}, dropped {dropped}; {result.total:,} in all")
    _note_kinds(result)
    if result.set_aside:
        aside = counts_of(result.set_aside)
        note(f"passages set aside: {aside}; labeler queries passages lists them")
    if result.spent.calls:
        cost = cost_of(result.cost, result.cost_at_most)
        note(f"cost of writing: {cost}; calls: {result.spent.calls:,}")
    if result.missing and result.total and not (result.has_failed or result.stopped):
        note(f"{queries} were asked for; the corpus has no more passages to ask about")


def _note_kinds(result: GenerateResult) -> None:
    """Say how many queries of each kind there are, and what is known to be missing in them."""
    if len(result.kinds) > 1 or result.given_up:
        note(f"kinds of queries: {counts_of(result.kinds)}")
    if result.strata:
        note(f"queries by value: {counts_of(result.strata)}")
    for kind, count in result.given_up.items():
        some = f"no more than {count:,}" if count else "none"
        note(f"of the kind {kind} {some}: passage after passage gave no fit candidate")
    if result.without_topic:
        queries = count_of(result.without_topic, "query has", "queries have")
        note(f"{queries} no topic: the model wrote none that would do")


def show_judging(result: JudgeResult) -> None:
    """Print what was done, in counts that add up to the pool."""
    tally, spent = result.tally, result.spent
    left = result.total - tally.pairs
    say(f"{tally.judged:,} of {result.total:,} pairs judged")
    say(_sources(tally, len(result.job.carried)))
    show_failures(tally)
    if tally.suspicious:
        say(suspicious_pairs(tally))
    if left:
        say(f"{left:,} not asked yet")
    if tally.by_passages:
        pairs = count_of(tally.by_passages, "pair")
        from labeler.judging.methods.inquiry import HELP

        note(
            f"{pairs} judged by passages, as documents are too long for the server; whole ones "
            f"need {HELP}"
        )
    say(f"tokens of all judgements: {tally.prompt_tokens:,} in, {tally.completion_tokens:,} out")
    say(f"cost of this run: {cost_of(result.cost, result.cost_at_most)}; calls: {spent.calls:,}")
    if spent.unknown:
        note(
            f"for {count_of(spent.unknown, 'call')} the server did not say how many tokens they "
            f"took: at most {spent.unknown_tokens:,}"
        )
    if len(tally.models) > 1:
        note(f"the server named its model differently within one run: {', '.join(tally.models)}")
    if tally.pairs:
        note(f"wrote {result.judgements} and {result.qrels}")
    if result.caveat:
        note(result.caveat)


def suspicious_pairs(tally: Tally) -> str:
    """How many pairs a person should look at, since their documents may address the assessor."""
    pairs = count_of(tally.suspicious, "pair")
    names = ", ".join(f"{name} {number:,}" for name, number in tally.suspicions.most_common())
    first = "; ".join(f"{one_line(q, 60)} {one_line(d, 60)}" for q, d in tally.suspicious_pairs)
    more = "" if tally.suspicious == len(tally.suspicious_pairs) else ", …"
    return (
        f"{pairs} to look at, as the document may be written for the assessor: {names} "
        f"({first}{more})"
    )


def show_failures(tally: Tally) -> None:
    """Print how many pairs failed in each way, and examples of them."""
    for status, count in tally.failures_by_status.items():
        say(f"{count:,} {status}, for example:")
        for pair, detail in tally.examples[status]:
            say(f"  {pair.query_id} {pair.doc_id}: {one_line(detail, 100)}")


def _sources(tally: Tally, carried: int) -> str:
    """Where the outcomes come from, judged and failed, in counts that add up to them all."""
    earlier = tally.remembered - tally.shared - carried
    share = earlier / tally.pairs if tally.pairs else 0.0
    others = {
        "shared with an equal pair or another process": tally.shared,
        "carried over from earlier passages": carried,
        "in a batch": tally.waiting,
    }
    beside = "".join(f"; {what}: {pairs:,}" for what, pairs in others.items() if pairs)
    again = f"; asked once more: {tally.asked_again:,}" if tally.asked_again else ""
    asked = tally.pairs - tally.remembered - tally.waiting
    return f"from the store: {earlier:,} ({share:.0%}){beside}; asked now: {asked:,}{again}"


def check_complete(result: JudgeResult, *, asked: bool = True) -> None:
    """Raise what stopped the run early, else `Incomplete` where pairs have no grade.

    Where nothing was `asked`, running the same command again would not change that.
    """
    tally = result.tally
    if tally.stopped:
        raise tally.stopped
    if tally.failed:
        problem = f"{tally.failed:,} of {tally.pairs:,} pairs have no grade"
        if tally.waiting == tally.failed:
            raise Incomplete(f"{problem}: they wait in a batch; next: labeler batch collect")
        again = {} if tally.failures["call_failed"] == tally.failed else {"retry_failed": True}
        raise Incomplete(problem, again=again if asked else None)


# What a person sees while judging: how far, how fast, at what cost, and what limits it.


def control_of(flags: ShownFlags | None = None) -> Control:
    """How the command line watches the library's work."""
    from labeler.models.session import Control

    if flags is not None and flags.quiet:
        return Control(note)

    def judging(run: Underway) -> AbstractContextManager[OnJudged]:
        return shown(RunProgress(run.total, run.guard.limiter, run.guard.budget, asks=run.asks))

    return Control(note, progress, judging)


def watched(flags: ShownFlags | None, act: Callable[..., Awaitable[Result]]) -> Result:
    """Do an act that somebody watches, and may stop by Ctrl-C or SIGTERM."""
    control = control_of(flags)
    return run_until_stopped(lambda stop: act(control=control.with_stop(stop)))


def asked(
    flags: ShownFlags,
    act: Callable[..., Act[Result, Any]],
    plan_in_words: Callable[[Any], None],
    to: Destination,
) -> Result:
    """What an act that asks a model gives; a dry run ends the command once its plan is shown."""
    if flags.dry_run:
        show_plan(flags, act, plan_in_words, to)
    return watched(flags, act)


def show_plan(
    flags: ShownFlags,
    act: Callable[..., Act[Any, Any]],
    in_words: Callable[[Any], None],
    to: Destination,
) -> NoReturn:
    """Show what an act would take, and end the command; nothing is asked."""
    show_outcome(watched(flags, lambda control: act(control=control).plan()), in_words, to)
    raise Exit


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
    began: float = 0.0
    tally: Tally = field(init=False)
    before: Spending = field(init=False)

    def __post_init__(self) -> None:
        from labeler.judging.job import Tally

        self.began, self.tally = self.clock(), Tally()
        self.before = replace(self.budget.spent)

    def line(self, *, ended: bool = False) -> str:
        """All that is known, in words; what only concerns calls to come is left out at the end."""
        done, shared = self.tally.pairs, self.tally.shared
        asked, earlier = done - self.tally.remembered, self.tally.remembered - shared
        rate, left = asked / max(1e-9, self.clock() - self.began), self.total - done
        seconds = round(left / rate) if rate and not ended else 0
        spent = self.budget.spent.since(self.before)
        most = f", at most {spent.tokens_at_most:,}" if spent.tokens_at_most > spent.tokens else ""
        calls = count_of(spent.calls, "call") if spent.calls and self.asks else ""
        at_once = f"{self.limiter.under_way} of {int(self.limiter.at_once)} at once"
        parts = [
            f"{done:,}/{self.total:,} pairs",
            f"{earlier:,} from the store" if earlier else "",
            f"{shared:,} shared" if shared else "",
            f"{rate:,.1f}/s",
            f"{duration(seconds)} left" if seconds else "",
            calls,
            f"{spent.tokens:,} tokens{most}" if spent.tokens_at_most else "",
            self._cost(spent, asked, 0 if ended else left) if spent.calls else "",
            f"no grade: {counts_of(self.tally.failures)}" if self.tally.failures else "",
            f"{at_once} ({self.limiter.why})" if calls and not ended else "",
        ]
        return " · ".join(filter(None, parts))

    def _cost(self, spent: Spending, asked: int, left: int) -> str:
        """The cost so far, and about what it comes to with the pairs that are left."""
        if not self.budget.price:
            return "cost unknown"
        whole = spent.cost_at_most / asked * (asked + left) if asked else spent.cost_at_most
        of = f" of about {dollars(whole)}" if left and whole else ""
        return f"cost {cost_of(spent.cost, spent.cost_at_most)}{of}"


@contextmanager
def shown(counts: RunProgress, every: float = LINE_SECONDS) -> Iterator[OnJudged]:
    """Show the counts as long as the block runs; yields what is called with every pair.

    On a terminal a line is written over; elsewhere there is one every so many seconds, also while
    nothing is done. One stays in the end, however it ends.
    """
    is_live = sys.stderr.isatty()
    over = threading.Event()

    def keep_showing() -> None:
        while not over.wait(SECONDS_ON_SCREEN if is_live else every):
            (rewrite if is_live else note)(f"judging: {counts.line()}")

    showing = threading.Thread(target=keep_showing, daemon=True)
    showing.start()
    try:
        yield counts.tally.add
    finally:
        over.set()
        showing.join()
        if is_live:
            rewrite("")
        note(f"judging: {counts.line(ended=True)}")
