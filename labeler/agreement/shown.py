"""What is shown of an agreement, in order: sentences first, then tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from labeler.agreement.align import PEOPLE
from labeler.agreement.alternative import AlternativeTest
from labeler.agreement.calibration import Calibration
from labeler.agreement.compare import Agreement
from labeler.agreement.joint import Ceiling, Together
from labeler.agreement.plan import in_words
from labeler.agreement.report import (
    AssessorReport,
    QueryFigures,
    by_query,
    numbers,
)
from labeler.agreement.statistics import find_statistic
from labeler.evaluation.inputs import short
from labeler.messages import count_of
from labeler.report.table import (
    Cell,
    Column,
    Interval,
    Row,
    Table,
    interval_text,
    number_text,
)

if TYPE_CHECKING:
    from labeler.evaluation.leaderboard import Leaderboard

# Several assessors beside the human grades: a row for each, the closest to people first.

# What an agreement says, in sentences that need no statistics to be understood.

FEW = 100
"""Of fewer pairs counts are said as they are, of more as so many of 100."""
MOST, LONGEST = 8, 40
"""How many labels outside the scale are listed, and how much of each."""


def summary(report: AssessorReport) -> list[str]:
    """How often they agree, who is stricter, whether systems would be ordered the same."""
    agreement = report.agreement
    if not agreement.pairs:
        return ["Nothing can be compared: the two have no graded pair in common."]
    human = whom(report.human)
    sentences = (
        _how_often(short(report.assessor), human, agreement),
        _why_low(agreement),
        _who_is_stricter(agreement, human),
        _order(report.board, human, short(report.assessor), sampled=agreement.is_weighted),
    )
    return [*filter(None, sentences)]


def heading(report: AssessorReport) -> str:
    """Who is compared, on how many pairs of how many queries."""
    agreement = report.agreement
    pairs = count_of(agreement.pairs, "pair")
    queries = count_of(len(agreement.queries), "query")
    whole = agreement.confusion.sum()
    stand = f", weighted to stand for about {whole:,.0f}" if agreement.is_weighted else ""
    return (
        f"{short(report.human)} and {short(report.assessor)}: {pairs} of {queries} that both "
        f"graded{stand}"
    )


def whom(human: str) -> str:
    """What sentences call those whose grades an assessor is compared with.

    >>> whom("human"), whom("qrels/rater1.qrels")
    ('people', 'rater1')
    """
    return PEOPLE if short(human) == "human" else short(human)


def _how_often(assessor: str, human: str, agreement: Agreement) -> str:
    table = agreement.confusion / agreement.confusion.sum()
    same, near = float(np.trace(table)), float(np.trace(table, 1) + np.trace(table, -1))
    few = agreement.pairs < FEW
    whole = agreement.pairs if few and not agreement.is_weighted else 100

    def count(share: float) -> str:
        return hundred(share) if whole == 100 else f"{whole * share:.0f}"

    estimated = "an estimated " if few and agreement.is_weighted else ""
    sentence = (
        f"{assessor} gives the same grade as {human} to {estimated}{count(same)} of {whole} "
        f"{'pair' if whole == 1 else 'pairs'}"
    )
    if len(agreement.scale) > 2 and near > 0:
        sentence += f", and is one grade off in {count(near)} more"
    kappa = agreement.of("kappa")
    if kappa.value is None:
        return f"{sentence}."
    sure = ""
    if kappa.low is not None and kappa.high is not None and kappa.high - kappa.low >= 0.005:
        # not of what the next few queries would show, which varies more
        low, high = number_text(kappa.low, ".2f"), number_text(kappa.high, ".2f")
        sure = f"; over all queries like these {low} to {high}, at 95 %"
    return (
        f"{sentence}. Beyond what chance would do, that is a kappa of "
        f"{number_text(kappa.value, '.2f')} (0 is chance, 1 is perfect{sure})."
    )


def hundred(share: float) -> str:
    """A share as so many of 100; neither none nor all where it is not quite."""
    return (
        "fewer than 1"
        if 0 < share < 0.005
        else "over 99"
        if 0.995 <= share < 1
        else f"{100 * share:.0f}"
    )


def _why_low(agreement: Agreement) -> str:
    """What explains a low kappa beside high agreement: one grade nearly throughout."""
    same, kappa, ac1 = (agreement.of(name).value for name in ("agreement", "kappa", "ac1"))
    if same is None or kappa is None or ac1 is None:
        return ""
    agreed = np.diag(agreement.confusion) / agreement.confusion.sum()
    if not (same > 0.85 and agreed.max() > 0.7 and kappa < 0.6):
        return ""
    return (
        "Kappa is low beside so much agreement because nearly all pairs are of grade "
        f"{agreement.scale[int(agreed.argmax())]}: agreeing on it is what chance would do too. "
        f"AC1, which expects guesses at hard pairs only, is {ac1:.2f}."
    )


def _who_is_stricter(agreement: Agreement, human: str) -> str:
    shift = agreement.of("bias")
    if shift.value is None:
        return ""
    if shift.value == 0 and shift.low == shift.high:
        return f"It is neither stricter nor more generous than {human}."
    if shift.low is not None and shift.high is not None and shift.low <= 0 <= shift.high:
        value, low, high = (number_text(x, "+.2f") for x in (shift.value, shift.low, shift.high))
        return (
            f"Whether it is stricter or more generous than {human} cannot be told (by {value} of "
            f"a grade on average, {low} to {high})."
        )
    who = "more generous" if shift.value > 0 else "stricter"
    return f"It is {who} than {human}, by {abs(shift.value):.2f} of a grade on average."


def _order(board: Leaderboard | None, human: str, assessor: str, *, sampled: bool) -> str:
    do = "do" if human == PEOPLE else "does"
    whether = f"Whether it would order systems as {human} {do}"
    if board is None and sampled:
        return (
            f"{whether} is not known: {human} graded a sample of "
            "pairs (grades of whole queries would let scores be corrected)."
        )
    if board is None:
        return f"{whether} is not known: no runs were given."
    from labeler.evaluation.leaderboard import board_sentences

    return "\n".join(board_sentences(board, human, assessor))


def left_out_lines(report: AssessorReport) -> list[str]:
    """What no figure saw, one line a reason; empty where nothing was left out."""
    agreement, human = report.agreement, whom(report.human)
    out, outside = agreement.left_out, list(agreement.left_out.outside_scale.items())
    counts = {
        f"pair* that only {human} graded": out.only_people,
        f"pair* that only {short(report.assessor)} graded": out.only_other,
        "pair* drawn for people and skipped by them": out.skipped_by_people,
        "pair* that the other graded, not drawn for people": out.not_drawn,
        f"pair* that {human} left unjudged (a grade below 0)": out.unjudged_by_people,
        **{f"pair* that failed: {status}": n for status, n in out.failures.items()},
        **{f"label* outside the scale's grades: {_cut(x)!r}": n for x, n in outside[:MOST]},
        "other label* outside the scale's grades": sum(n for _, n in outside[MOST:]),
    }
    # `pair*` is `pair` of one and `pairs` of more
    named = ((n, what.replace("*", "" if n == 1 else "s", 1)) for what, n in counts.items() if n)
    return [f"left out: {n:,} {what}" for n, what in named]


def _cut(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"


SHOWN = ("kappa", "kappa-quadratic", "agreement", "bias")
"""Of the default statistics, those of which each assessor's row has a column, in their order."""
MOST_COLUMNS = 5


