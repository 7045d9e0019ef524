"""Ratings of other tools become grades: integers as they are, others as a person says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from labeler.errors import BadInput, Misuse, SaysTooLittle
from labeler.trec.rows import LARGEST_GRADE
from labeler.trec.values import NUMBER, ids_of, is_number, shown

LARGEST_OF_A_SCALE = 10
_LISTED = 8
_GRADES = 4
_ESCI = {0.0: 0, 1.0: 1, 10.0: 2, 100.0: 3}
"""The gains of exact, substitute, complement and irrelevant products in OpenSearch's ESCI."""
_WORDS = {
    **dict.fromkeys(("i", "irrelevant", "false", "no"), 0),
    **dict.fromkeys(("c", "complement", "partial", "true", "yes", "relevant"), 1),
    **dict.fromkeys(("s", "substitute"), 2),
    **dict.fromkeys(("e", "exact"), 3),
}
"""The grades that a mapping proposes for words and letters, as those of ESCI and WANDS."""
_LONGEST = 40

Scale = float | str
"""A rating: a number, or a word as `exact`."""


@dataclass(frozen=True)
class GradeRule:
    """What a person says that ratings mean.

    `mapping` holds the grade of each rating; `scale` is the highest rating and its grade, and
    ratings between 0 and it become the nearest grade.
    """

    mapping: Mapping[Scale, int] = field(default_factory=dict)
    scale: tuple[float, int] | None = None

    @classmethod
    def of(cls, grade_map: str = "", scale: str = "") -> GradeRule:
        """The rule in one of two texts, as `0:0,0.5:1,1:2` or `100:3`."""
        if grade_map and scale:
            raise Misuse("a mapping and a scale are given; one is enough", parameter="grade_map")
        if scale:
            return cls(scale=_scale_of(scale))
        return cls(_mapping_of(grade_map))

    def grade(self, rating: Scale) -> int | None:
        """The grade of a rating, `None` where the rule says nothing of it."""
        if self.scale is None:
            return self.mapping.get(rating)
        highest, grade = self.scale
        if isinstance(rating, str) or not 0 <= rating <= highest:
            return None
        return math.floor(rating / highest * grade + 0.5)


_RATING_AND_GRADE = re.compile(r"([^:]*):\s*([+-]?[0-9]{1,10})\s*")


def _mapping_of(text: str) -> dict[Scale, int]:
    mapping = {}
    for part in text.split(","):
        pair = _RATING_AND_GRADE.fullmatch(part)
        rating = rating_of(pair[1]) if pair else None
        if pair is None or rating is None or rating in mapping or abs(int(pair[2])) > LARGEST_GRADE:
            raise Misuse(
                f"cannot read {part!r:.40}; write each rating and its grade, as 0:0,0.5:1,1:2",
                parameter="grade_map",
            )
        mapping[rating] = int(pair[2])
    return mapping


def _scale_of(text: str) -> tuple[float, int]:
    pair = _RATING_AND_GRADE.fullmatch(text)
    highest = number_of(pair[1]) if pair else None
    if pair is None or highest is None or highest <= 0 or not 0 < int(pair[2]) < 10_000:
        raise Misuse(
            f"cannot read {text!r:.40}; write the highest rating and its grade, as 100:3",
            parameter="scale",
        )
    return highest, int(pair[2])


def number_of(value: Any) -> float | None:
    """A rating as a finite number; `None` where it is none."""
    if isinstance(value, str):
        text = value.strip()
        read = float(text) if len(text) <= _LONGEST and NUMBER.fullmatch(text) else math.nan
        return read if math.isfinite(read) else None
    try:
        return float(value) if is_number(value) and math.isfinite(value) else None
    except OverflowError:
        return None


def rating_of(value: Any) -> Scale | None:
    """A number, or a word of a scale in small letters; `None` of anything else."""
    number = number_of(value)
    if number is not None or not isinstance(value, str | bool):
        return number
    word = str(value).strip().casefold()
    return word if 0 < len(word) <= _LONGEST and word[0].isalpha() else None


