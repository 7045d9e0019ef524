"""A cache that others can write to tricks nobody: no link is followed."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from file_server import Files, serving

from labeler.cli import execute
from labeler.files.cache import exclusive
from labeler.files.paths import make_private
from labeler.models.embedded import ModelFile, fetch_model
from labeler.wire.download import Remote, download

BODY, OTHER = b"right" * 100, b"wrong" * 100
SUM = hashlib.sha256(BODY).hexdigest()
MODEL = ModelFile("m.gguf", len(BODY), SUM, "MIT", "someone/m", "0" * 40, ("part",), "0.9.0")


def test_folders_that_are_made_are_this_user_s_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")}
    assert modes == {0o700}


PLANTED = (".copying", ".copying.verified", ".joining", ".part", ".verified")


@pytest.mark.parametrize("kind", ["symlink", "hard link", "dangling link", "named pipe"])
def test_what_is_planted_under_a_temporary_name_is_never_written_through(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "cache" / "models"
    folder.mkdir(parents=True)
    victim.write_bytes(b"precious")
    for ending in PLANTED:
        planted = folder / f"m.gguf{ending}"
        if kind == "named pipe":
            os.mkfifo(planted)
        elif kind == "hard link":
            planted.hardlink_to(victim)
        else:
            planted.symlink_to(victim if kind == "symlink" else tmp_path / "made")
    source = tmp_path / "mirror" / "someone" / "m" / ("0" * 40) / "m.gguf"
    source.parent.mkdir(parents=True)
    source.write_bytes(BODY)
    monkeypatch.setenv("LABELER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LABELER_MIRROR", str(tmp_path / "mirror"))
    path = fetch_model(model=MODEL)
    assert path.read_bytes() == BODY
    assert not path.is_symlink()
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("planted", [BODY, BODY[:100], b""])
def test_a_download_goes_on_with_no_file_that_is_a_link(tmp_path: Path, planted: bytes) -> None:
    elsewhere, to = tmp_path / "elsewhere", tmp_path / "a.bin"
    elsewhere.write_bytes(planted)
    to.with_name("a.bin.part").symlink_to(elsewhere)
    files = Files({"/a.bin": BODY})
    with serving(files):
        download(Remote(f"{files.address}/a.bin", len(BODY), SUM), to)
    assert files.ranges == [None]
    assert not to.is_symlink()
    assert to.read_bytes() == BODY
    assert elsewhere.read_bytes() == planted


def test_a_lock_is_no_link_and_waits_for_no_named_pipe(tmp_path: Path) -> None:
    lock = tmp_path / "m.gguf.lock"
    lock.symlink_to(tmp_path / "made")
    with pytest.raises(OSError, match="symbolic link"), exclusive(tmp_path / "m.gguf"):
        pass
    assert not (tmp_path / "made").exists()
    lock.unlink()
    os.mkfifo(lock)
    notes: list[str] = []
    with exclusive(tmp_path / "m.gguf", notes.append):
        assert not notes


@pytest.mark.parametrize("command", ["fetch model", "corpus ingest ~nobody-at-all/x -o {}/out"])
def test_a_home_that_nobody_has_is_one_line(
    tmp_path: Path,
    command: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LABELER_CACHE", "~nobody-at-all/x")
    assert execute(command.format(tmp_path).split()) == 78
    shown = "labeler: ~nobody-at-all/x: no home folder is known for its first part\n"
    assert capsys.readouterr().err == shown


def test_a_killed_process_leaves_no_copy_of_its_input(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    process = subprocess.Popen(
        [sys.executable, "-m", "labeler", "runs", "stats", "-"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
    )
    assert process.stdin
    process.stdin.write(b"q1 Q0 d1 1 2 a\n" * 100_000)
    process.stdin.flush()
    while not any(map(str(tmp_path).__eq__, map(str, open_files(process.pid)))):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert list(tmp_path.iterdir()) == []


def open_files(pid: int) -> list[Path]:
    """The folders of the files that a process has open."""
    return [Path(os.readlink(link)).parent for link in Path(f"/proc/{pid}/fd").iterdir()]
