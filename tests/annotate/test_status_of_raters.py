"""What the journals say of raters: progress, and agreement."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from labeler.agreement.align import grade_matrix
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.joint import together
from labeler.annotate.journal import RatingJournal
from labeler.annotate.status import status_of_raters
from labeler.collection.annotations import JournalRow, answers_in, journal_path
from labeler.collection.layout import Collection, locked
from labeler.collection.people import SampledPair, sample_path, write_sample
from labeler.data import Pair
from labeler.errors import BadInput
from labeler.report.render import rendered_all
from labeler.testing import small_collection


def row(query: str, doc: str, grade: int | None, **values: object) -> JournalRow:
    purpose = str(values.pop("purpose", "audit"))
    sample = str(values.pop("sample", "s1"))
    item = f"{query}/{doc}"
    return JournalRow("grade", purpose, sample, item, query, doc, grade, **values)  # type: ignore[arg-type]


def graded(grades: Iterable[int], per_query: int = 2, **values: object) -> Iterator[JournalRow]:
    for number, grade in enumerate(grades):
        yield row(f"q{number // per_query}", f"d{number}", int(grade), **values)


def journal_of(collection: Collection, rater: str, rows: Iterable[JournalRow]) -> None:
    journal = RatingJournal(journal_path(collection, rater))
    journal.path.parent.mkdir(exist_ok=True)
    journal.path.write_bytes(b"".join(each.line() for each in rows))


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    collection = small_collection(tmp_path / "coll")
    with locked(collection):
        pairs = [Pair(f"q{n // 2}", f"d{n}") for n in range(60)]
        sampled = [SampledPair(n, pair, 0.5) for n, pair in enumerate(pairs, start=1)]
        (collection.folder / "samples").mkdir()
        write_sample(sample_path(collection.folder, "s1"), sampled)
    return collection


def test_each_kind_of_work_is_counted_apart(collection: Collection) -> None:
    rows = [
        *graded([0, 1, 2, 3], seconds=10.0),
        row("q8", "d16", None, cannot_judge=True),
        row("q9", "d18", None, skip=True),
        row("q9", "d19", 3, purpose="fix", sample="r1"),
        row("q9", "d21", None, skip=True, purpose="fix", sample="r1"),
    ]
    journal_of(collection, "anna", rows)
    (anna,) = status_of_raters(collection).raters
    assert (anna.graded, anna.cannot_judge, anna.skipped, anna.left) == (4, 1, 1, 55)
    assert anna.fixed == 1
    assert anna.seconds_median == 10.0


def test_the_last_answer_counts_and_one_taken_back_does_not() -> None:
    first, second = row("q1", "d1", 0), row("q1", "d1", 3)
    other, undone = row("q1", "d2", 1), row("q1", "d2", None, undo=True)
    answers = answers_in([first, other, second, undone])
    assert [answer.grade for answer in answers.standing] == [3]


def test_corrected_pairs_are_in_no_agreement(collection: Collection) -> None:
    journal_of(collection, "anna", graded([0, 1, 2, 3] * 5, purpose="fix"))
    journal_of(collection, "ben", graded([0, 1, 2, 3] * 5))
    status = status_of_raters(collection)
    assert status.alpha is None


def test_agreement_is_that_of_the_agreement_room(collection: Collection) -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 4, 60)
    grades = {
        name: np.clip(truth + rng.integers(-1, 2, 60), 0, 3) for name in ("anna", "ben", "cleo")
    }
    for name, given in grades.items():
        journal_of(collection, name, graded(given))
    qrels = {
        name: {f"q{q}": {f"d{n}": int(given[n]) for n in (2 * q, 2 * q + 1)} for q in range(30)}
        for name, given in grades.items()
    }
    whole = together(grade_matrix(qrels, (0, 1, 2, 3)), list(qrels), StatisticOptions())
    status = status_of_raters(collection)
    assert whole is not None
    assert status.alpha is not None
    alpha = whole.statistics["alpha-ordinal"]
    assert status.alpha == (alpha.value, alpha.low, alpha.high)


def test_every_form_of_the_status_shows_its_figures(collection: Collection) -> None:
    journal_of(collection, "anna", graded([0, 1, 2, 3] * 10, seconds=4.0))
    journal_of(collection, "ben", graded([0, 1, 2, 2] * 10, seconds=4.0))
    status = status_of_raters(collection)
    rows = json.loads(json.dumps(status.as_json()))["raters"]
    assert [each["graded"] for each in rows] == [40, 40]
    assert list(status.frame()["graded"]) == [40, 40]
    assert status.sentences[0] == "2 raters: 80 pairs graded, 40 left."
    assert "alpha" in status._repr_html_()
    assert "seconds a pair" in rendered_all(status.tables())


def test_without_a_journal_there_is_no_status(collection: Collection) -> None:
    with pytest.raises(BadInput, match="nobody has answered anything yet; next: labeler annotate"):
        status_of_raters(collection)
    journal_of(collection, "anna", [])
    with pytest.raises(BadInput, match="nobody has answered anything yet"):
        status_of_raters(collection)


def test_a_journal_that_is_none_is_named_with_its_line(collection: Collection) -> None:
    journal_of(collection, "anna", graded([1]))
    path = journal_path(collection, "anna")
    path.write_bytes(path.read_bytes() + b'{"task": "grade"}\n')
    with pytest.raises(BadInput, match=r"anna\.jsonl:2"):
        status_of_raters(collection)
