"""Qrels held to score many runs: the values of pytrec_eval and of `evaluate`, in every form."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
import pytrec_eval

import labeler
from labeler.data import Qrels, Run
from labeler.errors import BadInput, Misuse
from labeler.trec.write import write_qrels, write_run

NAMES = {"nDCG@10": "ndcg_cut_10", "AP": "map", "RR": "recip_rank", "R@100": "recall_100"}


def made(seed: int) -> tuple[Qrels, Run]:
    """Ten queries of 60 documents with many ties, of which every third is judged."""
    rng = np.random.default_rng(seed)
    queries = [f"q{n}" for n in range(10)]
    qrels = {q: {f"d{d}": int(rng.integers(0, 4)) for d in range(0, 70, 3)} for q in queries}
    run = {q: {f"d{d}": float(rng.integers(0, 9)) for d in rng.permutation(60)} for q in queries}
    return qrels, run


def frame(table: Qrels | Run, value: str) -> pd.DataFrame:
    rows = [(q, d, v) for q, values in table.items() for d, v in values.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", value])


def test_many_runs_have_pytrec_evals_values_to_the_last_bit() -> None:
    qrels, _ = made(0)
    evaluator = labeler.Evaluator(qrels, list(NAMES))
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg_cut.10", "map", "recip_rank", "recall.100"}
    )
    for seed in range(20):
        _, run = made(seed)
        wanted = theirs.evaluate(run)
        scores = evaluator.score(run).per_query()
        assert scores.keys() == wanted.keys()
        for query, values in scores.items():
            assert values == {ours: wanted[query][name] for ours, name in NAMES.items()}


@pytest.mark.parametrize("form", ["dict", "file", "frame", "arrow", "columns", "rows"])
def test_a_run_of_any_form_has_the_values_of_evaluate(form: str, tmp_path: Path) -> None:
    qrels, run = made(1)
    write_qrels(tmp_path / "h.qrels", qrels)
    write_run(tmp_path / "a.trec", run, "a")
    forms: dict[str, Any] = {
        "dict": run,
        "file": tmp_path / "a.trec",
        "frame": frame(run, "score"),
        "arrow": pyarrow.Table.from_pandas(frame(run, "score")),
        "columns": labeler.read_run(tmp_path / "a.trec"),
        "rows": iter(frame(run, "score").itertuples(index=False, name=None)),
    }
    wanted = labeler.evaluate(qrels, run, list(NAMES)).runs[0].scores
    for held in (qrels, tmp_path / "h.qrels", frame(qrels, "relevance")):
        evaluator = labeler.Evaluator(held, list(NAMES))
        scores = evaluator.score(forms[form])
        assert scores.queries == wanted.queries == evaluator.queries
        assert np.array_equal(scores.values, wanted.values)
        if form == "rows":
            break  # they can be read once


def test_qrels_are_checked_once_and_a_run_each_time() -> None:
    with pytest.raises(BadInput, match="expected an integer grade"):
        labeler.Evaluator({"q": {"d": 0.5}}, "RR")
    with pytest.raises(Misuse, match="nDGC"):
        labeler.Evaluator({"q": {"d": 1}}, "nDGC@10")
    evaluator = labeler.Evaluator({"q": {"d": 1}, "r": {"d": 0}}, "RR")
    (finding,) = evaluator.findings
    assert finding.text.startswith("1 of 2 queries without a relevant document; counted as 0")
    with pytest.raises(BadInput, match="share no query"):
        evaluator.score({"x": {"d": 1.0}})
    with pytest.raises(BadInput, match="the run step: q d: expected a finite number as score"):
        evaluator.score({"q": {"d": float("nan")}}, "step")
    assert evaluator.score({"q": {"d": 1.0}}).means() == {"RR": 0.5}
    only = labeler.Evaluator({"q": {"d": 1}, "r": {"d": 0}}, "RR", unanswerable="skip")
    assert only.score({"q": {"d": 1.0}}).means() == {"RR": 1.0}
    assert repr(only) == "<Evaluator of RR by the qrels; 2 queries>"
