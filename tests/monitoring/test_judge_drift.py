"""Judge drift: alarms of the controls, and which controls count."""

import json
import os

import numpy as np
import pytest
from examples import tiers
from made_controls import MADE_BY, add_control, judged, weekly

from labeler.errors import BadInput
from labeler.monitoring.judge import JudgeDrift, judge_drift
from labeler.stats.drift import drifts


def kinds(drift: JudgeDrift) -> list[str]:
    return [alarm.about for alarm in drift.alarms]


CALM = [0.0] * 5


def test_an_assessor_that_becomes_lenient_is_called_so_from_the_control_that_shows_it() -> None:
    drift = judge_drift(weekly(judged(), [*CALM, 0.6, 0.6, 0.6]), "llm")
    assert kinds(drift) == ["judge-drift"]
    (alarm,) = drift.alarms
    assert "llm: the assessor has drifted by the control of 2026-07-27" in str(alarm)
    assert "beside 6 sessions before: mean of the new grades +0.53" in str(alarm)
    verdicts = [each.verdict for each in drift.controls]
    assert verdicts == ["too little data"] * 4 + ["no drift shown"] + ["drifted"] * 3


def test_an_assessor_that_stays_as_it_is_raises_nothing() -> None:
    drift = judge_drift(weekly(judged(), CALM), "llm")
    assert (kinds(drift), drift.is_open) == ([], False)
    assert any("no drift shown by the control of 2026-07-06" in str(f) for f in drift.findings)
    assert len(drift.controls) == 5


def test_two_sessions_tell_neither_a_drift_nor_that_there_is_none() -> None:
    drift = judge_drift(weekly(judged(), [0, 0.9]), "llm")
    assert (kinds(drift), drift.is_open) == ([], True)
    assert "next: 3 more sessions, a control each" in str(drift.findings[0])


@pytest.mark.parametrize("world", tiers(["leaning", "weeks", "noise", "stable"], "weeks"))
def test_sessions_that_vary_rarely_raise_an_alarm(world: str) -> None:
    """Each session leans by chance, or has another noise; nothing lasting changes."""
    rng, alarms, years = np.random.default_rng(1), 0, 20
    for _ in range(years):
        usual, sessions, lean = rng.integers(0, 4, 100), [], 0.0
        for _ in range(27):
            noise = 0.2 * (rng.choice([0.3, 1, 1.7]) if world == "noise" else 1)
            step = rng.normal() * 0.08
            lean = {"leaning": step, "weeks": 0.8 * lean + 0.6 * step}.get(world, 0.0)
            grades = usual + (rng.random(100) < noise) * rng.choice([-1, 1], 100)
            grades = grades + np.sign(lean) * (rng.random(100) < abs(lean))
            sessions.append(np.clip(grades, 0, 3).astype(float))
        of = np.column_stack(sessions)
        alarms += any(each.alarms for each in drifts(of))
    assert alarms <= 4  # of 20 years 1 is expected at most


def test_a_drift_stays_an_alarm() -> None:
    rng = np.random.default_rng(2)
    usual = rng.integers(1, 3, (80, 1))
    sessions = usual + (rng.random((80, 30)) < 0.1).astype(float)
    sessions[:, 8:] += 0.6
    assert [bool(each.alarms) for each in drifts(sessions)] == [False] * 7 + [True] * 22


def test_sessions_that_did_not_ask_about_all_pairs_are_held_against_their_own() -> None:
    rng = np.random.default_rng(4)
    usual = np.repeat(np.arange(4), 20)[:, None]
    sessions = usual + (rng.random((80, 9)) < 0.1).astype(float)
    sessions[40:, 1:5] = np.nan
    assert not list(drifts(sessions))[-1].alarms
    sessions[:, -1] += 0.8
    assert list(drifts(sessions))[-1].alarms
    sessions[:, 1:5] = np.nan
    assert list(drifts(sessions))[-1].missing == 1


def test_another_name_of_the_model_is_an_alarm_with_its_date() -> None:
    collection = weekly(judged(), [0, 0])
    for week in (3, 4):
        add_control(collection, week, model="fake-2")
    (alarm,) = judge_drift(collection, "llm").alarms
    assert alarm.about == "model-name"
    said = "the server called its model fake when judged, fake-2 now, at the control of 2026-06-29"
    assert said in str(alarm)


def test_more_failures_than_a_tenth_are_an_alarm() -> None:
    collection = weekly(judged(), [0, 0])
    add_control(collection, 3, failed=8)
    assert kinds(judge_drift(collection, "llm")) == ["judge-failures"]
    add_control(collection, 4, failed=1)
    assert kinds(judge_drift(collection, "llm")) == []


def test_an_edited_prompt_is_an_alarm_and_another_assessor_is_left_out() -> None:
    collection = weekly(judged(), [0, 0])
    add_control(collection, 3, made={**MADE_BY, "prompt": "four-grades@2"})
    assert kinds(judge_drift(collection, "llm")) == ["prompt-edited"]
    add_control(collection, 4, lenient=1, made={**MADE_BY, "prompt": "basic@2"})
    add_control(collection, 5, lenient=1, made={**MADE_BY, "model": "other"})
    drift = judge_drift(collection, "llm")
    assert len(drift.controls) == 3
    said = "left out: 2 controls that asked another prompt or model"
    assert said in str(drift.findings[0])


def test_controls_of_before_the_pairs_were_judged_anew_do_not_count() -> None:
    collection = weekly(judged(), [0, 0, 0])
    assert len(judge_drift(collection, "llm").controls) == 3
    path = collection.judgements("llm")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, "grade": 3}) + "\n" for row in rows))
    add_control(collection, 4)
    drift = judge_drift(collection, "llm")
    assert (kinds(drift), len(drift.controls)) == ([], 1)
    assert "3 controls that were made when the pairs had other grades" in str(drift.findings[0])


def test_a_control_without_a_time_has_that_of_its_file() -> None:
    collection = weekly(judged(), [0])
    collection.card.unlink()
    os.utime(collection.controls / "llm.1.jsonl", (0, 0))
    assert judge_drift(collection, "llm").controls[0].time == "1970-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    "line",
    [
        '{"query_id": "q", "doc_id": "d", "old": 1}',
        '{"query_id": "q", "doc_id": "d", "old": 1, "new": 1.5}',
        '{"query_id": "q", "doc_id": "d", "old": 1, "new": [1]}',
        '{"query_id": "q", "doc_id": "d", "old": 1, "new": 99999999999999}',
        '{"query_id": "q", "doc_id": "d", "old": true, "new": 1}',
        '{"doc_id": "d", "old": 1, "new": 1}',
        "[]",
    ],
)
def test_a_damaged_control_is_one_line_that_names_it(line: str) -> None:
    collection = weekly(judged(queries=2), [0])
    path = collection.controls / "llm.1.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(BadInput, match=r"llm\.1\.jsonl:1: "):
        judge_drift(collection, "llm")


def test_the_figures_of_no_control_one_and_many() -> None:
    collection = judged()
    assert judge_drift(collection, "llm").as_json()["controls"] == []
    for weeks in (1, 4):
        weekly(collection, [0] * weeks)
        shown = judge_drift(collection, "llm").as_json()
        assert [control["control"] for control in shown["controls"]] == [*range(1, weeks + 1)]
        assert "NaN" not in json.dumps(shown, allow_nan=False)
