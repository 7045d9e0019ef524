"""Vectors in a file that only grows: what was added is there, whatever happens to its end."""

from pathlib import Path

import numpy as np
import pytest

from labeler.errors import BadInput, FileProblem
from labeler.store.vectors import HEAD, VectorFile, Vectors, key_of_text

KEYS = [key_of_text(text) for text in ("one", "two", "three")]
VECTORS: Vectors = np.arange(12, dtype=np.float32).reshape(3, 4)
RECORD = 16 + 4 + 4 * 4


def quiet(_line: str) -> None:
    return None


def filled(path: Path, rows: int = 3) -> VectorFile:
    file = VectorFile.read(path, "server model")
    with file.appending(quiet):
        file.add(KEYS[:rows], VECTORS[:rows])
    return file


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    file = filled(tmp_path / "vectors" / "a.vectors")
    assert np.array_equal(file.of(KEYS), VECTORS)
    again = VectorFile.read(file.path, "server model")
    assert (len(again), again.dimensions) == (3, 4)
    assert np.array_equal(again.of([KEYS[2], KEYS[0]]), VECTORS[[2, 0]])
    assert file.path.stat().st_size == HEAD + 3 * RECORD


@pytest.mark.parametrize("cut", [1, RECORD - 1, RECORD, RECORD + 5, 3 * RECORD, 3 * RECORD + 9])
def test_a_cut_loses_the_records_at_the_end_alone(tmp_path: Path, cut: int) -> None:
    path = filled(tmp_path / "a.vectors").path
    path.write_bytes(path.read_bytes()[:-cut])
    file = VectorFile.read(path, "server model")
    left = max(0, 3 - -(-cut // RECORD))
    assert [key in file for key in KEYS] == [at < left for at in range(3)]
    with file.appending(quiet):
        file.add(KEYS[left:], VECTORS[left:])
    assert np.array_equal(VectorFile.read(path, "server model").of(KEYS), VECTORS)


def test_a_damaged_record_is_none_and_the_others_stay(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.vectors").path
    content = bytearray(path.read_bytes())
    content[HEAD + RECORD + 25] ^= 1
    path.write_bytes(content)
    file = VectorFile.read(path, "server model")
    assert [key in file for key in KEYS] == [True, False, True]
    with file.appending(quiet):
        file.add([KEYS[1]], VECTORS[1:2])
    assert np.array_equal(VectorFile.read(path, "server model").of(KEYS), VECTORS)


def test_what_another_process_added_meanwhile_is_seen(tmp_path: Path) -> None:
    early = VectorFile.read(tmp_path / "a.vectors", "server model")
    filled(tmp_path / "a.vectors", rows=2)
    with early.appending(quiet):
        assert KEYS[1] in early
        early.add(KEYS[2:], VECTORS[2:])
    assert np.array_equal(early.of(KEYS), VECTORS)


def test_vectors_of_another_length_are_not_mixed_in(tmp_path: Path) -> None:
    file = filled(tmp_path / "a.vectors", rows=1)
    with file.appending(quiet), pytest.raises(BadInput, match="have 4 numbers, new ones 7"):
        file.add(KEYS[1:2], np.ones((1, 7), dtype=np.float32))


@pytest.mark.parametrize(
    "content", [b"x" * 2000, b"{}" + b" " * 2000, b'{"dimensions": -1}' + b" " * 2000, b"\0" * 2000]
)
def test_a_file_of_something_else_is_refused_and_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.vectors"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="no vectors that labeler keeps"):
        VectorFile.read(path, "server model")
    assert path.read_bytes() == content


def test_vectors_of_another_encoder_are_refused(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.vectors").path
    with pytest.raises(BadInput, match="the vectors of another encoder, 'server model'"):
        VectorFile.read(path, "server other")


def test_a_pipe_in_its_place_is_refused(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "a.vectors")
    with pytest.raises(FileProblem):
        VectorFile.read(tmp_path / "a.vectors", "server model")
