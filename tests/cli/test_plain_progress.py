"""Progress where no terminal shows a bar."""

import pytest

from labeler.cli.screen import plain_progress


def test_a_line_every_tenth_says_how_long_the_rest_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seconds = 0.0
    advance = plain_progress("encoding", lambda: seconds)
    for done in range(100, 1001, 50):
        seconds = done / 5
        advance(done, 1000)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "encoding: 100/1000, 3:00 left"
    assert lines[-1] == "encoding: 1000/1000"
    assert len(lines) == 10


def test_a_slow_step_shows_a_line_each_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = 0.0
    advance = plain_progress("encoding", lambda: seconds)
    for done in range(1, 11):
        seconds = 40.0 * done
        advance(done, 1000)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "encoding: 10/1000, 11:00:00 left"


def test_what_is_done_at_once_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    advance = plain_progress("encoding", lambda: 0.5)
    advance(5, 10)
    advance(10, 10)
    assert capsys.readouterr().err == ""
