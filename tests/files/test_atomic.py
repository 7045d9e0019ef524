"""Where bytes go: whole files in place of others, and through what is no file."""

import gzip
import os
import pty
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from labeler.errors import FileProblem
from labeler.files.atomic import own_descriptor, replacing

TEXT = "q1 0 d1 2\n"


def write(path: Path, text: str = TEXT) -> None:
    with replacing(path) as out:
        out.write(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def reader_of(path: Path) -> Callable[[], bytes]:
    """Read a pipe beside the test; what is returned waits for it and gives what was read."""
    read: list[bytes] = []
    thread = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    thread.start()

    def result() -> bytes:
        thread.join(20)
        return read[0]

    return result


def test_a_pipe_is_written_through_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = reader_of(pipe)
    write(pipe)
    assert read() == TEXT.encode()
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_a_pipe_whose_name_says_so_gets_gzip(tmp_path: Path) -> None:
    pipe = tmp_path / "run.trec.gz"
    os.mkfifo(pipe)
    read = reader_of(pipe)
    write(pipe)
    assert gzip.decompress(read()) == TEXT.encode()


def test_a_link_to_a_pipe_is_written_through(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    link = tmp_path / "link"
    link.symlink_to("pipe")
    read = reader_of(tmp_path / "pipe")
    write(link)
    assert read() == TEXT.encode()
    assert link.is_symlink()


def test_a_terminal_is_written_through() -> None:
    leader, follower = pty.openpty()
    name = Path(os.ttyname(follower))
    write(name)
    assert os.read(leader, 100) == TEXT.replace("\n", "\r\n").encode()
    assert stat.S_ISCHR(name.stat().st_mode)
    os.close(leader)
    os.close(follower)


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.stat(os.devnull).st_rdev)
        device.write_bytes(b"")
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")
    write(device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert names(tmp_path) == ["null"]


def test_a_socket_a_directory_and_a_disk_are_refused_in_a_line(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        with pytest.raises(FileProblem, match=r"s: a socket; results go to a file"):
            write(tmp_path / "s")
    with pytest.raises(FileProblem, match="a directory"):
        write(tmp_path)
    assert names(tmp_path) == ["s"]


CHILD = """
import sys
from pathlib import Path
from labeler.files.atomic import replacing
print("before")
with replacing(Path(sys.argv[1])) as out:
    out.write("result\\n")
print("after")
"""


def child(shell: str, path: str) -> subprocess.CompletedProcess[str]:
    """Run a process that writes to `path` in bash; `"$@"` in `shell` is the process."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    command = [bash, "-c", shell, "bash", sys.executable, "-c", CHILD, path]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name", ["/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_name_is_a_pipe_or_what_the_shell_has_opened(
    name: str, tmp_path: Path
) -> None:
    assert child('"$@"', name).stdout == "before\nresult\nafter\n"
    log = tmp_path / "log"
    log.write_text("earlier\n")
    done = child(f'"$@" >> {log}', name)
    assert (done.returncode, done.stderr) == (0, "")
    assert log.read_text() == "earlier\nbefore\nresult\nafter\n"


def test_a_link_to_standard_output_is_standard_output(tmp_path: Path) -> None:
    # Code that replaced the link would do so here, and not to the whole machine's /dev/stdout.
    (tmp_path / "out").symlink_to("/dev/stdout")
    assert child('"$@"', str(tmp_path / "out")).stdout == "before\nresult\nafter\n"
    assert (tmp_path / "out").is_symlink()


def test_a_process_that_the_shell_puts_in_a_files_place_reads_the_result() -> None:
    shell = 'exec 3>&1; "$@" >(tr a-z A-Z >&3) > /dev/null; wait; sleep 0.2'
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    command = [bash, "-c", shell, "bash", sys.executable, "-c", CHILD]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("RESULT\n", "", 0)


def test_a_descriptor_that_is_not_open_is_a_line() -> None:
    with pytest.raises(FileProblem, match="/dev/fd/987: Bad file descriptor"):
        write(Path("/dev/fd/987"))


def test_only_names_of_this_process_open_files_are_descriptors(tmp_path: Path) -> None:
    (tmp_path / "fd").mkdir()
    assert own_descriptor(Path("/dev/fd/1")) == 1
    assert own_descriptor(tmp_path / "fd" / "1") is None
    (tmp_path / "loop").symlink_to("loop")
    assert own_descriptor(tmp_path / "loop") is None


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "real").write_text("old")
    (tmp_path / "middle").symlink_to("elsewhere/real")
    (tmp_path / "link").symlink_to("middle")
    write(tmp_path / "link")
    assert (folder / "real").read_text() == TEXT
    assert names(tmp_path) == ["elsewhere", "link", "middle"]
    assert names(folder) == ["real"]
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "middle").is_symlink()


def test_a_link_to_nothing_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new/target")
    write(tmp_path / "link")
    assert (tmp_path / "new" / "target").read_text() == TEXT
    assert (tmp_path / "link").is_symlink()


def test_a_link_that_leads_to_itself_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileProblem, match="loop: Too many levels of symbolic links"):
        write(tmp_path / "loop")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755, 0o666])
def test_an_old_files_permissions_stay(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert path.read_text() == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_files_permissions_are_those_of_any_new_file(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write(tmp_path / "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~umask


def test_an_old_files_owner_and_group_stay(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    try:
        os.chown(path, 12345, 12346)
    except PermissionError:
        pytest.skip("only the superuser can give a file to others")
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12346)


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o000])
def test_a_read_only_file_is_left_alone_by_the_superuser_too(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    with pytest.raises(FileProblem, match="a: the file is read-only"):
        write(path)
    path.chmod(0o644)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_after_an_error_a_file_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def fail(_written: Path) -> None:
        raise FileProblem("no room")

    with pytest.raises(FileProblem, match="no room"), replacing(path, fail) as out:
        out.write(TEXT)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]
