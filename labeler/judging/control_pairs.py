"""Which pairs a control asks about again: drawn anew by chance, or the same as the last time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from random import Random

from labeler.collection.control_set import FixedPair, fixed_file, read_fixed, write_fixed
from labeler.collection.judgements import JudgementRow, read_judgements
from labeler.collection.layout import Collection
from labeler.data import Judged, Judgement, Pair
from labeler.errors import BadInput, Misuse
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.methods.inquiries import Inquiries

ROWS_OF_A_LOOK = 500
"""Rows whose stored replies are looked up together."""


def drawn_by_chance(
    seed: str, rows: Sequence[JudgementRow], pairs: int, texts: Texts, assessor: Assessor | None
) -> tuple[list[JudgementRow], int]:
    """So many rows whose texts are as they were judged, and how many others were passed over."""
    return first_unchanged(Random(seed).sample(rows, len(rows)), pairs, texts, assessor)


def fix(collection: Collection, name: str, rows: Sequence[JudgementRow], texts: Texts) -> None:
    """Let the controls of a set ask about these pairs from now on; the collection is locked."""
    pairs = [row.judged.outcome.pair for row in rows]
    write_fixed(collection, name, sorted(FixedPair(each, hash_of(texts, each)) for each in pairs))


def fixed_rows(
    collection: Collection, name: str, rows: Sequence[JudgementRow], texts: Texts
) -> tuple[list[JudgementRow], int]:
    """The rows of the fixed pairs whose texts are as they were when drawn, and how many are not.

    A pair that has no grade any more counts among the latter.
    """
    by_pair = {row.judged.outcome.pair: row for row in rows}
    fixed = read_fixed(fixed_file(collection, name))
    unchanged = [
        by_pair[each.pair]
        for each in fixed
        if each.pair in by_pair and hash_of(texts, each.pair) == each.sha256
    ]
    return unchanged, len(fixed) - len(unchanged)


def check_fixed(collection: Collection, name: str, pairs: int) -> None:
    """`Misuse` where the fixed pairs of a set are of another number than `pairs`."""
    count = len(read_fixed(fixed_file(collection, name)))
    if count not in (0, pairs):
        problem = f"the fixed pairs of {name} are {count:,}; control so many, or draw others"
        raise Misuse(problem, parameter="redraw")


def hash_of(texts: Texts, pair: Pair) -> str:
    """What tells whether a query or a document was edited: a hash of what an assessor reads."""
    query, document = texts.of(pair)
    topic = [query.metadata.get(part) for part in ("description", "narrative")]
    read = [query.text, topic, document.title, document.text]
    return hashlib.sha256(json.dumps(read, default=str).encode()).hexdigest()


def with_grades(collection: Collection, name: str, texts: Texts, pairs: int) -> list[JudgementRow]:
    """The rows of a set that a control of so many `pairs` draws from, in the order of pairs."""
    if pairs < 2:
        raise Misuse("a control takes two pairs at least", parameter="control")
    path = collection.judgements(name)
    rows = [
        row
        for row in read_judgements(path)
        if isinstance(row.judged.outcome, Judgement)
        and not row.carried
        and row.judged.outcome.pair.query_id in texts.queries
        and row.judged.outcome.pair.doc_id in texts.documents
    ]
    if len(rows) < 2:
        raise BadInput(
            f"{path}: no two pairs with a grade whose texts are there; nothing to control"
        )
    rows.sort(key=lambda row: row.judged.outcome.pair)
    return rows


def first_unchanged(
    rows: Sequence[JudgementRow], pairs: int, texts: Texts, assessor: Assessor | None
) -> tuple[list[JudgementRow], int]:
    """The first rows whose texts are as they were judged, and how many others were passed over.

    The store keeps what was asked: a row to whose texts, as they are now, no reply of the same
    `assessor` is stored was judged by other texts. Where no reply to any row is stored, that cannot
    be told, and the first rows are taken as they are; so are they without an assessor.
    """
    unchanged, changed = list[JudgementRow](), 0
    if assessor is None:
        return list(rows[:pairs]), 0
    for first in range(0, len(rows), ROWS_OF_A_LOOK):
        for row, is_stored in _stored(rows[first : first + ROWS_OF_A_LOOK], texts, assessor):
            if len(unchanged) == pairs:
                return unchanged, changed
            if is_stored:
                unchanged.append(row)
            else:
                changed += 1
    return (unchanged, changed) if unchanged else (list(rows[:pairs]), 0)


def _stored(
    rows: Sequence[JudgementRow], texts: Texts, assessor: Assessor
) -> Iterator[tuple[JudgementRow, bool]]:
    pairs = [row.judged.outcome.pair for row in rows]
    items = Inquiries(pairs, texts, assessor).recalled(pairs)
    answered = (isinstance(item, Judged) for _, item in items)
    return zip(rows, answered, strict=True)
