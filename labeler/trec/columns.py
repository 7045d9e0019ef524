"""Lines of white-space separated columns as numpy arrays, block by block, for files of any size.

It does what the other readers of `trec` do, faster, and leaves errors to them: whatever it does not
recognise at once (a comment, a blank line, a second space) is put to the slow reader, which writes
the line in its plain form or says what is wrong with it.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags, Floats, Integers
from labeler.errors import BadInput
from labeler.files.read import byte_blocks
from labeler.trec.rows import LONGEST_ID, rows

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Small = NDArray[np.int32]

_PADDING = b"\0" * 64
_SPACE, _NEWLINE = 32, 10
_WHITE = np.zeros(256, dtype=np.bool_)
_WHITE[list(b" \t\n\r\v\f")] = True
_MASKS = np.array([(1 << 64) - (1 << (64 - 8 * length)) for length in range(9)], dtype=np.uint64)
_ALL = (1 << 64) - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Fields(NamedTuple):
    """A block's text, and where each line's columns start and end: two `(lines, columns)` arrays.

    `number` is that of the block's first line in its file.
    """

    text: Bytes
    starts: Integers
    ends: Integers
    number: int

    def cell(self, line: int, column: int) -> bytes:
        """One field."""
        return self.text[self.starts[line, column] : self.ends[line, column]].tobytes()

    def cells(self, lines: Integers | slice, column: int) -> list[bytes]:
        """One field of each of some lines."""
        text = self.text.tobytes()
        starts, ends = self.starts[lines, column].tolist(), self.ends[lines, column].tolist()
        return [text[start:end] for start, end in zip(starts, ends, strict=True)]

    def slice(self, first: int, last: int) -> Fields:
        """The lines from `first` up to `last`."""
        number = self.number + first
        return Fields(self.text, self.starts[first:last], self.ends[first:last], number)

    def lines(self, first: int, last: int) -> bytes:
        """The text of the lines from `first` up to `last`."""
        return self.text[self.starts[first, 0] : self.ends[last - 1, -1] + 1].tobytes()


@dataclass(frozen=True)
class Stretches:
    """The stretches of a block's lines that name one query: their ids and their first lines.

    `edges` has one more than there are stretches, the number of lines.
    """

    names: list[bytes]
    edges: Integers

    @classmethod
    def of(cls, part: Fields) -> Stretches:
        """The stretches of a block, by its first column."""
        words = words_of(part, 0)
        is_first = np.append(True, (words[1:] != words[:-1]).any(axis=1))
        edges = np.append(np.flatnonzero(is_first), len(words))
        return cls([part.cell(int(line), 0) for line in edges[:-1]], edges)

    def slice(self, first: int, last: int) -> Stretches:
        """The stretches from `first` up to `last`, their lines counted from 0."""
        edges = self.edges[first : last + 1]
        return Stretches(self.names[first:last], edges - edges[0])

    @property
    def of_line(self) -> Integers:
        """The number of the stretch in which each line stands."""
        return np.repeat(np.arange(len(self.names)), np.diff(self.edges))


class Irregular(Exception):
    """A field that the fast path does not read; the slow reader knows what to say."""


def fields(path: Path, names: str, size: int) -> Iterator[Fields]:
    """The lines of a file as blocks of about `size` bytes; `rows` judges unusual ones."""
    number, count = 1, 0
    for block in byte_blocks(path, size):
        plain = split(block.replace(b"\r\n", b"\n") if b"\r" in block else block, names, number)
        part = plain if plain is not None else slowly(path, block, names, number)
        number += block.count(b"\n") if plain is None else len(plain.starts)
        count += len(part.starts)
        if len(part.starts):
            yield part
    if not count:
        raise BadInput.at(path, max(number - 1, 1), f"no line in it; expected {names}")


def slowly(path: Path, block: bytes, names: str, number: int) -> Fields:
    """A block through the slow reader, which raises what is wrong with it."""
    numbered = ((number + i, line + b"\n") for i, line in enumerate(block.split(b"\n")))
    lines = list(rows(path, names, numbered))
    part = split(b"".join(b" ".join(c) + b"\n" for _, c in lines), names, number)
    if part is None:  # a field is not UTF-8
        raise Irregular
    return part


def split(block: bytes, names: str, number: int) -> Fields | None:
    """The fields of a block whose lines all have one white space after each field, else None."""
    columns = len(names.split())
    text = np.frombuffer(block + _PADDING, dtype=np.uint8)
    inside = text[: len(block)]
    ends = np.flatnonzero(inside <= _SPACE)  # a field ends where white space follows
    kinds = inside[ends]
    lines = np.count_nonzero(kinds == _NEWLINE)
    is_white = np.count_nonzero(kinds == _SPACE) + lines == len(kinds) or _WHITE[kinds].all()
    if not is_white:  # a control character may be part of an id, but NUL may not
        if b"\0" in block:
            return None
        ends = np.flatnonzero(_WHITE[inside])
        kinds = inside[ends]
    if len(ends) % columns:
        return None
    starts = np.empty_like(ends)
    starts[:1], starts[1:] = 0, ends[:-1] + 1
    # a newline stands in the last column, and there alone
    regular = (kinds[columns - 1 :: columns] == _NEWLINE).all() and lines * columns == len(ends)
    if (
        not regular
        or (ends <= starts).any()
        or (text[starts[::columns]] == ord("#")).any()
        or not (block.isascii() or is_utf8(block))
    ):
        return None
    if number == 1 and block.startswith(b"\xef\xbb\xbf"):
        return None
    return Fields(text, starts.reshape(-1, columns), ends.reshape(-1, columns), number)


def is_utf8(block: bytes) -> bool:
    """Whether these bytes are text."""
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def joined_texts(texts: Sequence[str]) -> Fields:
    """Texts that a program holds as the one column of a block; `Irregular` where they are none."""
    try:
        text = np.frombuffer("\n".join([*texts, _PADDING.decode()]).encode(), dtype=np.uint8)
    except (TypeError, UnicodeEncodeError) as error:
        raise Irregular from error
    ends = np.flatnonzero(text == _NEWLINE)
    if len(ends) != len(texts):
        raise Irregular
    starts = np.append(0, ends[:-1] + 1)[: len(ends)]
    return Fields(text, starts[:, None], ends[:, None], 1)


@dataclass(frozen=True)
class Keys:
    """Texts as numbers: big-endian words padded with zeros, so that they order as the bytes do."""

    words: Words
    hashes: Words

    def take(self, index: Integers | Small | Flags | slice) -> Keys:
        """Some of the texts."""
        return Keys(self.words[index], self.hashes[index])


@dataclass(frozen=True, eq=False)
class Ids(Sequence[str]):
    """Ids as keys, whose texts are made as they are asked for."""

    keys: Keys

    def __getitem__(self, at: Any) -> Any:
        return texts_of(self.keys.words[[at]])[0].decode()

    def __iter__(self) -> Iterator[str]:
        return (text.decode() for text in texts_of(self.keys.words))

    def __len__(self) -> int:
        return len(self.keys.words)


def keys_of(ids: Sequence[str]) -> Keys:
    """The keys of ids; `Irregular` where one may stand in no file of lines."""
    return ids.keys if isinstance(ids, Ids) else keys(joined_texts(ids), 0)


def texts_of(words: Words) -> list[bytes]:
    """The texts of some keys."""
    padded = np.ascontiguousarray(words).astype(">u8").view(f"S{8 * words.shape[1]}")
    return padded.ravel().tolist()


def numbered(words: Words) -> tuple[Ids, Small]:
    """The distinct texts of rows in the order in which they first appear, and each row's number."""
    for salt in count():
        hashes = hashed(words, salt)
        order = np.argsort(hashes)
        is_new = np.append(True, np.diff(hashes[order]) != 0)[: len(words)]
        first = np.minimum.reduceat(order, np.flatnonzero(is_new))
        code = np.empty(len(words), dtype=np.int32)
        code[order] = places(np.argsort(first))[np.cumsum(is_new) - 1]
        distinct = words[np.sort(first)]
        if all((words[:, i] == distinct[code, i]).all() for i in range(words.shape[1])):
            return Ids(Keys(distinct, hashed(distinct))), code
    raise AssertionError


