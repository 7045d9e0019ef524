"""Measures equal pytrec_eval and ir_measures on random qrels and runs, where these have them.

pytrec_eval wraps trec_eval 9. Where trec_eval 10 differs, 10 wins: it reads scores as doubles (9 as
floats, so that near scores tie), and rounds the number of relevant documents at a recall level to
the nearest (9 adds .9 and cuts), which changes IPrec and 11pt_avg.
"""

import math
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.data import Qrels, Run
from labeler.evaluation.trec_eval.measures import Line
from labeler.evaluation.trec_eval.program import lines
from labeler.metrics import evaluate, rankings
from labeler.trec.files import ranking, read_qrels, read_run


def answered(qrels: Qrels, run: Run) -> Qrels:
    """The queries that the run has."""
    return {query_id: row for query_id, row in qrels.items() if query_id in run}


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of other people's code at import
    import ir_measures

OFTEN = steadily(60)
DOCUMENTS = [f"d{number}" for number in range(30)]
GRADES = st.sampled_from([-1, 0, 0, 1, 1, 2, 3])
SCORES = st.sampled_from([number / 8 for number in range(-8, 24)])
QUERIES = ["q1", "q2", "q3", "q10"]
SOME_QRELS = st.dictionaries(
    st.sampled_from(QUERIES),
    st.dictionaries(st.sampled_from(DOCUMENTS), GRADES, min_size=1, max_size=20).map(
        lambda grades: grades | {min(grades): 3}
    ),
    min_size=1,
)
"""Every query has a document of grade 3: trec_eval 9 reads beyond its table of levels (and may
crash) where a query has no relevant one; the test after these says what happens here."""
SOME_RUN = st.dictionaries(
    st.sampled_from([*QUERIES, "q99"]),
    st.dictionaries(st.sampled_from(DOCUMENTS), SCORES, min_size=1, max_size=30),
    min_size=1,
)


def big(seed: int, depth: int, judged: int) -> tuple[Qrels, Run]:
    """Qrels and a run of up to `depth` documents, with ties, holes and negative grades."""
    rng = np.random.default_rng(seed)
    qrels: Qrels = {}
    run: Run = {}
    for query in map(str, range(5)):
        ids = [f"doc{number}" for number in rng.permutation(3 * depth + 10)]
        retrieved, known = ids[:depth], rng.choice(ids, min(judged, len(ids)), replace=False)
        scores = np.round(rng.normal(size=len(retrieved)), int(rng.integers(1, 4)))
        run[query] = dict(zip(retrieved, scores.tolist(), strict=True))
        grades = rng.choice([-1, 0, 0, 0, 1, 2, 3], size=len(known))
        qrels[query] = dict(zip(known.tolist(), grades.tolist(), strict=True))
    return qrels, {query: scores for query, scores in run.items() if scores}


BIG = [big(seed, depth, 200) for seed, depth in enumerate((0, 1, 7, 100, 999, 1000))]
BIG = [(qrels, run) for qrels, run in BIG if run]


def assert_equal(ours: dict[str, dict[str, float]], theirs: Any, names: dict[str, str]) -> None:
    for query, values in theirs.items():
        for ours_name, name in names.items():
            assert ours[query][ours_name] == pytest.approx(values[name], abs=1e-9), (query, name)


IN_PYTREC_EVAL = {
    "nDCG": "ndcg",
    "nDCG@5": "ndcg_cut_5",
    "nDCG@100": "ndcg_cut_100",
    "AP": "map",
    "AP@10": "map_cut_10",
    "RR": "recip_rank",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    "infAP": "infAP",
    "P@5": "P_5",
    "P@1000": "P_1000",
    "R@10": "recall_10",
    "R@1000": "recall_1000",
    "Success@1": "success_1",
    "Success@10": "success_10",
    "IPrec@0.0": "iprec_at_recall_0.00",
    "IPrec@1.0": "iprec_at_recall_1.00",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "NumRet": "num_ret",
    "NumRel": "num_rel",
    "NumRelRet": "num_rel_ret",
}
SAME_IN_TREC_EVAL_9 = [
    *("G", "P", "Rndcg", "Rprec", "Rprec_mult", "binG", "bpref", "infAP", "map", "map_cut"),
    *("ndcg", "ndcg_cut", "ndcg_rel", "num_nonrel_judged_ret", "num_rel", "num_rel_ret"),
    *("num_ret", "recall", "recip_rank", "relative_P", "set_F", "set_P", "set_map"),
    *("set_recall", "set_relative_P", "success", "utility"),
]


