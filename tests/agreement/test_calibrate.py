"""Calibrated probabilities: they hold in made worlds, on other queries, and for their assessor."""

import json
from pathlib import Path

import numpy as np
import pytest

import labeler
from labeler.agreement.shares import graded_together
from labeler.agreement.sources import source_of_file
from labeler.cli import execute
from labeler.collection.judgements import JudgementLines, Origin
from labeler.collection.user_files import Output
from labeler.data import Judged, Judgement, Pair, Qrels
from labeler.lab.calibrate import CalibrateResult, write_probabilities
from labeler.stats.regression import cumulative_logistic
from labeler.trec.write import write_qrels

CHANCES = {0: (0.8, 0.15, 0.05), 1: (0.3, 0.4, 0.3), 2: (0.1, 0.2, 0.7)}
"""How often people give 0, 1 and 2 where the made assessor gives each grade."""


def world(
    folder: Path,
    queries: int,
    pairs: int = 20,
    seed: int = 1,
    prompt: str = "p@1",
    *,
    sure: float = 0,
) -> tuple[Path, Path]:
    """Human qrels, and judgements whose distributions are off by a known amount.

    With `sure` above 0 each row has a distribution that says its grade `sure` too surely.
    """
    rng = np.random.default_rng(seed)
    human: Qrels = {}
    path = folder / f"llm{seed}.jsonl"
    lines = JudgementLines(Origin(prompt, "m", {"temperature": 0}))
    with path.open("w") as file:
        for q in range(queries):
            for d in range(pairs):
                grade = int(rng.integers(0, 3))
                human.setdefault(f"q{q}", {})[f"d{d}"] = int(rng.choice(3, p=CHANCES[grade]))
                shares = None
                if sure:
                    mass = np.array(CHANCES[grade]) ** sure
                    shares = dict(enumerate((mass / mass.sum()).tolist()))
                judgement = Judgement(Pair(f"q{q}", f"d{d}"), grade, None, shares)
                file.write(lines.line(Judged(judgement)) + "\n")
    qrels = folder / f"human{seed}.qrels"
    write_qrels(qrels, human)
    return path, qrels


def calibrated(folder: Path, queries: int, **how: float) -> CalibrateResult:
    llm, human = world(folder, queries, **how)  # type: ignore[arg-type]
    return labeler.calibrate(llm, people=str(human))


def by_grade(result: CalibrateResult) -> dict[int, np.ndarray]:
    """The probabilities of each of the assessor's grades."""
    grade = result.given.values[:, 0]
    return {g: result.probabilities[grade == g][0] for g in range(3)}


@pytest.mark.sweep
def test_the_probabilities_of_a_made_world_are_recovered(tmp_path: Path) -> None:
    result = calibrated(tmp_path, 150, pairs=40)
    for grade, probabilities in by_grade(result).items():
        assert probabilities == pytest.approx(CHANCES[grade], abs=0.06)
    entropy = -np.mean([np.sum(np.array(row) * np.log(row)) for row in CHANCES.values()])
    assert result.log_loss["calibrated"].value == pytest.approx(entropy, abs=0.03)


def test_distributions_that_are_too_sure_come_to_hold(tmp_path: Path) -> None:
    result = calibrated(tmp_path, 100, sure=3.0)
    for cut in result.cuts:
        assert cut.before.error > 0.04
        assert cut.after.error < 0.02
        assert cut.after.low == 0  # a fit leans away from what is left out
    assert result.log_loss["calibrated"].value < result.log_loss["as it came"].value
    assert result.gain is not None
    assert result.gain.low is not None
    assert result.gain.low > 0


@pytest.mark.sweep
def test_distributions_that_hold_already_stay_as_they_are(tmp_path: Path) -> None:
    result = calibrated(tmp_path, 150, sure=1.0, pairs=40)
    assert result.probabilities == pytest.approx(result.given.mean_shares, abs=0.05)
    loss = result.log_loss
    assert loss["calibrated"].value == pytest.approx(loss["as it came"].value, abs=0.01)


