"""`judgements/NAME.jsonl`: one row a pair, with its grade or why there is none."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count as count_from
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TextIO

from labeler.collection.layout import Collection
from labeler.collection.rows import Row, records
from labeler.data import FAILURES, JUDGED, Failure, Judged, Judgement, Listed, Outcome, Pair
from labeler.errors import FileProblem
from labeler.files.atomic import replacing, replacing_bytes
from labeler.files.boundary import amount, count
from labeler.trec.rows import LARGEST_GRADE
from labeler.trec.write import GradesToSort


@dataclass(frozen=True, slots=True)
class Origin:
    """What made a set of judgements; two sets of one origin may share a name."""

    prompt: str
    model: str
    parameters: Mapping[str, Any]

    @property
    def members(self) -> Mapping[str, Any]:
        """The sets that a panel was put together from, by name; empty of an assessor's own set."""
        members = self.parameters.get("members")
        return members if isinstance(members, dict) else {}

    @property
    def is_panel(self) -> bool:
        """Whether the judgements were put together from other sets, and no model was asked."""
        return bool(self.members)


class JudgementRow(NamedTuple):
    """One row: how judging the pair went, and what judged it.

    `carried` says of a grade that was given to an earlier cut of the document what became of that:
    its `state`, and `from` which documents the grade comes. `members` says of a panel's row what
    each member says: a grade, the status of a failure, or None.
    """

    judged: Judged
    origin: Origin
    carried: Mapping[str, Any] | None = None
    members: Mapping[str, int | str | None] = {}


class JudgementLines:
    """Writes the rows of one origin as lines.

    What was sent is the same mapping for nearly all pairs, so that the end of a line is written
    once for it.
    """

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._end: tuple[Mapping[str, Any] | None, str] = (None, "")

    def line(
        self,
        judged: Judged,
        carried: Mapping[str, Any] | None = None,
        panel: Mapping[str, Any] | None = None,
        shown: str = "",
    ) -> str:
        """The line of one pair, without its end: its outcome, what that took, then the origin.

        `panel` holds what the row of a panel says beside: its `members` and their `disagreement`.
        `shown` tells the texts that were shown, where the pair itself does not say that.
        """
        query, document = judged.outcome.pair
        row = {"query_id": query, "doc_id": document, **_members_of(judged.outcome)}
        row |= {name: getattr(judged, name) for name in _TAKEN}
        more = {"shown": judged.shown or shown, "carried": carried, "suspicions": judged.suspicions}
        row |= {name: value for name, value in more.items() if value}
        row |= panel or {}
        if judged.listed:
            row["list"] = judged.listed.documents
            row |= {"alone": True} if judged.listed.alone else {}
        if self._end[0] is not judged.sent:
            self._end = judged.sent, self._end_of(judged.sent)
        return f"{_ENCODER.encode(row)[:-1]}, {self._end[1]}"

    def _end_of(self, sent: Mapping[str, Any]) -> str:
        """The end of a line: the origin, and what was sent."""
        row: dict[str, Any] = {"prompt": self.origin.prompt, "asked": self.origin.model}
        declared = dict(self.origin.parameters)
        if sent:
            row |= {"declared": declared, "parameters": dict(sorted(sent.items()))}
        else:
            row["parameters"] = declared
        return _ENCODER.encode(row)[1:]


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=dict)
_TAKEN = ("attempts", "prompt_tokens", "completion_tokens", "cost", "model")


def _members_of(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Failure):
        return {"grade": None, "status": outcome.status, "detail": outcome.detail}
    made_of = {name: getattr(outcome, name) for name in ("votes", "passages", "distribution")}
    own = {"grade": outcome.grade, "status": JUDGED, "reason": outcome.reason}
    return own | {name: value for name, value in made_of.items() if value}


def read_judgements(path: Path) -> Iterator[JudgementRow]:
    """The rows of a file in its order; only the ids, `grade` and `status` are required.

    Raises `BadInput` where a grade stands beside a failure's status, or none beside `judged`.
    """
    return records(path, _judgement_row)


def _judgement_row(row: Row) -> JudgementRow:
    values, pair = row.values, row.pair
    judged = Judged(
        _outcome(row, pair),
        count(values.get("attempts")) or 0,
        count(values.get("prompt_tokens")) or 0,
        count(values.get("completion_tokens")) or 0,
        amount(values.get("cost")),
        row.text("model"),
        suspicions=row.list_of("suspicions", {str}, "a list of texts"),
        listed=_listed(row, pair),
        shown=row.text("shown"),
        sent=row.object("parameters") if "declared" in values else {},
    )
    carried = None if values.get("carried") is None else row.object("carried")
    declared = row.object("declared" if "declared" in values else "parameters")
    origin = Origin(row.text("prompt"), row.text("asked"), declared)
    return JudgementRow(judged, origin, carried, _members(row))


def _listed(row: Row, pair: Pair) -> Listed | None:
    """The list in which the document was shown; None where it was shown alone."""
    if row.values.get("list") is None:
        return None
    shown = row.list_of("list", {str}, "ids of documents")
    if pair.doc_id not in shown:
        raise row.wrong("list", f"be ids of documents, {pair.doc_id!r} among them")
    return Listed(shown, shown.index(pair.doc_id) + 1, row.values.get("alone") is True)