class Grades:
    """The grades of a file's ratings, and what to say where some are no grades."""

    def __init__(self, path: Path, rule: GradeRule | None, *, is_rating: bool) -> None:
        self.path = path
        self.rule = rule
        self.is_rating = is_rating
        self.first = ""
        self.odd: set[Scale] = set()
        self.ratings: set[Scale] = set()

    def grade(self, where: str, value: Any) -> int | None:
        """The grade of a rating; `BadInput` where it is none, `None` where it is no grade."""
        rating = rating_of(value)
        grade = None
        if rating is None or (isinstance(rating, str) and len(self.odd) > _LISTED):
            raise BadInput(f"{where}: expected an integer grade, found {shown(value)}")
        if self.rule is not None:
            grade = self.rule.grade(rating)
        elif isinstance(rating, float):
            most = LARGEST_OF_A_SCALE if self.is_rating else LARGEST_GRADE
            grade = int(rating) if rating.is_integer() and abs(rating) <= most else None
        if len(self.ratings) < 1000:
            self.ratings.add(rating)
        if grade is None:
            self.first = self.first or where
            if len(self.odd) < 1000:
                self.odd.add(rating)
        return grade

    def check(self) -> None:
        """`BadInput` where ratings were no grades; it proposes what would make them some."""
        if not self.odd:
            return
        some = _listed(sorted(self.odd, key=_in_order))
        if self.rule is None:
            raise UnmappedRatings(
                self.path,
                f"{self.first}: ratings that are no grades ({some})",
                proposed(self.ratings),
            )
        name = "scale" if self.rule.scale else "mapping"
        raise BadInput(f"{self.first}: the {name} says nothing of the grades {some}")


class UnmappedRatings(SaysTooLittle):
    """Ratings that become grades only by a rule that a person states."""

    def __init__(self, path: Path, problem: str, rule: tuple[str, str]) -> None:
        name, value = rule
        say = f"{problem}; say what they mean"
        or_else = "or is this a run?"
        message = f"{say}, as {name}={value!r}; {or_else}"
        super().__init__(f"{say}, {or_else}", path, {name: value}, message)


def _in_order(rating: Scale) -> tuple[bool, Scale]:
    """Numbers by their size, then words."""
    return isinstance(rating, str), rating


def proposed(ratings: Iterable[Scale]) -> tuple[str, str]:
    """A mapping of a few ratings, in their order, onto 0 to 3; or a scale.

    Four ratings are the four grades, whatever they are: those of ESCI are 100, 10, 1 and 0. Words
    are theirs where they are usual, else numbered.
    """
    every = sorted(ratings, key=_in_order)
    ordered = [rating for rating in every if isinstance(rating, float)]
    if len(ordered) < len(every):
        words = ((word, _WORDS.get(str(word), n)) for n, word in enumerate(every))
        return "grade_map", ",".join(f"{word}:{grade}" for word, grade in words)
    is_esci = {*ordered} <= _ESCI.keys() and 100 in ordered
    if len(ordered) == _GRADES or is_esci:
        grades = _ESCI if is_esci else dict(zip(ordered, range(_GRADES), strict=True))
        return "grade_map", ",".join(f"{rating:g}:{grades[rating]}" for rating in ordered)
    highest = max(ordered[-1], 0.0)
    top = 1.0 if highest <= 1 else 100.0 if 10 < highest <= 100 else highest
    if len(ordered) > _LISTED or (ordered and ordered[0] < 0):
        return "scale", f"{top:g}:3"
    pairs = (f"{rating:g}:{math.floor(max(rating, 0) / top * 3 + 0.5)}" for rating in ordered)
    return "grade_map", ",".join(pairs)


def _listed(ratings: Sequence[Scale]) -> str:
    words = (r if isinstance(r, str) else f"{r:g}" for r in ratings[:_LISTED])
    return ", ".join(words) + (", …" if ratings[_LISTED:] else "")


def stripped(value: Any) -> Any:
    """A text without white space around it; any other value as it is."""
    return value.strip() if isinstance(value, str) else value


# What readers of qrels hand over: rows of a query, a document and what somebody said of them.


class Rating(NamedTuple):
    """A query, a document and a rating, as they stand in a file; `line` is where, or a number."""

    line: int
    query: Any
    document: Any
    value: Any

    def pair(self, where: str) -> tuple[str, str]:
        """The ids of the query and of the document."""
        return ids_of(where, stripped(self.query), stripped(self.document))


class RatedFile(NamedTuple):
    """The ratings of a file, and what it was taken for.

    `by_text` says that queries are named by their text, or may be; `is_rating` that the numbers
    are ratings of any range, and no grades unless they are small integers.
    """

    kind: str
    ratings: Iterable[Rating]
    by_text: bool = False
    is_rating: bool = False
