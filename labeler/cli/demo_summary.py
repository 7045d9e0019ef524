"""What the demo shows in the end: files, queries, scores, agreement, and one page of it all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli.output import show
from labeler.cli.screen import caution, note, say
from labeler.errors import LabelerError

if TYPE_CHECKING:
    from labeler.collection.layout import Collection
    from labeler.judging.job import JudgeResult
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
    from labeler.models.local.caveats import MEASURED, NOT_FOR_DECISIONS

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
    from labeler.collection_report.options import ReportOptions
    from labeler.collection_report.report import report_of

    path = collection.folder / PAGE
    try:
        report_of(collection, ReportOptions(qrels=SIMILARITY, measures=MEASURES)).write(path)
    except LabelerError as error:
        note(f"no page: {error}")
        return
    say("\nAll of it on one page, to open in a browser:")
    say(f"  {path.resolve().as_uri()}")