def check_against_pytrec_eval(qrels: Qrels, run: Run, level: int = 1) -> None:
    oracle = pytrec_eval.RelevanceEvaluator(
        qrels, pytrec_eval.supported_measures, relevance_level=level
    )
    theirs = oracle.evaluate(run)
    if level == 1:
        ours = evaluate(answered(qrels, run), run, list(IN_PYTREC_EVAL)).per_query()
        assert ours.keys() == theirs.keys()
        assert_equal(ours, theirs, IN_PYTREC_EVAL)
    ranked = rankings(answered(qrels, run), run)
    for line in lines(SAME_IN_TREC_EVAL_9):
        assert isinstance(line, Line)
        for query, value in zip(ranked.queries, line.values(ranked, level), strict=True):
            wanted = theirs[query][line.name]
            undefined = wanted != wanted or math.isinf(wanted)  # noqa: PLR0124 - nan: 9 divides by 0
            assert undefined or value == pytest.approx(wanted, abs=1e-9), (query, line.name)


@OFTEN
@given(SOME_QRELS, SOME_RUN, st.sampled_from([1, 2]))
def test_equal_to_pytrec_eval(qrels: Qrels, run: Run, level: int) -> None:
    check_against_pytrec_eval(qrels, run, level)


@pytest.mark.parametrize(("qrels", "run"), BIG)
def test_equal_to_pytrec_eval_on_long_rankings(qrels: Qrels, run: Run) -> None:
    check_against_pytrec_eval(qrels, run)


def bits(value: float) -> bytes:
    return np.float64(value).tobytes()


@pytest.mark.parametrize(("qrels", "run"), BIG)
def test_sums_of_many_terms_equal_pytrec_eval_to_the_last_bit(qrels: Qrels, run: Run) -> None:
    names = {ours: name for ours, name in IN_PYTREC_EVAL.items() if ours != "SetF"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures).evaluate(run)
    ours = evaluate(answered(qrels, run), run, list(names)).per_query()
    for query, values in theirs.items():
        for ours_name, name in names.items():
            assert bits(ours[query][ours_name]) == bits(values[name]), (query, name)


def test_real_systems_equal_pytrec_eval_to_the_last_bit(shared: Path) -> None:
    names = {ours: name for ours, name in IN_PYTREC_EVAL.items() if ours != "SetF"}
    qrels = read_qrels(shared / "dl19" / "nist.qrels").as_dict()
    oracle = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures)
    for path in sorted((shared / "dl19" / "runs").glob("*.gz"))[::4]:
        run = read_run(path).as_dict()
        theirs, ours = oracle.evaluate(run), evaluate(qrels, run, list(names)).per_query()
        for query, values in theirs.items():
            for ours_name, name in names.items():
                assert bits(ours[query][ours_name]) == bits(values[name]), (path, query, name)


def test_scores_that_only_differ_as_doubles_do_not_tie() -> None:
    qrels, run = {"q": {"a": 1, "z": 0}}, {"q": {"a": 1.0 + 1e-12, "z": 1.0}}
    assert pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)["q"] == {
        "recip_rank": 0.5
    }
    assert evaluate(qrels, run, ["RR"]).means() == {"RR": 1.0}


def test_a_recall_level_is_rounded_to_the_nearest_document() -> None:
    # Of 3 relevant documents recall .4 needs 1.2: trec_eval 9 asked for 2, 10 asks for 1.
    qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    run = {"q": {"a": 9.0, **{f"x{n}": 8.0 - n for n in range(3)}, "b": 1.0}}
    nine = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall"}).evaluate(run)["q"]
    assert nine["iprec_at_recall_0.40"] == pytest.approx(2 / 5)
    assert evaluate(qrels, run, ["IPrec@0.4"]).means() == {"IPrec@0.4": 1.0}


IN_IR_MEASURES = [
    *("nDCG", "nDCG@10", "AP", "AP@10", "AP(rel=2)", "RR", "RR(rel=2)", "P@10"),
    *(
        "IPrec@0.0",
        "IPrec@1.0",
        "NumRet",
        "P(rel=2)@5",
        "R@10",
        "Rprec",
        "Bpref",
        "infAP",
        "Success@5",
        "SetP",
        "SetR",
        "SetF",
    ),
    *("P(judged_only=True)@5", "nDCG(judged_only=True)", "AP(judged_only=True)"),
]
"""Not RR@k: ir_measures takes it from MS MARCO's script, which orders ties the other way round."""


@pytest.mark.parametrize("grade", [0, -1])
def test_a_query_without_a_relevant_document_scores_zero(grade: int) -> None:
    measures = [name for name in IN_PYTREC_EVAL if name != "NumRet"]
    scores = evaluate({"q": {"a": grade, "b": grade}}, {"q": {"a": 1.0, "x": 2.0}}, measures)
    assert set(scores.means().values()) == {0.0}
    ranked = rankings({"q": {"a": grade, "b": grade}}, {"q": {"a": 1.0, "x": 2.0}})
    for line in lines(["all_trec"]):
        if isinstance(line, Line) and line.name not in UNLIKE_ZERO:
            assert list(line.values(ranked, 1)) == [0.0], line.name


