"""Probabilities of people's grades by what an assessor says: they hold in made worlds."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from labeler.agreement.calibration import CalibrationRows, at_cut
from labeler.agreement.shares import GradeShares, shares_of
from labeler.agreement.sources import source_of_file
from labeler.arrays import Floats
from labeler.collection.judgements import JudgementLines, Origin
from labeler.data import Judged, Judgement, Pair, Qrels
from labeler.lab.recalibration import CalibrationSet, calibration_set
from labeler.stats.regression import cumulative_logistic, isotonic
from labeler.trec.qrels import read_qrels
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


class Fitted(NamedTuple):
    """What a made assessor says, people's grades beside it, and the fit to all of these."""

    shares: GradeShares
    pairs: CalibrationSet

    @property
    def probabilities(self) -> Floats:
        return self.pairs.fit().probabilities(self.shares)


def fitted(folder: Path, queries: int, **how: float) -> Fitted:
    llm, human = world(folder, queries, **how)  # type: ignore[arg-type]
    shares = shares_of(source_of_file(llm, "llm"))
    return Fitted(shares, calibration_set(read_qrels(human), shares, None, "no pair"))


@pytest.mark.sweep
def test_the_probabilities_of_a_made_world_are_recovered(tmp_path: Path) -> None:
    shares, pairs = fitted(tmp_path, 150, pairs=40)
    grade, probabilities = shares.matrix.argmax(axis=1), pairs.fit().probabilities(shares)
    for each, chances in CHANCES.items():
        assert probabilities[grade == each][0] == pytest.approx(chances, abs=0.06)


def test_distributions_that_are_too_sure_come_to_hold(tmp_path: Path) -> None:
    made = fitted(tmp_path, 100, sure=3.0)
    pairs = made.pairs
    human = np.array(pairs.scale)[pairs.outcome]
    for cut in pairs.scale[1:]:
        before, after = (
            at_cut(CalibrationRows(pairs.query, human, pairs.weight, pairs.scale, matrix), cut)
            for matrix in (made.shares.matrix, made.probabilities)
        )
        assert before.error > 0.04
        assert after.error < 0.02


@pytest.mark.sweep
def test_distributions_that_hold_already_stay_as_they_are(tmp_path: Path) -> None:
    made = fitted(tmp_path, 150, sure=1.0, pairs=40)
    assert made.probabilities == pytest.approx(made.shares.matrix, abs=0.05)


def test_an_isotonic_fit_is_the_closest_rising_one() -> None:
    x, y = np.array([1.0, 2, 3, 4, 4]), np.array([0.0, 1, 0, 1, 0])
    knots, values = isotonic(x, y, np.ones(5))
    assert knots.tolist() == [1, 2, 3, 4]
    assert values == pytest.approx([0, 0.5, 0.5, 0.5])


def test_grades_that_people_share_perfectly_still_have_a_fit() -> None:
    x = np.repeat([-1.0, 1.0], 20)[:, None, None]
    intercepts, slopes = cumulative_logistic(x, np.repeat([0, 1], 20), np.ones(40))
    assert np.isfinite([*intercepts, *slopes]).all()
    assert slopes[0] > 2


def test_a_stray_label_outside_the_scale_is_left_out(tmp_path: Path) -> None:
    labels = [f"q{n} 0 d {n % 3}" for n in range(400)] + ["q400 0 d 10", "q401 0 d ERROR"]
    (tmp_path / "llm.qrels").write_text("\n".join(labels) + "\n")
    shares = shares_of(source_of_file(tmp_path / "llm.qrels", "llm"))
    assert shares.grades == (0, 1, 2)
    assert shares.pairs.size == 400
