"""Lines of white-space separated columns as numpy arrays, block by block, for files of any size.

This is the fast twin of the readers in `trec`, and never their rival: whatever it does not
recognise at once (a comment, a blank line, a second space) is put to the slow reader, which writes
the line in its plain form or says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags, Floats, Integers
from labeler.errors import BadInput
from labeler.files.read import byte_blocks
from labeler.trec.rows import rows

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

_PADDING = b"\0" * 64
_SPACE, _NEWLINE = 32, 10
_WHITE = np.zeros(256, dtype=np.bool_)
_WHITE[list(b" \t\n\r\v\f")] = True
_NUMERIC = np.zeros(256, dtype=np.bool_)
_NUMERIC[list(b"0123456789+-.eE")] = True
_MASKS = np.array([(1 << 64) - (1 << (64 - 8 * kept)) for kept in range(9)], dtype=np.uint64)
_TENS = np.array([float(f"1e{power}") for power in range(23)])
_EXACT = 2**53
_ALL = (1 << 64) - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_DIGITS = 18
_GRADE_DIGITS = 10


class Fields(NamedTuple):
    """A block's text, and where each line's columns start and end: two `(lines, columns)` arrays.

    `number` is that of the block's first line in its file.
    """

    text: Bytes
    starts: Integers
    ends: Integers
    number: int

    def bytes(self, line: int, column: int) -> bytes:
        """One field."""
        return self.text[self.starts[line, column] : self.ends[line, column]].tobytes()


class Odd(Exception):
    """A field that the fast path does not read; the slow reader knows what to say."""


def fields(path: Path, names: str, size: int, copy: Path | None = None) -> Iterator[Fields]:
    """The lines of a file as blocks of about `size` bytes; `rows` judges unusual ones.

    `copy` holds the bytes of a `path` that can be read only once.
    """
    number, found = 1, 0
    for block in byte_blocks(copy or path, size):
        lines = block.count(b"\n")
        plain = split(block.replace(b"\r\n", b"\n") if b"\r\n" in block else block, names, number)
        part = plain if plain is not None else slowly(path, block, names, number)
        number += lines
        found += len(part.starts)
        if len(part.starts):
            yield part
    if not found:
        raise BadInput.at(path, max(number - 1, 1), f"no line in it; expected {names}")


def slowly(path: Path, block: bytes, names: str, number: int) -> Fields:
    """A block through the slow reader, which raises what is wrong with it."""
    numbered = ((number + i, line + b"\n") for i, line in enumerate(block.split(b"\n")))
    plain = b"".join(b" ".join(c) + b"\n" for _, c in rows(path, names, numbered))
    found = split(plain, names, number)
    if found is None:
        raise Odd
    return found


def from_lines(lines: Iterable[bytes], names: str) -> Fields:
    """Lines that have a single white space after each field."""
    found = split(b"".join(lines), names, 2)
    if found is None:
        raise Odd
    return found


def split(block: bytes, names: str, number: int) -> Fields | None:
    """The fields of a block whose lines all have one white space after each field, else None."""
    columns = len(names.split())
    text = np.frombuffer(block + _PADDING, dtype=np.uint8)
    inside = text[: len(block)]
    ends = np.flatnonzero(inside <= _SPACE)
    kinds = inside[ends]
    if not _WHITE[kinds].all():  # a control character may be part of an id, but NUL may not
        if b"\0" in block:
            return None
        ends = np.flatnonzero(_WHITE[inside])
        kinds = inside[ends]
    if len(ends) % columns:
        return None
    starts = np.empty_like(ends)
    starts[:1], starts[1:] = 0, ends[:-1] + 1
    newline = (kinds == _NEWLINE).reshape(-1, columns)
    regular = newline[:, -1].all() and newline.sum() == len(newline) and (ends > starts).all()
    if not regular or (text[starts[::columns]] == ord("#")).any() or not _is_utf8(block, inside):
        return None
    if number == 1 and block.startswith(b"\xef\xbb\xbf"):
        return None
    return Fields(text, starts.reshape(-1, columns), ends.reshape(-1, columns), number)


def _is_utf8(block: bytes, text: Bytes) -> bool:
    if not len(text) or int(text.max()) < 128:
        return True
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True)
class Keys:
    """Texts as numbers: big-endian words padded with zeros, so that they order as the bytes do."""

    words: Words
    hashes: Words

    def take(self, index: Integers | Flags | slice) -> Keys:
        """Some of the texts."""
        return Keys(self.words[index], self.hashes[index])


def keys(part: Fields, column: int) -> Keys:
    """The keys of one column."""
    starts = part.starts[:, column]
    lengths = part.ends[:, column] - starts
    width = int(np.max(lengths, initial=1) + 7) // 8
    text = part.text if width <= 8 else np.append(part.text, np.zeros(8 * width, dtype=np.uint8))
    view = np.ndarray((len(text) - 7,), dtype=">u8", buffer=text, strides=(1,))
    words = np.empty((len(starts), width), dtype=np.uint64)
    for i in range(width):
        words[:, i] = view[starts + 8 * i]
        words[:, i] &= _MASKS[np.clip(lengths - 8 * i, 0, 8)]
    return Keys(words, hashed(words))


def keys_of(ids: Sequence[bytes]) -> Keys:
    """The keys of some ids, none of which holds a NUL."""
    width = max(map(len, ids), default=1) + 7
    padded = np.array(ids, dtype=f"S{width // 8 * 8}")
    words = padded.view(">u8").reshape(len(ids), -1).astype(np.uint64)
    return Keys(words, hashed(words))


def hashed(words: Words) -> Words:
    """A 64-bit hash of each row, the same for rows that are padded to other widths."""
    found = np.zeros(len(words), dtype=np.uint64)
    for i in range(words.shape[1]):
        spread = words[:, i] * np.uint64(0x9E3779B97F4A7C15 + 2 * i * 0x632BE59BD9B4E019 & _ALL)
        found += spread ^ (spread >> np.uint64(32))
    found *= np.uint64(0xD6E8FEB86659FD93)
    return found ^ (found >> np.uint64(32))


def mixed(group: Integers) -> Words:
    """A number for each query to keep equal documents of different queries apart."""
    spread = (group.astype(np.uint64) + np.uint64(1)) * _GOLDEN
    return spread ^ (spread >> np.uint64(29))


def widened(words: Words, width: int) -> Words:
    """The same texts in `width` words."""
    if words.shape[1] >= width:
        return words
    return np.pad(words, ((0, 0), (0, width - words.shape[1])))


class Numbers(NamedTuple):
    """A column's digits as integers, how many follow a point, which have one, which a minus.

    Odd is whatever is not a sign, digits and a point, or has too many digits for 64 bits.
    """

    value: Integers
    places: Integers
    pointed: Flags
    negative: Flags
    odd: Flags


def numbers(part: Fields, column: int) -> Numbers:
    """One column, digit by digit."""
    starts = part.starts[:, column]
    lengths = part.ends[:, column] - starts
    first = part.text[starts]
    negative = first == ord("-")
    value = np.zeros(len(starts), dtype=np.int64)
    places = np.zeros(len(starts), dtype=np.int64)
    digits = np.zeros(len(starts), dtype=np.int64)
    pointed = np.zeros(len(starts), dtype=np.bool_)
    odd = lengths > _DIGITS + 2
    for i in range(min(int(np.max(lengths, initial=0)), _DIGITS + 2)):
        byte = part.text[starts + i]
        live = lengths > i
        digit = byte - np.uint8(48)
        good = (digit < 10) & live
        value = np.where(good, value * 10 + digit, value)
        digits += good
        places += good & pointed
        point = (byte == ord(".")) & live
        signed = (negative | (first == ord("+"))) if i == 0 else np.False_
        odd |= live & ~(good | (point & ~pointed) | signed)
        pointed |= point
    odd |= (digits == 0) | (digits > _DIGITS)
    return Numbers(value, places, pointed, negative, odd)


def integers(part: Fields, column: int) -> Integers:
    """Whole numbers; `Odd` where one is not."""
    read = numbers(part, column)
    long = part.ends[:, column] - part.starts[:, column] > _GRADE_DIGITS
    if (read.odd | read.pointed | long | (read.value >= 2**31)).any():
        raise Odd
    return np.where(read.negative, -read.value, read.value)


def floats(part: Fields, column: int) -> Floats:
    """Decimal numbers as doubles, rounded as strtod rounds; `Odd` where one is none or not finite.

    A whole number up to 2 ** 53 over a power of ten up to 10 ** 22 is exact after one division.
    """
    read = numbers(part, column)
    odd = read.odd | (read.value > _EXACT)
    size = read.value / _TENS[np.minimum(read.places, 22)]
    found: Floats = np.where(read.negative, -size, size)
    if odd.any():
        found[odd] = _others(part, column, np.flatnonzero(odd))
    return found


def _others(part: Fields, column: int, lines: Integers) -> Floats:
    """Numbers with exponents or many digits, by numpy's own strtod."""
    starts = part.starts[lines, column]
    lengths = part.ends[lines, column] - starts
    width = int(lengths.max())
    place = np.arange(width)
    inside = place < lengths[:, None]
    text = part.text[np.minimum(starts[:, None] + place, len(part.text) - 1)]
    if (inside & ~_NUMERIC[text]).any():
        raise Odd
    try:
        found = np.where(inside, text, np.uint8(0)).view(f"S{width}").ravel().astype(np.float64)
    except ValueError as error:
        raise Odd from error
    if not np.isfinite(found).all():
        raise Odd
    return found
