"""The baseline to beat: cut points against all there are, and no pair graded by its own query."""

import json
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from made import make_collection

import labeler
from labeler.agreement.baseline import (
    GradedScores,
    cross_validated,
    fitted_cuts,
    fitted_grades,
    fitted_similarity,
    graded_by,
)
from labeler.agreement.statistics import find_statistic
from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.data import Pair, Qrels
from labeler.errors import Misuse
from labeler.testing import fake_model
from labeler.trec.write import write_qrels

SCALE = (0, 1, 2, 3)


def graded(pairs: int = 300, noise: float = 0.2, seed: int = 0, queries: int = 15) -> GradedScores:
    rng = np.random.default_rng(seed)
    scores = rng.random(pairs)
    edges = np.array([0.3, 0.6, 0.8])
    grades = np.searchsorted(edges, scores + rng.normal(0, noise, pairs)).astype(np.int64)
    return GradedScores(scores, grades, np.arange(pairs) % queries, np.ones(pairs))


def value(of: GradedScores, cuts: np.ndarray) -> float:
    table = np.zeros((4, 4))
    np.add.at(table, (of.grades, graded_by(of.scores, cuts)), of.weights)
    statistics = (find_statistic(name, SCALE) for name in ("kappa", "kappa-quadratic"))
    return sum(float(s.compute(table, np.arange(4.0))) for s in statistics)


@pytest.mark.parametrize("seed", range(3))
def test_fitted_cuts_are_as_good_as_the_best_of_all(seed: int) -> None:
    of = graded(20, 0.15, seed)
    edges = np.append(np.sort(of.scores), 2.0)
    best = max(value(of, np.array(cuts)) for cuts in combinations_with_replacement(edges, 3))
    assert value(of, fitted_cuts(of, SCALE)) >= best - 0.02


def test_cuts_are_those_that_were_put_in() -> None:
    of = graded(4000, 0.0)
    assert fitted_cuts(of, SCALE) == pytest.approx([0.3, 0.6, 0.8], abs=0.02)


def test_a_pair_of_weight_two_counts_as_two_pairs() -> None:
    of = graded(60, seed=4)
    doubled = of._replace(weights=np.where(np.arange(60) < 20, 2.0, 1.0))
    repeated = of.of(np.concatenate([np.arange(60), np.arange(20)]))
    assert fitted_cuts(doubled, SCALE) == pytest.approx(fitted_cuts(repeated, SCALE))


def test_no_query_is_graded_by_cuts_that_its_own_grades_moved() -> None:
    of = graded(300, queries=10)
    grades = cross_validated(of, SCALE)
    turned = of._replace(grades=np.where(of.query == 4, 3 - of.grades, of.grades))
    own = of.query == 4
    assert np.array_equal(cross_validated(turned, SCALE)[own], grades[own])


def test_scores_that_say_nothing_have_a_kappa_of_about_0() -> None:
    """Without cross-validation cut points of noise would agree with the noise."""
    kappas = []
    for seed in range(40):
        scores = np.random.default_rng(seed + 1000).random(200)
        of = graded(200, seed=seed, queries=10)._replace(scores=scores)
        table = np.zeros((4, 4))
        np.add.at(table, (of.grades, cross_validated(of, SCALE, seed)), 1)
        kappas.append(float(find_statistic("kappa", SCALE).compute(table, np.arange(4.0))))
    # a standard error of about .007
    assert np.mean(kappas) == pytest.approx(-0.01, abs=0.03)


def collection_with_people(folder: Path) -> tuple[Collection, Qrels]:
    """Queries of two words, and documents that hold both, one or none of them: grades 3, 1, 0."""
    collection = make_collection(folder, queries=12, documents=36)
    rows = [json.loads(line) for line in collection.corpus.read_text().splitlines()]
    words = [("red", "boats"), ("cold", "winters"), ("old", "songs"), ("fast", "trains")]
    queries = [{"_id": f"q{n}", "text": " ".join(words[n % 4])} for n in range(12)]
    for n, row in enumerate(rows):
        first, second = words[n % 4]
        row["title"] = ""
        row["text"] = [f"all about {first} {second}", f"{first} and green things", "nothing here"][
            n // 4 % 3
        ]
    for path, written in ((collection.corpus, rows), (collection.queries, queries)):
        path.write_text("".join(json.dumps(row) + "\n" for row in written))
    human: Qrels = {
        f"q{q}": {f"d{d}": (3, 1, 0)[d // 4 % 3] if d % 4 == q % 4 else 0 for d in range(36)}
        for q in range(12)
    }
    write_qrels(collection.qrels("human"), human)
    return collection, human


def test_an_assessor_that_does_not_beat_similar_words_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wordllama")
    collection, human = collection_with_people(tmp_path / "coll")
    labeler.judge(collection, model=fake_model('{"grade": 1}'), name="llm")
    report = labeler.agree(collection.folder, "human", "llm").assessors[0]
    assert report.baseline is not None
    assert report.baseline.verdict == "is beaten by it"
    assert report.baseline.statistics["kappa"].value > 0.9
    assert execute(["agree", str(collection.folder), "human", "llm"]) == 0
    assert "llm is beaten by it" in capsys.readouterr().out
    assert execute(["agree", str(collection.folder), "human", "llm", "--no-baseline"]) == 0
    assert "baseline" not in capsys.readouterr().out
    grades = fitted_similarity(collection, human, SCALE)
    agreed = labeler.agree(human, grades).assessors[0].agreement.statistics["kappa"]
    assert agreed == report.baseline.statistics["kappa"]


def test_of_several_assessors_it_stands_as_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wordllama")
    collection, human = collection_with_people(tmp_path / "coll")
    for name in ("first", "second"):
        write_qrels(collection.qrels(name), human)
    command = [
        "agree",
        str(collection.folder),
        "human",
        "first",
        "second",
        "-s",
        "kappa",
        "-s",
        "mae",
    ]
    assert execute(command) == 0
    out = capsys.readouterr().out
    assert "similarity, fitted" in out
    assert "does not beat" not in out or "first does not beat it by more than chance" in out


def test_without_texts_or_with_few_grades_it_is_said_why_there_is_none(tmp_path: Path) -> None:
    human = {"q1": {"d1": 2, "d2": 0}}
    with pytest.raises(Misuse, match="it takes the texts of a collection"):
        labeler.agree(human, human, options=labeler.AgreeOptions(baseline=True))
    collection = make_collection(tmp_path / "coll")
    for name in ("human", "llm"):
        write_qrels(collection.qrels(name), {"q0": {"d0": 1, "d1": 0}, "q1": {"d0": 0}})
    report = labeler.agree(collection.folder, "human", "llm").assessors[0]
    assert report.baseline is None
    assert any("cut points take human grades of 10 queries" in w for w in report.warnings)
    assert {w.level for w in report.warnings if "baseline" in w} == {"note"}


def test_grades_of_any_scores_can_be_fitted() -> None:
    human = {f"q{q}": {f"d{d}": d % 2 for d in range(10)} for q in range(4)}
    scores = {Pair(q, d): float(g) for q, row in human.items() for d, g in row.items()}
    assert fitted_grades(scores, human, (0, 1))[0] == human
