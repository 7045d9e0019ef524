"""What chance puts into a calibration error is taken out, and the rest has an interval."""

import sys
from pathlib import Path

import numpy as np
import pytest

from labeler.agreement.calibration import calibration, debiased
from labeler.collection.judged_set import Distributions
from labeler.data import Pair

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))

from simulate_assessors import calibration_error


@pytest.mark.parametrize("pairs", [100, 200, 1000])
def test_a_calibrated_judge_has_hardly_any_error_however_few_the_pairs(pairs: int) -> None:
    truth, ours, plain, held = calibration_error(pairs, 25, 0.0, 20)
    assert truth < 0.001
    assert ours < 0.4 * plain
    assert ours < 0.05
    assert held >= 0.85


def test_a_judge_that_is_off_has_nearly_the_error_that_it_has() -> None:
    truth, ours, _, held = calibration_error(1000, 25, 0.2, 10)
    assert ours == pytest.approx(truth, abs=0.02)
    assert held >= 0.7


def test_one_query_has_its_plain_error_and_no_ends() -> None:
    human = {"q": {f"d{place}": int(place < 4) for place in range(10)}}
    shares = {Pair("q", f"d{place}"): {1: 0.75, 0: 0.25} for place in range(10)}
    (at,) = calibration(human, Distributions.of_pairs(shares), [1])
    assert at.error == at.plain_error == pytest.approx(0.35)
    assert (at.low, at.high) == (None, None)


def test_the_parts_of_queries_cancel_where_they_differ_at_random() -> None:
    rng = np.random.default_rng(0)
    errors = [debiased(rng.normal(0, 1, (30, 10)), np.full(30, 5.0)) for _ in range(50)]
    assert np.mean([low == 0 for _, (low, _) in errors]) >= 0.9
