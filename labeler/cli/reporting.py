"""What commands that ask a model say before and after, in counts that add up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from labeler.cli.output import said_to, show_records
from labeler.cli.screen import (
    how_long,
    note,
    say,
)
from labeler.errors import Incomplete
from labeler.messages import cost_of, count_of, dollars
from labeler.report.neutral import one_line

if TYPE_CHECKING:
    from labeler.cli.options import FormFlags, OutputFlags
    from labeler.collection.user_files import Output
    from labeler.judging.job import JudgeResult, Tally
    from labeler.judging.judge import JudgingPlan
    from labeler.models.call_plan import CallPlan, Duration
    from labeler.models.encoders import EncodingPlan
    from labeler.models.policies.limits import RateLimits
    from labeler.queries.generate import GenerateResult, GenerationPlan


class Outcome(Protocol):
    """What a plan or a result can say for programs."""

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""


Shown = TypeVar("Shown", bound=Outcome)


def show_outcome(
    outcome: Shown,
    in_words: Callable[[Shown], None],
    flags: OutputFlags | FormFlags,
    to: Output | None = None,
) -> None:
    """Write what was done, or would be, in words; or its figures, in a form for programs."""
    if flags.format != "table":
        show_records([outcome.as_json()], flags.format, to)
        return
    with said_to(to):
        in_words(outcome)


def show_judging_plan(plan: JudgingPlan) -> None:
    """Print how many calls there would be, about how many tokens, the cost, and one request."""
    say(f"pairs       {plan.pairs:,}")
    say(f"remembered  {plan.remembered:,}")
    if plan.drawn:
        ends = "{:,} to {:,}".format(*plan.between)
        say(f"drawn       {plan.drawn:,} pairs, which stand for all: {ends} are remembered")
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
    for role, content in plan.example.messages if plan.example else ():
        say(f"\n--- {role}\n{content}")


def _bounds(whole: str, unthinking: str | None) -> str:
    """What something is at most; twice, where nobody knows whether the model thinks."""
    if unthinking is None:
        return f"at most {whole}"
    return f"at most {unthinking} if it does not think, else {whole}"


def _time(needed: Duration, limits: RateLimits) -> str:
    """About how long calls take, and what bounds them."""
    why = {
        "rpm": f"by the {limits.requests or 0:,g} calls a minute (--rpm)",
        "tpm": f"by the {limits.tokens or 0:,g} tokens a minute (--tpm)",
        "concurrency": f"with {limits.at_once:,} calls at once (--concurrency), if each takes 1 s",
        "machine": "by what one process can do",
    }
    return f"about {how_long(needed.seconds)}, {why[needed.bound]}"


def show_encoding_plan(
    plan: EncodingPlan | None, flags: OutputFlags, to: Output | None = None
) -> None:
    """Print what a server would be asked for vectors."""
    if plan is None:
        note("nothing is asked: the encoder is on this machine")
        return
    show_outcome(plan, lambda shown: say(str(shown)), flags, to)


def note_generated(result: GenerateResult, queries: int) -> None:
    """Say how many queries were written, and whether the corpus had passages enough."""
    written = count_of(result.written, "query", "queries")
    dropped = count_of(result.rejected, "candidate")
    note(f"wrote {written}, dropped {dropped}; {result.total:,} in all")
    _note_kinds(result)
    if result.set_aside:
        aside = ", ".join(f"{count:,} {reason}" for reason, count in result.set_aside.items())
        note(f"passages set aside: {aside}; labeler queries passages lists them")
    if result.spent.calls:
        cost = cost_of(result.cost, result.cost_at_most)
        note(f"cost of writing: {cost}; calls: {result.spent.calls:,}")
    if result.missing and result.total and not (result.has_failed or result.stopped):
        note(f"{queries} were asked for; the corpus has no more passages to ask about")


def _note_kinds(result: GenerateResult) -> None:
    """Say how many queries of each kind there are, and what is known to be missing in them."""
    if len(result.kinds) > 1 or result.given_up:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in result.kinds.items())
        note(f"kinds of queries: {kinds}")
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

        problem = f"{pairs} judged by passages, as documents are too long for the server"
        note(f"{problem}; whole ones need {HELP}")
    tokens = f"{tally.prompt_tokens:,} in, {tally.completion_tokens:,} out"
    say(f"tokens of all judgements: {tokens}")
    say(f"cost of this run: {cost_of(result.cost, result.cost_at_most)}; calls: {spent.calls:,}")
    if result.cached_tokens:
        say(f"tokens of this run's requests from the server's cache: {result.cached_tokens:,}")
    if spent.unknown:
        calls = count_of(spent.unknown, "call")
        most = f"at most {spent.unknown_tokens:,}"
        note(f"for {calls} the server did not say how many tokens they took: {most}")
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
    looks = f"{pairs} to look at, as the document may be written for the assessor: {names}"
    return f"{looks} ({first}{more})"


def show_failures(tally: Tally) -> None:
    """Print how many pairs failed in each way, and examples of them."""
    for status, count in tally.failures.items():
        if count:
            say(f"{count:,} {status}, for example:")
            for pair, detail in tally.examples[status]:
                say(f"  {pair.query_id} {pair.doc_id}: {one_line(detail, 100)}")


def _sources(tally: Tally, carried: int = 0) -> str:
    """Where the outcomes come from, judged and failed, in counts that add up to them all."""
    earlier = tally.remembered - tally.shared - carried
    share = earlier / tally.pairs if tally.pairs else 0.0
    shared = (
        f"; shared with an equal pair or another process: {tally.shared:,}" if tally.shared else ""
    )
    asked = tally.pairs - tally.remembered - tally.waiting
    before = f"; carried over from earlier passages: {carried:,}" if carried else ""
    waiting = f"; in a batch: {tally.waiting:,}" if tally.waiting else ""
    again = f"; asked once more: {tally.asked_again:,}" if tally.asked_again else ""
    beside = f"{shared}{before}{waiting}; asked now: {asked:,}{again}"
    return f"from the store: {earlier:,} ({share:.0%}){beside}"


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
        only_calls = tally.failures["call_failed"] == tally.failed
        again = {} if only_calls else {"retry_failed": True}
        raise Incomplete(problem, again=again if asked else None)
