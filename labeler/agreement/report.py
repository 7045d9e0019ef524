"""An agreement as JSON, and as sentences that need no statistics to be understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labeler.agreement.compare import Agreement, Estimate
from labeler.agreement.tables import FloatArray


def as_json(found: Agreement, leaderboard: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What `labeler agree --json` prints of one pair of raters."""
    return {
        "pairs": found.pairs,
        "queries": len(found.queries),
        "left_out": _left_out(found),
        "statistics": {name: _estimate(e) for name, e in found.statistics.items()},
        "confusion": _numbers(found.confusion),
        "scale": list(found.scale),
        "leaderboard": dict(leaderboard) if leaderboard is not None else None,
        "warnings": list(found.warnings),
    }


def _estimate(e: Estimate) -> dict[str, Any]:
    row: dict[str, Any] = {"value": e.value, "low": e.low, "high": e.high, "method": e.method}
    if e.naive is not None:
        row |= {"naive_low": e.naive.low, "naive_high": e.naive.high}
        row["design_effect"] = e.naive.design_effect
    return row


def _left_out(found: Agreement) -> dict[str, Any]:
    out = found.left_out
    return {
        "only_people": out.only_people,
        "only_other": out.only_other,
        "unjudged_by_people": out.unjudged_by_people,
        "outside_scale": dict(out.outside),
        "failures": dict(out.failures),
        "clipped": out.clipped,
        "scenarios": {
            name: {"all_agree": s.all_agree, "all_differ": s.all_differ}
            for name, s in found.scenarios.items()
        },
    }


def _numbers(table: FloatArray) -> list[list[float]]:
    """Counts as integers, weighted counts as they are."""
    whole = bool(np.all(table == np.round(table)))
    return [[int(cell) if whole else float(cell) for cell in row] for row in table]


def confusion_rows(
    table: FloatArray, scale: Sequence[int], names: Mapping[int, str]
) -> list[list[str]]:
    """The confusion matrix as text: counts, then in brackets the share of the row."""
    rows = []
    for grade, counts in zip(scale, table, strict=True):
        total = counts.sum()
        shares = [f"{count:,.0f} ({count / total:4.0%})" if total else "0" for count in counts]
        rows.append([grade_name(grade, names), *shares, f"{total:,.0f}"])
    return rows


def grade_name(grade: int, names: Mapping[int, str]) -> str:
    """`2` or, where the scale has names, `2 highly relevant`."""
    return f"{grade} {names[grade]}" if grade in names else str(grade)


def left_out_lines(found: Agreement) -> list[str]:
    """What no figure saw, one line a reason; empty where nothing was left out."""
    out = found.left_out
    counts = {
        "pairs that only people graded": out.only_people,
        "pairs that only the other graded": out.only_other,
        "pairs that people left unjudged (a grade below 0)": out.unjudged_by_people,
        **{f"pairs that failed: {status}": n for status, n in out.failures.items()},
        **{f"labels that are no grade of the scale: {x!r}": n for x, n in out.outside.items()},
    }
    lines = [f"left out: {n:,} {what}" for what, n in counts.items() if n]
    if out.clipped:
        lines.append(f"clipped into the scale: {out.clipped:,} labels")
    return lines


def summary(found: Agreement) -> list[str]:
    """How often they agree, how much of that is more than chance, who is stricter."""
    if not found.pairs:
        return ["Nothing can be compared: the two have no graded pair in common."]
    table = found.confusion / found.confusion.sum()
    grades = np.array(found.scale, dtype=np.float64)
    same = float(np.trace(table))
    shift = float((table * (grades[None, :] - grades[:, None])).sum())
    return [f"They give the same grade to {_of_hundred(same)} pairs. {_leaning(shift)}"]


def _of_hundred(share: float) -> str:
    return f"{100 * share:.0f} of 100"


def _leaning(shift: float) -> str:
    if abs(shift) < 0.05:
        return "On average neither is stricter."
    who = "more generous" if shift > 0 else "stricter"
    return f"The other is {who} than people, by {abs(shift):.2f} of a grade on average."
