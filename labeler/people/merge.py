"""Several raters' grades of the same pairs, put together into one final grade each.

A pair has the grade of most of those who graded it; where several grades have as many, the lower
median of all. What raters differ on is listed, so that they can talk about it and grade it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from labeler.collection.layout import (
    HUMAN,
    AnyCollection,
    Collection,
    check_name,
    locked,
    open_collection,
)
from labeler.collection.people import HumanAnswer, people_path, read_people
from labeler.data import Pair, most_given
from labeler.errors import FileProblem, Misuse
from labeler.messages import Note
from labeler.people.import_labels import ImportOptions, merge_answers
from labeler.report.result import Result

AnswersByRater = Mapping[str, HumanAnswer]
"""The answers of several raters to one pair, by the names under which they were taken in."""


@dataclass(frozen=True)
class MergedRaters(Result):
    """What became of several raters' grades.

    `pairs` have a grade in the end. Several raters graded `shared` of them and `differ` on some;
    `apart` counts those of which two are more than one grade apart.
    """

    pairs: int
    shared: int
    differ: int
    apart: int


def merge_raters(
    collection: AnyCollection,
    names: Sequence[str],
    name: str = HUMAN,
    each: Callable[[str], object] = lambda _line: None,
    warn: Note = lambda _line: None,
) -> MergedRaters:
    """Write the final grades of what raters graded in sheets or on the page as the qrels `name`.

    `names` are those under which their grades were taken in. Each pair keeps its chance to be
    drawn, so that `agree` weights figures back to the pool. `each` is given a line of every pair on
    which raters differ. What an earlier merge of the same raters wrote is replaced. Raises `Misuse`
    for fewer than two names, and `FileProblem` where grades came without the pairs' chances.
    """
    opened, names = open_collection(collection), list(dict.fromkeys(names))
    if len(names) < 2:
        raise Misuse("grades of two raters or more are put together", parameter="names")
    if check_name(name) in names:
        raise Misuse(f"{name} is a rater's; give the final grades another name", parameter="name")
    with locked(opened, warn):
        answers = _answers_of(opened, names)
        final = {pair: _final(of_pair) for pair, of_pair in answers.items()}
        raters = {rater for row in final.values() for rater in row.assessor.split(BETWEEN)}
        options, where = ImportOptions(name, "", "", replace=None), " and ".join(names)

        def is_own(row: HumanAnswer) -> bool:
            return raters.issuperset(row.assessor.split(BETWEEN))

        merge_answers(opened, options, final, where, is_own)
    graded = {pair: _grades(of_pair) for pair, of_pair in answers.items()}
    several = {pair: grades for pair, grades in graded.items() if len(grades) > 1}
    spread = {pair: max(g.values()) - min(g.values()) for pair, g in several.items()}
    differing = sorted(filter(spread.get, spread), key=spread.__getitem__, reverse=True)
    for pair in differing:  # those furthest apart first
        grades = ", ".join(f"{rater} {grade}" for rater, grade in several[pair].items())
        each(f"{' '.join(pair)}: {grades}; final {final[pair].grade}")
    return MergedRaters(
        pairs=sum(row.grade is not None for row in final.values()),
        shared=len(several),
        differ=len(differing),
        apart=sum(between > 1 for between in spread.values()),
    )


BETWEEN = ", "
"""What stands between the raters of a final grade."""


def _answers_of(collection: Collection, names: Sequence[str]) -> dict[Pair, dict[str, HumanAnswer]]:
    """What each rater said of each pair, sorted by pair."""
    answers: dict[Pair, dict[str, HumanAnswer]] = {}
    for name in names:
        path = people_path(collection.folder, check_name(name))
        if not path.exists():
            problem = f"is not there; there are: {', '.join(collection.qrels_names())}"
            if collection.qrels(name).exists():
                problem = (
                    "came as qrels, without the chances of its pairs; "
                    "next: labeler qrels merge, and import what it writes"
                )
            raise FileProblem(f"{name} {problem}", parameter="names")
        for row in read_people(path):
            answers.setdefault(row.pair, {})[name] = row
    return dict(sorted(answers.items()))


def _grades(answers: AnswersByRater) -> dict[str, int]:
    """The grades of those who did not skip the pair."""
    return {name: row.grade for name, row in answers.items() if row.grade is not None}


def _final(answers: AnswersByRater) -> HumanAnswer:
    """The one answer that stands for all: of a pair that everybody skipped, no grade."""
    grades, rows = list(_grades(answers).values()), list(answers.values())
    return HumanAnswer(
        rows[0].pair,
        most_given(grades) if grades else None,
        BETWEEN.join(dict.fromkeys(row.assessor or name for name, row in answers.items())),
        max(row.time for row in rows),
        " | ".join(row.comment for row in rows if row.comment),
        rows[0].probability,
        rows[0].sample,
    )
