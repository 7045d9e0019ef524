"""Several assessors beside the human grades: a row for each, the closest to people first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from labeler.agreement.align import PEOPLE
from labeler.agreement.compare import Agreement, Estimate
from labeler.agreement.report import AssessorReport
from labeler.agreement.statistics import find_statistic
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.table import Column, Row, Table, interval_text, number_text

if TYPE_CHECKING:
    from labeler.evaluation.leaderboard import Leaderboard

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
    sentences = [
        _how_often(short(report.assessor), human, agreement),
        _why_low(agreement),
        _who_is_stricter(agreement, human),
        _order(report.board, human, short(report.assessor), sampled=agreement.is_weighted),
    ]
    return [sentence for sentence in sentences if sentence]


def heading(report: AssessorReport) -> str:
    """Who is compared, on how many pairs of how many queries."""
    agreement = report.agreement
    pairs = count_of(agreement.pairs, "pair", "pairs")
    queries = count_of(len(agreement.queries), "query", "queries")
    whole = agreement.confusion.sum()
    stand = f", weighted to stand for about {whole:,.0f}" if agreement.is_weighted else ""
    sides = f"{short(report.human)} and {short(report.assessor)}"
    return f"{sides}: {pairs} of {queries} that both graded{stand}"


def short(name: str) -> str:
    """A file's name without its folders and ending; a name in a collection as it is."""
    return re.sub(r"\.(qrels|txt|tsv)(\.gz)?$", "", name.rsplit("/", 1)[-1]) or name


def whom(human: str) -> str:
    """What sentences call those whose grades an assessor is compared with.

    >>> whom("human"), whom("qrels/rater1.qrels")
    ('people', 'rater1')
    """
    return PEOPLE if short(human) == "human" else short(human)


def _do(human: str) -> str:
    return "people do" if human == PEOPLE else f"{human} does"


def _how_often(assessor: str, human: str, agreement: Agreement) -> str:
    table = agreement.confusion / agreement.confusion.sum()
    same, near = float(np.trace(table)), float(np.trace(table, 1) + np.trace(table, -1))
    few, weighted = agreement.pairs < FEW, agreement.is_weighted
    counted = few and not weighted
    count, whole = (partial(_of, agreement.pairs), agreement.pairs) if counted else (hundred, 100)
    estimated = "an estimated " if few and weighted else ""
    pairs = "pair" if whole == 1 else "pairs"
    agreed = f"{estimated}{count(same)} of {whole} {pairs}"
    sentence = f"{assessor} gives the same grade as {human} to {agreed}"
    if len(agreement.scale) > 2 and near > 0:
        sentence += f", and is one grade off in {count(near)} more"
    kappa = agreement.headline["kappa"]
    if kappa.value is None:
        return f"{sentence}."
    return (
        f"{sentence}. Beyond what chance would do, that is a kappa of {plain(kappa.value, 2)} "
        f"(0 is chance, 1 is perfect{_sure(kappa)})."
    )


def _of(whole: int, share: float) -> str:
    return f"{whole * share:.0f}"


def hundred(share: float) -> str:
    """A share as so many of 100; neither none nor all where it is not quite."""
    return (
        "fewer than 1"
        if 0 < share < 0.005
        else "over 99"
        if 0.995 <= share < 1
        else f"{100 * share:.0f}"
    )


def figure(value: float | None, digits: int = 3) -> str:
    """A statistic to three decimals."""
    return "undefined" if value is None else plain(value, digits)


def between(low: float | None, high: float | None) -> str:
    """An interval, a dash where there is none."""
    return "-" if low is None or high is None else f"[{figure(low)}, {figure(high)}]"


def plain(value: float, digits: int) -> str:
    """A number to so many decimals, and never `-0.00`."""
    return number_text(float(value), f".{digits}f")


def signed(value: float, digits: int) -> str:
    """A difference with its sign, none where it rounds to 0."""
    return number_text(float(value), f"+.{digits}f")


def _why_low(agreement: Agreement) -> str:
    """What explains a low kappa beside high agreement: one grade nearly throughout."""
    same, kappa, ac1 = (agreement.headline[name].value for name in ("agreement", "kappa", "ac1"))
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


def _sure(e: Estimate) -> str:
    if e.low is None or e.high is None:
        return ""
    if e.high - e.low < 0.005:
        return ""
    return f"; {over_all(plain(e.low, 2), plain(e.high, 2))}"


def over_all(low: str, high: str) -> str:
    """What an interval is of: not of what the next few queries would show, which varies more."""
    return f"over all queries like these {low} to {high}, at 95 %"


def _who_is_stricter(agreement: Agreement, human: str) -> str:
    shift = agreement.headline["bias"]
    if shift.value is None:
        return ""
    size = f"by {abs(shift.value):.2f} of a grade on average"
    who = "more generous" if shift.value > 0 else "stricter"
    if shift.value == 0 and shift.low == shift.high:
        return f"It is neither stricter nor more generous than {human}."
    if shift.low is None or shift.high is None:
        return f"It is {who} than {human}, {size}."
    if shift.low <= 0 <= shift.high:
        value, low, high = (signed(x, 2) for x in (shift.value, shift.low, shift.high))
        between = f"by {value} of a grade on average, {low} to {high}"
        return f"Whether it is stricter or more generous than {human} cannot be told ({between})."
    return f"It is {who} than {human}, {size}."


