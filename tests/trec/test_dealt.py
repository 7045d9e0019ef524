"""Pieces of bytes laid aside in a temporary file."""

import tempfile
from pathlib import Path

import pytest

from labeler.errors import FileProblem
from labeler.trec.index import dealing


def test_the_pieces_of_a_part_come_back_in_their_order() -> None:
    with dealing() as dealt:
        for part, piece in ((3, b"a"), (200, b"bb"), (3, b"c")):
            dealt.add(part, piece)
        assert list(dealt.neighbours(2)) == [[3], [200]]
        assert b"".join(dealt.pieces([3, 200])) == b"acbb"


def test_a_folder_for_temporary_files_that_takes_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(FileProblem, match="gone"), dealing():
        pass
