"""What `judge`, `relabel` and `build` share: a set of labels from options, with progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli.board import Board, How, dollars, shown
from labeler.cli.screen import note, one_line, say
from labeler.errors import Incomplete, Misconfigured, Misuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from labeler.assessing import Assessor, Texts
    from labeler.choosing import Choice
    from labeler.data import Model, Request
    from labeler.formats.collection import Collection
    from labeler.formats.judgements import Origin
    from labeler.guarding import Guard
    from labeler.judging import Pace
    from labeler.labeling import Job, Pairs, Tally
    from labeler.models.brake import Brake
    from labeler.models.prices import Price
    from labeler.store import Store

    PairsFor = Callable[[Collection, Texts], Pairs]
    """Which pairs of a collection to judge; the texts are those that they should be among."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take of a server and of an account; `None` is no limit.

    `seconds` bounds one call, `tries` the calls for one request.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Path | None = None
    seconds: float = 600.0
    tries: int = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """The options with which labels are asked for; `None` is the default of what is not said."""

    prompt: str = "umbrela"
    model: str | None = None
    base_url: str | None = None
    name: str | None = None
    at_once: int | None = None
    retry_failed: bool = False
    dry_run: bool = False
    redacted: bool = False
    how: How = "panel"
    limits: Limits = field(default_factory=Limits)


async def label(
    collection: Collection, pairs: PairsFor, asked: Asked, brake: Brake
) -> Tally | None:
    """Choose the model and judge `pairs` with it; with `dry_run`, only say what that would take."""
    from labeler.assessing import Assessor
    from labeler.choosing import choose, ready
    from labeler.guarding import guarded
    from labeler.labeling import Job, check_free, label_name, texts_of
    from labeler.prompt import find_prompt
    from labeler.store import open_store

    prompt = find_prompt(asked.prompt)
    choice = await choose("judge", asked.model, asked.base_url)
    note(f"model: {choice}")
    price = known_price(choice, asked.limits)
    texts = texts_of(collection)
    name = asked.name or label_name(prompt.name, choice.name)
    job = Job(collection, name, pairs(collection, texts), texts)
    async with ready(choice, texts.documents.values(), asked.limits.seconds) as there:
        say_where_it_lies(collection.store)
        with open_store(collection.store, redacted=asked.redacted) as store:
            guard = guard_of(asked, asked.at_once or there.concurrency, price, brake)
            model = guarded(there.model, store, guard, patient=False)
            assessor = Assessor(prompt, model, inputs=there.inputs)
            check_free(collection, job.name, assessor)
            if asked.dry_run:
                show_plan(job, assessor, price, asked.retry_failed)
                return None
            try:
                tally = await judge_with_board(job, assessor, guard, asked)
            finally:
                await model.close()
    if choice.caveat:
        note(choice.caveat)
    return tally


async def relabel_from_store(
    collection: Collection, source: str, name: str, prompt: str | None, brake: Brake
) -> Tally:
    """New labels of the pairs of `source`, from the replies in the store, with no call."""
    from labeler.formats.judgements import origin_of
    from labeler.guarding import only_remembered
    from labeler.labeling import Job, check_free, pairs_of_labels, texts_of
    from labeler.store import open_store

    pairs = pairs_of_labels(collection, source)
    made_by = origin_of(collection.judgements(source))
    if made_by is None or not made_by.model:
        raise Misuse(f"{collection.judgements(source)} does not say which model was asked")
    job = Job(collection, name, pairs, texts_of(collection))
    with open_store(collection.store) as store:
        model = only_remembered(made_by.model, store)
        assessor = await same_assessor(made_by, model, prompt, job.texts)
        check_free(collection, name, assessor)
        asked = Asked(how="quiet")
        return await judge_with_board(job, assessor, guard_of(asked, 16, None, brake), asked)


async def same_assessor(
    made_by: Origin, model: Model, prompt: str | None, texts: Texts
) -> Assessor:
    """The assessor that made a set of labels, to look its replies up with."""
    from labeler.assessing import Assessor
    from labeler.choosing import choose, ready
    from labeler.prompt import find_prompt

    found = find_prompt(prompt or made_by.prompt.split("@")[0])
    if found.id != made_by.prompt:
        problem = f"the labels were made with {made_by.prompt}, and {found.name} is {found.id} now"
        raise Misuse(f"{problem}; give the old file with --prompt")
    if not made_by.model.startswith("similarity "):
        return Assessor(found, model, made_by.parameters)
    choice = await choose("judge", "similarity", None)
    async with ready(choice, texts.documents.values()) as there:
        return Assessor(found, model, made_by.parameters, there.inputs)


