"""`generate`: let a model write queries that the corpus answers."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.card import check_made
from labeler.collection.corpus import CorpusDocuments, CorpusTexts
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import MadeFile, claimed, locked_in_loop
from labeler.data import Document, Query
from labeler.errors import Incomplete
from labeler.model import Request
from labeler.models.call_plan import CallPlan, plan_calls
from labeler.models.control import Control, run_to_end
from labeler.models.encoders import EncoderTexts, Encoding, EncodingPlan
from labeler.models.policies.budget import Spending, WithCost
from labeler.models.session import Session, SessionOptions, open_session, select_model
from labeler.models.settings import (
    CONCURRENCY,
    REDACT,
    RETRY_FAILED,
    AnyModel,
    EncoderOptions,
    Limits,
)
from labeler.options import CANDIDATES, COUNT, SEED, check_options, given, option
from labeler.prompt import find_prompt
from labeler.queries.asking import Asking
from labeler.queries.filter import FilterRules
from labeler.queries.keep import generated_before, keep_generated, real_queries
from labeler.queries.kinds import KINDS, UNANSWERABLE, Mix, turns
from labeler.queries.passages import Coverage, PassageChoice, choose_passages, considered
from labeler.queries.set_aside import PassageRules
from labeler.queries.write import (
    CHECKED,
    closeness,
    generate_queries,
    is_no_query,
    most_passages,
    topic_request,
    verdict_request,
)
from labeler.queries.writer import (
    CorpusSearch,
    FurtherPrompts,
    Generated,
    PassageTurn,
    Turns,
    Writer,
    generation_requests,
    used_passages,
)
from labeler.text.terms import text_to_search
from labeler.text.vectors import Encoder, can_encode, encode

# What `generate` gives back, and what it would take.


@dataclass(frozen=True, slots=True)
class GenerateResult(WithCost):
    """How many queries were written now, and how many generated ones the collection has.

    `rejected` counts the candidates that were dropped now, `reasons` those that were no queries;
    `missing` the queries that there are too few. `has_failed` is true where replies failed.
    `stopped` says why no more passages were asked about, where the corpus has some: too many gave
    no query. `spent` is what this took. `set_aside` counts the passages that nobody asks about, by
    reason; `coverage` says how much of the corpus gave the queries. `kinds` counts the generated
    queries by kind, of which the unanswerable stand in a file of their own, `given_up` those kinds
    that passage after passage gave none of. `without_topic` counts the queries written now for
    which the model gave no topic, `not_found` those whose source no retriever finds.
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
    kinds: Mapping[str, int] = field(default_factory=dict)
    given_up: Mapping[str, int] = field(default_factory=dict)
    without_topic: int = 0
    not_found: int = 0

    def check(self) -> None:
        """Raise `Incomplete` where queries are missing because replies failed, or none came."""
        if self.missing and (self.has_failed or self.stopped or not self.total):
            counts = [f"{count:,} {reason}" for reason, count in self.reasons.items()]
            reasons = ", ".join(counts) or self._why_none
            queries = f"{self.total:,} of {self.total + self.missing:,} queries were written"
            why = f"; stopped, since {self.stopped}" if self.stopped else ""
            listed = "; rejected.jsonl lists them" if counts else ""
            raise Incomplete(f"{queries} ({reasons}){listed}{why}")

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
            "kinds": dict(self.kinds),
            "given_up": dict(self.given_up),
            "without_topic": self.without_topic,
            "not_found": self.not_found,
            "set_aside": dict(self.set_aside),
            "coverage": self.coverage.as_json() if self.coverage else None,
            "calls": self.spent.calls,
            "cost": self.cost,
            "cost_at_most": self.cost_at_most,
        }


@dataclass(frozen=True, slots=True)
class GenerationPlan:
    """How many passages would be asked about, and what the calls would take.

    `most_passages` counts those that are asked about where many candidates are no good. `encoding`
    is what a server would be asked for vectors besides; None without one.
    """

    passages: int
    calls: CallPlan
    most_passages: int = 0
    encoding: EncodingPlan | None = None

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        passages = {"passages": self.passages, "passages_at_most": self.most_passages}
        encoding = None if self.encoding is None else self.encoding.as_json()
        return {**passages, **self.calls.as_json(), "encoding": encoding}


