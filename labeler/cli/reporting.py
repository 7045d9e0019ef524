"""What `judge`, `relabel` and `build` say before they ask and after it, in counts that add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeler.cli.progress import dollars
from labeler.cli.screen import note, say
from labeler.errors import Incomplete
from labeler.report.printable import one_line

if TYPE_CHECKING:
    from labeler.judging.assessor import Assessor
    from labeler.judging.label import Job, Tally
    from labeler.model import Request
    from labeler.models.policies.budget import Budget
    from labeler.models.policies.stack import Guard
    from labeler.models.prices import Price
    from labeler.models.tokens import Tokens


def show_plan(
    job: Job, assessor: Assessor, price: Price | None, retry_failed: bool, *, preflight: bool
) -> None:
    """Print how many calls there would be, about how many tokens, the cost, and one request."""
    from labeler.judging.attempts import plan

    planned = plan(job.pairs, job.texts, assessor, retry_failed)
    say(f"pairs       {len(job.pairs):,}")
    say(f"remembered  {planned.remembered:,}")
    tokens = (planned.about, planned.at_most)
    show_calls(planned.calls, tokens, price, preflight=preflight)
    show_request(planned.example)


def show_calls(
    calls: int, tokens: tuple[Tokens, Tokens], price: Price | None, *, preflight: bool
) -> None:
    """Print how many calls, tokens and dollars that would be: about, and at most."""
    thought, most = tokens
    one_more = " (and 1 before them, to find out what the server accepts)" if preflight else ""
    cost = "unknown"
    if price:
        full = f"about {dollars(price.of(*thought))} with replies of full length, "
        costs = price.of(*most)
        cost = f"{full if costs else ''}at most {dollars(costs)}, {price.said}"
    say(f"calls       {calls:,}, without re-asks{one_more if calls else ''}")
    say(f"tokens      about {thought.inside:,} in, at most {most.outside:,} out")
    say(f"cost        {cost if calls else '$0: nothing to ask'}")


def show_request(request: Request | None) -> None:
    """Print a request as the model would read it."""
    for role, content in request.messages if request else ():
        say(f"\n--- {role}\n{content}")


def report(job: Job, tally: Tally, guard: Guard) -> None:
    """Print what was done, in counts that add up to the pool."""
    left = len(job.pairs) - tally.pairs
    say(f"{tally.judged:,} of {len(job.pairs):,} pairs judged")
    say(_sources(tally))
    show_failures(tally)
    if left:
        say(f"{left:,} not asked yet")
    say(f"tokens of all labels: {tally.prompt_tokens:,} in, {tally.completion_tokens:,} out")
    say(f"cost of this run: {_cost_of(guard.budget)}; calls: {guard.budget.spent.calls:,}")
    if unknown := guard.budget.spent.unknown:
        note(f"for {unknown:,} calls the server did not say how many tokens they took")
    if len(tally.models) > 1:
        note(f"the server named its model differently within one run: {', '.join(tally.models)}")
    if tally.pairs:
        note(f"wrote {job.collection.judgements(job.name)} and {job.collection.qrels(job.name)}")


def _cost_of(budget: Budget) -> str:
    """What a run has cost; where a server did not say it of all calls, at most."""
    spent = budget.spent
    if spent.calls and not budget.price:
        return dollars(None)
    return ("at most " if spent.unknown and spent.cost else "") + dollars(spent.cost)


def show_failures(tally: Tally) -> None:
    """Print how many pairs failed in each way, and examples of them."""
    for status, count in tally.failures.items():
        if count:
            say(f"{count:,} {status}, as:")
            for pair, detail in tally.examples[status]:
                say(f"  {pair.query_id} {pair.doc_id}: {one_line(detail, 100)}")


def _sources(tally: Tally) -> str:
    """Where the outcomes come from, judged and failed, in counts that add up to them all."""
    earlier = tally.remembered - tally.shared
    share = earlier / tally.pairs if tally.pairs else 0.0
    shared = f"; as an equal pair or by another process: {tally.shared:,}" if tally.shared else ""
    asked = tally.pairs - tally.remembered
    return f"from the store: {earlier:,} ({share:.0%}){shared}; asked now: {asked:,}"


def check_complete(tally: Tally | None) -> None:
    """Raise what stopped the run early, else `Incomplete` where pairs have no label."""
    if tally and tally.stopped:
        raise tally.stopped
    if tally and tally.failed:
        only_calls = tally.failures["call_failed"] == tally.failed
        problem = f"{tally.failed:,} of {tally.pairs:,} pairs have no label"
        raise Incomplete(problem, again=() if only_calls else ("--retry-failed",))
