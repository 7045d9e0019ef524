"""`generate`: let a model write queries that the corpus answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.card import check_made, making, update_card
from labeler.collection.corpus import CorpusDocuments, distinct_documents
from labeler.collection.layout import (
    AnyCollection,
    Collection,
    MadeFile,
    claimed,
    locked,
    locked_in_loop,
    open_collection,
)
from labeler.collection.queries import read_queries, write_queries
from labeler.data import Document, Query
from labeler.errors import Incomplete, Misuse
from labeler.files.jsonl import write_rows
from labeler.messages import counts_of
from labeler.model import Request
from labeler.models.call_plan import CallPlan, plan_calls
from labeler.models.policies.limits import Spending, WithCost
from labeler.models.session import (
    Act,
    CallOptions,
    Control,
    Session,
    open_session,
    select_model,
    sync,
)
from labeler.models.settings import (
    AnyModel,
)
from labeler.options import CANDIDATES, COUNT, SEED, given, option
from labeler.prompt import find_prompt
from labeler.queries.filter import FilterRules
from labeler.queries.kinds import KINDS, Asking
from labeler.queries.passages import (
    MOST_CONSIDERED,
    PassageChoice,
    choose_passages,
    considered,
    heading_queries,
)
from labeler.queries.set_aside import PassageRules
from labeler.queries.write import (
    cosines,
    generate_queries,
    is_no_query,
    most_passages,
    topic_request,
)
from labeler.queries.writer import (
    CorpusSearch,
    Generated,
    PassageTurn,
    Turns,
    Writer,
    generation_requests,
    passage_of,
)
from labeler.report.result import Hidden, Merged, Result
from labeler.report.table import shown

# What `generate` gives back, and what it would take.


@dataclass(frozen=True, eq=False, repr=False)
class GenerateResult(WithCost, Result):
    """How many queries were written now, and how many generated ones the collection has.

    `rejected` counts the candidates that were dropped now, `reasons` those that were no queries;
    `missing` the queries that there are too few. `has_failed` is true where replies failed.
    `stopped` says why no more passages were asked about, where the corpus has some: too many gave
    no query. `spent` is what this took. `set_aside` counts the passages that nobody asks about, by
    reason. `kinds` counts the generated queries by kind, `given_up` those kinds that passage after
    passage gave none of. `without_topic` counts the queries written now for which the model gave no
    topic. `strata` counts the queries by the values that passages are spread over.
    """

    queries: Path
    written: int
    rejected: int
    total: int
    missing: int = 0
    spent: Hidden[Spending] = field(default_factory=Spending)
    is_priced: Hidden[bool] = False
    reasons: Mapping[str, int] = field(default_factory=dict)
    has_failed: Hidden[bool] = False
    stopped: str = ""
    set_aside: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    given_up: Mapping[str, int] = field(default_factory=dict)
    without_topic: int = 0
    strata: Mapping[str, int] = field(default_factory=dict)

    def check(self) -> None:
        """Raise `Incomplete` where queries are missing because replies failed, or none came."""
        if self.missing and (self.has_failed or self.stopped or not self.total):
            counts = counts_of(self.reasons)
            aside = counts_of(self.set_aside)
            queries = f"{self.total:,} of {self.total + self.missing:,} queries were written"
            why = f"; stopped, since {self.stopped}" if self.stopped else ""
            listed = f"{counts}); rejected.jsonl lists them"
            none = f"all passages are set aside: {aside}" if aside else "no passage to ask about"
            raise Incomplete(f"{queries} ({listed if counts else f'{none})'}{why}")

    @shown
    def calls(self) -> int:
        """The calls of this run."""
        return self.spent.calls


@dataclass(frozen=True, slots=True)
class GenerationPlan(Result):
    """How many passages would be asked about, and what the calls would take.

    `passages_at_most` counts those that are asked about where many candidates are no good, `total`
    the queries that there would be then, with those that were written before.
    """

    passages: int
    calls: Merged[CallPlan]
    passages_at_most: int = 0
    total: Hidden[int] = 0


# What writing queries would ask, before anything is asked.


def planned(
    documents: Sequence[Document], writer: Writer, total: int, session: Session
) -> GenerationPlan:
    """What writing queries about passages, in their order, would take.

    At most counts the passages that may have a turn, the longest first, and all further questions
    that their queries may give rise to.
    """
    missing = max(0, total - len(writer.already))
    dealt = Turns.of(documents, writer)
    most = most_passages(missing)
    likely = dealt.next(missing)
    first = {turn.document.id for turn in likely}
    spare = [  # of each kind, the first so many passages that were dealt to it
        writer.turn(document, kind)
        for kind, waiting in dealt.waiting.items()
        for document in islice(waiting, most)
        if document.id not in first
    ]
    most = min(most, len(likely) + len(spare))
    unasked = [request for turn in likely for request in _unanswered(turn, writer)]
    if (topic := writer.topic) is not None:  # with words of the passage in the query's place
        for turn in likely:
            words = " ".join(turn.document.text.split()[: writer.max_words(turn.kind)])
            unasked.append(topic_request(topic, words, turn.document))
    more = [_unanswered(turn, writer) for turn in spare]
    more.sort(key=lambda each: -sum(len(m.content) for request in each for m in request.messages))
    further = [request for requests in more[: most - len(likely)] for request in requests]
    calls = plan_calls([*unasked, *further], session, likely=len(unasked))
    return GenerationPlan(len(likely), calls, most, len(writer.already) + min(missing, most))


def _unanswered(turn: PassageTurn, writer: Writer) -> list[Request]:
    """The requests of a turn to which the store has no reply that would do."""
    requests = generation_requests(turn, writer)
    return [
        request
        for request, reply in zip(requests, writer.model.recall(requests), strict=True)
        if reply is None or (writer.retry_failed and is_no_query(reply))
    ]


EMBEDDED_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class GenerateOptions(CallOptions):
    """How many queries a collection shall have, and who writes them.

    `prompt` is a shipped prompt's name or the path of a file, which then writes all queries; empty,
    each kind of the mix has its own. `model` is as `JudgeOptions` say. `samples` is the number of
    candidates for each passage, of which the closest is kept: None is 1, or 5 of an embedded model.
    `seed` decides which passages are asked about. With `force` the list of rejected queries is
    replaced even where somebody else wrote it. `passages` says which passages are asked about,
    `filters` which candidates are dropped, `asking` what kinds of queries there are and how they
    sound.
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
    force: bool = False
    passages: PassageRules = field(default_factory=PassageRules)
    filters: FilterRules = field(default_factory=FilterRules)
    asking: Asking = field(default_factory=Asking)


