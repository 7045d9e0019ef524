"""The columns of a large set of judgements are kept, and used as long as the set is the same."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeler.collection.judged_set import KEPT, KEPT_FROM, JudgedSet, judged_in
from labeler.data import Pair
from labeler.judging.judge import judge
from labeler.testing import fake_model, small_collection

QUERIES, DOCUMENTS = 20, 20
LONG = "x" * (KEPT_FROM // QUERIES // DOCUMENTS)
HASH = "0123456789ab"


def row_of(query: int, document: int, grade: int | None) -> dict[str, Any]:
    said = {"reason": LONG} if grade is not None else {"detail": LONG}
    return {
        "query_id": f"q{query}",
        "doc_id": f"d{document}",
        "grade": grade,
        "status": "judged" if grade is not None else "refused",
        **said,
        "attempts": 1 + document % 2,
        "prompt_tokens": 100 + document,
        "completion_tokens": 6,
        "cost": 0.1 + document if query else None,
        "model": "served",
        "shown": f"query passage:50000 {HASH} {HASH}",
        "prompt": "four-grades@1",
        "asked": "http://127.0.0.1:1/v1 m",
        "parameters": {"temperature": 0.5, "body": {"k": [1]}},
    }


def write(path: Path, **of_first: Any) -> None:
    """A file of some megabytes that nobody has written to for a while."""
    rows = [
        row_of(q, d, (q + d) % 4 if (q, d) != (3, 3) else None)
        for q in range(QUERIES)
        for d in range(DOCUMENTS)
    ]
    rows[0] |= of_first
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    os.utime(path, (1_000_000_000, 1_000_000_000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "coll" / "judgements"
    folder.mkdir(parents=True)
    write(folder / "gpt.jsonl")
    return folder / "gpt.jsonl"


def again(path: Path, name: str) -> Path:
    """The same file by another path, so that it is not held in memory."""
    other = path.parents[2] / name
    other.symlink_to(path.parents[1])
    return other / "judgements" / path.name


def said(judged: JudgedSet) -> dict[str, Any]:
    """All that a set says."""
    rows = np.arange(len(judged))
    return {
        "states": dict(judged.states.by_pair()),
        "order": [*judged.states.pairs()],
        "took": judged.amounts[judged.of_spent].tolist(),
        "shown": [judged.shown_to(row) for row in rows.tolist()],
        "reasons": judged.reasons_of(rows),
        "who": (judged.asked, judged.served, judged.prompts, judged.origin),
    }


def kept_in(path: Path) -> list[Path]:
    return sorted((path.parents[1] / "indexes").glob(f"*{KEPT}"))


def test_a_set_says_the_same_by_the_columns_that_were_kept(path: Path) -> None:
    first = judged_in(path)
    (kept,) = kept_in(path)
    made = kept.stat().st_mtime_ns
    second = judged_in(again(path, "other"))
    assert kept.stat().st_mtime_ns == made
    by_rows, by_columns = said(first), said(second)
    assert by_rows["states"][Pair("q3", "d3")].status == "refused"
    assert by_rows["reasons"] == [LONG] * QUERIES * DOCUMENTS
    np.testing.assert_equal(by_columns.pop("took"), by_rows.pop("took"))
    assert by_columns == by_rows


@pytest.mark.parametrize("shares", [False, True])
def test_columns_of_other_bytes_are_not_used_and_go(path: Path, *, shares: bool) -> None:
    judged_in(path, shares=shares)
    (before,) = kept_in(path)
    write(path, grade=3)
    assert judged_in(path, shares=shares).states["q0"]["d0"].grade == 3
    (after,) = kept_in(path)
    assert after != before


def test_columns_that_are_damaged_are_made_anew(path: Path) -> None:
    judged_in(path)
    (kept,) = kept_in(path)
    whole = kept.read_bytes()
    kept.write_bytes(whole.replace(b"q11", b"q99"))
    assert judged_in(again(path, "other")).states["q11"]["d0"].grade == 3
    assert kept.read_bytes() == whole


def test_a_set_is_read_where_nothing_can_be_kept(path: Path) -> None:
    (path.parents[1] / "indexes").write_text("a file")
    assert len(judged_in(path)) == QUERIES * DOCUMENTS


def test_distributions_are_read_from_the_rows(path: Path) -> None:
    write(path, distribution={"0": 0.75, "1": 0.25})
    judged_in(path)
    assert kept_in(path)
    assert judged_in(again(path, "other"), shares=True).shares[0] == {0: 0.75, 1: 0.25}


def test_small_files_and_files_elsewhere_are_not_kept(path: Path) -> None:
    small = path.with_name("small.jsonl")
    small.write_text(json.dumps(row_of(0, 0, 1)) + "\n")
    elsewhere = path.parents[1] / "gpt.jsonl"
    path.rename(elsewhere)
    for each in (small, elsewhere):
        os.utime(each, (1_000_000_000, 1_000_000_000))
        judged_in(each)
    assert not (path.parents[1] / "indexes").exists()


def test_judge_keeps_the_columns_of_a_large_set_that_it_wrote() -> None:
    collection, model = small_collection(), fake_model('{"grade": 2}', "fair")
    judge(collection, model=model, prompt="basic", name="long")
    path = collection.judgements("long")
    lines = path.read_text().splitlines()
    of_gone = json.loads(lines[0]) | {"doc_id": "gone", "reason": LONG * QUERIES * DOCUMENTS}
    path.write_text("".join(f"{line}\n" for line in [*lines, json.dumps(of_gone)]))
    judge(collection, model=model, prompt="basic", name="long")
    assert path.stat().st_size >= KEPT_FROM
    (kept,) = kept_in(path)
    made = kept.stat().st_mtime_ns
    assert set(judged_in(path).grades.value.tolist()) == {2}
    assert kept.stat().st_mtime_ns == made
