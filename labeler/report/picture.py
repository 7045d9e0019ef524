"""Pictures of results: charts below one another as a file, PNG, SVG or PDF."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from labeler.errors import Misconfigured, Misuse
from labeler.messages import missing_extra
from labeler.report.charts import WIDTH, Drawing
from labeler.report.render import fold
from labeler.report.svg import element, length, svg, words

ENDINGS = (".png", ".svg", ".pdf")
_MARGIN, _LINE, _GAP = 24, 18, 30
"""Pixels around a picture, from one line of words to the next, and between charts."""
_LARGE = 1.25
"""How much larger the letters of titles are."""


def check_ending(path: Path) -> None:
    """Refuse what could not be drawn: another ending, or no library for it."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise Misuse(f"{path}: expected a picture's name to end in {', '.join(ENDINGS)}")
    if ending != ".svg" and find_spec("vl_convert") is None:
        raise Misconfigured(
            missing_extra("plot", f"a picture in {ending} (.svg needs nothing) needs"),
            parameter="picture",
        )


def picture_bytes(drawings: Sequence[Drawing], ending: str) -> bytes:
    """The charts below one another, each under its title and message, as the bytes of a file."""
    text, kind = picture_svg(drawings), ending.lower()
    if kind == ".svg":
        return text.encode()
    import vl_convert

    return bytes(vl_convert.svg_to_pdf(text) if kind == ".pdf" else vl_convert.svg_to_png(text, 2))


def picture_svg(drawings: Sequence[Drawing]) -> str:
    """The same as one SVG element, in the light colors of a page."""
    parts, y = [], float(_MARGIN)
    for drawing in drawings:
        heading = words("group", (0, 0), drawing.title, WIDTH / _LARGE)
        shift = f"translate({_MARGIN} {y + 14}) scale({_LARGE})"
        parts.append(f'<g transform="{shift}">{heading}</g>')
        y += 18
        for text in fold(drawing.message.split(), WIDTH, length):
            y += _LINE
            parts.append(words("tick", (_MARGIN, y), text))
        y += _LINE
        parts.append(f'<g transform="translate({_MARGIN} {y})">{drawing.parts}</g>')
        y += drawing.height + _GAP
    width = WIDTH + 2 * _MARGIN
    paper = f"<style>{_style()}</style>" + element("rect", "paper", width=width, height=y)
    titles = ", ".join(drawing.title for drawing in drawings)
    return svg(width, y, paper + "".join(parts), (titles, ""))


@cache
def _style() -> str:
    """The style of charts on paper, each color in place of its name."""
    css = (files("labeler.report") / "charts.css").read_text(encoding="utf-8")
    named, _, rules = css.partition("@supports")
    colors = dict(re.findall(r"--(\w+): (#\w+)", named))
    rules = re.sub(
        r"var\(--(\w+)\)", lambda name: colors[name[1]], rules[rules.index("\n.chart") :]
    )
    return f".paper {{ fill: {colors['paper']}; }}{rules}"
