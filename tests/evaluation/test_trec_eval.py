"""`labeler trec-eval` prints what trec_eval 10 prints, to the byte."""

import io
import math
from pathlib import Path

import pytest
import pytrec_eval

from labeler.cli import execute as labeler
from labeler.trec.files import read_qrels, read_run

# The commands that trec_eval's own Makefile runs, and the files that it compares with.
COMMANDS = [
    (["qrels.test", "results.test"], "out.test"),
    (["qrels.test.with-comments", "results.test"], "out.test"),
    (["-m", "all_trec", "qrels.test", "results.test"], "out.test.a"),
    (["-m", "all_trec", "-q", "qrels.test", "results.test"], "out.test.aq"),
    (["-m", "all_trec", "-q", "-c", "qrels.test", "results.trunc"], "out.test.aqc"),
    (["-m", "all_trec", "-q", "-c", "-M100", "qrels.test", "results.trunc"], "out.test.aqcM"),
    (
        ["-m", "all_trec", "-mrelstring.20", "-q", "-l2", "qrels.rel_level", "results.test"],
        "out.test.aql",
    ),
]


@pytest.mark.parametrize(("arguments", "output"), COMMANDS, ids=[" ".join(c) for c, _ in COMMANDS])
def test_its_own_tests_reproduce_byte_for_byte(
    arguments: list[str], output: str, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "trec_eval"
    given = [str(folder / a) if a.startswith(("qrels", "results")) else a for a in arguments]
    assert labeler(["trec-eval", *given]) == 0
    assert capsys.readouterr().out == (folder / output).read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["-m", "nonsense"], 2, "no measure 'nonsense' of trec_eval's here; known: official"),
        (["-m", "prefs_simp"], 2, "'prefs_simp' is of preferences or several judges"),
        (["-m", "all_prefs"], 2, "'all_prefs' is of preferences or several judges"),
        (["-R", "prefs"], 2, "-R prefs: of trec_eval's formats only qrels is read"),
        (["-T", "x"], 2, "-T x: of trec_eval's formats only trec_results is read"),
        (["-Z", "means"], 2, "No such option: -Z"),
        (["-D", "1.9"], 2, "the query '9' is not in both files"),
        (["-m", "P.0"], 2, "--measure: P.0: cutoffs must be positive and differ"),
        (["-m", "P.5,5"], 2, "--measure: P.5,5: cutoffs must be positive and differ"),
        (["-m", "map.5"], 2, "--measure: map.5: map takes no parameters"),
        (["-m", "P."], 2, "expected parameters of one measure after the dot"),
        (["-m", "ndcg.1=x"], 2, "expected numbers with commas"),
    ],
)
def test_a_measure_that_is_not_there_is_refused_by_name(
    arguments: list[str],
    code: int,
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 a 1 1 t\n")
    assert labeler(["trec-eval", *arguments, str(tmp_path / "q"), str(tmp_path / "r")]) == code
    assert problem in capsys.readouterr().err


def test_parameters_give_the_names_and_gains_that_trec_eval_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 2\n")
    (tmp_path / "r").write_text("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n")
    measures = ("P.10,5", "iprec_at_recall.0.5", "ndcg.1=4,2=1", "set_F.0.5", "runid")
    asked = ["-n", "-q", *(word for measure in measures for word in ("-m", measure))]
    assert labeler(["trec-eval", *asked, str(tmp_path / "q"), str(tmp_path / "r")]) == 0
    assert capsys.readouterr().out == (
        "iprec_at_recall_0.50  \t1\t1.0000\n"
        "P_5                   \t1\t0.4000\n"
        "P_10                  \t1\t0.2000\n"
        "ndcg_1=4,2=1          \t1\t1.0000\n"
        "set_F_0.5             \t1\t1.0000\n"
    )


def test_judged_documents_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 x 1 2 t\n1 Q0 a 2 1 t\n")
    files = [str(tmp_path / "q"), str(tmp_path / "r")]
    assert labeler(["trec-eval", "-J", "-m", "recip_rank", *files]) == 0
    assert capsys.readouterr().out == "recip_rank            \tall\t1.0000\n"


def test_no_query_in_common_is_an_error_with_ids_of_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("q1 Q0 a 1 1 t\n")
    assert labeler(["trec-eval", str(tmp_path / "q"), str(tmp_path / "r")]) == 65
    assert "q has 1; the run " in (said := capsys.readouterr().err)
    assert "r has q1; they differ in a prefix" in said


def test_the_other_options_of_a_script_that_calls_trec_eval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "r").write_text("1 Q0 x 1 2 t\n1 Q0 a 2 1 t\n2 Q0 b 1 1 t\n")
    files = [str(tmp_path / "q"), str(tmp_path / "r")]
    assert labeler(["trec-eval", "-N", "100", "-m", "utility.0,0,0,1", "-D2.1", *files]) == 0
    assert capsys.readouterr().out == "utility_0,0,0,1       \tall\t98.0000\n"
    assert labeler(["trec-eval", "-o", "-Rqrels", "-Ttrec_results", "-m", "num_ret", *files]) == 0
    assert capsys.readouterr().out == "num_ret               \tall\t3\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 Q0 a 1 1 t\n")))
    assert labeler(["trec-eval", "-m", "map", files[0], "-"]) == 0
    assert capsys.readouterr().out == "map                   \tall\t1.0000\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 Q0 a 1\n")))
    assert labeler(["trec-eval", "-m", "map", files[0], "-"]) == 65
    assert "-:1: expected 6 columns" in capsys.readouterr().err
    assert labeler(["trec-eval", "-v"]) == 0
    assert "trec_eval version 10.0" in capsys.readouterr().err
    assert labeler(["trec-eval", "-h"]) == 0
    assert "trec_eval" in capsys.readouterr().out


