"""Grades of people and of a model never mix unsaid: in a merge, in a collection, in a figure."""

from collections.abc import Callable
from pathlib import Path

import pytest
from made import make_collection

import labeler
from labeler.cli import execute
from labeler.collection.layout import Collection, sources_path
from labeler.collection.whose import is_of_people, mixture, sources_beside, whose
from labeler.errors import Misuse
from labeler.testing import fake_model
from labeler.trec.files import read_qrels
from labeler.trec.write import write_qrels

PEOPLE = {"q0": {"d0": 2, "d1": 0, "d2": -1}}
MODEL = {"q0": {"d0": 3, "d2": 1, "d3": 0}, "q1": {"d0": 1}}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    write_qrels(tmp_path / "human.qrels", PEOPLE)
    write_qrels(tmp_path / "llm.qrels", MODEL)
    return tmp_path / "human.qrels", tmp_path / "llm.qrels", tmp_path / "all.qrels"


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = make_collection(tmp_path / "c", 2, 5)
    labeler.judge(made, model=fake_model('{"grade": 1}'), name="llm")
    labeler.judge(made, model=fake_model('{"grade": 2}', "other"), name="llm2")
    labeler.import_qrels({"q0": {"d0": 2, "d1": 0}}, made)
    return made


def merge(*words: object) -> int:
    return execute(["qrels", "merge", *map(str, words)])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("conflict", ["error", "max", "drop", "last"])
def test_the_preferred_grades_win_and_a_list_says_where_each_line_came_from(
    files: tuple[Path, Path, Path], order: tuple[int, int], conflict: str
) -> None:
    out = files[2]
    inputs = [files[n] for n in order]
    asked = [*inputs, "-o", out, "--prefer", "human"]
    # nobody judged d2: -1 wins over no grade, so that only rules for conflicts decide there
    if conflict == "error":
        assert merge(*asked) == 65
        assert not out.exists()
        assert not sources_path(out).exists()
        return
    assert merge(*asked, "--conflict", conflict) == 0
    grades = read_qrels(out)
    assert (grades["q0"]["d0"], grades["q0"]["d1"], grades["q1"]["d0"]) == (2, 0, 1)
    assert grades["q0"].get("d2") == {"max": 1, "drop": None, "last": (-1, 1)[order[1]]}[conflict]
    lines = sources_path(out).read_text().splitlines()
    by_pair = {tuple(line.split("\t")[:2]): line.split("\t")[2:] for line in lines[2:]}
    assert by_pair["q0", "d0"] == ["2", "human"]
    assert by_pair["q0", "d1"] == ["0", "human"]
    assert by_pair["q1", "d0"] == ["1", "llm"]
    assert len(by_pair) == sum(map(len, grades.values()))
    assert merge(*asked, "--conflict", conflict) == 0  # the same again


def test_each_line_of_the_list_is_a_line_of_the_file_that_it_names(tmp_path: Path) -> None:
    sets = {
        name: {f"q{q}": {f"d{d}": (q * d + n) % 4 for d in range(n, 9 + n)} for q in range(5)}
        for n, name in enumerate(("a", "b", "c"))
    }
    for name, qrels in sets.items():
        write_qrels(tmp_path / f"{name}.qrels", qrels)
    inputs = [tmp_path / f"{name}.qrels" for name in sets]
    for conflict in ("first", "last", "max", "min", "drop"):
        out = tmp_path / f"{conflict}.qrels"
        assert merge(*inputs, "-o", out, "--prefer", "b", "--conflict", conflict) == 0
        merged = read_qrels(out)
        for line in sources_path(out).read_text().splitlines()[2:]:
            query, document, grade, source = line.split("\t")
            assert sets[source][query][document] == int(grade) == merged[query][document]
            assert source == "b" or document not in sets["b"][query]


