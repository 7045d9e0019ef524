"""`build`: documents to qrels: ingest, generate, pool and judge in a row."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from labeler.collection.layout import Collection
from labeler.corpus.file_rules import FileRules
from labeler.corpus.read import LARGEST_FILE
from labeler.exchange.fields import FieldNames
from labeler.judging.session import JudgeOptions
from labeler.models.control import Control
from labeler.models.encoder_options import EncoderOptions
from labeler.models.limits import Limits, Proof
from labeler.models.loop import run_to_end
from labeler.models.settings import AnyModel
from labeler.pipeline.options import BuildOptions
from labeler.pipeline.rehearsal import rehearsal
from labeler.pipeline.result import BuildPlan, BuildResult
from labeler.pipeline.steps import Build
from labeler.queries.asking import Asking
from labeler.queries.filter import FilterRules
from labeler.queries.set_aside import PassageRules


def build(  # noqa: PLR0913  the keywords of a public function are its settings
    inputs: str | Path | Sequence[str | Path],
    out: Collection | Path | str,
    *,
    queries: int = 50,
    queries_file: Path | str | None = None,
    depth: int = 10,
    prompt: str = "",
    model: AnyModel | None = None,
    base_url: str | None = None,
    name: str | None = None,
    seed: int = 0,
    concurrency: int | None = None,
    retry_failed: bool = False,
    redact: bool = False,
    limits: Limits | None = None,
    proof: Proof | None = None,
    control: Control | None = None,
    follow_links: bool = False,
    files: FileRules | None = None,
    force: bool = False,
    fields: FieldNames | None = None,
    asking: Asking | None = None,
    passages: PassageRules | None = None,
    filters: FilterRules | None = None,
    encoder: EncoderOptions | None = None,
) -> BuildResult:
    """Build a collection from documents: corpus, queries, runs, pool, judgements and qrels.

    `BuildOptions` and `JudgeOptions` say what the settings mean. Each step is answered from what is
    there already, so that the same call, made again, goes on where it stopped.

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
    judging = JudgeOptions(
        prompt, model, base_url, name, concurrency, retry_failed, redact, limits or Limits()
    )
    judging = replace(judging, proof=proof or Proof())
    own = Path(queries_file) if queries_file else None
    reading = (LARGEST_FILE, follow_links, files or FileRules(), force, fields or FieldNames())
    generating = (asking or Asking(), passages or PassageRules(), filters or FilterRules())
    asked = (inputs, queries, own, depth, seed, judging, *reading, *generating)
    options = BuildOptions(*asked, encoder or EncoderOptions())
    steps = Build(_as_collection(out), options, control or Control())
    ingested = steps.ingest()
    generated = run_to_end(steps.generate) if steps.writes_queries else None
    run_to_end(steps.encode)
    pooled = steps.pool()
    judged = run_to_end(steps.judge)
    return BuildResult(steps.collection, len(ingested.documents), generated, pooled, judged)


async def abuild(
    out: Collection | Path | str, options: BuildOptions, control: Control | None = None
) -> BuildResult:
    """Build a collection from documents: `build` for callers that are asynchronous."""
    steps = Build(_as_collection(out), options, control or Control())
    stop = steps.control.stop
    ingested = await asyncio.to_thread(steps.ingest)
    generated = await steps.generate(stop) if steps.writes_queries else None
    await steps.encode(stop)
    pooled = await asyncio.to_thread(steps.pool)
    judged = await steps.judge(stop)
    return BuildResult(steps.collection, len(ingested.documents), generated, pooled, judged)


async def aplan_build(options: BuildOptions, control: Control | None = None) -> BuildPlan:
    """What `abuild` would take; asks nothing and writes nothing."""
    with rehearsal(options, control) as steps:
        stop = steps.build.control.stop
        ingested = await asyncio.to_thread(steps.build.ingest)
        generation = await steps.generate(stop) if steps.build.writes_queries else None
        encoding = await asyncio.to_thread(steps.encode)
        pooled = await asyncio.to_thread(steps.build.pool)
        judging = await steps.judge(stop)
    return BuildPlan(len(ingested.documents), generation, pooled.pairs, judging, encoding)


def _as_collection(out: Collection | Path | str) -> Collection:
    return out if isinstance(out, Collection) else Collection(Path(out))
