"""Standard streams that are closed, full, unread or know few letters: one line at most is said, and
the exit code is that of the work.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from examples import tiers

from labeler.cli import execute, process

HUMAN = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d2 0\n"
LLM = "q1 0 d1 1\nq1 0 d2 1\nq2 0 d1 0\nq2 0 d2 1\n"
RUN = "q1 Q0 d1 1 2 a\nq1 Q0 d2 2 1 a\nq2 Q0 d1 1 1 a\n"
COMMANDS = (
    "--help",
    "judge --help",
    "--version",
    "agree h.qrels l…é😀.qrels",
    "evaluate h.qrels a.trec b.trec",
    "evaluate h.qrels a.trec --format json",
    "evaluate h.qrels a.trec --format csv",
    "trec-eval h.qrels a.trec",
    "lab leaderboard h.qrels l…é😀.qrels a.trec b.trec",
    "qrels stats h.qrels l…é😀.qrels",
    "runs stats a.trec",
    "runs fuse a.trec b.trec -o -",
    "prompts show",
    "prompts show four-grades",
)
CLOSED = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-", "all": "<&- >&- 2>&-"}
TO_STDERR = ("agree nothing…é😀.qrels h.qrels", "evaluate h.qrels gone…é😀.trec")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "h.qrels").write_text(HUMAN)
    queries = range(20)  # as of few a gate cannot tell
    (folder / "many.qrels").write_text("".join(f"q{n} 0 d1 {n % 2}\n" for n in queries))
    (folder / "many.trec").write_text("".join(f"q{n} Q0 d1 1 1 a\n" for n in queries))
    (folder / "l…é😀.qrels").write_text(LLM)
    for name in ("a", "b"):
        (folder / f"{name}.trec").write_text(RUN)
    return folder


def shell(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A shell's script in which `labeler` is this one."""
    python = shlex.join([sys.executable, "-m", "labeler"])
    return subprocess.run(
        ["bash", "-c", f'labeler() {{ {python} "$@"; }}; {script}'],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )


CONDITIONS = [*CLOSED.values(), ">/dev/full", "2>/dev/full", "| true"]
TRIED_BELOW = {">&-", ">/dev/full", CLOSED["all"]}


def tracebacks(folder: Path, commands: Sequence[str], conditions: Sequence[str]) -> list[str]:
    """The commands that show a traceback with one of the streams spoiled."""
    scripts = {c: "; ".join(f"labeler {c} {how}" for how in conditions) for c in commands}
    return [c for c, script in scripts.items() if "Traceback" in shell(folder, script).stderr]


@pytest.mark.sweep
def test_no_stream_that_is_closed_full_or_unread_shows_a_traceback(folder: Path) -> None:
    others = [how for how in CONDITIONS if how not in TRIED_BELOW]
    assert tracebacks(folder, ["runs stats a.trec"], others) == []


@pytest.mark.slow
def test_no_spoiled_stream_shows_a_traceback_in_any_command(folder: Path) -> None:
    assert tracebacks(folder, COMMANDS, CONDITIONS) == []


@pytest.mark.parametrize("how", [">&-", ">/dev/full"])
def test_a_result_that_cannot_be_written_is_one_line_that_names_the_place(
    folder: Path, how: str
) -> None:
    done = shell(folder, f"labeler runs stats a.trec {how}")
    assert done.returncode == 74
    assert done.stderr.startswith("labeler: standard output: ")
    assert done.stderr.count("\n") == 1


def test_input_that_is_closed_is_one_line(folder: Path) -> None:
    done = shell(folder, "labeler runs stats - <&-")
    assert (done.returncode, done.stderr) == (74, "labeler: -: Bad file descriptor\n")


def test_a_file_never_gets_the_number_of_a_closed_stream(folder: Path) -> None:
    assert shell(folder, "labeler runs fuse a.trec b.trec -o f.trec <&- >&- 2>&-").returncode == 0
    assert (folder / "f.trec").read_text().startswith("q1 Q0 d1 1 ")


