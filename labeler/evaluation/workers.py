"""Work shared out to processes: one call an item, answered in the order of the items.

What is shared is mapped by all of them, and an error is an answer, too.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from tempfile import gettempdir
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, TypeVar, cast

import labeler
from labeler.errors import Misconfigured, Misuse
from labeler.exchange.shapes import pass_on, told_what_files_are
from labeler.files.read import file_problems, for_other_processes, scratch_file
from labeler.models.local.child import start

if TYPE_CHECKING:
    from io import TextIOWrapper

Common = TypeVar("Common")
Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_JOBS = 256
_ALIGNED = 64
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Shared(NamedTuple):
    """A value that all calls share: its pickle, and where its arrays lie in a file.

    `folder` is the one in which relative paths are looked for.
    """

    pickled: bytes
    file: Path
    places: tuple[tuple[int, int], ...]
    folder: str

    def load(self) -> Any:
        """The value; its arrays are read-only, and lie in the file's pages."""
        with self.file.open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        buffers = [mapped[start : start + size] for start, size in self.places]
        return pickle.loads(self.pickled, buffers=buffers)


class WorkerCall(NamedTuple):
    """A function of this package to call with what is shared and with an item."""

    function: Callable[[Any, Any], Any]
    item: object


class WorkerAnswer(NamedTuple):
    """What a call returned or raised, and what it told of the kinds of files."""

    value: Any = None
    error: BaseException | None = None
    told_lines: tuple[str, ...] = ()


class Workers:
    """Up to `jobs` processes, which are started when there is work and end with the block.

    With one job the work is done here. Each process is a new Python: it takes about 0.3 s of CPU
    to start, works from any program (a notebook, one with threads), and is ended by this one alone.
    """

    def __init__(self, jobs: int) -> None:
        if not 1 <= jobs <= MOST_JOBS:
            problem = f"expected 1 to {MOST_JOBS} processes, found {jobs:,}"
            raise Misuse(problem, parameter="jobs")
        self.jobs = jobs
        self._children: list[_Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for worker in self._children:
            worker.end()
        self._children.clear()

    def map(
        self, function: Callable[[Common, Item], Result], common: Common, items: Sequence[Item]
    ) -> Iterator[Result]:
        """The function of what is common and of each item, in the order of the items.

        The first item's error in this order is raised. The arrays of `common` are written to one
        temporary file, which all processes map.
        """
        count = min(self.jobs, len(items))
        if count < 2:
            yield from (function(common, item) for item in items)
            return
        self._children += [_Child() for _ in range(count - len(self._children))]
        with ExitStack() as stack:
            shared = stack.enter_context(shared_out(common))
            idle: SimpleQueue[_Child] = SimpleQueue()
            for worker in self._children:
                worker.send(shared)
                idle.put(worker)

            def ask(item: Item) -> WorkerAnswer:
                worker = idle.get()
                try:
                    worker.send(WorkerCall(function, item))
                    return worker.answer()
                finally:  # one that has ended answers the next call at once, with the same error
                    idle.put(worker)

            threads = stack.enter_context(ThreadPoolExecutor(len(self._children)))
            answers = [threads.submit(ask, item) for item in items]
            stack.callback(threads.shutdown, wait=False, cancel_futures=True)
            stack.push(self._end_unless_done)
            for future in answers:
                yield _value_of(future.result())

    def _end_unless_done(self, kind: type[BaseException] | None, *_error: object) -> None:
        """End all processes where the work stops early, so that nobody waits for an answer."""
        if kind is not None:
            self.__exit__()


def _value_of(answer: WorkerAnswer) -> Any:
    for line in answer.told_lines:
        pass_on(line)
    if answer.error is not None:
        raise answer.error
    return answer.value


@contextmanager
def shared_out(value: object) -> Iterator[Shared]:
    """A value for other processes, its arrays in a file as they lie in memory."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    places = []
    with scratch_file() as path:
        with file_problems(Path(gettempdir())), path.open("wb") as out:
            out.write(b"\0" * _ALIGNED)  # an empty file cannot be mapped
            for buffer in buffers:
                raw = buffer.raw()
                places.append((out.tell(), raw.nbytes))
                out.write(raw)
                out.write(b"\0" * (-raw.nbytes % _ALIGNED))
        try:
            folder = os.getcwd()
        except OSError:
            folder = os.path.sep
        yield Shared(pickled, for_other_processes(path), tuple(places), folder)


class _Child:
    """One process that answers calls."""

    def __init__(self) -> None:
        folder = Path(labeler.__file__).parent.parent
        command = [sys.executable, str(Path(__file__).with_name("child.py")), str(folder)]
        self._process = start(
            command, _ONE_THREAD, stdin=subprocess.PIPE, stderr=2, outlives_ctrl_c=True
        )

    def send(self, message: object) -> None:
        """Send a call, or what calls share; to a process that has ended nothing is sent."""
        with suppress(OSError, ValueError):
            pipe = _bytes_of(self._process.stdin)
            pickle.dump(message, pipe, protocol=5)
            pipe.flush()

    def answer(self) -> WorkerAnswer:
        """The answer to the call that was sent; `Misconfigured` where the process has ended."""
        try:
            answer: WorkerAnswer = pickle.load(_bytes_of(self._process.stdout))
        except (EOFError, pickle.UnpicklingError, ValueError, OSError) as error:
            raise Misconfigured(_ended(self._process.wait()), parameter="jobs") from error
        return answer

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError, ValueError):  # what was not sent, to a process that is gone
                    pipe.close()


def _bytes_of(pipe: IO[str] | None) -> BinaryIO:
    """The pipe itself, below its layer of text."""
    return cast("BinaryIO", cast("TextIOWrapper", pipe).buffer)


def _ended(code: int) -> str:
    """What to say of a process that ended before it answered."""
    how = f"ended with exit code {code}"
    if code < 0:
        names = {number.value: number.name for number in signal.Signals}
        how = f"was ended by {names.get(-code, f'signal {-code}')}"
    why = "the system may do so where memory runs out, and fewer jobs take less"
    return f"a process that did a part of this work {how}; {why}"


# What a working process does.


def answer_calls() -> None:
    """WorkerAnswer on standard output what comes in on standard input, until that ends.

    What anything else prints goes to standard error.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    calls, shared = sys.stdin.buffer, None
    with suppress(EOFError, BrokenPipeError, FileNotFoundError):  # whoever called is gone
        while True:
            message = pickle.load(calls)
            if isinstance(message, Shared):
                with suppress(OSError):  # a folder that is gone holds no file either
                    os.chdir(message.folder)
                shared = message.load()
                continue
            pickle.dump(answer(message, shared), answers, protocol=5)
            answers.flush()


def answer(call: WorkerCall, shared: object) -> WorkerAnswer:
    """What a call returns or raises."""
    lines: list[str] = []
    try:
        with told_what_files_are(lines.append):
            value = call.function(shared, call.item)
    except Exception as error:  # it is raised where the call came from
        return WorkerAnswer(error=_that_can_be_sent(error), told_lines=tuple(lines))
    return WorkerAnswer(value, told_lines=tuple(lines))


def _that_can_be_sent(error: Exception) -> Exception:
    """The error, or its text where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class does when it is pickled
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
