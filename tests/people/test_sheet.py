"""A sheet's columns are known by the whole of their names, and its sample by a name."""

import csv
import json
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.collection.people import sample_path
from labeler.errors import BadInput, Misuse
from labeler.people.sample import DrawOptions, draw_sheets
from labeler.people.sheet import read_sheet
from labeler.testing import small_collection
from labeler.trec.files import read_qrels

SCALED = "grade"
"""What the column of grades was called in earlier sheets, which are still read."""


def drawn(folder: Path) -> tuple[Collection, Path]:
    """A collection and the sheet of its four pairs."""
    collection, sheet = small_collection(folder / "coll"), folder / "sheet.csv"
    draw_sheets(collection, DrawOptions(), [sheet])
    return collection, sheet


def cells(sheet: Path) -> list[list[str]]:
    return list(csv.reader(sheet.read_text("utf-8-sig").splitlines()))


def filled(sheet: Path, columns: dict[str, str], renamed: dict[str, str] | None = None) -> None:
    """Grade every pair 1, call columns by other names, and add columns of one value each."""
    header, *rows = cells(sheet)
    header[header.index("grade")] = SCALED
    for row in rows:
        row[header.index(SCALED)] = "1"
    header = [(renamed or {}).get(name, name) for name in header]
    with sheet.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*header, *columns])
        writer.writerows([*row, *columns.values()] for row in rows)


@pytest.mark.parametrize(
    ("added", "renamed"),
    [
        ({"grade_confidence": "3"}, {}),
        ({"graded by": "2"}, {}),
        ({"grade 2nd look": "0"}, {}),
        ({"grade (2nd look)": "0"}, {}),
        ({"grade (0 = no; 1 = yes) of Anna": "0"}, {}),
        ({"Grade?": "0"}, {}),
        ({"my grade": "0", "": "7", "notes": "x"}, {}),
        ({"asessor": "Anna"}, {}),
        ({}, {SCALED: "GRADE"}),
        ({}, {SCALED: " grade ", "row": "Row ", "doc_id": "DOC_ID"}),
        ({"grade_notes": "3"}, {SCALED: "grade", "comment": "remarks"}),
    ],
)
def test_no_other_column_replaces_a_persons_grades(
    tmp_path: Path,
    added: dict[str, str],
    renamed: dict[str, str],
) -> None:
    collection, sheet = drawn(tmp_path)
    filled(sheet, added, renamed)
    assert execute(["people", "import", str(sheet), str(collection.folder), "--as", "human"]) == 0
    grades = read_qrels(collection.qrels("human"))
    assert {grade for row in grades.values() for grade in row.values()} == {1}
    assert sum(map(len, grades.values())) == 4