# What writing queries would ask, before anything is asked.

_RETRIEVERS = 2


def planned(
    documents: Sequence[Document], writer: Writer, total: int, session: Session
) -> GenerationPlan:
    """What writing queries about passages, in their order, would take.

    At most counts the passages that may have a turn, the longest first, and all further questions
    that their queries may give rise to.
    """
    missing = max(0, total - len(writer.already))
    likely = Turns.of(documents, writer).next(missing)
    first = {turn.document.id for turn in likely}
    spare = [t for t in _possible(documents, writer, missing) if t.document.id not in first]
    most = min(most_passages(missing), len(likely) + len(spare))
    unasked = [request for turn in likely for request in _unanswered(turn, writer)]
    unasked += _topics(likely, writer)
    more = [_unanswered(turn, writer) for turn in spare]
    more.sort(key=lambda requests: -sum(map(_size, requests)))
    further = [request for requests in more[: most - len(likely)] for request in requests]
    calls = plan_calls([*unasked, *further], session, likely=len(unasked))
    return GenerationPlan(len(likely), calls, most)


def _possible(documents: Sequence[Document], writer: Writer, missing: int) -> Iterable[PassageTurn]:
    """The turns that may come: of each kind, the first so many passages that were dealt to it."""
    most, used = most_passages(missing), used_passages(writer)
    by_kind: dict[str, list[PassageTurn]] = defaultdict(list)
    for document, kind in zip(documents, turns(writer.shares), strict=False):
        if document.id not in used and len(by_kind[kind]) < most:
            by_kind[kind].append(PassageTurn(document, kind))
        if all(len(by_kind[kind]) >= most for kind in writer.shares):
            break
    return (turn for of_kind in by_kind.values() for turn in of_kind)


def _unanswered(turn: PassageTurn, writer: Writer) -> list[Request]:
    """The requests of a turn to which the store has no reply that would do, and its checks."""
    requests = generation_requests(turn.document, writer, turn.kind)
    replies = writer.model.recall(requests)
    new = [
        request
        for request, reply in zip(requests, replies, strict=True)
        if reply is None or (writer.retry_failed and is_no_query(reply))
    ]
    return [*new, *(_checks(turn, writer) if new else ())]


def _checks(turn: PassageTurn, writer: Writer) -> list[Request]:
    """What may be asked about a turn's candidates, with words in their place."""
    query = _stand_in(turn, writer)
    asked: list[Request] = []
    if writer.further.self_contained:
        request = verdict_request(writer.further.self_contained, query)
        asked += [request] * writer.samples
    if writer.further.answered and turn.kind == UNANSWERABLE:
        request = verdict_request(writer.further.answered, query, turn.document)
        asked += [request] * (CHECKED * _RETRIEVERS)
    return asked


def _topics(likely: Sequence[PassageTurn], writer: Writer) -> list[Request]:
    """The request for the topic of each query, with words in the query's place."""
    prompt = writer.further.topic
    if prompt is None:
        return []
    return [topic_request(prompt, _stand_in(turn, writer), turn.document) for turn in likely]


def _stand_in(turn: PassageTurn, writer: Writer) -> str:
    """Words in the place of a query that nobody has written yet, as many as it may have."""
    return " ".join(turn.document.text.split()[: writer.max_words(turn.kind)])


def _size(request: Request) -> int:
    return sum(len(message.content) for message in request.messages)


# Whether the passage that a query was written for is found by it again.


async def search_of_new(
    generated: Generated,
    writer: Writer,
    encoding: Encoding | None,
    collection: Collection,
    control: Control,
) -> CorpusSearch | None:
    """What looks for the sources of the new queries.

    With `encoding`, that encoder is given these queries first; the collection keeps its vectors.
    """
    texts = [query.text for query in generated.queries[len(writer.already) :]]
    if encoding is None or writer.search is None or not texts:
        return writer.search
    searched = EncoderTexts(CorpusTexts(collection.corpus), texts)
    encoder = await encoding.aready(collection.vectors, searched, control)
    return writer.search.with_encoder(encoder)


