"""A signal that arrives when the work is all but done, and what a killed process leaves."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from labeler.cli.process import Terminated, run_until_stopped
from labeler.files.atomic import replacing
from labeler.models.policies.call import StopSignal


@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_a_signal_during_the_last_calls_stops_what_would_follow(
    number: int, raised: type[BaseException]
) -> None:
    finished = []

    async def work(stop: StopSignal) -> None:
        os.kill(os.getpid(), number)
        await stop.sleep(10)
        finished.append(stop.is_set())

    with pytest.raises(raised):
        run_until_stopped(work)
    assert finished == [True]


@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_one_signal_ends_work_that_hangs_where_no_event_is_noticed(
    tmp_path: Path, number: int, raised: type[BaseException]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    threading.Timer(0.2, os.kill, (os.getpid(), number)).start()

    async def work(_stop: StopSignal) -> None:
        (tmp_path / "pipe").read_bytes()

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(raised):
        run_until_stopped(work, stuck_after=0.2)
    assert signal.getsignal(signal.SIGTERM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def heed_interrupts() -> None:
    """In a child: what runs in the background of a shell ignores Ctrl-C from the start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


KILL = "import os, signal; os.kill(os.getpid(), signal.{})"

MOMENTS = {
    "while modules are loaded": ("shlex.py", KILL + "; raise SystemExit(7)"),
    "after the work": ("sitecustomize.py", "import atexit\n@atexit.register\ndef _(): " + KILL),
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_before_or_after_the_work_ends_it_without_a_word(
    tmp_path: Path, moment: str, name: str
) -> None:
    file, code = MOMENTS[moment]
    (tmp_path / file).write_text(code.format(name) + "\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "labeler", "--version"],
        env={**os.environ, "PYTHONPATH": path},
        preexec_fn=heed_interrupts,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (-getattr(signal, name), "")


def test_a_signal_that_is_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    file, code = MOMENTS["while modules are loaded"]
    (tmp_path / file).write_text(code.format("SIGINT") + "\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = f"trap '' INT; exec {sys.executable} -m labeler --version"
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "PYTHONPATH": path}, timeout=60, check=False
    )
    assert done.returncode == 7


def test_work_that_nothing_stops_gives_its_result() -> None:
    async def work(_stop: StopSignal) -> int:
        return 3

    assert run_until_stopped(work) == 3


def test_a_partial_file_that_is_being_written_is_not_removed_however_old(tmp_path: Path) -> None:
    with replacing(tmp_path / "a.jsonl") as out:
        (partial,) = tmp_path.glob(".a.jsonl.*.part")
        os.utime(partial, (0, 0))
        with replacing(tmp_path / "a.jsonl") as other:
            other.write("the other's\n")
        out.write("whole\n")
    assert (tmp_path / "a.jsonl").read_text() == "whole\n"


def test_old_partial_files_of_the_same_target_are_removed(tmp_path: Path) -> None:
    names = (".a.jsonl.k3j_x9ab.part", ".a.jsonl.young000.part", ".b.jsonl.k3j_x9ab.part")
    others = (".a.jsonl.x.jsonl.k3j_x9ab.part", "a.jsonl.k3j_x9ab.part", ".a.jsonl.part")
    for name in (*names, *others):
        (tmp_path / name).write_text("half a r")
        if "young" not in name:
            os.utime(tmp_path / name, (time.time() - 3700,) * 2)
    with replacing(tmp_path / "a.jsonl") as out:
        out.write("whole\n")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"a.jsonl", *names[1:], *others}
    assert (tmp_path / "a.jsonl").read_text() == "whole\n"