def keys(part: Fields, column: int) -> Keys:
    """The keys of one column; `Irregular` where a text is too long, as each takes as much."""
    words = words_of(part, column)
    return Keys(words, hashed(words))


def words_of(part: Fields, column: int, *, evenly: bool = False) -> Words:
    """The words of these keys alone.

    `Irregular` with `evenly` where a few long texts would widen all others too much.
    """
    starts = part.starts[:, column]
    lengths = part.ends[:, column] - starts
    if int(np.max(lengths, initial=1)) > LONGEST_ID:
        raise Irregular
    width = int(np.max(lengths, initial=1) + 7) // 8
    if evenly:
        _check_width(width, len(lengths), int(lengths.sum()) // 8 + len(lengths))
    text = part.text if width <= 8 else np.append(part.text, np.zeros(8 * width, dtype=np.uint8))
    # the eight bytes from each place of the text as one number; what follows a field is masked
    view = np.ndarray((len(text) - 7,), dtype=">u8", buffer=text, strides=(1,))
    words = np.empty((len(starts), width), dtype=np.uint64)
    for i in range(width):
        words[:, i] = view[starts + 8 * i]
        words[:, i] &= _MASKS[np.minimum(np.maximum(lengths - 8 * i, 0), 8)]
    return words


def hashed(words: Words, salt: int = 0) -> Words:
    """A 64-bit hash of each row, the same for rows that are padded to other widths.

    Rows that have one hash have different ones with another `salt`.
    """
    mixed_words = np.zeros(len(words), dtype=np.uint64)
    for i in range(words.shape[1]):  # each word by an odd constant of its own, its halves mixed
        odd = 0x9E3779B97F4A7C15 + 2 * (i + salt) * 0x632BE59BD9B4E019
        spread = words[:, i] * np.uint64(odd & _ALL)
        mixed_words += spread ^ (spread >> np.uint64(32))
    mixed_words *= np.uint64(0xD6E8FEB86659FD93)
    return mixed_words ^ (mixed_words >> np.uint64(32))


def mixed(group: Integers | Small) -> Words:
    """A number for each query to keep equal documents of different queries apart."""
    spread = (group.astype(np.uint64) + np.uint64(1)) * _GOLDEN
    return spread ^ (spread >> np.uint64(29))


def widened(words: Words, width: int) -> Words:
    """The same texts in `width` words."""
    if words.shape[1] >= width:
        return words
    return np.pad(words, ((0, 0), (0, width - words.shape[1])))


_WIDENED = 1 << 25
"""So many words may be added to texts, as each takes as many as the longest."""


def _check_width(width: int, texts: int, words: int) -> None:
    if width * texts > 4 * words + _WIDENED:
        raise Irregular


def joined_words(parts: Sequence[Words]) -> Words:
    """The texts of several parts, one part's after another's; `Irregular` as `words_of`, evenly."""
    width = max(words.shape[1] for words in parts)
    _check_width(width, sum(map(len, parts)), sum(words.size for words in parts))
    return np.concatenate([widened(words, width) for words in parts])


def id_ranks(ids: Sequence[str] | Sequence[bytes]) -> Small:
    """The place of each id among all in their order."""
    if isinstance(ids, Ids):
        return places(np.lexsort(ids.keys.words.T[::-1]))
    return places(np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64))


