"""Asking the same again: what is kept, the kappa and share it gives, and what `diff` says of it."""

import json
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from made import make_collection, pair_in

import labeler
from labeler.agreement.align import grade_matrix
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.retest import asked_again, retest, retest_of
from labeler.cli import execute
from labeler.collection.judgements import repeats_of
from labeler.collection.layout import Collection
from labeler.data import Pair
from labeler.errors import BadInput, Misuse
from labeler.model import Model, Reply, Request
from labeler.stats.drift import change
from labeler.testing import fake_model
from labeler.trec.pairs import PairColumns
from labeler.trec.write import write_qrels

QUICK = StatisticOptions(draws=200)


def noisy(seed: int, up: int = 0, noise: float = 0.2, name: str = "fake") -> Model:
    """An assessor with a usual grade for each pair, which it misses by one now and then."""
    rng = Random(seed)

    def answer(request: Request) -> str:
        pair = pair_in(request.messages[-1].content)
        grade = Random(str(pair)).choice([0, 0, 1, 2]) + up
        if rng.random() < noise:
            grade += rng.choice([-1, 1])
        return json.dumps({"reason": "so", "grade": min(3, max(0, grade))})

    return fake_model(answer, name)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    made = make_collection(tmp_path_factory.mktemp("c"), 15, 10)
    labeler.judge(made, model=noisy(1), name="old", repeat=3)
    return made


def test_every_time_is_a_request_of_its_own_and_the_first_gives_the_grades(
    tmp_path: Path,
) -> None:
    asked: list[int] = []

    def answer(request: Request) -> str:
        asked.append(request.repeat)
        return json.dumps({"grade": request.repeat})

    made = make_collection(tmp_path, 2, 3)
    result = labeler.judge(made, model=fake_model(answer), name="a", repeat=3)
    assert [asked.count(repeat) for repeat in range(3)] == [6, 6, 6]
    assert (result.judged, result.spent.calls) == (6, 18)
    assert {row.split()[-1] for row in made.qrels("a").read_text().splitlines()} == {"0"}
    of, failed = asked_again(made, "a")
    assert (of.numbers.tolist(), failed) == ([[0, 1, 2]] * 6, 0)
    again = labeler.judge(made, model=fake_model(answer), name="a", repeat=3)
    assert (len(asked), again.spent.calls) == (18, 0)


def test_what_another_assessor_was_asked_again_is_not_taken_for_this_one(tmp_path: Path) -> None:
    made = make_collection(tmp_path, 2, 3)
    labeler.judge(made, model=noisy(1), name="a", repeat=2)
    made.judgements("a").unlink()
    made.qrels("a").unlink()
    labeler.judge(made, model=noisy(1, name="other"), name="a")
    assert repeats_of(made, "a") == []
    with pytest.raises(BadInput, match="no pair of a was asked about more than once"):
        retest_of(made, "a")


def test_share_and_kappa_of_asking_twice_are_those_of_sklearn_over_both_orders() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = Random(2)
    asked = {
        Pair(f"q{q}", f"d{d}"): tuple(rng.choice([0, 1, 1, 3]) for _ in range(3))
        for q in range(9)
        for d in range(7)
    }
    grades = np.array(list(asked.values()))
    times = [dict(zip(asked, column, strict=True)) for column in grades.T.tolist()]
    named = {str(n): PairColumns.of_pairs(of, np.int64) for n, of in enumerate(times)}
    of = retest("a", grade_matrix(named, (0, 1, 3)), options=QUICK)
    pairs = [(grades[:, i], grades[:, j]) for i, j in combinations(range(3), 2)]
    first = np.concatenate([side for two in pairs for side in two])
    second = np.concatenate([side for two in pairs for side in two[::-1]])
    assert of.kappa.value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    assert of.moved.value == pytest.approx(np.mean(first != second), abs=1e-12)
    assert (of.times, of.pairs, of.queries) == (3, 63, 9)


