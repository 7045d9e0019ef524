"""`labeler demo`: a small collection, built, judged and measured on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli.corpus import note_ingested
from labeler.cli.model_options import MODEL_FILE
from labeler.cli.options import FORCE, OUT_FOLDER
from labeler.cli.output import show
from labeler.cli.pool import note_pooled
from labeler.cli.process import run_until_stopped
from labeler.cli.progress import control_of
from labeler.cli.reporting import note_generated, show_judging
from labeler.cli.screen import caution, note, progress, say
from labeler.errors import LabelerError, Misconfigured, Misuse
from labeler.options import COUNT, REQUIRED, option

if TYPE_CHECKING:
    from labeler.collection.layout import Collection
    from labeler.judging.job import JudgeResult
    from labeler.pipeline.build import Build
    from labeler.report.charts import Drawing

MEASURES = ("nDCG@5", "P@5", "RR@5")
STATISTICS = ("agreement", "kappa", "kappa-quadratic")
LLM = "four-grades-local"
SIMILARITY = "similarity"
PAGE = "report.html"


def summary(collection: Collection, results: dict[str, JudgeResult]) -> None:
    """Print what there is now: files, queries, scores, agreement, cost, and what to do next."""
    say_files(collection)
    say_queries(collection)
    say_scores(collection, SIMILARITY)
    if LLM in results:
        say_agreement(collection)
    say_cost(results)
    say_next(collection)


def say_files(collection: Collection) -> None:
    """Print which files there are."""
    from labeler.report.table import Column, Table

    say("\nThe collection")
    rows = [
        (str(collection.folder / "documents"), "the documents"),
        (str(collection.corpus), "their passages"),
        (str(collection.queries), "the queries, each with the passage that it was written from"),
        (str(collection.folder / "runs"), "what each system retrieved, as TREC runs"),
        (str(collection.pool), "the pairs that were judged"),
        (str(collection.folder / "judgements"), "every judgement, with its tokens and its prompt"),
        (str(collection.folder / "qrels"), "the grades, as TREC qrels"),
        (str(collection.store), "the models' replies: nothing is asked twice"),
    ]
    show([Table("files", [Column(name, align="left") for name in ("path", "what")], rows)])


def say_queries(collection: Collection) -> None:
    """The queries, and the passage that each was written from."""
    from labeler.collection.corpus import read_corpus
    from labeler.collection.queries import read_queries
    from labeler.report.table import Column, Table

    documents, queries = read_corpus(collection.corpus), read_queries(collection.queries)
    say("\nThe queries")
    rows = []
    for query in queries.values():
        source = documents.get(query.metadata["source"][0]["doc_id"])
        rows.append((query.id, query.text, source.title if source else ""))
    columns = [
        Column("query", align="left"),
        Column("text", align="left"),
        Column("written from", align="left", widest=60),
    ]
    show([Table("queries", columns, rows)])
    if any(query.metadata["origin"] == "heading" for query in queries.values()):
        say("These are headings of the documents (origin: heading): no model could write any.")


def say_scores(collection: Collection, name: str) -> None:
    """The systems' scores by the grades of one assessor."""
    from labeler.evaluation.evaluate import evaluate
    from labeler.evaluation.plot import score_drawings

    report = evaluate(collection.qrels(name), collection, MEASURES)
    for finding in report.findings:
        caution(finding)
    say(f"\nScores of three systems, by the grades of {name}")
    show(report.tables()[:1])
    if name == SIMILARITY:
        say("(similarity grades by the vectors of dense and the terms of bm25: it favors both.)")
    draw(collection.folder / "scores.svg", score_drawings(report))


