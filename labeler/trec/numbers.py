"""Columns of digits as numbers, rounded as Python rounds them; `Irregular` where one is none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.trec.columns import Fields, Irregular

_NUMERIC = np.zeros(256, dtype=np.bool_)
_NUMERIC[list(b"0123456789+-.eE")] = True
_TENS = np.array([float(f"1e{power}") for power in range(23)])
_EXACT = 2**53
_DIGITS = 18
_GRADE_DIGITS = 10
_LONGEST = 100
"""Every number of a column takes as much memory as the longest one here."""


class Numbers(NamedTuple):
    """A column's digits as integers, how many follow a point, which have one, which a minus.

    Irregular is whatever is not a sign, digits and a point, or has too many digits for 64 bits.
    """

    value: Integers
    decimals: Integers
    pointed: Flags
    negative: Flags
    odd: Flags


def numbers(part: Fields, column: int) -> Numbers:
    """One column, digit by digit: all first characters at once, then all second ones, and so on."""
    starts = part.starts[:, column]
    lengths = part.ends[:, column] - starts
    first = part.text[starts]
    negative = first == ord("-")
    value = np.zeros(len(starts), dtype=np.int64)
    decimals = np.zeros(len(starts), dtype=np.int64)
    digits = np.zeros(len(starts), dtype=np.int64)
    pointed = np.zeros(len(starts), dtype=np.bool_)
    odd = lengths > _DIGITS + 2
    for i in range(min(int(np.max(lengths, initial=0)), _DIGITS + 2)):
        byte = part.text[starts + i]
        live = lengths > i  # shorter fields have ended
        digit = byte - np.uint8(48)  # what is no digit wraps around to 10 or more
        good = (digit < 10) & live
        value = np.where(good, value * 10 + digit, value)
        digits += good
        decimals += good & pointed  # digits after the point
        point = (byte == ord(".")) & live
        signed = (negative | (first == ord("+"))) if i == 0 else np.False_
        odd |= live & ~(good | (point & ~pointed) | signed)  # a second point is odd, too
        pointed |= point
    odd |= (digits == 0) | (digits > _DIGITS)
    return Numbers(value, decimals, pointed, negative, odd)


def integers(part: Fields, column: int) -> Integers:
    """Whole numbers; `Irregular` where one is not."""
    read = numbers(part, column)
    long = part.ends[:, column] - part.starts[:, column] > _GRADE_DIGITS
    if (read.odd | read.pointed | long | (read.value >= 2**31)).any():
        raise Irregular
    return np.where(read.negative, -read.value, read.value)


def floats(part: Fields, column: int) -> Floats:
    """Decimal numbers as doubles, rounded as strtod rounds; `Irregular` where one is not finite.

    A whole number up to 2 ** 53 over a power of ten up to 10 ** 22 is exact after one division.
    """
    read = numbers(part, column)
    odd = read.odd | (read.value > _EXACT)
    size = read.value / _TENS[np.minimum(read.decimals, 22)]
    number: Floats = np.where(read.negative, -size, size)
    if odd.any():
        number[odd] = _parsed_by_numpy(part, column, np.flatnonzero(odd))
    return number


def _parsed_by_numpy(part: Fields, column: int, lines: Integers) -> Floats:
    """Numbers with exponents or many digits, by numpy's own strtod."""
    starts = part.starts[lines, column]
    lengths = part.ends[lines, column] - starts
    width = int(lengths.max())
    if width > _LONGEST:
        raise Irregular
    offset = np.arange(width)
    inside = offset < lengths[:, None]  # (lines, width): which characters belong to the field
    text = part.text[np.minimum(starts[:, None] + offset, len(part.text) - 1)]
    if (inside & ~_NUMERIC[text]).any():
        raise Irregular
    try:
        padded = np.where(inside, text, np.uint8(0)).view(f"S{width}").ravel()
        number = padded.astype(np.float64)
    except ValueError as error:
        raise Irregular from error
    if not np.isfinite(number).all():
        raise Irregular
    return number
