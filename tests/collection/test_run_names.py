"""Which files are runs, and what runs are called."""

from pathlib import Path

import pytest

from labeler.collection.user_files import run_name


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("bm25.trec", "bm25"),
        ("bm25.trec.gz", "bm25"),
        ("dense.json", "dense"),
        ("dense.parquet", "dense"),
        ("dense.csv.gz", "dense"),
        ("gpt-4.1.run", "gpt-4.1"),
        (".trec", ".trec"),
    ],
)
def test_a_run_is_called_as_its_file_without_what_tells_its_format(file: str, name: str) -> None:
    assert run_name(Path("runs") / file) == name
