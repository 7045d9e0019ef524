"""Work that asks a model: how it is watched and stopped, and the session that it asks in."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from labeler.data import Document, Judged
from labeler.errors import Misconfigured, Misuse
from labeler.files.boundary import count
from labeler.files.paths import network_file_system
from labeler.messages import Note, Progress, no_progress, quiet
from labeler.model import JsonObject, Model, Reply, Request, nothing_to_close
from labeler.models.choose import SERVER_CONCURRENCY, Choice, Ready, Task, choose, ready, rehearsed
from labeler.models.cost import Price, batch_price
from labeler.models.embedded import caveat
from labeler.models.policies.call import Deferral, StopSignal
from labeler.models.policies.limits import Budget, RateLimiter, RateLimits, Spending
from labeler.models.policies.retry import Patience
from labeler.models.policies.stack import Guard, guarded, knows, most_thoughts
from labeler.models.server.client import MUTE_SECONDS, Calls
from labeler.models.settings import (
    CONCURRENCY,
    REDACT,
    RETRY_FAILED,
    AnyModel,
    AssessorSettings,
    Limits,
)
from labeler.options import Options, option
from labeler.store import Store, StorePlace, Waiting, open_store
from labeler.store.replies import kept_secret, secret_of

# How a caller watches work that asks a model, and stops it.

OnJudged = Callable[[Judged], None]


class Underway(NamedTuple):
    """Pairs that are being judged: how many in all, and the limits, which are only looked at.

    `asks` is false for an assessor that no server stands behind.
    """

    total: int
    guard: Guard
    asks: bool = True


@contextmanager
def _show_no_judging(_run: Underway) -> Iterator[OnJudged]:
    yield quiet


@dataclass(frozen=True, slots=True)
class Control:
    """What is called while work goes on, and what stops it; the defaults do nothing.

    `note` is given each line that a person should read at once, as which model was chosen.
    `progress` is opened around each countable step, with its name, and gives what is called with
    how many of how many are done. `judging` is opened around the judging of pairs, and gives what
    is called with every pair when it is done. Setting `stop` ends the work in good order. `spent`
    is what the same work has spent before, which the budget counts too.
    """

    note: Note = quiet
    progress: Progress = no_progress
    judging: Callable[[Underway], AbstractContextManager[OnJudged]] = _show_no_judging
    stop: StopSignal = field(default_factory=StopSignal)
    spent: Spending = field(default_factory=Spending)

    def with_stop(self, stop: StopSignal) -> Control:
        """The same with another way to stop it."""
        return replace(self, stop=stop)


# An act is asynchronous; `sync` makes the function for callers that are not.

P = ParamSpec("P")
T = TypeVar("T")
Plan = TypeVar("Plan")


class Act(Coroutine[Any, Any, T], Generic[T, Plan]):
    """An act that has not begun: a coroutine that does it.

    Awaiting `plan()` instead says what it would take; that asks nothing and writes nothing.
    """

    def __init__(
        self,
        begin: Callable[[], Coroutine[Any, Any, T]],
        plan: Callable[[], Coroutine[Any, Any, Plan]],
    ) -> None:
        self._begin, self.plan = begin, plan
        self._begun: Coroutine[Any, Any, T] | None = None

    def _coroutine(self) -> Coroutine[Any, Any, T]:
        if self._begun is None:
            self._begun = self._begin()
        return self._begun

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine().__await__()

    def send(self, value: Any) -> Any:
        """Go on, as the event loop asks of every coroutine."""
        return self._coroutine().send(value)

    def throw(self, *error: Any) -> Any:
        """Go on with an error."""
        return self._coroutine().throw(*error)

    def close(self) -> None:
        """End it where it is."""
        if self._begun is not None:
            self._begun.close()


def sync(act: Callable[P, Awaitable[T]]) -> Callable[P, T]:
    """The same act for callers that are not asynchronous, also where a loop is running.

    `act` is called `a` and a verb, and has the keyword `control`. Ctrl-C ends it in good order.
    """

    @wraps(act)
    def to_end(*args: P.args, **kwargs: P.kwargs) -> T:
        control: Any = kwargs.get("control") or Control()

        async def work(stop: StopSignal) -> T:
            kwargs["control"] = control.with_stop(stop)
            return await act(*args, **kwargs)

        return run_to_end(work)

    to_end.__name__ = to_end.__qualname__ = act.__name__.removeprefix("a")
    takes = signature(act).replace(return_annotation=Signature.empty)
    to_end.__signature__ = takes  # type: ignore[attr-defined]  # inspect and notebooks read it
    return to_end


Work = Callable[[StopSignal], Coroutine[Any, Any, T]]
"""Work that ends in good order once the signal that it is given is set."""


_LOOKS_EVERY = 0.5
"""Seconds."""


def run_to_end(work: Work[T]) -> T:
    """Run `work` to its end in a loop of its own; in another thread where one is running here.

    Ctrl-C ends it; what was answered by then is kept.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work(StopSignal()))
    return _run_in_thread(work)


