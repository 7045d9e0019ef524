"""`generate`: let a model write queries that the corpus answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from labeler.collection.claims import MadeFile, claimed
from labeler.collection.corpus import CorpusDocuments, CorpusTexts
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked_in_loop
from labeler.collection.provenance import check_made
from labeler.data import Document, Query
from labeler.models.control import Control
from labeler.models.encoder_options import EncoderOptions
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.limits import Limits
from labeler.models.loop import run_to_end
from labeler.models.session import Session, SessionOptions, open_session, select_model
from labeler.models.settings import AnyModel
from labeler.prompt import find_prompt
from labeler.queries.asking import Asking
from labeler.queries.considered import considered
from labeler.queries.filter import FilterRules
from labeler.queries.keep import generated_before, keep_generated, real_queries
from labeler.queries.kinds import KINDS, UNANSWERABLE, Mix, mix_text
from labeler.queries.plan import planned
from labeler.queries.result import GenerateResult, GenerationPlan
from labeler.queries.round_trip import flag_round_trips, search_of_new
from labeler.queries.set_aside import PassageRules
from labeler.queries.strata import PassageChoice, choose_passages
from labeler.queries.writing.search import CorpusSearch
from labeler.queries.writing.write import closeness, generate_queries
from labeler.queries.writing.writer import FurtherPrompts, Writer
from labeler.text.terms import text_to_search
from labeler.text.vectors import Encoder, can_encode, encode

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

    queries: int = 50
    prompt: str = ""
    model: AnyModel | None = None
    base_url: str | None = None
    samples: int | None = None
    seed: int = 0
    redact: bool = False
    limits: Limits = field(default_factory=Limits)
    force: bool = False
    concurrency: int | None = None
    retry_failed: bool = False
    passages: PassageRules = field(default_factory=PassageRules)
    filters: FilterRules = field(default_factory=FilterRules)
    asking: Asking = field(default_factory=Asking)
    encoder: EncoderOptions = field(default_factory=EncoderOptions)

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


def generate(  # noqa: PLR0913  the keywords of a public function are its settings
    collection: Collection | Path | str,
    *,
    queries: int = 50,
    prompt: str = "",
    model: AnyModel | None = None,
    base_url: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    redact: bool = False,
    limits: Limits | None = None,
    control: Control | None = None,
    force: bool = False,
    concurrency: int | None = None,
    retry_failed: bool = False,
    passages: PassageRules | None = None,
    filters: FilterRules | None = None,
    mix: str | Mapping[str, float] = "",
    language: str = "",
    personas: Path | str | None = None,
    like: Path | str | None = None,
    topics: bool = True,
    encoder: EncoderOptions | None = None,
) -> GenerateResult:
    """Write queries that the corpus answers; `GenerateOptions` and `Asking` say what is meant.

    `mix` may be a dict, too, of kinds and their shares.
    The same call, made again, asks nothing; with more `queries` it goes on from those there are.

    >>> from labeler.testing import fake_model, small_collection
    >>> llm = fake_model(lambda request: f"how do they {request.messages[-1].content.split()[-1]}")
    >>> generate(small_collection(), queries=1, model=llm, topics=False).written
    1
    """
    asking = Asking(
        *(mix_text(mix), language),
        *(Path(personas) if personas else None, Path(like) if like else None),
        topics=topics,
    )
    options = GenerateOptions(
        *(queries, prompt, model, base_url, samples, seed, redact),
        *(limits or Limits(), force, concurrency, retry_failed),
        *(passages or PassageRules(), filters or FilterRules(), asking),
        encoder or EncoderOptions(),
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
        choice, session, writer = prepared.choice, prepared.session, prepared.writer
        async with locked_in_loop(opened, control.stop, control.note):
            already = tuple(generated_before(opened, writer))
            stack.enter_context(claimed(_queries_made(opened, writer)))
        writer = replace(writer, already=already)
        with control.progress("writing queries") as advance:
            generated = await generate_queries(
                choice.passages, writer, options.queries, session.at_once, advance
            )
        encoding = None if options.encoder.is_embedded else options.encoding
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
    if not (options.encoder.is_embedded or session_options.rehearsal):
        texts = EncoderTexts(CorpusTexts(collection.corpus))
        encoder = await options.encoding.aready(collection.vectors, texts, control)
    async with open_session(selection, documents, collection.store, control) as session:
        prompts = {kind: find_prompt(KINDS[kind].prompt_name, "generate") for kind in shares}
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
