"""Margins: which loss against a baseline would matter, by measure, in the measure's own units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from labeler.errors import Misuse, about
from labeler.evaluation.options import DEFAULT_MEASURES
from labeler.evaluation.ranges import UNBOUNDED
from labeler.metrics import parse, parse_all

Margin = float | Mapping[str, float] | None
DEFAULT_MARGIN = 0.05
"""The smallest difference that users are said to notice: Spärck Jones (1974), J. of Doc. 30(4)."""


def margins_by_measure(margin: Margin, measures: Sequence[str] = ()) -> dict[str, float]:
    """One margin for all measures, or one for each that is named; without any, none.

    Of the default measures the first alone is held.
    """
    if margin is None:
        return {}
    held = DEFAULT_MEASURES[:1] if tuple(measures) in ((), DEFAULT_MEASURES) else measures
    with about("margin"):
        if isinstance(margin, Mapping):
            return {str(parse(name)): _checked(size) for name, size in margin.items()}
        return {str(measure): _checked(margin) for measure in parse_all(held)}


def margins_from(
    texts: Sequence[str], measures: Sequence[str] = (), *, default: bool = False
) -> dict[str, float]:
    """Margins by measure from `0.05`, for all measures, or `nDCG@10:0.05`, for one.

    Where there is no text, a gate's are the default, for measures between 0 and 1 alone.
    """
    named: dict[str, float] = {}
    margins: dict[str, float] = {}
    with about("margin"):
        for text in texts:
            name, size = _read(text)
            named |= {name: size} if name else {}
            margins |= {} if name else margins_by_measure(size, measures)
    if default and not texts:
        margins = margins_by_measure(DEFAULT_MARGIN, measures)
        for name in margins:
            _check_bounded(name)
    return margins | named


def _checked(size: float) -> float:
    if not 0 < size < math.inf:
        raise Misuse(f"a margin is a number above 0, not {size!r}")
    return float(size)


def _read(text: str) -> tuple[str, float]:
    """The measure, "" for all, and the margin."""
    name, _, number = text.rpartition(":")
    try:
        margin = float(number)
    except ValueError:
        margin = math.nan
    if not 0 < margin < math.inf:
        raise Misuse(f"cannot read the margin {text!r}; write it as 0.05 or nDCG@10:0.05")
    return str(parse(name)) if name else "", margin


def _check_bounded(name: str) -> None:
    if parse(name).name in UNBOUNDED:
        problem = f"{name} has no largest value, so that no margin suits it by default"
        raise Misuse(f"{problem}; name one, as {name}:1", parameter="margin")