def _run_in_thread(work: Work[T]) -> T:
    stop = StopSignal()
    loop = asyncio.new_event_loop()

    def run() -> T:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(work(stop))

    with ThreadPoolExecutor(1) as thread:
        thread.submit(int).result()  # begun now, so that Ctrl-C during its start ends no work
        try:
            running = thread.submit(run)
            while not wait([running], timeout=_LOOKS_EVERY).done:
                pass  # where the system woke another thread for Ctrl-C, this one sees it here
            return running.result()
        except KeyboardInterrupt:  # the thread is then waited for
            with suppress(RuntimeError):  # the loop has just ended by itself
                loop.call_soon_threadsafe(stop.set)
            raise


async def each_done(items: Iterable[T], do: Callable[[T], Awaitable[None]], at_once: int) -> None:
    """Do something for each item, so many `at_once`.

    The first error ends it, once what is under way has ended: what that was answered is kept.
    """
    waiting, problems = iter(items), list[Exception]()

    async def go_on() -> None:
        try:
            for item in waiting:
                if problems:
                    return
                await do(item)
        except Exception as problem:
            problems.append(problem)

    await asyncio.gather(*(go_on() for _ in range(at_once)))
    if problems:
        raise problems[0]


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Which model to ask, and how.

    `model` is a name, as `choose` takes it, a model itself, which is asked as it is, or what is
    declared of an assessor, whose limits hold where none are given here. Where
    `redacted`, the store keeps the hashes of requests and not their texts. Where not `patient`,
    the model raises `AskedElsewhere` for what another process is asking. A `rehearsal` asks
    nothing, and makes no store. `deferral` says what is not asked live; if nothing is asked live,
    calls are priced as in a batch.
    """

    model: AnyModel | None = None
    base_url: str | None = None
    limits: Limits = field(default_factory=Limits)
    concurrency: int | None = None
    redacted: bool = False
    patient: bool = True
    rehearsal: bool = False
    deferral: Deferral = field(default_factory=Deferral)

    def __post_init__(self) -> None:
        if self.concurrency is not None and not count(self.concurrency):
            raise Misuse("calls at once count from 1", parameter="concurrency")
        if isinstance(self.model, AssessorSettings):
            object.__setattr__(self, "limits", self.limits.over(self.model.limits))
            object.__setattr__(self, "concurrency", self.concurrency or self.model.concurrency)

    @property
    def declared(self) -> AssessorSettings:
        """What is declared of the model; of one that was only named, the name."""
        if isinstance(self.model, AssessorSettings):
            return self.model
        return AssessorSettings(model=self.model if isinstance(self.model, str) else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions(Options):
    """What holds for all calls of work that asks a model.

    `concurrency` bounds the calls under way at once. With `retry_failed`, what was asked before is
    asked again where the reply was of no use. With `redact`, the store keeps hashes of requests and
    not their texts.
    """

    concurrency: int | None = option(None, CONCURRENCY)
    retry_failed: bool = option(False, RETRY_FAILED)
    redact: bool = option(False, REDACT)
    limits: Limits = field(default_factory=Limits)

    def session_of(
        self, model: AnyModel | None, base_url: str | None, **more: Any
    ) -> SessionOptions:
        """Which model to ask, and how; `more` are further fields of `SessionOptions`."""
        return SessionOptions(model, base_url, self.limits, self.concurrency, self.redact, **more)


class Selection(NamedTuple):
    """The model to ask: what it is called and why it is that one, its price, and its options.

    `price` is None where it is not known.
    """

    choice: Choice
    price: Price | None
    options: SessionOptions

    @property
    def name(self) -> str:
        """What it is called: by who declared it, else as the server does."""
        return self.options.declared.name or self.choice.name

    @property
    def reads_prompt(self) -> bool:
        """Whether it is a language model; `similarity` compares texts alone."""
        return self.choice.name != "similarity"

    @property
    def is_embedded(self) -> bool:
        """Whether it is one of this package's own models."""
        return self.choice.is_embedded and not isinstance(self.options.model, Model)

    @property
    def caveat(self) -> str | None:
        """How far the judgements of an embedded model are to be trusted; None of another model."""
        return caveat(self.choice.name) if self.is_embedded else None


