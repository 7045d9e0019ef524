"""What a reader of a rater's grades should know of how they were given, as plain findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from labeler.collection.annotations import JournalRow
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.stats.shares import clustered_interval

FEWEST_ALIKE = 20
"""Of fewer grades it says little that all are alike."""
WORDS_A_SECOND = 20.0
"""Faster than people skim: reading for sense goes at 4 (Brysbaert 2019, J. of Memory and Language
109)."""
WORDS_TO_DECIDE = 60
"""So many words may be enough to see that a text is beside the point."""
LEAST_SECONDS = 1.0
OFTEN = 0.1
"""What is so fast in more than this share of answers is said, where chance does not explain it."""


def patterns_of(
    rater: str,
    rows: Sequence[JournalRow],
    words: Mapping[str, int],
    others: Sequence[JournalRow] = (),
) -> Iterator[Finding]:
    """Findings about a rater's blind grades; `words` are those of each document, where known.

    `others` are the grades of the other raters, to which one and the same grade is compared.
    """
    yield from _all_alike(rater, rows, others)
    yield from _too_fast(rater, rows, words)


def _all_alike(
    rater: str, rows: Sequence[JournalRow], others: Sequence[JournalRow]
) -> Iterator[Finding]:
    grades = Counter(row.grade for row in rows if row.grade is not None)
    count = sum(grades.values())
    if count < FEWEST_ALIKE or len(grades) > 1:
        return
    (grade,) = grades
    text = f"{rater} gave the grade {grade} to all {count_of(count, 'pair', 'pairs')}"
    theirs = [row.grade for row in others if row.grade is not None]
    if theirs:
        share = sum(other == grade for other in theirs) / len(theirs)
        text += f"; other raters gave it to {100 * share:.0f} % of theirs"
    yield Finding(f"{text}: agreement with such grades says little", about=rater)


def least_seconds(words: int | None) -> float:
    """The time within which nobody has skimmed enough of a text to grade it.

    >>> least_seconds(10), least_seconds(40), least_seconds(5000), least_seconds(None)
    (1.0, 2.0, 3.0, 1.0)
    """
    to_read = min(words or 0, WORDS_TO_DECIDE)
    return max(LEAST_SECONDS, to_read / WORDS_A_SECOND)


def _too_fast(
    rater: str, rows: Sequence[JournalRow], words: Mapping[str, int]
) -> Iterator[Finding]:
    timed = [row for row in rows if row.grade is not None and row.seconds is not None]
    if len(timed) < FEWEST_ALIKE:
        return
    fast = np.array(
        [(row.seconds or 0.0) < least_seconds(words.get(row.doc_id)) for row in timed], dtype=float
    )
    low, _ = clustered_interval(fast, [row.query_id for row in timed])
    if low > OFTEN:
        text = (
            f"{rater} graded {int(fast.sum()):,} of {count_of(len(timed), 'pair', 'pairs')} faster"
            f" than their texts can be skimmed ({LEAST_SECONDS:.0f} to "
            f"{WORDS_TO_DECIDE / WORDS_A_SECOND:.0f} seconds, by length)"
        )
        yield Finding(text, about=rater)
