"""`labeler.evaluate` and its kin: qrels and runs in any form, results as tables, JSON and HTML."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
import pytest

import labeler
from labeler.cli import execute
from labeler.data import Qrels, Run
from labeler.errors import BadInput, LabelerError, Misuse
from labeler.evaluation.evaluate import report_on
from labeler.evaluation.options import EvaluationOptions, Grouping
from labeler.messages import Advance
from labeler.trec.files import read_qrels, read_run
from labeler.trec.write import write_qrels, write_run

Row = tuple[str, str, float]
QUERIES = [f"q{n}" for n in range(12)]
QRELS: Qrels = {q: {"a": n % 3, "b": 1, "c": 0} for n, q in enumerate(QUERIES)}
OTHER: Qrels = {q: {"a": 1, "b": n % 2, "c": 0} for n, q in enumerate(QUERIES)}
RUNS: dict[str, Run] = {
    "up": {q: {"a": 3.0, "b": 2.0, "x": 1.0} for q in QUERIES},
    "down": {q: {"c": 3.0, "b": 2.0, "a": 2.0} for q in QUERIES[1:]},
}


def rows_of(table: Qrels | Run) -> list[Row]:
    return [(query, doc, value) for query, values in table.items() for doc, value in values.items()]


def frame_of(table: Qrels | Run, *names: str) -> pd.DataFrame:
    return pd.DataFrame(rows_of(table), columns=list(names))


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    """A collection with two sets of qrels and two runs."""
    folder = tmp_path / "coll"
    for part in ("qrels", "runs"):
        (folder / part).mkdir(parents=True)
    write_qrels(folder / "qrels/human.qrels", QRELS)
    write_qrels(folder / "qrels/llm.qrels", OTHER)
    for name, run in RUNS.items():
        write_run(folder / f"runs/{name}.trec", run, name)
    return folder


QRELS_FORMS: dict[str, Callable[[Path], Any]] = {
    "a dict": lambda _: QRELS,
    "a path": lambda coll: coll / "qrels/human.qrels",
    "a path as text": lambda coll: str(coll / "qrels/human.qrels"),
    "a collection": lambda coll: coll,
    "rows": lambda _: iter(rows_of(QRELS)),
    "ir_measures' rows": lambda coll: ir_measures.read_trec_qrels(str(coll / "qrels/human.qrels")),
    "ir_measures' frame": lambda _: frame_of(QRELS, "query_id", "doc_id", "relevance"),
    "PyTerrier's frame": lambda _: frame_of(QRELS, "qid", "docno", "label"),
}
RUN_FORMS: dict[str, Callable[[Path, str], Any]] = {
    "a dict": lambda _, name: RUNS[name],
    "a path": lambda coll, name: coll / f"runs/{name}.trec",
    "rows": lambda _, name: rows_of(RUNS[name]),
    "ir_measures' frame": lambda _, name: frame_of(RUNS[name], "query_id", "doc_id", "score"),
    "PyTerrier's frame": lambda _, name: frame_of(RUNS[name], "qid", "docno", "score"),
}


def figures(report: Any) -> Any:
    """All that a report says, whatever its qrels are called."""
    return {**report.as_json(per_query=True), "qrels": "", "grades": {}}


@pytest.mark.parametrize("form", QRELS_FORMS)
def test_qrels_of_every_form_give_the_same_report(form: str, coll: Path) -> None:
    wanted = labeler.evaluate(coll / "qrels/human.qrels", RUNS)
    assert figures(labeler.evaluate(QRELS_FORMS[form](coll), RUNS)) == figures(wanted)


@pytest.mark.sweep
@pytest.mark.parametrize(("form", "as_dict"), list(product(RUN_FORMS, [True, False])))
def test_runs_of_every_form_give_the_same_report(form: str, as_dict: bool, coll: Path) -> None:
    wanted = labeler.evaluate(QRELS, {name: coll / f"runs/{name}.trec" for name in RUNS})
    runs = {name: RUN_FORMS[form](coll, name) for name in RUNS}
    if as_dict:
        assert figures(labeler.evaluate(QRELS, runs)) == figures(wanted)
    else:
        report = labeler.evaluate(QRELS, list(runs.values()))
        values = [run.means() for run in report.runs]
        assert values == [run.means() for run in wanted.runs]


def test_real_systems_score_the_same_from_files_and_from_dicts(shared: Path) -> None:
    folder = shared / "dl19"
    paths = sorted((folder / "runs").glob("b*.gz"))
    measures = "nDCG@10 AP(rel=2) Bpref ERR@20"
    of_files = labeler.evaluate(folder / "nist.qrels", paths, measures)
    runs = {path.name.removesuffix(".trec.gz"): read_run(path) for path in paths}
    of_dicts = labeler.evaluate(read_qrels(folder / "nist.qrels"), runs, measures)
    assert figures(of_dicts)["runs"] == figures(of_files)["runs"]
    assert figures(of_dicts)["comparisons"] == figures(of_files)["comparisons"]


def test_a_collection_is_scored_with_all_of_its_runs(coll: Path) -> None:
    opened = labeler.open_collection(coll)
    for qrels, runs in (
        (coll, None),
        (opened, None),
        (QRELS, opened),
        (opened.qrels("human"), coll),
    ):
        report = labeler.evaluate(qrels, runs)
        assert [run.name for run in report.runs] == ["down", "up"]


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (RUNS["up"], ["run"]),
        (rows_of(RUNS["up"]), ["run"]),
        ([RUNS["up"], RUNS["down"]], ["run1", "run2"]),
        (iter([RUNS["up"], RUNS["down"]]), ["run1", "run2"]),
        ({"first": rows_of(RUNS["up"]), "second": RUNS["down"]}, ["first", "second"]),
    ],
)
def test_one_run_several_and_named_ones_are_told_apart(runs: Any, names: list[str]) -> None:
    assert [run.name for run in labeler.evaluate(QRELS, runs).runs] == names


@pytest.mark.parametrize(
    ("call", "error", "problem"),
    [
        (lambda: labeler.evaluate(QRELS), Misuse, "no run to score"),
        (lambda: labeler.evaluate(QRELS, []), Misuse, "no run to score"),
        (lambda: labeler.evaluate(QRELS, RUNS, "nDGC"), Misuse, "did you mean 'nDCG'?"),
        (lambda: labeler.evaluate(QRELS, RUNS, missing="no"), Misuse, "missing is zero or skip"),
        (lambda: labeler.evaluate(QRELS, RUNS, baseline="x"), Misuse, "no run 'x'; known"),
        (lambda: labeler.evaluate({"q": {"a": 0.5}}, RUNS), BadInput, "expected an integer grade"),
        (lambda: labeler.evaluate({"z": {"a": 1}}, RUNS), BadInput, "the qrels and the run up"),
        (lambda: labeler.evaluate("nowhere.qrels", RUNS), LabelerError, "nowhere.qrels"),
        (lambda: labeler.leaderboard(QRELS, OTHER, RUNS["up"]), Misuse, "at least two runs"),
        (lambda: labeler.leaderboard(QRELS, OTHER, RUNS, "GMAP"), Misuse, "no mean over queries"),
        (lambda: labeler.power(QRELS, RUNS, power=0.01), Misuse, "expected 0.051 to 0.999"),
        (lambda: labeler.power(QRELS, RUNS, differences=[0]), Misuse, "expected 1e-05 to"),
        (lambda: labeler.correct(QRELS, None, RUNS), Misuse, "whose grades of all queries"),
        (lambda: labeler.correct({"z": {"a": 1}}, QRELS, RUNS), BadInput, "the human qrels"),
        (lambda: labeler.correct(QRELS, OTHER, RUNS, target="me"), Misuse, "these or like-these"),
    ],
)
def test_errors_are_the_librarys_and_name_no_option_of_a_command(
    call: Callable[[], object], error: type[LabelerError], problem: str
) -> None:
    with pytest.raises(error, match=problem) as caught:
        call()
    assert "--" not in str(caught.value)


def test_findings_name_parameters_and_the_command_its_options(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = labeler.evaluate(coll)
    assert any('missing="skip" leaves them out' in str(f) for f in report.findings)
    assert not any("--" in str(finding) for finding in report.findings)
    assert execute(["evaluate", str(coll)]) == 0
    assert "--missing skip leaves them out" in capsys.readouterr().err


COMMANDS: dict[str, Callable[[Path], Any]] = {
    "evaluate": labeler.evaluate,
    "leaderboard": lambda coll: labeler.leaderboard(
        coll / "qrels/human.qrels", coll / "qrels/llm.qrels", coll
    ),
    "power": labeler.power,
    "correct": labeler.correct,
}
WORDS = {"leaderboard": ["human", "llm"]}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_result_has_the_json_of_its_command(
    name: str, coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = COMMANDS[name](coll)
    command = ["lab", name] if name == "leaderboard" else [name]
    assert execute([*command, str(coll), *WORDS.get(name, []), "--json"]) == 0
    assert json.loads(json.dumps(result.as_json())) == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_result_shows_itself_in_a_notebook(name: str, coll: Path) -> None:
    result = COMMANDS[name](coll)
    tables = result.tables()
    assert len({table.name for table in tables}) == len(tables) > 0
    assert repr(result).count("\n") == 0
    assert len(repr(result)) < 120
    shown = result._repr_html_()
    assert shown.count("<table>") >= 1
    assert "up" in shown or name == "power"
    assert list(result.frame().columns)


def test_the_text_of_a_finding_is_no_markup_in_a_notebook() -> None:
    runs = {"<b>": RUNS["up"], "down": RUNS["down"]}
    assert "<b>" not in labeler.evaluate(QRELS, runs)._repr_html_()


def test_an_evaluation_by_groups_says_how_many_runs_are_scored() -> None:
    told: dict[str, list[tuple[int, int]]] = {}

    @contextmanager
    def progress(step: str) -> Iterator[Advance]:
        yield lambda done, total: told.setdefault(step, []).append((done, total))

    grouping = Grouping(by=("kind",), queries={q: {"kind": q[-1]} for q in QRELS})
    report_on(QRELS, RUNS, EvaluationOptions(("P@1",), grouping=grouping, progress=progress))
    assert told["runs scored"] == [(n, len(RUNS)) for n in range(1, len(RUNS) + 1)]
    done, total = zip(*told["runs by kind"], strict=True)
    assert (sorted(done), set(total)) == (list(done), {len(RUNS)})
    assert done[-1] == len(RUNS)


@pytest.mark.parametrize(
    "columns",
    [
        ("query-id", "corpus-id", "score"),
        ("topic_id", "passage_id", "rating"),
        ("Query ID", "Document ID", "Grade"),
    ],
)
def test_a_dataframe_may_call_its_columns_as_files_do(columns: tuple[str, str, str]) -> None:
    from labeler.trec.memory import as_qrels, as_run

    rows = [("q1", "d1", 1), ("q1", "d2", 0)]
    assert as_qrels(pd.DataFrame(rows, columns=columns)) == {"q1": {"d1": 1, "d2": 0}}
    scored = pd.DataFrame(rows, columns=(*columns[:2], "score"))
    assert as_run(scored) == {"q1": {"d1": 1.0, "d2": 0.0}}
    own = pd.DataFrame([("q1", "d1", "a text", 1)], columns=("qid", "docno", "document", "label"))
    assert as_qrels(own) == {"q1": {"d1": 1}}


def test_a_report_in_a_notebook_names_the_highest_scores_first() -> None:
    runs = {"down": {"q1": {"d2": 1.0}}, "up": {"q1": {"d1": 1.0}}}
    report = labeler.evaluate({"q1": {"d1": 1, "d2": 0}}, runs, ["RR", "AP"])
    assert repr(report) == "<Report by the qrels; RR of 2 runs: up 1.0000, down 0.0000>"