def in_order(reports: Sequence[AssessorReport], statistic: str) -> list[AssessorReport]:
    """The assessors by a statistic, the closest to people first; undefined values last."""

    def key(report: AssessorReport) -> tuple[bool, float]:
        estimate = report.agreement.statistics.get(statistic)
        if estimate is None or estimate.value is None:
            return True, 0.0
        better = find_statistic(statistic, report.agreement.scale).better
        return False, -better * estimate.value if better else abs(estimate.value)

    return sorted(reports, key=key)


def overview(reports: Sequence[AssessorReport], asked: Sequence[str] | None) -> tuple[str, Table]:
    """A sentence on the first and the last assessor, and the table `assessors`.

    It has the statistics that were `asked` for, else the usual ones.
    """
    every = [*reports[0].agreement.statistics]
    names = [name for name in SHOWN if name in every and asked is None] or every[:MOST_COLUMNS]
    ordered = in_order(reports, names[0])
    return _sentence(ordered, names[0]), _table(ordered, names)


def _sentence(ordered: Sequence[AssessorReport], statistic: str) -> str:
    best, last = ordered[0], ordered[-1]
    human = short(best.human)
    highest, lowest = (of.agreement.statistics.get(statistic) for of in (best, last))
    if highest is None or highest.value is None:
        return f"None of the {len(ordered)} assessors has a {statistic} with {human}."
    return (
        f"{len(ordered)} assessors beside {human}, in the order of {statistic}: from "
        f"{interval_text(highest)} of {short(best.assessor)} to {interval_text(lowest)} of "
        f"{short(last.assessor)}. Order alone may be chance."
    )