def agenerate(
    collection: AnyCollection,
    options: GenerateOptions | None = None,
    *,
    control: Control | None = None,
    **settings: Any,
) -> Act[GenerateResult, GenerationPlan]:
    """Write queries that the corpus answers; `settings` are fields of `GenerateOptions`.

    The same call, made again, asks nothing; with more `queries` it goes on from those there are.

    >>> from labeler.testing import fake_model, small_collection
    >>> llm = fake_model(lambda request: f"how do they {request.messages[-1].content.split()[-1]}")
    >>> generate(small_collection(), queries=1, model=llm, topics=False).written
    1
    """
    opened = open_collection(collection)
    asked = given(GenerateOptions, options, settings)
    watch = control or Control()

    async def plan() -> GenerationPlan:
        async with _prepared(opened, asked, watch, rehearsal=True) as prepared:
            already = tuple(generated_before(opened, prepared.writer))
            writer = replace(prepared.writer, already=already)
            return planned(prepared.choice.passages, writer, asked.queries, prepared.session)

    return Act(lambda: _generate(opened, asked, watch), plan)


generate = sync(agenerate)


async def _generate(
    opened: Collection, options: GenerateOptions, control: Control
) -> GenerateResult:
    if not options.force:
        check_made(opened, [opened.rejected])
    earlier = replace(control.spent)
    async with AsyncExitStack() as stack:
        prepared = await stack.enter_async_context(_prepared(opened, options, control))
        choice = prepared.choice
        session = prepared.session
        writer = prepared.writer
        async with locked_in_loop(opened, control.stop, control.note):
            already = tuple(generated_before(opened, writer))
            made = MadeFile(
                opened, opened.queries, writer.origin, "wait for it, or use a new directory"
            )
            stack.enter_context(claimed(made))  # which another writer must not mix with its own
        writer = replace(writer, already=already)
        with control.progress("writing queries") as advance:
            generated = await generate_queries(
                choice.passages, writer, options.queries, session.at_once, advance
            )
        spent = control.spent.since(earlier)
        async with locked_in_loop(opened, control.stop, control.note):
            before = len(generated_before(opened, writer))
            written = keep_generated(opened, generated, writer, force=options.force)
    return GenerateResult(
        opened.queries,
        len(written) - before,
        len(generated.rejected),
        len(written),
        max(0, options.queries - len(generated.queries)),
        spent,
        session.selection.price is not None,
        generated.reasons,
        generated.has_failed,
        generated.stopped,
        choice.reasons,
        _counts_by("kind", written),
        generated.given_up,
        generated.without_topic,
        _counts_by(writer.stratify, written),
    )


def _counts_by(key: str, queries: Sequence[Query]) -> dict[str, int]:
    """How many queries have each value of a key of their metadata, the most frequent first."""
    values = [query.metadata.get(key) or "unknown" for query in queries if key]
    return dict(Counter(v for v in values if isinstance(v, str)).most_common())


