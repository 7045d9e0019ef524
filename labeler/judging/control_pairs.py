"""Which pairs a control asks about again: drawn anew by chance, or the same as the last time."""

from __future__ import annotations

from collections.abc import Container, Sequence
from random import Random

from labeler.collection.control_set import FixedPair, fixed_file, read_fixed, write_fixed
from labeler.collection.judgements import JudgementRow, read_judgements
from labeler.collection.layout import Collection
from labeler.data import Judgement, Pair
from labeler.errors import BadInput, Misuse
from labeler.judging.assessor import Texts


def drawn_by_chance(
    seed: str, rows: Sequence[JudgementRow], pairs: int, stale: Container[Pair]
) -> tuple[list[JudgementRow], int]:
    """So many rows whose texts are as they were judged, and how many others were passed over."""
    drawn, passed = list[JudgementRow](), 0
    for row in Random(seed).sample(rows, len(rows)):
        if len(drawn) == pairs:
            break
        if row.judged.outcome.pair in stale:
            passed += 1
        else:
            drawn.append(row)
    return drawn, passed


def fix(collection: Collection, name: str, rows: Sequence[JudgementRow]) -> None:
    """Let the controls of a set ask about these pairs from now on; the collection is locked."""
    fixed = (FixedPair(row.judged.outcome.pair, row.judged.shown) for row in rows)
    write_fixed(collection, name, sorted(fixed))


def fixed_rows(
    collection: Collection, name: str, rows: Sequence[JudgementRow], stale: Container[Pair]
) -> tuple[list[JudgementRow], int]:
    """The rows of the fixed pairs whose texts are as they were when drawn, and how many are not.

    A pair that has no grade any more counts among the latter.
    """
    by_pair = {row.judged.outcome.pair: row for row in rows}
    fixed = read_fixed(fixed_file(collection, name))
    unchanged = [
        by_pair[each.pair]
        for each in fixed
        if each.pair in by_pair and each.pair not in stale
        if by_pair[each.pair].judged.shown == each.shown
    ]
    return unchanged, len(fixed) - len(unchanged)


def check_fixed(collection: Collection, name: str, pairs: int) -> None:
    """`Misuse` where the fixed pairs of a set are of another number than `pairs`."""
    count = len(read_fixed(fixed_file(collection, name)))
    if count not in (0, pairs):
        problem = f"the fixed pairs of {name} are {count:,}; control so many, or draw others"
        raise Misuse(problem, parameter="redraw")


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