def _order(board: Leaderboard | None, human: str, assessor: str, *, sampled: bool) -> str:
    whether = f"Whether it would order systems as {_do(human)}"
    if board is None and sampled:
        return (
            f"{whether} is not known: {human} graded a sample of "
            "pairs (grades of whole queries would let scores be corrected)."
        )
    if board is None:
        return f"{whether} is not known: no runs were given."
    from labeler.evaluation.leaderboard import board_sentences

    of_order = board_sentences(board, human, assessor)
    return "\n".join([*of_order, *board.bias.sentences(human, assessor)])


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
    lines = [f"left out: {n:,} {_counted(what, n)}" for what, n in counts.items() if n]
    if out.clipped:
        lines.append(f"clipped into the scale: {out.clipped:,} {_counted('label*', out.clipped)}")
    return lines


def _counted(what: str, count: float) -> str:
    """`pair*` as `pair` of one and `pairs` of more."""
    return what.replace("*", "" if count == 1 else "s", 1)


def _cut(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"


def grade_name(grade: int, names: Mapping[int, str]) -> str:
    """`2` or, where the scale has names, `2 highly relevant`."""
    return f"{grade} {names[grade]}" if grade in names else str(grade)


SHOWN = ("kappa", "kappa-quadratic", "agreement", "bias")
"""Of the default statistics, those of which each assessor's row has a column, in their order."""
MOST_COLUMNS = 5
NAMED = 3


def shown_statistics(reports: Sequence[AssessorReport], asked: Sequence[str] | None) -> list[str]:
    """The statistics that stand in the rows: those that were asked for, else the usual ones."""
    of_first = reports[0].agreement.statistics
    names = SHOWN if asked is None else tuple(of_first)[:MOST_COLUMNS]
    return [name for name in names if name in of_first] or list(of_first)[:MOST_COLUMNS]


def in_order(reports: Sequence[AssessorReport], statistic: str) -> list[AssessorReport]:
    """The assessors by a statistic, the closest to people first; undefined values last."""

    def key(report: AssessorReport) -> tuple[bool, float]:
        estimate = _estimate_of(report, statistic)
        if estimate is None or estimate.value is None:
            return True, 0.0
        better = find_statistic(statistic, report.agreement.scale).better
        return False, -better * estimate.value if better else abs(estimate.value)

    return sorted(reports, key=key)


def overview(reports: Sequence[AssessorReport], asked: Sequence[str] | None) -> tuple[str, Table]:
    """A sentence on the closest and the farthest assessor, and the table `assessors`."""
    names = shown_statistics(reports, asked)
    ordered = in_order(reports, names[0])
    return _sentence(ordered, names[0]), _table(ordered, names)


def _estimate_of(report: AssessorReport, statistic: str) -> Estimate | None:
    return report.agreement.statistics.get(statistic)


def _sentence(ordered: Sequence[AssessorReport], statistic: str) -> str:
    best, last = ordered[0], ordered[-1]
    human = short(best.human)
    highest, lowest = (_estimate_of(report, statistic) for report in (best, last))
    if highest is None or highest.value is None:
        return f"None of the {len(ordered)} assessors has a {statistic} with {human}."
    sentence = f"Of {len(ordered)} assessors {short(best.assessor)} is closest to {human}"
    high, low = interval_text(highest), interval_text(lowest)
    return f"{sentence}: {statistic} {high}. Farthest is {short(last.assessor)}: {low}."


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
        title = "tau-b of systems"
        columns.append(Column("tau-b", title, format=".3f", ends=".3f", undefined="undefined"))
    rows: list[Row] = [
        [
            short(report.assessor),
            *(_estimate_of(report, name) for name in names),
            report.agreement.pairs,
            *([float(report.agreement.left_out.missing.sum())] if missing else []),
            *([report.board.statistics["tau_b"] if report.board else None] if has_board else []),
        ]
        for report in ordered
    ]
    over = f", {count_of(pairs.pop(), 'pair')}" if len(pairs) == 1 else ""
    return Table("assessors", columns, rows, f"each beside {short(ordered[0].human)}{over}")


def findings_of_all(reports: Sequence[AssessorReport]) -> Iterator[Finding]:
    """Every warning once; those of some assessors alone name them."""
    names_by_finding: dict[Finding, list[str]] = {}
    for report in reports:
        for finding in dict.fromkeys(report.findings):
            names_by_finding.setdefault(finding, []).append(short(report.assessor))
    for finding, names in names_by_finding.items():
        if len(names) == len(reports):
            yield finding
            continue
        whom = ", ".join(names) if len(names) <= NAMED else f"{len(names)} assessors"
        yield Finding(f"{whom}: {finding.text}", whom, finding.settings, finding.level)
