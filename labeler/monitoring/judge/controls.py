"""The controls of a set of judgements in their order, read back from the collection."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection
from labeler.data import Pair
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier, read_rows
from labeler.files.numbers import finite

_LARGEST_GRADE = 2.0**31
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


class PairAgain(NamedTuple):
    """A pair of a control: its grade as it stood, and each new one, None where there was none."""

    pair: Pair
    old: int
    new: tuple[int | None, ...]
    served: tuple[str, ...]


@dataclass(frozen=True)
class ControlRun:
    """One control of a set: when, by which prompts and models then and now, and its pairs.

    `is_dated` is false of a control whose card names no time: it is then that of its file.
    """

    number: int
    time: datetime
    is_dated: bool
    before: tuple[str, str]
    now: tuple[str, str]
    pairs: tuple[PairAgain, ...]

    @property
    def label(self) -> str:
        """The day of the control."""
        return self.time.strftime("%Y-%m-%d")

    @property
    def is_of_same_assessor(self) -> bool:
        """Whether the prompt of that name, and the same model, were asked again."""
        old, new = (prompt.partition("@")[0] for prompt in (self.before[0], self.now[0]))
        return not any(self.before) or (old, self.before[1]) == (new, self.now[1])

    @property
    def names(self) -> tuple[str, ...]:
        """What the server called its model."""
        return tuple(sorted({name for pair in self.pairs for name in pair.served}))

    @property
    def failures(self) -> tuple[int, int]:
        """How many new replies gave no grade, and how many there were."""
        replies = [grade for pair in self.pairs for grade in pair.new]
        return replies.count(None), len(replies)


def read_controls(collection: Collection, name: str) -> list[ControlRun]:
    """The controls of a set that were finished, the oldest first."""
    entries = card_section(read_card(collection), "control")
    runs = list[ControlRun]()
    for path in sorted(collection.controls.glob("*.jsonl")):
        stem, _, number = path.stem.rpartition(".")
        if stem == name and _NUMBER.fullmatch(number):
            entry = entries.get(path.stem)
            made = entry if isinstance(entry, dict) else {}
            runs.append(_run(path, int(number), made))
    return sorted(runs, key=lambda run: run.number)


def _run(path: Path, number: int, made: Mapping[str, Any]) -> ControlRun:
    with reading(path):
        pairs = tuple(read_control(path))
        written = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
    dated = time_of(made.get("time"))
    return ControlRun(
        number,
        dated or written,
        dated is not None,
        _made_by(made.get("before")),
        _made_by(made.get("now")),
        pairs,
    )


def read_control(path: Path) -> Iterator[PairAgain]:
    """The pairs of one control's file; those that had no grade before are left out."""
    for number, row in read_rows(path):
        pair = Pair(
            identifier(path, number, row, "query_id"), identifier(path, number, row, "doc_id")
        )
        old, new, served = row.get("old"), row.get("new"), row.get("model")
        if not isinstance(new, list) or not all(isinstance(each, int | str) for each in new):
            raise BadInput.at(path, number, "expected new: a list of grades and statuses")
        names = served if isinstance(served, list) else []
        if (grade := _grade(path, number, old)) is not None:
            again = tuple(_grade(path, number, each) for each in new)
            yield PairAgain(pair, grade, again, tuple(n for n in names if isinstance(n, str)))


def _grade(path: Path, number: int, value: object) -> int | None:
    if isinstance(value, str) or value is None:
        return None
    if type(value) is not int or finite(value, -_LARGEST_GRADE, _LARGEST_GRADE) is None:
        raise BadInput.at(path, number, f"expected a grade, found {value!r:.40}")
    return value


def _made_by(value: object) -> tuple[str, str]:
    made = value if isinstance(value, dict) else {}
    prompt, model = (made.get(part) for part in ("prompt", "model"))
    return str(prompt or ""), str(model or "")


def time_of(value: object) -> datetime | None:
    """A time as a card or a history tells it, in UTC; None where it is none."""
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
