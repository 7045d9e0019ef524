"""`labeler runs fuse`, `qrels` and `run`: the small tools of the trade."""

import gzip
import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st
from slow_tools import fused

from labeler.cli import execute as labeler
from labeler.data import Run
from labeler.exchange.written import RUN_FORMATS
from labeler.qrels.edit import CONFLICTS
from labeler.runs.fuse import Fusion, fuse_files, rrf
from labeler.trec.files import ranking, read_qrels, read_run
from labeler.trec.write import write_run

OFTEN = steadily(60)
FIRST: Run = {"q": {"a": 3.0, "b": 1.0, "c": 2.0}}
SECOND: Run = {"q": {"b": 10.0, "d": 0.0}, "r": {"x": 1.0}}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property, each of which writes its files anew."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.qrels").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 a 3\nq2 0 c -1\n")
    (tmp_path / "b.qrels").write_text("q1 0 a 1\nq2 0 d 1\n")
    write_run(tmp_path / "a.trec", FIRST, "a")
    write_run(tmp_path / "b.trec", SECOND, "b")
    return tmp_path


def write_to(folder: Path, runs: Sequence[Run]) -> list[Path]:
    paths = [folder / f"r{number}.trec" for number in range(len(runs))]
    for path, run in zip(paths, runs, strict=True):
        write_run(path, run, path.stem)
    return paths


def test_fusing_scores_by_hand(folder: Path) -> None:
    def by(fusion: Fusion) -> dict[str, float]:
        fuse_files([folder / "a.trec", folder / "b.trec"], folder / "out.trec", fusion, "t")
        return read_run(folder / "out.trec")["q"]

    assert by(Fusion("combsum")) == {"b": 1.0, "a": 1.0, "c": 0.5, "d": 0.0}
    assert by(Fusion("combmnz"))["b"] == 2.0
    assert by(Fusion("wsum", weights=(0.2, 0.8)))["a"] == pytest.approx(0.2)


RUNS = st.lists(
    st.dictionaries(
        st.sampled_from(["q1", "q2", "10", "é"]),
        st.dictionaries(
            st.text("abcdé", min_size=1, max_size=9),
            st.integers(-4, 4).map(float) | st.floats(-1e3, 1e3).map(lambda x: round(x, 3)),
            min_size=1,
            max_size=9,
        ),
        min_size=1,
    ),
    min_size=2,
    max_size=4,
)


@pytest.mark.sweep
@OFTEN
@given(
    RUNS,
    st.sampled_from(["rrf", "combsum", "combmnz", "wsum"]),
    st.sampled_from(["none", "min-max"]),
    st.integers(1, 5) | st.just(1000),
)
def test_fusion_equals_the_slow_and_obvious_way(
    scratch: Path, runs: list[Run], method: str, norm: str, depth: int
) -> None:
    runs = [{**run, "shared": {"a": 1.0}} for run in runs]
    weights = (0.5, 2.0, -1.0, 0.25)[: len(runs)] if method == "wsum" else ()
    fusion = Fusion(method, norm=norm, weights=weights, depth=depth)
    fuse_files(write_to(scratch, runs), scratch / "out.trec", fusion, "t")
    wanted, found = fused(runs, method, norm, weights), read_run(scratch / "out.trec")
    assert list(found) == list(wanted)
    for query, scores in found.items():
        assert list(scores) == ranking(scores)
        assert len(scores) == min(depth, len(wanted[query]))
        worst = min(scores.values())
        for doc, score in wanted[query].items():
            assert scores.get(doc, -math.inf) == pytest.approx(score, abs=1e-9) or (
                doc not in scores and score <= worst + 1e-9
            )


