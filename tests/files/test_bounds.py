"""No file makes its reader hold more than a line, a row, or what a document may have."""

import gzip
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from examples import tiers

from labeler.errors import TooLarge
from labeler.exchange.tables import rows_of_parquet
from labeler.files.csv import read_cells, table_lines
from labeler.files.jsonl import read_rows
from labeler.files.read import (
    LONGEST_LINE,
    byte_blocks,
    byte_chunks,
    numbered_bytes,
    numbered_lines,
    read_bytes,
)
from tests.work import MEGABYTE, peak

READERS: dict[str, Callable[[Path], Iterator[Any]]] = {
    "lines": numbered_lines,
    "bytes": numbered_bytes,
    "blocks": lambda path: byte_blocks(path, 1 << 20),
    "rows": read_rows,
    "table": lambda path: read_cells(path, table_lines(path), ","),
}


def packed(path: Path, content: bytes, times: int) -> Path:
    """A gzip file of the content, so many times over."""
    path.write_bytes(gzip.compress(content, 1) * times)
    return path


def exhaust(reader: Callable[[Path], Iterator[Any]], path: Path) -> None:
    deque(reader(path), maxlen=0)


@pytest.mark.parametrize("reader", READERS)
def test_an_endless_line_is_refused_with_its_number(reader: str, tmp_path: Path) -> None:
    path = packed(tmp_path / "a.gz", b"x" * (16 * MEGABYTE), 20)
    path.write_bytes(gzip.compress(b'{"a": 1}\n') + path.read_bytes())

    def read() -> None:
        with pytest.raises(TooLarge, match=r"a\.gz:2: a line of more than 64 MB"):
            exhaust(READERS[reader], path)

    assert peak(read) < 5 * LONGEST_LINE


@pytest.mark.parametrize("reader", tiers(["lines", "blocks", "rows"], "lines"))
def test_a_file_that_unpacks_to_far_more_than_texts_do_is_refused(
    reader: str, tmp_path: Path
) -> None:
    row = b'{"a": "' + b"x" * MEGABYTE + b'"}\n'
    path = packed(tmp_path / "a.jsonl.gz", row * 8, 40)

    def read() -> None:
        with pytest.raises(TooLarge, match=r"a\.jsonl\.gz: unpacks to more than 200 times its s"):
            exhaust(READERS[reader], path)

    assert peak(read) < 20 * MEGABYTE


def of_one_text(path: Path, rows: int, how: str) -> Path:
    """A parquet file whose rows hold the same megabyte, once in it or packed."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    schema = pyarrow.schema({"id": pyarrow.string(), "text": pyarrow.string()})
    kinds: dict[str, Any] = {
        "shared": {"dictionary_pagesize_limit": 1 << 24},
        "packed": {"use_dictionary": False, "compression": "zstd"},
    }
    with parquet.ParquetWriter(path, schema, **kinds[how]) as writer:
        for n in range(0, rows, 50):
            ids = [str(n + i) for i in range(50)]
            writer.write_table(pyarrow.table([ids, ["x" * MEGABYTE] * 50], schema=schema))
    return path


@pytest.mark.parametrize("how", tiers(["shared", "packed"], "packed"))
def test_rows_of_parquet_that_hold_far_more_than_texts_do_are_refused(
    how: str, tmp_path: Path
) -> None:
    path = of_one_text(tmp_path / "a.parquet", 400, how)

    def read() -> None:
        with pytest.raises(TooLarge, match=r"a\.parquet: its rows hold more than 200 times the f"):
            deque(rows_of_parquet(path).rows, maxlen=0)

    assert peak(read) < 300 * MEGABYTE


def test_a_text_that_many_rows_of_parquet_share_is_held_once(tmp_path: Path) -> None:
    path = of_one_text(tmp_path / "a.parquet", 200, "shared")
    assert peak(lambda: deque(rows_of_parquet(path).rows, maxlen=0)) < 20 * MEGABYTE


def test_a_packed_file_of_256_megabytes_or_of_plain_texts_is_read(tmp_path: Path) -> None:
    path = packed(tmp_path / "zeros.gz", b"0" * (16 * MEGABYTE), 16)
    assert sum(map(len, byte_chunks(path, MEGABYTE))) == 256 * MEGABYTE


def test_an_open_quote_ends_with_the_row_that_it_makes_too_long(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.csv.gz", (b"x" * MEGABYTE + b"\n") * 8, 10)
    path.write_bytes(gzip.compress(b'id,text\n1,"') + path.read_bytes())
    with pytest.raises(TooLarge, match=r"a row of more than 64 MB; is a quote left open\?"):
        exhaust(READERS["table"], path)


def test_a_document_is_read_up_to_its_bound_however_it_is_packed(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.txt", b"x" * MEGABYTE, 200)

    def read() -> None:
        with pytest.raises(TooLarge, match=r"a\.txt: more than the 2 MB that a document may have"):
            read_bytes(path, 2 * MEGABYTE)

    assert peak(read) < 6 * MEGABYTE
    assert len(read_bytes(path, 200 * MEGABYTE)) == 200 * MEGABYTE
