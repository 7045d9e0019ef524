"""Rows by their keys, without the keys: ids of ten million passages in a quarter of a gigabyte."""

from __future__ import annotations

from array import array

_FEWEST = 1 << 10
_FULL = 2 / 3
"""Where more of the table is taken, it is doubled: a key is then found in two steps on average."""


class RowIndex:
    """The row of each key, counted from 0 in the order in which the keys came.

    Two hashes of 64 bits stand for a key, some 25 bytes where a dict of strings takes 150. So two
    keys are the same where these 128 bits are: among 10^7 different keys, once in 10^24 times. The
    keys that came last can be forgotten.
    """

    __slots__ = ("_first", "_second", "_table")

    def __init__(self) -> None:
        self._first = array("q")
        self._second = array("q")
        self._table = array("I", bytes(4 * _FEWEST))

    def __len__(self) -> int:
        return len(self._first)

    def add(self, key: str) -> int:
        """The row of a key, which is a new one where the key is new."""
        slot = self._slot(key)
        if self._table[slot]:
            return self._table[slot] - 1
        row = len(self._first)
        self._first.append(hash(key))
        self._second.append(hash(f"{key}\0"))
        self._table[slot] = row + 1
        if len(self._first) > _FULL * len(self._table):
            self._double()
        return row

    def find(self, key: str) -> int | None:
        """The row of a key; None where there is no such key."""
        number = self._table[self._slot(key)]
        return number - 1 if number else None

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._table[self._slot(key)] > 0

    def go_back(self, count: int) -> None:
        """Forget all keys but the first `count`.

        A key is put behind earlier ones of its hash. So the last one leaves no gap before another.
        """
        mask = len(self._table) - 1
        for row in range(len(self._first) - 1, count - 1, -1):
            slot = self._first[row] & mask
            while self._table[slot] != row + 1:
                slot = slot + 1 & mask
            self._table[slot] = 0
        del self._first[count:], self._second[count:]

    def _slot(self, key: str) -> int:
        """Where the table holds a key's row, or has room for it."""
        table, first = self._table, self._first
        value, mask = hash(key), len(table) - 1
        slot = value & mask
        while number := table[slot]:
            if first[number - 1] == value and self._second[number - 1] == hash(f"{key}\0"):
                break
            slot = slot + 1 & mask
        return slot

    def _double(self) -> None:
        table = array("I", bytes(8 * len(self._table)))
        mask = len(table) - 1
        for number, value in enumerate(self._first, start=1):
            slot = value & mask
            while table[slot]:
                slot = slot + 1 & mask
            table[slot] = number
        self._table = table