@pytest.mark.parametrize(
    ("added", "renamed", "problem"),
    [
        ({"grade": "3"}, {}, f"'{SCALED}' and 'grade' are both the column grade"),
        ({"GRADE ": "3"}, {}, f"'{SCALED}' and 'GRADE ' are both the column grade"),
        ({SCALED: ""}, {}, "are both the column grade; rename or remove one"),
        ({"row": "1"}, {}, "'row' and 'row' are both the column row"),
        ({"Comment": "x"}, {}, "'comment' and 'Comment' are both the column comment"),
        ({}, {SCALED: "grade_confidence"}, "no column grade, but sample"),
        ({}, {SCALED: "Grades"}, "no column grade, but sample"),
        ({}, {"doc_id": "docid"}, "no column doc_id, but sample"),
    ],
)
def test_a_column_that_stands_twice_or_not_at_all_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    added: dict[str, str],
    renamed: dict[str, str],
    problem: str,
) -> None:
    collection, sheet = drawn(tmp_path)
    filled(sheet, added, renamed)
    assert execute(["people", "import", str(sheet), str(collection.folder), "--as", "human"]) == 65
    said = capsys.readouterr().err
    assert said.startswith(f"labeler: {sheet}:1: ")
    assert problem in said
    assert not collection.qrels("human").exists()


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("sample", "../pool", "expected a sample's name, found '../pool'"),
        ("sample", "/etc/passwd", "expected a sample's name"),
        ("sample", "", "expected a sample's name"),
        ("sample", "..", "expected a sample's name"),
        ("row", "9" * 5000, "expected the row's number"),
        ("row", "٣", "expected the row's number"),
        ("row", "-1", "expected the row's number"),
        (SCALED, "9" * 400, "expected a grade or an empty cell"),
        (SCALED, "1e0", "expected a grade or an empty cell"),
        (SCALED, "٣", "expected a grade or an empty cell"),
        (SCALED, "1" * 10, "the grade 1111111111 is none of 0, 1, 2, 3"),
        (SCALED, "nan", "expected a grade or an empty cell"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named_with_its_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    column: str,
    cell: str,
    problem: str,
) -> None:
    collection, sheet = drawn(tmp_path)
    header, *rows = cells(sheet)
    header[header.index("grade")] = SCALED
    for row in rows:
        row[header.index(column)] = cell
    with sheet.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([header, *rows])
    assert execute(["people", "import", str(sheet), str(collection.folder), "--as", "human"]) == 65
    said = capsys.readouterr().err
    assert said.startswith(f"labeler: {sheet}:2: ")
    assert problem in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("name", ["../pool", "a/b", "..", "", "a\0b"])
def test_a_samples_file_never_leaves_its_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(Misuse):
        sample_path(tmp_path, name)


@pytest.mark.parametrize(
    ("samples", "problem"),
    [
        ("{}", "no scale of the sample"),
        ("[]", "no scale of the sample"),
        ('{"ID": 3}', "no scale of the sample"),
        ('{"ID": {"scale": {}}}', "no scale of the sample"),
        ('{"ID": {"scale": {"x": ""}}}', "expected the integer grades of a scale in 'samples'"),
        (
            f'{{"ID": {{"scale": {{"{"9" * 5000}": ""}}}}}}',
            "expected the integer grades of a scale",
        ),
    ],
)
def test_no_grade_is_taken_where_the_card_does_not_say_which_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], samples: str, problem: str
) -> None:
    collection, sheet = drawn(tmp_path)
    filled(sheet, {})
    sample = cells(sheet)[1][0]
    collection.card.write_text(f'{{"samples": {samples.replace("ID", sample)}}}')
    assert execute(["people", "import", str(sheet), str(collection.folder), "--as", "human"]) == 65
    said = capsys.readouterr().err
    assert said.startswith(f"labeler: {collection.card}: ")
    assert problem in said


@pytest.mark.parametrize(
    "row",
    [
        {"query_id": "q1", "doc_id": "cats", "probability": 1},
        {"row": "1", "query_id": "q1", "doc_id": "cats", "probability": 1},
        {"row": 1, "query_id": "q1", "doc_id": "cats", "probability": 10**400},
        {"row": 1, "query_id": ["q1"], "doc_id": "cats", "probability": 1},
    ],
)
def test_a_damaged_sample_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, object]
) -> None:
    collection, sheet = drawn(tmp_path)
    filled(sheet, {})
    (sample,) = (collection.folder / "samples").iterdir()
    sample.write_text(json.dumps(row) + "\n")
    assert execute(["people", "import", str(sheet), str(collection.folder), "--as", "human"]) == 65
    assert capsys.readouterr().err.startswith(f"labeler: {sample}:1: ")


def test_a_sheet_without_rows_or_in_another_encoding_is_no_sheet(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    for content in (b"", b"\xef\xbb\xbf", b" \n", b",,\n", b"caf\xe9,row\n", b"a\0b"):
        sheet.write_bytes(content)
        with pytest.raises(BadInput, match=r"^.*sheet\.csv"):
            read_sheet(sheet)