def places(order: Integers) -> Small:
    """Where each number stands in an order of all numbers from 0."""
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order))
    return ranks


# Columns of digits as numbers, rounded as Python rounds them; `Irregular` where one is none.

_NUMERIC = b"0123456789+-.eE"
_TENS = np.array([float(f"1e{power}") for power in range(23)])
_EXACT = 2**53
_DIGITS = 18
_GRADE_DIGITS = 10
_LOW = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
_SHIFTS = np.array([0, *(8 * (8 - n) for n in range(1, 9))], dtype=np.uint64)
_ONES = np.uint64(0x0101010101010101)
_ZEROS, _POINTS = _ONES * np.uint64(ord("0")), _ONES * np.uint64(ord("."))
_SIXES, _HIGH_HALVES, _HIGHEST_BITS = (_ONES * np.uint64(n) for n in (6, 0xF0, 0x80))
_FILLED = _ZEROS & _LOW[::-1]
_PLACES = np.uint64(0x0706050403020100)
_POWERS = np.array([10**n for n in range(9)], dtype=np.uint64)
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
    """One column, eight characters at a time: each eight are the bytes of one 64-bit number."""
    starts, lengths = part.starts[:, column], part.ends[:, column] - part.starts[:, column]
    first = part.text[starts]
    negative = first == ord("-")
    signed = first <= ord("-")
    if signed.any():
        signed = negative | (first == ord("+"))
        starts, lengths = starts + signed, lengths - signed
    longest = int(np.max(lengths, initial=0))
    odd = lengths > _DIGITS + 1
    value, decimals = np.zeros((2, len(starts)), dtype=np.uint64)
    pointed = np.zeros(len(starts), dtype=np.bool_)
    view = np.ndarray((len(part.text) - 7,), dtype="<u8", buffer=part.text, strides=(1,))
    for offset in range(0, min(longest, _DIGITS + 1), 8):
        own = lengths if longest <= 8 else np.clip(lengths - offset, 0, 8)
        eight = view[starts + offset] & _LOW[own]  # the first character is the lowest byte
        eight <<= _SHIFTS[own]
        eight |= _FILLED[own]  # zeros go before the digits
        eight, has_point, after = _without_point(eight)
        digits = eight ^ _ZEROS
        odd |= ((digits + _SIXES) | digits) & _HIGH_HALVES != 0
        if offset:
            odd |= has_point & pointed
            count = own - has_point
            value *= _POWERS[count]
            after = np.where(pointed, count.astype(np.uint64), after)
        value += _of_eight(digits)
        decimals += after
        pointed |= has_point
    digits_in_all = lengths - pointed
    odd |= (digits_in_all <= 0) | (digits_in_all > _DIGITS)
    return Numbers(value.view(np.int64), decimals.view(np.int64), pointed, negative, odd)


