"""`samples/ID.jsonl`: the rows of a sheet; `people/NAME.jsonl`: what people answered in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from labeler.collection.layout import check_name, is_name
from labeler.collection.lock import check_locked
from labeler.collection.rows import pair_of
from labeler.data import Pair
from labeler.errors import BadInput, FileProblem
from labeler.files.boundary import reading
from labeler.files.jsonl import read_rows, text_of, write_rows
from labeler.trec.values import grade_of

_WRITTEN = ("assessor", "time", "comment")


@dataclass(frozen=True)
class SampledPair:
    """A row of a sheet: its number, its pair, and the probability that a sample holds it.

    That is `None` of a pair that was routed: chosen because its grade was in doubt. `texts`
    identifies its texts as they were then; empty where that is not known.
    """

    number: int
    pair: Pair
    probability: float | None
    texts: str = ""


@dataclass(frozen=True)
class HumanAnswer:
    """A person's answer to a pair; `grade` is `None` where they skipped it.

    `probability` is that with which the sample named `sample` holds the pair; `None` of a pair that
    was routed to people, from which nothing follows for pairs that were not.
    """

    pair: Pair
    grade: int | None
    assessor: str
    time: str
    comment: str
    probability: float | None
    sample: str = ""


def sample_path(folder: Path, sample: str) -> Path:
    """The file in which a collection keeps a sample."""
    return folder / "samples" / f"{check_name(sample)}.jsonl"


def people_path(folder: Path, name: str) -> Path:
    """The file in which a collection keeps people's answers."""
    return folder / "people" / f"{name}.jsonl"


def write_sample(path: Path, rows: Iterable[SampledPair]) -> None:
    """Write a sample; it reads back as the same rows."""
    check_locked(path.parent.parent)
    write_rows(path, map(_written_sampled, rows), check=read_sample)


def _written_sampled(row: SampledPair) -> dict[str, object]:
    texts = {"texts": row.texts} if row.texts else {}
    return {"row": row.number, **row.pair._asdict(), "probability": row.probability, **texts}


def read_sample(path: Path) -> list[SampledPair]:
    """Read the rows of a sample."""
    if not path.exists():
        raise FileProblem(f"{path}: no such sample; was the sheet drawn from this collection?")
    with reading(path) as position:
        return [
            SampledPair(
                _row(path, number, row),
                pair_of(path, number, row),
                _probability(path, number, row),
                text_of(path, number, row, "texts", ""),
            )
            for number, row in position.follow(read_rows(path))
        ]


def _row(path: Path, number: int, row: dict[str, object]) -> int:
    """The number of a sheet's row."""
    value = row.get("row")
    if type(value) is not int or value < 1:
        raise BadInput.at(path, number, f"expected 'row' to count from 1, found {value!r:.40}")
    return value


def write_people(path: Path, rows: Iterable[HumanAnswer]) -> None:
    """Write people's answers; they read back as the same."""
    check_locked(path.parent.parent)
    written = (
        {
            **r.pair._asdict(),
            "grade": r.grade,
            "assessor": r.assessor,
            "time": r.time,
            "comment": r.comment,
            "probability": r.probability,
            "sample": r.sample,
        }
        for r in rows
    )
    write_rows(path, written, check=read_people)


def read_people(path: Path) -> list[HumanAnswer]:
    """Read people's answers."""
    with reading(path) as position:
        rows = position.follow(read_rows(path))
        return [_answer(path, number, row) for number, row in rows]


def _answer(path: Path, number: int, row: dict[str, object]) -> HumanAnswer:
    grade = row.get("grade")
    grade = None if grade is None else grade_of(f"{path}:{number}", grade)
    assessor, time, comment = (text_of(path, number, row, key, "") for key in _WRITTEN)
    pair, chance = pair_of(path, number, row), _probability(path, number, row)
    sample = text_of(path, number, row, "sample", "")
    if sample and not is_name(sample):
        raise BadInput.at(path, number, f"expected a sample's name, found {sample!r:.40}")
    return HumanAnswer(pair, grade, assessor, time, comment, chance, sample)


def _probability(path: Path, number: int, row: dict[str, object]) -> float | None:
    """The probability of a row; `None` where it says that there is none."""
    value = row.get("probability", 0)
    if value is None:
        return None
    if not isinstance(value, int | float) or not 0 < value <= 1:
        raise BadInput.at(path, number, f"expected a probability above 0, found {value!r:.40}")
    return float(value)