def _members(row: Row) -> dict[str, int | str | None]:
    members = row.object("members")
    if not all(v is None or v in FAILURES or type(v) is int for v in members.values()):
        raise row.wrong("members", "be an object of grades and statuses")
    return members


def carried_rows(path: Path) -> dict[Pair, JudgementRow]:
    """The grades of a set that were given to earlier cuts of documents; none without a file."""
    if not path.exists():
        return {}
    rows = (row for row in read_judgements(path) if row.carried)
    return {
        row.judged.outcome.pair: row for row in rows if isinstance(row.judged.outcome, Judgement)
    }


def _outcome(row: Row, pair: Pair) -> Outcome:
    grade = _grade(row)
    if grade is None:
        return Failure(pair, row.values["status"], row.text("detail"))
    reason = None if row.values.get("reason") is None else row.text("reason")
    made_of = [row.list_of(name, {int, type(None)}, "grades") for name in ("votes", "passages")]
    return Judgement(pair, grade, reason, _distribution(row), *made_of)


def _grade(row: Row) -> int | None:
    """The grade of a row, `None` of a failure; `BadInput` where it does not fit the status."""
    grade, status = row.values.get("grade"), row.values.get("status")
    if status == JUDGED and type(grade) is int and abs(grade) <= LARGEST_GRADE:
        return grade
    if isinstance(status, str) and status in FAILURES and grade is None:
        return None
    statuses = ", ".join((JUDGED, *FAILURES))
    raise row.error(
        f"grade {grade!r:.40} with status {status!r:.40}; "
        f"an integer goes with {JUDGED!r} alone ({statuses})"
    )


def _distribution(row: Row) -> dict[int, float] | None:
    """The share of each grade; `None` where the row has none, or one of them is NaN."""
    shares = row.values.get("distribution")
    if not shares:
        return None
    if isinstance(shares, dict) and {int, float}.issuperset(map(type, shares.values())):
        with suppress(ValueError):
            if all(0 <= share <= 1 for share in shares.values()):
                return {int(grade): float(share) for grade, share in shares.items()}
            if any(map(math.isnan, shares.values())):
                return None
    raise row.wrong("distribution", "be an object of grade: share")


def origin_of(path: Path) -> Origin | None:
    """What made the judgements in a file; None where there is no file, or no row in it."""
    if not path.exists():
        return None
    return next((row.origin for row in read_judgements(path)), None)


def grades_of(path: Path) -> Iterator[tuple[str, str, int]]:
    """The query, document and grade of each row that has one, in the file's order."""
    outcomes = records(path, lambda row: _outcome(row, row.pair))
    return ((*each.pair, each.grade) for each in outcomes if isinstance(each, Judgement))


class SetWriter:
    """Writes the lines of a file of judgements, and keeps the grades for its qrels."""

    out: TextIO

    def __init__(self, qrels: Path) -> None:
        self._digest = hashlib.blake2b()
        self._grades = GradesToSort(qrels)

    def add(self, line: str, outcome: Outcome, *, is_there: bool = True) -> None:
        """Write the line of a pair; its grade is in the qrels if query and document are there."""
        text = f"{line}\n"
        self.out.write(text)
        self._digest.update(text.encode())
        if is_there and isinstance(outcome, Judgement):
            self._grades.add(*outcome.pair, outcome.grade)

    def end(self, written: Path, qrels: Path) -> None:
        """Read back what was written, and write the qrels."""
        with written.open("rb") as raw:
            read = hashlib.file_digest(raw, hashlib.blake2b)
        if read.digest() != self._digest.digest():
            raise FileProblem(f"{written}: it does not read back as it was written")
        self._grades.write(qrels)


@contextmanager
def replacing_set(path: Path, qrels: Path) -> Iterator[SetWriter]:
    """A file of judgements that takes its place when the block ends well, and then its qrels do.

    Both are whole before either is replaced. The judgements come first: they say what made them,
    so that whoever is killed between the two goes on, while qrels alone are taken for somebody
    else's.
    """
    writer = SetWriter(qrels)
    with TemporaryDirectory(prefix="labeler-set-") as folder:
        made = Path(folder) / qrels.name
        with replacing(path, lambda written: writer.end(written, made)) as writer.out:
            yield writer
        with made.open("rb") as whole, replacing_bytes(qrels) as raw:
            copyfileobj(whole, raw)


# `repeats/NAME.N.jsonl`: the pairs of a set of judgements, asked about once more, and again.


def repeat_file(collection: Collection, name: str, time: int) -> Path:
    """The file of what the pairs of a set got when they were asked about once more, from 1."""
    return collection.repeats / f"{name}.{time}.jsonl"


def repeat_files(collection: Collection, name: str) -> list[Path]:
    """The files that are there of one set, up to the first that is not."""
    files: list[Path] = []
    for time in count_from(1):
        path = repeat_file(collection, name, time)
        if not path.exists():
            return files
        files.append(path)
    return files


def repeats_of(collection: Collection, name: str) -> list[Path]:
    """The files of a set's pairs that were asked about again.

    Those that another prompt, model or parameters made are passed over.
    """
    path = collection.judgements(name)
    if not collection.repeats.is_dir() or not path.exists():
        return []
    made_by = origin_of(path)
    return [file for file in repeat_files(collection, name) if origin_of(file) == made_by]


def remove_repeats(collection: Collection) -> None:
    """Remove what was asked about documents that are others now."""
    for path in collection.repeats.glob("*.jsonl"):
        path.unlink()