GATED = "labeler evaluate many.qrels many.trec --require P@1:{}"
LONG = "labeler trec-eval -q -m all_trec h.qrels a.trec"


def test_a_gate_s_exit_code_survives_a_reader_that_goes_away(folder: Path) -> None:
    codes = {least: f"{GATED.format(least)} | true; echo ${{PIPESTATUS[0]}}" for least in (1.1, 0)}
    assert {least: shell(folder, script).stdout for least, script in codes.items()} == {
        1.1: "5\n",
        0: "141\n",
    }


def test_what_is_unread_ends_quietly_as_if_by_sigpipe(folder: Path) -> None:
    done = shell(folder, f"{LONG} | true; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_work_goes_on_after_the_reader_of_its_words_went_away(folder: Path) -> None:
    script = "labeler runs fuse a.trec b.trec -o whole.trec 2>&1 | true; wc -l < whole.trec"
    assert shell(folder, script).stdout.strip() == "3"


@pytest.mark.parametrize("encoding", tiers(["ascii:strict", "cp1252"], "ascii:strict"))
def test_letters_that_a_stream_does_not_have_are_escaped(folder: Path, encoding: str) -> None:
    for command in ("prompts show", *TO_STDERR):
        assert code_in(encoding, folder, command) == (74 if command in TO_STDERR else 0)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_letters_that_a_stream_does_not_have_are_escaped_in_all(
    folder: Path, encoding: str
) -> None:
    for command in COMMANDS:
        assert code_in(encoding, folder, command) == 0, command


def code_in(encoding: str, folder: Path, command: str) -> int:
    """The exit code of a command whose streams have an encoding, in which its words are valid."""
    done = subprocess.run(
        [sys.executable, "-m", "labeler", *shlex.split(command)],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=240,
        check=False,
    )
    name = encoding.partition(":")[0]
    shown = done.stdout.decode(name) + done.stderr.decode(name)
    assert "Traceback" not in shown, shown
    return done.returncode


def test_json_stays_exact_in_any_encoding(folder: Path) -> None:
    script = "labeler qrels stats h.qrels l*.qrels --format json"
    stats = [
        json.loads(shell(folder, script, PYTHONIOENCODING=name).stdout)
        for name in ("utf-8", "ascii")
    ]
    assert stats[0] == stats[1]
    assert "l…é😀" in json.dumps(stats[0], ensure_ascii=False)


def test_a_traceback_is_followed_by_a_line_that_calls_it_a_bug_and_holds_no_secret(
    capsys: pytest.CaptureFixture[str],
) -> None:
    key = "sk-canary-7d1f0a"
    try:
        raise KeyError(f"Bearer {key}\x1b[2J")
    except KeyError as error:
        code = process.report_bug(
            error, {"OPENAI_API_KEY": key, "EMPTY_TOKEN": "", "LANG": "KeyError"}
        )
    shown = capsys.readouterr().err
    assert code == 1
    assert "Traceback (most recent call last)" in shown
    assert shown.splitlines()[-1].startswith("labeler: this is a bug of labeler ")
    assert "Bearer [OPENAI_API_KEY]" in shown.splitlines()[-1]
    assert key not in shown
    assert "\x1b" not in shown


def test_a_broken_installation_and_full_memory_are_no_bugs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert process.report_bug(ImportError("no module named 'numpy'", name="numpy")) == 78
    assert process.report_bug(MemoryError()) == 1
    shown = capsys.readouterr().err
    assert shown.count("\n") == 2
    assert "bug" not in shown


def test_an_unexpected_exception_of_a_command_is_reported_as_a_bug(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute([3, "--help"]) == 1  # type: ignore[list-item]  # what no shell can do
    assert "this is a bug of labeler" in capsys.readouterr().err.splitlines()[-1]