def say_agreement(collection: Collection) -> None:
    """How far the two assessors agree, and why nobody should trust either."""
    from labeler.agreement.agree import AgreeOptions, agree_all
    from labeler.agreement.compare import StatisticOptions
    from labeler.agreement.plot import agreement_drawings
    from labeler.agreement.shown import confusion_table, statistics_table
    from labeler.agreement.sources import open_sources
    from labeler.models.embedded import MEASURED, NOT_FOR_DECISIONS

    sources = open_sources([str(collection.folder), SIMILARITY, LLM])
    (report,) = agree_all(sources, AgreeOptions(statistics=StatisticOptions(STATISTICS)))
    agreement = report.agreement
    pairs = f"{agreement.pairs} pairs drawn from the pool"
    say(f"\nHow far two assessors agree on {pairs} ({SIMILARITY} in rows, {LLM} in columns)")
    show([confusion_table(agreement, SIMILARITY, LLM, {}), statistics_table(agreement)])
    for assessor, measured in MEASURED.items():
        say(f"{assessor}: {measured}")
    say(f"So neither is to be trusted: {NOT_FOR_DECISIONS}.")
    draw(collection.folder / "agreement.svg", agreement_drawings([report]))


def draw(path: Path, drawings: Sequence[Drawing]) -> None:
    """Draw charts, where nothing else stands there."""
    from labeler.collection.user_files import Output

    try:
        Output(path).draw(drawings)
    except LabelerError as error:
        note(f"no picture: {error}")
        return
    say(f"As a picture: {path}")


def say_cost(results: dict[str, JudgeResult]) -> None:
    """What was asked, and what it cost."""
    from labeler.report.table import Column, Table

    say("\nThe judging")
    columns = [
        Column("assessor", align="left"),
        Column("pairs judged"),
        Column("from the store"),
        Column("tokens read", format=","),
        Column("cost (USD)"),
    ]
    tallies = {name: result.tally for name, result in results.items()}
    rows = [
        (name, f"{t.judged}/{t.pairs}", t.remembered, t.prompt_tokens, 0)
        for name, t in tallies.items()
    ]
    show([Table("judging", columns, rows)])
    failed = sum(result.failed for result in results.values())
    if failed:
        say(f"{failed} pairs have no grade; a failure is listed in judgements/, never graded 0.")


def say_next(collection: Collection) -> None:
    """What to run next."""
    say("\nNext, on your own documents")
    say("  labeler build DOCUMENTS/ -o my-collection/ --queries 50")
    say("  labeler judge my-collection/ --model gpt-4.1-mini      with OPENAI_API_KEY set")
    say(f"  labeler agree {collection.folder} {SIMILARITY} {LLM}")


def say_page(collection: Collection) -> None:
    """Put all of it on one page, and say where that lies."""
    from labeler.collection_report.contents import ReportOptions
    from labeler.collection_report.report import report_of

    path = collection.folder / PAGE
    try:
        report_of(collection, ReportOptions(qrels=SIMILARITY, measures=MEASURES)).write(path)
    except LabelerError as error:
        note(f"no page: {error}")
        return
    say("\nAll of it on one page, to open in a browser:")
    say(f"  {path.resolve().as_uri()}")


DEPTH = 5
QUESTION = "how do I sort a list by a key"
FIRST = 3
SAMPLED_PER_QUERY = 3
"""Pairs a query that the LLM judges: so few that the demo ends soon, enough to see the path."""


