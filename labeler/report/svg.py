"""Elements of SVG as text: every text escaped, every coordinate short, colors left to the page."""

from __future__ import annotations

from labeler.report.neutral import html_text, printable

Spot = tuple[float, float]
"""A place in pixels, from the left and from the top."""

SIZE = 12
"""The size of letters in pixels; on a page it is shown as it is."""
_WIDTHS = {
    letter: width
    for letters, width in {
        "ijl'|": 0.22,
        " !,./:;I[\\]ft": 0.28,
        '()-`r"{}': 0.34,
        "*^": 0.42,
        "cksvxyzJ": 0.5,
        "FTZ+<=>~": 0.61,
        "ABEKPSVXY&": 0.67,
        "CDHNRUw": 0.73,
        "GOQ": 0.78,
        "Mm": 0.84,
        "W%": 0.95,
        "@…→↓": 1.0,
    }.items()
    for letter in letters
}
"""Widths of letters of Helvetica and its like, in sizes; of the other ASCII ones it is 0.56."""


def svg(width: float, height: float, parts: str, words_of: tuple[str, str]) -> str:
    """A chart as an image with a title and a description, for who hears it."""
    title, message = (html_text(text) for text in words_of)
    size = f'width="{short(width)}" height="{short(height)}"'
    box = f'viewBox="0 0 {short(width)} {short(height)}"'
    head = f"<title>{title}</title><desc>{message}</desc>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" {size} {box}>'
        f"{head}{parts}</svg>"
    )


def short(number: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{number:.1f}".removesuffix(".0")


def element(tag: str, kind: str, tip: str = "", /, **attributes: float | str) -> str:
    """An element without words, of a class `kind`; `tip` is what a pointer on it shows."""
    written = "".join(
        f' {name}="{short(value) if isinstance(value, float | int) else html_text(value)}"'
        for name, value in attributes.items()
    )
    start = f'<{tag} class="{kind}"{written}'
    return f"{start}><title>{html_text(tip)}</title></{tag}>" if tip else f"{start}/>"


def line(kind: str, start: Spot, end: Spot) -> str:
    """A straight line."""
    return element("line", kind, x1=start[0], y1=start[1], x2=end[0], y2=end[1])


def mark(kind: str, at: Spot, tip: str = "") -> str:
    """A disc of a class at its middle."""
    return element("circle", kind, tip, cx=at[0], cy=at[1], r=4.5)


def words(kind: str, at: Spot, text: str, room: float | None = None) -> str:
    """Words at a point of their base line; `kind` may say where that is: `end` or `middle`.

    A longer text than `room` is cut, and shown in full by a pointer. The letters take the width
    that was reckoned with, whatever font there is, so that no words run into others.
    """
    whole = printable(text)
    shown = whole if room is None else fitted(whole, room)
    tip = f"<title>{html_text(text)}</title>" if shown != whole else ""
    where = f'x="{short(at[0])}" y="{short(at[1])}"'
    if len(shown) > 1 and all(c.isascii() or c in _WIDTHS for c in shown):
        where += f' textLength="{short(length(shown))}" lengthAdjust="spacingAndGlyphs"'
    return f'<text class="{kind}" {where}>{html_text(shown)}{tip}</text>'


def length(text: str) -> float:
    """Pixels that a text takes; letters beyond ASCII are reckoned as broad as any."""
    return SIZE * sum(_WIDTHS.get(c, 0.56 if c.isascii() else 1.05) for c in text)


def fitted(text: str, room: float) -> str:
    """A text within so many pixels: of a longer one its beginning and its end."""
    if length(text) <= room:
        return text
    for half in range(len(text) // 2, 0, -1):
        cut = f"{text[:half].rstrip()}…{text[-half:].lstrip()}"
        if length(cut) <= room:
            return cut
    return "…"
