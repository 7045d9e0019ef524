"""What an assessor does to systems' scores, who is kin to it, and whether that favors them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from labeler.arrays import Floats
from labeler.cli import execute
from labeler.data import Qrels, Run
from labeler.evaluation.inputs import Kin, kin_of
from labeler.evaluation.leaderboard import leaderboard_of
from labeler.evaluation.two_sided import two_qrels
from labeler.metrics import parse
from labeler.stats.regression import components, trend
from labeler.trec.write import write_qrels, write_run


@pytest.mark.parametrize("points", [3, 8, 60])
def test_the_line_and_its_prediction_interval_are_the_textbooks(points: int) -> None:
    rng = np.random.default_rng(points)
    x = rng.random(points)
    y = 1 - 0.4 * x + rng.normal(0, 0.1, points)
    found = trend(x, y)
    assert found is not None
    fit = stats.linregress(x, y)
    assert (found.slope, found.at(0.0)) == pytest.approx((fit.slope, fit.intercept))
    left = y - fit.slope * x - fit.intercept
    error = np.sqrt((left**2).sum() / (points - 2))
    spread = ((x - x.mean()) ** 2).sum()
    half = stats.t.ppf(0.975, points - 2) * error
    expected = half * np.sqrt(1 + 1 / points + (0.9 - x.mean()) ** 2 / spread)
    assert found.reach(0.9) == pytest.approx(expected)


def test_there_is_no_line_through_two_points_or_through_systems_alike() -> None:
    assert trend(np.array([0.1, 0.2]), np.array([0.1, 0.2])) is None
    assert trend(np.zeros(0), np.zeros(0)) is None
    assert trend(np.full(9, 0.3), np.arange(9.0)) is None
    assert components(np.ones((5, 9)), np.ones((5, 9))) is None
    assert components(np.ones((2, 9)), np.ones((2, 9))) is None


def world(
    seed: int, systems: int, slope: float = 0.5, own: float = 0.02
) -> tuple[Floats, Floats, Floats]:
    """Scores by people and by a judge that compresses, over 40 queries; the true worths."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(0, 0.08, (systems, 1))
    people = rng.random(40) + worth + rng.normal(0, 0.15, (systems, 40))
    judged = rng.random(40) + slope * worth + rng.normal(0, own, (systems, 1))
    return people, judged + rng.normal(0, 0.1, (systems, 40)), worth[:, 0]


def test_the_slope_is_of_true_scores_and_noise_of_people_is_no_compression() -> None:
    slopes, plain, owns = [], [], []
    for seed in range(30):
        people, judged, _ = world(seed, 40)
        found = components(people, judged)
        line = trend(people.mean(axis=1), judged.mean(axis=1))
        assert found is not None
        assert line is not None
        assert found.low < found.slope < found.high
        slopes.append(found.slope)
        plain.append(line.slope)
        owns.append(found.own)
    assert np.mean(slopes) == pytest.approx(0.5, abs=0.02)
    assert np.mean(plain) < np.mean(slopes) - 0.02
    assert np.mean(owns) == pytest.approx(0.02, abs=0.005)


def test_unrelated_systems_are_seldom_called_favoured_and_a_planted_favour_often() -> None:
    favoured = np.zeros(2)
    for seed in range(300):
        people, judged, _ = world(seed, 12)
        for place, planted in enumerate((0.0, 0.12)):
            x, bias = people.mean(axis=1), (judged - people).mean(axis=1)
            bias[0] += planted
            line = trend(x[1:], bias[1:])
            assert line is not None
            favoured[place] += bias[0] - line.at(float(x[0])) > line.reach(float(x[0]))
    unrelated, kin = favoured / 300
    assert unrelated <= 0.05
    assert kin > 0.8


def many_runs(favour: bool) -> tuple[Qrels, Qrels, dict[str, Run]]:
    """Ten systems of unequal worth; the assessor grades two of them up, where it favors these."""
    rng = np.random.default_rng(2)
    people: Qrels = {
        f"q{q:02}": {f"d{d:02}": int(rng.integers(0, 3)) for d in range(30)} for q in range(40)
    }
    runs: dict[str, Run] = {}
    for number in range(10):
        name = {0: "rank_zephyr", 1: "codestral-rerank"}.get(number, f"run{number}")
        runs[name] = {
            q: {d: g + float(rng.normal(0, 0.6 + 0.2 * number)) for d, g in row.items()}
            for q, row in people.items()
        }
    raised = {
        q: {
            d
            for name in ("rank_zephyr", "codestral-rerank")
            for d in sorted(runs[name][q], key=runs[name][q].__getitem__)[-6:]
        }
        for q in people
    }
    assessor = {
        q: {
            d: 3 if favour and d in raised[q] else max(g, int(rng.random() < 0.3))
            for d, g in row.items()
        }
        for q, row in people.items()
    }
    return people, assessor, runs


