"""Rows by their keys, held against a dict."""

import random
import tracemalloc

from labeler.files.jsonl import RowIndex


def test_rows_are_those_of_a_dict() -> None:
    rng, rows, expected = random.Random(3), RowIndex(), dict[str, int]()
    for _ in range(5000):
        key = f"d{rng.randrange(3000)}"
        assert rows.find(key) == expected.get(key)
        assert rows.add(key) == expected.setdefault(key, len(expected))
        assert (key in rows, len(rows)) == (True, len(expected))
    assert "d3001" not in rows
    assert 3 not in rows


def test_keys_that_came_last_are_forgotten() -> None:
    rows = RowIndex()
    for count in (700, 1500, 20, 3000):
        before = len(rows)
        for number in range(count):
            rows.add(f"{count} {number}")
        rows.go_back(before + count // 2)
        for number in range(count):
            is_new = number >= count // 2
            assert rows.find(f"{count} {number}") == (None if is_new else before + number)


def test_a_key_takes_a_few_tens_of_bytes() -> None:
    tracemalloc.start()
    rows = RowIndex()
    for number in range(20_000):
        rows.add(f"a long identifier of a passage, {number}")
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < 30 * 20_000
