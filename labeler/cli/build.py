"""`labeler build`: documents to qrels in one go; `labeler demo`: the same with our documents."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from labeler.cli.corpus import note_ingested
from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import FORCE, OUT_FOLDER, OnScreen, argument
from labeler.cli.output import show, warn
from labeler.cli.pool import note_pooled
from labeler.cli.process import run_until_stopped
from labeler.cli.reporting import (
    check_complete,
    control_of,
    note_generated,
    show_generation_plan,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.screen import note, progress, say
from labeler.collection.layout import Collection
from labeler.corpus.documents import Ingested
from labeler.errors import LabelerError, Misconfigured
from labeler.messages import count_of
from labeler.options import COUNT, REQUIRED, option
from labeler.pipeline.build import Build, BuildOptions, BuildPlan, BuildResult, plan_build, taken
from labeler.pools.pool import PoolResult
from labeler.queries.generate import GenerateResult


def command(
    inputs: Annotated[
        list[str],
        argument("Folders, files or patterns, as ingest takes.", "INPUT..."),
    ],
    out: Path = option(REQUIRED, OUT_FOLDER),
    *,
    options: BuildOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: OnScreen,
) -> None:
    """Build a collection from documents, with queries and judgements.

    It is ingest, generate, pool and judge in one: corpus, queries, runs, pool, judgements, qrels.
    """
    reading = replace(options.reading, force=to.force)
    asked, control = (
        replace(options, inputs=inputs, reading=reading, judging=who.asking(options.judging)),
        control_of(flags),
    )
    if flags.dry_run:
        plan = plan_build(asked, control, run_until_stopped, lambda step: _tell(step, asked, True))
        show_outcome(plan, _show_plan, to)
        return
    steps = Build(Collection(out), asked, control)
    built = taken(steps, run_until_stopped, lambda step: _tell(step, asked))
    show_outcome(built, _show, to)
    check_complete(built.judging)
    if built.generated:
        built.generated.check()


def _tell(step: object, asked: BuildOptions, is_rehearsal: bool = False) -> None:
    """Say what a step gave."""
    if isinstance(step, Ingested):
        note_ingested(step)
    elif isinstance(step, GenerateResult):
        note_generated(step, asked.queries)
    elif isinstance(step, PoolResult) and is_rehearsal:
        note(f"a pool of about {count_of(step.pairs, 'pair')} of {count_of(step.queries, 'query')}")
    elif isinstance(step, PoolResult):
        note_pooled(step)


def _show(built: BuildResult) -> None:
    show_judging(built.judging)
    say(f"\nnext: labeler evaluate {built.collection.folder}")


def _show_plan(plan: BuildPlan) -> None:
    if plan.generation:
        say("# writing queries")
        show_generation_plan(plan.generation)
        say("\n# judging, estimated with headings in the queries' place")
    if plan.encoding:
        say(f"vectors     {plan.encoding}")
    show_judging_plan(plan.judging)


DEMO_MEASURES = ("nDCG@5", "P@5", "RR@5")
LLM = "four-grades-local"
SIMILARITY = "similarity"
PAGE = "report.html"


def say_page(collection: Collection) -> None:
    """Put all of it on one page, and say where that lies."""
    from labeler.collection_report.contents import ReportOptions
    from labeler.collection_report.report import report_of

    path = collection.folder / PAGE
    try:
        report_of(collection, ReportOptions(qrels=SIMILARITY, measures=DEMO_MEASURES)).write(path)
    except LabelerError as error:
        note(f"no page: {error}")
        return
    say("\nAll of it on one page, to open in a browser:")
    say(f"  {path.resolve().as_uri()}")


DEMO_DEPTH = 5
SAMPLED = 3
"""Pairs that the LLM judges: enough to see the path, as its grades are worth nothing."""


def demo(
    out: Path = option(REQUIRED, OUT_FOLDER),
    queries: int = option(8, "How many queries to write.", COUNT),
    force: bool = option(False, FORCE),
) -> None:
    """Build, judge and measure a small collection, offline.

    Its documents are Python's own documentation.
    """
    from labeler.corpus.ingest import IngestOptions
    from labeler.corpus.python_docs import write_python_documents
    from labeler.judging.judge import JudgeOptions
    from labeler.queries.generate import write_heading_queries
    from labeler.queries.kinds import Asking
    from labeler.text.terms import DENSE_EXTRA, can_encode

    if not can_encode():
        raise Misconfigured(DENSE_EXTRA)
    started, collection = time.monotonic(), Collection(out)
    note("== 1/4 documents: Python's own documentation")
    documents = write_python_documents(
        collection.folder / "documents", force=force or collection.card.exists()
    )
    asked = BuildOptions(
        str(documents),
        queries,
        depth=DEMO_DEPTH,
        judging=JudgeOptions(model="local"),
        reading=IngestOptions(force=force),
        asking=Asking(topics=False),  # each would take as long as a query
    )
    steps = Build(collection, asked, control_of())
    note_ingested(steps.ingest())
    note("== 2/4 a first table: headings as queries, graded by similarity")
    write_heading_queries(collection, queries, seed=0)
    measure(steps)
    if can_ask_llm():
        note("== 3/4 the same with queries that the embedded LLM writes")
        for path in (collection.queries, collection.pool):  # of the headings
            path.unlink()
        note_generated(run_until_stopped(steps.generate), queries)
        pooled = measure(steps)
        note("== 4/4 a few pairs graded by the embedded LLM, with four-grades")
        judge_sample(steps, min(SAMPLED, pooled.pairs))
    say("\nNext, on your own documents")
    say("  labeler build DOCUMENTS/ -o my-collection/ --queries 50")
    say("  labeler judge my-collection/ --model gpt-4.1-mini      with OPENAI_API_KEY set")
    seconds = round(time.monotonic() - started)
    say(f"\nthis took {seconds} s; the same again is answered from the store")
    say_page(collection)


def can_ask_llm() -> bool:
    """Whether the embedded LLM is here, or could be fetched; says in one line why not."""
    from labeler.models.embedded import EMBEDDED, fetch_model
    from labeler.models.local.serve import LOCAL_EXTRA, can_serve

    try:
        if not can_serve():
            raise Misconfigured(LOCAL_EXTRA)
        if not EMBEDDED.is_here:
            with progress("fetching the model") as advance:
                fetch_model(advance, note)
    except LabelerError as error:
        note(f"going on without an LLM: {error}")
        return False
    return True


def measure(steps: Build) -> PoolResult:
    """Retrieve, pool and judge by similarity, and print the systems' scores."""
    from labeler.evaluation.evaluate import evaluate

    note_pooled(pooled := steps.pool())
    judging = replace(steps.options.judging, model=SIMILARITY, name=SIMILARITY)
    by_similarity = replace(steps, options=replace(steps.options, judging=judging))
    show_judging(run_until_stopped(by_similarity.judge))
    collection = steps.collection
    report = evaluate(collection.qrels(SIMILARITY), collection, DEMO_MEASURES)
    warn(report.findings)
    say(f"\nScores of three systems, by the grades of {SIMILARITY}")
    show(report.tables()[:1])
    say("(similarity compares vectors, as dense does, and terms, as bm25 does: it favors both.)")
    return pooled


def judge_sample(steps: Build, pairs: int) -> None:
    """Let the LLM judge some pairs of the pool, drawn by chance; say what that is worth."""
    from labeler.judging.judge import ajudge_sample
    from labeler.models.embedded import MEASURED, NOT_FOR_DECISIONS

    judging, control = replace(steps.options.judging, name=LLM), steps.control
    result = run_until_stopped(
        lambda stop: ajudge_sample(
            steps.collection, pairs, judging, control=control.with_stop(stop)
        )
    )
    show_judging(result)
    say()
    for assessor, measured in MEASURED.items():
        say(f"{assessor}: {measured}")
    say(f"So neither is to be trusted: {NOT_FOR_DECISIONS}.")
