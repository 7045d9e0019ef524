"""A measure in another tool's spelling gives that tool's number, or says why it is not taken."""

import sys
import warnings
from typing import Any

import pytest
import pytrec_eval
from every_row import every_row
from test_metrics_oracles import BIG
from test_metrics_ranx import scored

from labeler.data import Qrels, Run
from labeler.errors import Misuse
from labeler.metrics import MEASURES, evaluate, parse
from labeler.metrics.registry import REFUSED, SPELLINGS
from labeler.trec.files import ranking


def answered(qrels: Qrels, run: Run) -> Qrels:
    """The queries that the run has."""
    return {query_id: row for query_id, row in qrels.items() if query_id in run}


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of other people's code at import
    import ir_measures

SAME = ("map", "bpref", "recip_rank", "ndcg", "Rprec", "infAP", "set_P", "set_recall", "set_F")
COUNTS = ("num_ret", "num_rel", "num_rel_ret")
CUT = ("P_10", "recall_100", "success_5", "ndcg_cut_10", "map_cut_10")
TREC_EVAL = {name: name for name in (*SAME, *COUNTS, *CUT)} | {
    "P.10": "P_10",
    "recall.100": "recall_100",
    "ndcg_cut.10": "ndcg_cut_10",
    "NDCG@10": "ndcg_cut_10",  # BEIR's
    "MAP@100": "map_cut_100",
    "Recall@100": "recall_100",
    "ndcg_at_10": "ndcg_cut_10",  # MTEB's
    "map_at_100": "map_cut_100",
    "recall_at_100": "recall_100",
    "precision_at_5": "P_5",
}
OF_RANX = ("ndcg@10", "ndcg", "ndcg_burges@10", "dcg@10", "map", "map@7", "mrr", "mrr@10")
CUT_OF_RANX = ("recall@100", "precision@5", "f1@5", "hit_rate@5", "r-precision", "dcg_burges@10")
RANX = {name: name for name in (*OF_RANX, *CUT_OF_RANX)} | {
    "mrr_at_10": "mrr@10",  # MTEB's
    "MRR@10": "mrr@10",  # BEIR's
    "hit@5": "hit_rate@5",
    "Accuracy@5": "hit_rate@5",  # BEIR's
    "accuracy_at_5": "hit_rate@5",
    "mean_reciprocal_rank": "mrr",
}
IR_MEASURES = [
    "nDCG@10",
    "BPref",
    "NDCG@10",
    "MAP@10",
    "MRR@10",
    "Precision@5",
    "Recall@20",
    "RPrec",
]
QRELS, RUN = BIG[3]


def of_each_query(qrels: Qrels, run: Run, name: str) -> list[float]:
    per_query = evaluate(answered(qrels, run), run, [name]).per_query()
    return [next(iter(per_query[query].values())) for query in sorted(qrels)]


@every_row("name", TREC_EVAL)
def test_a_name_of_trec_eval_gives_its_number(name: str) -> None:
    theirs = pytrec_eval.RelevanceEvaluator(QRELS, pytrec_eval.supported_measures).evaluate(RUN)
    expected = [theirs[query][TREC_EVAL[name]] for query in sorted(QRELS)]
    assert of_each_query(QRELS, RUN, name) == pytest.approx(expected, abs=1e-9)


def test_the_geometric_mean_and_recall_levels_go_by_the_names_of_trec_eval() -> None:
    assert str(parse("gm_map")) == "GMAP"
    assert str(parse("iprec_at_recall_0.10")) == "IPrec@0.1"


@pytest.mark.sweep  # ranx loads most of scientific Python
def test_names_of_ranx_give_its_numbers() -> None:
    ordered: Run = {
        q: {d: -float(place) for place, d in enumerate(ranking(scores))}
        for q, scores in RUN.items()
    }
    judged: Qrels = {q: {d: max(g, 0) for d, g in row.items()} for q, row in QRELS.items()}
    theirs: dict[str, Any] = scored(judged, ordered, sorted(set(RANX.values())))
    for name, other in RANX.items():
        assert of_each_query(QRELS, RUN, name) == pytest.approx(theirs[other], abs=1e-9), name


@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="ir_measures' parser uses ast.Num, which Python dropped"
)
@pytest.mark.filterwarnings("ignore:(ast[.]|Attribute):DeprecationWarning")  # before that
@pytest.mark.parametrize("name", IR_MEASURES)
def test_names_of_ir_measures_give_its_numbers(name: str) -> None:
    theirs = ir_measures.iter_calc([ir_measures.parse_measure(name)], QRELS, RUN)
    values = {metric.query_id: metric.value for metric in theirs}
    expected = [values[query] for query in sorted(QRELS)]
    assert of_each_query(QRELS, RUN, name) == pytest.approx(expected, abs=1e-9)


@every_row("spelling", SPELLINGS)
def test_every_spelling_names_a_measure(spelling: str) -> None:
    bare = spelling.rstrip("@")
    needs = MEASURES[SPELLINGS[spelling].partition("(")[0].rstrip("@")].needs_cutoff
    cutoff = "10" if spelling.endswith("@") or needs else ""
    cutoff = "0.1" if cutoff and bare.startswith("iprec") else cutoff
    signs = ("@", "_", ".", "_at_") if cutoff else ("",)
    meant = {str(parse(word + sign + cutoff)) for word in (bare, bare.upper()) for sign in signs}
    assert len(meant) == 1
    assert meant.pop().startswith(SPELLINGS[spelling].rstrip("@").split(")")[0])


@every_row("name", MEASURES)
def test_every_measure_is_known_in_any_case(name: str) -> None:
    cutoff = "@0.5" if name == "IPrec" else "@10"
    text = name + (cutoff if MEASURES[name].needs_cutoff else "")
    assert str(parse(text.lower())) == str(parse(text.upper())) == text


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("hits@5", "P@5 is the count over 5, Success@5 the share of queries"),
        ("Accuracy", "Accuracy@10 is Success@10"),
        ("Hole@20", "ask for Judged@20"),
        ("R_cap@100", "ask for R@100 or Rprec"),
        ("rbp.95", "RBP(rel=1,p=0.95)"),
        ("ndcg_cut", "as ndcg_cut_10, which is nDCG@10 here"),
        ("map_cut", "as map_cut_10, which is AP@10 here"),
        ("11pt_avg", "the command trec-eval prints it"),
        ("Rndcg", "the command trec-eval prints it"),
        ("binG", "the command trec-eval prints it"),
    ],
)
def test_a_name_that_means_another_number_elsewhere_says_what_to_ask_for(
    name: str, instead: str
) -> None:
    with pytest.raises(Misuse) as refused:
        parse(name)
    assert instead in str(refused.value)


def test_no_refused_name_is_a_spelling_as_well() -> None:
    assert not REFUSED.keys() & SPELLINGS.keys()
