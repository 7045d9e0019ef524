"""Files read a few queries at a time: the slow reader's answer and errors, whatever they hold."""

import gzip
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from examples import steadily
from hypothesis import example, given
from hypothesis import strategies as st
from test_rankings import qrels_files, run_files

from labeler.data import Qrels, Run
from labeler.errors import BadInput
from labeler.trec.blocks import QRELS, Batch
from labeler.trec.columns import Irregular
from labeler.trec.files import (
    read_qrels,
    read_qrels_by_line,
    read_run,
    read_run_by_line,
    through_run,
)
from labeler.trec.pairs import numbers_in_file

OFTEN = steadily(60)
SIZES = st.sampled_from([1, 40, 200, 1 << 20])


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property, each of which writes its files anew."""
    return tmp_path_factory.mktemp("scratch")


def outcome(read: Callable[[], Run | Qrels]) -> Run | Qrels | str:
    try:
        return read()
    except BadInput as error:
        return str(error)


def items(run: Run | Qrels | str) -> object:
    """A run with its order, which dicts that are compared do not tell."""
    return run if isinstance(run, str) else [(q, list(scores.items())) for q, scores in run.items()]


def test_a_run_of_several_blocks_is_the_slow_readers(tmp_path: Path) -> None:
    path, long = tmp_path / "a.trec", "x" * 1000
    lines = [f"q{n % 3 if n % 50 else n // 50} Q0 {long}{n} 1 {n % 7}.5 t\n" for n in range(6000)]
    path.write_text("".join(lines))
    assert items(read_run(path)) == items(read_run_by_line(path))
    path.write_text("".join([*lines, lines[1]]))
    with pytest.raises(BadInput, match=r"a.trec:6001: q1 retrieves .* a second time"):
        read_run(path)


def streamed_run(path: Path, size: int) -> Run:
    return through_run(path, run_in, size)


def run_in(parts: Iterable[Batch]) -> Run:
    found: Run = {}
    for batch in parts:
        batch.refuse_repeated()
        texts = batch.texts(np.arange(len(batch.query)))
        for place, doc, score in zip(batch.query, texts, batch.score.tolist(), strict=True):
            found.setdefault(batch.names[place].decode(), {})[doc.decode()] = score
        assert set(found) >= {name.decode() for name in batch.names}
    return found


@OFTEN
@given(content=run_files(odd=False), size=SIZES, packed=st.booleans())
@example(content=b"1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 b 2 1 t", size=1, packed=False)
@example(content=b"1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 a 2 1 t", size=1, packed=False)
def test_a_run_is_the_slow_readers(content: bytes, size: int, packed: bool, scratch: Path) -> None:
    path = scratch / "a.trec"
    path.write_bytes(gzip.compress(content) if packed else content)
    wanted, found = (
        outcome(lambda: read_run_by_line(path)),
        outcome(lambda: streamed_run(path, size)),
    )
    assert items(outcome(lambda: read_run(path))) == items(wanted)
    if isinstance(wanted, str):  # of several repeated pairs another may be found first
        assert isinstance(found, str)
        assert re.search(r"a\.trec:\d+: .* a second time$|no line in it", found)
    else:
        assert found == wanted
        assert list(found) == list(wanted)


@OFTEN
@given(content=qrels_files(odd=False), size=SIZES)
def test_qrels_are_the_slow_readers(content: bytes, size: int, scratch: Path) -> None:
    path = scratch / "a.qrels"
    path.write_bytes(content)
    wanted = outcome(lambda: read_qrels_by_line(path))
    assert items(outcome(lambda: read_qrels(path))) == items(wanted)
    with suppress(Irregular, BadInput):  # such files are left to the slow reader
        found = numbers_in_file(path, QRELS, size)
        assert (items(found), list(found.by_id())) == (items(wanted), sorted(wanted))


@OFTEN
@given(content=run_files(odd=True), size=SIZES)
def test_odd_files_are_refused_in_a_line_that_names_file_and_line(
    content: bytes, size: int, scratch: Path
) -> None:
    path = scratch / "a.trec"
    path.write_bytes(content)
    wanted, found = (
        outcome(lambda: read_run_by_line(path)),
        outcome(lambda: streamed_run(path, size)),
    )
    assert items(outcome(lambda: read_run(path))) == items(wanted)
    if isinstance(wanted, str):
        assert isinstance(found, str)
        assert re.search(r"a\.trec:\d+: [^\n]+$", found)
    else:
        assert found == wanted
