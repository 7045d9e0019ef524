"""Pictures of scores: every run and every number is in them, and nothing else is written."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from labeler.cli import execute
from labeler.evaluation.evaluate import evaluate
from labeler.evaluation.plot import score_drawings
from labeler.report.charts import Drawing
from labeler.report.neutral import html_text
from labeler.report.picture import picture_bytes

QRELS = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(12)}
LONG = "a-system-with-a-name-of-many-words-that-says-how-it-was-trained"
RUNS = {
    "good": {q: {"a": 2.0, "b": 1.0} for q in QRELS},
    LONG: {q: {"b": 2.0, "c": 1.0} for q in QRELS},
    "$x^2$ <b>": {q: {"c": 2.0, "a": 1.0} for n, q in enumerate(QRELS) if n % 2},
}


def drawn(drawings: Sequence[Drawing]) -> str:
    return picture_bytes(drawings, ".svg").decode()


def test_every_run_and_its_mean_stand_in_the_picture() -> None:
    report = evaluate(QRELS, RUNS, ("nDCG@10", "P@1", "AP", "RR"))
    svg = drawn(score_drawings(report))
    means = [run.scores.means()["nDCG@10"] for run in report.runs]
    for text in ("good", html_text(LONG), "$x^2$ &lt;b&gt;", *(f"{m:.3f}" for m in means)):
        assert text in svg, text
    assert all(f"{measure} of each system" in svg for measure in report.measures)


def test_a_picture_has_the_colors_of_a_page_on_paper_and_no_name_of_one() -> None:
    svg = drawn(score_drawings(evaluate(QRELS, RUNS, ("nDCG@10",))))
    assert "var(" not in svg
    assert "light-dark" not in svg
    assert "fill: #0072b2" in svg
    ElementTree.fromstring(svg)


def test_a_picture_is_written_in_each_form_and_looks_the_same_each_time() -> None:
    drawings = score_drawings(evaluate(QRELS, RUNS, ("nDCG@10",)))
    first = picture_bytes(drawings, ".PNG")
    assert first.startswith(b"\x89PNG")
    assert first == picture_bytes(drawings, ".png")
    assert picture_bytes(drawings, ".pdf").startswith(b"%PDF")


def files_of_nothing(folder: Path) -> list[str]:
    """Two files that are neither a run nor qrels."""
    paths = [folder / "h.qrels", folder / "a.trec"]
    for path in paths:
        path.write_text("no such file was ever a run or qrels")
    return list(map(str, paths))


def test_without_its_library_a_picture_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    asked = ["evaluate", *files_of_nothing(tmp_path), "--plot", str(tmp_path / "p.png")]
    absent = "import sys; sys.modules['vl_convert'] = None"
    code = f"{absent}; from labeler.cli import execute; sys.exit(execute({asked!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (78, "")
    assert "a picture in .png (.svg needs nothing) needs the 'plot' extra" in done.stderr


def test_another_ending_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", *files_of_nothing(tmp_path)]
    assert execute([*words, "--plot", str(tmp_path / "p.doc")]) == 2
    assert "p.doc: expected a picture's name to end in .png, .svg, .pdf" in capsys.readouterr().err