@dataclass(frozen=True, slots=True)
class Session:
    """A model that can be asked within its limits, and what stands around it.

    `inputs` joins what each request's `inputs` hold; `needs_probe` is true where the first call
    finds out what the server accepts; `secret` is what marks round documents are made with;
    `thoughts` are the tokens that the model may think in before each reply; `is_known` is false
    where nothing was found out yet of what the server accepts, and whether the model thinks.
    """

    selection: Selection
    model: Model
    inputs: JsonObject
    guard: Guard
    store: Store
    needs_probe: bool
    secret: bytes = field(default=b"", repr=False)
    thoughts: int = 0
    is_known: bool = True

    @property
    def at_once(self) -> int:
        """How many calls may be under way."""
        return self.guard.limiter.limits.at_once

    @property
    def parameters(self) -> dict[str, Any]:
        """What is declared to be sent with each request."""
        return self.selection.options.declared.parameters

    @property
    def declared_model(self) -> Model:
        """The model, with what is declared put over the parameters of each request."""
        model, parameters = self.model, self.parameters

        def declared(request: Request) -> Request:
            return replace(request, parameters={**request.parameters, **parameters})

        async def ask(request: Request) -> Reply:
            return await model.ask(declared(request))

        def recall(requests: Sequence[Request]) -> Sequence[Reply | None]:
            return model.recall(list(map(declared, requests)))

        return replace(model, ask=ask, recall=recall) if parameters else model

    @property
    def asks_live(self) -> bool:
        """Whether calls go to a server, and their replies are waited for."""
        is_live = self.selection.options.deferral.is_live
        return self.model.is_server and is_live and not self.selection.is_embedded


async def select_model(task: Task, options: SessionOptions, control: Control) -> Selection:
    """Choose the model for a task, and note the choice to the caller.

    Raises `Misconfigured` where its price is not known and a budget in dollars needs it.
    """
    model = options.model
    if isinstance(model, Model):
        if options.base_url:
            raise Misuse(
                "a server's address does not go with a model that is given as an object",
                parameter="base_url",
            )
        selection = Selection(Choice(model.id, "given"), None, options)
    else:
        choice = await choose(task, options.declared, options.base_url, rehearsal=options.rehearsal)
        price = choice.price
        if price and not options.deferral.is_live:
            price = batch_price(price, choice.base_url)
        selection = Selection(choice, price, options)
    control.note(f"model: {selection.choice}")
    check_priced(selection.choice.name, selection.price, options.limits)
    return selection


def check_priced(name: str, price: Price | None, limits: Limits) -> None:
    """Raise `Misconfigured` where a budget in dollars cannot be kept."""
    if price is None and limits.max_cost is not None:
        raise Misconfigured(
            f"the price of {name} is unknown, so a budget in dollars cannot be kept; declare "
            "tokens_in and tokens_out, or give a budget in tokens",
            parameter="max_cost",
        )


