"""`generate`: let a model write queries that the corpus answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.claims import MadeFile, claimed
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked_in_loop
from labeler.collection.provenance import check_made
from labeler.data import Document
from labeler.errors import Incomplete
from labeler.model import Model, Request
from labeler.models.call_plan import CallPlan, plan_calls
from labeler.models.control import Control
from labeler.models.limits import Limits
from labeler.models.loop import run_to_end
from labeler.models.policies.budget import Spending
from labeler.models.session import Session, SessionOptions, open_session, select_model
from labeler.prompt import find_prompt
from labeler.queries.keep import generated_before, keep_generated
from labeler.queries.set_aside import PassageRules
from labeler.queries.strata import Coverage, PassageChoice, choose_passages
from labeler.queries.write import (
    Writer,
    closeness,
    generate_queries,
    generation_requests,
    is_no_query,
    most_passages,
    unused_passages,
)
from labeler.text.vectors import can_encode, encode

EMBEDDED_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """How many queries a collection shall have, and who writes them.

    `prompt` is a shipped prompt's name or the path of a file; `model` is as `JudgeOptions` say.
    `samples` is the number of candidates for each passage, of which the closest is kept: None is
    1, or 5 of an embedded model. `seed` decides which passages are asked about. With `force` the
    list of rejected queries is replaced even where somebody else wrote it. `concurrency`,
    `retry_failed` (of replies that were no queries) and `redact` are as `JudgeOptions` say.
    `passages` says which passages are asked about.
    """

    queries: int = 50
    prompt: str = "question"
    model: str | Model | None = None
    base_url: str | None = None
    samples: int | None = None
    seed: int = 0
    redact: bool = False
    limits: Limits = field(default_factory=Limits)
    force: bool = False
    concurrency: int | None = None
    retry_failed: bool = False
    passages: PassageRules = field(default_factory=PassageRules)

    @property
    def session(self) -> SessionOptions:
        """Which model to ask, and how."""
        return SessionOptions(
            self.model, self.base_url, self.limits, self.concurrency, redacted=self.redact
        )


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """How many queries were written now, and how many generated ones the collection has.

    `rejected` counts the candidates that were dropped now, `reasons` those that were no queries;
    `missing` the queries that there are too few. `has_failed` is true where replies failed.
    `stopped` says why no more passages were asked about, where the corpus has some: too many gave
    no query. `spent` is what this took. `set_aside` counts the passages that nobody asks about, by
    reason; `coverage` says how much of the corpus gave the queries.
    """

    queries: Path
    written: int
    rejected: int
    total: int
    missing: int = 0
    spent: Spending = field(default_factory=Spending)
    is_priced: bool = False
    reasons: Mapping[str, int] = field(default_factory=dict)
    has_failed: bool = False
    stopped: str = ""
    set_aside: Mapping[str, int] = field(default_factory=dict)
    coverage: Coverage | None = None

    @property
    def cost(self) -> float | None:
        """What this is known to have cost in dollars; None where the price is not known."""
        return None if self.spent.calls and not self.is_priced else self.spent.cost

    @property
    def cost_at_most(self) -> float | None:
        """The same with what calls may have cost of which the server did not say."""
        return None if self.cost is None else self.spent.cost_at_most

    def check(self) -> None:
        """Raise `Incomplete` where queries are missing because replies failed, or none came."""
        if self.missing and (self.has_failed or self.stopped or not self.total):
            counts = [f"{count:,} {reason}" for reason, count in self.reasons.items()]
            reasons = ", ".join(counts) or self._why_none
            queries = f"{self.total:,} of {self.total + self.missing:,} queries were written"
            why = f"; stopped, since {self.stopped}" if self.stopped else ""
            raise Incomplete(f"{queries} ({reasons}); rejected.jsonl lists them{why}")

    @property
    def _why_none(self) -> str:
        """Why no passage was asked about."""
        aside = ", ".join(f"{count:,} {reason}" for reason, count in self.set_aside.items())
        return f"all passages are set aside: {aside}" if aside else "no passage to ask about"

    def as_json(self) -> dict[str, Any]:
        """The counts, the file and the cost by name."""
        return {
            "queries": str(self.queries),
            "written": self.written,
            "rejected": self.rejected,
            "total": self.total,
            "missing": self.missing,
            "reasons": dict(self.reasons),
            "stopped": self.stopped,
            "set_aside": dict(self.set_aside),
            "coverage": self.coverage._asdict() if self.coverage else None,
            "calls": self.spent.calls,
            "cost": self.cost,
            "cost_at_most": self.cost_at_most,
        }


@dataclass(frozen=True, slots=True)
class GenerationPlan:
    """How many passages would be asked about, and what the calls would take.

    `most_passages` counts those that are asked about where many candidates are no good.
    """

    passages: int
    calls: CallPlan
    most_passages: int = 0

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        passages = {"passages": self.passages, "passages_at_most": self.most_passages}
        return {**passages, **self.calls.as_json()}


def generate(  # noqa: PLR0913  the keywords of a public function are its settings
    collection: Collection | Path | str,
    *,
    queries: int = 50,
    prompt: str = "question",
    model: str | Model | None = None,
    base_url: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    redact: bool = False,
    limits: Limits | None = None,
    control: Control | None = None,
    force: bool = False,
    concurrency: int | None = None,
    retry_failed: bool = False,
) -> GenerateResult:
    """Write queries that the corpus answers; `GenerateOptions` says what the settings mean.

    The same call, made again, asks nothing; with more `queries` it goes on from those there are.

    >>> from labeler.testing import fake_model, small_collection
    >>> llm = fake_model(lambda request: f"how do they {request.messages[-1].content.split()[-1]}")
    >>> generate(small_collection(), queries=1, model=llm).written
    1
    """
    options = GenerateOptions(
        *(queries, prompt, model, base_url, samples, seed, redact),
        *(limits or Limits(), force, concurrency, retry_failed),
    )
    control = control or Control()
    return run_to_end(lambda stop: agenerate(collection, options, control.with_stop(stop)))


async def agenerate(
    collection: Collection | Path | str,
    options: GenerateOptions | None = None,
    control: Control | None = None,
) -> GenerateResult:
    """Write queries that the corpus answers: `generate` for callers that are asynchronous."""
    opened, options = open_collection(collection), options or GenerateOptions()
    control = control or Control()
    if not options.force:
        check_made(opened, [opened.rejected])
    earlier = replace(control.spent)
    async with AsyncExitStack() as stack:
        prepared = await stack.enter_async_context(
            _prepared(opened, options, options.session, control)
        )
        choice, session = prepared.choice, prepared.session
        async with locked_in_loop(opened, control.stop, control.note):
            already = tuple(generated_before(opened, prepared.writer))
            stack.enter_context(claimed(_queries_made(opened, prepared.writer)))
        writer = replace(prepared.writer, already=already)
        with control.progress("writing queries") as advance:
            generated = await generate_queries(
                choice.passages, writer, options.queries, session.at_once, advance
            )
        is_priced, spent = session.selection.price is not None, control.spent.since(earlier)
        async with locked_in_loop(opened, control.stop, control.note):
            before = len(generated_before(opened, writer))
            total = keep_generated(opened, generated, writer, force=options.force)
            coverage = choice.coverage(generated_before(opened, writer))
    return GenerateResult(
        opened.queries,
        total - before,
        len(generated.rejected),
        total,
        max(0, options.queries - len(generated.queries)),
        spent,
        is_priced,
        generated.reasons,
        bool(generated.failures),
        generated.stopped,
        choice.reasons,
        coverage,
    )


def _queries_made(collection: Collection, writer: Writer) -> MadeFile:
    """The queries as this writer makes them, which another one must not mix with its own."""
    advice = "wait for it, or use a new directory"
    return MadeFile(collection, collection.queries, writer.origin, advice)


async def aplan_generation(
    collection: Collection | Path | str,
    options: GenerateOptions | None = None,
    control: Control | None = None,
) -> GenerationPlan:
    """What `agenerate` would take; asks nothing and writes nothing."""
    opened, options = open_collection(collection), options or GenerateOptions()
    rehearsal = replace(options.session, rehearsal=True)
    async with _prepared(opened, options, rehearsal, control or Control()) as prepared:
        already = tuple(generated_before(opened, prepared.writer))
        writer = replace(prepared.writer, already=already)
        missing = max(0, options.queries - len(already))
        passages = unused_passages(prepared.choice.passages, writer)[: most_passages(missing)]
        likely = _unanswered(passages[:missing], writer)
        more = _unanswered(passages[missing:], writer)
        calls = plan_calls([*likely, *more], prepared.session, likely=len(likely))
        return GenerationPlan(min(missing, len(passages)), calls, len(passages))


def _unanswered(passages: Sequence[Document], writer: Writer) -> list[Request]:
    """The requests about passages to which the store has no reply that would do."""
    requests = [request for passage in passages for request in generation_requests(passage, writer)]
    replies = writer.model.recall(requests)
    return [
        request
        for request, reply in zip(requests, replies, strict=True)
        if reply is None or (writer.retry_failed and is_no_query(reply))
    ]


class _Prepared(NamedTuple):
    """Which passages to ask about, and the session in which the model of a writer can be asked."""

    choice: PassageChoice
    writer: Writer
    session: Session


@asynccontextmanager
async def _prepared(
    collection: Collection,
    options: GenerateOptions,
    session_options: SessionOptions,
    control: Control,
) -> AsyncIterator[_Prepared]:
    documents = list(read_corpus(collection.corpus).values())
    prompt = find_prompt(options.prompt, "generate")
    selection = await select_model("generate", session_options, control)
    samples = options.samples or (EMBEDDED_SAMPLES if selection.is_embedded else 1)
    async with open_session(selection, documents, collection.store, control) as session:
        settings = samples, options.seed, (), options.retry_failed
        writer = Writer(prompt, session.model, closeness(documents), *settings)
        encoder = encode if can_encode() else None
        choice = choose_passages(documents, options.seed, options.passages, encoder)
        yield _Prepared(choice, writer, session)
