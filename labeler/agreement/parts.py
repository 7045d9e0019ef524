"""What is shown of an agreement, in order: sentences first, then tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from labeler.agreement.assessor_report import AssessorReport
from labeler.agreement.baseline.shown import baseline_sentence, baseline_table
from labeler.agreement.overview import baseline_sentences, overview
from labeler.agreement.plan import in_words
from labeler.agreement.sentences import heading, left_out_lines, short, summary, whom
from labeler.agreement.several.tables import alternative_table
from labeler.agreement.tables import (
    ceiling_table,
    confusion_table,
    detail_tables,
    differences_table,
    joint_tables,
    leaderboard_table,
    queries_table,
    statistics_table,
)
from labeler.report.table import Table

WORST = 5
"""So many of the queries with the most disagreement are shown."""

Part = str | Table


def report_parts(
    report: AssessorReport,
    scale_names: Mapping[int, str],
    texts: Mapping[str, str],
    *,
    details: bool = False,
) -> Iterator[Part]:
    """One assessor beside the human grades; `texts` are the queries'."""
    agreement = report.agreement
    yield "\n".join([heading(report), *summary(report), *left_out_lines(report)])
    if agreement.pairs:
        yield statistics_table(agreement)
        names = short(report.human), short(report.assessor)
        yield confusion_table(agreement, *names, scale_names)
        if report.baseline is not None:
            yield baseline_sentence(report.baseline, report.assessor, report.human)
            yield baseline_table(report.baseline, report.assessor)
        yield from _worst_queries(report, texts)
    if details:
        yield from detail_tables(report.details, texts, whom(report.human))
    if report.board is not None:
        yield leaderboard_table(report.board, (short(report.human), short(report.assessor)))
    yield from map(ceiling_table, report.ceilings)
    if report.alternative is not None:
        yield alternative_table(report.alternative)
    if report.plans:
        yield "\n".join(map(in_words, report.plans))


def _worst_queries(report: AssessorReport, texts: Mapping[str, str]) -> Iterator[Table]:
    queries = report.details.queries
    worst = list(islice((row for row in queries if row.mae > 0), WORST))
    if worst and len(queries) > 1:
        pairs = "pairs, weighted" if report.agreement.is_weighted else "pairs"
        yield queries_table(worst, texts, "most disagreement", pairs)


def joint_parts(reports: Sequence[AssessorReport]) -> Iterator[Part]:
    """The assessors beside one another: differences from the first, then all of them together."""
    yield from (differences_table(report) for report in reports if report.against is not None)
    if reports[0].joint is not None:
        yield from joint_tables(reports[0].joint)


def overview_parts(
    reports: Sequence[AssessorReport], statistics: Sequence[str] | None = None
) -> Iterator[Part]:
    """Several assessors in a row each, then two beside one another, then all together.

    `statistics` are those that were asked for.
    """
    yield from overview(reports, statistics)
    if sentences := baseline_sentences(reports):
        yield "\n".join(sentences)
    for report in reports:
        yield from map(ceiling_table, report.ceilings)
        if report.alternative is not None:
            yield alternative_table(report.alternative)
        if report.plans:
            yield "\n".join([short(report.assessor), *map(in_words, report.plans)])
    if len(reports) == 2:
        yield from (differences_table(r) for r in reports if r.against is not None)
    if reports[0].joint is not None:
        yield from joint_tables(reports[0].joint, pairwise=False)


def statistics_of_all(
    reports: Sequence[AssessorReport], statistics: Sequence[str] | None = None
) -> Table:
    """The one table for programs: an assessor's statistics, or a row for each of several.

    `statistics` are those that were asked for.
    """
    if len(reports) == 1:
        return statistics_table(reports[0].agreement)
    return overview(reports, statistics)[1]
