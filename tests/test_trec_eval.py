"""`labeler trec-eval` prints what trec_eval 10 prints, to the byte."""

from pathlib import Path

import pytest

from labeler.cli import run as labeler

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
        (["-m", "prefs_simp"], 2, "no measure 'prefs_simp' of trec_eval's here; known: official"),
        (["-m", "P.0"], 2, "-m P.0: cutoffs must be positive and differ"),
        (["-m", "P.5,5"], 2, "-m P.5,5: cutoffs must be positive and differ"),
        (["-m", "map.5"], 2, "-m map.5: map takes no parameters"),
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


def test_no_query_in_common_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("2 Q0 a 1 1 t\n")
    assert labeler(["trec-eval", str(tmp_path / "q"), str(tmp_path / "r")]) == 65
    assert "no query of the run has relevance information" in capsys.readouterr().err
