"""Several assessors: a row for each, the closest to people first, and one picture."""

from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.errors import Misuse
from labeler.judging.judge import judge
from labeler.testing import fake_model, small_collection
from labeler.trec.files import read_qrels
from labeler.trec.write import write_qrels, write_run

HUMAN = {f"q{q}": {f"d{d}": (q + d) % 3 for d in range(8)} for q in range(8)}


def wrong(every: int) -> dict[str, dict[str, int]]:
    """Human grades, of which one in so many documents has another."""
    return {
        q: {d: (g + (n % every == 0)) % 3 for n, (d, g) in enumerate(row.items())}
        for q, row in HUMAN.items()
    }


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    sets = {"human": HUMAN, "poor": wrong(2), "best": wrong(8), "fair": wrong(4)}
    for name, grades in sets.items():
        write_qrels(tmp_path / f"{name}.qrels", grades)
    return [str(tmp_path / f"{name}.qrels") for name in sets]


def test_each_of_several_has_one_row_and_the_closest_is_named_first(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["agree", *files, "-s", "cohen", "-s", "mae"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("3 assessors beside human, in the order of kappa: from 0.8")
    assert " of poor. Order alone may be chance." in lines[0]
    assert lines[2] == "each beside human, 64 pairs"
    assert lines[3].split() == ["assessor", "kappa", "mae"]
    assert [line.split()[0] for line in lines[4:7]] == ["best", "fair", "poor"]
    assert not any("most disagreement" in line for line in lines)


def test_of_a_statistic_where_less_is_better_the_least_comes_first(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["agree", *files, "-s", "mae"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[4:7]] == ["best", "fair", "poor"]


def test_of_a_collection_alone_people_are_beside_all_that_models_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = small_collection(tmp_path / "coll")
    folder = str(collection.folder)
    assert execute(["agree", folder]) == Misuse.exit_code
    assert capsys.readouterr().err == (
        f"labeler: expected two names or more of the qrels in {folder}: there are none\n"
    )
    for name in ("llm", "other"):
        judge(collection, model=fake_model('{"grade": 2}'), name=name)
    human = {
        query: dict.fromkeys(row, 2) for query, row in read_qrels(collection.qrels("llm")).items()
    }
    write_qrels(collection.qrels("human"), human)
    write_qrels(collection.qrels("anna"), human)
    assert execute(["agree", folder]) == 0
    said = capsys.readouterr().out
    assert said == (execute(["agree", folder, "human", "llm", "other"]), capsys.readouterr().out)[1]
    assert "anna" not in said
    (collection.qrels("human")).unlink()
    assert execute(["agree", folder]) == Misuse.exit_code
    assert capsys.readouterr().err.endswith(": anna, llm, other\n")


def test_details_show_each_of_several_in_full(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["agree", *files, "-s", "kappa", "--details"]) == 0
    said = capsys.readouterr().out
    assert all(f"human and {name}: 64 pairs" in said for name in ("best", "fair", "poor"))


def test_two_are_told_apart_by_their_names(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["agree", *files[:3], "-s", "kappa"]) == 0
    said = capsys.readouterr().out
    assert "best less poor beside human, on common pairs" in said
    assert "best is closer" in said
    assert "(first)" not in said


def test_who_an_assessor_is_compared_with_is_named_and_human_grades_are_peoples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(f"q{d % 9} 0 d{d} {d % 3}\n" for d in range(90))
    for name in ("rater1", "rater2", "human"):
        (tmp_path / f"{name}.qrels").write_text(lines)
    for first, named in (("rater1", "rater1"), ("human", "people")):
        files = [str(tmp_path / f"{name}.qrels") for name in (first, "rater2")]
        assert execute(["agree", *files, "-s", "kappa"]) == 0
        said = capsys.readouterr().out
        assert f"rater2 gives the same grade as {named} to 90 of 90 pairs" in said
        assert f"neither stricter nor more generous than {named}." in said
    assert "as people do is not known" in said


def test_the_order_of_systems_stands_beside_each_of_several(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for shift in range(3):
        run = {
            q: {d: float((len(d) + int(d[1:]) * (shift + 1)) % 8) for d in HUMAN[q]} for q in HUMAN
        }
        write_run(tmp_path / "runs" / f"{shift}.trec", run, "r")
    asked = ["agree", *files, "-s", "kappa", "--run", str(tmp_path / "runs")]
    assert execute(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split() == ["assessor", "kappa", "tau-b", "of", "systems"]
    assert all(len(line.split()) > 2 for line in lines[4:7])


def test_one_run_has_no_order_to_compare(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "only.trec", {q: {"d0": 1.0} for q in HUMAN}, "r")
    assert execute(["agree", *files, "--run", str(tmp_path / "only.trec")]) == 2
    assert capsys.readouterr().err == (
        "labeler: --run: an order takes two runs or more, and there is one\n"
    )
