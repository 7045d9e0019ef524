"""Calls of another process answered: what is shared is mapped, and an error is an answer too."""

from __future__ import annotations

import mmap
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from labeler.exchange.shapes import told_what_files_are


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


def parts_of(shared: object) -> Sequence[object]:
    """The large parts of a shared value, which an answer names instead of holding them."""
    parts: Sequence[object] = getattr(shared, "parts", ())
    return parts


class AnswerPickler(pickle.Pickler):
    """Writes an answer; the parts of what is shared by their numbers."""

    def __init__(self, file: BinaryIO, parts: Sequence[object]) -> None:
        super().__init__(file, protocol=5)
        self._number = {id(part): number for number, part in enumerate(parts)}

    def persistent_id(self, obj: object) -> int | None:
        """The number of a part; `None` of anything else."""
        return self._number.get(id(obj))


class AnswerUnpickler(pickle.Unpickler):
    """Reads an answer, with the reader's own parts of what is shared."""

    def __init__(self, file: BinaryIO, parts: Sequence[object]) -> None:
        super().__init__(file)
        self._parts = parts

    def persistent_load(self, pid: int) -> object:
        """The part with a number."""
        return self._parts[pid]


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
            AnswerPickler(answers, parts_of(shared)).dump(answer(message, shared))
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
