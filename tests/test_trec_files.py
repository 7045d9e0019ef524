"""`labeler fuse`, `mmr`, `qrels` and `run`: the small tools of the trade."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeler.cli import run as labeler
from labeler.data import Run
from labeler.formats.trec import read_qrels, read_run, write_run
from labeler.fusion import combine, mmr, rescaled, rrf
from labeler.trec_files import read_any_run, write_any_run

OFTEN = settings(derandomize=True, deadline=None)
FIRST: Run = {"q": {"a": 3.0, "b": 1.0, "c": 2.0}}
SECOND: Run = {"q": {"b": 10.0, "d": 0.0}, "r": {"x": 1.0}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.qrels").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 a 3\nq2 0 c -1\n")
    (tmp_path / "b.qrels").write_text("q1 0 a 1\nq2 0 d 1\n")
    write_run(tmp_path / "a.trec", FIRST, "a")
    write_run(tmp_path / "b.trec", SECOND, "b")
    return tmp_path


def test_scores_on_a_common_scale() -> None:
    assert rescaled(FIRST["q"], "min-max") == {"a": 1.0, "b": 0.0, "c": 0.5}
    assert rescaled({"a": 5.0, "b": 5.0}, "min-max") == {"a": 0.0, "b": 0.0}
    assert sum(rescaled(FIRST["q"], "zscore").values()) == pytest.approx(0)


def test_fusing_scores_by_hand() -> None:
    added = combine([FIRST, SECOND], "combsum")["q"]
    assert added == {"b": 1.0, "a": 1.0, "c": 0.5, "d": 0.0}
    assert combine([FIRST, SECOND], "combmnz")["q"]["b"] == 2.0
    assert combine([FIRST, SECOND], "wsum", weights=[0.2, 0.8])["q"]["a"] == pytest.approx(0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "theirs", "norm"),
    [("rrf", "rrf", None), ("combsum", "sum", "min-max"), ("combmnz", "mnz", "min-max")],
)
def test_fused_scores_equal_ranx(method: str, theirs: str, norm: str | None) -> None:
    rng = np.random.default_rng(4)
    runs: list[Run] = [
        {"q": {f"d{n}": float(rng.normal()) for n in rng.permutation(40)[:20]}} for _ in range(3)
    ]
    ours = rrf(runs) if method == "rrf" else combine(runs, method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's and numpy's, inside ranx
        ranx = pytest.importorskip("ranx", reason="pip install --group bench")
        fused = ranx.fuse([ranx.Run(run) for run in runs], norm=norm, method=theirs)
    assert ours["q"] == pytest.approx({d: float(s) for d, s in fused.run["q"].items()}, abs=1e-9)


def test_mmr_of_lambda_one_is_the_run_and_twins_go_down_otherwise() -> None:
    scores = {"a": 3.0, "twin": 2.9, "other": 1.0}
    similarity = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert mmr(scores, similarity, 1.0, 3) == ["a", "twin", "other"]
    assert mmr(scores, similarity, 0.4, 3) == ["a", "other", "twin"]


@OFTEN
@given(st.dictionaries(st.text("abcde", min_size=1, max_size=3), st.floats(-5, 5), min_size=1))
def test_mmr_only_reorders(scores: dict[str, float]) -> None:
    similarity = np.eye(len(scores)).tolist()
    assert sorted(mmr(scores, similarity, 0.5, 1000)) == sorted(scores)


def test_fuse_writes_a_run_and_refuses_what_cannot_be_meant(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, out = (str(folder / name) for name in ("a.trec", "b.trec", "out.trec.gz"))
    assert labeler(["fuse", a, b, "-o", out]) == 0
    assert read_run(Path(out)) == rrf([FIRST, SECOND])
    assert labeler(["fuse", a, b, "-o", out, "--method", "wsum", "--weights", "0.5,0.5"]) == 0
    capsys.readouterr()
    for arguments, problem in [
        ([a], "two runs or more"),
        ([a, b, "--method", "borda"], "no method 'borda'; known: rrf"),
        ([a, b, "--method", "wsum"], "wsum needs 2 weights"),
        ([a, b, "--method", "wsum", "--weights", "1,x"], "cannot read the weights"),
        ([a, b, "--weights", "1,2"], "are for the method wsum"),
    ]:
        assert labeler(["fuse", *arguments, "-o", out]) == 2
        assert problem in capsys.readouterr().err


def test_mmr_re_ranks_a_collections_run(folder: Path) -> None:
    pytest.importorskip("wordllama", reason="the embedded encoder is an optional extra")
    texts = {"a": "red apples", "b": "red apples", "c": "steam engines"}
    rows = [json.dumps({"_id": d, "title": "", "text": t}) for d, t in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    write_run(folder / "close.trec", {"q": {"a": 3.0, "b": 2.9, "c": 2.5}}, "t")
    out = folder / "out.trec"
    assert labeler(["mmr", str(folder / "close.trec"), str(folder), "-o", str(out)]) == 0
    assert list(read_run(out)["q"]) == ["a", "c", "b"]


def test_qrels_stats_and_validation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(folder / "a.qrels")
    assert labeler(["qrels", "stats", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["queries"], found["pairs"]) == (2, 4)
    assert found["grades"] == {"-1": 1, "0": 1, "2": 1, "3": 1}
    assert labeler(["qrels", "validate", path, "--scale", "0,1,2"]) == 65
    assert "1 of grade -1, 1 of grade 3" in capsys.readouterr().err


def test_merging_lists_conflicts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / "a.qrels"), str(folder / "b.qrels")]
    out = folder / "out.qrels"
    assert labeler(["qrels", "merge", *files, "-o", str(out)]) == 65
    assert "1 pairs have several grades: q1 a: 2, 1" in capsys.readouterr().err
    assert not out.exists()
    assert labeler(["qrels", "merge", *files, "-o", str(out), "--conflict", "min"]) == 0
    assert read_qrels(out) == {"q1": {"a": 1, "b": 0}, "q2": {"a": 3, "c": -1, "d": 1}}
    assert "conflict: q1 a: 2, 1 (min)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "grades"),
    [
        (["binarise", "--at", "3"], {"q1": {"a": 0, "b": 0}, "q2": {"a": 1, "c": -1}}),
        (["clip", "--high", "2"], {"q1": {"a": 2, "b": 0}, "q2": {"a": 2, "c": 0}}),
        (
            ["map", "--grades=-1:0,0:0,2:1,3:2"],
            {"q1": {"a": 1, "b": 0}, "q2": {"a": 2, "c": 0}},
        ),
        (["subset", "--queries", "q2"], {"q2": {"a": 3, "c": -1}}),
    ],
)
def test_changing_qrels(
    arguments: list[str], grades: dict[str, dict[str, int]], folder: Path
) -> None:
    name, *options = arguments
    out = folder / "out.qrels"
    assert labeler(["qrels", name, str(folder / "a.qrels"), "-o", str(out), *options]) == 0
    assert read_qrels(out) == grades


def test_a_mapping_that_lacks_a_grade_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(folder / "a.qrels"), "-o", str(folder / "out.qrels"), "--grades"]
    assert labeler(["qrels", "map", *given, "0:0,2:1"]) == 65
    assert "says nothing of the grades -1, 3" in capsys.readouterr().err
    assert labeler(["qrels", "map", *given, "0=0"]) == 2


def test_comparing_qrels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / "a.qrels"), str(folder / "b.qrels")]
    assert labeler(["qrels", "compare", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "first_only": 3,
        "second_only": 1,
        "both": 1,
        "same_grade": 0,
        "grades": [{"first": 2, "second": 1, "pairs": 1}],
    }


def test_run_tools(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.trec").write_text("q Q0 a 1 1 t\nq Q0 b 2 1 t\np Q0 c 1 1 t\np Q0 d 2 5 t\n")
    path, out = str(folder / "x.trec"), folder / "out.trec"
    assert labeler(["run", "stats", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["queries"], found["documents"]) == (2, 4)
    assert (found["tied_pairs"], found["contradicting_ranks"]) == (1, 1)
    assert labeler(["run", "sort", path, "-o", str(out)]) == 0
    assert out.read_text() == ("p Q0 d 1 5.0 x\np Q0 c 2 1.0 x\nq Q0 b 1 1.0 x\nq Q0 a 2 1.0 x\n")
    assert labeler(["run", "cut", path, "-o", str(out), "--depth", "1"]) == 0
    assert read_run(out) == {"q": {"b": 1.0}, "p": {"d": 5.0}}
    assert labeler(["run", "validate", path]) == 0
    assert "warning: 1 tied pairs" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.json", "a.parquet", "a.trec.gz"])
def test_a_run_survives_a_round_trip_through_other_formats(name: str, tmp_path: Path) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="parquet needs pyarrow, which is optional")
    run: Run = {"007": {"a": 0.1, "é": -2.5}, "7": {"1": 1e-30}}
    write_any_run(tmp_path / name, run, "t")
    assert read_any_run(tmp_path / name) == run


@pytest.mark.parametrize("text", ["[]", "{", '{"q": 1}', '{"q": {"d": "x"}}', '{"q": {"d": NaN}}'])
def test_json_that_is_no_run_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(text)
    given = ["run", "convert", str(tmp_path / "a.json"), "-o", str(tmp_path / "b.trec")]
    assert labeler(given) == 65
    assert "expected an object of query" in capsys.readouterr().err
