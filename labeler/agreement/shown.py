"""What is shown of an agreement, in order: sentences first, then tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from labeler.agreement.align import PEOPLE
from labeler.agreement.calibration import Calibration
from labeler.agreement.compare import Agreement, Estimate
from labeler.agreement.overview import (
    baseline_sentence,
    baseline_sentences,
    baseline_table,
    between,
    figure,
    grade_name,
    heading,
    left_out_lines,
    overview,
    short,
    signed,
    summary,
    whom,
)
from labeler.agreement.plan import in_words
from labeler.agreement.report import AssessorReport, Details, QueryFigures
from labeler.agreement.several.alternative import AlternativeTest
from labeler.agreement.several.joint import JOINT, BesideHuman, Ceiling, JointAgreement, Together
from labeler.messages import count_of
from labeler.report.table import Cell, Column, Ends, Interval, Row, Table

if TYPE_CHECKING:
    from labeler.evaluation.leaderboard import Leaderboard
    from labeler.evaluation.two_sided import Swap

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

    Where they were asked for or are needed: the interval over single pairs, and what the value
    would be if the assessor had graded what it did not, all as people did or all differently.
    """
    naive = any(e.naive for e in agreement.statistics.values())
    missing = agreement.left_out.missing.sum() > 0
    columns = [Column("statistic", align="left"), VALUE, ENDS]
    if naive:
        columns.append(Column("naive", "over pairs (naive)", format="", ends=".3f"))
        columns.append(Column("design effect", format=".1f"))
    if missing:
        columns += [_value("if missing agree"), _value("if they differ")]
    rows: list[Row] = []
    for name, e in agreement.statistics.items():
        if name not in agreement.unused:
            row: list[Cell] = [name, e.value, Ends(e.low, e.high)]
            row += _naive(e) if naive else []
            filled = agreement.scenarios[name]
            row += [filled.all_agree, filled.all_differ] if missing else []
            rows.append(row)
    return Table("statistics", columns, rows)


def _naive(e: Estimate) -> list[Cell]:
    if e.naive is None:
        return [Ends(None, None), None]
    return [Ends(e.naive.low, e.naive.high), e.naive.design_effect or None]


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


def detail_tables(
    details: Details, texts: Mapping[str, str], human: str = PEOPLE
) -> Iterator[Table]:
    """By class, by human grade, by query, and the calibration at each cut."""
    classes = [Column("grade", align="left"), *map(_value, ("precision", "recall", "F1"))]
    rows: list[Row] = [[c.grade, c.precision, c.recall, c.f1, c.support] for c in details.classes]
    yield Table("classes", [*classes, Column("pairs", format=",.0f")], rows)
    grades = [Column("grade", f"{human}'s grade", align="left"), _value("bias"), ENDS]
    yield Table("grades", grades, [[g.grade, g.bias, Ends(g.low, g.high)] for g in details.grades])
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
        f"calibration error {calibration.error:.3f}{_ends_of(calibration)}, Brier score "
        f"{calibration.brier:.3f}"
    )
    return Table("calibration", columns, rows, title)


def _ends_of(calibration: Calibration) -> str:
    return "" if calibration.low is None else f" {between(calibration.low, calibration.high)}"


def leaderboard_table(board: Leaderboard, names: tuple[str, str] = (PEOPLE, "assessor")) -> Table:
    """The systems by human grades and by the assessor's, and which of them change places.

    `names` are what people see these two called.
    """
    columns = [
        Column("run", board.measure, align="left"),
        Column("human", names[0]),
        Column("human rank", "rank"),
        Column("assessor", names[1]),
        Column("assessor rank", "rank"),
        Column("bias", format="+.4f", ends=".3f"),
    ]
    judged = () if board.pairs.same else names
    columns += [Column(f"{board.judged_name} by {name}", format=".2f") for name in judged]
    rows: list[Row] = [
        [
            s.run,
            s.first,
            s.first_rank,
            s.second,
            s.second_rank,
            Interval(s.difference, s.low, s.high),
            *(s.judged if judged else ()),
        ]
        for s in board.ranked
    ]
    swaps = sorted(board.swaps, key=lambda swap: swap.p_first)
    lines = [_swap(swap, names) for swap in swaps[:SHOWN_SWAPS]]
    more = len(swaps) - len(lines)
    lines += [f"and {more:,} more pairs that swap"] if more else []
    return Table("leaderboard", columns, rows, note="\n".join([_in_sum(board), *lines]))


SHOWN_SWAPS = 10