@asynccontextmanager
async def open_session(
    selection: Selection, documents: Iterable[Document], store: StorePlace, control: Control
) -> AsyncIterator[Session]:
    """The selected model, started, guarded and joined to the store, as long as the block runs.

    `documents` are those that will be asked about.
    """
    async with open_source(selection, documents, control) as source:
        _warn_of_place(store, control)
        async with session_on(source, store, control) as session:
            yield session


class StartedModel(NamedTuple):
    """A model that was started, and what stands before it: one guard, whichever store is used."""

    selection: Selection
    started: Ready
    guard: Guard


@asynccontextmanager
async def open_source(
    selection: Selection, documents: Iterable[Document], control: Control
) -> AsyncIterator[StartedModel]:
    """The selected model, started and guarded, as long as the block runs."""
    options, choice = selection.options, selection.choice
    async with AsyncExitStack() as stack:
        if isinstance(options.model, Model):
            started = Ready(options.model, concurrency=SERVER_CONCURRENCY)
        elif options.rehearsal and choice.is_embedded:
            started = rehearsed(choice, documents)
        else:
            calls = Calls(options.limits.timeout, control.note, mute=MUTE_SECONDS)
            started = await stack.enter_async_context(ready(choice, documents, calls))
        stack.push_async_callback(started.model.close)
        at_once = options.concurrency or started.concurrency
        guard = guard_of(options.limits, selection.price, at_once, control)
        yield StartedModel(selection, started, guard)


@asynccontextmanager
async def session_on(
    source: StartedModel, replies: StorePlace, control: Control
) -> AsyncIterator[Session]:
    """A source joined to a store, as long as the block runs; its connections stay open after it."""
    selection, started, guard = source
    options = selection.options
    with _opened(replies, options, control) as store:
        model = guarded(
            replace(started.model, close=nothing_to_close),
            store,
            guard,
            patient=options.patient,
            deferral=options.deferral,
            declared=options.declared,
        )
        try:
            is_known = knows(started.model, store)
            yield Session(
                selection,
                model,
                started.inputs,
                guard,
                store,
                needs_probe=not (options.deferral.is_live or is_known),
                secret=secret_of(store) if options.rehearsal else kept_secret(store),
                thoughts=most_thoughts(started.model, store),
                is_known=is_known,
            )
        finally:
            await model.close()


@contextmanager
def _opened(path: StorePlace, options: SessionOptions, control: Control) -> Iterator[Store]:
    """The store; a rehearsal makes none, and where there is none it gets an empty one."""
    with ExitStack() as stack:
        if options.rehearsal and not path.exists():
            path = Path(stack.enter_context(TemporaryDirectory())) / path.name
        waiting = Waiting(options.limits.patience, control.stop.is_set, control.note)
        yield stack.enter_context(open_store(path, redacted=options.redacted, waiting=waiting))


def guard_of(limits: Limits, price: Price | None, at_once: int, control: Control) -> Guard:
    """What stands between the run and the server."""
    budget = Budget(
        limits.max_calls, limits.max_tokens, limits.max_cost, limits.deadline, price, control.spent
    )
    control.stop.until = budget.ends
    limiter = RateLimiter(RateLimits(at_once, limits.rpm, limits.tpm), stop=control.stop)
    patience = Patience(limits.tries, limits.patience)
    return Guard(limiter, budget, patience, control.stop, control.note)


def _warn_of_place(path: StorePlace, control: Control) -> None:
    """Warn of a network file system, and of a file beside a database that answers nothing."""
    if isinstance(path, Path):
        if kind := network_file_system(path):
            control.note(
                f"{path} lies on a network file system ({kind}): use it from one machine at a time"
            )
    elif path.unsent is not None and path.unsent.exists():
        control.note(
            f"{path.unsent} is not read, as replies are kept in {path}; what it holds may be "
            "asked again, unless it was copied there"
        )
