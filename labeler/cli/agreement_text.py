"""How `labeler agree` prints what it found: sentences first, then tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labeler.cli.screen import say, table
from labeler.report.printable import one_line

if TYPE_CHECKING:
    from labeler.agreement.assessor_report import AssessorReport, Details
    from labeler.agreement.ceiling import Ceiling
    from labeler.agreement.compare import Agreement
    from labeler.agreement.details import QueryFigures
    from labeler.agreement.joint import JointAgreement
    from labeler.agreement.plan import SampleSizePlan
    from labeler.evaluation.leaderboard import Leaderboard

WORST = 5
WIDTH = 50


def show(finding: AssessorReport, names: Mapping[int, str], texts: Mapping[str, str]) -> None:
    """The sentences, the statistics, the confusion matrix, the worst queries, what is missing."""
    from labeler.agreement.sentences import confusion_rows, left_out_lines, short, summary

    found, human, assessor = finding.agreement, short(finding.human), short(finding.assessor)
    say(f"{human} and {assessor}: {_count(found)}")
    for sentence in summary(finding):
        say(sentence)
    for line in left_out_lines(found):
        say(line)
    if not found.pairs:
        return
    say()
    _statistics(found)
    say()
    header = (f"{human} \\ {assessor}", *map(str, found.scale), "all")
    table(header, confusion_rows(found.confusion, found.scale, names))
    worst = [row for row in finding.details.queries if row.mae > 0][:WORST]
    if worst and len(finding.details.queries) > 1:
        say()
        pairs = "pairs, weighted" if weighted(found) else "pairs"
        _queries(("most disagreement", pairs), worst, texts)


def _count(found: Agreement) -> str:
    pairs = f"{found.pairs:,} {'pair' if found.pairs == 1 else 'pairs'}"
    queries = "1 query" if len(found.queries) == 1 else f"{len(found.queries):,} queries"
    stand = f", weighted to stand for about {found.confusion.sum():,.0f}" if weighted(found) else ""
    return f"{pairs} of {queries} that both graded{stand}"


def weighted(found: Agreement) -> bool:
    """Whether the pairs are a sample that is weighted back to the pool."""
    return found.paired.weight is not None


def _statistics(found: Agreement) -> None:
    naive = any(e.naive for e in found.statistics.values())
    missing = found.left_out.missing.sum() > 0
    header = ["statistic", "value", "95 % interval"]
    header += ["over pairs (naive)", "design effect"] if naive else []
    header += ["if missing agree", "if they differ"] if missing else []
    rows = []
    for name, e in found.statistics.items():
        if name in found.unused:
            continue
        row = [name, figure(e.value), between(e.low, e.high)]
        if naive:
            n = e.naive
            effect = n.design_effect if n else None
            row += [between(n.low, n.high) if n else "-", figure(effect, 1) if effect else "-"]
        if missing:
            filled = found.scenarios[name]
            row += [figure(filled.all_agree), figure(filled.all_differ)]
        rows.append(row)
    table(header, rows)


def _queries(
    titles: tuple[str, str], rows: Sequence[QueryFigures], texts: Mapping[str, str]
) -> None:
    cells = [
        (
            one_line(f"{row.query_id} {texts.get(row.query_id, '')}", WIDTH),
            f"{row.pairs:,.0f}",
            f"{row.agreement:.2f}",
            f"{row.mae:.2f}",
            signed(row.bias, 2),
        )
        for row in rows
    ]
    table((*titles, "agreement", "mean error", "bias"), cells)


def show_details(details: Details, texts: Mapping[str, str]) -> None:
    """By class, by people's grade, by query, and the calibration."""
    say()
    rows = [
        (str(c.grade), figure(c.precision), figure(c.recall), figure(c.f1), f"{c.support:,.0f}")
        for c in details.classes
    ]
    table(("grade", "precision", "recall", "F1", "pairs"), rows)
    say()
    biases = [(str(b.grade), figure(b.bias), between(b.low, b.high)) for b in details.grades]
    table(("people's grade", "bias", "95 % interval"), biases)
    say()
    _queries(("query", "pairs"), details.queries, texts)
    for one in details.calibration:
        say()
        say(
            f"calibration of 'at least {one.cut}': {one.pairs:,} pairs, expected calibration error "
            f"{one.error:.3f}, Brier score {one.brier:.3f}"
        )
        bins = [
            (f"{b.low:.1f} to {b.high:.1f}", f"{b.pairs:,}", figure(b.said), figure(b.true))
            for b in one.bins
        ]
        table(("said", "pairs", "said on average", "came true"), bins)


