"""Small words that every message needs: one query, two queries."""

from __future__ import annotations


def count_of(number: int, one: str, many: str) -> str:
    """`1 query`, `2,000 queries`."""
    return f"{number:,} {one if number == 1 else many}"
