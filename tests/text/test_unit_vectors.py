"""Vectors are brought to the length 1, however long or short they came."""

import numpy as np
import pytest

from labeler.text.terms import unit_vectors

DIRECTION = np.array([[0.6, -0.8], [1.0, 0.0]])


@pytest.mark.parametrize("length", [1e-30, 1e-16, 1e-3, 1.0, 1e18, 1e20, 3e38])
def test_a_vector_of_any_length_keeps_its_direction(length: float) -> None:
    vectors = (DIRECTION * length).astype(np.float32)
    unit = unit_vectors(vectors)
    expected = DIRECTION
    assert unit.dtype == np.float32
    assert np.allclose(unit, expected, atol=1e-6)
    assert np.allclose(np.linalg.norm(unit, axis=1), 1)


def test_a_long_vector_changes_no_other_and_zeros_stay() -> None:
    vectors = np.array([[3, 4], [3e30, 4e30], [0, 0]], dtype=np.float32)
    unit = unit_vectors(vectors)
    assert np.array_equal(unit[:1], unit_vectors(vectors[:1]))
    assert np.allclose(unit, [[0.6, 0.8], [0.6, 0.8], [0, 0]])
