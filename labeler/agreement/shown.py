"""What is shown of an agreement, in order: sentences first, then tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from labeler.agreement.calibration import Calibration
from labeler.agreement.compare import Agreement
from labeler.agreement.overview import (
    grade_name,
    heading,
    left_out_lines,
    overview,
    short,
    summary,
)
from labeler.agreement.plan import in_words
from labeler.agreement.report import AssessorReport, ClassFigures, Details, QueryFigures
from labeler.agreement.several.alternative import AlternativeTest
from labeler.agreement.several.joint import JOINT, Ceiling, JointAgreement
from labeler.report.table import Cell, Column, Ends, Interval, Row, Table, interval_text, table_of

# What is known of assessors beside human grades, as tables.

WIDEST = 50
"""So many columns of a terminal are given to a query's id and text."""


def _value(name: str, title: str = "", *, ends: str = "") -> Column:
    return Column(name, title, format=".3f", ends=ends, undefined="undefined")


JOINT_NAMES = (*JOINT, "icc")
VALUE = _value("value")
ENDS = Column("", "95 % interval", format="", ends=".3f")


def statistics_table(agreement: Agreement) -> Table:
    """Each statistic with its interval; those at cuts that no pair lies beyond are left out.

    Where pairs are missing, also what the value would be if the assessor had graded them, all as
    people did or all differently.
    """
    missing = agreement.left_out.missing.sum() > 0
    columns = [Column("statistic", align="left"), VALUE, ENDS]
    if missing:
        columns += [_value("if missing agree"), _value("if they differ")]
    rows: list[Row] = []
    for name, e in agreement.statistics.items():
        if name not in agreement.unused:
            row: list[Cell] = [name, e.value, Ends(e.low, e.high)]
            filled = agreement.scenarios[name]
            row += [filled.all_agree, filled.all_differ] if missing else []
            rows.append(row)
    return Table("statistics", columns, rows)


def confusion_table(
    agreement: Agreement, human: str, assessor: str, names: Mapping[int, str]
) -> Table:
    """Human grades in rows, the assessor's in columns; people also see the shares of a row."""
    columns = [
        Column("grade", only="programs"),
        Column("named", f"{human} \\ {assessor}", align="left", only="people"),
    ]
    for grade in agreement.scale:
        columns.append(Column(str(grade), only="programs"))
        columns.append(Column(str(grade), only="people"))
    rows: list[Row] = []
    for grade, counts in zip(agreement.scale, agreement.confusion.tolist(), strict=True):
        total = sum(counts)
        cells: list[Cell] = [grade, grade_name(grade, names)]
        for count in counts:
            share = f"{count:,.0f} ({count / total:4.0%})" if total else "0"
            cells += [_whole(count), share]
        rows.append([*cells, _whole(total)])
    return Table("confusion", [*columns, Column("all", format=",.0f")], rows)


def _whole(count: float) -> float:
    """A count as an integer; a weighted one as it is."""
    return int(count) if count == round(count) else count


def queries_table(
    rows: Iterable[QueryFigures],
    texts: Mapping[str, str],
    title: str = "query",
    pairs: str = "pairs",
) -> Table:
    """Each query's pairs, share of equal grades, mean error and bias."""
    columns = [
        Column("query_id", only="programs"),
        Column("query", title, align="left", widest=WIDEST, only="people"),
        Column("pairs", pairs, format=",.0f"),
        Column("agreement", format=".2f"),
        Column("mae", "mean error", format=".2f"),
        Column("bias", format="+.2f"),
    ]
    cells: list[Row] = [
        [q.query_id, _id_and_text(q.query_id, texts), q.pairs, q.agreement, q.mae, q.bias]
        for q in rows
    ]
    return Table("queries", columns, cells)


def _id_and_text(query_id: str, texts: Mapping[str, str]) -> str:
    return " ".join([query_id, *texts.get(query_id, "").split()])


def detail_tables(details: Details, texts: Mapping[str, str]) -> Iterator[Table]:
    """By class, by query, and the calibration at each cut."""
    yield table_of("classes", ClassFigures, details.classes)
    yield queries_table(details.queries, texts)
    yield from map(calibration_table, details.calibration)


def calibration_table(calibration: Calibration) -> Table:
    """How often what an assessor called likely came true, by how likely it called it."""
    columns = [
        Column("bin", "said", align="left"),
        Column("pairs", format=","),
        _value("probability", "said on average"),
        _value("came true"),
    ]
    rows: list[Row] = [
        [f"{b.low:.1f} to {b.high:.1f}", b.pairs, b.probability, b.true] for b in calibration.bins
    ]
    title = (
        f"calibration of 'at least {calibration.cut}': {calibration.pairs:,} pairs, expected "
        f"calibration error {interval_text(calibration.interval)}, Brier score "
        f"{calibration.brier:.3f}"
    )
    return Table("calibration", columns, rows, title)


