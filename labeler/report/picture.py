"""Pictures of results: values with their intervals, in shades that also a copier keeps apart."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, chdir, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misconfigured, Misuse
from labeler.messages import missing_extra
from labeler.report.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf")
LONGEST = 36
MOST_ROWS = 60
INK, MUTED = "#111111", "#888888"


def check_ending(path: Path) -> None:
    """Refuse what could not be drawn: another ending, or no matplotlib."""
    if path.suffix.lower() not in ENDINGS:
        raise Misuse(f"{path}: expected a picture's name to end in {', '.join(ENDINGS)}")
    if find_spec("matplotlib") is None:
        raise Misconfigured(missing_extra("plot", "a picture needs"), parameter="picture")


def picture_bytes(draw: Callable[[Figure], None], ending: str) -> tuple[bytes, list[str]]:
    """What `draw` draws, as the bytes of a file, and what a reader of it should know."""
    with _without_settings_here():
        from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    form, out = ending.lower().removeprefix("."), io.BytesIO()
    with rc_context({"text.parse_math": False, "svg.hashsalt": "labeler"}):
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dates = {"Date": None} if form == "svg" else None
            figure.savefig(out, format=form, dpi=150, metadata=dates)
    missing = any("missing from" in str(warning.message) for warning in caught)
    lacking = ["the picture's font lacks some characters of the names"] if missing else []
    return out.getvalue(), lacking


def _without_settings_here() -> AbstractContextManager[None]:
    """Let matplotlib, when first imported, pass over a file `matplotlibrc` in the current folder.

    It would take that before a person's own settings, and the folder may be somebody else's.
    """
    is_read = "matplotlib" not in sys.modules and os.path.lexists("matplotlibrc")
    return chdir(sys.prefix) if is_read else nullcontext()


@dataclass(frozen=True)
class Bar:
    """A name, a value and the ends of its interval; `other` is a second value beside it.

    `after` stands behind the name, which may be shortened.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    other: float | None = None
    after: str = ""


def forest(panel: Axes, bars: Sequence[Bar], label: str, *, named: bool = True) -> None:
    """A row for each value, the first at the top: a dot, its interval as a line, and its number."""
    rows = range(len(bars))
    for row, bar in zip(rows, bars, strict=True):
        if bar.value is None:
            panel.text(0.5, row, "undefined", color=MUTED, fontsize=8, va="center")
            continue
        if bar.low is not None and bar.high is not None:
            panel.plot([bar.low, bar.high], [row, row], color=MUTED, linewidth=2.4, zorder=1)
        panel.plot([bar.value], [row], "o", color=INK, markersize=5, zorder=2)
        if bar.other is not None:
            panel.plot([bar.other], [row], "s", mfc="white", mec=INK, markersize=6, zorder=3)
    _numbers(panel, bars)
    panel.set_yticks(list(rows), [shortened(bar.name) + bar.after for bar in bars] if named else [])
    panel.set_ylim(len(bars) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
    panel.set_axisbelow(True)
    panel.grid(axis="x", color="#dddddd", linewidth=0.6)
    panel.set_xlabel(label)


def _numbers(panel: Axes, bars: Sequence[Bar]) -> None:
    """Each row's numbers in a column at the panel's right."""
    for row, bar in enumerate(bars):
        if bar.value is None:
            continue
        text = f"{bar.value:.3f}"
        if bar.other is not None:
            text += f" → {bar.other:.3f}"
        elif bar.low is not None and bar.high is not None:
            text += f" [{bar.low:.3f}, {bar.high:.3f}]"
        across = panel.get_yaxis_transform()
        panel.text(1.02, row, text, transform=across, fontsize=7.5, va="center", color=INK)


def matrix(
    panel: Axes, counts: Floats, names: Sequence[str], of_rows: str, of_columns: str
) -> None:
    """Counts `(k, k)` as the shares of their rows, in shades, with both as text."""
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    panel.imshow(shares, cmap="Greys", vmin=0, vmax=1)
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            color = "white" if shares[i, j] > 0.55 else "black"
            text = f"{shares[i, j]:.0%}" + (f"\n{count:,.0f}" if len(names) <= 6 else "")
            panel.text(j, i, text, ha="center", va="center", color=color, fontsize=8)
    panel.set_xticks(range(len(names)), list(names))
    panel.set_yticks(range(len(names)), list(names))
    panel.set_xlabel(of_columns)
    panel.set_ylabel(of_rows)


def height_of(rows: int) -> float:
    """Inches for so many rows and an axis below them."""
    return 1.1 + 0.27 * rows


def shortened(name: str) -> str:
    """A name's beginning and end: models' names differ there."""
    name, half = printable(name), (LONGEST - 1) // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"


def most_rows(bars: Sequence[Bar]) -> tuple[Sequence[Bar], str]:
    """The first of the rows, as many as a picture holds, and a sentence where some are left out."""
    left = len(bars) - MOST_ROWS
    return bars[
        :MOST_ROWS
    ], f"the {left} last of {len(bars)} rows are not drawn" if left > 0 else ""
