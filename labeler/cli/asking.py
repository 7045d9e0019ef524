"""What `judge`, `relabel` and `build` share: a set of labels from options, with progress."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from labeler.cli.options import Limits, Manner
from labeler.cli.progress import Board, How, how_shown, shown
from labeler.cli.reporting import report, show_plan
from labeler.cli.screen import note
from labeler.errors import Misconfigured, Misuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from labeler.collection.judgements import Origin
    from labeler.collection.layout import Collection
    from labeler.judging.assessor import Assessor, Texts
    from labeler.judging.judge import Pace
    from labeler.judging.label import Job, Pairs, Tally
    from labeler.model import Model
    from labeler.models.choose import Choice
    from labeler.models.policies.budget import Spending
    from labeler.models.policies.stack import Guard
    from labeler.models.policies.stop import StopSignal
    from labeler.models.prices import Price
    from labeler.store import Store

    PairsFor = Callable[[Collection, Texts], Pairs]
    """Which pairs of a collection to judge; the texts are those that they should be among."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options with which labels are asked for; `None` is the default of what is not said.

    `spent` is what the same command has spent before, where it did something else first; `is_known`
    is true where that would have found out what the server accepts.
    """

    prompt: str = "umbrela"
    model: str | None = None
    base_url: str | None = None
    name: str | None = None
    limits: Limits = field(default_factory=Limits)
    manner: Manner = field(default_factory=Manner)
    spent: Spending | None = None
    is_known: bool = False


async def label(
    collection: Collection, pairs: PairsFor, asked: Asked, stop: StopSignal
) -> Tally | None:
    """Choose the model and judge `pairs` with it; a dry run only says what that would take."""
    from labeler.judging.assessor import Assessor
    from labeler.judging.label import Job, check_free, label_name, texts_of
    from labeler.models.choose import choose, ready
    from labeler.models.policies.stack import guarded, knows
    from labeler.prompt import find_prompt

    prompt = find_prompt(asked.prompt)
    how = how_shown(asked.manner.quiet, asked.manner.json_progress)
    choice = await choose("judge", asked.model, asked.base_url)
    note(f"model: {choice}")
    price = known_price(choice, asked.limits)
    texts = texts_of(collection)
    name = asked.name or label_name(prompt.name, choice.name)
    job = Job(collection, name, pairs(collection, texts), texts)
    gc.freeze()  # texts and pairs stay to the end: nobody need look through them for garbage
    async with ready(choice, texts.documents.values(), asked.limits.timeout) as there:
        say_where_it_lies(collection.store)
        with opened(collection.store, asked.manner) as store:
            at_once = asked.manner.concurrency or there.concurrency
            guard = guard_of(asked.limits, at_once, price, stop, asked.spent)
            model = guarded(there.model, store, guard, patient=False)
            assessor = Assessor(prompt, model, inputs=there.inputs)
            check_free(collection, job.name, assessor)
            if asked.manner.dry_run:
                first = not (asked.is_known or knows(there.model, store))
                show_plan(job, assessor, price, asked.manner.retry_failed, preflight=first)
                return None
            try:
                retry = asked.manner.retry_failed
                tally = await judge_with_board(job, assessor, guard, how, retry_failed=retry)
            finally:
                await model.close()
    if choice.caveat:
        note(choice.caveat)
    return tally


@contextmanager
def opened(path: Path, manner: Manner) -> Iterator[Store]:
    """The store; a dry run makes none, and where there is none it is shown an empty one."""
    from labeler.store import open_store

    with TemporaryDirectory() as folder:
        there = path if path.exists() or not manner.dry_run else Path(folder) / path.name
        with open_store(there, redacted=manner.redact) as store:
            yield store


async def relabel_from_store(
    collection: Collection, source: str, name: str, prompt: str | None, stop: StopSignal
) -> Tally:
    """New labels of the pairs of `source`, from the replies in the store, with no call."""
    from labeler.collection.judgements import origin_of
    from labeler.judging.label import Job, check_free, pairs_of_labels, texts_of
    from labeler.models.policies.stack import only_remembered
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
        guard = guard_of(Limits(), 16, None, stop)
        return await judge_with_board(job, assessor, guard, "quiet")


async def same_assessor(
    made_by: Origin, model: Model, prompt: str | None, texts: Texts
) -> Assessor:
    """The assessor that made a set of labels, to look its replies up with."""
    from labeler.judging.assessor import Assessor
    from labeler.models.choose import choose, ready
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


def guard_of(
    limits: Limits,
    at_once: int,
    price: Price | None,
    stop: StopSignal,
    spent: Spending | None = None,
) -> Guard:
    """What stands between the run and the server."""
    from labeler.models.policies.budget import Budget, Spending
    from labeler.models.policies.rate import RateLimiter, RateLimits
    from labeler.models.policies.retry import Patience
    from labeler.models.policies.stack import Guard

    most = (limits.max_calls, limits.max_tokens, limits.max_cost, limits.deadline)
    budget = Budget(*most, price, spent or Spending())
    stop.until = budget.ends
    limiter = RateLimiter(RateLimits(at_once, limits.rpm, limits.tpm), stop=stop)
    return Guard(limiter, budget, Patience(limits.tries, limits.patience), stop)


def say_where_it_lies(path: Path) -> None:
    """Warn of a network file system, where several machines must not share a store."""
    from labeler.store.sqlite.open import network_file_system

    kind = network_file_system(path)
    if kind:
        note(f"{path} lies on a network file system ({kind}): use it from one machine at a time")


async def judge_with_board(
    job: Job, assessor: Assessor, guard: Guard, how: How, *, retry_failed: bool = False
) -> Tally:
    """Judge while the board is shown, then report."""
    from labeler.judging.judge import Pace
    from labeler.judging.label import judge_collection

    board = Board(len(job.pairs), guard.limiter, guard.budget, asks=assessor.model.is_server)
    with shown(board, how) as told:
        pace: Pace = Pace(2 * guard.limiter.limits.at_once, retry_failed, told, guard.stop)
        tally = await judge_collection(job, assessor, pace)
    report(job, tally, guard)
    return tally