def test_grades_that_people_share_perfectly_still_have_a_fit() -> None:
    x = np.repeat([-1.0, 1.0], 20)[:, None, None]
    intercepts, slopes = cumulative_logistic(x, np.repeat([0, 1], 20), np.ones(40))
    assert np.isfinite([*intercepts, *slopes]).all()
    assert slopes[0] > 2


def test_what_is_said_of_a_fit_is_of_queries_that_it_was_not_fitted_to(tmp_path: Path) -> None:
    """An assessor that tells nothing gains nothing, though on its own pairs a fit seems to."""
    rng = np.random.default_rng(4)
    human = {f"q{q}": {f"d{d}": int(rng.integers(0, 3)) for d in range(4)} for q in range(12)}
    llm = {q: {d: int(rng.integers(0, 4)) for d in row} for q, row in human.items()}
    for name, qrels in (("human", human), ("llm", llm)):
        write_qrels(tmp_path / f"{name}.qrels", qrels)
    people = str(tmp_path / "human.qrels")
    result = labeler.calibrate(tmp_path / "llm.qrels", people=people)
    assert result.gain is not None
    assert result.gain.value < 0.03
    assert any("cannot be told from the shares" in str(f) for f in result.findings)


def test_too_few_of_peoples_grades_are_warned_of_and_many_are_not(tmp_path: Path) -> None:
    few = calibrated(tmp_path, 6, pairs=4)
    assert any("fewer than 10" in str(finding) for finding in few.findings)
    many = calibrated(tmp_path, 60, pairs=20)
    assert many.findings == ()


def test_pairs_that_people_did_not_judge_have_probabilities_too(tmp_path: Path) -> None:
    llm, human = world(tmp_path, 30)
    rows = human.read_text().splitlines()
    (tmp_path / "some.qrels").write_text("\n".join(rows[: len(rows) // 2]) + "\n")
    people = str(tmp_path / "some.qrels")
    result = labeler.calibrate(llm, people=people)
    assert (result.pairs, result.queries) == (300, 15)
    assert len(result.probabilities) == len(rows) == 600
    assert {pair.query_id for pair, _, _ in result.rows()} == {f"q{q}" for q in range(30)}


def test_a_name_of_people_alone_is_refused_beside_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    llm, _ = world(tmp_path, 12)
    assert execute(["lab", "calibrate", str(llm)]) == 2
    assert "--people: human: no such file; beside a file" in capsys.readouterr().err


def test_a_stray_label_outside_the_scale_is_left_out(tmp_path: Path) -> None:
    labels = [f"q{n} 0 d {n % 3}" for n in range(400)] + ["q400 0 d 10", "q401 0 d ERROR"]
    (tmp_path / "llm.qrels").write_text("\n".join(labels) + "\n")
    matrix, left_out = graded_together([source_of_file(tmp_path / "llm.qrels", "llm")])
    assert matrix.grades == (0, 1, 2)
    assert matrix.pairs.size == 400
    assert left_out == ["2 labels are no grade, or one that next to no pair has: left out"]


def test_the_command_writes_probabilities_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    llm, human = world(tmp_path, 20)
    to = ["--probabilities", str(tmp_path / "p.jsonl")]
    assert execute(["lab", "calibrate", str(llm), "--people", str(human), "--json", *to]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["pairs"] == 400
    assert "probabilities of 400 pairs: " in printed.err
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert len(rows) == 400
    assert sum(rows[0]["probabilities"].values()) == pytest.approx(1)


def test_probabilities_are_not_written_onto_an_input(tmp_path: Path) -> None:
    llm, human = world(tmp_path, 12)
    result = labeler.calibrate(llm, people=str(human))
    with pytest.raises(labeler.LabelerError, match="inputs"):
        write_probabilities(Output.of(llm, [llm]), result)