def flag_round_trips(generated: Generated, writer: Writer, search: CorpusSearch | None) -> int:
    """Say with each new query at which rank its source is found; how many are not found at all.

    A source that nobody finds is no reason to drop a query: the hard ones tell systems apart.
    """
    new = enumerate(generated.queries[len(writer.already) :], start=len(writer.already))
    with_source = {at: query for at, query in new if "source" in query.metadata}
    if search is None or not with_source:
        return 0
    not_found, several = 0, search.ranks([*with_source.values()])
    for (at, query), ranks in zip(with_source.items(), several, strict=True):
        is_found = any(rank is not None for rank in ranks.values())
        not_found += not is_found
        flags = {"source_ranks": ranks, "round_trip": is_found}
        generated.queries[at] = replace(query, metadata={**query.metadata, **flags})
    return not_found


EMBEDDED_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """How many queries a collection shall have, and who writes them.

    `prompt` is a shipped prompt's name or the path of a file, which then writes all queries; empty,
    each kind of the mix has its own. `model` is as `JudgeOptions` say. `samples` is the number of
    candidates for each passage, of which the closest is kept: None is 1, or 5 of an embedded model.
    `seed` decides which passages are asked about. With `force` the list of rejected queries is
    replaced even where somebody else wrote it. `concurrency`, `retry_failed` (of replies that were
    no queries) and `redact` are as `JudgeOptions` say. `passages` says which passages are asked
    about, `filters` which candidates are dropped, `asking` what kinds of queries there are and how
    they sound. `encoder` gives the subjects of passages, and tells whether a query's source is
    found; another than the embedded one is given all documents.
    """

    queries: int = option(
        50, "How many queries to have.", COUNT, section="generate", flag=True, example=50
    )
    prompt: str = option(
        "", "A prompt's name or file, which writes all. Default: a prompt for each kind."
    )
    model: AnyModel | None = None
    base_url: str | None = None
    samples: int | None = option(
        None,
        "Candidates a passage; the closest is kept. Default: 1, embedded 5.",
        CANDIDATES,
        rare=True,
    )
    seed: int = option(0, "Decides which passages are asked about.", SEED)
    redact: bool = option(False, REDACT)
    limits: Limits = field(default_factory=Limits)
    force: bool = False
    concurrency: int | None = option(None, CONCURRENCY)
    retry_failed: bool = option(False, RETRY_FAILED)
    passages: PassageRules = field(default_factory=PassageRules)
    filters: FilterRules = field(default_factory=FilterRules)
    asking: Asking = field(default_factory=Asking)
    encoder: EncoderOptions = field(default_factory=EncoderOptions)

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def encoding(self) -> Encoding:
        """How passages and queries are encoded."""
        return Encoding(self.encoder, self.limits)

    @property
    def session(self) -> SessionOptions:
        """Which model to ask, and how."""
        return SessionOptions(
            self.model, self.base_url, self.limits, self.concurrency, redacted=self.redact
        )