def known_price(choice: Choice, limits: Limits) -> Price | None:
    """What the model costs; raises `Misconfigured` where a budget in dollars needs to know."""
    from labeler.models.prices import Price, price_of

    if choice.is_embedded:
        return Price(0.0, 0.0)
    price = price_of(choice.base_url, choice.name, limits.prices)
    if price is None and limits.max_cost is not None:
        problem = f"the price of {choice.name} is unknown, so --max-cost cannot be kept"
        raise Misconfigured(f"{problem}; give it with --prices FILE, or use --max-tokens")
    return price


def guard_of(asked: Asked, at_once: int, price: Price | None, brake: Brake) -> Guard:
    """What stands between the run and the server."""
    from labeler.guarding import Guard
    from labeler.models.budget import Budget
    from labeler.models.limiting import Ceiling, Gate
    from labeler.models.retrying import Patience

    limits = asked.limits
    ceiling = Ceiling(at_once, limits.requests_per_minute, limits.tokens_per_minute)
    budget = Budget(limits.max_calls, limits.max_tokens, limits.max_cost, price)
    return Guard(Gate(ceiling), budget, Patience(limits.tries), brake)


def wrapped(model: Model, store: Store, at_once: int, brake: Brake) -> Model:
    """The model with all policies around it and no limit but `at_once`."""
    from labeler.guarding import Guard, guarded
    from labeler.models.limiting import Ceiling, Gate

    return guarded(model, store, Guard(Gate(Ceiling(at_once)), brake=brake))


def say_where_it_lies(path: Path) -> None:
    """Warn of a network file system, where several machines must not share a store."""
    from labeler.store.opening import network_file_system

    kind = network_file_system(path)
    if kind:
        note(f"{path} lies on a network file system ({kind}): use it from one machine at a time")


async def judge_with_board(job: Job, assessor: Assessor, guard: Guard, asked: Asked) -> Tally:
    """Judge while the board is shown, then report."""
    from labeler.judging import Pace
    from labeler.labeling import judge_collection

    board = Board(len(job.pairs), guard.gate, guard.budget)
    with shown(board, asked.how) as told:
        pace: Pace = Pace(2 * guard.gate.ceiling.at_once, asked.retry_failed, told, guard.brake)
        tally = await judge_collection(job, assessor, pace)
    report(job, tally, guard)
    return tally


def show_plan(job: Job, assessor: Assessor, price: Price | None, retry_failed: bool) -> None:
    """Print how many calls there would be, about how many tokens, the cost, and one request."""
    from labeler.attempts import plan

    planned = plan(job.pairs, job.texts, assessor, retry_failed)
    cost = price.of(planned.tokens_in, planned.tokens_out) if price else None
    at_most = f"at most {dollars(cost)}, {price.said}" if price else "unknown"
    say(f"pairs       {len(job.pairs):,}")
    say(f"remembered  {planned.remembered:,}")
    say(f"calls       {planned.calls:,}, without re-asks")
    say(f"tokens      about {planned.tokens_in:,} in, at most {planned.tokens_out:,} out")
    say(f"cost        {at_most if planned.calls else '$0: nothing to ask'}")
    show_request(planned.example)


def show_request(request: Request | None) -> None:
    """Print a request as the model would read it."""
    for role, content in request.messages if request else ():
        say(f"\n--- {role}\n{content}")


def report(job: Job, tally: Tally, guard: Guard) -> None:
    """Print what was done, in counts that add up to the pool."""
    share = tally.remembered / tally.pairs if tally.pairs else 0.0
    say(f"{tally.judged:,} of {tally.pairs:,} pairs judged")
    say(f"from the store: {tally.remembered:,} ({share:.0%}); calls: {guard.budget.spent.calls:,}")
    for status, count in tally.failures.items():
        if count:
            say(f"{count:,} {status}, as:")
            for pair, detail in tally.examples[status]:
                say(f"  {pair.query_id} {pair.doc_id}: {one_line(detail, 100)}")
    cost = guard.budget.spent.cost if guard.budget.price or not guard.budget.spent.calls else None
    say(f"tokens of all labels: {tally.prompt_tokens:,} in, {tally.completion_tokens:,} out")
    say(f"cost of this run: {dollars(cost)}")
    if len(tally.models) > 1:
        note(f"the server named its model differently within one run: {', '.join(tally.models)}")
    note(f"wrote {job.collection.judgements(job.name)} and {job.collection.qrels(job.name)}")


def check_complete(tally: Tally | None) -> None:
    """Raise `Incomplete` where pairs have no label."""
    if tally and tally.failed:
        problem = f"{tally.failed:,} of {tally.pairs:,} pairs have no label"
        only_calls = tally.failures["call_failed"] == tally.failed
        advice = "run the same command again" + ("" if only_calls else " with --retry-failed")
        raise Incomplete(f"{problem}; to ask for them once more, {advice}")
