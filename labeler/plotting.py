"""A picture of agreement: the matrix, the queries, and the systems under both sets of labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labeler.agreement.finding import Finding
from labeler.agreement.words import short
from labeler.errors import Misconfigured, Misuse
from labeler.files import file_problems

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf")
MOST_ROWS = 8
MOST_NAMED = 15


def plot(findings: Sequence[Finding], path: Path) -> None:
    """Draw a row of panels for each assessor."""
    if path.suffix.lower() not in ENDINGS:
        raise Misuse(f"{path}: expected a picture's name to end in {', '.join(ENDINGS)}")
    if len(findings) > MOST_ROWS:
        raise Misuse(f"a picture holds {MOST_ROWS} assessors; these are {len(findings)}")
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Misconfigured("--plot needs matplotlib: pip install 'labeler[plot]'") from error
    with rc_context({"text.parse_math": False, "svg.hashsalt": "labeler"}):
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        _draw(findings, figure)
        path.parent.mkdir(parents=True, exist_ok=True)
        dates = {"Date": None} if path.suffix.lower() == ".svg" else None
        with file_problems(path):
            figure.savefig(path, dpi=150, metadata=dates)


def _draw(findings: Sequence[Finding], figure: Figure) -> None:
    boards = any(finding.board for finding in findings)
    columns = 3 if boards else 2
    figure.set_size_inches(5.2 * columns, 4.6 * len(findings))
    panels = figure.subplots(len(findings), columns, squeeze=False)
    for finding, row in zip(findings, panels, strict=True):
        _matrix(row[0], finding)
        _queries(row[1], finding)
        if boards:
            _systems(row[2], finding)


def _matrix(panel: Axes, finding: Finding) -> None:
    """Shares of people's grades by row, with counts."""
    found = finding.agreement
    counts = found.confusion
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    panel.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    small = len(found.scale) > 6
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            color = "white" if shares[i, j] > 0.55 else "black"
            text = f"{shares[i, j]:.0%}" if small else f"{shares[i, j]:.0%}\n{count:,.0f}"
            panel.text(j, i, text, ha="center", va="center", color=color, fontsize=8)
    ticks = range(len(found.scale))
    panel.set_xticks(ticks, list(map(str, found.scale)))
    panel.set_yticks(ticks, list(map(str, found.scale)))
    panel.set_xlabel(f"grade by {short(finding.other)}")
    panel.set_ylabel(f"grade by {short(finding.people)}")
    kappa, said = found.headline["kappa"], ""
    if kappa.value is not None:
        said = f"kappa {kappa.value:.2f}"
        if kappa.low is not None and kappa.high is not None:
            said += f" [{kappa.low:.2f}, {kappa.high:.2f}]"
    panel.set_title(f"{found.pairs:,} pairs  {said}", fontsize=10)


def _queries(panel: Axes, finding: Finding) -> None:
    """Each query's signed bias against its share of equal grades; larger dots, more pairs."""
    rows = finding.details.queries
    sizes = np.array([row.pairs for row in rows], dtype=np.float64)
    area = 15 + 85 * sizes / sizes.max() if len(rows) else []
    shares, biases = [row.agreement for row in rows], [row.bias for row in rows]
    panel.scatter(biases, shares, s=area, alpha=0.5, color="tab:blue", linewidths=0)
    panel.axvline(0, color="gray", linewidth=0.8)
    for row in [row for row in rows if row.mae > 0][:5]:
        label = row.query_id if len(row.query_id) <= 24 else row.query_id[:23] + "…"
        side = "right" if row.bias > float(np.mean(panel.get_xlim())) else "left"
        panel.annotate(label, (row.bias, row.agreement), fontsize=7, ha=side)
    panel.set_xlabel("signed bias, in grades (right: more generous than people)")
    panel.set_ylabel("share of pairs with the same grade")
    panel.set_ylim(-0.02, 1.02)
    panel.set_title(f"{len(rows):,} queries", fontsize=10)


def _systems(panel: Axes, finding: Finding) -> None:
    """Each system's score under people and under the other."""
    board = finding.board
    if board is None:
        panel.set_axis_off()
        return
    ours, theirs = [s.people for s in board.systems], [s.other for s in board.systems]
    ends = min(*ours, *theirs), max(*ours, *theirs)
    panel.plot(ends, ends, color="gray", linewidth=0.8)
    panel.scatter(ours, theirs, s=90, color="tab:orange", alpha=0.6, linewidths=0)
    if len(board.systems) <= MOST_NAMED:
        for number, (x, y) in enumerate(zip(ours, theirs, strict=True), start=1):
            panel.annotate(str(number), (x, y), fontsize=7, ha="center", va="center")
        names = "\n".join(f"{i} {system.run}" for i, system in enumerate(board.systems, start=1))
        corner = panel.transAxes
        panel.text(0.98, 0.02, names, fontsize=6, ha="right", va="bottom", transform=corner)
    panel.set_xlabel(f"{board.measure} by {short(finding.people)}")
    panel.set_ylabel(f"{board.measure} by {short(finding.other)}")
    tau = "undefined" if board.tau_b is None else f"{board.tau_b:.2f}"
    panel.set_title(f"{len(board.systems)} systems, tau-b {tau}", fontsize=10)