def _table(ordered: Sequence[AssessorReport], names: Sequence[str]) -> Table:
    missing = any(report.agreement.left_out.missing.sum() for report in ordered)
    has_board = any(report.board for report in ordered)
    pairs = {report.agreement.pairs for report in ordered}
    columns = [
        Column("assessor", align="left"),
        *(Column(n, format=".3f", ends=".3f", undefined="undefined") for n in names),
        Column("pairs", only="programs" if len(pairs) == 1 else ""),
        *([Column("without a grade", format=",.0f")] if missing else []),
    ]
    if has_board:
        columns.append(
            Column("tau-b", "tau-b of systems", format=".3f", ends=".3f", undefined="undefined")
        )
    rows = [
        (
            short(report.assessor),
            *map(report.agreement.statistics.get, names),
            report.agreement.pairs,
            *([float(report.agreement.left_out.missing.sum())] if missing else []),
            *([report.board.statistics["tau_b"] if report.board else None] if has_board else []),
        )
        for report in ordered
    ]
    over = f", {count_of(pairs.pop(), 'pair')}" if len(pairs) == 1 else ""
    return Table("assessors", columns, rows, f"each beside {short(ordered[0].human)}{over}")


# What is known of assessors beside human grades, as tables.

WIDEST = 50
"""So many columns of a terminal are given to a query's id and text."""


def _value(name: str, title: str = "", *, ends: str = "") -> Column:
    return Column(name, title, format=".3f", ends=ends, undefined="undefined")


VALUE = _value("value")
ENDS = Column("", "95 % interval", format="", ends=".3f")


def statistics_table(agreement: Agreement) -> Table:
    """Each statistic with its interval; those at cuts that are undefined are left out.

    Where pairs are missing, also what the value would be if the assessor had graded them, all as
    people did or all differently.
    """
    missing = agreement.left_out.missing.sum() > 0
    columns = [Column("statistic", align="left"), VALUE, ENDS]
    if missing:
        columns += [_value("if missing agree"), _value("if they differ")]
    rows = []
    for name, e in agreement.statistics.items():
        if e.value is not None or ">=" not in name:
            filled = agreement.scenarios[name]
            more = (filled.all_agree, filled.all_differ) if missing else ()
            rows.append((name, e.value, Interval(None, e.low, e.high), *more))
    return Table("statistics", columns, rows)


def confusion_table(report: AssessorReport) -> Table:
    """Human grades in rows, the assessor's in columns; people also see the shares of a row."""
    agreement, names = report.agreement, report.grade_names
    sides = f"{short(report.human)} \\ {short(report.assessor)}"
    columns = [
        Column("grade", only="programs"),
        Column("named", sides, align="left", only="people"),
    ]
    for grade in agreement.scale:
        columns.append(Column(str(grade), only="programs"))
        columns.append(Column(str(grade), only="people"))
    rows = []
    for grade, counts in zip(agreement.scale, numbers(agreement.confusion), strict=True):
        total = sum(counts)
        cells: list[Cell] = [grade, f"{grade} {names[grade]}" if grade in names else str(grade)]
        for count in counts:
            share = f"{count:,.0f} ({count / total:4.0%})" if total else "0"
            cells += [count, share]
        rows.append((*cells, total))
    return Table("confusion", [*columns, Column("all", format=",.0f")], rows)


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
    cells = [
        (q.query_id, " ".join([q.query_id, *texts.get(q.query_id, "").split()]), *q[1:])
        for q in rows
    ]
    return Table("queries", columns, cells)


def calibration_table(calibration: Calibration) -> Table:
    """How often what an assessor called likely came true, by how likely it called it."""
    columns = [
        Column("bin", "said", align="left"),
        Column("pairs"),
        _value("probability", "said on average"),
        _value("came true"),
    ]
    rows = [
        (f"{b.low:.1f} to {b.high:.1f}", b.pairs, b.probability, b.true) for b in calibration.bins
    ]
    return Table(
        "calibration",
        columns,
        rows,
        f"calibration of 'at least {calibration.cut}': {calibration.pairs:,} pairs, expected "
        f"calibration error {interval_text(calibration.interval)}, Brier score "
        f"{calibration.brier:.3f}",
    )