def test_a_diff_holds_moves_against_what_asking_twice_gives(collection: Collection) -> None:
    labeler.relabel(collection, "old", prompt="basic", model=noisy(2), name="same")
    labeler.relabel(collection, "old", prompt="basic", model=noisy(3, up=1, name="h"), name="high")
    told = "whether the rest is a change is not known, as no day has a control of both."
    assert labeler.diff(collection, "old", "high").sentences[0].endswith(told)
    assert labeler.diff(collection, "old", "high").as_json()["retest"]["changed"] is None
    labeler.drift(collection, "old", model=noisy(4), pairs=150)
    labeler.drift(collection, "high", model=noisy(5, up=1, name="h"), pairs=150)
    labeler.drift(collection, "same", model=noisy(6), pairs=150)
    same, high = (labeler.diff(collection, "old", name) for name in ("same", "high"))
    of = retest_of(collection, "old")
    assert same.noise is not None
    assert same.noise.by_chance.value is not None
    assert same.noise.by_chance.value == pytest.approx(of.moved.value, abs=0.1)
    assert f"about {150 * same.noise.by_chance.value:,.0f} (" in same.sentences[0]
    assert high.noise is not None
    assert high.noise.is_change_shown
    assert "the rest is a change" in high.sentences[0]
    figures = high.as_json()["retest"]
    assert figures["a"]["kappa"]["value"] == of.kappa.value
    assert figures["b"]["times"] == 2
    assert figures["by_chance"]["value"] == high.noise.by_chance.value
    assert figures["changed"] is True
    assert "that the two differ by more is not shown (mean of the new grades" in same.sentences[0]


def test_of_pairs_picked_by_a_stray_grade_asking_again_moves_most(tmp_path: Path) -> None:
    """First grades are all stray, and all later ones agree: nothing has changed."""
    made = make_collection(tmp_path, 12, 10)
    steady = noisy(0, noise=0.0, name="steady")

    async def ask(request: Request) -> Reply:
        is_stray = request.repeat == 0 and Random(request.messages[-1].content).random() < 0.5
        return Reply('{"grade": 3}', model="fake") if is_stray else await steady.ask(request)

    labeler.judge(made, model=Model("fake", ask), name="old", repeat=3)
    labeler.judge(made, model=steady, name="truth")
    rows = [line.split() for line in made.qrels("truth").read_text().splitlines()]
    human: dict[str, dict[str, int]] = {}
    for query_id, _, doc_id, grade in rows:
        human.setdefault(query_id, {})[doc_id] = int(grade)
    write_qrels(made.qrels("human"), human)
    labeler.relabel(made, "old", model=steady, prompt="basic", name="new", only="disagreements")
    noise = labeler.diff(made, "old", "new").noise
    assert noise is not None
    assert noise.moved.value == noise.by_chance.value == 1.0
    assert not noise.is_change_shown
    assert not noise.change.departures
    labeler.drift(made, "old", model=Model("fake", ask), pairs=120)
    labeler.drift(made, "new", model=steady, pairs=120)
    noise = labeler.diff(made, "old", "new").noise
    assert noise is not None
    assert noise.change.departures
    assert not noise.is_change_shown


@pytest.mark.parametrize(
    ("alike", "repeats", "most"),
    [
        # binomial(6, .05): more than 2 have a probability of .002; of 20, more than 4 one of .003
        (1.0, 6, 2),
        pytest.param(1.0, 20, 4, marks=pytest.mark.sweep),
        pytest.param(0.0, 20, 4, marks=pytest.mark.sweep),
    ],
)
def test_a_prompt_that_changes_nothing_is_called_a_change_in_5_of_100_cases_at_most(
    tmp_path: Path, alike: float, repeats: int, most: int
) -> None:
    """Replies of one session are alike: of the judging and `repeat`, of the new prompt, and later.

    Each prompt has noise of its own in each session.
    """
    called = 0
    for seed in range(repeats):
        made = make_collection(tmp_path / str(seed), 8, 10)
        labeler.judge(made, model=session(seed, alike), name="old", repeat=3)
        labeler.judge(made, model=session(seed + 500, alike, "new"), name="new", repeat=2)
        labeler.drift(made, "old", model=session(seed + 1000, alike), pairs=80)
        labeler.drift(made, "new", model=session(seed + 1500, alike, "new"), pairs=80)
        noise = labeler.diff(made, "old", "new").noise
        assert noise is not None
        assert noise.change.departures
        called += noise.is_change_shown
    assert called <= most


def session(seed: int, alike: float, name: str = "fake") -> Model:
    """An assessor whose noise, of one pair in five, is the same in all or no replies to a pair."""

    def answer(request: Request) -> str:
        pair = pair_in(request.messages[-1].content)
        repeat = 0 if Random(f"{seed} {pair} {request.repeat}").random() < alike else request.repeat
        rng = Random(f"{seed} {pair} noise {repeat}")
        step = rng.choice([-1, 1]) if rng.random() < 0.2 else 0
        grade = Random(str(pair)).choice([0, 0, 1, 2]) + step
        return json.dumps({"grade": min(3, max(0, grade))})

    return fake_model(answer, name)