def _without_point(eight: Words) -> tuple[Words, Flags, Words]:
    """Eight characters less their first point; whether there is one, and how many come after it."""
    apart = eight ^ _POINTS  # a point becomes a byte of zeros, whose highest bit is set here
    point = (apart - _ONES) & ~apart & _HIGHEST_BITS
    point &= ~point + np.uint64(1)  # the lowest of several
    has_point = point != 0
    if not has_point.any():
        return eight, has_point, point
    point >>= np.uint64(7)
    below = point - has_point
    above = ~((point << np.uint64(8)) - has_point)
    closed = (eight & below) << np.uint64(8) | ord("0") | (eight & above)
    return np.where(has_point, closed, eight), has_point, point * _PLACES >> np.uint64(56)


def _of_eight(digits: Words) -> Words:
    """The number of eight digits, the highest in the lowest byte: pairs first, then fours."""
    twos = (digits * np.uint64(2561) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    fours = (twos * np.uint64(6553601) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    return fours * np.uint64(42949672960001) >> np.uint64(32)


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
    number: Floats = read.value / _TENS[np.minimum(read.decimals, 22)]
    np.negative(number, out=number, where=read.negative)
    if odd.any():
        number[odd] = _parsed_by_numpy(part, column, np.flatnonzero(odd))
    return number


def _parsed_by_numpy(part: Fields, column: int, lines: Integers) -> Floats:
    """Numbers with exponents or many digits, by numpy's own strtod."""
    texts = part.cells(lines, column)
    if max(map(len, texts)) > _LONGEST or b"".join(texts).translate(None, _NUMERIC):
        raise Irregular
    try:
        number = np.array(texts).astype(np.float64)
    except ValueError as error:
        raise Irregular from error
    if not np.isfinite(number).all():
        raise Irregular
    return number


# Values that are numbered, each as it first appears.


class Codes:
    """Values that come one by one, numbered as they first appear: `place` is the number of each."""

    def __init__(self) -> None:
        self.place: dict[Any, int] = defaultdict(count().__next__)
        self._codes = array("i")

    def add(self, value: Any) -> None:
        """Number one more value."""
        self._codes.append(self.place[value])

    def extend(self, values: Iterable[Any]) -> None:
        """Number more values."""
        self._codes.extend(map(self.place.__getitem__, values))

    @property
    def code(self) -> Small:
        """The number of each value, `(n,)`, where it lies: as long as it is held, none comes."""
        return np.asarray(self._codes)


_AT_ONCE = 1 << 16


def ids_at(ids: Sequence[str], places: Small | Integers) -> Iterator[str]:
    """The ids at some places, of which few are there at a time."""
    if not isinstance(ids, Ids):
        yield from map(ids.__getitem__, plain_values(places))
        return
    for start in range(0, len(places), _AT_ONCE):
        yield from Ids(ids.keys.take(places[start : start + _AT_ONCE]))


def plain_values(column: NDArray[Any]) -> Iterator[Any]:
    """The values of an array as Python's own, of which few are there at a time."""
    for start in range(0, len(column), _AT_ONCE):
        yield from column[start : start + _AT_ONCE].tolist()