class _Prepared(NamedTuple):
    """Which passages to ask about, and the session in which the model of a writer can be asked."""

    choice: PassageChoice
    writer: Writer
    session: Session


@asynccontextmanager
async def _prepared(
    collection: Collection,
    options: GenerateOptions,
    control: Control,
    *,
    rehearsal: bool = False,
) -> AsyncIterator[_Prepared]:
    session_options = options.session_of(options.model, options.base_url, rehearsal=rehearsal)
    style = options.asking.style()
    own = find_prompt(options.prompt, "generate") if options.prompt else None
    shares = {} if own else options.asking.shares(style)
    documents = CorpusDocuments(collection.corpus)
    queries = _queries_in(collection.queries)
    takes_two = any(KINDS[kind].passages > 1 for kind in shares)
    search = CorpusSearch.of(collection, control.progress) if takes_two else None
    selection = await select_model("generate", session_options, control)
    async with open_session(selection, documents, collection.store, control) as session:
        prompts = {kind: find_prompt(kind, "generate") for kind in shares}
        writer = Writer(
            own or prompts[next(iter(prompts))],
            session.declared_model,
            cosines,
            options.samples or (EMBEDDED_SAMPLES if selection.is_embedded else 1),
            options.seed,
            retry_failed=options.retry_failed,
            mix=shares,
            prompts=prompts,
            style=style,
            search=search,
            rules=options.filters,
            topic=find_prompt("topic", "topic") if options.asking.topics else None,
            real=(*style.like, *(q.text for q in queries if not _is_generated(q))),
            stratify=options.passages.stratify,
        )
        among = considered(documents, options.seed)
        every = sum(1 for _ in documents) if len(among) >= MOST_CONSIDERED else 0
        if len(among) < every:
            control.note(
                f"{len(among):,} of {every:,} passages may be asked about; the seed decides which"
            )
        yield _Prepared(choose_passages(among, options.seed, options.passages), writer, session)


# Generated queries in a collection: those there are, and new ones beside them.


def generated_before(collection: Collection, writer: Writer) -> list[Query]:
    """The queries that were generated for the collection so far, to go on from.

    Raises `Misuse` where another prompt, model or seed wrote them: two ways of writing do not mix
    in one collection. Kinds that the writer does not write may have had a prompt of their own.
    """
    generated = [q for q in _queries_in(collection.queries) if _is_generated(q)]
    for query in generated:
        kind = str(query.metadata.get("kind") or "")
        origin = writer.origin_of(kind)
        if writer.mix and kind not in writer.shares:
            origin["prompt"] = None
        for what, new in origin.items():
            earlier = query.metadata.get(what, new)
            if new is not None and earlier != new:
                raise Misuse(
                    f"{collection.queries} holds queries that were generated with another {what} "
                    f"({earlier}, not {new}); use a new directory",
                    parameter=what,
                )
    return generated


def _is_generated(query: Query) -> bool:
    return "source" in query.metadata


def _queries_in(path: Path) -> list[Query]:
    return list(read_queries(path).values()) if path.exists() else []


def keep_generated(
    collection: Collection, generated: Generated, writer: Writer, *, force: bool = False
) -> list[Query]:
    """Write the queries beside the collection's own, the rejected ones, and the card.

    Returns all generated queries that the collection has now. Those that are there already stay
    as they are: judgements may depend on them. The collection must be locked.
    """
    earlier = generated_before(collection, writer)
    old = _queries_in(collection.queries)
    # another process may have kept some just now
    passages = {passage_of(query) for query in earlier}
    texts = {query.text.casefold() for query in earlier}
    fresh = [
        query
        for query in generated.queries
        if passage_of(query) not in passages and query.text.casefold() not in texts
    ][: max(0, len(generated.queries) - len(earlier))]
    taken = {query.id for query in old}
    free = (name for n in count(1) if (name := f"q{n}") not in taken)
    written = [replace(query, id=next(free)) for query in fresh]
    write_queries(collection.queries, [*old, *written])
    if fresh or generated.rejected or not collection.rejected.exists():
        with making(collection, [collection.rejected], force=force):
            write_rows(collection.rejected, (each._asdict() for each in generated.rejected))
    entry = {
        **writer.origin,
        "samples": writer.samples,
        "queries": len(earlier) + len(fresh),
        "rejected": len(generated.rejected),
        "mix": dict(writer.shares),
        **({"stratify": writer.stratify} if writer.stratify else {}),
    }
    if fresh:
        update_card(collection, "generate", entry)
    return [*earlier, *written]


def write_heading_queries(collection: Collection, count: int, seed: int) -> None:
    """Write headings of the corpus as the collection's queries, where no model can write any."""
    documents = considered(distinct_documents(collection.corpus), seed)
    with locked(collection):
        write_queries(collection.queries, heading_queries(documents, count, seed))
