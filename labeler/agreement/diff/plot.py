"""Charts of a diff: how many grades moved, whose are closer, and the systems."""

from __future__ import annotations

from labeler.agreement.diff.diff import Diff
from labeler.agreement.shown import short
from labeler.evaluation.plot import board_drawings
from labeler.report.charts import Axis, Drawing, NamedValue, intervals


def diff_drawings(changes: Diff) -> list[Drawing]:
    """The shares that moved, agreement with people, and the systems.

    Each where it is known.
    """
    before, after = changes.names
    rows = {"moved up": changes.up, "moved down": changes.down}
    if changes.noise is not None:
        rows["moved either way"] = changes.noise.moved
        rows["would move if asked twice"] = changes.noise.by_chance
    moved = [NamedValue(name, *share) for name, share in rows.items()]
    title = f"Shares of {changes.pairs:,} pairs, with 95 % intervals over queries"
    drawings = [intervals(title, moved, Axis("share", ".1%", 0.0))]
    if changes.agreeing is not None and changes.agreeing.after.differences:
        named = [NamedValue.of(d.statistic.name, d) for d in changes.agreeing.after.differences]
        title = f"Agreement with {short(changes.agreeing.human)}: {after} less {before}"
        drawings.append(intervals(title, named, Axis("difference", "+.3f", reference=0.0)))
    if changes.board is not None:
        drawings += board_drawings(changes.board, changes.names)
    return drawings
