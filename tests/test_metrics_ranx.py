"""Measures equal ranx, where it has them. Apart from the rest: ranx compiles itself for minutes."""

import warnings

import numpy as np
import pytest

from labeler.data import Qrels, Run
from labeler.metrics import evaluate


def untied(seed: int, depth: int, top: int) -> tuple[Qrels, Run]:
    """No ties and no negative grades: ranx does not order the former and counts the latter."""
    rng = np.random.default_rng(seed)
    qrels: Qrels = {}
    run: Run = {}
    for query in map(str, range(5)):
        ids = [f"d{number}" for number in rng.permutation(2 * depth)]
        run[query] = {doc_id: -float(place) for place, doc_id in enumerate(ids[:depth])}
        known = rng.choice(ids, depth, replace=False).tolist()
        grades = rng.integers(0, top + 1, size=len(known)).tolist()
        qrels[query] = dict(zip(known, grades, strict=True))
    return qrels, run


IN_RANX = {
    "nDCG@10": "ndcg@10",
    "nDCG(dcg='exp-log2')@10": "ndcg_burges@10",
    "nDCG": "ndcg",
    "RR": "mrr",
    "RR@3": "mrr@3",
    "AP": "map",
    "P@5": "precision@5",
    "R@5": "recall@5",
    "F1@5": "f1@5",
    "Success@5": "hit_rate@5",
    "Rprec": "r-precision",
    "DCG@10": "dcg@10",
}


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "top"), [(8, 3), (100, 3), (1000, 1)])
def test_equal_to_ranx(depth: int, top: int) -> None:
    names = IN_RANX | ({"RBP(p=0.8)": "rbp.80"} if top == 1 else {})  # ranx adds up grades as such
    qrels, run = untied(depth, depth, top)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's and numpy's, inside ranx
        ranx = pytest.importorskip("ranx", reason="pip install --group bench")
        theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(names.values()))
    ours = evaluate(qrels, run, list(names)).means()
    found = dict(zip(names.values(), ours.values(), strict=True))
    assert found == pytest.approx({name: float(value) for name, value in theirs.items()}, abs=1e-9)