def test_people_s_grades_and_a_model_s_are_not_merged_unless_it_is_said_whose_win(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = collection.qrels("human"), collection.qrels("llm")
    out = tmp_path / "all.qrels"
    for conflict in ("first", "max"):
        assert merge(*both, "-o", out, "--conflict", conflict) == 2
        assert "--prefer: " in capsys.readouterr().err
    assert merge(*both, "-o", "-", "--prefer", "human") == 2
    assert merge(*both, "-o", out, "--prefer", "people") == 2
    assert not out.exists()
    assert merge(*both, "-o", out, "--prefer", "human") == 0
    assert sources_beside(out) == {"llm": 8, "human": 2}


def test_figures_by_mixed_grades_say_so_until_the_file_is_another(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    human, llm, out = files
    assert merge(human, llm, "-o", out, "--prefer", "human", "--conflict", "max") == 0
    said = capsys.readouterr().err
    assert f"wrote {sources_path(out)}: where each line came from" in said
    for words in (["agree", out, llm], ["agree", human, out]):
        assert execute(list(map(str, words))) == 0
        said = capsys.readouterr()
        assert "all.qrels mixes grades: 3 of llm, 2 of human" in said.out + said.err
    assert whose(out) == "both"
    write_qrels(out, MODEL)
    assert whose(out) == ""


def test_grades_that_were_mixed_once_stay_so_in_what_is_made_of_them(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    human, llm, out = files
    again = out.with_name("again.qrels")
    assert merge(human, llm, "-o", out, "--prefer", "human", "--conflict", "max") == 0
    assert merge(out, llm, "-o", again, "--conflict", "max") == 0
    assert whose(again) == "both"
    assert "mixes grades: " in mixture(again)
    assert "all (mixed)" in mixture(again)
    capsys.readouterr()
    for words in ("map --map 0:0,1:1,2:1,3:1", "subset --queries q0", "convert"):
        verb, *more = words.split()
        made = out.with_name(f"{verb}.qrels")
        assert execute(["qrels", verb, str(out), "-o", str(made), *more]) == 0
        assert "the result does not say whose each line is" in capsys.readouterr().err


def test_a_list_of_sources_that_cannot_be_read_is_named(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    human, llm, out = files
    assert merge(human, llm, "-o", out, "--prefer", "human", "--conflict", "max") == 0
    with sources_path(out).open("ab") as file:
        file.write(b"\xff\n")
    assert execute(["agree", str(human), str(out)]) == 65
    assert "all.qrels.sources.tsv:8: not UTF-8" in capsys.readouterr().err


ATTEMPTS: dict[str, Callable[[Collection, Path], object]] = {
    "judge as human": lambda c, _: labeler.judge(c, model=fake_model("2"), name="human"),
    "relabel as human": lambda c, _: labeler.relabel(
        c, "llm", model=fake_model("2"), prompt="basic", name="human"
    ),
    "a panel as human": lambda c, _: labeler.panel(c, "llm", "llm2", name="human"),
    "import over a model's": lambda c, _: labeler.import_qrels({"q0": {"d0": 1}}, c, name="llm"),
    "import a model's as people's": lambda c, _: labeler.import_qrels(
        c.qrels("llm"), c, name="human2"
    ),
    "import a mixture as people's": lambda c, mixed: labeler.import_qrels(mixed, c, name="human2"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("is_there", [True, False])
def test_no_command_puts_a_model_s_grades_under_people_s_name_or_the_reverse(
    collection: Collection, tmp_path: Path, attempt: str, is_there: bool
) -> None:
    mixed = tmp_path / "all.qrels"
    both = collection.qrels("human"), collection.qrels("llm")
    assert merge(*both, "-o", mixed, "--prefer", "human") == 0
    if not is_there:
        collection.qrels("human").unlink()
    before = {path: path.read_bytes() for path in collection.folder.glob("qrels/*")}
    with pytest.raises(Misuse):
        ATTEMPTS[attempt](collection, mixed)
    assert {path: path.read_bytes() for path in collection.folder.glob("qrels/*")} == before


def test_whose_a_set_is_comes_from_what_made_it(collection: Collection) -> None:
    assert is_of_people(collection, "human")
    assert not is_of_people(collection, "llm")
    labeler.import_qrels({"q0": {"d0": 1}}, collection, name="nist")
    assert is_of_people(collection, "nist")
    assert [whose(collection.qrels(name)) for name in ("human", "nist", "llm")] == [
        "people",
        "people",
        "model",
    ]