def command(
    out: Path = option(REQUIRED, OUT_FOLDER),
    model: str | None = option(None, "local, the embedded LLM, and no other."),
    model_file: Path | None = option(None, MODEL_FILE),
    queries: int = option(8, "How many queries to write.", COUNT),
    force: bool = option(False, FORCE),
) -> None:
    """Build, judge and measure a small collection, offline.

    Its documents are Python's own documentation.
    """
    from labeler.collection.layout import Collection
    from labeler.corpus.ingest import IngestOptions
    from labeler.corpus.python_docs import write_python_documents
    from labeler.judging.judge import JudgeOptions
    from labeler.pipeline.build import Build, BuildOptions
    from labeler.text.vectors import DENSE_EXTRA, can_encode

    if model not in {None, "local"}:
        raise Misuse("the demo runs offline: --model local; for another model: labeler build")
    own = model_file or Path(os.environ.get("LABELER_MODEL_FILE") or os.devnull)
    llm = f"gguf:{own}" if own.is_file() else "local"
    if not can_encode():
        raise Misconfigured(DENSE_EXTRA)
    started, collection = time.monotonic(), Collection(out)
    say_step(1, "documents: Python's own documentation")
    documents = write_python_documents(
        collection.folder / "documents", force=force or collection.card.exists()
    )
    judging, reading = JudgeOptions(model=llm), IngestOptions(force=force)
    asked = BuildOptions(str(documents), queries, depth=DEPTH, judging=judging, reading=reading)
    steps = Build(collection, asked, control_of())
    note_ingested(steps.ingest())
    say_first_look(collection)
    has_llm = llm != "local" or can_ask_llm()
    say_step(2, "queries" + ("" if has_llm else ": headings, since no model can write any"))
    make_queries(steps, has_llm)
    say_step(3, "retrieval by BM25, by dense vectors and by their fusion, and a pool")
    pooled = steps.pool()
    note_pooled(pooled)
    drawn = min(sample_of(steps), pooled.pairs)
    sample = f", then {drawn} drawn pairs by the embedded LLM with four-grades"
    say_step(4, "judging: similarity" + (sample if has_llm else ""))
    results = {SIMILARITY: judge(steps, SIMILARITY, SIMILARITY)}
    if has_llm:
        results[LLM] = judge_sample(steps)
    summary(collection, results)
    say(
        f"\nthis took {time.monotonic() - started:.0f} s; the same again is answered from the store"
    )
    say_page(collection)


def say_step(number: int, what: str) -> None:
    """Say where in the demo we are."""
    note(f"== {number}/4 {what}")


def say_first_look(collection: Collection) -> None:
    """What three systems retrieve for one question, before any model has been asked."""
    from labeler.collection.corpus import read_corpus
    from labeler.data import Query
    from labeler.report.table import Column, Table
    from labeler.runs.retrieve import retrieve
    from labeler.trec.runs import ranking

    documents = read_corpus(collection.corpus)
    runs = retrieve(documents, {"q": Query("q", QUESTION)})
    columns = [Column("rank"), *(Column(name, align="left", widest=40) for name in runs)]
    ranked = [ranking(run.get("q", {}))[:FIRST] for run in runs.values()]
    titles = zip(*([documents[doc].title for doc in docs] for docs in ranked), strict=False)
    say(f"\nWhat three systems find for: {QUESTION}")
    show([Table("found", columns, [[n, *row] for n, row in enumerate(titles, start=1)])])
    say("Which of them is best? That is what a test collection tells.\n")


def can_ask_llm() -> bool:
    """Whether the embedded LLM is here, or could be fetched; says in one line why not."""
    from labeler.models.local.serve import LOCAL_EXTRA, can_serve, fetch_model, model_path

    try:
        if not can_serve():
            raise Misconfigured(LOCAL_EXTRA)
        if model_path() is None:
            with progress("fetching the model") as advance:
                fetch_model(advance, note)
    except LabelerError as error:
        note(f"going on without an LLM: {error}")
        return False
    return True


def make_queries(steps: Build, has_llm: bool) -> None:
    """Let the embedded LLM write queries; headings take their place where there is none."""
    from labeler.queries.keep import write_heading_queries

    if has_llm:
        note_generated(run_until_stopped(steps.generate), steps.options.queries)
    elif not steps.collection.queries.exists():
        write_heading_queries(steps.collection, steps.options.queries, seed=0)


def judge(steps: Build, model: str, name: str) -> JudgeResult:
    """Judge the pool under a name, and print what was done."""
    judging = replace(steps.options.judging, model=model, name=name)
    result = run_until_stopped(
        replace(steps, options=replace(steps.options, judging=judging)).judge
    )
    show_judging(result)
    return result


def sample_of(steps: Build) -> int:
    """How many pairs the LLM judges, where the pool has so many."""
    return SAMPLED_PER_QUERY * steps.options.queries


def judge_sample(steps: Build) -> JudgeResult:
    """Let the LLM judge some pairs of the pool, drawn by chance, and print what was done."""
    from labeler.judging.judge import ajudge_sample

    judging = replace(steps.options.judging, name=LLM)
    control, pairs = steps.control, sample_of(steps)
    result = run_until_stopped(
        lambda stop: ajudge_sample(steps.collection, pairs, judging, control.with_stop(stop))
    )
    show_judging(result)
    return result