@pytest.mark.parametrize("favour", [True, False])
def test_kin_are_held_against_the_systems_that_are_no_kin(favour: bool) -> None:
    people, assessor, runs = many_runs(favour)
    kin = kin_of(list(runs), {}, {"assessor": "mistral-large", "query writer": "gpt-4o"})
    assert [system.run for system in kin] == ["rank_zephyr", "codestral-rerank"]
    board = leaderboard_of(two_qrels(people, assessor), runs, parse("nDCG@10"), kin=kin)
    assert board is not None
    bias = board.bias
    others = [i for i, system in enumerate(board.systems) if i > 1]
    x, y = board.scores[0].mean(axis=1), (board.scores[1] - board.scores[0]).mean(axis=1)
    line = trend(x[others], y[others])
    assert line == bias.line
    assert len(bias.favors) == 2
    for found in bias.favors:
        assert found.others == 8
        verdict = "favoured" if favour else "no favour shown"
        assert found.verdict == verdict
        assert str(found).endswith(verdict)
        assert "and the assessor mistral-large are both Mistral" in str(found)


def test_a_system_akin_to_two_models_by_two_families_has_one_sentence() -> None:
    kin = kin_of(
        ["bm25-gpt-hybrid", "x"],
        {"x": "claude"},
        {"assessor": "similarity", "query writer": "gpt-4o"},
    )
    assert kin == [
        Kin(
            "bm25-gpt-hybrid",
            ("BM25", "GPT"),
            (("assessor", "similarity"), ("query writer", "gpt-4o")),
        )
    ]
    expected = "the assessor similarity and the query writer gpt-4o are all BM25 and GPT"
    assert str(kin[0]) == f"bm25-gpt-hybrid and {expected}"


def test_a_gain_is_a_gain_where_lower_scores_are_better() -> None:
    people, assessor, runs = many_runs(favour=True)
    kin = kin_of(list(runs), {}, {"assessor": "mistral-7b"})
    board = leaderboard_of(two_qrels(people, assessor), runs, parse("MeanRank"), kin=kin)
    assert board is not None
    assert all((found.residual or 0) > 0 for found in board.bias.favors)


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    """A collection whose card alone says that `llm` is of the embedded judge."""
    people, assessor, runs = many_runs(favour=True)
    folder = tmp_path / "coll"
    for name, qrels in (("human", people), ("llm", assessor)):
        write_qrels(folder / f"qrels/{name}.qrels", qrels)
    for name, run in runs.items():
        write_run(folder / f"runs/{name}.trec", run, "bm25" if name == "run2" else "t")
    model = "similarity [0.3*terms; 0.38, 0.69, 0.8] wordllama-0.4"
    card = {"judge": {"llm": {"model": model, "served": ["similarity"]}}}
    (folder / "card.json").write_text(json.dumps(card))
    return folder


NOT_FOR_DECISIONS = "such grades are for trying the tool, not for decisions"


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "{coll}", "--qrels", "llm"],
        ["evaluate", "{coll}/qrels/llm.qrels", "{coll}/runs"],
        ["lab", "leaderboard", "{coll}", "human", "llm"],
        ["lab", "leaderboard", "{coll}/qrels/human.qrels", "{coll}/qrels/llm.qrels", "{coll}/runs"],
        ["power", "{coll}", "llm"],
        ["agree", "{coll}", "human", "llm"],
        ["agree", "{coll}/qrels/human.qrels", "{coll}/qrels/llm.qrels"],
        ["correct", "{coll}/qrels/human.qrels", "{coll}/qrels/llm.qrels", "{coll}/runs"],
    ],
)
def test_what_embedded_grades_are_worth_stands_beside_every_figure_once(
    coll: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert execute([word.format(coll=coll) for word in command]) == 0
    said = capsys.readouterr().err
    assert said.count(NOT_FOR_DECISIONS) == 1


def test_a_file_named_from_within_its_folder_is_known_too(
    coll: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(coll / "qrels")
    assert execute(["evaluate", "llm.qrels", "../runs"]) == 0
    said = capsys.readouterr().err
    assert NOT_FOR_DECISIONS in said
    assert "circular: run2 and the assessor similarity are both BM25" in said
    assert execute(["evaluate", "human.qrels", "../runs"]) == 0
    assert "circular" not in capsys.readouterr().err


def test_kin_of_a_model_are_named_where_its_grades_score_them(
    coll: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(coll / "qrels/llm.qrels", tmp_path / "mistral-large.qrels")
    human = str(coll / "qrels/human.qrels")
    qrels, runs = str(tmp_path / "mistral-large.qrels"), str(coll / "runs")
    assert execute(["evaluate", qrels, runs]) == 0
    said = capsys.readouterr().err
    both = "codestral-rerank (Mistral) and rank_zephyr (Mistral) are kin to the assessor"
    assert f"circular: {both} mistral-large; whether that favors them" in said
    assert execute(["lab", "leaderboard", human, qrels, runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["run"]: row["verdict"] for row in found["circular"]} == {
        "rank_zephyr": "favoured",
        "codestral-rerank": "favoured",
    }
    assert found["judge_bias"]["line"]["points"] == 8
    assert len(found["judge_bias"]["residuals"]) == 10
    assert sum("circular: rank_zephyr" in line for line in found["warnings"]) == 1
    assert execute(["evaluate", human, runs]) == 0
    assert "circular" not in capsys.readouterr().err


def test_the_judges_bias_is_said_in_a_sentence(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    files = [str(folder / name) for name in ("nist.qrels", "llama-3.1-8b.qrels", "runs")]
    assert execute(["lab", "leaderboard", *files]) == 0
    said = capsys.readouterr().out
    assert "Where two systems differ by 0.100 by nist's grades, they differ by 0.082 by" in said
