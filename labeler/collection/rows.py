"""The rows of a collection's files: each value is checked where it is read, and named if wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from labeler.collection.layout import STEPS, next_step
from labeler.data import Pair
from labeler.errors import BadInput, FileProblem
from labeler.files.boundary import finite, first_invalid, reading
from labeler.files.jsonl import identifier, read_rows, text_of
from labeler.files.read import check_regular, file_problems
from labeler.messages import count_of
from labeler.trec.values import grade_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Record = TypeVar("Record")


class Row(NamedTuple):
    """A row of a file, and where it stands; each method raises `BadInput` of a value that is wrong.

    A value that is missing or null is the default one.
    """

    path: Path
    number: int
    values: dict[str, Any]

    def error(self, problem: str) -> BadInput:
        """The error of this row."""
        return BadInput.at(self.path, self.number, problem)

    def wrong(self, key: str, expected: str) -> BadInput:
        """The error of a value that is not what it should be."""
        return self.error(f"expected {key!r} to {expected}, found {self.values.get(key)!r:.80}")

    def id(self, key: str) -> str:
        """An id."""
        return identifier(self.path, self.number, self.values, key)

    @property
    def pair(self) -> Pair:
        """The pair that the row is about."""
        return Pair(self.id("query_id"), self.id("doc_id"))

    def text(self, key: str, default: str | None = "") -> str:
        """A text; one without a default is required."""
        return text_of(self.path, self.number, self.values, key, default)

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.values.get(key, False)
        if type(value) is not bool:
            raise self.wrong(key, "be true or false")
        return value

    def one_of(self, key: str, names: Sequence[str]) -> Any:
        """One of some names."""
        value = self.values.get(key)
        if value not in names:
            raise self.wrong(key, f"be one of {', '.join(names)}")
        return value

    def object(self, key: str) -> dict[str, Any]:
        """An object, empty where there is none."""
        value = self.values.get(key) or {}
        if not isinstance(value, dict):
            raise self.wrong(key, "be an object")
        return value

    def list_of(self, key: str, kinds: set[type], what: str) -> tuple[Any, ...]:
        """A list of values of some types, empty where there is none."""
        value = self.values.get(key) or []
        if not (isinstance(value, list) and kinds.issuperset(map(type, value))):
            raise self.wrong(key, f"be {what}")
        return tuple(value)

    def counted(self, key: str, most: int) -> int | None:
        """A number from 1 to `most`, None where there is none."""
        value = self.values.get(key)
        if value is not None and (type(value) is not int or not 1 <= value <= most):
            raise self.wrong(key, "count from 1")
        return value

    def probability(self) -> float | None:
        """A probability above 0, None where there is none."""
        value = self.values.get("probability")
        probability = None if value is None else finite(value, 0.0, 1.0)
        if value is not None and not probability:
            raise self.wrong("probability", "be a probability above 0")
        return probability

    def grade(self) -> int | None:
        """The grade, None where there is none."""
        value = self.values.get("grade")
        return None if value is None else grade_of(f"{self.path}:{self.number}", value)


def records(path: Path, of: Callable[[Row], Record]) -> Iterator[Record]:
    """What `of` makes of each row of a file, in the file's order."""
    check_exists(path)
    with reading(path) as position:
        for number, values in position.follow(read_rows(path)):
            yield of(Row(path, number, values))


def read_record(path: Path, kind: TypeAdapter[Record], problem: str) -> Record:
    """A file that is one record, as JSON; `BadInput` says the problem where it is none."""
    from pydantic import ValidationError

    with file_problems(path):
        content = path.read_bytes()
    try:
        return kind.validate_json(content)
    except ValidationError as error:
        raise BadInput(f"{path}: {problem} ({first_invalid(error, 'file')})") from None


def check_exists(path: Path) -> None:
    """`FileProblem` says how to make a part of a collection that is missing, or that it is none."""
    if path.name in STEPS:
        check_regular(path)
        if not path.exists():
            raise FileProblem(f"{path}: no such file; next: {next_step(path.parent)}")


def repeated_id(path: Path, number: int, repeated: str) -> BadInput:
    """The error at the second row of one id."""
    return BadInput.at(path, number, f"the id {repeated!r} stands in an earlier line too")


def ids_in_words(queries: Sequence[str], documents: Sequence[str], most: int) -> Iterator[str]:
    """Ids of queries and of documents, as far as there are any: each counted, and some listed."""
    for ids, singular, plural in (
        (queries, "query", "queries"),
        (documents, "document", "documents"),
    ):
        if ids:
            more = f", … and {len(ids) - most:,} more" if len(ids) > most else ""
            yield f"{count_of(len(ids), singular, plural)} ({', '.join(ids[:most])}{more})"