@pytest.mark.parametrize("more", ["", " more columns"])
def test_the_tag_is_the_last_lines_and_more_columns_are_ignored(
    more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "r").write_text(f"2 Q0 b 1 1 one{more}\n1 Q0 a 1 1 two{more}\n# end\n\n")
    files = [str(tmp_path / "q"), str(tmp_path / "r")]
    assert labeler(["trec-eval", "-m", "runid", "-m", "map", *files]) == 0
    tag, average = capsys.readouterr().out.splitlines()
    assert tag == "runid                 \tall\ttwo"
    assert average == "map                   \tall\t1.0000"


def test_a_missing_query_counts_as_trec_eval_counts_it_under_c(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # As trec_eval.c says: it retrieved one document of no pool, and then measures of these very
    # names, without parameters, are set to nothing.
    (tmp_path / "q").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "r").write_text("1 Q0 a 1 1 t\n")
    asked = ["num_ret", "num_nonjudged_ret", "yaap", "utility", "unj.5", "rbp_resid", "relstring.5"]
    words = [word for measure in asked for word in ("-m", measure)]
    assert (
        labeler(["trec-eval", "-c", "-q", "-n", *words, *map(str, sorted(tmp_path.iterdir()))]) == 0
    )
    found = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert {name.strip(): value for name, query, value in found if query == "2"} == {
        "num_ret": "0",
        "relstring_5": "'-'",
        "utility": "0.0000",
        "num_nonjudged_ret": "1",
        "yaap": f"{math.log(1 / 2):.4f}",
        "rbp_resid": "0.0000",
        "unj_5": "0.0000",
    }


IN_PYTREC_EVAL = [
    *("P.7,3", "recall.7,3", "ndcg_cut.7,3", "map_cut.7,3", "success.7,3", "relative_P.7,3"),
    *("Rprec_mult.0.5,2", "iprec_at_recall.0.0,1.0"),
]
"""Not gains by level nor several numbers of one measure: pytrec_eval splits those at commas."""


@pytest.mark.parametrize("measure", IN_PYTREC_EVAL)
def test_parameters_mean_what_they_mean_to_pytrec_eval(
    measure: str, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "trec_eval"
    files = [str(folder / name) for name in ("qrels.rel_level", "results.test")]
    assert labeler(["trec-eval", "-q", "-n", "-m", measure, *files]) == 0
    ours = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    oracle = pytrec_eval.RelevanceEvaluator(read_qrels(Path(files[0])).as_dict(), {measure})
    theirs = oracle.evaluate(read_run(Path(files[1])).as_dict())
    assert ours
    for name, query, value in ours:
        assert f"{theirs[query][name.strip()]:.4f}" == value