def show_leaderboard(board: Leaderboard | None) -> None:
    """The systems under both sets of labels, and which of them change places."""
    if board is None:
        return
    say()
    rows = [
        (
            s.run,
            f"{s.first:.4f}",
            str(s.first_rank),
            f"{s.second:.4f}",
            str(s.second_rank),
            f"{signed(s.difference, 4)} {between(s.low, s.high)}",
        )
        for s in board.ranked
    ]
    table((board.measure, "people", "rank", "other", "rank", "bias"), rows)
    tau, low, high = board.statistics["tau_b"]
    say(
        f"tau-b {figure(tau)} {between(low, high)}, "
        f"tau-ap {figure(board.statistics['tau_ap'].value)}, "
        f"largest drop {figure(board.statistics['max_drop'].value, 0)}, "
        f"mean bias {signed(board.difference, 4)}, over {len(board.queries)} queries"
    )
    for swap in sorted(board.swaps, key=lambda swap: swap.p_first):
        can = "can" if swap.significant else "cannot"
        say(
            f"swapped: {swap.better} above {swap.worse} by people's labels, "
            f"which {can} tell them apart (p {swap.p_first:.3f})"
        )


def show_ceiling(ceilings: Sequence[Ceiling]) -> None:
    """Each person beside the assessor, against the same other people."""
    for found in ceilings:
        say()
        say(f"ceiling by {found.statistic}, {found.pairs:,} pairs that all graded: {found.verdict}")
        rows = [
            (
                row.person,
                figure(row.persons),
                figure(row.assessors),
                f"{figure(row.difference)} {between(row.low, row.high)}",
            )
            for row in (*found.rows, found.overall)
        ]
        table(("left out", "this person", "the assessor", "difference"), rows)


def show_plans(plans: Sequence[SampleSizePlan]) -> None:
    """How much more people would have to grade."""
    from labeler.agreement.plan import in_words

    if plans:
        say()
    for plan in plans:
        say(in_words(plan))


def show_differences(finding: AssessorReport) -> None:
    """This assessor's statistics less those of the first, with verdicts."""
    if finding.against is None:
        return
    from labeler.agreement.sentences import short

    say()
    rows = [
        (
            d.statistic.name,
            figure(d.first),
            figure(d.second),
            f"{figure(d.value)} {between(d.low, d.high)}",
            d.verdict,
        )
        for d in finding.differences
    ]
    first, second = short(finding.assessor), short(finding.against)
    say(f"{first} (first) less {second} (second), on common pairs")
    table(("statistic", "first", "second", "difference", "verdict"), rows)


def show_joint(joint: JointAgreement | None) -> None:
    """All raters together, and every two of them."""
    if joint is None:
        return
    from labeler.agreement.sentences import short

    say()
    say(f"all {len(joint.assessors)} raters together")
    rows = [(n, figure(e.value), between(e.low, e.high)) for n, e in joint.statistics.items()]
    table(("statistic", "value", "95 % interval"), rows)
    for name, matrix in joint.pairwise.items():
        say()
        cells = [
            (f"{place + 1} {short(assessor)}", *map(figure, row))
            for place, (assessor, row) in enumerate(zip(joint.assessors, matrix, strict=True))
        ]
        table((name, *(str(place + 1) for place in range(len(cells)))), cells)


def figure(value: float | None, digits: int = 3) -> str:
    """A statistic to three decimals."""
    from labeler.agreement.sentences import plain

    return "undefined" if value is None else plain(value, digits)


def signed(value: float, digits: int) -> str:
    """A difference with its sign, none where it rounds to 0."""
    from labeler.agreement.sentences import signed as with_sign

    return with_sign(value, digits)


def between(low: float | None, high: float | None) -> str:
    """An interval, a dash where there is none."""
    return "-" if low is None or high is None else f"[{figure(low)}, {figure(high)}]"
