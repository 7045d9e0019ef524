"""Pictures of scores: every run and every number is in them, and nothing else is written."""

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from labeler.cli import execute
from labeler.evaluation.evaluate import evaluate
from labeler.evaluation.inputs import kin_of
from labeler.evaluation.leaderboard import leaderboard, leaderboard_of
from labeler.evaluation.plot import board_drawings, score_drawings
from labeler.evaluation.two_sided import two_qrels
from labeler.metrics import parse
from labeler.report.charts import Drawing
from labeler.report.neutral import html_text
from labeler.report.picture import picture_bytes

QRELS = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(12)}
OTHER = {q: {"a": 1, "b": 2, "c": 0} for q in QRELS}
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


def test_systems_stand_with_both_scores_and_both_ranks() -> None:
    board = leaderboard(QRELS, OTHER, RUNS)
    svg = drawn(board_drawings(board))
    for s in board.systems:
        assert f"{s.first:.3f} → {s.second:.3f}" in svg
        assert f"{html_text(s.run)} ({s.first_rank} → {s.second_rank})" in svg


def test_kin_of_the_assessor_are_marked() -> None:
    rng = np.random.default_rng(0)
    runs = {
        f"run{number}": {q: {d: float(rng.random()) for d in "abc"} for q in QRELS}
        for number in range(9)
    }
    runs["rank_zephyr"] = RUNS["good"]
    kin = kin_of(list(runs), {}, {"assessor": "mistral"})
    board = leaderboard_of(two_qrels(QRELS, OTHER), runs, parse("nDCG@10"), kin=kin)
    assert board is not None
    svg = drawn(board_drawings(board))
    assert re.search(r"rank_zephyr \(\d+ → \d+\), kin of the assessor", svg)


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


@pytest.mark.parametrize(
    "command", ["evaluate h.qrels a.trec", "lab leaderboard h.qrels h.qrels a.trec b.trec"]
)
def test_another_ending_is_refused_before_anything_is_read(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("h.qrels", "a.trec", "b.trec"):
        (tmp_path / name).write_text("no such file was ever a run or qrels")
    words = [str(tmp_path / w) if "." in w else w for w in command.split()]
    assert execute([*words, "--plot", str(tmp_path / "p.doc")]) == 2
    assert "p.doc: expected a picture's name to end in .png, .svg, .pdf" in capsys.readouterr().err
