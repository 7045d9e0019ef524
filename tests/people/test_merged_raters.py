"""Several raters' grades become one final grade a pair, whose chance to be drawn is kept."""

import csv
from pathlib import Path

import pytest
from test_sample_and_import import OTHER, collection, draw, strata

from labeler.cli import execute
from labeler.collection.layout import open_collection
from labeler.collection.people import people_path, read_people
from labeler.errors import FileProblem, Misuse
from labeler.people.merge import merge_raters
from labeler.trec.files import read_qrels

RATERS = ("anna", "ben", "carla")


def graded(sheet: Path, grade_of: dict[int, str], usual: str = "1") -> None:
    """Fill a sheet in: the rows named get other grades; an empty one is skipped."""
    with sheet.open(newline="", encoding="utf-8-sig") as source:
        delimiter = csv.Sniffer().sniff(source.readline(), ",;\t").delimiter
        source.seek(0)
        rows = list(csv.DictReader(source, delimiter=delimiter))
    for at, row in enumerate(rows):
        row["grade"] = grade_of.get(at, usual)
    with sheet.open("w", newline="", encoding="utf-8-sig") as out:
        writer = csv.DictWriter(out, rows[0].keys(), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    """Three raters who graded the same 12 pairs, and differ on the first four."""
    folder = collection(tmp_path / "c")
    sheet = tmp_path / "sheet.csv"
    assert execute(["people", "sample", str(folder), "--pairs", "12", "-o", str(sheet)]) == 0
    grades: list[dict[int, str]] = [
        {0: "0", 1: "0", 2: "", 3: "0"},
        {0: "0", 1: "2", 2: "", 3: "3"},
        {0: "2", 1: "3", 2: "", 3: ""},
    ]
    for rater, own in zip(RATERS, grades, strict=True):
        graded(sheet, own)
        command = ["people", "import", str(sheet), str(folder), "--as", rater, "--assessor", rater]
        assert execute(command) == 0
    return folder


def test_a_pair_has_the_grade_of_most_raters_else_the_lower_median(
    coll: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "differ.txt"
    capsys.readouterr()
    assert execute(["people", "merge", str(coll), *RATERS, "--conflicts", str(listed)]) == 0
    said = capsys.readouterr()
    assert "human: 11 final grades" in said.out
    assert "11 pairs graded by several: they differ on 3, by more than one grade on 3" in said.out
    rows = {row.pair: row for row in read_people(coll / "people/human.jsonl")}
    order = [row.pair for row in read_people(coll / "people/anna.jsonl")]
    lines = listed.read_text().splitlines()
    assert len(lines) == 3
    finals = {tuple(line.split(":")[0].split()): int(line[-1]) for line in lines}
    assert sorted(finals.values()) == [0, 0, 2]  # most; of 0 and 3 the lower; of 0, 2, 3 the median
    assert all(rows[pair].grade == grade for pair, grade in finals.items())
    assert sorted(rows) == sorted(order)
    assert [row.grade for row in rows.values()].count(None) == 1
    chances = {row.pair: row.probability for row in read_people(coll / "people/anna.jsonl")}
    assert {pair: row.probability for pair, row in rows.items()} == chances
    assert "anna, ben, carla" in {row.assessor for row in rows.values()}
    assert sum(map(len, read_qrels(coll / "qrels/human.qrels").values())) == 11


def test_a_merge_of_the_same_raters_takes_the_place_of_an_earlier_one(
    coll: Path, tmp_path: Path
) -> None:
    assert merge_raters(coll, ["anna", "ben"]).pairs == 11
    sheet = tmp_path / "sheet.csv"
    graded(sheet, {}, "3")
    again = ["people", "import", str(sheet), str(coll), "--as", "ben", "--assessor", "ben"]
    assert execute([*again, "--replace"]) == 0
    merged = merge_raters(coll, ["anna", "ben"])
    assert (merged.pairs, merged.shared, merged.differ) == (12, 11, 11)
    assert merge_raters(coll, RATERS).pairs == 12  # one more rater of the same pairs


def test_sheets_of_one_draw_have_the_chance_of_the_whole_draw(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c")
    sheets = [tmp_path / "a.csv", tmp_path / "b.csv"]
    places = [part for sheet in sheets for part in ("-o", str(sheet))]
    command = ["people", "sample", str(folder), "--pairs", "100", "--overlap", "0.2", *places]
    assert execute(command) == 0
    for sheet, rater in zip(sheets, RATERS, strict=False):
        graded(sheet, {})
        assert execute(["people", "import", str(sheet), str(folder), "--as", rater]) == 0
    merged = merge_raters(folder, RATERS[:2])
    assert (merged.pairs, merged.shared, merged.differ) == (100, 20, 0)
    whole = draw(strata(OTHER), 100, None, 0)
    opened = open_collection(folder)
    rows = read_people(people_path(opened.folder, "human"))
    assert all(row.probability == pytest.approx(whole[row.pair]) for row in rows)


def test_what_cannot_be_merged_is_refused_with_what_would_work(coll: Path) -> None:
    with pytest.raises(Misuse, match="two raters or more"):
        merge_raters(coll, ["anna", "anna"])
    with pytest.raises(Misuse, match="anna is a rater's"):
        merge_raters(coll, RATERS, "anna")
    with pytest.raises(FileProblem, match="dora is not there; there are: anna, ben, carla"):
        merge_raters(coll, ["anna", "dora"])
    (coll / "qrels/plain.qrels").write_text("q0 0 d0 1\n")
    with pytest.raises(FileProblem, match=r"plain came as qrels.*labeler qrels merge"):
        merge_raters(coll, ["anna", "plain"])
