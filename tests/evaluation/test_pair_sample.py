"""Scores corrected by people's grades of a random sample of pairs."""

import json
from pathlib import Path

import numpy as np
import pytest

import labeler
from labeler.cli import execute
from labeler.data import Pair, Qrels, Run
from labeler.metrics import evaluate
from labeler.people.sample import draw
from labeler.trec.write import write_qrels, write_run

QUERIES = [f"q{n:02}" for n in range(30)]
DOCS = [f"d{n:02}" for n in range(20)]


def judgements(seed: int = 0) -> tuple[Qrels, Qrels]:
    """People's grades of all pairs, and those of an assessor that is too generous."""
    rng = np.random.default_rng(seed)
    human = {q: {d: int(rng.integers(0, 4) * (rng.random() < 0.5)) for d in DOCS} for q in QUERIES}
    generous = {
        q: {d: min(g + int(rng.random() < 0.4), 3) for d, g in row.items()}
        for q, row in human.items()
    }
    return human, generous


def rankings(human: Qrels, noise: float, seed: int) -> Run:
    rng = np.random.default_rng(seed)
    return {q: {d: g + noise * rng.normal() for d, g in row.items()} for q, row in human.items()}


def collection(
    folder: Path, pairs: int | None, queries: int | None = None, skip: float = 0.0, seed: int = 3
) -> Path:
    """A collection whose people graded a sample of pairs, as `import-labels` leaves it."""
    human, generous = judgements()
    for part in ("qrels", "runs", "people"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    write_qrels(folder / "qrels/llm.qrels", generous)
    for name, noise in (("good", 0.5), ("poor", 3.0)):
        write_run(folder / f"runs/{name}.trec", rankings(human, noise, 7), name)
    strata = {Pair(q, d): g for q, row in generous.items() for d, g in row.items()}
    drawn = draw(strata, pairs, queries, seed)
    skipped = np.random.default_rng(0).random(len(drawn)) < skip
    graded: Qrels = {}
    lines = []
    for row, left_out in zip(drawn, skipped, strict=True):
        query, doc = row.pair
        grade = None if left_out else human[query][doc]
        about = {"assessor": "a", "time": "", "comment": "", "sample": ""}
        chance = {"grade": grade, "probability": row.probability}
        lines.append(json.dumps(row.pair._asdict() | chance | about))
        if grade is not None:
            graded.setdefault(query, {})[doc] = grade
    (folder / "people/human.jsonl").write_text("\n".join(lines) + "\n")
    write_qrels(folder / "qrels/human.qrels", graded)
    return folder


def truths(measure: str) -> dict[str, float]:
    human, _ = judgements()
    runs = {name: rankings(human, noise, 7) for name, noise in (("good", 0.5), ("poor", 3.0))}
    return {name: evaluate(human, run, [measure]).means()[measure] for name, run in runs.items()}


@pytest.mark.parametrize("measure", ["P@5", "P(rel=2)@10", "SetP", "CG@10", "DCG@10", "RBP"])
@pytest.mark.parametrize(("pairs", "queries"), [(200, None), (150, 15)])
def test_a_sample_of_pairs_corrects_what_adds_up_over_documents(
    tmp_path: Path, measure: str, pairs: int, queries: int | None
) -> None:
    found = labeler.correct(collection(tmp_path / "c", pairs, queries), None, None, measure)
    assert found.pairs == pairs
    assert f"people judged {pairs} pairs" in found.sentences[0]
    for row in found.scores:
        mean = row.means.corrected
        assert mean.low <= truths(measure)[row.run] <= mean.high
        assert 0 <= row.means.weight <= 1
    corrected, alone = (
        sum(getattr(row.means, side).width for row in found.scores)
        for side in ("corrected", "human")
    )
    assert corrected <= alone + 1e-9


def test_the_estimates_are_right_in_the_mean_over_samples(tmp_path: Path) -> None:
    true, values = truths("P@5"), {"good": [], "poor": []}
    for seed in range(40):
        folder = collection(tmp_path / str(seed), 120, 15, seed=seed)
        for row in labeler.correct(folder, None, None, "P@5").scores:
            values[row.run].append((row.means.human.value, row.means.corrected.value))
    for run, rows in values.items():
        means, errors = np.mean(rows, axis=0), np.std(rows, axis=0) / np.sqrt(len(rows))
        assert (np.abs(means - true[run]) < 3 * errors + 0.01).all()


def test_of_all_pairs_the_estimate_is_the_score(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c", 599)
    found = labeler.correct(folder, None, None, "P@5")
    for row in found.scores:
        assert row.means.human.value == pytest.approx(truths("P@5")[row.run], abs=0.01)


def test_a_sample_of_whole_queries_is_corrected_as_before(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c", None, 12)
    found = labeler.correct(folder, None, None, "nDCG@10")
    assert found.pairs is None
    assert found.scores[0].means.judged == 12


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR@10", "R@10", "Success@5"])
def test_a_measure_that_does_not_add_up_over_documents_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], measure: str
) -> None:
    folder = collection(tmp_path / "c", 200)
    assert execute(["correct", str(folder), "-m", measure]) == 2
    shown = capsys.readouterr().err
    assert f"--measure: {measure} is no sum over documents, and people graded single pairs" in shown
    assert "P, SetP, CG, DCG, RBP are" in shown


def test_single_pairs_do_not_tell_of_these_queries_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = collection(tmp_path / "c", 200)
    assert execute(["correct", str(folder), "-m", "P@5", "--target", "these"]) == 2
    assert "--target: people graded single pairs" in capsys.readouterr().err


def test_too_few_pairs_for_their_queries_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = collection(tmp_path / "c", 40)
    assert execute(["correct", str(folder), "-m", "P@5"]) == 65
    assert "40 pairs of 30 queries were drawn; correcting needs 2" in capsys.readouterr().err


def test_pairs_that_people_skipped_are_counted_and_taken_for_a_random_part(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c", 300, skip=0.2)
    found = labeler.correct(folder, None, None, "P@5")
    assert any("have no grade of people" in finding for finding in found.findings)
    for row in found.scores:
        assert row.means.human.value == pytest.approx(truths("P@5")[row.run], abs=0.15)
