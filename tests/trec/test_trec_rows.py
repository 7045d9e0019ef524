"""TREC files: what is read, what is refused, and that what is written reads back."""

import gzip
import re
from pathlib import Path

import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.data import Qrels, Run
from labeler.errors import BadInput, FileProblem
from labeler.trec.files import read_qrels, read_run
from labeler.trec.write import write_qrels, write_run

IDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f\0"), min_size=1
).filter(lambda text: not text.startswith(("#", "\ufeff")))
GRADES = st.integers(-(2**31) + 1, 2**31 - 1)
SCORES = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property, each of which writes its files anew."""
    return tmp_path_factory.mktemp("scratch")


def tables(values: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.dictionaries(IDS, st.dictionaries(IDS, values, min_size=1), min_size=1, max_size=4)


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 d1 1\nq1 0 d2 -1\n",
        "q1 0 d1 1\r\nq1 0 d2 -1\r\n",
        "q1\t0\td1\t+1\nq1\t0  d2 -1",
        "# two pairs\n\nq1 Q0 d1 1\n   \nq1 anything d2 -1\n",
    ],
)
def test_qrels_with_comments_blank_lines_tabs_and_crlf_say_the_same(
    text: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.qrels"
    path.write_bytes(text.encode())
    assert read_qrels(path) == {"q1": {"d1": 1, "d2": -1}}


def test_ids_are_strings_and_may_hold_anything_but_ascii_white_space(tmp_path: Path) -> None:
    path = tmp_path / "a.trec"
    path.write_bytes("007 Q0 d#1\u00a0\u2028é 1 2 t\n7 Q0 0 1 -.5e1 t\n".encode())
    assert read_run(path) == {"007": {"d#1\u00a0\u2028é": 2.0}, "7": {"0": -5.0}}


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"", 1, "no line in it"),
        (b"# nothing\n\n", 2, "no line in it"),
        (b"q 0 d 1\nq 0 d\n", 2, "expected 4 columns (query iteration document grade), found 3"),
        (b"q 0 d 1 x\n", 1, "expected 4 columns (query iteration document grade), found 5"),
        (
            b"q Q0 d 1 2 t\n",
            1,
            "expected 4 columns (query iteration document grade), found 6; a run?",
        ),
        (b"q 0 d 1.5\n", 1, "expected an integer grade, found '1.5'"),
        (b"q 0 d nan\n", 1, "expected an integer grade, found 'nan'"),
        (b"q 0 d 1_0\n", 1, "expected an integer grade, found '1_0'"),
        ("q 0 d ١\n".encode(), 1, "expected an integer grade, found '١'"),
        (b"q 0 d 9999999999\n", 1, "expected an integer grade, found '9999999999'"),
        (b"q 0 d ERROR\n", 1, "expected an integer grade, found 'ERROR'"),
        (b"q 0 d\0 1\n", 1, "a NUL byte; is this a binary file?"),
        (b"query-id\tcorpus-id\tscore\nq\td\t1\n", 1, "expected 4 columns (query iteration docu"),
        (b"q 0 d\xff 1\n", 1, "an id that is not UTF-8"),
    ],
)
def test_a_bad_line_of_qrels_is_named(
    content: bytes, line: int, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.qrels"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=re.escape(f"{path}:{line}: {problem}")):
        read_qrels(path)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"q Q0 d 1 2\n", 1, "expected 6 columns (query Q0 document rank score tag), found 5"),
        (b"q 0 d 1\n", 1, "expected 6 columns (query Q0 document rank score tag), found 4; are th"),
        (b"q Q0 d 1 high t\n", 1, "expected a finite number as score, found 'high'"),
        (b"q Q0 d 1 nan t\n", 1, "expected a finite number as score, found 'nan'"),
        (b"q Q0 d 1 -inf t\n", 1, "expected a finite number as score, found '-inf'"),
        (b"q Q0 d 1 1e999 t\n", 1, "expected a finite number as score, found '1e999'"),
        (b"q Q0 d 1 0x1p3 t\n", 1, "expected a finite number as score, found '0x1p3'"),
        (b"q Q0 d 1 3 t\nq Q0 e 2 2 t\nq Q0 d 3 1 t\n", 3, "q retrieves d a second time"),
    ],
)
def test_a_bad_line_of_a_run_is_named(
    content: bytes, line: int, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.trec"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=re.escape(f"{path}:{line}: {problem}")):
        read_run(path)


def test_a_truncated_gzip_and_a_missing_file_are_one_line_each(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"q Q0 d%d 1 2 t\n" % n for n in range(5000)))
    path = tmp_path / "a.trec.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="damaged gzip file"):
        read_run(path)
    with pytest.raises(FileProblem, match="no such file or folder"):
        read_run(tmp_path / "b.trec")


def test_a_repeated_pair_is_counted_and_a_contradiction_lists_the_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.qrels"
    path.write_text("q 0 d 1\nq 0 e 0\nq 0 d 1\n")
    warnings: list[str] = []
    assert read_qrels(path, warnings.append) == {"q": {"d": 1, "e": 0}}
    assert warnings == [f"{path}: 1 repeated line, the same pair with the same grade"]
    path.write_text("q 0 d 1\nq 0 e 0\nq 0 d 2\nq 0 e 3\n")
    with pytest.raises(BadInput, match=re.escape(f"{path}:3: q d has 1 and 2; {path}:4: q e has")):
        read_qrels(path)


@steadily()
@given(qrels=tables(GRADES))
def test_qrels_read_back_as_they_were_written(qrels: Qrels, scratch: Path) -> None:
    path = scratch / "a.qrels"
    write_qrels(path, qrels)
    assert read_qrels(path) == qrels


@steadily()
@given(run=tables(SCORES), compressed=st.booleans())
def test_a_run_reads_back_exactly_in_trec_evals_order(
    run: Run, compressed: bool, scratch: Path
) -> None:
    path = scratch / ("a.trec.gz" if compressed else "a.trec")
    write_run(path, run, "tag")
    found = read_run(path)
    assert found == run
    for scores in found.values():
        keys = [(score, doc_id.encode()) for doc_id, score in scores.items()]
        assert keys == sorted(keys, reverse=True)


def test_an_id_with_white_space_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.qrels"
    write_qrels(path, {"q": {"d": 1}})
    with pytest.raises(BadInput, match="columns"):
        write_qrels(path, {"q": {"a b": 1}})
    assert read_qrels(path) == {"q": {"d": 1}}