@pytest.mark.sweep
@pytest.mark.parametrize("method", ["rrf", "sum", "mnz", "wsum"])
@pytest.mark.parametrize("norm", ["min-max", "none"])
def test_fused_scores_equal_ranx(method: str, norm: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    runs: list[Run] = [
        {f"q{q}": {f"d{n}": float(rng.normal()) for n in rng.permutation(40)[:20]} for q in "12"}
        for _ in range(3)
    ]
    weights = (0.2, 0.3, 0.5) if method == "wsum" else ()
    ours = {"sum": "combsum", "mnz": "combmnz"}.get(method, method)
    fusion = Fusion(ours, norm=norm, weights=weights)
    fuse_files(write_to(tmp_path, runs), tmp_path / "out.trec", fusion, "t")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's and numpy's, inside ranx
        import ranx

        theirs = [ranx.Run(run) for run in runs]
        scale = None if norm == "none" or method == "rrf" else norm
        params = {"weights": weights} if weights else None
        found = ranx.fuse(theirs, norm=scale, method=method, params=params)
    for query, scores in read_run(tmp_path / "out.trec").items():
        wanted = {d: float(s) for d, s in found.run[query].items()}
        assert scores == pytest.approx(wanted, abs=1e-9)


def test_fuse_writes_a_run_and_refuses_what_cannot_be_meant(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, out = (str(folder / name) for name in ("a.trec", "b.trec", "out.trec.gz"))
    assert labeler(["runs", "fuse", a, b, "-o", out]) == 0
    assert read_run(Path(out)) == rrf([FIRST, SECOND])
    assert (
        labeler(["runs", "fuse", a, b, "-o", out, "--method", "wsum", "--weights", "0.5,0.5"]) == 0
    )
    capsys.readouterr()
    for arguments, problem in [
        ([a], "two runs or more"),
        ([a, b, "--method", "borda"], "'borda' is not one of 'rrf'"),
        ([a, b, "--method", "wsum"], "wsum needs 2 weights"),
        ([a, b, "--method", "wsum", "--weights", "1,x"], "cannot read the weights"),
        ([a, b, "--weights", "1,2"], "are for the method wsum"),
    ]:
        assert labeler(["runs", "fuse", *arguments, "-o", out]) == 2
        assert problem in capsys.readouterr().err


def test_qrels_stats_and_validation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(folder / "a.qrels")
    assert labeler(["qrels", "stats", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["queries"], found["pairs"]) == (2, 4)
    assert found["grades"] == {"-1": 1, "0": 1, "2": 1, "3": 1}
    assert labeler(["qrels", "validate", path, "--scale", "0:2"]) == 65
    assert "1 of grade -1, 1 of grade 3" in capsys.readouterr().err


def test_merging_lists_conflicts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / "a.qrels"), str(folder / "b.qrels")]
    out = folder / "out.qrels"
    assert labeler(["qrels", "merge", *files, "-o", str(out)]) == 65
    assert "1 pair has several grades: q1 a: 2, 1" in capsys.readouterr().err
    assert not out.exists()
    assert labeler(["qrels", "merge", *files, "-o", str(out), "--conflict", "min"]) == 0
    assert read_qrels(out) == {"q1": {"a": 1, "b": 0}, "q2": {"a": 3, "c": -1, "d": 1}}
    assert "conflict: q1 a: 2, 1 (min)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "grades"),
    [
        (["map", "--map=-1:-1,0:0,2:0,3:1"], {"q1": {"a": 0, "b": 0}, "q2": {"a": 1, "c": -1}}),
        (["map", "--map=-1:1,0:1,2:2,3:2"], {"q1": {"a": 2, "b": 1}, "q2": {"a": 2, "c": 1}}),
        (
            ["map", "--map=-1:0,0:0,2:1,3:2"],
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
    given = [str(folder / "a.qrels"), "-o", str(folder / "out.qrels"), "--map"]
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
    assert labeler(["runs", "stats", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["queries"], found["documents"]) == (2, 4)
    assert (found["tied_pairs"], found["contradicting_ranks"]) == (1, 1)
    assert labeler(["runs", "sort", path, "-o", str(out)]) == 0
    assert out.read_text() == ("p Q0 d 1 5.0 x\np Q0 c 2 1.0 x\nq Q0 b 1 1.0 x\nq Q0 a 2 1.0 x\n")
    assert labeler(["runs", "cut", path, "-o", str(out), "--depth", "1"]) == 0
    assert read_run(out) == {"q": {"b": 1.0}, "p": {"d": 5.0}}
    assert labeler(["runs", "validate", path]) == 0
    assert "1 tied pair of documents" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.parquet", "a.trec.gz"])
def test_a_run_survives_a_round_trip_through_other_formats(name: str, tmp_path: Path) -> None:
    run: Run = {"007": {"a": 0.1, "é": -2.5}, "7": {"1": 1e-30}}
    write_run(tmp_path / "a.trec", run, "t")
    there, back = str(tmp_path / name.replace("a.", "b.")), tmp_path / "c.trec"
    assert labeler(["runs", "convert", str(tmp_path / "a.trec"), "-o", there]) == 0
    assert labeler(["runs", "convert", there, "-o", str(back)]) == 0
    assert read_run(back) == run
    if name == "a.json":
        assert json.loads(Path(there).read_text()) == run
    if name.endswith("gz"):
        assert gzip.decompress(Path(there).read_bytes())


@pytest.mark.parametrize("text", ["[]", "{", '{"q": 1}', '{"q": {"d": "x"}}', '{"q": {"d": NaN}}'])
def test_json_that_is_no_run_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(text)
    given = ["runs", "convert", str(tmp_path / "a.json"), "-o", str(tmp_path / "b.trec")]
    assert labeler(given) == 65
    err = capsys.readouterr().err
    reasons = (
        "expected a run, as {query: {document: score}}",
        "expected an object of query",
        "expected a finite number",
        "not JSON",
        "an empty",
    )
    assert any(reason in err for reason in reasons)
    assert not (tmp_path / "b.trec").exists()


def test_conflicts_are_listed_in_full_where_asked_and_may_be_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = range(30)
    (folder / "x.qrels").write_text("".join(f"q 0 d{n:02} 1\n" for n in rows))
    (folder / "y.qrels").write_text("".join(f"q 0 d{n:02} {n % 2}\n" for n in rows))
    files = [str(folder / name) for name in ("x.qrels", "y.qrels")]
    out, listed = folder / "out.qrels", folder / "conflicts.txt"
    merge = ["qrels", "merge", *files, "-o", str(out), "--conflicts", str(listed)]
    assert labeler(merge) == 65
    assert not out.exists()
    assert "15 pairs have several grades: q d00: 1, 0; " in capsys.readouterr().err
    assert listed.read_text().splitlines()[-1] == "q d28: 1, 0"
    assert labeler([*merge, "--conflict", "drop"]) == 0
    assert read_qrels(out) == {"q": {f"d{n:02}": 1 for n in rows if n % 2}}
    assert "and 5 more conflicts" in capsys.readouterr().err


def test_a_file_that_contradicts_itself_is_refused_by_every_tool(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = folder / "x.qrels", folder / "out.qrels"
    path.write_text("# a comment\nq 0 a 1\nr 0 a 1\nq 0 a 1\nq 0 a 2\n")
    for command in (
        ["stats", str(path)],
        ["merge", str(path), "-o", str(out), "--conflict", "max"],
        ["map", str(path), "-o", str(out), "--map", "1:1,2:2"],
        ["subset", str(path), "-o", str(out), "--queries", "r"],
        ["compare", str(path), str(folder / "a.qrels")],
    ):
        assert labeler(["qrels", *command]) == 65
        assert "x.qrels:5: q a has 1 and 2 (two grades" in capsys.readouterr().err
    assert not out.exists()
    path.write_text("q 0 a 1\nr 0 a 1\nq 0 a 1\n")
    assert labeler(["qrels", "map", str(path), "-o", str(out), "--map", "1:1"]) == 0
    assert "1 repeated line, the same pair with the same grade" in capsys.readouterr().err


def test_subsets_by_document_and_by_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = str(folder / "a.qrels"), folder / "out.qrels"
    subset = ["qrels", "subset", path, "-o", str(out)]
    assert labeler([*subset, "--documents", "a"]) == 0
    assert read_qrels(out) == {"q1": {"a": 2}, "q2": {"a": 3}}
    (folder / "ids.txt").write_text("q2\n\nq9\n")
    assert labeler([*subset, "--queries", str(folder / "ids.txt")]) == 65
    assert "ids.txt:3: 'q9' is no query of" in capsys.readouterr().err
    assert labeler([*subset, "--documents", "a,zz"]) == 65
    assert "--documents: 'zz' is no document of" in capsys.readouterr().err
    assert labeler(subset) == 2
    assert "say what to keep" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["table", "csv", "json", "jsonl", "latex", "markdown"])
@pytest.mark.parametrize("what", ["qrels stats", "runs stats", "qrels compare"])
def test_counts_in_every_format_go_to_the_file_as_they_are_printed(
    what: str, form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = "trec" if what.startswith("run") else "qrels"
    files = [str(folder / f"{name}.{kind}") for name in "ab"]
    command = [*what.split(), *files, "--format", form]
    assert labeler(command) == 0
    printed = capsys.readouterr().out
    assert labeler([*command, "-o", str(folder / "out")]) == 0
    assert (folder / "out").read_text() == printed
    if form == "json":
        json.loads(printed)


def test_standard_input_and_output_make_a_pipe(folder: Path) -> None:
    packed = gzip.compress((folder / "a.qrels").read_bytes())
    command = [sys.executable, "-m", "labeler", "qrels", "map", "-", "-o", "-"]
    command += ["--map=-1:-1,0:0,1:1,2:1,3:1"]
    done = subprocess.run(command, input=packed, capture_output=True, check=True)
    assert done.stdout == b"q1 0 a 1\nq1 0 b 0\nq2 0 a 1\nq2 0 c -1\n"
    done = subprocess.run(command, input=b"q 0 a 1\nq 0 b x\n", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (65, b"")
    assert b"-:2: the mapping says nothing of the grades x" in done.stderr


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for queries in (20, 1000):
        path = tmp_path / f"{queries}.trec"
        with path.open("w") as out:
            for doc in range(1000):  # every line's neighbours are of other queries
                out.writelines(f"{q} Q0 d{doc} 1 {doc}.5 t\n" for q in range(queries))
        command = [sys.executable, "-m", "labeler", "runs", "sort", str(path), "-o"]
        with subprocess.Popen([*command, str(tmp_path / "out.trec")]) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] < peaks[0] + 200  # a million scattered lines; as Python objects over 600 MB


def test_runs_that_share_no_query_are_not_fused_and_partial_ones_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "p.trec").write_text("q-q Q0 a 1 2 t\nqq9 Q0 a 1 2 t\n")
    (folder / "c.trec").write_text("Q Q0 a 1 2 t\n")
    out = ["-o", str(folder / "out.trec")]
    assert labeler(["runs", "fuse", str(folder / "a.trec"), str(folder / "c.trec"), *out]) == 65
    assert "share no query" in (err := capsys.readouterr().err)
    assert "upper and lower case (q and Q)" in err
    assert labeler(["runs", "fuse", str(folder / "a.trec"), str(folder / "b.trec"), *out]) == 0
    assert "a.trec lacks 1 of 2 queries of all runs" in capsys.readouterr().err
    assert labeler(["qrels", "compare", str(folder / "a.qrels"), str(folder / "a.qrels")]) == 0
    assert "no query" not in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_run_in_another_format_is_scored_as_it_is_in_trecs(
    ending: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = folder / f"a.{ending}"
    assert labeler(["runs", "convert", str(folder / "a.trec"), "-o", str(other)]) == 0
    (folder / "q.qrels").write_text("q 0 b 1\n")
    scores = []
    for run in (folder / "a.trec", other):
        assert labeler(["evaluate", str(folder / "q.qrels"), str(run), "--format", "csv"]) == 0
        scores.append(capsys.readouterr().out.replace(f"a.{ending}", "a"))
    assert scores[0] == scores[1]


def test_a_run_is_not_written_in_a_format_that_is_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert = ["runs", "convert", str(folder / "a.trec"), "-o", str(folder / "a.tsv")]
    assert labeler(convert) == 2
    assert "runs are not written as .tsv; known: .json" in capsys.readouterr().err
    assert labeler([*convert, "--to", "trec"]) == 0
    assert labeler([*convert, "--to", "xml"]) == 2


def test_weights_go_by_the_order_of_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, out = str(folder / "a.trec"), str(folder / "b.trec"), folder / "out.trec"
    found = []
    for files, weights in (((a, b), "0.2,0.8"), ((b, a), "0.8,0.2")):
        command = ["runs", "fuse", *files, "-o", str(out), "--method", "wsum", "--weights", weights]
        assert labeler(command) == 0
        found.append(out.read_text())
    assert found[0] == found[1]
    assert labeler([*command[:-1], "b=0.8,a=0.2"]) == 2
    assert "--weights: cannot read the weights" in capsys.readouterr().err
    assert labeler([*command[:-1], "nan,1"]) == 2


@pytest.mark.parametrize(
    ("parts", "command", "hint"),
    [
        ((), "pool", "labeler corpus ingest DOCUMENTS -o"),
        ((), "evaluate", "labeler corpus ingest DOCUMENTS -o"),
        (("corpus.jsonl",), "pool", "labeler generate"),
        (("corpus.jsonl",), "evaluate", "labeler generate"),
        (("corpus.jsonl", "queries.jsonl"), "evaluate", "labeler pool"),
        (("corpus.jsonl", "queries.jsonl", "pool.jsonl"), "power", "labeler judge"),
    ],
)
def test_a_hint_is_the_next_step_and_no_later_one(
    parts: tuple[str, ...],
    command: str,
    hint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for part in parts:
        (tmp_path / part).write_text('{"_id": "a", "text": "x"}\n')
    assert labeler([command, str(tmp_path)]) == (74 if command == "pool" else 2)
    assert f"next: {hint} " in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (["runs", "fuse"], ["rrf", "combsum", "combmnz", "wsum", "min-max", "none"]),
        (["qrels", "merge"], CONFLICTS),
        (["runs", "convert"], RUN_FORMATS),
    ],
)
def test_the_help_lists_every_name_there_is(
    command: list[str], names: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert labeler([*command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in names if name not in shown] == []


def test_without_pyarrow_parquet_names_what_to_install(folder: Path) -> None:
    out = folder / "a.parquet"
    program = (
        "import sys; sys.modules['pyarrow'] = None; from labeler.cli import execute;"
        f"sys.exit(execute(['runs', 'convert', {str(folder / 'a.trec')!r}, '-o', {str(out)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 78
    assert (
        b"parquet files need the 'parquet' extra: pip install 'ir-labeler[parquet]'" in done.stderr
    )
    assert not out.exists()


@pytest.mark.parametrize("asked", [["map", "--map", "1:1,-1:-1"], ["merge"]])
def test_standard_output_gets_nothing_where_something_is_wrong(
    folder: Path, asked: list[str], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    more = [str(folder / "b.qrels")] if asked == ["merge"] else []
    assert labeler(["qrels", asked[0], str(folder / "a.qrels"), *more, *asked[1:], "-o", "-"]) == 65
    assert capsysbinary.readouterr().out == b""


@pytest.mark.parametrize("k", ["nan", "inf", "-1"])
def test_a_k_that_makes_no_scores_is_refused(folder: Path, k: str) -> None:
    assert (
        labeler(["runs", "fuse", str(folder / "a.trec"), "--k", k, "-o", str(folder / "f.trec")])
        == 2
    )
