"""`controls/NAME.N.jsonl`: pairs of judgements that were judged again, with all grades."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.layout import Collection, check_locked
from labeler.data import Judged, Judgement, Pair
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier, read_rows, write_rows

_STEM = re.compile(r"(.+)\.([1-9][0-9]{0,8})")


def next_control(collection: Collection) -> int:
    """The number of the next control of any set of a collection, from 1.

    Sets by one assessor ask the same requests, so two controls never share a number. The card
    remembers the numbers of controls that were stopped, and of those whose files were removed.
    """
    files = (path.stem for path in collection.controls.glob("*.jsonl"))
    stems = [*files, *card_section(read_card(collection), "control")]
    return 1 + max((int(match[2]) for match in map(_STEM.fullmatch, stems) if match), default=0)


def reserve_control(collection: Collection, name: str) -> int:
    """Take the next number for a control of the set `name`, and write that into the card."""
    check_locked(collection.folder)
    number = next_control(collection)
    entry = {"name": name, "control": number, "verdict": None}
    update_card_entry(collection, "control", control_file(collection, name, number).stem, entry)
    return number


def verdicts_of(collection: Collection, name: str) -> list[str]:
    """What came of each control of a set that was not stopped early, in their order."""
    entries = card_section(read_card(collection), "control")
    by_number = dict[int, str]()
    for stem, made in entries.items():
        match = _STEM.fullmatch(stem)
        verdict = made.get("verdict") if isinstance(made, dict) else None
        if match and match[1] == name and isinstance(verdict, str):
            by_number[int(match[2])] = verdict
    return [by_number[number] for number in sorted(by_number)]


def control_file(collection: Collection, name: str, number: int) -> Path:
    """The file of one control."""
    return collection.controls / f"{name}.{number}.jsonl"


def write_control(
    path: Path, rows: Iterable[Mapping[str, Any]], collection: Collection, made: Mapping[str, Any]
) -> None:
    """Write a control's rows, and what came of it into the card."""
    check_locked(collection.folder)
    write_rows(path, rows)
    update_card_entry(collection, "control", path.stem, made)


# What controls hold.

_LARGEST_GRADE = 2.0**31


class PromptAndModel(NamedTuple):
    """The prompt and the model that gave grades; empty where nobody knows."""

    prompt: str = ""
    model: str = ""


class FailedReplies(NamedTuple):
    """How many of how many replies gave no grade."""

    failed: int
    replies: int


class PairAgain(NamedTuple):
    """A pair of a control: its grade as it stood, and the new one, or the status of its failure.

    `served` is what the server called its model. A pair is `remembered` where a reply was stored
    before the control began: it says nothing of today.
    """

    pair: Pair
    old: int
    new: int | str
    served: Sequence[str] = ()
    remembered: bool = False

    @classmethod
    def of(cls, old: Judgement, again: Judged) -> PairAgain:
        """A pair with a grade, and how it was judged again."""
        new = again.outcome.grade if isinstance(again.outcome, Judgement) else again.outcome.status
        served = (again.model,) if again.model else ()
        return cls(old.pair, old.grade, new, served, again.remembered and not again.shared)

    @property
    def grades(self) -> tuple[int, int] | None:
        """The old grade and the new one; None where a reply gave none, or is not new."""
        if self.remembered or not isinstance(self.new, int):
            return None
        return self.old, self.new


@dataclass(frozen=True)
class ControlRun:
    """One control of a set: when, by which prompts and models then and now, and its pairs.

    The time of a control of which the card names none is that of its file.
    """

    number: int
    time: datetime
    before: PromptAndModel
    now: PromptAndModel
    pairs: Sequence[PairAgain]

    @property
    def label(self) -> str:
        """The day of the control."""
        return self.time.strftime("%Y-%m-%d")

    @property
    def is_of_same_assessor(self) -> bool:
        """Whether the prompt of that name, and the same model, were asked again."""
        old, new = (made.prompt.partition("@")[0] for made in (self.before, self.now))
        return not any(self.before) or (old, self.before.model) == (new, self.now.model)

    @property
    def names(self) -> Sequence[str]:
        """What the server called its model."""
        return tuple(sorted({name for pair in self.pairs for name in pair.served}))

    @property
    def failures(self) -> FailedReplies:
        """How many of the new replies gave no grade."""
        new = [pair.new for pair in self.pairs if not pair.remembered]
        return FailedReplies(sum(isinstance(each, str) for each in new), len(new))

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each pair with a new reply: its grade as it stood, and what that gave."""
        for pair in self.pairs:
            if not pair.remembered:
                given = {"old": pair.old, "new": pair.new, "model": list(pair.served)}
                yield {**pair.pair._asdict(), **given}


def read_controls(collection: Collection, name: str) -> list[ControlRun]:
    """The controls of a set that were finished, the oldest first."""
    entries = card_section(read_card(collection), "control")
    runs = list[ControlRun]()
    for path in sorted(collection.controls.glob("*.jsonl")):
        match = _STEM.fullmatch(path.stem)
        if match and match[1] == name:
            entry = entries.get(path.stem)
            runs.append(_run(path, int(match[2]), entry if isinstance(entry, dict) else {}))
    return sorted(runs, key=lambda run: run.number)


def _run(path: Path, number: int, made: Mapping[str, Any]) -> ControlRun:
    with reading(path):
        pairs = tuple(read_control(path))
        time = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
    try:
        dated = datetime.fromisoformat(str(made.get("time")))
        time = dated.replace(tzinfo=dated.tzinfo or UTC).astimezone(UTC)
    except ValueError:
        pass  # that of the file stays
    by = (card_section(made, part) for part in ("before", "now"))
    before, now = (
        PromptAndModel(*(str(own.get(part) or "") for part in PromptAndModel._fields)) for own in by
    )
    return ControlRun(number, time, before, now, pairs)


def read_control(path: Path) -> Iterator[PairAgain]:
    """The pairs of one control's file; those that had no grade before are left out."""
    for number, row in read_rows(path):
        ids = (identifier(path, number, row, name) for name in Pair._fields)
        pair, old, new, served = Pair(*ids), row.get("old"), row.get("new"), row.get("model")
        if new is None:
            raise BadInput.at(path, number, "expected new: a grade or a status")
        for grade in (old, new):
            is_whole = type(grade) is int and abs(grade) <= _LARGEST_GRADE
            if not (is_whole or grade is None or isinstance(grade, str)):
                raise BadInput.at(path, number, f"expected a grade, found {grade!r:.40}")
        names = [name for name in served or () if isinstance(name, str)]
        if isinstance(old, int):
            yield PairAgain(pair, old, new, tuple(names))
