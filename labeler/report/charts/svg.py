"""Elements of SVG as text: every text escaped, every coordinate short, colors left to the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from labeler.report.neutral import html_text

SIZE = 12
"""The size of letters in pixels; on a page it is shown as it is."""
_NARROW = frozenset("iljtfrI.,:;'|!()[] -/")
_BROAD = frozenset("mwMW@%&")


def svg(width: float, height: float, parts: str, words: tuple[str, str]) -> str:
    """A chart as an image with a title and a description, for who hears it."""
    title, message = (html_text(text) for text in words)
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


def line(kind: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """A straight line."""
    return element("line", kind, x1=start[0], y1=start[1], x2=end[0], y2=end[1])


def rectangle(kind: str, corner: tuple[float, float], size: tuple[float, float], tip: str) -> str:
    """A rectangle, from its upper left corner."""
    (x, y), (width, height) = corner, size
    return element("rect", kind, tip, x=x, y=y, width=width, height=height)


def dot(kind: str, center: tuple[float, float], radius: float, tip: str = "") -> str:
    """A filled circle."""
    return element("circle", kind, tip, cx=center[0], cy=center[1], r=radius)


def dots(kind: str, centers: Iterable[tuple[float, float]], size: float) -> str:
    """Many filled circles as one line of round ends, a tenth as long as an element for each."""
    starts = "".join(f"M{short(x)} {short(y)}h0" for x, y in centers)
    return element("path", kind, d=starts, **{"stroke-width": size}) if starts else ""


def uprights(kind: str, across: Iterable[float], spans: Sequence[tuple[float, float]]) -> str:
    """Vertical lines as one element, each in pieces from top to bottom."""
    pieces = "".join(
        f"M{short(x)} {short(top)}V{short(bottom)}" for x in across for top, bottom in spans
    )
    return element("path", kind, d=pieces) if pieces else ""


def path(kind: str, points: Iterable[tuple[float, float]], tip: str = "") -> str:
    """A line through points; one that ends where it began encloses an area."""
    joined = "L".join(f"{short(x)} {short(y)}" for x, y in points)
    return element("path", kind, tip, d=f"M{joined}") if joined else ""


def words(kind: str, at: tuple[float, float], text: str, full: str = "") -> str:
    """Words at a point of their base line; `kind` may say where that is: `end` or `middle`.

    `full` is shown by a pointer where `text` is cut.
    """
    tip = f"<title>{html_text(full)}</title>" if full and full != text else ""
    where = f'x="{short(at[0])}" y="{short(at[1])}"'
    return f'<text class="{kind}" {where}>{html_text(text)}{tip}</text>'


def length(text: str, size: float = SIZE) -> float:
    """Pixels that a text takes at most, in the widest of the common sans-serif letters."""
    return size * sum(map(_letter, text))


def _letter(character: str) -> float:
    if character in _NARROW:
        return 0.42
    if character in _BROAD:
        return 1.0
    if not character.isascii():
        return 1.05
    return 0.72 if character.isupper() else 0.645


def fitted(text: str, room: float, size: float = SIZE) -> str:
    """A text within so many pixels: of a longer one its beginning and its end."""
    if length(text, size) <= room:
        return text
    for half in range(len(text) // 2, 0, -1):
        cut = f"{text[:half].rstrip()}…{text[-half:].lstrip()}"
        if length(cut, size) <= room:
            return cut
    return "…"
