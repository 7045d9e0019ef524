"""`monitor`: runs of the watch, their history, their document, and how the command ends."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from made_controls import START, add_control, judged, weekly

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.errors import Misuse
from labeler.judging.validate import validate
from labeler.monitoring.log_values import LogOptions
from labeler.monitoring.monitor import (
    KINDS,
    Monitoring,
    MonitorOptions,
    log_files,
    monitor,
)
from labeler.testing import small_collection

OF_WHEN = LogOptions({"time": "when"})


def watched(collection: Collection, week: int = 0) -> Monitoring:
    return monitor(collection, now=lambda: START + timedelta(weeks=week))


def run(collection: Collection, *more: str) -> int:
    return execute(["monitor", str(collection.folder), *more])


def test_a_quiet_run_ends_with_0_and_says_what_it_looked_at(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    collection = weekly(judged(), [0] * 5)
    assert run(collection) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "not looked at: corpus, queries; fine: judge llm"
    assert "looked at: 5 controls of llm, 2026-06-08 to 2026-07-06" in out
    assert "corpus: no --documents are named" in err
    assert run(collection, "-o", str(tmp_path / "watch.html")) == 0
    assert capsys.readouterr().out == out
    assert run(collection, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_two_controls_are_too_little_data_and_not_fine(tmp_path: Path) -> None:
    watch = watched(weekly(judged(), [0, 0.9]))
    assert watch.headline == "too little data: judge llm; not looked at: corpus, queries"
    assert not watch.alarms
    assert "too little data: judge llm; not looked at" in watch.markdown()
    assert [(row["watch"], row["says"]) for row in watch.as_json()["board"]] == [
        ("judge llm", "too little data"),
        ("corpus", "not looked at"),
        ("queries", "not looked at"),
    ]


def test_an_alarm_is_one_line_each_and_ends_with_5_unless_another_was_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    collection = weekly(judged(), [*[0] * 5, 0.7, 0.7])
    page = tmp_path / "watch.html"
    assert run(collection, "--quiet", "-o", str(page)) == 5
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 2)
    assert err.splitlines()[0].startswith("warning: llm: the assessor has drifted by")
    assert err.splitlines()[1] == f"labeler: {collection.folder}: judge-drift"
    assert "1 alarm: judge-drift; not looked at: corpus, queries<" in page.read_text()
    assert "<h1>Watch over" in page.read_text()
    assert page.read_text().count("<table>") == 2  # what each watch says, and the controls
    assert run(collection, "--require", "stale-judgements") == 0
    assert run(collection, "--require", "judge-drift", "--json") == 5
    shown = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))
    assert [alarm["kind"] for alarm in shown["alarms"]] == ["judge-drift"]
    assert run(collection, "--require", "judge-drfit") == 2
    assert "--require: no alarm 'judge-drfit'; known: judge-drift" in capsys.readouterr().err


def test_nothing_to_watch_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    collection = judged(queries=2)
    assert run(collection) == 2
    assert "nothing to watch" in (problem := capsys.readouterr().err)
    assert "name one of them, or control a set first" in problem


def test_every_alarm_is_of_a_kind_that_is_listed() -> None:
    collection = weekly(judged(), [0] * 5)
    add_control(collection, 6, lenient=0.8, failed=9, model="other")
    kinds = {alarm.about for alarm in watched(collection).alarms}
    assert kinds == {"judge-drift", "judge-failures", "model-name"}
    assert kinds <= KINDS.keys()


def test_sets_to_watch_may_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    collection = weekly(judged(), [0])
    assert run(collection, "--judgements", "llm") == 0
    assert run(collection, "--judgements", "other") == 2
    assert "has no judgements 'other'" in capsys.readouterr().err
    with pytest.raises(Misuse):
        monitor(judged(queries=2))


def test_a_log_whose_queries_change_proposes_what_the_set_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection, log = small_collection(tmp_path / "coll"), tmp_path / "a.log.csv"
    rows = ["when,session,query"]
    for week in range(6):
        for number in range(40):
            day = (START + timedelta(weeks=week, hours=4 * number)).isoformat()
            text = "fish eyes" if number % 2 else "cats asleep"
            text = "printer ink cartridge" if week == 5 and number % 4 else text
            rows.append(f"{day},s{week}-{number},{text} {number % 5}")
    rows += ["yesterday,s,cats"] * 20
    log.write_text("\n".join(rows) + "\n")
    proposal = tmp_path / "proposed.jsonl"
    asked = ("--log", str(tmp_path / "*.log.csv"), "--column", "time:when", "--quiet")
    assert run(collection, *asked, "--propose", str(proposal)) == 5
    warned = capsys.readouterr().err
    assert "users search for other things beside 5 weeks before: share of searches" in warned
    proposed = [json.loads(line) for line in proposal.read_text().splitlines()]
    assert "printer ink cartridge" in " ".join(query["text"] for query in proposed)
    with (collection.folder / "queries.jsonl").open("a") as queries:
        queries.write(proposal.read_text())
    assert not [each for each in validate(collection).problems if each.level == "error"]
    last = monitor(collection, logs=log, options=MonitorOptions(reading=OF_WHEN))
    assert set(last.kinds) <= KINDS.keys()
    weeks = last.as_json()["watches"]["queries"]["weeks"]
    assert [week["searches"] for week in weeks] == [40] * 6
    unread = "20 rows of 260 left out: a date that cannot be read"
    assert unread in " ".join(map(str, last.findings))
    assert unread in last.markdown()
    assert run(collection, "--log", str(log), "--column", "when") == 2
    assert "--column: expected PART:NAME" in capsys.readouterr().err


def test_queries_are_proposed_from_a_log_alone_and_never_over_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection, log = weekly(judged(tmp_path / "coll", queries=2), [0]), tmp_path / "log.csv"
    log.write_text("query,user\ncats,u1\n")
    to = str(tmp_path / "to.jsonl")
    assert run(collection, "--propose", to) == 2
    assert "--log: queries are proposed from a log" in capsys.readouterr().err
    assert run(collection, "--log", str(log), "--propose", to, "-o", to) == 2
    assert "--propose: " in capsys.readouterr().err
    assert run(collection, "--log", str(log), "--propose", str(log)) == 2
    assert run(collection, "--log", str(log), "--propose", to) == 0  # it has no dates
    assert "to.jsonl is not written: the log does not say" in capsys.readouterr().err
    assert not Path(to).exists()


def test_a_log_of_which_nothing_can_be_said_is_bad_input_where_nothing_else_is_watched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("query,user\ncats,u1\n")
    assert run(judged(queries=2), "--log", str(log)) == 65
    assert "nothing to watch: users' queries: the log has no search" in capsys.readouterr().err


def test_files_of_logs_may_be_named_by_a_pattern(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text("x")
    pattern = tmp_path / "*.csv"
    assert [path.name for path in log_files([pattern, tmp_path / "a.csv"])] == ["a.csv", "b.csv"]
    assert log_files([tmp_path / "[no]*.csv"]) == [tmp_path / "[no]*.csv"]