def test_changes_that_cancel_out_are_seen_beside_a_control_of_the_old_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_collection(tmp_path, 8, 10)
    labeler.judge(made, model=session(1, 0), name="old", repeat=2)

    def swapped(request: Request) -> str:
        pair = pair_in(request.messages[-1].content)
        grade = Random(str(pair)).choice([0, 0, 1, 2])
        return json.dumps({"reason": "so", "grade": {0: 1, 1: 0, 2: 1}[grade]})

    labeler.relabel(made, "old", prompt="basic", model=fake_model(swapped, "other"), name="new")
    noise = labeler.diff(made, "old", "new").noise
    assert noise is not None
    assert not noise.is_change_shown
    execute(["diff", str(made.folder), "old", "new"])
    shown = capsys.readouterr()
    assert "is not known, as no day has a control of both" in " ".join(shown.out.split())
    assert "--as new tell, on one day" in " ".join(shown.err.split())
    labeler.drift(made, "old", model=session(2, 0), pairs=80)
    labeler.drift(made, "new", model=fake_model(swapped, "other"), pairs=80)
    noise = labeler.diff(made, "old", "new").noise
    assert noise is not None
    assert [each.figure for each in noise.change.alarms] == ["distance of the new grades"]
    execute(["diff", str(made.folder), "old", "new"])
    assert "the rest is a change (distance" in " ".join(capsys.readouterr().out.split())


def test_changes_that_cancel_out_and_shifts_are_both_seen() -> None:
    rng = np.random.default_rng(1)
    usual = np.repeat([1.0, 2.0], 40)[:, None]
    grades = usual + (rng.random((80, 3)) < 0.1) * rng.choice([-1.0, 1.0], (80, 3))
    old, beside, new = grades[:, :1], grades[:, 1], grades[:, 2]
    mean, distance = change(new + 1, old, beside).departures
    assert (mean.is_alarm, distance.is_alarm) == (True, True)
    assert mean.size == pytest.approx(np.mean(new + 1 - beside))
    mean, distance = change(3 - new, old, beside).departures
    assert (mean.is_alarm, distance.is_alarm) == (False, True)
    assert not change(new, old, beside).alarms


def test_a_session_that_leans_is_no_change_of_the_prompt() -> None:
    """Both prompts are asked in a session that grades a quarter of the pairs higher."""
    rng = np.random.default_rng(2)
    usual = rng.integers(0, 3, 200).astype(float)

    def asked(lean: float) -> np.ndarray:
        return usual + (rng.random(200) < lean) - (rng.random(200) < 0.1)

    old, beside, new = asked(0.0), asked(0.25), asked(0.25)
    assert not change(new, old[:, None], beside).alarms
    assert change(new + (rng.random(200) < 0.2), old[:, None], beside).alarms


def test_the_command_asks_again_and_says_what_that_gave(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_collection(tmp_path, 3, 4)
    asked = ["lab", "repeat", str(made.folder), "--model", "similarity", "--as", "a"]
    asked += ["--times", "2"]
    assert execute([*asked, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 24
    assert execute(asked) == 0
    said = capsys.readouterr().out
    assert "a: 12 pairs asked about 2 times: 0% [0%, 56%] get another grade" in said
    assert execute([*asked[:-1], "11"]) == 2
    assert "expected 2 to 10" in capsys.readouterr().err
    with pytest.raises(Misuse, match="1 to 10 times"):
        labeler.judge(made, model=noisy(1), name="b", repeat=0)


def test_a_budget_that_ends_before_all_is_asked_again_loses_nothing(tmp_path: Path) -> None:
    made = make_collection(tmp_path, 2, 5)
    result = labeler.judge(
        made, model=noisy(1), name="a", repeat=2, limits=labeler.Limits(max_calls=14)
    )
    assert result.judged == 10
    assert result.stopped is not None
    assert repeats_of(made, "a") == []
    again = labeler.judge(made, model=noisy(1), name="a", repeat=2)
    assert again.spent.calls == 6
    assert asked_again(made, "a")[0].pairs.size == 10


def test_a_diff_without_the_floor_says_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_collection(tmp_path, 3, 5)
    labeler.judge(made, model=noisy(1), name="old")
    labeler.relabel(made, "old", model=noisy(2, name="other"), name="new")
    assert execute(["diff", str(made.folder), "old", "new"]) == 0
    assert "how many of these moves are chance? labeler lab control" in capsys.readouterr().err
    asked = ["relabel", str(made.folder), "--from", "old", "--model", "similarity", "--as", "s"]
    assert execute([*asked, "--only", "sample:6", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["diff"]["pairs"] == 6
    assert figures["diff"]["parents"]["b"]["only"] == "sample:6"
