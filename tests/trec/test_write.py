"""What is written: qrels of any size, sorted; and nothing that would not read back."""

from pathlib import Path

import pytest

from labeler.errors import BadInput
from labeler.trec.write import write_qrels, write_sorted_qrels


@pytest.mark.sweep
@pytest.mark.parametrize("count", [1, 7, 250_000])
def test_the_file_is_the_one_that_would_be_written_at_once(tmp_path: Path, count: int) -> None:
    grades = [(f"q{(7 * n) % 101}", f"d{n}\u2028é", n % 5 - 1) for n in range(count)]
    write_sorted_qrels(tmp_path / "parts.qrels", grades)
    together: dict[str, dict[str, int]] = {}
    for query, document, grade in grades:
        together.setdefault(query, {})[document] = grade
    write_qrels(tmp_path / "once.qrels", together)
    assert (tmp_path / "parts.qrels").read_bytes() == (tmp_path / "once.qrels").read_bytes()
    rows = (tmp_path / "once.qrels").read_text(encoding="utf-8").split("\n")[:-1]
    lines = [tuple(row.split(" ")) for row in rows]
    assert len(lines) == count
    assert lines == sorted(lines)


def test_no_grade_at_all_is_an_empty_file(tmp_path: Path) -> None:
    write_sorted_qrels(tmp_path / "a.qrels", [])
    assert (tmp_path / "a.qrels").read_bytes() == b""


def test_what_would_not_read_back_is_not_put_in_place(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        write_sorted_qrels(tmp_path / "a.qrels", [("#q", "d", 1)])
    assert list(tmp_path.iterdir()) == []