def ceiling_table(ceiling: Ceiling) -> Table:
    """Each person beside the assessor, against the same other people."""
    columns = [
        Column("left out", align="left"),
        _value("this person"),
        _value("the assessor"),
        _value("difference", ends=".3f"),
    ]
    rows: list[Row] = [
        [row.person, row.persons, row.assessors, Interval(row.difference, row.low, row.high)]
        for row in (*ceiling.people, ceiling.overall)
    ]
    head = f"ceiling by {ceiling.statistic}, {ceiling.pairs:,} pairs that all graded"
    return Table("ceiling", columns, rows, f"{head}: {ceiling.verdict}")


def differences_table(report: AssessorReport) -> Table:
    """The assessor's statistics less those of the first one, with verdicts."""
    names = short(report.assessor), short(report.against or "")
    columns = [
        Column("statistic", align="left"),
        _value("first", names[0]),
        _value("second", names[1]),
        _value("difference", ends=".3f"),
        Column("verdict", only="programs"),
        Column("verdict", only="people"),
    ]
    rows: list[Row] = [
        [d.statistic.name, d.first, d.second, d, d.verdict, closer(d.verdict, names)]
        for d in report.differences
    ]
    count = f"; verdicts allow for {len(rows)} statistics" if len(rows) > 1 else ""
    title = f"{names[0]} less {names[1]}, on common pairs{count}"
    return Table("differences", columns, rows, title)


def closer(verdict: str, names: tuple[str, str]) -> str:
    """A verdict with the assessor's name in place of its number."""
    which, space, rest = verdict.partition(" is ")
    return f"{names[which == 'second']}{space}{rest}" if space else verdict


def joint_table(joint: JointAgreement) -> Table:
    """What people have among themselves, and what the others have."""
    named = (("people", "people", joint.people), ("others", "assessors", joint.others))
    groups = {key: (f"{len(of.raters)} {noun}", of.statistics) for key, noun, of in named if of}
    columns = [_value(key, title, ends=".3f") for key, (title, _) in groups.items()]
    rows: list[Row] = [
        [name, *(statistics[name] for _, statistics in groups.values())] for name in JOINT_NAMES
    ]
    whose = " and ".join(f"the {title}" for title, _ in groups.values())
    first = Column("statistic", align="left")
    return Table("joint", [first, *columns], rows, f"{whose} among themselves")


def alternative_table(test: AlternativeTest) -> Table:
    """Each person beside the assessor: who has the advantage how often, and whether it wins."""
    columns = [
        Column("left out", align="left"),
        Column("pairs"),
        _value("this person"),
        _value("the assessor"),
        Column("difference", format="+.3f", ends="+.3f"),
        Column("p", format=".2g"),
        Column("p over pairs", format=".2g"),
        Column("it wins", align="left"),
    ]
    rows: list[Row] = [
        [
            *(row.person, row.pairs, row.persons, row.assessors),
            Interval(row.difference, row.low, row.high),
            *(row.p, row.p_pairs, "yes" if row.wins else "not shown"),
        ]
        for row in test.people
    ]
    title = "alternative annotator test: shares of pairs in which one is as close to the others"
    mean = f"mean advantage of the assessor {interval_text(test.advantage)}"
    return Table("alternative", columns, rows, title, note=f"{mean}; {test.verdict}")


SHOWN_SWAPS = 10
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
        worst = [row for row in report.details.queries[:WORST] if row.mae > 0]
        if worst and len(report.details.queries) > 1:
            pairs = "pairs, weighted" if agreement.is_weighted else "pairs"
            yield queries_table(worst, texts, "most disagreement", pairs)
    if details:
        yield from detail_tables(report.details, texts)
    if report.board is not None:
        yield from report.board.tables(SHOWN_SWAPS)
    yield from _beside_people(report)


def _beside_people(report: AssessorReport, *heading: str) -> Iterator[Part]:
    """The ceilings, the alternative annotator test, and how many more grades it would take."""
    yield from map(ceiling_table, report.ceilings)
    if report.alternative is not None:
        yield alternative_table(report.alternative)
    if report.plans:
        yield "\n".join([*heading, *map(in_words, report.plans)])


def joint_parts(reports: Sequence[AssessorReport]) -> Iterator[Part]:
    """The assessors beside one another: differences from the first, then all of them together."""
    yield from (differences_table(report) for report in reports if report.against is not None)
    joint = reports[0].joint
    if joint is not None and (joint.people or joint.others):
        yield joint_table(joint)


def overview_parts(
    reports: Sequence[AssessorReport], statistics: Sequence[str] | None = None
) -> Iterator[Part]:
    """Several assessors in a row each, then two beside one another, then all together.

    `statistics` are those that were asked for.
    """
    yield from overview(reports, statistics)
    for report in reports:
        yield from _beside_people(report, short(report.assessor))
    yield from joint_parts(reports if len(reports) == 2 else reports[:1])


def statistics_of_all(
    reports: Sequence[AssessorReport], statistics: Sequence[str] | None = None
) -> Table:
    """The one table for programs: an assessor's statistics, or a row for each of several.

    `statistics` are those that were asked for.
    """
    if len(reports) == 1:
        return statistics_table(reports[0].agreement)
    return overview(reports, statistics)[1]
