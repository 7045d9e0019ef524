"""`labeler` as processes of its own, each forked by one that has loaded the package already.

Loading takes most of what a short command takes. The processes are as separate as any: they have
memory, locks, signals, streams and exit codes of their own. What a fresh interpreter does besides,
before and after it runs a command, is tried by `python -m labeler` in tests/cli/test_streams.py.
"""

import gc
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

LOADED = (
    *("aiohttp", "mdit_py_plugins", "safetensors", "Stemmer"),
    *("tokenizers", "labeler.catalog.fetch", "labeler.corpus.ingest", "labeler.judging.judge"),
    *("labeler.corpus.readers.markdown", "labeler.judging.relabel", "labeler.models.choose"),
    *("labeler.people.import_labels", "labeler.people.sample", "labeler.pools.import_qrels"),
    *("labeler.pools.pool", "labeler.queries.generate", "labeler.collection.search"),
    *("labeler.runs.stats", "labeler.exchange.queries"),
)
"""What the commands that tests start load beside their own modules."""


class Forked:
    """A process that runs the command: of `subprocess.Popen`, what tests need."""

    def __init__(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        *,
        cwd: Path | None = None,
        stderr: int | None = None,
        largest: int | None = None,
        renames: int | None = None,
    ) -> None:
        """Start it, with a pipe from its stderr where none is given, and nowhere for its stdout.

        It can write no file of more bytes than `largest`. It is killed before it renames a file
        once more than `renames` times.
        """
        ours, theirs = (None, stderr) if stderr is not None else os.pipe()
        self._socket, its_end = socket.socketpair()
        socket.send_fds(_forker(), [b"1"], [its_end.fileno(), theirs])
        its_end.close()
        if ours is not None:
            os.close(theirs)
        order = {"words": [*words], "env": {**env}, "cwd": str(cwd or Path.cwd())}
        order |= {"largest": largest, "renames": renames}
        self._socket.sendall(json.dumps(order).encode() + b"\n")
        self.pid = int(self._socket.recv(32))
        self.returncode: int | None = None
        self.stderr: TextIO | None = None if ours is None else open(ours, encoding="utf-8")  # noqa: SIM115
        self._said: list[str] = []
        self._reader = threading.Thread(target=self._read)

    def fileno(self) -> int:
        """What can be read once the process has ended."""
        return self._socket.fileno()

    def _read(self) -> None:
        if self.stderr:
            with self.stderr:
                self._said.append(self.stderr.read())

    def poll(self) -> int | None:
        """The exit code, negative of a signal, of a process that has ended."""
        if self.returncode is None and select.select([self._socket], [], [], 0)[0]:
            return self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once the process has ended."""
        if self.returncode is None:
            if not select.select([self._socket], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("labeler", timeout or 0)
            self.returncode = int(self._socket.recv(32))
            self._socket.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[None, str]:
        """What it wrote to the pipe and nobody has read, once the process has ended."""
        if self._reader.ident is None:
            self._reader.start()
        self.wait(timeout)
        self._reader.join()
        return None, "".join(self._said)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


_FORKER: list[tuple[subprocess.Popen[bytes], socket.socket]] = []


def _forker() -> socket.socket:
    """The way to the process that has loaded the package, which is started when first needed."""
    if not _FORKER:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "1"},
            )
        _FORKER.append((process, ours))
    return _FORKER[0][1]


def end_forker() -> None:
    """End the process that has loaded the package, if it was started."""
    for process, way in _FORKER:
        way.close()
        process.wait()
    _FORKER.clear()


def _next_order(way: socket.socket) -> dict[str, Any]:
    """What to do, in a process of its own; here one after the other, until nobody asks any more."""
    waking, woken = socket.socketpair()
    woken.setblocking(False)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    asking: dict[int, socket.socket] = {}
    while True:
        readable, _, _ = select.select([way, waking], [], [])
        if waking in readable:
            waking.recv(1024)
            _tell_ended(asking)
            continue
        message, descriptors, _, _ = socket.recv_fds(way, 1, 2)
        if not message:
            sys.exit()
        asker, stderr = socket.socket(fileno=descriptors[0]), descriptors[1]
        order = asker.makefile("rb").readline()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            os.dup2(stderr, 2)
            for descriptor in (stderr, *(s.detach() for s in (way, waking, woken, asker))):
                os.close(descriptor)
            for other in asking.values():
                other.close()
            decoded: dict[str, Any] = json.loads(order)
            return decoded
        os.close(stderr)
        asking[pid] = asker
        asker.sendall(str(pid).encode())


def _tell_ended(asking: dict[int, socket.socket]) -> None:
    while asking:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with asking.pop(pid) as asker:
            asker.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _main() -> None:
    from labeler.__main__ import main
    from labeler.cli import COMMANDS

    for name in LOADED:
        import_module(name)
    for command in COMMANDS.values():
        command.load()
    gc.freeze()  # what is shared with the processes stays so
    sys.path.append(os.path.dirname(__file__))
    import_module("outgoing").watch()
    sys.path.pop()
    order = _next_order(socket.socket(fileno=int(sys.argv[1])))
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    if order["largest"] is not None:
        # nor does Python keep what it compiles: it would keep half of it
        sys.dont_write_bytecode = True
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest"], order["largest"]))
    if order["renames"] is not None:
        _be_killed_after(order["renames"])
    sys.argv = ["labeler", *order["words"]]
    os._exit(_exit_code_of(main))


def _be_killed_after(renames: int) -> None:
    done = 0

    def count(event: str, _arguments: Any) -> None:
        nonlocal done
        if event == "os.rename":
            if done == renames:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1

    sys.addaudithook(count)


def _exit_code_of(main: Callable[[], None]) -> int:
    """How a program ends; to take apart what was loaded would take longer than the command."""
    code: Any = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
        code = 1
    for thread in threading.enumerate():
        if not (thread is threading.current_thread() or thread.daemon):
            thread.join()
    sys.stdout.flush()
    sys.stderr.flush()
    return int(code or 0)


if __name__ == "__main__":
    _main()
