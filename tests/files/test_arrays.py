"""Arrays in one file: whole or not at all, and read where they lie."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from labeler.files.arrays import open_arrays, writing_arrays

NUMBERS = np.arange(30, dtype=np.float32).reshape(10, 3)
TEXTS = ["", "a", "b", "über", "北京"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "some.index"
    with writing_arrays(path, {"of": "these"}) as out:
        out.add("numbers", [NUMBERS[:4], NUMBERS[4:4], NUMBERS[4:]])
        out.add("none", [])
        out.add_texts("texts", TEXTS)
    return path


def test_what_is_written_is_read(path: Path) -> None:
    arrays = open_arrays(path, {"of": "these"})
    assert arrays is not None
    assert_array_equal(arrays["numbers"], NUMBERS)
    assert_array_equal(arrays.rows("numbers", 3, 99), NUMBERS[3:])
    assert arrays.rows("numbers", 10, 12).shape == (0, 3)
    assert len(arrays["none"]) == 0
    assert list(arrays.texts("texts")) == TEXTS


def test_a_file_about_something_else_is_none(path: Path) -> None:
    assert open_arrays(path, {"of": "others"}) is None
    assert open_arrays(path.parent / "missing", {"of": "these"}) is None


def test_a_file_that_is_not_whole_is_none(path: Path) -> None:
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at])
        assert open_arrays(path, {"of": "these"}) is None
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert open_arrays(path, {"of": "these"}) is None
    path.write_bytes(whole)
    assert open_arrays(path, {"of": "these"}) is not None


def test_a_file_is_not_there_where_its_writing_failed(path: Path) -> None:
    path.unlink()

    def failing() -> Iterator[np.ndarray]:
        yield NUMBERS
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), writing_arrays(path, {"of": "these"}) as out:
        out.add("numbers", failing())
    assert list(path.parent.iterdir()) == []