def _in_sum(board: Leaderboard) -> str:
    tau, low, high, is_open = board.statistics["tau_b"]
    ends = "[nearly anything]" if is_open else between(low, high)
    queries = count_of(len(board.queries), "query", "queries")
    return (
        f"tau-b {figure(tau)} {ends}, "
        f"tau-ap {figure(board.statistics['tau_ap'].value)}, "
        f"largest drop {figure(board.statistics['max_drop'].value, 0)}, "
        f"mean bias {signed(board.difference, 4)}, over {queries}"
    )


def _swap(swap: Swap, names: tuple[str, str]) -> str:
    can = "tell" if swap.significant else "do not tell"
    return (
        f"swapped: {swap.better} above {swap.worse} by {names[0]}'s grades, "
        f"which {can} them apart (p {swap.p_first:.3f} alone)"
    )


def ceiling_table(ceiling: Ceiling) -> Table:
    """Each person beside the assessor, against the same other people."""
    columns = [
        Column("left out", align="left"),
        _value("this person"),
        _value("the assessor"),
        _value("difference", ends=".3f"),
    ]
    head = f"ceiling by {ceiling.statistic}, {ceiling.pairs:,} pairs that all graded"
    rows = [_beside(row) for row in (*ceiling.rows, ceiling.overall)]
    return Table("ceiling", columns, rows, f"{head}: {ceiling.verdict}")


def _beside(row: BesideHuman) -> Row:
    difference = Interval(row.difference, row.low, row.high)
    return [row.person, row.persons, row.assessors, difference]


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
        [
            *(d.statistic.name, d.first, d.second, Interval(d.value, d.low, d.high)),
            *(d.verdict, closer(d.verdict, names)),
        ]
        for d in report.differences
    ]
    count = f"; verdicts allow for {len(rows)} statistics" if len(rows) > 1 else ""
    title = f"{names[0]} less {names[1]}, on common pairs{count}"
    return Table("differences", columns, rows, title)


def closer(verdict: str, names: tuple[str, str]) -> str:
    """A verdict with the assessor's name in place of its number."""
    which, space, rest = verdict.partition(" is ")
    return f"{names[which == 'second']}{space}{rest}" if space else verdict


def joint_tables(joint: JointAgreement, *, pairwise: bool = True) -> Iterator[Table]:
    """What people have among themselves, what the others have, and matrices of every two of all."""
    named = (("people", "people", joint.people), ("others", "assessors", joint.others))
    groups = [(key, noun, group) for key, noun, group in named if group is not None]
    if groups:
        columns = [Column("statistic", align="left")]
        columns += [
            Column(
                key, f"{len(g.assessors)} {noun}", format=".3f", ends=".3f", undefined="undefined"
            )
            for key, noun, g in groups
        ]
        rows: list[Row] = [
            [name, *(_of_group(g, name) for *_, g in groups)] for name in JOINT_NAMES
        ]
        whose = " and ".join(f"the {len(g.assessors)} {noun}" for _, noun, g in groups)
        yield Table("joint", columns, rows, f"{whose} among themselves")
    for name, matrix in joint.pairwise.items() if pairwise else ():
        yield _pairwise(name, joint.assessors, matrix)


def _of_group(group: Together, statistic: str) -> Interval:
    e = group.statistics[statistic]
    return Interval(e.value, e.low, e.high)


def _pairwise(
    statistic: str, assessors: Sequence[str], matrix: Sequence[Sequence[float | None]]
) -> Table:
    numbers = [str(number) for number in range(1, len(assessors) + 1)]
    columns = [Column("assessor", statistic, align="left"), *map(_value, numbers)]
    rows: list[Row] = [
        [f"{number} {short(assessor)}", *row]
        for number, assessor, row in zip(numbers, assessors, matrix, strict=True)
    ]
    return Table("pairwise", columns, rows)


# Assessors beside several people, as tables.


def alternative_table(test: AlternativeTest) -> Table:
    """Each person beside the assessor: who has the advantage how often, and whether it wins."""
    columns = [
        Column("left out", align="left"),
        Column("pairs", format=","),
        Column("this person", format=".3f", undefined="undefined"),
        Column("the assessor", format=".3f", undefined="undefined"),
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
        for row in test.rows
    ]
    share = test.advantage
    ends = "" if share.low is None else f" [{share.low:.3f}, {share.high:.3f}]"
    mean = "undefined" if share.value is None else f"{share.value:.3f}{ends}"
    title = "alternative annotator test: shares of pairs in which one is as close to the others"
    note = f"mean advantage of the assessor {mean}; {test.verdict}"
    return Table("alternative", columns, rows, title, note=note)


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
