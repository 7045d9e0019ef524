"""A corpus is cut into parts of so many lines or bytes, known by the hash of what is in them."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from labeler.collection.corpus import CorpusParts, distinct_documents
from labeler.errors import BadInput

LINES = [
    json.dumps({"_id": f"d{n}", "title": "", "text": "x" * (n * 7919 % 3000)}) for n in range(2000)
]


def expected(whole: bytes, size: int) -> tuple[str, ...]:
    lines = whole.splitlines(keepends=True)
    cut = [b"".join(lines[start : start + size]) for start in range(0, len(lines), size)]
    return tuple(hashlib.sha256(part).hexdigest() for part in cut)


@pytest.mark.parametrize("size", [70, 1999, 2000, 2001])
@pytest.mark.parametrize("end", ["\n", "", "\n\n\n"])
def test_parts_are_hashed_wherever_blocks_of_the_file_end(
    tmp_path: Path, size: int, end: str
) -> None:
    path = tmp_path / "corpus.jsonl"
    whole = ("\n".join(LINES) + end).encode()  # of more than a block
    path.write_bytes(whole)
    parts = CorpusParts.of(path, size)
    assert parts.parts == expected(whole, size)
    assert parts.sha256 == hashlib.sha256(whole).hexdigest()
    assert parts.lines == len(whole.splitlines())


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_documents_of_parts_are_those_of_the_corpus(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(pack("\n\n".join(LINES[:50]).encode()))  # type: ignore[operator]  # a function of bytes
    documents = [*distinct_documents(path)]
    parts = CorpusParts.of(path, 10)
    several = {part: [*some] for part, some in parts.documents(range(99))}
    assert [each for some in several.values() for _, each in some] == documents
    assert several[1][0][0] == 11  # every other line is blank
    assert {part: [*some] for part, some in parts.documents({2, 4})} == {
        part: several[part] for part in (2, 4)
    }


def test_long_documents_make_shorter_parts(tmp_path: Path) -> None:
    path, longest = tmp_path / "corpus.jsonl", max(map(len, LINES)) + 1
    path.write_text("\n".join(LINES))
    parts = CorpusParts.of(path, 500, bytes_of_a_part=50_000)
    lines = [[number for number, _ in some] for _, some in parts.documents(range(999))]
    sizes = [sum(len(LINES[number - 1]) + 1 for number in part) for part in lines]
    assert [number for part in lines for number in part] == [*range(1, 2001)]
    assert all(50_000 <= size < 50_000 + longest for size in sizes[:-1])
    assert len(parts.parts) == len(sizes)


def test_an_empty_corpus_has_no_part(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.touch()
    assert (CorpusParts.of(path, 3).parts, CorpusParts.of(path, 3).lines) == ((), 0)


@pytest.mark.parametrize("changed", [LINES[:40], [*LINES[:45], *LINES[46:51]], LINES[:60]])
def test_a_corpus_that_changes_while_its_parts_are_read_is_noticed(
    tmp_path: Path, changed: list[str]
) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(LINES[:50]))
    parts = CorpusParts.of(path, 10)
    path.write_text("\n".join(changed))
    with pytest.raises(BadInput, match=r"corpus.jsonl: it was changed meanwhile"):
        [list(documents) for _, documents in parts.documents({3, 4})]
