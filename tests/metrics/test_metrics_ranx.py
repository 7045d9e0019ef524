"""Measures equal ranx, where it has them.

ranx leaves the order of ties to chance and adds negative grades up, so it is given rankings that
are ordered already, and 0 for what is not judged. It runs uncompiled here; see conftest.
"""

import warnings
from typing import Any

import pytest
from examples import steadily
from hypothesis import given
from test_metrics_oracles import BIG, SOME_QRELS, SOME_RUN

from labeler.data import Qrels, Run
from labeler.metrics import evaluate
from labeler.trec.files import ranking

OFTEN = steadily(40)
IN_RANX = {
    "nDCG@10": "ndcg@10",
    "nDCG(dcg='exp-log2')@10": "ndcg_burges@10",
    "nDCG": "ndcg",
    "RR": "mrr",
    "RR@3": "mrr@3",
    "AP": "map",
    "AP@7": "map@7",
    "P@5": "precision@5",
    "P(rel=2)@5": "precision@5-l2",
    "R@5": "recall@5",
    "R@100": "recall@100",
    "F1@5": "f1@5",
    "Success@5": "hit_rate@5",
    "Rprec": "r-precision",
    "NumRelRet": "hits",
    "DCG@10": "dcg@10",
    "DCG(dcg='exp-log2')@10": "dcg_burges@10",
    "RBP(rel=1)": "rbp.80",
}
"""Not Bpref, which ranx defines otherwise; RBP of grades 0 and 1 alone, as it adds grades up."""


def check(qrels: Qrels, run: Run) -> None:
    known: Qrels = {q: {d: max(g, 0) for d, g in judged.items()} for q, judged in qrels.items()}
    ordered: Run = {
        q: {d: -float(place) for place, d in enumerate(ranking(run.get(q, {"x": 0.0})))}
        for q in known
    }
    binary = {q: {d: min(g, 1) for d, g in judged.items()} for q, judged in known.items()}
    others = [name for name in IN_RANX.values() if not name.startswith("rbp")]
    theirs = scored(known, ordered, others) | scored(binary, ordered, ["rbp.80"])
    ours = evaluate(qrels, run, list(IN_RANX)).per_query()
    for name, other in IN_RANX.items():
        for query, value in zip(sorted(known), theirs[other], strict=True):
            assert ours[query][name] == pytest.approx(value, abs=1e-9), (query, name)


def scored(qrels: Qrels, run: Run, names: list[str]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's and numpy's, inside ranx
        import ranx  # here, for it loads most of scientific Python

        found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names, return_mean=False)
    return dict(found) if len(names) > 1 else {names[0]: found}


@pytest.mark.sweep
@OFTEN
@given(SOME_QRELS, SOME_RUN)
def test_equal_to_ranx(qrels: Qrels, run: Run) -> None:
    check(qrels, run)


@pytest.mark.sweep
@pytest.mark.parametrize(("qrels", "run"), BIG)
def test_equal_to_ranx_on_long_rankings(qrels: Qrels, run: Run) -> None:
    check(qrels, run)
