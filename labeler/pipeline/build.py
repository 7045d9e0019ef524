"""`build`: documents to qrels: ingest, generate, pool and judge in a row."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from labeler.collection.corpus import corpus_lines
from labeler.collection.layout import AnyCollection, Collection
from labeler.collection.queries import read_queries
from labeler.corpus.documents import Ingested
from labeler.corpus.ingest import IngestOptions, ingest
from labeler.judging.job import JudgeResult
from labeler.judging.judge import JudgeOptions, JudgingPlan, ajudge
from labeler.models.encoders import Encoding, EncodingPlan
from labeler.models.policies.call import StopSignal
from labeler.models.session import Control, run_to_end
from labeler.models.settings import WORDLLAMA, EncoderOptions
from labeler.options import COUNT, SEED, Options, given, option
from labeler.pools.pool import PoolResult, pool
from labeler.queries.filter import FilterRules
from labeler.queries.generate import (
    GenerateOptions,
    GenerateResult,
    GenerationPlan,
    agenerate,
    write_heading_queries,
)
from labeler.queries.kinds import Asking
from labeler.queries.set_aside import PassageRules
from labeler.report.result import Result
from labeler.runs.retrieve import BUILT_IN, plan_encoder, texts_to_encode
from labeler.text.bm25 import Bm25Settings

# What a collection is built from, and how.


@dataclass(frozen=True, slots=True)
class BuildOptions(Options):
    """What to build a collection from, and how.

    `inputs` are folders, files and patterns. `queries` are written, unless `queries_file` holds
    some. The first `depth` documents of each run are pooled. `seed` decides which passages are
    asked about. `judging` says who writes the queries and judges, and within which limits, which
    hold for both together. `reading` says which files are read, and how they are cut; with its
    `force` any of the collection's files are replaced, whoever wrote them.
    `asking`, `passages` and `filters` are as `GenerateOptions` says. The encoder and
    BM25 search for the pool.
    """

    inputs: str | Path | Sequence[str | Path] = ()
    queries: int = option(50, "How many queries to write.", COUNT, section="generate", flag=True)
    queries_file: Path | None = option(None, "Your own queries, instead of written ones.")
    depth: int = option(10, "Documents of each run to pool.", COUNT, section="pool", flag=True)
    seed: int = option(0, "Decides which passages are asked about.", SEED, rare=True)
    judging: JudgeOptions = field(default_factory=JudgeOptions)
    reading: IngestOptions = field(default_factory=IngestOptions)
    asking: Asking = field(default_factory=Asking)
    passages: PassageRules = field(default_factory=PassageRules)
    filters: FilterRules = field(default_factory=FilterRules)
    encoder: EncoderOptions = field(default_factory=EncoderOptions)
    bm25: Bm25Settings = field(default_factory=Bm25Settings)

    @property
    def encoding(self) -> Encoding:
        """How documents and queries are encoded."""
        return Encoding(self.encoder, self.judging.limits)

    @property
    def generation(self) -> GenerateOptions:
        """Who writes the queries: the model that judges, unless that one cannot write."""
        judging = self.judging
        writing_model = (
            None if "similarity" in (judging.model, judging.declared.model) else judging.model
        )
        return GenerateOptions(
            self.queries,
            model=writing_model,
            base_url=judging.base_url,
            seed=self.seed,
            redact=judging.redact,
            limits=judging.limits,
            force=self.reading.force,
            concurrency=judging.concurrency,
            retry_failed=judging.retry_failed,
            passages=self.passages,
            filters=self.filters,
            asking=self.asking,
        )


# What a build gave, and what it would take.


@dataclass(frozen=True, eq=False, repr=False)
class BuildResult(Result):
    """What each step of a build gave; `generated` is None where the queries were given."""

    collection: Collection
    documents: int
    generated: GenerateResult | None
    pooled: PoolResult
    judging: JudgeResult

    def as_json(self) -> dict[str, Any]:
        """The results of the steps by name."""
        return self.picked(
            "documents", "generated", "pooled", "judging", collection=self.collection.folder
        )

    def _repr_html_(self) -> str:
        return self.judging._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class BuildPlan(Result):
    """What each step of a build would take; `generation` is None where the queries are given.

    `encoding` is None where no server is asked for vectors.
    """

    documents: int
    generation: GenerationPlan | None
    pairs: int
    judging: JudgingPlan
    encoding: EncodingPlan | None = None


# The steps of a build, one method each.


@dataclass(frozen=True, slots=True)
class Build:
    """The four steps, to be taken in this order; each goes on from what is there already.

    `generate` is left out where the queries are given.
    """

    collection: Collection
    options: BuildOptions
    control: Control = field(default_factory=Control)

    def ingest(self) -> Ingested:
        """Cut the documents into passages."""
        options = self.options
        return ingest(
            options.inputs,
            self.collection,
            options.queries_file,
            options.reading,
            control=self.control,
        )

    async def generate(self, stop: StopSignal) -> GenerateResult:
        """Write the queries; where there are none in the end, nothing can be pooled."""
        control = self.control.with_stop(stop)
        result = await agenerate(self.collection, self.options.generation, control=control)
        if not result.total:
            result.check()
        return result

    async def encode(self, stop: StopSignal) -> None:
        """Ask for the vectors of all texts, where another encoder than the embedded one does."""
        if self.options.encoder.is_served:
            texts, control = texts_to_encode(self.collection), self.control.with_stop(stop)
            await self.options.encoding.aready(self.collection.vectors, texts, control=control)

    def pool(self) -> PoolResult:
        """Retrieve, and pool what the runs find."""
        return pool(
            self.collection,
            depth=self.options.depth,
            control=self.control,
            force=self.options.reading.force,
            encoding=self.options.encoding,
            bm25=self.options.bm25,
        )

    async def judge(self, stop: StopSignal) -> JudgeResult:
        """Judge the pool."""
        control = self.control.with_stop(stop)
        return await ajudge(self.collection, self.options.judging, control=control)


# What a build would take: its steps in a folder that is thrown away. No model is asked. Where
# queries would be written, headings stand in for them, so that there is a pool to count.


async def _planned_queries(steps: Build, stop: StopSignal) -> GenerationPlan:
    """What writing the queries would take; headings take their place."""
    options, control = steps.options, steps.control.with_stop(stop)
    plan = await agenerate(steps.collection, options.generation, control=control).plan()
    write_heading_queries(steps.collection, options.queries, options.seed)
    return plan


async def _planned_judging(
    steps: Build, stop: StopSignal, generation: GenerationPlan | None
) -> JudgingPlan:
    """What judging would take; the first step has found out what the server accepts."""
    options, control = steps.options, steps.control.with_stop(stop)
    plan = await ajudge(steps.collection, options.judging, control=control).plan()
    if generation is None:
        return plan
    calls = plan.calls
    if options.generation.model == options.judging.model:
        calls = replace(calls, needs_probe=False)
    # as many queries as would be written, whose pools are as those of headings, or the largest
    headings = max(1, len(read_queries(steps.collection.queries)))
    queries = min(options.queries, generation.total)
    documents = sum(1 for _ in corpus_lines(steps.collection.corpus))
    largest = queries * min(options.depth * len(BUILT_IN), documents)
    likely, most = queries / headings, max(1.0, largest / max(1, calls.requests))
    return replace(plan, pairs=round(plan.pairs * likely), calls=calls.times(likely, most))


def build(
    inputs: str | Path | Sequence[str | Path],
    out: AnyCollection,
    options: BuildOptions | None = None,
    *,
    control: Control | None = None,
    **settings: Any,
) -> BuildResult:
    """Build a collection from documents: corpus, queries, runs, pool, judgements and qrels.

    `settings` are fields of `BuildOptions`, and of `JudgeOptions` in it. Each step is answered from
    what is there already, so that the same call, made again, goes on where it stopped.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> documents, mine = Path(folder.name, "pets.md"), Path(folder.name, "mine.txt")
    >>> _ = documents.write_text("# Cats\\n\\nA cat sleeps anywhere.\\n")
    >>> _ = mine.write_text("where do cats sleep\\n")
    >>> out = Path(folder.name, "collection")
    >>> build(documents, out, queries_file=mine, model="similarity").judging
    JudgeResult('four-grades-similarity', judged=1 of 1)
    >>> folder.cleanup()
    """
    whole = given(BuildOptions, options, {"inputs": inputs, **settings})
    collection = out if isinstance(out, Collection) else Collection(Path(out))
    return taken(Build(collection, whole, control or Control()))


Run = Callable[[Callable[[StopSignal], Coroutine[Any, Any, Any]]], Any]
"""What runs an asynchronous step to its end."""
Tell = Callable[[object], None]
"""What is told each step's result as soon as it is there."""


