"""The lock of a collection: one process at a time changes its files, so that no change is lost.

It is held while files are read, changed and written back, never while a model is asked. Several
processes may judge at once: each holds the lock for a moment in the beginning and in the end.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.collection.layout import Collection, check_files
from labeler.errors import FileProblem, Misuse, Stopped
from labeler.files.read import file_problems

if TYPE_CHECKING:
    from filelock import FileLock

    from labeler.models.policies.call import StopSignal

Note = Callable[[str], None]
"""Called with a line that a person should read at once."""

POLL_SECONDS = 0.05
QUIET_SECONDS = 0.5
"""How long a wait goes on before anything is said about it: most are over sooner."""

NOTE_SECONDS = 60.0
"""After how long it is said again."""

_HELD: ContextVar[frozenset[str]] = ContextVar("held", default=frozenset())
_HOLDER = re.compile(r"(\d{1,10}) ([\d:]{8})\n")


def _say_nothing(_line: str) -> None:
    return None


def lock_file(path: Path, **more: Any) -> FileLock:
    """A lock that is a file: of all threads of this process, and never a mere file's presence."""
    from filelock import FileLock  # takes long to load

    return FileLock(path, thread_local=False, fallback_to_soft=False, **more)


def is_acquired(lock: FileLock) -> bool:
    """Take a lock, if nobody holds it; whether that went well."""
    from filelock import Timeout

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


@contextmanager
def locked(collection: Collection, note: Note = _say_nothing) -> Iterator[None]:
    """Hold the lock of a collection, whose folder is made where there is none.

    Waits while another process or thread holds it, and says so to `note`; Ctrl-C ends the wait. A
    block inside such a block of the same collection goes on at once.
    """
    if _is_held(collection.folder):
        yield
        return
    lock = _FolderLock(collection)
    for seconds in lock.waits(note):
        time.sleep(seconds)
    with lock.as_held():
        yield


@asynccontextmanager
async def locked_in_loop(
    collection: Collection, stop: StopSignal, note: Note = _say_nothing
) -> AsyncIterator[None]:
    """The same in asynchronous work, which goes on meanwhile.

    Raises `Stopped` where the signal is set while it waits.
    """
    import asyncio

    if _is_held(collection.folder):
        yield
        return
    lock, was_set = _FolderLock(collection), stop.is_set()
    for seconds in lock.waits(note):
        await asyncio.sleep(seconds)
        if stop.is_set() and not was_set:
            raise Stopped(f"stopped while another process was writing {collection.folder}")
    with lock.as_held():
        yield


def check_locked(folder: Path) -> None:
    """Raise `RuntimeError` where a collection's file is written without the collection's lock.

    That is a mistake in the code, and no input leads to it.
    """
    if not _is_held(folder):
        raise RuntimeError(f"{folder} is written without its lock; use `locked`")


def _is_held(folder: Path) -> bool:
    return os.path.realpath(folder) in _HELD.get()


