"""Pictures of scores: every run and every number is in them, and nothing else is written."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from forked import Forked
from running import environment, finish

from labeler.cli import execute
from labeler.evaluation.boards.judge_bias import kin_of
from labeler.evaluation.evaluate import evaluate
from labeler.evaluation.leaderboard import leaderboard
from labeler.evaluation.plot import plot_leaderboard, plot_scores
from labeler.report.picture import Bar, most_rows, shortened

QRELS = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(12)}
OTHER = {q: {"a": 1, "b": 2, "c": 0} for q in QRELS}
LONG = "a-system-with-a-name-of-many-words-that-says-how-it-was-trained"
RUNS = {
    "good": {q: {"a": 2.0, "b": 1.0} for q in QRELS},
    LONG: {q: {"b": 2.0, "c": 1.0} for q in QRELS},
    "$x^2$ <b>": {q: {"c": 2.0, "a": 1.0} for n, q in enumerate(QRELS) if n % 2},
}


def test_every_run_and_its_mean_stand_in_the_picture(tmp_path: Path) -> None:
    report = evaluate(QRELS, RUNS, ("nDCG@10", "P@1"))
    assert plot_scores(report, tmp_path / "p.svg") == []
    drawn = (tmp_path / "p.svg").read_text(encoding="utf-8")
    means = [run.scores.means()["nDCG@10"] for run in report.runs]
    for text in ("good", shortened(LONG), "$x^2$ &lt;b&gt;", *(f"{m:.3f}" for m in means)):
        assert text in drawn, text


def test_a_picture_of_many_measures_says_which_are_left_out(tmp_path: Path) -> None:
    report = evaluate(QRELS, RUNS, ("nDCG@10", "P@1", "AP", "RR", "MeanRank"))
    said = plot_scores(report, tmp_path / "p.png")
    assert said == ["a picture holds 3 measures; left out: RR, MeanRank"]


def test_systems_stand_with_both_scores_and_both_ranks(tmp_path: Path) -> None:
    board = leaderboard(QRELS, OTHER, RUNS)
    assert plot_leaderboard(board, tmp_path / "p.svg") == []
    drawn = (tmp_path / "p.svg").read_text(encoding="utf-8")
    for s in board.systems:
        assert f"{s.first:.3f} → {s.second:.3f}" in drawn
        assert f"{shortened(s.run)}  {s.first_rank} → {s.second_rank}".split("<")[0] in drawn or (
            "<" in s.run
        )


def test_the_assessors_bias_is_drawn_beside_with_kin_marked(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = {
        f"run{number}": {q: {d: float(rng.random()) for d in "abc"} for q in QRELS}
        for number in range(9)
    }
    board = leaderboard(QRELS, OTHER, {**runs, "rank_zephyr": RUNS["good"]})
    kin = kin_of([system.run for system in board.systems], {}, {"assessor": "mistral"})
    assert plot_leaderboard(board.against_kin(kin), tmp_path / "p.svg") == []
    drawn = (tmp_path / "p.svg").read_text(encoding="utf-8")
    for text in (
        "dashed: equal scores",
        "line of 9 unrelated systems",
        "filled squares: kin of the assessor",
        "nDCG@10 by the second qrels",
    ):
        assert text in drawn, text
    assert drawn.count("rank_zephyr") >= 2


def test_rows_beyond_what_a_picture_holds_are_counted() -> None:
    bars = [Bar(str(n), 0.5) for n in range(70)]
    shown, said = most_rows(bars)
    assert (len(shown), said) == (60, "the 10 last of 70 rows are not drawn")


PLANTED: dict[str, Callable[[Path], object]] = {
    "other settings": lambda path: path.write_text("lines.linewidth: 9\nsvg.fonttype: none\n"),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "a pipe that nobody writes to": os.mkfifo,
}


def test_a_file_of_settings_in_the_current_folder_changes_no_picture(tmp_path: Path) -> None:
    lines = [f"{q} Q0 {d} 1 {g} t" for q, grades in QRELS.items() for d, g in grades.items()]
    (tmp_path / "a.trec").write_text("\n".join(lines) + "\n")
    (tmp_path / "h.qrels").write_text("\n".join(f"{q} 0 a 2" for q in QRELS) + "\n")
    names = [str(tmp_path / name) for name in ("h.qrels", "a.trec")]
    pictures = set()
    for number, plant in enumerate([lambda path: None, *PLANTED.values()]):
        here = tmp_path / str(number)
        here.mkdir()
        plant(here / "matplotlibrc")
        process = Forked(["evaluate", *names, "--plot", "p.svg"], environment(), cwd=here)
        code, said = finish(process)
        assert (code, "matplotlibrc" in said) == (0, False), said
        pictures.add((here / "p.svg").read_bytes())
    assert len(pictures) == 1


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