def taken(steps: Build, run: Run = run_to_end, tell: Tell = lambda _step: None) -> BuildResult:
    """Take the four steps, and say after each what it gave."""
    tell(ingested := steps.ingest())
    generated = None if steps.options.queries_file else run(steps.generate)
    tell(generated)
    run(steps.encode)
    tell(pooled := steps.pool())
    judged = run(steps.judge)
    return BuildResult(steps.collection, len(ingested.documents), generated, pooled, judged)


def plan_build(
    options: BuildOptions,
    control: Control | None = None,
    run: Run = run_to_end,
    tell: Tell = lambda _step: None,
) -> BuildPlan:
    """What `build` would take; asks nothing and writes nothing."""
    with TemporaryDirectory(prefix="labeler-") as folder:
        embedded = replace(options, encoder=EncoderOptions(WORDLLAMA))
        steps = Build(Collection(Path(folder)), embedded, control or Control())
        tell(ingested := steps.ingest())
        generation = None
        if not options.queries_file:
            generation = run(lambda stop: _planned_queries(steps, stop))
        # what a server would be asked for vectors; the steps here do without
        encoding = plan_encoder(steps.collection, options.encoding)
        tell(steps.pool())
        judging = run(lambda stop: _planned_judging(steps, stop, generation))
    return BuildPlan(len(ingested.documents), generation, judging.pairs, judging, encoding)