def generate(
    collection: Collection | Path | str,
    options: GenerateOptions | None = None,
    *,
    control: Control | None = None,
    **settings: Any,
) -> GenerateResult:
    """Write queries that the corpus answers; `settings` are fields of `GenerateOptions`.

    The same call, made again, asks nothing; with more `queries` it goes on from those there are.

    >>> from labeler.testing import fake_model, small_collection
    >>> llm = fake_model(lambda request: f"how do they {request.messages[-1].content.split()[-1]}")
    >>> generate(small_collection(), queries=1, model=llm, topics=False).written
    1
    """
    whole, control = given(GenerateOptions, options, settings), control or Control()
    return run_to_end(lambda stop: agenerate(collection, whole, control.with_stop(stop)))


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
        choice, session, writer = prepared.choice, prepared.session, prepared.writer
        async with locked_in_loop(opened, control.stop, control.note):
            already = tuple(generated_before(opened, writer))
            stack.enter_context(claimed(_queries_made(opened, writer)))
        writer = replace(writer, already=already)
        with control.progress("writing queries") as advance:
            generated = await generate_queries(
                choice.passages, writer, options.queries, session.at_once, advance
            )
        encoding = options.encoding if options.encoder.is_served else None
        search = await search_of_new(generated, writer, encoding, opened, control)
        not_found = flag_round_trips(generated, writer, search)
        is_priced, spent = session.selection.price is not None, control.spent.since(earlier)
        async with locked_in_loop(opened, control.stop, control.note):
            before = len(generated_before(opened, writer))
            total = keep_generated(opened, generated, writer, force=options.force)
            all_of_them = generated_before(opened, writer)
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
        choice.coverage(all_of_them),
        _by_kind(all_of_them),
        generated.given_up,
        generated.without_topic,
        not_found,
    )


def _by_kind(queries: Sequence[Query]) -> Mapping[str, int]:
    return dict(Counter(str(q.metadata.get("kind") or "unknown") for q in queries).most_common())


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
    texts = EncoderTexts(CorpusTexts(opened.corpus))
    encoding = await asyncio.to_thread(options.encoding.plan, opened.vectors, texts)
    async with _prepared(opened, options, rehearsal, control or Control()) as prepared:
        already = tuple(generated_before(opened, prepared.writer))
        writer = replace(prepared.writer, already=already)
        plan = planned(prepared.choice.passages, writer, options.queries, prepared.session)
        return replace(plan, encoding=encoding)


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
    options.encoder.check()
    style = options.asking.style()
    own = find_prompt(options.prompt, "generate") if options.prompt else None
    shares = {} if own else options.asking.shares(style)
    documents = CorpusDocuments(collection.corpus)
    search = CorpusSearch.of(collection, control.progress)
    if any(KINDS[kind].passages > 1 or kind == UNANSWERABLE for kind in shares):
        search.prepare()
    selection = await select_model("generate", session_options, control)
    samples = options.samples or (EMBEDDED_SAMPLES if selection.is_embedded else 1)
    encoder: Encoder | None = None
    if options.encoder.is_served and not session_options.rehearsal:
        texts = EncoderTexts(CorpusTexts(collection.corpus))
        encoder = await options.encoding.aready(collection.vectors, texts, control)
    async with open_session(selection, documents, collection.store, control) as session:
        prompts = {kind: find_prompt(kind, "generate") for kind in shares}
        writer = Writer(
            own or prompts[next(iter(prompts))],
            session.declared_model,
            closeness(documents),
            *(samples, options.seed, (), options.retry_failed, shares, prompts, style),
            search=search,
            rules=options.filters,
            further=_further(options, shares),
            real=(*style.like, *real_queries(collection)),
        )
        among = considered(documents, options.seed)
        if len(among) < len(search.documents):
            control.note(_of_many(len(among), len(search.documents)))
        yield _Prepared(_passages(among, options, encoder), writer, session)


def _of_many(drawn: int, every: int) -> str:
    return f"{drawn:,} of {every:,} passages may be asked about; the seed decides which"


def _passages(
    documents: Sequence[Document], options: GenerateOptions, encoder: Encoder | None
) -> PassageChoice:
    which = documents, options.seed, options.passages
    if encoder is None:
        return choose_passages(*which, encode if can_encode() else None)
    return choose_passages(*which, encoder.documents, text_to_search)


def _further(options: GenerateOptions, shares: Mix) -> FurtherPrompts:
    """The prompts that are asked with besides."""
    checks_alone = options.filters.check_self_contained
    return FurtherPrompts(
        find_prompt("topic", "topic") if options.asking.topics else None,
        find_prompt("answered", "check") if UNANSWERABLE in shares else None,
        find_prompt("self-contained", "check") if checks_alone else None,
    )
