"""`lab control`: what is asked again, what is said of it, and that no grade changes."""

import asyncio
import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import grade_in, make_collection, pair_calls

from labeler.cli import execute
from labeler.cli.lab import check_steady
from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.controls import ControlRun, PairAgain, PromptAndModel, next_control
from labeler.collection.layout import Collection, locked
from labeler.data import Failure, Judged, Judgement, Pair
from labeler.errors import BadInput, GateFailed, GateUndecided, Misuse
from labeler.judging.judge import judge
from labeler.judging.status import status
from labeler.lab.control import DriftCheck, adrift, drift
from labeler.testing import Call, FakeServer, fake_model, small_collection


def control(folder: Path, server: FakeServer, *more: str) -> int:
    command = ["lab", "control"] if "--pairs" in more else ["judge"]
    words = [*command, str(folder), "--model", "fake", "--base-url", server.base_url]
    return execute([*words, "--as", "a", *more])


def steady(folder: Path, server: FakeServer, days: int = 4, pairs: str = "20") -> None:
    """A control of each of some days."""
    collection = Collection(folder)
    for day in range(days):
        control(folder, server, "--pairs", pairs)
        made = card_section(read_card(collection), "control")
        stem = f"a.{next_control(collection) - 1}"
        time = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)).isoformat()
        with locked(collection):
            update_card_entry(collection, "control", stem, {**made[stem], "time": time})


def harsh(call: Call) -> str:
    """The grade less one, where it can be less."""
    grade = json.loads(grade_in(call))["grade"]
    return json.dumps({"grade": max(0, grade - 1)})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("LABELER_MODEL", raising=False)


def test_a_stable_assessor_is_not_called_drifted_once_five_sessions_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        asked = len(pair_calls(server))
        capsys.readouterr()
        assert control(tmp_path, server, "--pairs", "12") == 6
        assert len(pair_calls(server)) == asked + 12
        out, err = capsys.readouterr()
        assert "a: too little data (12 of 12 pairs compared)" in out
        assert "next: 4 more sessions, a control each" in out
        assert "a: too little data; nothing is shown either way" in err
        steady(tmp_path, server, pairs="12")
        capsys.readouterr()
        assert control(tmp_path, server, "--pairs", "12") == 0
    out, _ = capsys.readouterr()
    assert "a: no drift shown (12 of 12 pairs compared)" in out
    assert "beside 5 sessions before: mean of the new grades +0.00, limit 0.26" in out
    assert "new grades that equal the old" in out
    assert (collection.controls / "a.1.jsonl").exists()


def test_controls_of_one_day_are_one_session(tmp_path: Path) -> None:
    make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        assert [control(tmp_path, server, "--pairs", "8") for _ in range(6)] == [6] * 6