class _FolderLock:
    """The lock file of a collection, which says who holds it."""

    def __init__(self, collection: Collection) -> None:
        self._folder = collection.folder
        with file_problems(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            # Whoever may write into the folder may lock it, whatever the umask of the first.
            mode = self._folder.stat().st_mode & 0o666
        check_files(collection)
        self._descriptor = -1
        self._lock = lock_file(collection.lock, mode=mode, on_acquired=self._sign)

    def waits(self, note: Note) -> Iterator[float]:
        """The seconds to wait before each further try, until the lock is this process' own."""
        began, notes = time.monotonic(), 0
        while not self._is_acquired():
            if time.monotonic() - began >= QUIET_SECONDS + notes * NOTE_SECONDS:
                notes += 1
                note(f"waiting for {self._holder()}")
            yield POLL_SECONDS

    def _is_acquired(self) -> bool:
        try:
            return is_acquired(self._lock)
        except OSError as error:
            problem = f"cannot be locked for writing: {error.strerror or error}"
            raise FileProblem(f"{self._folder}: {problem}") from error

    @contextmanager
    def as_held(self) -> Iterator[None]:
        """Note for this context that the lock is held, and release it in the end."""
        token = _HELD.set(_HELD.get() | {os.path.realpath(self._folder)})
        try:
            yield
        finally:
            _HELD.reset(token)
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            self._lock.release()

    def _sign(self, descriptor: int) -> None:
        """Write into the lock file who holds it; it is the lock that counts, not the text."""
        self._descriptor = descriptor
        line = f"{os.getpid()} {time.strftime('%H:%M:%S')}\n"
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, line.encode(), 0)

    def _holder(self) -> str:
        """Who holds the lock, in words."""
        text = ""
        with suppress(OSError, ValueError):
            text = Path(self._lock.lock_file).read_text(encoding="utf-8")
        holder = _HOLDER.fullmatch(text)
        if not holder:
            return f"another process, which is writing {self._folder}"
        return f"process {holder[1]}, which has been writing {self._folder} since {holder[2]}"


# Claims: while a process makes a file of a collection, nobody makes it in another way.
#
# A model is asked for hours, so that the collection's lock cannot be held meanwhile. A claim is a
# file beside the one that is made: it says what makes it, and is locked as long as its process
# runs.


class MadeFile(NamedTuple):
    """A file of a collection and what makes it; `advice` ends the message where that clashes."""

    collection: Collection
    path: Path
    made_by: Mapping[str, Any]
    advice: str
    parameter: str = ""


@contextmanager
def claimed(made: MadeFile) -> Iterator[None]:
    """Claim a file of a collection for one way of making it, as long as the block runs.

    Processes that make it in the same way share it. The collection must be locked where the block
    begins. Raises `Misuse` where a process that runs now makes the file in another way.
    """
    check_locked(made.collection.folder)
    text = json.dumps({"process": os.getpid(), "made_by": dict(made.made_by)}, default=dict)
    for claim in _running_claims(made.path):
        _refuse_another(made, claim, json.loads(text)["made_by"])
    name = f".{made.path.name}.{os.getpid()}-{secrets.token_hex(4)}.claim"
    with file_problems(made.path.parent):
        made.path.parent.mkdir(parents=True, exist_ok=True)
        own = made.path.with_name(name)
        lock = lock_file(own)
        is_acquired(lock)  # nobody else knows the name
    try:
        with file_problems(own):
            own.write_text(text, encoding="utf-8")
        yield
    finally:
        with suppress(OSError):  # Windows keeps a file that is open
            own.unlink()
        lock.release()
        own.unlink(missing_ok=True)


def _running_claims(path: Path) -> Iterator[Mapping[str, Any]]:
    """The claims on a file whose processes run; those of processes that were killed are removed."""
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+-[0-9a-f]+\.claim")
    with file_problems(path.parent):
        beside = list(path.parent.iterdir()) if path.parent.is_dir() else []
        for claim in (p for p in beside if name.fullmatch(p.name)):
            lock = lock_file(claim)
            if not is_acquired(lock):
                yield _content(claim)
                continue
            claim.unlink(missing_ok=True)
            lock.release()


def _content(claim: Path) -> Mapping[str, Any]:
    """What a claim says; nothing where it was removed just now."""
    try:
        content = json.loads(claim.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _refuse_another(made: MadeFile, claim: Mapping[str, Any], made_by: Mapping[str, Any]) -> None:
    theirs = claim.get("made_by")
    if not isinstance(theirs, dict) or theirs == made_by:
        return
    what = next(what for what in made_by if made_by[what] != theirs.get(what))
    difference = f"with {what} {theirs.get(what)}, not {made_by[what]}"
    problem = f"process {claim.get('process')} is making {made.path} {difference}; {made.advice}"
    raise Misuse(problem, parameter=made.parameter or what)
