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
from labeler.collection.rows import Row, records
from labeler.data import Judged, Judgement, Pair
from labeler.files.boundary import reading
from labeler.files.jsonl import write_rows
from labeler.trec.rows import LARGEST_GRADE

_STEM = re.compile(r"(.+)\.([1-9][0-9]{0,8})")


def _by_name(stems: Iterable[str], name: str = "") -> dict[int, str]:
    """The controls of a set, or of all, by their numbers in ascending order, as cards call them."""
    matches = filter(None, map(_STEM.fullmatch, stems))
    return dict(sorted((int(each[2]), each[0]) for each in matches if name in ("", each[1])))


def next_control(collection: Collection) -> int:
    """The number of the next control of any set of a collection, from 1.

    Sets by one assessor ask the same requests, so two controls never share a number. The card
    remembers the numbers of controls that were stopped, and of those whose files were removed.
    """
    stems = [*_stems(collection), *card_section(read_card(collection), "control")]
    return 1 + max(_by_name(stems), default=0)


def _stems(collection: Collection) -> Iterator[str]:
    return (path.stem for path in collection.controls.glob("*.jsonl"))


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
    made = (card_section(entries, stem) for stem in _by_name(entries, name).values())
    return [verdict for each in made if isinstance(verdict := each.get("verdict"), str)]


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
    return [
        _run(control_file(collection, name, number), number, card_section(entries, stem))
        for number, stem in _by_name(_stems(collection), name).items()
    ]


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


def sessions_in(runs: Iterable[ControlRun]) -> dict[str, dict[tuple[Pair, int], int]]:
    """The new grades of each day by pair and old grade: of its last control by the same assessor.

    What repeats is a session: replies of the same hours may be alike for that reason alone.
    """
    by_day = {run.label: run for run in runs if run.is_of_same_assessor}
    return {
        day: {(again.pair, again.old): again.grades[1] for again in run.pairs if again.grades}
        for day, run in by_day.items()
    }


def read_control(path: Path) -> Iterator[PairAgain]:
    """The pairs of one control's file; those that had no grade before are left out."""
    for again in records(path, _pair_again):
        if isinstance(again.old, int):
            yield again


def _pair_again(row: Row) -> PairAgain:
    """The pair of a row; its old grade may be none."""
    values = {"old": None, "new": None, "model": None} | row.values
    for key in ("old", "new"):
        grade = values[key]
        is_whole = type(grade) is int and abs(grade) <= LARGEST_GRADE
        if not (is_whole or isinstance(grade, str) or (grade is None and key == "old")):
            raise row.wrong(key, "be a grade or a status")
    names = (name for name in values["model"] or () if isinstance(name, str))
    return PairAgain(row.pair, values["old"], values["new"], tuple(names))
