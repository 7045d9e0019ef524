"""Every connection of the package is one that passed its gate: the rule, and what watches it.

Python tells an audit hook of each `socket.connect`, whoever makes it. A connection is the package's
where a frame of `labeler` is on the stack that makes it (`labeler.testing`, a server for tests, is
not meant); a test's own client, a browser or a database's own programs have none. Such a connection
must be made inside `labeler.wire.gate.on_the_way`, which two doors alone enter: the wire, which
is made of an admitted address, and PostgreSQL's. Any other is refused before a byte is sent, and
fails the test that runs, even where the package would take the refusal for a lost connection.

UDP and sockets of the file system send nothing to another machine that anybody answers, and are not
looked at. A process forked by tests/forked.py watches itself; others (`python -m labeler`) run the
same code without the hook.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import FrameType

AROUND: list[str] = []
"""The connections that went around the gate."""


class WentAroundTheGate(RuntimeError):
    """The package connected to something that nobody admitted."""


def watch() -> None:
    """Refuse, from now on and in this process, each connection that goes around the gate."""
    sys.addaudithook(_look)


@contextmanager
def nothing_around() -> Iterator[None]:
    """Fail where the block makes a connection that goes around the gate."""
    AROUND.clear()
    yield
    around, AROUND[:] = AROUND[:], []
    assert not around, f"connections that did not pass labeler/wire/gate.py: {around}"


def _look(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    made, address = arguments
    assert isinstance(made, socket.SocketType)
    if made.type != socket.SOCK_STREAM or not isinstance(address, tuple):
        return
    module = _module_of_the_package()
    if module and not _way():
        AROUND.append(f"{module} to {address}")
        raise WentAroundTheGate(AROUND[-1])


def _way() -> str:
    from labeler.wire.gate import way

    return way()


def _module_of_the_package() -> str:
    """The module of the package that connects; empty where a test does."""
    for depth in count(2):
        try:
            frame: FrameType = sys._getframe(depth)
        except ValueError:
            return ""
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith("labeler.") and not name.startswith("labeler.testing"):
            return name
    return ""