def test_grades_stay_as_they_are_whatever_a_control_finds(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        before = collection.judgements("a").read_bytes(), collection.qrels("a").read_bytes()
        steady(tmp_path, server)
        server.answer = harsh
        assert control(tmp_path, server, "--pairs", "20") == 5
        assert control(tmp_path, server) == 0
    assert (collection.judgements("a").read_bytes(), collection.qrels("a").read_bytes()) == before
    lines = (collection.controls / "a.5.jsonl").read_text().splitlines()
    rows = list(map(json.loads, lines))
    assert len(rows) == 20
    assert all(row["new"] == max(0, row["old"] - 1) for row in rows)


def test_an_assessor_that_grades_lower_is_called_drifted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        steady(tmp_path, server)
        server.answer = harsh
        capsys.readouterr()
        assert control(tmp_path, server, "--pairs", "20", "--json") == 5
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["verdict"] == "drifted"
    assert found["shift"]["high"] < 0
    mean = found["departures"][0]
    assert (found["sessions"], mean["figure"]) == (5, "mean of the new grades")
    assert abs(mean["size"]) > mean["limit"]
    assert "a: drifted; judge new pairs under another name" in err


def test_each_control_asks_anew_and_a_stopped_one_too(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        start = len(pair_calls(server))
        assert control(tmp_path, server, "--pairs", "10", "--max-calls", "7") == 4
        assert not collection.controls.exists()
        assert control(tmp_path, server, "--pairs", "10") == 6
        assert len(pair_calls(server)) == start + 17
        assert control(tmp_path, server, "--pairs", "10") == 6
        assert len(pair_calls(server)) == start + 27
    assert sorted(path.name for path in collection.controls.iterdir()) == [
        "a.2.jsonl",
        "a.3.jsonl",
    ]


def test_a_dry_run_of_a_control_asks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        asked = len(server.calls)
        capsys.readouterr()
        assert control(tmp_path, server, "--pairs", "10", "--dry-run") == 0
        assert len(server.calls) == asked
    assert "calls       10" in capsys.readouterr().out
    assert not collection.controls.exists()
    assert next_control(collection) == 1


def test_another_prompt_or_model_is_named() -> None:
    collection = small_collection()
    judge(collection, model=fake_model('{"grade": 2}'), name="first")
    said = drift(collection, "first", model=fake_model('{"grade": 2}', "other")).sentences
    assert any("the model is not the same: fake when judged, other now" in line for line in said)
    check = drift(collection, prompt="basic", model=fake_model('{"reason": "no", "grade": 1}'))
    assert any("the prompt is not the same: four-grades@" in line for line in check.sentences)


def test_a_control_without_a_grade_decides_nothing_and_does_not_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        server.answer = lambda _call: "no idea"
        assert control(tmp_path, server, "--pairs", "4") == 5
    out, err = capsys.readouterr()
    assert "a: too many replies without a grade; controls/a.1.jsonl says which" in err
    assert "0 pairs alone compare" in out


def test_what_cannot_be_controlled_is_refused() -> None:
    collection = small_collection()
    with pytest.raises(Misuse, match="which judgements are to be controlled"):
        drift(collection)
    judge(collection, model=fake_model("no grade"), name="none")
    with pytest.raises(BadInput, match="no two pairs with a grade"):
        drift(collection, "none", model=fake_model("no grade"))
    with pytest.raises(Misuse, match="expected 2 to"):
        drift(collection, "none", pairs=1, model=fake_model("x"))


def replies(usual: Any, rng: np.random.Generator, noise: float) -> Any:
    step = rng.choice([-1, 1], size=usual.shape)
    return np.clip(np.where(rng.random(usual.shape) < noise, usual + step, usual), 0, 3)


def check_of(sessions: Any) -> DriftCheck:
    """A control of pairs whose grades stand in columns, a day each; the old ones come first."""
    made, start = PromptAndModel("p", "m"), datetime(2026, 1, 1, tzinfo=UTC)
    old, *columns = np.asarray(sessions, int).T.tolist()
    runs = [
        ControlRun(
            day,
            start + timedelta(days=day),
            made,
            made,
            tuple(
                PairAgain(Pair("q", str(n)), *both)
                for n, both in enumerate(zip(old, new, strict=True))
            ),
        )
        for day, new in enumerate(columns)
    ]
    return DriftCheck("a", runs[-1], earlier=runs[:-1])


@pytest.mark.parametrize("lean", [0, 0.08])
def test_a_stable_assessor_is_rarely_called_drifted_whichever_way_its_sessions_lean(
    lean: float,
) -> None:
    rng, drifted = np.random.default_rng(0), 0
    for _ in range(200):
        usual = rng.integers(0, 4, 60)
        columns = []
        for _ in range(9):
            leans = rng.normal() * lean
            step = np.sign(leans) * (rng.random(60) < abs(leans))
            columns.append(np.clip(replies(usual, rng, 0.2) + step, 0, 3))
        drifted += check_of(np.column_stack(columns)).has_drifted
    assert drifted <= 3  # .4 expected at most; four have a chance of .001


def test_moves_that_cancel_out_are_seen_as_a_distance() -> None:
    old = np.array([0, 1, 2, 3] * 6)
    check = check_of(np.column_stack([*[old] * 6, old[::-1]]))
    assert check.verdict == "drifted"
    assert [each.figure for each in check.drift.alarms] == ["distance of the new grades"]


def test_old_grades_that_no_session_since_gives_again_are_a_drift_too() -> None:
    rng = np.random.default_rng(3)
    new = rng.integers(1, 4, 60)
    check = check_of(np.column_stack([new - 1, *(replies(new, rng, 0.05) for _ in range(7))]))
    assert "mean of the old grades since" in {each.figure for each in check.drift.alarms}
    assert "old grades since -0.9" in " ".join(check.sentences)


def test_a_sure_but_tiny_shift_is_no_drift() -> None:
    old = np.zeros(1000)
    check = check_of(np.column_stack([*[old] * 6, old + (np.arange(1000) < 30)]))
    assert check.verdict == "no drift shown"
    assert check.drift.departures[0][1:] == (0.03, 0.05)


@pytest.mark.parametrize("sessions", [2, 3, 5])
def test_beside_too_few_sessions_even_a_large_shift_is_neither_drift_nor_fine(
    sessions: int,
) -> None:
    old = np.zeros(50)
    check = check_of(np.column_stack([*[old] * (sessions - 1), old + 3]))
    assert (check.verdict, check.drift.missing) == ("too little data", 6 - sessions)
    with pytest.raises(GateUndecided, match="on other days"):
        check_steady(check)


def test_later_controls_ask_about_the_same_pairs(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    judge(collection, model=fake_model('{"grade": 2}'), name="a")
    checks = [
        drift(
            collection,
            "a",
            model=fake_model('{"grade": 2}'),
            pairs=pairs,
            now=lambda day=day: datetime(2026, 1, day, tzinfo=UTC),
        )
        for day, pairs in ((1, 8), (2, 12))
    ]
    first, second = ({pair.pair for pair in check.run.pairs} for check in checks)
    assert first < second
    assert [check.sessions.shape for check in checks] == [(8, 2), (12, 3)]
    assert np.isnan(checks[1].sessions).sum() == 4


def test_a_check_of_nothing_has_no_figures() -> None:
    check = regraded((1, None))
    assert check.compared == 0
    assert check.as_json()["same"] == {"value": None, "low": None, "high": None}


def test_sets_by_one_assessor_never_share_the_replies_of_a_control() -> None:
    collection, mild = small_collection(), fake_model('{"grade": 2}')
    judge(collection, model=mild, name="a")
    judge(collection, model=mild, name="b")
    assert drift(collection, "a", model=mild).verdict == "too little data"
    check = drift(collection, "b", model=fake_model('{"grade": 0}'))
    assert check.run.number == 2
    assert check.remembered == 0
    assert all(row["new"] == 0 for row in check.run.rows())


def test_a_control_asks_anew_after_the_files_of_earlier_ones_were_removed() -> None:
    collection, mild = small_collection(), fake_model('{"grade": 2}')
    judge(collection, model=mild, name="a")
    drift(collection, "a", model=mild)
    shutil.rmtree(collection.controls)
    check = drift(collection, "a", model=fake_model('{"grade": 0}'))
    assert check.run.number == 2
    assert all(row["new"] == 0 for row in check.run.rows())


def test_replies_of_before_decide_nothing() -> None:
    collection, mild = small_collection(), fake_model('{"grade": 2}')
    judge(collection, model=mild, name="a")
    drift(collection, "a", model=mild)
    shutil.rmtree(collection.controls)
    collection.card.unlink()
    check = drift(collection, "a", model=fake_model('{"grade": 0}'))
    assert check.verdict == "too little data"
    assert check.remembered == len(check.run.pairs) == 4
    assert "4 pairs left out: a reply was stored before this control began" in check.sentences
    assert not list(check.run.rows())
    assert "0 pairs alone compare: nothing is shown either way" in check.sentences


def test_only_the_pairs_that_were_asked_about_anew_are_compared() -> None:
    old, new = regraded((2, 2), repeats=6).run, regraded((2, 0), repeats=6).run
    stored = tuple(pair._replace(remembered=True) for pair in old.pairs)
    check = DriftCheck("a", replace(new, pairs=(*stored, *new.pairs)))
    assert (check.compared, check.remembered, check.failed) == (6, 6, 0)
    assert check.same.value == 0


def test_two_controls_at_once_keep_a_file_each() -> None:
    collection, mild = small_collection(), fake_model('{"grade": 2}')
    judge(collection, model=mild, name="a")

    async def both() -> list[DriftCheck]:
        return await asyncio.gather(*(adrift(collection, "a", model=mild) for _ in range(2)))

    checks = asyncio.run(both())
    assert sorted(check.run.number for check in checks) == [1, 2]
    assert all(check.compared == 4 for check in checks)
    names = sorted(path.name for path in collection.controls.iterdir())
    assert names == ["a.1.jsonl", "a.2.jsonl"]
    assert next_control(collection) == 3


def test_a_pair_whose_text_was_edited_is_passed_over() -> None:
    collection, mild = small_collection(), fake_model('{"grade": 2}')
    judge(collection, model=mild, name="a")
    rows = list(map(json.loads, collection.queries.read_text().splitlines()))
    rows[0]["text"] += " and more"
    collection.queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    check = drift(collection, "a", model=mild)
    assert check.changed > 0
    assert check.changed + len(check.run.pairs) == 4
    assert all(row["query_id"] != rows[0]["_id"] for row in check.run.rows())
    assert any("passed over" in line for line in check.sentences)


def regraded(*rows: tuple[int | None, ...], repeats: int = 1) -> DriftCheck:
    pairs = []
    for number, (old, new) in enumerate(rows * repeats):
        pair = Pair("q", str(number))
        outcome = Failure(pair, "refused", "no") if new is None else Judgement(pair, new)
        pairs.append(PairAgain.of(Judgement(pair, old or 0), Judged(outcome)))
    made = PromptAndModel("p", "m")
    return DriftCheck("a", ControlRun(1, datetime.now(UTC), made, made, tuple(pairs)))


@pytest.mark.parametrize("failed", [2, 3, 18, 19, 20])
def test_an_assessor_that_stopped_grading_does_not_pass(failed: int) -> None:
    check = regraded(*[(2, 2)] * (20 - failed), *[(2, None)] * failed)
    first, *rest = check.sentences
    assert check.fails_often == (failed > 2)
    assert f"({20 - failed} of 20 pairs compared" in first
    assert "nan" not in " ".join([first, *rest, json.dumps(check.as_json(), allow_nan=False)])
    assert any(f"{failed} of 20 new replies" in line for line in rest)
    if failed > 2:
        with pytest.raises(GateFailed, match="too many replies without a grade"):
            check_steady(check)


def test_grades_that_are_all_as_before_leave_open_how_many_others_are_not() -> None:
    same = regraded(*[(1, 1)] * 19, (1, None)).same
    assert same.value == 1.0
    assert same.low is not None
    assert 0.5 < same.low < 0.9


def test_the_prompt_that_was_named_is_the_one_of_the_control(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path)
    with FakeServer(lambda _call: '{"reason": "no", "grade": 1}') as server:
        assert control(tmp_path, server, "--prompt", "basic") == 0
        capsys.readouterr()
        control(tmp_path, server, "--pairs", "4", "--prompt", "four-grades")
        assert "the prompt is not the same: basic@" in capsys.readouterr().out
        control(tmp_path, server, "--pairs", "4")
        assert "the prompt is not the same" not in capsys.readouterr().out


def test_a_control_has_nothing_to_retry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        assert control(tmp_path, server, "--pairs", "4", "--retry-failed") == 2
    assert "--retry-failed: a control asks about every pair anew" in capsys.readouterr().err


def test_the_status_of_a_set_tells_its_controls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        steady(tmp_path, server)
        control(tmp_path, server, "--pairs", "20", "--max-calls", "7")
        server.answer = harsh
        control(tmp_path, server, "--pairs", "20")
    verdicts = ("too little data",) * 4 + ("drifted",)
    assert [judged.controls for judged in status(collection)] == [verdicts]
    capsys.readouterr()
    assert execute(["status", str(tmp_path)]) == 0
    assert "a: 5 controls, the last: drifted" in capsys.readouterr().out


def test_a_dry_run_makes_no_control(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=3, documents=20)
    with FakeServer(grade_in) as server:
        control(tmp_path, server)
        assert control(tmp_path, server, "--pairs", "10", "--dry-run") == 0
        assert not collection.controls.exists()
