"""`judge --control`: what is asked again, what is said of it, and that no grade changes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import grade_in, make_collection, pair_calls

from labeler.cli import execute
from labeler.data import Failure, Judged, Judgement, Pair
from labeler.errors import BadInput, Misuse
from labeler.judging.drift import drift
from labeler.judging.drift_check import DriftCheck, Regraded
from labeler.judging.judge import judge
from labeler.stats.retest import retest
from labeler.testing import Call, FakeServer, fake_model, small_collection


def control(folder: Path, server: FakeServer, *more: str) -> int:
    words = ["judge", str(folder), "--model", "fake", "--base-url", server.base_url]
    return execute([*words, "--as", "a", *more])


def harsh(call: Call) -> str:
    """The grade less one, where it can be less."""
    grade = json.loads(grade_in(call))["grade"]
    return json.dumps({"grade": max(0, grade - 1)})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("LABELER_MODEL", raising=False)


def test_a_stable_assessor_is_not_called_drifted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        asked = len(pair_calls(server))
        capsys.readouterr()
        assert control(tmp_path, server, "--control", "12") == 0
        assert len(pair_calls(server)) == asked + 24
    out, err = capsys.readouterr()
    assert "a: no drift shown (12 pairs judged again, twice each; p 1)" in out
    assert "all grades are as before; at most" in err
    assert (collection.controls / "a.1.jsonl").exists()


def test_grades_stay_as_they_are_whatever_a_control_finds(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        before = collection.judgements("a").read_bytes(), collection.qrels("a").read_bytes()
        server.answer = harsh
        assert control(tmp_path, server, "--control", "20") == 5
        assert control(tmp_path, server) == 0
    assert (collection.judgements("a").read_bytes(), collection.qrels("a").read_bytes()) == before
    lines = (collection.controls / "a.1.jsonl").read_text().splitlines()
    rows = list(map(json.loads, lines))
    assert len(rows) == 20
    assert all(row["new"] == [max(0, row["old"] - 1)] * 2 for row in rows)


def test_an_assessor_that_grades_lower_is_called_drifted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        server.answer = harsh
        capsys.readouterr()
        assert control(tmp_path, server, "--control", "20", "--json") == 5
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["verdict"] == "drifted"
    assert found["shift"]["high"] < 0
    assert "a: drifted; judge new pairs under another name" in err


def test_each_control_asks_anew_and_a_stopped_one_goes_on(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        start = len(pair_calls(server))
        assert control(tmp_path, server, "--control", "10", "--max-calls", "7") == 4
        assert not collection.controls.exists()
        assert control(tmp_path, server, "--control", "10") == 0
        assert len(pair_calls(server)) == start + 20
        assert control(tmp_path, server, "--control", "10") == 0
        assert len(pair_calls(server)) == start + 40
    assert sorted(path.name for path in collection.controls.iterdir()) == [
        "a.1.jsonl",
        "a.2.jsonl",
    ]


def test_a_dry_run_of_a_control_asks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        asked = len(server.calls)
        capsys.readouterr()
        assert control(tmp_path, server, "--control", "10", "--dry-run") == 0
        assert len(server.calls) == asked
    assert "calls       20" in capsys.readouterr().out
    assert not collection.controls.exists()


def test_another_prompt_or_model_is_named() -> None:
    collection = small_collection()
    judge(collection, model=fake_model('{"grade": 2}'), name="first")
    said = list(drift(collection, "first", model=fake_model('{"grade": 2}', "other")).sentences())
    assert any("the model is not the same: fake then, other now" in line for line in said)
    check = drift(collection, prompt="basic", model=fake_model('{"reason": "no", "grade": 1}'))
    assert any("the prompt is not the same: umbrela@" in line for line in check.sentences())


def test_a_control_without_a_grade_decides_nothing_and_does_not_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        server.answer = lambda _call: "no idea"
        assert control(tmp_path, server, "--control", "4") == 5
    assert "undecided: no pair has a grade again" in capsys.readouterr().err


def test_what_cannot_be_controlled_is_refused() -> None:
    collection = small_collection()
    with pytest.raises(Misuse, match="which judgements are to be controlled"):
        drift(collection)
    judge(collection, model=fake_model("no grade"), name="none")
    with pytest.raises(BadInput, match="no two pairs with a grade"):
        drift(collection, "none", model=fake_model("no grade"))
    with pytest.raises(Misuse, match="two pairs at least"):
        drift(collection, "none", pairs=1, model=fake_model("x"))


def noisy(old: Any, rng: np.random.Generator, noise: float) -> Any:
    step = rng.choice([-1, 1], size=old.shape)
    return np.clip(np.where(rng.random(old.shape) < noise, old + step, old), 0, 3)


def test_an_assessor_whose_grades_wobble_is_rarely_called_drifted() -> None:
    rng = np.random.default_rng(0)
    drifted = 0
    for seed in range(200):
        truth = rng.integers(0, 4, 20)
        grades = [noisy(truth, rng, 0.2).astype(float) for _ in range(3)]
        drifted += retest(grades[0], np.column_stack(grades[1:]), seed, 500).either < 0.05
    assert drifted <= 17  # 5 of 100 and three standard errors


def test_changes_that_cancel_out_are_seen_where_new_grades_agree() -> None:
    old = np.array([0.0, 1, 2, 3] * 6)
    p = retest(old, np.column_stack([old[::-1]] * 2))
    assert p.shift > 0.5
    assert p.either < 0.001


def test_a_check_of_nothing_has_no_figures() -> None:
    old = Judged(Judgement(Pair("q", "d"), 1))
    none = Judged(Failure(Pair("q", "d"), "refused", "no"))
    check = DriftCheck.of("a", 1, (Regraded(old, (none, none)),), ("p", "m"), ("p", "m"))
    assert check.compared == 0
    assert check.as_json()["same"] == {"value": None, "low": None, "high": None}
