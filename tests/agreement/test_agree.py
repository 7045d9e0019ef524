"""`labeler.agree`: the command's figures from whatever a program holds."""

import json
from pathlib import Path

import pandas as pd
import pytest

import labeler
from labeler.cli import execute
from labeler.data import Qrels
from labeler.errors import BadInput, Misuse
from labeler.trec.files import read_qrels, read_run

HUMAN: Qrels = {"q1": {"d1": 2, "d2": 0, "d3": 1}, "q2": {"d4": 1, "d5": 0}}
LLM: Qrels = {"q1": {"d1": 2, "d2": 1, "d3": 1}, "q2": {"d4": 1, "d5": 0}}


def frame(qrels: Qrels, names: tuple[str, str, str]) -> pd.DataFrame:
    rows = [(q, d, grade) for q, row in qrels.items() for d, grade in row.items()]
    return pd.DataFrame(rows, columns=list(names))


@pytest.mark.sweep
def test_the_library_gives_the_commands_json(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    files = [str(folder / f"{name}.qrels") for name in ("nist", "gpt-4o", "llama-3.1-8b")]
    runs = folder / "runs"
    assert execute(["agree", *files, "--run", str(runs), "--json", "--details"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = labeler.agree(*files, runs=runs)
    assert json.loads(json.dumps(result.as_json(details=True))) == printed


@pytest.mark.sweep
def test_files_and_what_is_read_from_them_agree_alike(shared: Path) -> None:
    folder = shared / "dl19"
    files = [folder / "nist.qrels", folder / "gpt-4o.qrels"]
    runs = sorted((folder / "runs").iterdir())[:3]
    of_files = labeler.agree(*files, runs=runs).as_json()
    held = {path.name.removesuffix(".gz").removesuffix(".trec"): read_run(path) for path in runs}
    of_dicts = labeler.agree(*map(read_qrels, files), runs=held).as_json()
    assert of_dicts["statistics"] == of_files["statistics"]
    names = {"qrels": ["human", "assessor"]}
    assert of_dicts["leaderboard"] == of_files["leaderboard"] | names


@pytest.mark.parametrize(
    "human",
    [
        frame(HUMAN, ("query_id", "doc_id", "relevance")),
        frame(HUMAN, ("qid", "docno", "label")),
        [(q, d, grade) for q, row in HUMAN.items() for d, grade in row.items()],
    ],
)
def test_data_frames_and_rows_are_qrels_too(human: object) -> None:
    options = labeler.AgreeOptions()
    expected = labeler.agree(HUMAN, LLM, options=options).as_json()
    assert labeler.agree(human, LLM, options=options).as_json() == expected


def test_a_label_of_a_dict_that_is_no_grade_is_left_out_and_counted() -> None:
    result = labeler.agree(HUMAN, {"q1": {"d1": 2, "d2": "ERROR", "d3": 1.0}, "q2": {"d4": 1}})
    (report,) = result.assessors
    assert report.agreement.pairs == 3
    assert report.agreement.left_out.outside_scale == {"ERROR": 1}
    with pytest.raises(BadInput, match="human"):
        labeler.agree({"q1": {"d1": "ERROR"}}, LLM)


def test_a_result_is_shown_as_a_table_and_as_a_frame() -> None:
    result = labeler.agree(HUMAN, LLM, LLM)
    assert "<table" in result._repr_html_()
    table = result.frame()
    assert list(table.columns) == ["assessor", "statistic", "value", "low", "high"]
    assert set(table["assessor"]) == {"assessor 1", "assessor 2"}


def test_more_people_add_the_ceiling_and_a_name_stands_once() -> None:
    result = labeler.agree(HUMAN, LLM, more_humans={"second": LLM})
    assert [ceiling.statistic for ceiling in result.assessors[0].ceilings]
    with pytest.raises(Misuse, match="named twice"):
        labeler.agree(HUMAN, LLM, more_humans={"human": LLM})
    with pytest.raises(Misuse, match="at least one other file"):
        labeler.agree(HUMAN)
