"""Work shared out to several processes: the same answers and errors as of one."""

import ctypes
import operator
from pathlib import Path

import numpy as np
import pytest

from labeler.errors import BadInput, Misconfigured, Misuse
from labeler.evaluation.evaluate import evaluate
from labeler.evaluation.workers import Workers
from labeler.exchange.shapes import told_what_files_are

QRELS = {f"q{n}": {"d1": n % 3, "d2": 1, "d3": 0} for n in range(6)}


def lines_of_run(seed: int) -> str:
    rng = np.random.default_rng(seed)
    documents = [f"d{n}" for n in range(1, 8)]
    return "".join(
        f"q{n} Q0 {doc} 0 {rng.random():.3f} tag\n"
        for n in range(6)
        for doc in rng.permutation(documents)[:5]
    )


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"run{seed}.trec" for seed in range(3)]
    for seed, path in enumerate(paths):
        path.write_text(lines_of_run(seed), encoding="utf-8")
    table = tmp_path / "table.csv"
    table.write_text("query_id,doc_id,score\nq1,d2,3\nq2,d9,1\n", encoding="utf-8")
    return [*paths, table]


def test_the_report_of_two_processes_is_that_of_one(runs: list[Path]) -> None:
    reports, lines = [], []
    for jobs in (1, 2):
        heard: list[str] = []
        with told_what_files_are(heard.append):
            report = evaluate(QRELS, runs, "nDCG@3 AP RBP P@2", jobs=jobs)
        reports.append((report.as_json(per_query=True), report.difference_bounds))
        lines.append(heard)
    assert reports[0] == reports[1]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 1


def test_the_first_bad_run_in_the_order_given_is_the_one_told(runs: list[Path]) -> None:
    messages = []
    runs[3].write_text("query_id,doc_id,score\nq1,d2,much\n", encoding="utf-8")
    runs[1].write_text(runs[1].read_text() + "q1 Q0\n", encoding="utf-8")
    for jobs in (1, 3):
        with pytest.raises(BadInput) as caught:
            evaluate(QRELS, runs, "nDCG@3", jobs=jobs)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert f"{runs[1]}:31: expected 6 columns" in messages[0]


def test_what_is_common_is_shared_and_answers_come_in_order() -> None:
    rows = np.arange(12.0).reshape(4, 3)
    with Workers(2) as workers:
        assert [row.tolist() for row in workers.map(operator.getitem, rows, range(4))] == (
            rows.tolist()
        )
        with pytest.raises(IndexError, match="index 7"):
            list(workers.map(operator.getitem, rows, [1, 7, 9]))
        texts = workers.map(operator.add, "a", ["b", "c"])
        assert list(texts) == ["ab", "ac"]


def test_a_process_that_dies_is_one_line_and_no_wait() -> None:
    with Workers(2) as workers, pytest.raises(Misconfigured, match="ended by SIGSEGV") as caught:
        list(workers.map(ctypes.string_at, 1, [8, 8, 8]))
    assert caught.value.parameter == "jobs"


def test_some_process_has_to_do_the_work() -> None:
    with pytest.raises(Misuse, match="expected 1 to 256 processes, found 0"):
        Workers(0)