UNLIKE_ZERO = {
    *("num_ret", "utility", "num_nonrel_judged_ret", "relstring", "rbp_resid"),
    *("unj_5", "unj_10", "unj_20"),
}
"""They count what was retrieved or judged, relevant or not."""


@OFTEN
@given(SOME_QRELS, SOME_RUN)
def test_equal_to_ir_measures(qrels: Qrels, run: Run) -> None:
    check_against_ir_measures(qrels, run)


@pytest.mark.parametrize(("qrels", "run"), BIG)
def test_equal_to_ir_measures_on_long_rankings(qrels: Qrels, run: Run) -> None:
    check_against_ir_measures(qrels, run)


def measure_of(name: str) -> Any:
    """A measure of ir_measures: the names are Python, and its own parser needs an old one."""
    return eval(name, {}, vars(ir_measures))


def check_against_ir_measures(qrels: Qrels, run: Run) -> None:
    # Asked for beside judged-only measures, its NumRet counts judged documents on some hash seeds.
    parts = [[n for n in IN_IR_MEASURES if ("judged_only" in n) is only] for only in (False, True)]
    theirs = {
        (m.query_id, str(m.measure)): m.value
        for names in parts
        for m in ir_measures.iter_calc(map(measure_of, names), qrels, run)
    }
    ours = evaluate(qrels, run, IN_IR_MEASURES).per_query()
    for (query, name), value in theirs.items():
        assert ours[query][name] == pytest.approx(value, abs=1e-9), (query, name)


@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="ir_measures' parser uses ast.Num, which Python dropped"
)
@pytest.mark.filterwarnings("ignore:(ast[.]|Attribute):DeprecationWarning")  # before that
@pytest.mark.parametrize("name", IN_IR_MEASURES)
def test_ir_measures_reads_our_names(name: str) -> None:
    assert str(ir_measures.parse_measure(name)) == name
    assert ir_measures.parse_measure(name) == measure_of(name)


def untied_grades(seed: int) -> tuple[Qrels, Run]:
    """Grades from 0 to 4, which gdeval takes for the scale, and no ties."""
    rng = np.random.default_rng(seed)
    ids = [f"d{number}" for number in range(60)]
    run = {q: {d: float(n) for n, d in enumerate(rng.permutation(ids)[:40])} for q in ("1", "2")}
    qrels = {
        q: {str(d): int(rng.integers(0, 5)) for d in rng.permutation(ids)[:30]} for q in ("1", "2")
    }
    return qrels, {q: {str(d): s for d, s in scores.items()} for q, scores in run.items()}


@pytest.mark.parametrize("seed", range(3))
def test_exponential_gains_and_err_equal_gdeval(seed: int) -> None:
    if shutil.which("perl") is None:
        pytest.skip("ir_measures runs TREC's gdeval.pl, which needs perl")
    qrels, run = untied_grades(seed)
    names = ["nDCG(dcg='exp-log2')@20", "ERR@20", "nDCG(dcg='exp-log2')@5", "ERR@5"]
    measures = [measure_of(name) for name in names]
    ours = evaluate(qrels, run, names, max_grade=4).per_query()
    for metric in ir_measures.iter_calc(measures, qrels, run):
        found = ours[metric.query_id][str(metric.measure)]
        assert found == pytest.approx(metric.value, abs=6e-6)  # gdeval prints five digits


@pytest.mark.parametrize("seed", range(3))
def test_the_share_judged_equals_ir_measures(seed: int) -> None:
    qrels, run = untied_grades(seed)
    names = ["Judged@5", "Judged@100"]
    ours = evaluate(qrels, run, names).per_query()
    for metric in ir_measures.iter_calc(list(map(measure_of, names)), qrels, run):
        assert ours[metric.query_id][str(metric.measure)] == pytest.approx(metric.value)


def slow_q(qrels: dict[str, int], ranked: list[str]) -> float:
    """Sakai's definition, term by term."""
    ideal = sorted((g for g in qrels.values() if g > 0), reverse=True)
    total = gain = seen = 0.0
    for rank, doc in enumerate(ranked, start=1):
        if (grade := qrels.get(doc, 0)) > 0:
            seen, gain = seen + 1, gain + grade
            total += (seen + gain) / (rank + sum(ideal[:rank]))
    return total / len(ideal)


@OFTEN
@given(SOME_QRELS, SOME_RUN)
def test_q_measure_equals_its_definition(qrels: Qrels, run: Run) -> None:
    ours = evaluate(qrels, run, ["Q-measure"]).per_query()
    for query, judged in qrels.items():
        wanted = slow_q(judged, ranking(run.get(query, {})))
        assert ours[query]["Q-measure"] == pytest.approx(wanted)


def test_measures_come_as_names_or_as_those_of_ir_measures() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    expected = {"RR": 0.5, "P@1": 0.0}
    for measures in ("RR P@1", ["RR", "P@1"], [ir_measures.RR, ir_measures.P @ 1]):
        assert evaluate(qrels, run, measures).means() == expected