def ceiling_table(ceiling: Ceiling) -> Table:
    """Each person beside the assessor, against the same other people."""
    columns = [
        Column("left out", align="left"),
        _value("this person"),
        _value("the assessor"),
        _value("difference", ends=".3f"),
    ]
    rows = [
        (row.person, row.persons, row.assessors, Interval(row.difference, row.low, row.high))
        for row in (*ceiling.people, ceiling.overall)
    ]
    head = f"ceiling by {ceiling.statistic}, {ceiling.pairs:,} pairs that all graded"
    return Table("ceiling", columns, rows, f"{head}: {ceiling.verdict}")


def differences_table(report: AssessorReport) -> Table:
    """The assessor's statistics less those of the first one, with verdicts."""
    names = short(report.assessor), short(report.against or "")
    columns = [
        Column("statistic", align="left"),
        _value("second", names[1]),
        _value("first", names[0]),
        _value("difference", ends=".3f"),
        Column("verdict", only="programs"),
        Column("verdict", only="people"),
    ]
    rows = [
        (d.statistic.name, d.second, d.first, d, d.verdict, closer(d.verdict, names))
        for d in report.differences
    ]
    count = f"; verdicts allow for {len(rows)} statistics" if len(rows) > 1 else ""
    title = f"{names[0]} less {names[1]} beside {short(report.human)}, on common pairs{count}"
    return Table("differences", columns, rows, title)


def closer(verdict: str, names: tuple[str, str]) -> str:
    """A verdict with the assessor's name in place of its number."""
    which, space, rest = verdict.partition(" is ")
    return f"{names[which == 'second']}{space}{rest}" if space else verdict


def joint_table(joint: Together) -> Table:
    """What people have among themselves."""
    people = f"{len(joint.raters)} people"
    columns = [Column("statistic", align="left"), _value("people", people, ends=".3f")]
    rows: list[Row] = list(joint.statistics.items())
    return Table("joint", columns, rows, f"the {people} among themselves")


def alternative_table(test: AlternativeTest) -> Table:
    """Each person beside the assessor: who has the advantage how often, and whether it wins."""
    columns = [
        Column("left out", align="left"),
        Column("pairs"),
        _value("this person"),
        _value("the assessor"),
        Column("difference", format="+.3f", ends="+.3f"),
        Column("p", format=".2g"),
        Column("it wins", align="left"),
    ]
    rows = [
        (
            row.person,
            row.pairs,
            row.persons,
            row.assessors,
            Interval(row.difference, row.low, row.high),
            row.p,
            "yes" if row.wins else "not shown",
        )
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
    report: AssessorReport, texts: Mapping[str, str], *, details: bool = False
) -> Iterator[Part]:
    """One assessor beside the human grades; `texts` are the queries'."""
    agreement = report.agreement
    queries = by_query(agreement)
    yield "\n".join([heading(report), *summary(report), *left_out_lines(report)])
    if agreement.pairs:
        yield statistics_table(agreement)
        yield confusion_table(report)
        worst = [row for row in queries[:WORST] if row.mae > 0]
        if worst and len(queries) > 1:
            pairs = "pairs, weighted" if agreement.is_weighted else "pairs"
            yield queries_table(worst, texts, "most disagreement", pairs)
    if details:
        yield queries_table(queries, texts)
        yield from map(calibration_table, report.calibration)
    if report.board is not None:
        yield from (table for table in report.board.tables(SHOWN_SWAPS) if table.rows)
    yield from _beside_people(report)


def _beside_people(report: AssessorReport, *heading: str) -> Iterator[Part]:
    """The ceilings, the alternative annotator test, and how many more grades it would take."""
    yield from map(ceiling_table, report.ceilings)
    if report.alternative is not None:
        yield alternative_table(report.alternative)
    if report.plans:
        yield "\n".join([*heading, *map(in_words, report.plans)])


def joint_parts(reports: Sequence[AssessorReport]) -> Iterator[Part]:
    """The assessors beside one another: differences from the first; then people together."""
    yield from (differences_table(report) for report in reports if report.against is not None)
    if reports[0].joint is not None:
        yield joint_table(reports[0].joint)


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
